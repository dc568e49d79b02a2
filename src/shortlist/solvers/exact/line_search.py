"""Exact search of a segment: the statistic at every point between two weights, from one sort.

Between a and b the weights are w(t) = (1 - t) a + t b, 0 <= t <= 1, and what competes is w(t) / ||w(t)||_inf: row i
beats row k where

    g(t) = w(t).(x_i - x_k) - margin ||w(t)||_inf >= 0.

A norm is convex along a line, so g is concave and every pair is won on one interval of t, whose ends are found in
closed form (the norm is piecewise linear: ``norm_pieces``).  The ends are sorted once and swept once:

``negatives``  pairs of a positive and a negative.  With u_i the negatives that positive i does not beat and
    u_(1) <= u_(2) <= ... its sorted values, the statistic is sum_q disc(q + u_(q)), disc(1) >= disc(2) >= ... the
    weights by position.  This *is* the statistic for ResolvedRanks.  For Subranks it is that of scores whose positives
    are a margin apart, and never less than the truth (the q-th positive has q - 1 above it).  One event moves one u by
    one: with the counts #{u <= j} kept up to date that is one difference of two table entries.
``rows``  pairs of a positive and any row: Subranks as they are defined, at the price of more pairs.
``preferences``  pairs as given: an event adds or takes away the weight of one.

An arc is what lies between two neighbouring events.  Integer data make events coincide; arcs shorter than
``COINCIDE`` are not looked at, and whoever asks scores the answer again by ``problem.value``, which alone decides.

Cost: two operations a pair, and a sort of the pairs that change hands between a and b.  Pairs are gone through in
chunks and never stored together, unless they are few.  With Numba the loops are compiled (``compiled_ascent``);
without, the same is done with arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem

Array = NDArray[Any]
Scope = Literal["negatives", "rows", "preferences"]

__all__ = ["Arcs", "Pairs", "Scope", "norm_pieces", "pairs_of", "search_segment"]

# Ends of intervals closer than this, in units of the segment, are one: differences of scores round at about 1e-16.
COINCIDE = 1e-12
CHUNK = 1 << 18
# Sums of the same weights in another order.
SAME_VALUE = 1e-10


@dataclass(frozen=True)
class Pairs:
    """Who has to beat whom, and what it earns.

    Item i (a positive, or the better row of preferences) is row ``rows[i]`` and meets
    ``opponents[start[i]:stop[i]]``; the positives of a list share one slice.

    Attributes
    ----------
    weights : array, as long as ``opponents``
        Of preferences; ones otherwise.
    table : array
        Weights by position from the top (``negatives``) or by rank (``rows``), list after list.
    table_start, level_start : (n_items,) int arrays
        Where the table, and the counts, of the item's list begin.
    n_levels : int
        Length of the counts of all lists.
    """

    scope: Scope
    rows: Array
    start: Array
    stop: Array
    opponents: Array
    weights: Array
    table: Array
    table_start: Array
    level_start: Array
    n_levels: int

    def __len__(self) -> int:
        return int((self.stop - self.start).sum())

    def flat(self, first: int, last: int) -> tuple[Array, Array]:
        """Item, and place of the opponent, of every pair of the items ``first`` to ``last - 1``."""
        if first == 0 and last == len(self.rows) and len(self) <= CHUNK:
            return self._flat
        return self._build(first, last)

    @cached_property
    def _flat(self) -> tuple[Array, Array]:
        return self._build(0, len(self.rows))

    def _build(self, first: int, last: int) -> tuple[Array, Array]:
        lengths = self.stop[first:last] - self.start[first:last]
        item = np.repeat(np.arange(first, last), lengths)
        before = np.cumsum(lengths) - lengths
        return item, np.arange(len(item)) + np.repeat(self.start[first:last] - before, lengths)

    @cached_property
    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of items whose pairs are few enough to be stored together."""
        total = np.concatenate([[0], np.cumsum(self.stop - self.start)])
        edges, n = [0], len(self.rows)
        while edges[-1] < n:
            edges.append(max(edges[-1] + 1, int(np.searchsorted(total, total[edges[-1]] + CHUNK, side="right")) - 1))
        return list(pairwise(edges))


