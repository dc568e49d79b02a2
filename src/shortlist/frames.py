"""Tables in, tables out: the rows of a pandas, polars or pyarrow table, best first, with their rank and score.

>>> import pandas as pd
>>> from shortlist import TopPush
>>> table = pd.DataFrame({"case": ["a", "b", "c", "d"], "amount": [3.0, 0.0, 2.0, 1.0]})
>>> model = TopPush(C=100.0).fit(table[["amount"]], [1, 0, 1, 0])
>>> ranked(model, table, top=2, score="points").round(1)
   rank  points case  amount
0     1     2.0    a     3.0
2     2     1.0    c     2.0
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from shortlist.estimators._ranking import ranked as row_numbers
from shortlist.estimators._responses import scores_of
from shortlist.estimators._validation import encode_groups

Array = NDArray[Any]

__all__ = ["features_of", "model_scores", "ranked"]

MISSING = "tables are read through narwhals: pip install 'shortlist[frames]'"


def ranked(
    model: Any,
    frame: Any,
    *,
    groups: Any = None,
    top: int | float | None = None,
    columns: Sequence[str] | None = None,
    score: str = "score",
    rank: str = "rank",
) -> Any:
    """The rows of a table in the model's order, best first, with rank and score in front.

    Parameters
    ----------
    model : fitted estimator
        Of Shortlist or scikit-learn, or a pipeline. It is given the columns it was fitted on
        (``feature_names_in_``); all others, such as an id, are carried through. A model fitted without names is given
        every column but that of the groups.
    frame : pandas, polars or pyarrow table
        The answer is of the same kind. A pandas index stays with its rows.
    groups : str or array-like, optional
        The column of query ids, or an id for each row: ranks then count within each group, groups come in the order
        of their first rows.
    top : int or float, optional
        Keep so many rows (of each group); a float up to 1.0 is a share of them.
    columns : sequence of str, optional
        Which of the table's columns to keep; None keeps all.
    score, rank : str
        Names of the two columns that are added.

    Returns
    -------
    table of the kind of ``frame``
        Rows with equal scores keep their order.

    Examples
    --------
    >>> import polars as pl
    >>> from shortlist import TopPush, ranked
    >>> table = pl.DataFrame({"id": [7, 8, 9], "query": ["p", "q", "q"], "x": [1.0, 0.0, 2.0]})
    >>> model = TopPush().fit(table.select("x"), [1, 0, 1])
    >>> ranked(model, table, groups="query", columns=["id"]).select("rank", "id").rows()
    [(1, 7), (1, 9), (2, 8)]
    """
    nw = _narwhals()
    table = _table(nw, frame)
    for what, name in (("rank", rank), ("score", score)):
        if name in table.columns and (columns is None or name in columns):
            raise ValueError(f"the table has a column {name!r} already: pass {what}= another name, or columns=")
    if rank == score:
        raise ValueError(f"rank and score cannot both be called {rank!r}")
    by_name = isinstance(groups, str)
    if by_name and groups not in table.columns:
        raise ValueError(f"groups={groups!r} is no column; there are {', '.join(map(repr, table.columns))}")
    ids = table.get_column(groups).to_list() if by_name else groups
    rows = features_of(model, table, but=groups if by_name else None)
    scores = model_scores(model, rows, ids) if len(table) else np.zeros(0)  # scikit-learn refuses to score no rows
    order = row_numbers(scores, ids)
    places = np.arange(1, len(order) + 1)
    codes = np.zeros(len(order), dtype=np.intp) if ids is None else encode_groups(ids, len(order))[0][order]
    sizes = np.bincount(codes, minlength=1)
    places -= (np.cumsum(sizes) - sizes)[codes]
    if top is not None:
        kept = places <= _limits(top, sizes)[codes]
        order, places = order[kept], places[kept]
    rest = table.columns if columns is None else list(columns)
    unknown = [name for name in rest if name not in table.columns]
    if unknown:
        raise ValueError(f"columns={unknown[0]!r} is no column; there are {', '.join(map(repr, table.columns))}")
    chosen = table.select(nw.col(name) for name in rest or table.columns[:1])[order.tolist(), :]
    backend = table.implementation
    added = [
        nw.new_series(rank, places.astype(np.int64), backend=backend),
        nw.new_series(score, scores[order], backend=backend),
    ]
    if backend.is_pandas_like():  # it would line up rows by their index
        index = nw.to_native(chosen).index
        added = [nw.from_native(nw.to_native(one).set_axis(index), series_only=True) for one in added]
    return nw.to_native(chosen.with_columns(*added).select(nw.col(name) for name in [rank, score, *rest]))


def features_of(model: Any, frame: Any, *, but: str | None = None) -> Any:
    """The columns of a table that a model takes, as a table that scikit-learn reads."""
    nw = _narwhals()
    table = frame if isinstance(frame, nw.DataFrame) else _table(nw, frame)
    names = getattr(model, "feature_names_in_", None)
    if names is None and isinstance(model, Pipeline):
        names = getattr(model[0], "feature_names_in_", None)
    wanted = [name for name in table.columns if name != but] if names is None else [str(name) for name in names]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        named = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ValueError(
            f"the table lacks {'columns' if len(missing) > 1 else 'the column'} that the model was fitted on: {named}"
        )
    chosen = table.select(nw.col(name) for name in wanted)
    return chosen.to_pandas() if chosen.implementation.is_pyarrow() else nw.to_native(chosen)


def model_scores(model: Any, X: Any, groups: Any = None) -> Array:
    """One score a row, higher for what belongs at the top, of any model of ours or scikit-learn's."""
    if is_regressor(model):
        scores = np.asarray(model.predict(X))
        scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
        if scores.ndim != 1:
            raise ValueError(f"a list needs one score a row, and this model has {scores.shape[1]} targets")
        return scores
    knows_groups = groups is not None and getattr(model, "group_cuts_", None) is not None
    if knows_groups and "groups" in inspect.signature(model.decision_function).parameters:
        return np.asarray(model.decision_function(X, groups))
    classes = getattr(model, "classes_", None)
    return scores_of(model, X, None if classes is None else classes[-1])


def _table(nw: Any, frame: Any) -> Any:
    """A table as narwhals has it, its columns told apart by their names."""
    names = getattr(frame, "column_names", getattr(frame, "columns", None))  # of pyarrow; of the others
    seen: set[Any] = set()
    for name in names if isinstance(names, Iterable) else ():
        if isinstance(name, str) and name in seen:
            raise ValueError(f"the table has more than one column called {name!r}; rename them")
        if isinstance(name, str):
            seen.add(name)
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"ranked takes a pandas, polars or pyarrow table, got {type(frame).__name__}; of an array "
            "model.rank(X) gives the row numbers, best first"
        ) from None


def _limits(top: Any, sizes: Array) -> Array:
    """How many rows of each group are kept."""
    if isinstance(top, numbers.Integral) and top is not True and int(top) >= 1:
        return np.full(len(sizes), int(top))
    if isinstance(top, float) and 0 < top <= 1:
        return np.array([math.ceil(top * size * (1 - 1e-12)) for size in sizes])
    raise ValueError(f"top must be a number of rows, or a share of them up to 1.0, got {top!r}")


def _narwhals() -> Any:
    try:
        import narwhals.stable.v1 as nw
    except ImportError as error:
        raise ImportError(MISSING) from error
    return nw
