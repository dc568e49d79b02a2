"""How well differences of scores match differences of labels: defined by values, not by an order, so without
ties.

Labels are numbers; text labels and a named ``pos_label`` stand for 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import Sample, binary_labels, read, relevance
from shortlist.metrics._ranking import (
    Empty,
    group_sizes,
    mean_over_groups,
    order_rows,
    ratio,
    segment_sum,
)

Array = NDArray[Any]

__all__ = [
    "absolute_difference",
    "correlation",
    "mean_absolute_difference",
    "mean_squared_difference",
    "numeric_labels",
    "pearson",
    "squared_difference",
    "two_label_magnitudes",
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
    # Centred, so that large values common to all rows do not cancel digits away.
    residual = _centred(sample, sample.scores - y)
    if sample.groups is None and sample.weights is None:
        return sorted_gaps(np.sort(residual)[None, :], np.array([len(residual)]))
    order = order_rows(-residual, sample.groups, sample.n_groups)
    r, sizes = residual.take(order), group_sizes(sample)
    starts = np.cumsum(sizes) - sizes
    w = np.ones(len(r)) if sample.weights is None else sample.weights.take(order)
    total = np.add.reduceat(w, starts)
    through = np.cumsum(w)
    before = through - w - np.repeat((through - w)[starts], sizes)
    lead = 2.0 * before + w - np.repeat(total, sizes)
    return np.asarray(2.0 * np.add.reduceat(w * r * lead, starts) / total**2)


def sorted_gaps(r: Array, sizes: Array) -> Array:
    """Mean absolute difference of each row of ``r``, whose first ``sizes`` entries ascend; the rest are 0."""
    n = r.shape[1]
    place = 2.0 * np.arange(n) + 1.0
    total = np.einsum("ij,j->i", r, place) - sizes * r.sum(axis=1)
    return np.asarray(2.0 * total / sizes**2)


def two_label_magnitudes(
    sizes: Array, scores: Array, positive: Array, low: float, high: float
) -> tuple[Array, Array, Array]:
    """Squared difference, absolute difference and correlation from scores that are sorted in their groups.

    ``scores`` fall inside each group of ``sizes`` rows of weight 1.  With means and variances of the two labels
    apart, var(s - y) = p var_1 + q var_0 + p q (mean_1 - mean_0 - (high - low))^2, p and q their shares.
    """
    rows = [np.flatnonzero(~positive), np.flatnonzero(positive)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sides = [scores.take(r) for r in rows]
    counts = [np.diff(np.searchsorted(r, starts)) for r in rows]
    within: Array = np.zeros(len(sizes))
    means = []
    for side, count in zip(sides, counts, strict=True):
        mean, squares = _moments(side, count)
        within, means = within + squares, [*means, mean]
    share = counts[0] * (counts[1] / sizes**2)
    apart, step = means[1] - means[0], high - low
    squared = 2.0 * (within / sizes + share * (apart - step) ** 2)
    spread = within / sizes + share * apart**2
    covariance = share * apart * step
    correlated = ratio(covariance, np.sqrt(np.where(spread > 0, spread, 1.0) * share) * step)
    # One value for each group close to its residuals, which keeps digits when scores are far from 0.
    centre = means[0] - low + counts[1] / sizes * (apart - step)
    residuals = scores - np.where(positive, high, low)
    residuals -= centre if len(sizes) == 1 else np.repeat(centre, sizes)
    if len(sizes) == 1:
        # Two sorted runs, one a label: a stable sort merges them in O(n).
        runs = np.concatenate([residuals[rows[1]][::-1], residuals[rows[0]][::-1]])
        absolute = sorted_gaps(np.sort(runs, kind="stable")[None, :], sizes)
    else:
        absolute = _sorted_by_size(residuals, sizes, starts)
    return squared, absolute, correlated


def _moments(values: Array, counts: Array) -> tuple[Array, Array]:
    """Mean and sum of squared deviations of consecutive stretches; 0 of an empty one."""
    some = np.maximum(counts, 1)
    shift = np.zeros(len(counts))
    filled = counts > 0
    shift[filled] = values[(np.cumsum(counts) - counts)[filled]]
    moved = values - (shift if len(counts) == 1 else np.repeat(shift, counts))
    mean = segment_sum(moved, counts) / some
    squares = segment_sum(np.square(moved), counts) - some * mean**2
    return shift + mean, np.maximum(squares, 0.0)


def _sorted_by_size(residuals: Array, sizes: Array, starts: Array) -> Array:
    """Groups of like size are rows of one matrix, padded at most twofold, and sorted by one call."""
    result = np.empty(len(sizes))
    scale = np.frexp(sizes.astype(np.float64))[1]
    for level in np.unique(scale):
        chosen = np.flatnonzero(scale == level)
        length = sizes[chosen]
        filled = np.arange(length.max()) < length[:, None]
        inside = np.repeat(scale == level, sizes) if len(chosen) < len(sizes) else slice(None)
        table = np.full(filled.shape, np.inf)
        table[filled] = residuals[inside]
        table.sort(axis=1)
        table[~filled] = 0.0
        result[chosen] = sorted_gaps(table, length)
    return result


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
