"""A model with what the command line knows of it: a scikit-learn pipeline that carries its description along.

The description is a plain dict in the attribute ``table_``: 'label', 'positive', 'id', 'group', 'budget', 'kinds' of
the columns, 'left_out', 'data', 'measured'.  Files that `shortlist.save` wrote elsewhere have none, and serve all the
same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.columns import features
from shortlist.cli.failure import Failure, no_column
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Progress, Terminal

Array = NDArray[Any]

__all__ = ["Described", "load_model", "scores_of_rows"]

# Entries of features that are made at a time while scoring.
AT_ONCE = 500_000


@dataclass
class Described:
    """A fitted model, and what is known of its columns.

    Attributes
    ----------
    model : estimator
    about : dict
    path : str
    """

    model: Any
    about: dict[str, Any]
    path: str

    @property
    def kinds(self) -> dict[str, str]:
        """Of the columns that it takes; empty where nothing is known."""
        return dict(self.about.get("kinds") or {})

    @property
    def n_sparse(self) -> int | None:
        """Features of svmlight rows, where it was fitted on them."""
        return self.about.get("n_sparse")

    def get(self, name: str) -> Any:
        return self.about.get(name)

    def names_for(self, rows: Rows) -> list[str]:
        """The columns to give it; an error if one is not there."""
        if rows.matrix is not None:
            if self.n_sparse is None:
                raise Failure(f"{self.path} takes columns with names, and {rows.name} is an svmlight file")
            return []
        if self.n_sparse is not None:
            raise Failure(f"{self.path} takes svmlight rows, and {rows.name} is a table")
        names = list(self.kinds)
        if not names:
            first = self.model[0] if hasattr(self.model, "steps") else self.model
            own = getattr(self.model, "feature_names_in_", getattr(first, "feature_names_in_", None))
            if own is None:
                names = [name for name in rows.names if rows.kinds[name] == "number"]
                wanted = getattr(self.model, "n_features_in_", len(names))
                if len(names) != wanted:
                    raise Failure(
                        f"{self.path} was fitted to {wanted} columns without names, and {rows.name} has {len(names)} "
                        "columns of numbers"
                    )
            else:
                names = [str(name) for name in own]
        for name in names:
            if name not in rows.kinds:
                raise no_column(rows.name, name, rows.names)
        return names


def load_model(path: str) -> Described:
    """A model's file, with what it says in the way of warnings left to the caller."""
    from shortlist.persist import load

    if not Path(path).exists():
        raise Failure(f"{path} does not exist; shortlist fit makes it")
    try:
        model = load(path)
    except IsADirectoryError:
        raise Failure(f"{path} is a folder, not a model's file") from None
    about = getattr(model, "table_", None)
    return Described(model, about if isinstance(about, dict) else {}, path)


def scores_of_rows(described: Described, rows: Rows, progress: Progress | None = None) -> Array:
    """One score a row, some rows at a time: features take many times the memory of their columns."""
    from shortlist.frames import model_scores

    names = described.names_for(rows)
    if rows.matrix is not None:
        return np.asarray(model_scores(described.model, rows.matrix), dtype=np.float64)
    step = max(AT_ONCE // max(_width(described.model, len(names)), 1), 1)
    scores = np.empty(len(rows))
    for start in range(0, len(rows), step):
        part = Rows(rows.name, rows.table.slice(start, step), rows.kinds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores[start : start + step] = model_scores(described.model, features(part, names))
        if progress is not None:
            progress(min(start + step, len(rows)), len(rows))
    return scores


def _width(model: Any, n_columns: int) -> int:
    """Features that a row becomes."""
    last = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    return max(int(getattr(last, "n_features_in_", n_columns)), n_columns)


def say_warnings(terminal: Terminal, caught: list[Any]) -> None:
    """What this package warned of, each thing once; others' warnings are about their own insides."""
    seen = set()
    for one in caught:
        text = str(one.message)
        if issubclass(one.category, Warning) and one.category.__module__ == "shortlist.exceptions" and text not in seen:
            seen.add(text)
            terminal.note(text)


def load_described(path: str, terminal: Terminal) -> Described:
    """`load_model`, with warnings told as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        described = load_model(path)
    say_warnings(terminal, caught)
    return described