def pairs_of(problem: ExactProblem, scope: Scope | None = None) -> Pairs:
    """The pairs of a problem; ``scope`` chooses between ``negatives`` (the default) and ``rows``."""
    if isinstance(problem, PreferenceProblem):
        order = np.argsort(problem.better, kind="stable")
        rows, start = np.unique(problem.better[order], return_index=True)
        stop = np.append(start[1:], len(order))
        none = np.zeros(len(rows), dtype=np.intp)
        weights = np.asarray(problem.weights, dtype=np.float64)[order]
        opponents = np.asarray(problem.worse[order], dtype=np.intp)
        return Pairs("preferences", rows, start, stop, opponents, weights, np.zeros(1), none, none, 1)
    if not isinstance(problem, RankProblem):
        raise TypeError(f"expected a RankProblem or a PreferenceProblem, got {type(problem).__name__}")
    scope = scope or "negatives"
    columns: list[list[Array]] = [[] for _ in range(5)]
    opponents_, tables, seen, places, levels = [], [], 0, 0, 0
    for list_ in problem.lists:
        met = list_.negatives if scope == "negatives" else list_.rows
        m = len(list_.positives)
        for column, entry in zip(
            columns, (list_.positives, *(np.full(m, e) for e in (seen, seen + len(met), places, levels))), strict=True
        ):
            column.append(entry)
        opponents_.append(met)
        tables.append(list_.discounts if scope == "negatives" else list_.a)
        seen, places, levels = seen + len(met), places + len(list_.a), levels + len(met) + 1
    rows, start, stop, table_start, level_start = (np.concatenate(column).astype(np.intp) for column in columns)
    opponents = np.concatenate(opponents_).astype(np.intp)
    table = np.concatenate(tables).astype(np.float64)
    return Pairs(scope, rows, start, stop, opponents, np.ones(len(opponents)), table, table_start, level_start, levels)


@dataclass(frozen=True)
class Arcs:
    """The pieces of a segment on which no pair changes hands.

    Attributes
    ----------
    edges : (n_arcs + 1,) array
        From 0 to 1, ascending.
    values : (n_arcs,) array
        The statistic on each, as the pairs tell it.
    """

    edges: Array
    values: Array

    def best(self, keep: int = 1) -> list[tuple[float, float]]:
        """Value and middle of the best arcs, best first; among equal ones the widest comes first."""
        width = np.diff(self.edges)
        wide = np.flatnonzero(width > COINCIDE)
        value = self.values[wide]
        top = value.max(initial=-np.inf)
        if keep == 1:
            equal = wide[value >= top - SAME_VALUE * max(1.0, abs(float(top)))]
            chosen = equal[np.argmax(width[equal])][None] if len(equal) else equal
        else:
            chosen = wide[np.lexsort((-width[wide], -np.round(value, 9)))[:keep]]
        return [(float(self.values[k]), float(self.edges[k] + width[k] / 2)) for k in chosen]


