"""How well differences of scores match differences of labels: defined by values, not by an order, so without
ties.

Labels are numbers; text labels and a named ``pos_label`` stand for 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import Sample, binary_labels, read, relevance
from shortlist.metrics._ranking import Empty, mean_over_groups, order_rows, ratio

Array = NDArray[Any]

__all__ = [
    "absolute_difference",
    "correlation",
    "mean_absolute_difference",
    "mean_squared_difference",
    "numeric_labels",
    "pearson",
    "sorted_absolute_difference",
    "squared_difference",
]


def mean_squared_difference(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """MSD = 1/m^2 sum_ij ((s_j - s_i) - (y_j - y_i))^2, twice the variance of the residuals s - y.

    Defined in every group, so ``empty`` never acts.  O(n), no sort.

    References
    ----------
    Cortes, Mohri and Rastogi (2007), equation (67).

    Examples
    --------
    >>> mean_squared_difference([1, 2, 3], [2, 3, 7])
    4.0
    """
    sample = read(y_true, y_score, groups, sample_weight)
    values = squared_difference(sample, numeric_labels(sample.y, pos_label))
    return mean_over_groups(values, sample.group_ids, empty, "mean_squared_difference")


def mean_absolute_difference(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """M1D = 1/m^2 sum_ij |(s_j - s_i) - (y_j - y_i)|, the Gini mean difference of the residuals s - y.

    Defined in every group, so ``empty`` never acts.  One sort of the residuals.

    References
    ----------
    Cortes, Mohri and Rastogi (2007), equation (68).

    Examples
    --------
    >>> mean_absolute_difference([1, 2, 3], [2, 3, 7]).__round__(4)
    1.3333
    """
    sample = read(y_true, y_score, groups, sample_weight)
    values = absolute_difference(sample, numeric_labels(sample.y, pos_label))
    return mean_over_groups(values, sample.group_ids, empty, "mean_absolute_difference")


def pearson(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    empty: Empty = "skip",
    pos_label: Any = None,
) -> float:
    """Pearson correlation of scores and labels.

    0 where the scores are constant and the labels are not; undefined in a group with a single label value.
    O(n), no sort.

    References
    ----------
    Zhou et al. (2016), section V-A.

    Examples
    --------
    >>> round(pearson([1, 2, 3], [2, 4, 6]), 6)
    1.0
    """
    sample = read(y_true, y_score, groups, sample_weight)
    values = correlation(sample, numeric_labels(sample.y, pos_label))
    return mean_over_groups(values, sample.group_ids, empty, "pearson")


def numeric_labels(y: Array, pos_label: Any = None) -> Array:
    """Labels as numbers."""
    if pos_label is not None or y.dtype.kind not in "iufb":
        try:
            if pos_label is None:
                return relevance(y)
        except TypeError:
            pass
        return binary_labels(y, pos_label).positive.astype(np.float64)
    return relevance(y)


def squared_difference(sample: Sample, y: Array) -> Array:
    """One value per group."""
    residual = _centred(sample, sample.scores - y)
    return np.asarray(2.0 * _group_sum(sample, residual * residual) / _group_mass(sample))


def correlation(sample: Sample, y: Array) -> Array:
    """One value per group; NaN where the labels are constant."""
    u, v = _centred(sample, sample.scores), _centred(sample, y)
    covariance, vv = _group_sum(sample, u * v), _group_sum(sample, v * v)
    uu = _group_sum(sample, u * u)
    value = ratio(covariance, np.sqrt(np.where(uu > 0, uu, 1.0)) * np.sqrt(vv))
    return np.asarray(np.clip(value, -1.0, 1.0))


def absolute_difference(sample: Sample, y: Array) -> Array:
    """One value per group: sort the residuals r, then sum w r (weight before - weight after)."""
    residual = sample.scores - y
    if sample.groups is None and sample.weights is None:
        return sorted_absolute_difference(np.sort(residual))
    order = order_rows(-residual, sample.groups, sample.n_groups)
    # Centred, so that large values common to all rows do not cancel digits away.
    r = _centred(sample, residual).take(order)
    if sample.groups is None:
        sizes = np.array([len(r)])
    else:
        sizes = np.bincount(sample.groups, minlength=sample.n_groups)
    starts = np.cumsum(sizes) - sizes
    if sample.weights is None:
        place = np.arange(1.0, len(r) + 1) * 2.0
        place -= np.repeat(2.0 * starts + sizes + 1.0, sizes)
        return np.asarray(2.0 * np.add.reduceat(place * r, starts) / sizes**2)
    w = sample.weights.take(order)
    total = np.add.reduceat(w, starts)
    through = np.cumsum(w)
    before = through - w - np.repeat((through - w)[starts], sizes)
    lead = 2.0 * before + w - np.repeat(total, sizes)
    return np.asarray(2.0 * np.add.reduceat(w * r * lead, starts) / total**2)


def sorted_absolute_difference(r: Array) -> Array:
    """The same for one group of rows of weight 1, residuals ascending."""
    n = len(r)
    r = r - r[n // 2]
    return np.array([2.0 * np.dot(np.arange(1.0 - n, n, 2.0), r) / n**2])


def _centred(sample: Sample, values: Array) -> Array:
    """Values minus the mean of their group; exactly 0 where they are constant."""
    if sample.groups is None:
        shifted = values - values.dtype.type(values[0])
        shifted = shifted.astype(np.float64, copy=False)
        mean = shifted.mean() if sample.weights is None else np.average(shifted, weights=sample.weights)
        return np.asarray(shifted - mean)
    reference = np.zeros(sample.n_groups)
    reference[sample.groups] = values
    shifted = values - reference[sample.groups]
    mean = _group_sum(sample, shifted) / _group_mass(sample)
    return np.asarray(shifted - mean[sample.groups])


def _group_sum(sample: Sample, values: Array) -> Array:
    weighted = values if sample.weights is None else values * sample.weights
    if sample.groups is None:
        return np.array([weighted.sum()])
    return np.bincount(sample.groups, weights=weighted, minlength=sample.n_groups)


def _group_mass(sample: Sample) -> Array:
    if sample.weights is not None:
        return _group_sum(sample, np.ones(len(sample.y)))
    if sample.groups is None:
        return np.array([float(len(sample.y))])
    return np.bincount(sample.groups, minlength=sample.n_groups).astype(np.float64)
