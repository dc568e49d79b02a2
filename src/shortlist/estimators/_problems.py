"""From checked rows to an exact problem.

Its rows come in an order that does not depend on the order they were given in, and as often as they weigh: so weights
and repetition, and two orders of the same rows, are one and the same search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._preferences import class_pairs, given_pairs, weighted, within_groups
from shortlist.estimators._validation import TrainingRows
from shortlist.features.landmarks import row_keys
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem

Array = NDArray[Any]

__all__ = ["joined", "preference_problem", "statistic_problem"]


def statistic_problem(
    rows: TrainingRows, statistic: Any, ranks: Any, *, margin: float, l0: float, max_memory: float
) -> tuple[Array, RankProblem]:
    """The problem of labelled rows, and the number that each of its rows has among the given ones.

    Groups of rows of one class take no part.
    """
    times = np.ones(rows.X.shape[0], dtype=np.intp) if rows.weights is None else _whole(rows.weights)
    codes = np.zeros(len(times), dtype=np.intp) if rows.groups is None else rows.groups
    n_groups = int(codes.max()) + 1
    positives = np.bincount(codes, times * rows.is_positive, n_groups)
    competes = (positives > 0) & (positives < np.bincount(codes, times, n_groups))
    if not competes.any():
        raise ValueError("there is nothing to rank: no group holds rows of both classes with a positive weight")
    times = np.where(competes[codes], times, 0)
    keys = row_keys(rows.X, 0)
    # Equal rows of several groups: the groups' contents decide which comes first.
    contents = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(contents, codes, times.astype(np.uint64) * np.where(rows.is_positive, np.uint64(3) * keys, keys))
    order = np.lexsort((contents[codes], rows.is_positive, keys))
    chosen = np.repeat(order, times[order])
    _, first, numbers = np.unique(codes[chosen], return_index=True, return_inverse=True)
    problem = RankProblem.of(
        _dense(rows.X, chosen, max_memory),
        rows.is_positive[chosen],
        statistic,
        groups=np.argsort(np.argsort(first))[numbers],
        margin=margin,
        l0=l0,
        ranks=ranks,
    )
    return chosen, problem


def preference_problem(
    rows: TrainingRows, pairs: Any, *, margin: float, l0: float, max_memory: float
) -> tuple[Array, PreferenceProblem]:
    """The problem of preferences between rows, and the number that each of its rows has among the given ones."""
    if isinstance(pairs, str):
        assert rows.labels is not None
        named = class_pairs(rows.labels, rows.groups, max_memory)
    else:
        named = within_groups(given_pairs(pairs, rows.X.shape[0]), rows.groups)
    better, worse, weight = weighted(named, rows.weights)
    if not len(better):
        raise ValueError("there is nothing to rank: no preference joins two rows of positive weight in one group")
    keys = row_keys(rows.X, 0)
    chosen = np.argsort(keys, kind="stable")
    X = _dense(rows.X, chosen, max_memory)
    return chosen, PreferenceProblem(X, margin, l0, *joined(better, worse, weight, keys, chosen))


def joined(better: Array, worse: Array, weight: Array, keys: Array, chosen: Array) -> tuple[Array, Array, Array]:
    """Pairs by place in ``chosen``; those of equal rows are one pair, by the first of these rows."""
    ordered = keys[chosen]
    place = np.empty(int(chosen.max()) + 1, dtype=np.intp)
    place[chosen] = np.searchsorted(ordered, ordered)
    better, worse = place[better], place[worse]
    worse = worse + (better == worse)  # of two equal rows the one above the other: never met, but it counts
    codes, pair = np.unique(better * np.int64(len(chosen)) + worse, return_inverse=True)
    return codes // len(chosen), codes % len(chosen), np.bincount(pair, weights=weight, minlength=len(codes))


def _dense(X: Any, chosen: Array, max_memory: float) -> Array:
    size = 8.0 * len(chosen) * X.shape[1]
    if hasattr(X, "toarray") and size > max_memory:
        raise ValueError(
            f"the exact search needs dense rows: {len(chosen)} x {X.shape[1]} take {size:.3g} bytes, beyond "
            f"max_memory={max_memory:g}. Rerank fewer rows, fewer columns, or raise max_memory"
        )
    part = X[chosen]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def _whole(weights: Array) -> Array:
    """Weights as numbers of times."""
    broken = np.flatnonzero(weights != np.round(weights))
    if len(broken):
        raise ValueError(
            f"sample_weight must hold whole numbers, got {weights[broken[0]]:g} in row {broken[0]}: a rank counts "
            "rows, so a row takes part a whole number of times. Round the weights, or give pairs, whose weights may "
            "be any"
        )
    return weights.astype(np.intp)
