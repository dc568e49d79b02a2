"""Pairs of rows and their order, for two labels and for graded or real ones.

The expectation over orders counts a pair of equal scores as one half.  With two labels all four are
functions of the AUC and cost one sort; otherwise pairs are counted bit by bit in O(n log n), never formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics import _graded, _two_label
from shortlist.metrics._input import Labels, Sample, read, relevance, two_labels
from shortlist.metrics._ranking import Empty, Ranking, Ties, check_ties, mean_over_groups, rank, ratio

Array = NDArray[Any]

__all__ = ["kendall_tau", "pairwise_misranking", "ranking_error", "spearman_rho", "two_label_spearman"]


def pairwise_misranking(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Share of the pairs with y_i > y_j that the scores put the wrong way round; equal scores count one half.

    Cortes et al. print 1[s_i <= s_j], a tie as a full error: ``ties="pessimistic"``.  With two labels it is
    1 - ``auc``.  Undefined in a group with a single label value.

    References
    ----------
    Cortes, Mohri and Rastogi (2007), equation (69).

    Examples
    --------
    >>> pairwise_misranking([1, 2, 3], [1, 3, 2]).__round__(4)
    0.3333
    """
    ids, misranking, _ = _misranked(y_true, y_score, ties, groups, sample_weight, pos_label)
    return mean_over_groups(misranking, ids, empty, "pairwise_misranking")


def ranking_error(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Mean over the pairs with y_i > y_j of (y_i - y_j)(1[s_i < s_j] + 1/2 1[s_i = s_j]).

    Undefined in a group with a single label value.  Text labels stand for 0 and 1.

    References
    ----------
    Zhou et al. (2016), section V-A, after Agarwal et al. (2010).

    Examples
    --------
    >>> ranking_error([1, 2, 4], [1, 3, 2]).__round__(4)
    0.6667
    """
    ids, _, error = _misranked(y_true, y_score, ties, groups, sample_weight, pos_label)
    return mean_over_groups(error, ids, empty, "ranking_error")


def kendall_tau(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """(concordant - discordant) / |P| over the pairs P with y_i > y_j; equal scores add 0.

    Zhou et al. define it so, on pairs with a preference (their printed formula has the sign reversed).
    Without equal labels and scores it is the usual tau; ``scipy.stats.kendalltau`` divides by sqrt(|P|
    |Q|), Q the pairs of different scores.  Undefined in a group with a single label value.

    References
    ----------
    Zhou et al. (2016), section V-A.

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [1, 3, 2]).__round__(4), kendall_tau([1, 2, 3], [0, 0, 0])
    (0.3333, 0.0)
    """
    ids, misranking, _ = _misranked(y_true, y_score, ties, groups, sample_weight, pos_label)
    return mean_over_groups(1.0 - 2.0 * misranking, ids, empty, "kendall_tau")


def spearman_rho(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Pearson correlation of the places by score with the places by label, equal labels sharing their mean
    place.

    ``ties="average"`` is its expectation over the orders of equal scores, so a constant score earns 0.
    Without equal scores it is ``scipy.stats.spearmanr``, which gives equal scores their mean place, and so
    a larger value in absolute terms.  Undefined in a group with a single label value.

    References
    ----------
    Zhou et al. (2016), section V-A.

    Examples
    --------
    >>> round(spearman_rho([1, 2, 3], [1, 3, 2]), 6)
    0.5
    """
    sample, labels = _prepare(y_true, y_score, ties, groups, sample_weight, pos_label)
    if labels is None:
        values = _graded.spearman_rho(sample, relevance(sample.y, "spearman_rho"), ties)
    else:
        r = rank(sample, labels.positive)
        values = two_label_spearman(r, _two_label.auc(r, ties))
    return mean_over_groups(values, sample.group_ids, empty, "spearman_rho")


def two_label_spearman(r: Ranking, area: Array) -> Array:
    """``(2 AUC - 1) sqrt(3 P N / (W^2 - 1))``, P + N = W."""
    scale = np.sqrt(3.0 * ratio(r.total_pos * r.total_neg, np.maximum(r.total**2 - 1.0, 0.0)))
    return np.clip((2.0 * area - 1.0) * scale, -1.0, 1.0)


def _prepare(
    y_true: Any, y_score: Any, ties: Any, groups: Any, sample_weight: Any, pos_label: Any
) -> tuple[Sample, Labels | None]:
    check_ties(ties)
    sample = read(y_true, y_score, groups, sample_weight)
    return sample, two_labels(sample.y, pos_label)


def _misranked(
    y_true: Any, y_score: Any, ties: Any, groups: Any, sample_weight: Any, pos_label: Any
) -> tuple[Any, Array, Array]:
    """Group ids, misranking and error of each group."""
    sample, labels = _prepare(y_true, y_score, ties, groups, sample_weight, pos_label)
    if labels is None:
        pairs = _graded.disagreement(sample, relevance(sample.y))
        return sample.group_ids, pairs.misranking(ties), pairs.error(ties)
    misranking = 1.0 - _two_label.auc(rank(sample, labels.positive), ties)
    return sample.group_ids, misranking, (labels.high - labels.low) * misranking
