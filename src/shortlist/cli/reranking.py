"""``shortlist rerank``: the top of a model's list, or of a column of scores, ordered again by an exact search."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.columns import features, preparation
from shortlist.cli.evaluating import column_scores
from shortlist.cli.failure import Failure, Usage
from shortlist.cli.fitting import FitOptions, Prepared, about, default_output, parts_of, prepare, save_model
from shortlist.cli.measured import measure
from shortlist.cli.methods import certificates
from shortlist.cli.model import Described, load_described, say_warnings, scores_of_rows
from shortlist.cli.terminal import Terminal, big, decimals
from shortlist.cli.write import check_output

Array = NDArray[Any]

__all__ = ["rerank"]

# With more features than this no proof is to be hoped for, and the search only climbs.
MOST_PROVEN = 8
ROWS = (
    ("precision_at_k", "precision in the first {k:,}"),
    ("recall_at_k", "recall in the first {k:,}"),
    ("average_precision", "average precision"),
    ("positives_at_top", "positives above every negative"),
)


def rerank(
    path: str,
    options: FitOptions,
    model: str | None,
    score: str | None,
    top: int,
    output: str | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """The command."""
    if (model is None) == (score is None):
        raise Usage("rerank takes --model FILE, or --score COLUMN")
    name = default_output(path).replace(".shortlist", "-reranked.shortlist")
    place = check_output(output or name, force, path, *([model] if model else []))
    assert place is not None
    base = None if model is None else load_described(model, terminal)
    if base is not None:
        options.label = options.label or base.get("label")
        options.positive = options.positive or base.get("positive") or ()
        options.identity = options.identity or base.get("id")
        options.group = options.group or base.get("group")
        options.only = options.only or list(base.kinds)
        options.reading["kinds"] = base.kinds
        options.reading["n_features"] = base.n_sparse
    data = prepare(path, options, terminal)
    rows, held = parts_of(data, options, terminal)
    prepared, first = _base(data, rows, base, score)
    fitted = _fit(data, rows, prepared, first, top, options, terminal)
    described = Described(fitted, about(path, data, len(rows), None), str(place))
    if base is not None:
        described.about["kinds"], described.about["left_out"] = base.kinds, base.about.get("left_out", {})
    before, after = None, None
    if len(held):
        test = data.rows.take(held)
        own = None if data.groups is None else data.groups[held]
        k = data.places(held)
        old = column_scores(test, score) if score is not None else scores_of_rows(_known(base), test)
        before = measure(data.y[held], old, k, own)
        after = measure(data.y[held], scores_of_rows(described, test), k, own)
    save_model(described, place, force)
    proofs = certificates(fitted)
    n_top = int(fitted.steps[-1][1].n_top_)
    terminal.json(
        {
            "model": str(place),
            "reranked_rows": n_top,
            "certificates": proofs,
            "before": before,
            "after": after,
            "seconds": round(terminal.seconds, 1),
        }
    )
    what = f"the column {score!r}" if score is not None else str(model)
    terminal.facts(
        [
            ("base", what),
            ("reranked", f"the first {n_top:,} of {len(rows):,} rows that it was shown"),
            ("certificate", "\n".join(proofs) or "none"),
        ]
    )
    if before is not None and after is not None:
        terminal.say()
        terminal.heading(f"On {len(held):,} rows kept aside, {before['positives']:,} of which belong at the top")
        body = [(title.format(k=before["k"]), decimals(before[key]), decimals(after[key])) for key, title in ROWS]
        terminal.table(("", "base", "reranked"), body, right=(1, 2))
    terminal.say()
    terminal.facts([(str(place), f"{big(place.stat().st_size)}, {terminal.seconds:.0f} s")])


def _known(base: Described | None) -> Described:
    assert base is not None
    return base


def _base(data: Prepared, rows: Array, base: Described | None, score: str | None) -> tuple[Any, Any]:
    """How columns are prepared, if at all, and the model that orders what comes of it."""
    from sklearn.compose import ColumnTransformer
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if base is not None:
        base.names_for(data.rows)
        steps = list(base.model.steps) if hasattr(base.model, "steps") else [("rank", base.model)]
        prepared = steps.pop(0)[1] if steps[0][0] == "prepare" else None
        return prepared, FrozenEstimator(steps[0][1] if len(steps) == 1 else Pipeline(steps))
    assert score is not None
    column_scores(data.rows, score)
    if score not in data.plan.numbers:
        raise Failure(f"the column {score!r} ranks nothing: it is {data.plan.left_out.get(score, 'not a feature')}")
    prepared = preparation(data.plan, len(rows))
    pick = ColumnTransformer([("score", "passthrough", [data.plan.numbers.index(score)])])
    return prepared, Pipeline([("pick", pick), ("scale", StandardScaler()), ("score", LogisticRegression(C=1e4))])


def _fit(
    data: Prepared, rows: Array, prepared: Any, first: Any, top: int, options: FitOptions, terminal: Terminal
) -> Any:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.utils.validation import NotFittedError, check_is_fitted

    from shortlist.estimators import ExactRanker, Reranker

    part = data.rows.take(rows)
    names = data.plan.names
    X = features(part, names)
    y = data.y[rows].astype(np.int64)
    if prepared is not None:
        try:
            check_is_fitted(prepared)
            names = [str(name) for name in prepared.feature_names_in_]
            X = prepared.transform(features(part, names))
        except NotFittedError:
            X = prepared.fit_transform(X)
    if hasattr(X, "toarray"):
        raise Failure("an exact search needs dense features: fewer columns, or fewer levels of text")
    width = X.shape[1]
    exact = ExactRanker(
        "dcg",
        l0=0.1,
        method="auto" if width < MOST_PROVEN else "ascent",
        time_limit=options.time_limit or 30.0,
        n_starts=None if width < MOST_PROVEN else 3,
        start=np.append(np.zeros(width), 1.0),  # the base's own order
        random_state=options.seed,
    )
    second = Pipeline([("scale", MinMaxScaler()), ("exact", exact)])
    ranker = Reranker(first, second, top, add_score=True)
    extra = {} if data.groups is None else {"groups": data.groups[rows]}
    with terminal.progress(f"searching the first {top:,} rows"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, y, **extra)
    say_warnings(terminal, caught)
    slope = getattr(getattr(ranker.base_, "named_steps", {}).get("score"), "coef_", None)
    if slope is not None and slope[0, 0] < 0:
        raise Failure("the column of scores puts rows that belong at the top below the others; turn its sign round")
    return Pipeline([*([("prepare", prepared)] if prepared is not None else []), ("rank", ranker)])
