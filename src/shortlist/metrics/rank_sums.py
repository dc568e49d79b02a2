"""Conditional linear rank statistics of ``shortlist.statistics`` as a metric, with groups and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import Sample, binary_labels, check_choice, read
from shortlist.metrics._ranking import Empty, Ranking, mean_over_groups, order_rows, rank
from shortlist.metrics._two_label import unroll
from shortlist.statistics import RankWeights, count_beaten, rank_weights

Array = NDArray[Any]

__all__ = ["rank_statistic", "rank_sums", "rank_terms"]


def rank_statistic(
    y_true: Any,
    y_score: Any,
    weights: Any = "wrs",
    *,
    ranks: Literal["subrank", "resolved"] = "subrank",
    margin: float = 0.0,
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Sum of ``a[1 + rank]`` over the positives, rank the Subrank or the ResolvedRank.

    Parameters
    ----------
    weights : str, array or RankWeights
        "wrs" (or "auc"), "winner_takes_all", "reciprocal_rank", "dcg", an object such as
        ``shortlist.statistics.PartialAUC(top=100)``, or a_1 <= ... <= a_n, the top last.
    ranks : "subrank" or "resolved"
        Rows strictly below (ties share it); or a permutation in which tied negatives stand above tied
        positives. Both count ties against the positive, so there is no ``ties`` here.
    margin : float
        With Subrank: count rows that score at least this much below.

    Notes
    -----
    Ranks number the rows, so ``sample_weight`` must hold whole numbers.  Defined in every group: 0 where
    there is no positive.  One sort.

    References
    ----------
    Rudin and Wang (2018), equations (7) and (8).

    Examples
    --------
    >>> rank_statistic([1, 0, 1, 0], [4, 3, 2, 1], "wrs")
    6.0
    """
    check_choice("ranks", ranks, ("subrank", "resolved"))
    if not (np.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin must be a non-negative number, got {margin!r}")
    if margin != 0 and ranks == "resolved":
        raise ValueError("margin is part of the Subrank; ResolvedRank has none, so leave margin=0")
    a = rank_weights(weights)
    sample = read(y_true, y_score, groups, sample_weight)
    positive = binary_labels(sample.y, pos_label, "rank_statistic").positive
    if margin > 0:
        values = _with_margin(sample, positive, a, margin)
    else:
        values = rank_sums(rank(sample, positive), a, ranks)
    return mean_over_groups(values, sample.group_ids, empty, "rank_statistic")


def rank_sums(r: Ranking, a: RankWeights, ranks: str) -> Array:
    """The statistic of each group."""
    if not r.whole:
        raise _fractional()
    return r.total_of(rank_terms(a, ranks))


def rank_terms(a: RankWeights, ranks: str) -> Callable[[Ranking], Array]:
    return lambda part: _worth(part, a, ranks)


def _worth(r: Ranking, a: RankWeights, ranks: str) -> Array:
    """What the positives of each block add."""
    total = r.of_group(r.total)
    below = total - r.above - r.size
    if ranks == "subrank" or r.distinct:
        return np.asarray(r.pos * a.at(1.0 + below, _whole(total)))
    block, t = unroll(r.pos.astype(np.intp))
    lengths = _whole(np.broadcast_to(total, below.shape)[block])
    return np.bincount(block, weights=a.at(1.0 + below[block] + t, lengths), minlength=len(below))


def _with_margin(sample: Sample, positive: Array, a: RankWeights, margin: float) -> Array:
    w = np.ones(len(sample.y)) if sample.weights is None else sample.weights
    if (w != np.floor(w)).any():
        raise _fractional()
    codes = np.zeros(len(w), dtype=np.intp) if sample.groups is None else sample.groups.astype(np.intp)
    order = order_rows(sample.scores, sample.groups, sample.n_groups)
    # Group after group, worst first.
    ends = np.cumsum(np.bincount(codes, minlength=sample.n_groups))
    starts = np.concatenate([[0], ends[:-1]])
    turned = order[(starts + ends - 1)[codes[order]] - np.arange(len(order))]
    ascending = sample.scores[turned].astype(np.float64)
    mass = np.concatenate([[0.0], np.cumsum(w[turned])])
    group = codes[positive]
    beaten = count_beaten(
        ascending, sample.scores[positive].astype(np.float64), margin, starts[group], ends[group]
    )
    below = mass[starts[group] + beaten] - mass[starts[group]]
    total = mass[ends] - mass[starts]
    worth = w[positive] * a.at(1.0 + below, _whole(total[group]))
    return np.bincount(group, weights=worth, minlength=sample.n_groups)


def _whole(total: Array) -> Array:
    return np.rint(total).astype(np.int64)


def _fractional() -> ValueError:
    return ValueError(
        "rank_statistic numbers the rows, so sample_weight must hold whole numbers; "
        "use dcg, average_precision or auc with fractional weights"
    )
