"""The numbers behind the plots: curves of a ranked list from one sort, with weights, ties and groups.

Down the list of a group, the mass of positives above is a function of the mass of rows above that is linear within a
run of equal scores: its corners are all that a curve needs. With ``ties="average"`` they are the ends of runs, else the
negatives or the positives of a run come first. With groups a curve is the mean of the groups' curves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import binary_labels, read
from shortlist.metrics._ranking import check_ties, group_sizes, in_order

Array = NDArray[Any]

__all__ = ["Corners", "Histogram", "corners", "cumulative_gains", "histogram", "lengths", "precision_recall_at", "roc"]

# Points of a curve that is averaged over groups, or longer than a drawing can show.
POINTS = 1000


@dataclass(frozen=True)
class Corners:
    """Where the curves of each group turn.

    Attributes
    ----------
    positives, negatives : lists of arrays
        Mass above each corner, a group each; the first is 0, the last the group's whole mass.
    scores, labels, weights : arrays
        All rows, group after group, best first; weights are ones where none were given.
    starts : (n_groups + 1,) int array
        First row of each group, and the end.
    label : object
        The positive label, where it is known.
    """

    positives: list[Array]
    negatives: list[Array]
    scores: Array
    labels: Array
    weights: Array
    starts: Array
    label: Any

    @property
    def n_groups(self) -> int:
        return len(self.positives)

    @property
    def largest(self) -> float:
        """Mass of the largest group."""
        return max(float(p[-1] + n[-1]) for p, n in zip(self.positives, self.negatives, strict=True))

    @property
    def base(self) -> float:
        """Share of positives, with groups its mean over them: the precision of a random order."""
        both = zip(self.positives, self.negatives, strict=True)
        return float(np.mean([p[-1] / (p[-1] + n[-1]) for p, n in both]))


def corners(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    ties: str = "average",
) -> Corners:
    """Sort once and find the corners.

    >>> found = corners([1, 0, 1, 0], [3, 2, 2, 1])
    >>> found.positives[0].tolist(), found.negatives[0].tolist()
    ([0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 1.0, 2.0])
    """
    check_ties(ties)
    sample = read(y_true, y_score, groups, sample_weight)
    flags = binary_labels(sample.y, pos_label, "a plot").positive
    label = sample.y[int(np.argmax(flags))] if pos_label is None and flags.any() else pos_label
    scores, labels, weights = in_order(sample, flags)
    weights = np.ones(len(scores)) if weights is None else weights
    starts = np.concatenate([[0], np.cumsum(group_sizes(sample))])
    positives, negatives = [], []
    for start, end in pairwise(starts.tolist()):
        p, n = _corners(scores[start:end], labels[start:end], weights[start:end], ties)
        positives.append(p)
        negatives.append(n)
    return Corners(positives, negatives, scores, labels, weights, starts, label)


def _corners(scores: Array, labels: Array, weights: Array, ties: str) -> tuple[Array, Array]:
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    p = np.concatenate([[0.0], np.cumsum(np.where(labels, weights, 0.0))[last]])
    n = np.concatenate([[0.0], np.cumsum(np.where(labels, 0.0, weights))[last]])
    if ties == "average":
        return p, n
    # Between two ends of runs stands a corner where one label is through and the other has not begun.
    between_p, between_n = (p[:-1], n[1:]) if ties == "pessimistic" else (p[1:], n[:-1])
    both_p, both_n = np.empty(2 * len(p) - 1), np.empty(2 * len(n) - 1)
    both_p[::2], both_p[1::2], both_n[::2], both_n[1::2] = p, between_p, n, between_n
    return both_p, both_n


def lengths(most: float, *, also: float | None = None, limit: int = POINTS) -> Array:
    """Lengths of list to draw: every one while they are few, then ever wider apart; and one more.

    >>> lengths(5).tolist(), len(lengths(1e6)) <= POINTS
    ([1.0, 2.0, 3.0, 4.0, 5.0], True)
    """
    top = max(int(most), 1)
    found = np.arange(1, top + 1) if top <= limit else np.unique(np.geomspace(1, top, limit).round())
    found = found.astype(float)
    return found if also is None else np.union1d(found, [float(also)])


def precision_recall_at(found: Corners, k: Array) -> tuple[Array, Array]:
    """Precision and recall among the first k rows, as `shortlist.metrics` defines them.

    A group without positives has no recall and is left out of its mean.

    >>> precision, recall = precision_recall_at(corners([1, 0, 1, 0], [3, 2, 2, 1]), np.array([1.0, 2.0, 4.0]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.75, 0.5], [0.5, 0.75, 1.0])
    """
    precision, recall, counted = np.zeros(len(k)), np.zeros(len(k)), 0
    for p, n in zip(found.positives, found.negatives, strict=True):
        hits = np.interp(k, p + n, p)
        precision += hits / np.minimum(k, p[-1] + n[-1])
        if p[-1] > 0:
            recall += hits / p[-1]
            counted += 1
    return precision / found.n_groups, recall / counted if counted else np.full(len(k), np.nan)


def roc(found: Corners) -> tuple[Array, Array]:
    """False-positive and true-positive rates; of groups, the mean true-positive rate at each false-positive rate.

    >>> [rate.tolist() for rate in roc(corners([1, 0, 1, 0], [4, 3, 2, 1]))]
    [[0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0]]
    """
    curves = [
        (n / n[-1], p / p[-1]) for p, n in zip(found.positives, found.negatives, strict=True) if p[-1] > 0 and n[-1] > 0
    ]
    if not curves:
        raise ValueError("a ROC curve needs both labels, and no group holds rows of both")
    if len(curves) == 1:
        return thinned(*curves[0])
    rates = np.unique(np.concatenate([x for x, _ in curves]))
    if len(rates) > POINTS:
        rates = np.concatenate([[0.0], np.geomspace(rates[rates > 0][0], 1.0, POINTS - 1)])
    # Curves rise within one rate: what is below the rise, and what is above.
    below = np.mean([np.interp(-rates, -x[::-1], y[::-1]) for x, y in curves], axis=0)
    above = np.mean([np.interp(rates, x, y) for x, y in curves], axis=0)
    return np.repeat(rates, 2), np.column_stack([below, above]).ravel()


def cumulative_gains(found: Corners) -> tuple[Array, Array]:
    """Share of the rows acted on and share of the positives among them; of groups, the mean.

    >>> [share.tolist() for share in cumulative_gains(corners([1, 0, 1, 0], [4, 3, 2, 1]))]
    [[0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0]]
    """
    curves = [
        ((p + n) / (p[-1] + n[-1]), p / p[-1])
        for p, n in zip(found.positives, found.negatives, strict=True)
        if p[-1] > 0
    ]
    if not curves:
        raise ValueError("cumulative gains need positives, and there are none")
    if len(curves) == 1:
        return thinned(*curves[0])
    share = np.linspace(0.0, 1.0, POINTS)
    return share, np.mean([np.interp(share, x, y) for x, y in curves], axis=0)


def thinned(x: Array, y: Array, limit: int = 4 * POINTS) -> tuple[Array, Array]:
    """A curve without the corners that a drawing cannot show, as many from each tenfold of x as there is room for."""
    # On a straight stretch only its ends count.
    turn = np.ones(len(x), dtype=bool)
    turn[1:-1] = np.diff(x)[:-1] * np.diff(y)[1:] != np.diff(x)[1:] * np.diff(y)[:-1]
    x, y = x[turn], y[turn]
    if len(x) <= limit:
        return x, y
    low = x[x > 0][0] if (x > 0).any() else 1.0
    at = np.concatenate([np.geomspace(low, x[-1], limit // 2), np.linspace(0, x[-1], limit // 2)])
    kept = np.unique(np.append(np.searchsorted(x, at).clip(0, len(x) - 1), [0, len(x) - 1]))
    return x[kept], y[kept]


@dataclass(frozen=True)
class Histogram:
    """Rows of each label by score, around the score at which the budget ends.

    Attributes
    ----------
    edges : (n_bins + 1,) array
    positives, negatives : (n_bins,) arrays
        Mass in each bin.
    threshold : float
        Score of the last row acted on.
    above, below : float
        Mass of the rows outside the range of the bins.
    """

    edges: Array
    positives: Array
    negatives: Array
    threshold: float
    above: float
    below: float


def histogram(found: Corners, budget: float, bins: int = 40, zoom: float = 5.0) -> Histogram:
    """Bins from the best score down to the row at ``zoom`` times the budget, the threshold being one of their edges.

    With groups the threshold is the mean of the groups' own.

    >>> found = histogram(corners([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]), budget=1, bins=4, zoom=4)
    >>> found.threshold, found.positives.tolist(), found.negatives.tolist()
    (4.0, [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0])
    """
    spans = list(pairwise(found.starts.tolist()))
    threshold = float(np.mean([_score_at(found, span, budget) for span in spans]))
    low = float(np.min([_score_at(found, span, zoom * budget) for span in spans]))
    high = float(found.scores.max())
    if low < threshold:  # a few scores far out would squeeze all others into one bin
        high = min(high, threshold + 4 * (threshold - low))
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    if low < threshold < high:  # so that no bin lies on both sides
        step = (high - low) / bins
        edges += threshold - edges[int(np.argmin(np.abs(edges - threshold)))]
        edges = np.concatenate([[edges[0] - step], edges, [edges[-1] + step]])
    inside = (found.scores >= edges[0]) & (found.scores <= edges[-1])
    counts = [
        np.histogram(found.scores[inside & side], edges, weights=found.weights[inside & side])[0]
        for side in (found.labels, ~found.labels)
    ]
    below = float(found.weights[found.scores < edges[0]].sum())
    above = float(found.weights[found.scores > edges[-1]].sum())
    return Histogram(edges, counts[0], counts[1], threshold, above, below)


def _score_at(found: Corners, span: tuple[int, int], k: float) -> float:
    """Score of the row at which k places of a group are filled."""
    part = slice(*span)
    at = int(np.searchsorted(np.cumsum(found.weights[part]), k * (1 - 1e-12)))
    return float(found.scores[part][min(at, span[1] - span[0] - 1)])
