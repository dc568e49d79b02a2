"""What stands at the top: before the first negative, among the first k, in first place.

Three of these are defined by the scores and not by an order: ``positives_at_top``, ``pos_at_top`` and
``infinite_push_loss``.  A positive is at the top only when it scores *strictly* above every negative, so
their default is ``ties="pessimistic"``, and a constant score has none at the top.  ``"average"`` and
``"optimistic"`` answer, for those who want it, what an order drawn among the tied rows would show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.metrics import _two_label
from shortlist.metrics._ranking import Empty, Ties, mean_over_groups, ranking

__all__ = [
    "check_exponent",
    "check_k",
    "infinite_push_loss",
    "p_norm_loss",
    "pos_at_top",
    "positives_at_top",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank",
    "winner_takes_all",
]


def positives_at_top(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "pessimistic",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Number of positives that score strictly above every negative.

    With groups, the mean number per group.  ``ties="average"``: each of p positives tied with the q best
    negatives is ahead of all of them in 1 of q + 1 orders.  Undefined in a group that lacks a label.  One
    sort.

    References
    ----------
    Agarwal (2011), sections 2 and 6.

    Examples
    --------
    >>> positives_at_top([1, 1, 0, 1, 0], [5, 4, 3, 3, 1])
    2.0
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "positives_at_top")
    return mean_over_groups(_two_label.positives_at_top(r, ties), r.group_ids, empty, "positives_at_top")


def pos_at_top(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "pessimistic",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Share of the positives that score strictly above every negative, the Pos@Top of the papers.

    ``ties`` and ``empty`` as in ``positives_at_top``.  One sort.

    References
    ----------
    Li, Jin and Zhou (2014), equation (2) and section 5.

    Examples
    --------
    >>> pos_at_top([1, 1, 0, 1, 0], [5, 4, 3, 3, 1])
    0.6666666666666666
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "pos_at_top")
    return mean_over_groups(_two_label.pos_at_top(r, ties), r.group_ids, empty, "pos_at_top")


def infinite_push_loss(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "pessimistic",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Largest share of the positives that fails to beat one negative: max_j 1/m sum_i 1[s_i <= s_j].

    Equals 1 - ``pos_at_top`` and is the limit of ``p_norm_loss`` as p grows.  The Infinite Push paper prints
    1[s_i < s_j], which is ``ties="optimistic"``; TopPush prints <=, the default here.  Undefined in a group
    that lacks a label.  One sort.

    References
    ----------
    Agarwal (2011), equation (3.1); Li, Jin and Zhou (2014), equation (2) and section 4.1.

    Examples
    --------
    >>> infinite_push_loss([1, 1, 0, 1, 0], [5, 4, 3, 2, 1]).__round__(3)
    0.333
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "infinite_push_loss")
    return mean_over_groups(_two_label.infinite_push_loss(r, ties), r.group_ids, empty, "infinite_push_loss")


def p_norm_loss(
    y_true: Any,
    y_score: Any,
    p: float = 4.0,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """R_p = (1/n sum_j h_j^p)^(1/p), h_j the share of the positives that stand below negative j.

    p = 1 is 1 - AUC; p = infinity is the loss of the Infinite Push.  ``ties="average"`` takes the
    expectation of the mean of h_j^p, inside the root (of the root itself there is no closed form).
    Undefined in a group that lacks a label.  One sort.

    References
    ----------
    Rudin (2009); Agarwal (2011), section 3.

    Examples
    --------
    >>> round(p_norm_loss([1, 0, 1, 0], [4, 3, 2, 1], p=2), 4)
    0.3536
    """
    check_exponent(p)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "p_norm_loss")
    return mean_over_groups(_two_label.p_norm_loss(r, ties, p), r.group_ids, empty, "p_norm_loss")


def precision_at_k(
    y_true: Any,
    y_score: Any,
    k: float = 10,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Share of positives among the first k rows; of all rows where a group holds fewer than k.

    Defined in every group: where there is no positive it is 0, so ``empty`` never acts.  One sort.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [4, 3, 2, 1], k=3)
    0.6666666666666666
    """
    check_k(k)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "precision_at_k")
    return mean_over_groups(_two_label.precision_at_k(r, ties, k), r.group_ids, empty, "precision_at_k")


def recall_at_k(
    y_true: Any,
    y_score: Any,
    k: float = 10,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Share of the positives that stand among the first k rows.

    Undefined in a group without positives.  One sort.

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 0], [4, 3, 2, 1], k=1)
    0.5
    """
    check_k(k)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "recall_at_k")
    return mean_over_groups(_two_label.recall_at_k(r, ties, k), r.group_ids, empty, "recall_at_k")


def winner_takes_all(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """1 when the first row is a positive, else 0; among tied leaders, the share of positives.

    Undefined in a group without positives.  One sort.

    References
    ----------
    Burges et al. (2006); Rudin and Wang (2018), section 2.2.

    Examples
    --------
    >>> winner_takes_all([1, 0, 0], [2, 2, 1]), winner_takes_all([1, 0, 0], [2, 2, 1], ties="pessimistic")
    (0.5, 0.0)
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "winner_takes_all")
    return mean_over_groups(_two_label.winner_takes_all(r, ties), r.group_ids, empty, "winner_takes_all")


def reciprocal_rank(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """One over the place of the first positive; with groups this is the mean reciprocal rank.

    Undefined in a group without positives.  One sort, and for tied leaders a sum over the tied negatives.

    Examples
    --------
    >>> reciprocal_rank([0, 1, 1], [3, 2, 1]), reciprocal_rank([0, 1], [1, 1])
    (0.5, 0.75)
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "reciprocal_rank")
    return mean_over_groups(_two_label.reciprocal_rank(r, ties), r.group_ids, empty, "reciprocal_rank")


def check_k(k: Any) -> None:
    """A length of list: a number above 0."""
    if isinstance(k, bool) or not isinstance(k, int | float | np.integer | np.floating) or not k > 0:
        raise ValueError(f"k must be a positive number of places, got {k!r}")


def check_exponent(p: float) -> None:
    """The exponent of a norm that R_p can be raised to."""
    if not (np.isfinite(p) and p > 0):
        raise ValueError(
            f"p must be a positive, finite number (use infinite_push_loss for infinity), got {p!r}"
        )
