"""Areas under the ROC curve: pairs of a positive and a negative in the right order."""

from __future__ import annotations

from typing import Any

from shortlist.metrics import _two_label
from shortlist.metrics._ranking import Empty, Ties, mean_over_groups, ranking

__all__ = ["auc", "check_range", "partial_auc"]


def auc(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Share of the pairs (positive, negative) in which the positive scores higher; a tie counts one half.

    AUC = 1/(m n) sum_ij (1[s_i > s_j] + 1/2 1[s_i = s_j]).  ``ties="pessimistic"`` gives a tie nothing,
    which is 1 - L_rank of TopPush; ``"optimistic"`` gives it 1.  Undefined (``empty``) in a group that
    lacks a label.
    Equals ``sklearn.metrics.roc_auc_score``.  One sort, O(n log n).  The shared parameters are described in
    ``shortlist.metrics``.

    References
    ----------
    Agarwal (2011), section 2; Li, Jin and Zhou (2014), equation (1).

    Examples
    --------
    >>> auc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.75
    >>> auc([1, 0, 1, 0], [1, 1, 1, 1])
    0.5
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "auc")
    return mean_over_groups(_two_label.auc(r, ties), r.group_ids, empty, "auc")


def partial_auc(
    y_true: Any,
    y_score: Any,
    *,
    min_fpr: float = 0.0,
    max_fpr: float = 0.1,
    standardized: bool = False,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Area under the ROC curve for false-positive rates in [min_fpr, max_fpr], divided by the range: in [0,
    1].

    With h(t) the share of positives above the t-th best of n negatives, it is the mean of h over the
    negatives ranked in (min_fpr n, max_fpr n]; a negative on the border counts with the part of it inside.
    Tied rows enter with the expectation over their orders, which is not scikit-learn's straight line when
    the border falls among them; without ties the two agree.  ``standardized=True`` gives McClish's 1/2 (1 +
    (A - a) / (1 - a)), with a the chance value (min_fpr + max_fpr) / 2, which is ``roc_auc_score(...,
    max_fpr=)``.  Undefined in a group that lacks a label.  One sort.

    References
    ----------
    Narasimhan and Agarwal (2013); McClish (1989).

    Examples
    --------
    >>> partial_auc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], max_fpr=0.5)
    0.5
    """
    check_range(min_fpr, max_fpr)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "partial_auc")
    values = _two_label.partial_auc(r, ties, min_fpr, max_fpr)
    if standardized:
        chance = (min_fpr + max_fpr) / 2
        values = 0.5 * (1 + (values - chance) / (1 - chance))
    return mean_over_groups(values, r.group_ids, empty, "partial_auc")


def check_range(min_fpr: float, max_fpr: float) -> None:
    """The range must be a proper part of [0, 1]."""
    if not 0 <= min_fpr < max_fpr <= 1:
        raise ValueError(
            f"min_fpr and max_fpr must satisfy 0 <= min_fpr < max_fpr <= 1, got {min_fpr!r} and {max_fpr!r}"
        )
