"""What a list of scored rows is worth at a budget: figures, what chance could make of them, two lists side by side."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from shortlist import metrics
from shortlist.metrics._input import Sample, binary_labels, read
from shortlist.selection.budget import check_budget, places

Array = NDArray[Any]

__all__ = ["Difference", "Figures", "Scored", "measure", "side_by_side", "wilson"]

LEVEL = 0.95


@dataclass(frozen=True)
class Scored:
    """Rows with labels and scores, checked.

    Attributes
    ----------
    sample : Sample
        Labels, scores, weights and groups as `shortlist.metrics` reads them.
    positive : (n,) bool array
    k : int
        Places acted on; with groups, of each.
    kept : (n,) int array
        Numbers of these rows among those given; rows of weight 0 are left out.
    """

    sample: Sample
    positive: Array
    k: int
    kept: Array

    @classmethod
    def of(cls, y_true: Any, y_score: Any, budget: Any, groups: Any, sample_weight: Any, pos_label: Any) -> Scored:
        """From what the user hands in."""
        check_budget(budget)
        sample = read(y_true, y_score, groups, sample_weight)
        positive = binary_labels(sample.y, pos_label, "a report").positive
        mass = float(len(sample.y) if sample.weights is None else sample.weights.sum())
        kept = np.arange(len(sample.y))
        if sample_weight is not None:
            kept = np.flatnonzero(np.asarray(sample_weight, dtype=float) > 0)
        n_groups = None if sample.groups is None else sample.n_groups
        return cls(sample, positive, places(budget, mass, mass, n_groups), kept)

    @property
    def mass(self) -> float:
        """Rows, or the sum of their weights."""
        return float(len(self.positive) if self.sample.weights is None else self.sample.weights.sum())

    @property
    def positive_mass(self) -> float:
        weights = self.sample.weights
        return float(np.count_nonzero(self.positive) if weights is None else weights[self.positive].sum())

    @property
    def base(self) -> float:
        """Precision of a random order: the share of positives, with groups its mean over them."""
        return self._mean_over_groups(self.positive.astype(float))

    def _mean_over_groups(self, values: Array) -> float:
        weights, codes = self.sample.weights, self.sample.groups
        if codes is None:
            return float(np.average(values, weights=weights))
        total = np.bincount(codes, weights, self.sample.n_groups)
        return float(np.mean(np.bincount(codes, values if weights is None else values * weights) / total))

    @property
    def label(self) -> Any:
        """The positive label, where it is to be seen."""
        return self.sample.y[int(np.argmax(self.positive))] if self.positive.any() else None


@dataclass(frozen=True)
class Figures:
    """One list at the budget.

    Attributes
    ----------
    name : str
    hits : float
        Positives among the first k rows; of a group on average. With ties the expectation over their orders.
    precision, recall, lift : float
        ``lift`` is the precision over that of a random order.
    low, high : float
        Interval for the precision at 95 %, by Wilson's formula, with groups by the t distribution over groups.
    positives_at_top, average_precision, auc : float
    """

    name: str
    hits: float
    precision: float
    recall: float
    lift: float
    low: float
    high: float
    positives_at_top: float
    average_precision: float
    auc: float


@dataclass(frozen=True)
class Difference:
    """Two lists of the same rows.

    Attributes
    ----------
    hits : float
        The first's less the second's.
    only_first, only_second : int or None
        Positives that only one of the two has among its first k rows; None with groups.
    p : float
        Fisher's exact test of the rows that only one of the lists takes; with groups, a paired t-test.
    """

    hits: float
    only_first: int | None
    only_second: int | None
    p: float


def measure(name: str, scored: Scored, scores: Any = None) -> Figures:
    """The figures of a list; other ``scores`` of the same rows take the place of their own."""
    sample = scored.sample
    found = sample.scores if scores is None else scores
    shared: dict[str, Any] = {"groups": sample.groups, "sample_weight": sample.weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        precision = metrics.precision_at_k(scored.positive, found, scored.k, **shared)
        recall = metrics.recall_at_k(scored.positive, found, scored.k, **shared)
        at_top = metrics.positives_at_top(scored.positive, found, **shared)
        ap = metrics.average_precision(scored.positive, found, **shared)
        area = metrics.auc(scored.positive, found, **shared)
    if sample.groups is None:
        low, high = wilson(precision, _worth(scored))
    else:
        low, high = _over_groups(_group_precisions(scored, found))
    hits = precision * min(scored.k, scored.mass)
    base = scored.base
    lift = precision / base if base > 0 else math.nan
    return Figures(name, hits, precision, recall, lift, low, high, at_top, ap, area)


def side_by_side(scored: Scored, scores: Any) -> Difference:
    """The list of ``scored`` against that of other scores of the same rows, at the same budget."""
    first, second = measure("", scored), measure("", scored, scores)
    hits = first.hits - second.hits
    if scored.sample.groups is not None:
        gap = _group_precisions(scored, scored.sample.scores) - _group_precisions(scored, scores)
        if len(gap) < 2 or np.ptp(gap) == 0:
            return Difference(hits, None, None, 1.0 if not gap.any() else math.nan)
        return Difference(hits, None, None, float(stats.ttest_1samp(gap, 0.0).pvalue))
    ours, theirs = (_top(s, scored.k) for s in (scored.sample.scores, np.asarray(scores)))
    mine, yours = np.setdiff1d(ours, theirs), np.setdiff1d(theirs, ours)
    a, b = int(scored.positive[mine].sum()), int(scored.positive[yours].sum())
    if scored.sample.weights is not None:
        return Difference(hits, a, b, math.nan)
    p = float(stats.fisher_exact(np.array([[a, len(mine) - a], [b, len(yours) - b]])).pvalue) if len(mine) else 1.0
    return Difference(hits, a, b, p)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Interval for a share seen in n trials.

    >>> [round(x, 3) for x in wilson(1.0, 100)]
    [0.963, 1.0]
    """
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _worth(scored: Scored) -> float:
    """How many rows of equal weight the first k places are worth."""
    weights = scored.sample.weights
    if weights is None:
        return float(min(scored.k, len(scored.positive)))
    order = np.argsort(-scored.sample.scores, kind="stable")
    taken = weights[order][: int(np.searchsorted(np.cumsum(weights[order]), scored.k)) + 1]
    return float(taken.sum() ** 2 / (taken**2).sum())


def _top(scores: Array, k: int) -> Array:
    return np.argsort(-scores, kind="stable")[:k]


def _group_precisions(scored: Scored, scores: Any) -> Array:
    """One figure a group, in one sort."""
    from shortlist.metrics import _two_label
    from shortlist.metrics._ranking import ranking

    r = ranking(scored.positive, scores, scored.sample.groups, scored.sample.weights, None, "average", "a report")
    return np.asarray(_two_label.precision_at_k(r, "average", scored.k))


def _over_groups(values: Array) -> tuple[float, float]:
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    return max(float(values.mean()) - half, 0.0), min(float(values.mean()) + half, 1.0)