def norm_pieces(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """||(1 - t) a + t b||_inf on [0, 1]: break-points from 0 to 1, and on each piece the value at t = 0 and the slope.

    O(d) a piece, at most 2 d pieces.

    >>> norm_pieces(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    (array([0. , 0.5, 1. ]), array([1., 0.]), array([-1.,  1.]))
    """
    base = np.concatenate([a, -a])
    slope = np.concatenate([b - a, a - b])
    t, breaks, chosen = 0.0, [0.0], []
    at = int(np.lexsort((slope, base))[-1])
    while True:
        chosen.append(at)
        steeper = np.flatnonzero(slope > slope[at])
        meets = (base[at] - base[steeper]) / (slope[steeper] - slope[at])
        t = max(t, float(meets.min(initial=np.inf)))
        if t >= 1:
            break
        # Of the lines that meet here the steepest is the largest from here on.
        nearest = steeper[meets <= t]
        at = int(nearest[np.argmax(slope[nearest])])
        breaks.append(t)
    breaks.append(1.0)
    return np.array(breaks), base[chosen], slope[chosen]


def search_segment(
    pairs: Pairs, a: Array, b: Array, scores_a: Array, scores_b: Array, margin: float, *, compiled: bool
) -> Arcs:
    """All arcs between ``a`` and ``b``, neither of them 0, whose scores of all rows are given."""
    if not (a.any() and b.any()):
        raise ValueError("a segment must not end at w = 0, which has no direction")
    if compiled:
        from shortlist.solvers.exact import compiled_ascent

        return Arcs(*compiled_ascent.sweep_segment(pairs, a, b, scores_a, scores_b, margin))
    t, item, amount, won = _events(pairs, a, b, scores_a, scores_b, margin)
    order = np.argsort(t, kind="stable")
    t, item, amount = t[order], item[order], amount[order]
    if pairs.scope == "preferences":
        changes, first = amount, float(won.sum())
    elif pairs.scope == "rows":
        changes, first = _rank_changes(pairs, item, amount, won)
    else:
        changes, first = _path_changes(pairs, item, amount, won)
    return Arcs(np.concatenate([[0.0], t, [1.0]]), first + np.concatenate([[0.0], np.cumsum(changes)]))


def _events(
    pairs: Pairs, a: Array, b: Array, scores_a: Array, scores_b: Array, margin: float
) -> tuple[Array, Array, Array, Array]:
    """Where pairs change hands: place, item, weight (negative where lost); and what each item has won at a."""
    breaks, base, slope = norm_pieces(a, b)
    at_a, at_b = float(np.abs(a).max()), float(np.abs(b).max())
    least = float(np.min(np.append(base + slope * breaks[:-1], at_b)))
    won = np.zeros(len(pairs.rows))
    found: list[tuple[Array, Array, Array]] = []
    for first, last in pairs.chunks:
        item, place = pairs.flat(first, last)
        rows, met, weight = pairs.rows[item], pairs.opponents[place], pairs.weights[place]
        p, q = scores_a[rows] - scores_a[met], scores_b[rows] - scores_b[met]
        ahead, behind = p - margin * at_a >= 0, q - margin * at_b >= 0
        won += np.bincount(item[ahead], weights=weight[ahead], minlength=len(won))
        # Lost at both ends, won between: only where the margin's price dips.
        between = ~ahead & ~behind & (np.maximum(p, q) >= margin * least)
        for rising, chosen in ((True, ~ahead & behind), (False, ahead & ~behind)):
            k = np.flatnonzero(chosen)
            t = _crossing(p[k], q[k] - p[k], breaks, base, slope, margin, rising)
            found.append((t, item[k], weight[k] if rising else -weight[k]))
        k = np.flatnonzero(between)
        if len(k):
            enter, leave = (_crossing(p[k], q[k] - p[k], breaks, base, slope, margin, r) for r in (True, False))
            won_between = (enter >= 0) & (leave - enter > COINCIDE)
            k, enter, leave = k[won_between], enter[won_between], leave[won_between]
            found += [(enter, item[k], weight[k]), (leave, item[k], -weight[k])]
    t, item, amount = (np.concatenate(part) for part in zip(*found, strict=True))
    return t, item, amount, won


def _crossing(
    p: Array, rise: Array, breaks: Array, base: Array, slope: Array, margin: float, rising: bool
) -> Array:
    """First (rising) or last t where p + t rise - margin ||w(t)|| >= 0; -1 where there is none."""
    t = np.full(len(p), -1.0)
    pieces = range(len(base)) if rising else range(len(base) - 1, -1, -1)
    open_ = np.arange(len(p))
    for k in pieces:
        level, steep = p[open_] - margin * base[k], rise[open_] - margin * slope[k]
        end = breaks[k + 1] if rising else breaks[k]
        here = level + steep * end >= 0
        inside = open_[here]
        with np.errstate(divide="ignore", invalid="ignore"):
            root = -level[here] / steep[here]
        t[inside] = np.clip(np.where(steep[here] == 0, end, root), breaks[k], breaks[k + 1])
        open_ = open_[~here]
        if not len(open_):
            break
    return t


def _within(group: Array, steps: Array) -> tuple[Array, Array]:
    """For each entry the sum of the steps of its group up to, but without, itself; and a stable order by group."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(steps[order]) - steps[order]
    sorted_ = group[order]
    begins = np.flatnonzero(np.diff(sorted_, prepend=-1))
    lengths = np.diff(begins, append=len(sorted_))
    before = np.empty_like(total)
    before[order] = total - np.repeat(total[begins], lengths)
    return before, order


def _rank_changes(pairs: Pairs, item: Array, amount: Array, won: Array) -> tuple[Array, float]:
    """Change of the statistic at each event, and its value at a: ranks count one by one."""
    ranks, step = won.astype(np.intp), amount.astype(np.intp)
    first = float(pairs.table[pairs.table_start + ranks].sum())
    now = pairs.table_start[item] + ranks[item] + _within(item, step)[0]
    return pairs.table[now + step] - pairs.table[now], first


def _path_changes(pairs: Pairs, item: Array, amount: Array, won: Array) -> tuple[Array, float]:
    """The same along the sorted numbers of unbeaten negatives."""
    step = -amount.astype(np.intp)
    missed = pairs.stop - pairs.start - won.astype(np.intp)
    # Event between j and j + 1 unbeaten: only #{u <= j} of that list changes.
    now = missed[item] + _within(item, step)[0]
    j = np.minimum(now, now + step)
    level = pairs.level_start[item] + j
    counts = np.bincount(pairs.level_start + missed, minlength=pairs.n_levels)
    ends = np.zeros(pairs.n_levels, dtype=np.intp)
    first = 0.0
    starts = np.unique(pairs.level_start)
    for start, stop in zip(starts, np.append(starts[1:], pairs.n_levels), strict=True):
        ends[start:stop] = np.cumsum(counts[start:stop])
        held = np.repeat(np.arange(stop - start), counts[start:stop])
        offset = int(pairs.table_start[np.searchsorted(pairs.level_start, start)])
        first += float(pairs.table[offset + np.arange(len(held)) + held].sum())
    # Of the positives with at most j unbeaten the last one moves: the count with it on the better side.
    count = ends[level] + _within(level, -step)[0] + (step < 0)
    place = pairs.table_start[item] + count - 1 + j
    return step * (pairs.table[place + 1] - pairs.table[place]), first
