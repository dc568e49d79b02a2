"""One sort of two-label data, and the stretches of equal scores that every metric is a function of.

A *block* is a maximal run of equal scores inside a group that holds at least one positive.  Four numbers of
each block, the mass of positives and negatives above it and inside it, determine every two-label metric: a
place held by negatives alone matters only through the blocks below it.  Mass counts rows, or sums their
weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from shortlist.metrics._input import Sample, binary_labels, check_choice, read

Array = NDArray[Any]
Ties = Literal["average", "pessimistic", "optimistic"]
Empty = Literal["skip", "zero", "one", "error"]

__all__ = [
    "Empty",
    "Ranking",
    "Ties",
    "check_ties",
    "mean_over_groups",
    "order_rows",
    "rank",
    "ranking_of",
    "ratio",
]


@dataclass(frozen=True)
class Ranking:
    """Blocks, group after group, best first.

    Attributes
    ----------
    total_pos, total_neg : (n_groups,) arrays
        Mass of each label in each group.
    group : (n_blocks,) int array
        Group of each block; ascending.
    above_pos, above_neg : (n_blocks,) arrays
        Mass that scores strictly higher in the group.
    pos, neg : (n_blocks,) arrays
        Mass inside the block; ``pos`` > 0.
    whole : bool
        Whether every mass is a whole number.
    distinct : bool
        Whether every block is one row of weight 1, so that no order is open.
    group_ids : sequence
    """

    total_pos: Array
    total_neg: Array
    group: Array
    above_pos: Array
    above_neg: Array
    pos: Array
    neg: Array
    whole: bool
    distinct: bool
    group_ids: Any

    @property
    def n_groups(self) -> int:
        return len(self.total_pos)

    @cached_property
    def above(self) -> Array:
        """Mass of both labels above each block."""
        return self.above_pos + self.above_neg

    @cached_property
    def size(self) -> Array:
        """Mass of each block."""
        return self.pos + self.neg

    @property
    def total(self) -> Array:
        """Mass of each group."""
        return self.total_pos + self.total_neg

    @cached_property
    def first(self) -> Array:
        """Whether a block is the best one of its group."""
        flags = np.ones(len(self.group), dtype=bool)
        np.not_equal(self.group[1:], self.group[:-1], out=flags[1:])
        return flags

    def sum(self, values: Array) -> Array:
        """Sum of one value per block over each group."""
        if self.n_groups == 1:
            return np.array([values.sum()])
        return np.bincount(self.group, weights=values, minlength=self.n_groups)

    def of_group(self, values: Array) -> Array:
        """One value per group, at each of its blocks."""
        return values if self.n_groups == 1 else values[self.group]


def rank(sample: Sample, positive: Array) -> Ranking:
    """Sort once, then cumulative sums: O(n log n)."""
    order = order_rows(sample.scores, sample.groups, sample.n_groups)
    return ranking_of(
        sample,
        positive.take(order),
        sample.scores.take(order),
        None if sample.weights is None else sample.weights.take(order),
        None if sample.groups is None else np.sort(sample.groups, kind="stable"),
    )


def ranking(
    y_true: Any, y_score: Any, groups: Any, sample_weight: Any, pos_label: Any, ties: Any, metric: str
) -> Ranking:
    """The ranking of raw input."""
    check_ties(ties)
    sample = read(y_true, y_score, groups, sample_weight)
    return rank(sample, binary_labels(sample.y, pos_label, metric).positive)


def order_rows(scores: Array, groups: Array | None, n_groups: int) -> Array:
    """Row numbers, group after group, best first; equal scores in any order.

    A radix sort of the group codes (two bytes at a time) follows one sort of the scores: far cheaper than
    ``numpy.lexsort``, which sorts by merging.
    """
    order = np.ascontiguousarray(np.argsort(scores)[::-1])
    if groups is None:
        return order
    codes = (groups,) if n_groups <= 1 << 16 else (groups & 0xFFFF, groups >> 16)
    for digits in codes:
        order = order.take(np.argsort(digits.astype(np.uint16, copy=False).take(order), kind="stable"))
    return order


def ranking_of(
    sample: Sample, positive: Array, scores: Array, weights: Array | None, groups: Array | None
) -> Ranking:
    """Blocks of rows that are already in the order of ``order_rows``."""
    n, n_groups = len(scores), sample.n_groups
    new = np.ones(n, dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    group_sizes = np.array([n]) if groups is None else np.bincount(groups, minlength=n_groups)
    group_starts = np.concatenate([[0], np.cumsum(group_sizes)])
    new[group_starts[:-1]] = True
    rows = np.flatnonzero(positive)
    row_group = np.zeros(len(rows), dtype=np.intp) if groups is None else groups[rows].astype(np.intp)
    distinct = weights is None and bool(new.all())

    if distinct:
        pos_before = np.arange(len(rows))
        blocks = (row_group, pos_before, rows - pos_before)
        one, zero = np.broadcast_to(1.0, len(rows)), np.broadcast_to(0.0, len(rows))
        return _finish(sample, positive, None, group_starts, blocks, one, zero, True)

    starts = np.append(np.flatnonzero(new), n)
    number = np.cumsum(new, dtype=np.int32)[rows] - 1
    here = np.ones(len(number), dtype=bool)
    np.not_equal(number[1:], number[:-1], out=here[1:])
    at = number[here]
    lo, hi = starts[at], starts[at + 1]
    group = row_group[here]
    if weights is None:
        first = np.flatnonzero(here)
        pos = np.diff(np.append(first, len(rows))).astype(np.float64)
        blocks = (group, first, lo - first)
        return _finish(sample, positive, None, group_starts, blocks, pos, (hi - lo) - pos, False)
    pos_weight = np.where(positive, weights, 0.0)
    neg_weight = weights - pos_weight
    cum_pos = np.concatenate([[0.0], np.cumsum(pos_weight)])
    cum_neg = np.concatenate([[0.0], np.cumsum(neg_weight)])
    pos, neg = (np.add.reduceat(w, starts[:-1])[at] for w in (pos_weight, neg_weight))
    blocks = (group, cum_pos[lo], cum_neg[lo])
    return _finish(sample, positive, (cum_pos, cum_neg), group_starts, blocks, pos, neg, False)


def _finish(
    sample: Sample,
    positive: Array,
    cumulative: tuple[Array, Array] | None,
    group_starts: Array,
    blocks: tuple[Array, Array, Array],
    pos: Array,
    neg: Array,
    distinct: bool,
) -> Ranking:
    """Take what lies in the groups above off the cumulative sums."""
    group, above_pos, above_neg = blocks
    if cumulative is not None:
        at_pos, at_neg = (c[group_starts] for c in cumulative)
    elif sample.n_groups == 1:
        m = np.count_nonzero(positive)
        at_pos, at_neg = np.array([0, m]), np.array([0, len(positive) - m])
    else:
        at_pos = np.concatenate([[0], np.cumsum(positive, dtype=np.int64)])[group_starts]
        at_neg = group_starts - at_pos
    if sample.n_groups > 1:
        above_pos = above_pos - at_pos[group]
        above_neg = above_neg - at_neg[group]
    return Ranking(
        total_pos=np.diff(at_pos).astype(np.float64),
        total_neg=np.diff(at_neg).astype(np.float64),
        group=group,
        above_pos=np.asarray(above_pos, dtype=np.float64),
        above_neg=np.asarray(above_neg, dtype=np.float64),
        pos=pos,
        neg=neg,
        whole=sample.weights is None or bool((sample.weights == np.floor(sample.weights)).all()),
        distinct=distinct,
        group_ids=sample.group_ids,
    )


def ratio(numerator: Array, denominator: Array) -> Array:
    """A quotient per group, NaN (undefined) where the denominator is 0."""
    defined = denominator != 0
    return np.where(defined, numerator / np.where(defined, denominator, 1.0), np.nan)


def check_ties(ties: Any) -> None:
    check_choice("ties", ties, ("average", "pessimistic", "optimistic"))


def mean_over_groups(values: Array, group_ids: Any, empty: str, metric: str) -> float:
    """Mean of one value per group; NaN marks a group in which the metric is undefined."""
    check_choice("empty", empty, ("skip", "zero", "one", "error"))
    undefined = np.isnan(values)
    if undefined.any():
        if empty == "error":
            some = [group_ids[i] for i in np.flatnonzero(undefined)[:3]]
            raise ValueError(
                f"{metric} is undefined in {int(undefined.sum())} of {len(values)} groups, among them "
                f'{", ".join(map(repr, some))}: a label is missing there. Use empty="skip", "zero" or "one"'
            )
        if empty == "skip":
            values = values[~undefined]
            if len(values) == 0:
                warnings.warn(
                    f"{metric} is undefined: no group holds the labels it compares. The result is NaN",
                    UndefinedMetricWarning,
                    stacklevel=3,
                )
                return float("nan")
        else:
            values = np.where(undefined, 0.0 if empty == "zero" else 1.0, values)
    return float(values.mean())
