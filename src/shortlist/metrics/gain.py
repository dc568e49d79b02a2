"""Gains that are discounted by their place: average precision, DCG, enrichment, BEDROC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics import _graded, _two_label
from shortlist.metrics._discounts import Discount, make_discount
from shortlist.metrics._input import Sample, read, relevance, two_labels
from shortlist.metrics._ranking import (
    Empty,
    Ranking,
    Ties,
    check_ties,
    mean_over_groups,
    rank,
    ranking,
    ratio,
)
from shortlist.metrics.top import check_k

Array = NDArray[Any]
Gains = Literal["identity", "exp2"] | Callable[[Array], Any]

__all__ = [
    "average_precision",
    "bedroc",
    "check_alpha",
    "check_fraction",
    "dcg",
    "enrichment_factor",
    "list_gains",
    "ndcg",
    "two_label_gains",
    "two_values",
]


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Mean over the positives of the precision at their place; with groups, the MAP.

    AP = 1/m sum_i (positives at or above i) / (place of i).  The Infinite Push paper's (6.26) omits the
    positive itself from the numerator, by which a perfect list would not score 1; it is counted here, as
    everywhere else.
    Without ties this is ``sklearn.metrics.average_precision_score``.  With ties it is the expectation over
    orders, where scikit-learn takes the precision at the end of the tied rows.  Undefined in a group
    without positives.
    One sort; ties cost one harmonic sum each, in closed form.

    References
    ----------
    Agarwal (2011), equation (6.26); McSherry and Najork (2008) for tied scores.

    Examples
    --------
    >>> round(average_precision([1, 0, 1, 0], [4, 3, 2, 1]), 4)
    0.8333
    >>> average_precision([1, 0], [1, 1])
    0.75
    """
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "average_precision")
    return mean_over_groups(_two_label.average_precision(r, ties), r.group_ids, empty, "average_precision")


def dcg(
    y_true: Any,
    y_score: Any,
    *,
    k: float | None = None,
    gains: Gains = "identity",
    discounts: Any = "log2",
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Discounted cumulative gain: sum over the first k places of gain(y) d(place), d(r) = 1 / log2(1 + r).

    Parameters
    ----------
    k : float, optional
        Places that count; all of them by default.
    gains : "identity", "exp2" (2^y - 1) or a function of the labels
        Labels are non-negative grades.  Labels such as -1 and 1, text, or a named ``pos_label`` earn 0 and 1.
    discounts : "log2", an array d(1), d(2), ... (0 beyond its end), or a function of the places

    Notes
    -----
    Equals ``sklearn.metrics.dcg_score``, ties included.  Defined in every group, so ``empty`` never acts.
    One sort for two labels, two for grades.

    References
    ----------
    Järvelin and Kekäläinen (2002); Agarwal (2011), equation (6.27).

    Examples
    --------
    >>> round(dcg([3, 0, 2], [3, 2, 1]), 4), dcg([1, 0, 1], [3, 2, 1])
    (4.0, 1.5)
    """
    sample, gained, _ = _gained(y_true, y_score, k, gains, discounts, ties, groups, sample_weight, pos_label)
    return mean_over_groups(gained, sample.group_ids, empty, "dcg")


def ndcg(
    y_true: Any,
    y_score: Any,
    *,
    k: float | None = None,
    gains: Gains = "identity",
    discounts: Any = "log2",
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """``dcg`` divided by the largest value that any order of the group can reach.

    Parameters as in ``dcg``.  Equals ``sklearn.metrics.ndcg_score`` where some grade is above 0.  Undefined
    in a group in which nothing can be gained (scikit-learn calls that 0: ``empty="zero"``).  One sort for
    two labels, three for grades.

    Examples
    --------
    >>> round(ndcg([3, 0, 2], [1, 2, 3]), 4), ndcg([3, 0, 2], [3, 1, 2])
    (0.8212, 1.0)
    """
    sample, gained, best = _gained(
        y_true, y_score, k, gains, discounts, ties, groups, sample_weight, pos_label
    )
    return mean_over_groups(ratio(gained, best), sample.group_ids, empty, "ndcg")


def enrichment_factor(
    y_true: Any,
    y_score: Any,
    fraction: float = 0.01,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Precision in the first ceil(fraction n) rows divided by the share of positives among all n.

    RDKit's ``CalcEnrichment``.  A random order earns 1.  Undefined in a group without positives.  One sort.

    Examples
    --------
    >>> enrichment_factor([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], range(10, 0, -1), fraction=0.2)
    5.0
    """
    check_fraction(fraction)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "enrichment_factor")
    values = _two_label.enrichment_factor(r, ties, fraction)
    return mean_over_groups(values, r.group_ids, empty, "enrichment_factor")


