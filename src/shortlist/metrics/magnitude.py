"""How well differences of scores match differences of labels: defined by values, not by an order, so without
ties.

Labels are numbers; text labels and a named ``pos_label`` stand for 0 and 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import Sample, read, relevance, two_labels
from shortlist.metrics._ranking import (
    PART,
    Empty,
    cut_groups,
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
        labels = two_labels(y, pos_label)
        if labels is not None:
            return labels.positive.astype(np.float64)
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

    ``scores`` fall inside each group of ``sizes`` rows of weight 1.  With means and variances of the labels
    apart, and p and q their shares, var(s - y) = p var_1 + q var_0 + p q (mean_1 - mean_0 - (high - low))^2.
    """
    if len(sizes) == 1:
        return _magnitudes_of_one(scores, positive, low, high)
    parts = []
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for a, b in pairwise(cut_groups(sizes)):
        rows = slice(starts[a], starts[b])
        s, flags, size = scores[rows].astype(np.float64), positive[rows], sizes[a:b]
        m = segment_sum(flags.astype(np.float64), size)
        s -= np.repeat(segment_sum(s, size) / size, size)
        total = segment_sum(np.where(flags, s, 0.0), size)
        mean_1 = total / np.maximum(m, 1.0)
        mean_0 = -total / np.maximum(size - m, 1.0)
        within = segment_sum(
            np.square(s - np.where(flags, np.repeat(mean_1, size), np.repeat(mean_0, size))), size
        )
        centre = m * (high - low) / size
        residuals = s - np.where(flags, high - low, 0.0) + np.repeat(centre, size)
        absolute = _sorted_by_size(residuals, size)
        squared, correlated = _from_moments(size, m, within, mean_1 - mean_0, high - low)
        parts.append((squared, absolute, correlated))
    squared, absolute, correlated = (np.concatenate(v) for v in zip(*parts, strict=True))
    return squared, absolute, correlated


def _magnitudes_of_one(scores: Array, positive: Array, low: float, high: float) -> tuple[Array, Array, Array]:
    """The same for one group, in pieces that stay in cache."""
    opens = np.flatnonzero(scores[1:] != scores[:-1]) + 1
    if 8 * len(opens) < len(scores):
        return _magnitudes_of_levels(scores, positive, np.append(0, opens), low, high)
    n, m, step = len(scores), int(np.count_nonzero(positive)), high - low
    pieces = [slice(a, min(a + PART, n)) for a in range(0, n, PART)]
    shift = float(scores[n // 2])
    # The scores fall, so their negatives are two rising runs: positives, then negatives.
    runs = np.empty(n)
    ends = {True: 0, False: m}
    for piece in pieces:
        s, flags = shift - scores[piece].astype(np.float64, copy=False), positive[piece]
        for label in (True, False):
            chosen = s.take(np.flatnonzero(flags if label else ~flags))
            runs[ends[label] : ends[label] + len(chosen)] = chosen
            ends[label] += len(chosen)
    sides = runs[m:], runs[:m]
    means = [float(side.mean()) if len(side) else 0.0 for side in sides]
    within = 0.0
    for side, mean in zip(sides, means, strict=True):
        within += sum(float(np.square(side[a : a + PART] - mean).sum()) for a in range(0, len(side), PART))
    apart = np.array([means[0] - means[1]])
    squared, correlated = _from_moments(np.array([n]), np.array([m]), np.array([within]), apart, step)
    centre = (means[0] * (n - m) + (means[1] + step) * m) / n
    runs[m:] -= centre
    runs[:m] -= centre - step
    # A stable sort finds the two runs and merges them in O(n).
    runs.sort(kind="stable")
    lead = sum(
        float(np.dot(np.arange(2.0 * p.start + 1 - n, 2.0 * p.stop - n, 2.0), runs[p])) for p in pieces
    )
    return squared, np.array([2.0 * lead / n**2]), correlated


def _magnitudes_of_levels(
    scores: Array, positive: Array, opens: Array, low: float, high: float
) -> tuple[Array, Array, Array]:
    """The same for one group with few distinct scores: two weighted residuals for each of them."""
    n, step = len(scores), high - low
    values = scores.take(opens).astype(np.float64)
    values -= values[len(values) // 2]
    ends = np.append(opens[1:], n)
    ones = np.diff(np.cumsum(positive, dtype=np.int64).take(ends - 1), prepend=0)
    zeros = ends - opens - ones
    m = int(ones.sum())
    mean_1, mean_0 = np.dot(values, ones) / max(m, 1), np.dot(values, zeros) / max(n - m, 1)
    within = np.dot((values - mean_1) ** 2, ones) + np.dot((values - mean_0) ** 2, zeros)
    squared, correlated = _from_moments(
        np.array([n]), np.array([m]), np.array([within]), np.array([mean_1 - mean_0]), step
    )
    centre = (mean_0 * (n - m) + (mean_1 - step) * m) / n
    residuals, mass = np.concatenate([values, values - step]) - centre, np.concatenate([zeros, ones])
    order = np.argsort(residuals)
    w = mass.take(order)
    lead = 2.0 * np.cumsum(w) - w - n
    return squared, np.array([2.0 * np.dot(w * residuals.take(order), lead) / n**2]), correlated


def _from_moments(size: Array, m: Array, within: Array, apart: Array, step: float) -> tuple[Array, Array]:
    """Squared difference and correlation; ``apart`` is the distance of the labels' mean scores."""
    share = (m / size) * ((size - m) / size)
    squared = 2.0 * (within / size + share * (apart - step) ** 2)
    spread = within / size + share * apart**2
    scale = np.sqrt(np.where(spread > 0, spread, 1.0) * share)
    return np.asarray(squared), np.clip(ratio(share * apart, scale), -1.0, 1.0)


def _sorted_by_size(residuals: Array, sizes: Array) -> Array:
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
        shifted = values.astype(np.float64, copy=False) - float(values[0])
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
