"""One sort of two-label data, and the stretches of equal scores that every metric is a function of.

A *block* is a maximal run of equal scores inside a group that holds at least one positive.  Four numbers of
each block, the mass of positives and negatives above it and inside it, determine every two-label metric: a
place held by negatives alone matters only through the blocks below it.  Mass counts rows, or sums their
weights.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from shortlist.metrics._input import Sample, binary_labels, check_choice, read

Array = NDArray[Any]
Ties = Literal["average", "pessimistic", "optimistic"]
Empty = Literal["skip", "zero", "one", "error"]

# Entries worked on at a time: temporaries of 128 kB stay in the cache and in the allocator.
PART = 16000

__all__ = [
    "PART",
    "Empty",
    "Ranking",
    "Ties",
    "check_ties",
    "cut_groups",
    "group_sizes",
    "in_order",
    "mean_over_groups",
    "order_rows",
    "rank",
    "ranking",
    "ranking_of",
    "ratio",
    "segment_sum",
]


@dataclass(frozen=True)
class Ranking:
    """Blocks, group after group, best first.

    Attributes
    ----------
    total_pos, total_neg : (n_groups,) arrays
        Mass of each label in each group.
    counts : (n_groups,) int array
        Blocks of each group.
    masses : four (n_blocks,) arrays, or None
        Positives and negatives above each block and inside it.
    places : (int, (n_blocks,) int array) or None
        Instead of the masses, where there is one group and no tie: the number of positives before the first
        of these blocks, and the row, counted from the top, of each.
    whole : bool
        Whether every mass is a whole number.
    distinct : bool
        Whether every block is one row of weight 1, so that no order is open.
    group_ids : sequence
    """

    total_pos: Array
    total_neg: Array
    counts: Array
    masses: tuple[Array, Array, Array, Array] | None
    places: tuple[int, Array] | None
    whole: bool
    distinct: bool
    group_ids: Any

    @cached_property
    def above_pos(self) -> Array:
        """Mass of the positives that score strictly higher in the group, for each block."""
        if self.masses is not None:
            return self.masses[0]
        assert self.places is not None
        first, rows = self.places
        return np.arange(first, first + len(rows), dtype=np.float64)

    @cached_property
    def above_neg(self) -> Array:
        """Mass of the negatives that score strictly higher."""
        if self.masses is not None:
            return self.masses[1]
        assert self.places is not None
        return np.asarray(self.places[1] - self.above_pos)

    @cached_property
    def pos(self) -> Array:
        """Mass of the positives inside each block; above 0."""
        return np.broadcast_to(1.0, len(self)) if self.masses is None else self.masses[2]

    @cached_property
    def neg(self) -> Array:
        """Mass of the negatives inside each block."""
        return np.broadcast_to(0.0, len(self)) if self.masses is None else self.masses[3]

    def __len__(self) -> int:
        """Number of blocks."""
        if self.masses is not None:
            return len(self.masses[0])
        assert self.places is not None
        return len(self.places[1])

    @property
    def n_groups(self) -> int:
        return len(self.total_pos)

    @property
    def total(self) -> Array:
        """Mass of each group."""
        return self.total_pos + self.total_neg

    @cached_property
    def above(self) -> Array:
        """Mass of both labels above each block."""
        return self.above_pos + self.above_neg

    @cached_property
    def size(self) -> Array:
        """Mass of each block."""
        return self.pos + self.neg

    def sum(self, values: Array) -> Array:
        """Sum of one value per block over each group."""
        return segment_sum(values, self.counts)

    def of_group(self, values: Array) -> Array:
        """One value per group, at each of its blocks."""
        return values if self.n_groups == 1 else np.repeat(values, self.counts)

    def upto(self, key: Literal["above", "above_neg"], limit: float | Array) -> Ranking:
        """Only the blocks whose ``key``, which rises down the list of a group, is below a limit."""
        if self.n_groups == 1:
            most = float(limit if np.ndim(limit) == 0 else np.asarray(limit)[0])
            if self.places is not None:
                rows, step = self.places[1], int(key == "above_neg")
                before = step * self.places[0]
                stop = bisect_left(range(len(rows)), most, key=lambda i: rows[i] - before - step * i)
            else:
                stop = int(np.searchsorted(getattr(self, key), most))
            return self._part(slice(0, stop), np.array([stop]))
        return self._part(*self._chosen(np.flatnonzero(getattr(self, key) < limit)))

    def leaders(self) -> Ranking:
        """Only the best block of each group."""
        if self.n_groups == 1:
            return self._part(slice(0, 1), np.minimum(self.counts, 1))
        filled = self.counts > 0
        return self._part((np.cumsum(self.counts) - self.counts)[filled], filled.astype(np.intp))

    def total_of(self, values: Callable[[Ranking], Array]) -> Array:
        """Sum over each group of a function of its blocks."""
        return self.totals_of([values])[0]

    def totals_of(self, functions: Sequence[Callable[[Ranking], Array]]) -> list[Array]:
        """Sums over each group of functions of its blocks, worked out part by part.

        A part fits the cache, temporaries included: fresh memory for arrays of every block would cost more
        than the arithmetic on them.
        """
        sums: list[list[Array]] = [[] for _ in functions]
        for part in self.parts():
            pieces = part.untied()
            for column, function in zip(sums, functions, strict=True):
                column.append(np.sum([segment_sum(function(b), b.counts) for b in pieces], axis=0))
        if self.n_groups == 1:
            return [np.array([np.sum(column)]) for column in sums]
        return [np.concatenate(column) for column in sums]

    def parts(self) -> Iterator[Ranking]:
        """Consecutive blocks: of the one group, or of whole groups."""
        n = len(self)
        if n <= PART:
            yield self
        elif self.n_groups == 1:
            for a in range(0, n, PART):
                b = min(a + PART, n)
                yield self._part(slice(a, b), np.array([b - a]))
        else:
            ends = np.concatenate([[0], np.cumsum(self.counts)])
            for a, b in pairwise(cut_groups(self.counts)):
                part = self._part(slice(ends[a], ends[b]), self.counts[a:b])
                yield replace(part, total_pos=self.total_pos[a:b], total_neg=self.total_neg[a:b])

    def untied(self) -> list[Ranking]:
        """Blocks of one row apart from the others: nearly all of them, often, and far cheaper."""
        if self.distinct or not self.whole:
            return [self]
        single = (self.pos == 1) & (self.neg == 0)
        pieces = [self._part(*self._chosen(np.flatnonzero(flags))) for flags in (single, ~single)]
        return [replace(pieces[0], distinct=True), *(b for b in pieces[1:] if len(b))]

    def _chosen(self, keep: Array) -> tuple[Array, Array]:
        """Numbers of blocks, and how many of them each group has."""
        if self.n_groups == 1:
            return keep, np.array([len(keep)])
        return keep, np.diff(np.searchsorted(keep, np.concatenate([[0], np.cumsum(self.counts)])))

    def _part(self, keep: Any, counts: Array) -> Ranking:
        if self.places is not None:
            first, rows = self.places
            return replace(self, counts=counts, places=(first + keep.start, rows[keep]))
        assert self.masses is not None
        a, b, c, d = self.masses
        return replace(self, counts=counts, masses=(a[keep], b[keep], c[keep], d[keep]))


def cut_groups(counts: Array) -> Array:
    """Numbers 0 = g_0 < g_1 < ... of groups between which lie about ``PART`` entries, or one large group."""
    part = np.cumsum(counts) // PART
    return np.concatenate([[0], np.flatnonzero(np.diff(part)) + 1, [len(counts)]])


def segment_sum(values: Array, counts: Array) -> Array:
    """Sums over consecutive stretches of ``counts`` entries, some of them empty."""
    if len(counts) == 1:
        return np.array([values.sum()])
    total = np.zeros(len(counts))
    filled = counts > 0
    if filled.any():
        total[filled] = np.add.reduceat(values, (np.cumsum(counts) - counts)[filled])
    return total


def rank(sample: Sample, positive: Array) -> Ranking:
    """Sort once, then cumulative sums: O(n log n)."""
    return ranking_of(sample, *in_order(sample, positive))


def in_order(sample: Sample, positive: Array) -> tuple[Array, Array, Array | None]:
    """Scores, labels and weights, group after group, best first."""
    weights = sample.weights
    if sample.groups is None:
        # Turned round after they are taken: a turned index would be copied for each column.
        order = np.argsort(sample.scores)
        labels = np.ascontiguousarray(positive.take(order)[::-1])
        return sample.scores.take(order)[::-1], labels, None if weights is None else weights.take(order)[::-1]
    order = order_rows(sample.scores, sample.groups, sample.n_groups)
    return sample.scores.take(order), positive.take(order), None if weights is None else weights.take(order)


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


def ranking_of(sample: Sample, scores: Array, positive: Array, weights: Array | None) -> Ranking:
    """Blocks of the columns of ``in_order``."""
    n = len(scores)
    starts = np.concatenate([[0], np.cumsum(group_sizes(sample))])
    new = np.ones(n, dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    new[starts[:-1]] = True
    rows = np.flatnonzero(positive)
    # Positives before each group; its differences are their numbers.
    before = np.searchsorted(rows, starts)
    counts = np.diff(before)
    if weights is not None:
        return _weighted_ranking(sample, weights, positive, new, starts)
    masses: tuple[Array, Array, Array, Array] | None = None
    distinct = bool(new.all())
    if distinct and sample.n_groups > 1:
        above_pos, above_neg = np.arange(len(rows), dtype=np.float64), rows.astype(np.float64)
        above_neg -= above_pos
        masses = above_pos, above_neg, np.broadcast_to(1.0, len(rows)), np.broadcast_to(0.0, len(rows))
    elif not distinct:
        lo, hi, first, pos = _blocks(new, positive)[:4]
        masses = first.astype(np.float64), (lo - first).astype(np.float64), pos, (hi - lo) - pos
        counts = np.diff(np.searchsorted(lo, starts))
    if masses is not None and sample.n_groups > 1:
        above_pos, above_neg = masses[:2]
        above_pos -= np.repeat(before[:-1], counts)
        above_neg -= np.repeat(starts[:-1] - before[:-1], counts)
    return Ranking(
        total_pos=np.diff(before).astype(np.float64),
        total_neg=(np.diff(starts) - np.diff(before)).astype(np.float64),
        counts=counts,
        masses=masses,
        places=(0, rows) if masses is None else None,
        whole=True,
        distinct=distinct,
        group_ids=sample.group_ids,
    )


def _weighted_ranking(sample: Sample, weights: Array, positive: Array, new: Array, starts: Array) -> Ranking:
    lo, _, _, _, bounds, number = _blocks(new, positive)
    counts = np.diff(np.searchsorted(lo, starts))
    sides = []
    for flags in (positive, ~positive):
        mass = np.where(flags, weights, 0.0)
        running = np.concatenate([[0.0], np.cumsum(mass)])
        above = running[lo] - np.repeat(running[starts[:-1]], counts)
        # Blocks are summed by themselves: a difference of running sums would not see which are empty.
        inside = np.add.reduceat(mass, bounds[:-1])[number]
        sides.append((np.add.reduceat(mass, starts[:-1]), above, inside))
    (total_pos, above_pos, pos), (total_neg, above_neg, neg) = sides
    return Ranking(
        total_pos=total_pos,
        total_neg=total_neg,
        counts=counts,
        masses=(above_pos, above_neg, pos, neg),
        places=None,
        whole=bool((weights == np.floor(weights)).all()),
        distinct=False,
        group_ids=sample.group_ids,
    )


def _blocks(new: Array, positive: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Of each block: first row, end, positives before and inside; bounds of all runs; which are blocks."""
    bounds = np.append(np.flatnonzero(new), len(new))
    before = np.cumsum(positive, dtype=np.int32).take(bounds - 1)
    before[0] = 0
    inside = np.diff(before)
    number = np.flatnonzero(inside)
    lo, hi = bounds.take(number), bounds.take(number + 1)
    return lo, hi, before.take(number), inside.take(number).astype(np.float64), bounds, number


def group_sizes(sample: Sample) -> Array:
    """Rows of each group."""
    if sample.groups is None:
        return np.array([len(sample.scores)])
    return np.bincount(sample.groups, minlength=sample.n_groups)


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
            ids = (group_ids[i] for i in np.flatnonzero(undefined)[:3])
            some = [i.item() if isinstance(i, np.generic) else i for i in ids]
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