def bedroc(
    y_true: Any,
    y_score: Any,
    alpha: float = 20.0,
    *,
    ties: Ties = "average",
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Boltzmann-enhanced discrimination of ROC: exponentially discounted places, scaled to [0, 1].

    BEDROC = (R - R_min) / (R_max - R_min), R = sum over positives of exp(-alpha place / n); R_max and R_min
    are its values with all positives first and last.  RDKit's ``CalcBEDROC``, where RIE is R over its mean;
    the mean cancels.  1 in a group without negatives, as there; undefined in a group without positives.
    One sort.

    References
    ----------
    Truchon and Bayly (2007).

    Examples
    --------
    >>> bedroc([1, 1, 0, 0], [4, 3, 2, 1]), bedroc([1, 1, 0, 0], [1, 2, 3, 4])
    (1.0, 0.0)
    """
    check_alpha(alpha)
    r = ranking(y_true, y_score, groups, sample_weight, pos_label, ties, "bedroc")
    return mean_over_groups(_two_label.bedroc(r, ties, alpha), r.group_ids, empty, "bedroc")


def _gained(
    y_true: Any,
    y_score: Any,
    k: float | None,
    gains: Gains,
    discounts: Any,
    ties: Ties,
    groups: Any,
    sample_weight: Any,
    pos_label: Any,
) -> tuple[Sample, Array, Array]:
    """DCG and ideal DCG of each group."""
    check_ties(ties)
    if k is not None:
        check_k(k)
    discount = make_discount(discounts)
    sample = read(y_true, y_score, groups, sample_weight)
    labels = two_labels(sample.y, pos_label)
    if labels is None:
        gain = list_gains(sample.y, gains)
        best = _graded.ideal_dcg(sample, gain, discount, k)
        return sample, _graded.dcg(sample, gain, ties, discount, k), best
    values = two_values(labels.low, labels.high, gains)
    return sample, *two_label_gains(rank(sample, labels.positive), values, ties, discount, k)


def two_label_gains(
    r: Ranking,
    values: tuple[float, float],
    ties: str,
    discount: Discount,
    k: float | None,
    total: Array | None = None,
) -> tuple[Array, Array]:
    """DCG and ideal DCG where negatives gain ``values[0]`` and positives ``values[1]``."""
    low, high = values
    none = np.zeros(r.n_groups)
    total = _two_label.discounted(r, ties, discount, k) if total is None else total
    gained = (high - low) * total
    first = max(high, low) - min(high, low)
    best = first * discount.between(none, r.total_pos if high >= low else r.total_neg, k)
    if low != 0:
        gained = gained + low * discount.between(none, r.total, k)
    if min(high, low) != 0:
        best = best + min(high, low) * discount.between(none, r.total, k)
    return gained, best


def two_values(low: float, high: float, gains: Gains) -> tuple[float, float]:
    """What the two labels gain; one label alone is the positive one, or gains nothing."""
    if low < 0:
        low, high = 0.0, 1.0
    elif low == high:
        low = 0.0
    worth = _apply(gains, np.array([low, high]))
    return float(worth[0]), float(worth[1])


def list_gains(y: Array, gains: Gains) -> Array:
    """Gain of every row of graded labels."""
    return _apply(gains, relevance(y, "dcg"))


def _apply(gains: Gains, grades: Array) -> Array:
    if callable(gains):
        worth = np.asarray(gains(grades), dtype=np.float64)
        if worth.shape != grades.shape:
            raise ValueError(f"gains returned shape {worth.shape} for labels of shape {grades.shape}")
    elif gains == "identity":
        worth = grades
    elif gains == "exp2":
        worth = np.exp2(grades) - 1.0
    else:
        raise ValueError(f'gains must be "identity", "exp2" or a function of the labels, got {gains!r}')
    if not np.isfinite(worth).all() or worth.min() < 0:
        raise ValueError(
            "gains must be finite and not negative; grade the labels from 0 upwards, or give a function"
        )
    return worth


def check_fraction(fraction: float) -> None:
    """A share of the list."""
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction!r}")


def check_alpha(alpha: float) -> None:
    """The steepness of the exponential discount."""
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be positive, got {alpha!r}")
