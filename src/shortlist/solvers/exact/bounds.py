"""The path bound, and the search one level down, on arrays: for machines without a compiler.

In a box of directions with centre c and half-widths r the difference u.D of a pair lies within r.|D| of c.D.  Where
even the largest value stays below the margin the pair is surely lost.  Let A_i count the surely lost pairs of
positive i and L_k those of negative k, in a list of m positives and N negatives.  Sort the positives by score, best
first, and let u_q be the number of negatives that the q-th fails to beat; u_q does not fall with q.

* The sorted A lie below u, place by place.
* If L_k >= l, negative k is unbeaten by l positives at least, hence by the l lowest.  So u_q is at least the number
  of negatives with L_k >= m - q + 1.
* The q-th positive has q - 1 positives beside it or above.  Its place is q + u_q or lower.

    statistic <= sum_q disc(q + max(A_(q), #{k: L_k >= m - q + 1})).

It is exact at a point where positives beat one another by the margin.  Where they do not (equal rows; ``twins``) the
places are also at least the sorted 1 + A_i + B_i, B_i the number of positives that i surely fails to beat; the larger
of both sequences counts.

Cost of a box: two matrix products over all pairs and O(m log m + N).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.chart import ChartArrays
from shortlist.solvers.exact.descent import FEW, IDLE, THIN, Effort, Twins
from shortlist.solvers.exact.pairs import Lists

Array = NDArray[Any]

__all__ = ["BoxIntervals", "descend_arrays", "path_bounds", "path_places"]

# Boxes times pairs of one batch.
NUMBERS = 2_000_000


class BoxIntervals(NamedTuple):
    """Which pairs are decided in each of B boxes: (B, P) flags, and the (B,) limit of surely lost differences."""

    lost: Array
    undecided: Array
    lost_below: Array


def margins(chart: ChartArrays, C: Array, R: Array) -> tuple[Array, Array]:
    """Differences below the first are surely lost in the box, from the second on surely won."""
    centre, width = np.abs(C @ chart.M.T), R @ np.abs(chart.M.T)
    low, high = (centre - width).max(axis=1).clip(0.0), (centre + width).max(axis=1)
    lost_below = chart.least * (low if chart.least > 0 else high) - chart.slack
    return lost_below, chart.most * high + chart.slack


def intervals(chart: ChartArrays, C: Array, R: Array) -> BoxIntervals:
    """What a box decides."""
    lost_below, won_from = margins(chart, C, R)
    centre, width = C @ chart.D, R @ np.abs(chart.D)
    lost = centre + width < lost_below[:, None]
    return BoxIntervals(lost, ~lost & (centre - width < won_from[:, None]), lost_below)


def count_lost(lists: Lists, lost: Array) -> tuple[Array, Array]:
    """A and L of each box."""
    A = np.zeros((len(lost), lists.pos_start[-1]), dtype=np.int64)
    L = np.zeros((len(lost), lists.neg_start[-1]), dtype=np.int64)
    box, pair = np.nonzero(lost)
    np.add.at(A, (box, lists.pos[pair]), 1)
    np.add.at(L, (box, lists.neg[pair]), 1)
    return A, L


def path_places(lists: Lists, A: Array, L: Array) -> Array:
    """(B, positives): the places of each list's positives, best first."""
    if lists.pos_start[-1] == len(lists.pos_start) - 1:  # one positive a list
        return np.asarray(1 + A)
    places = np.empty(A.shape, dtype=np.int64)
    for l in range(len(lists.pos_start) - 1):
        own = slice(lists.pos_start[l], lists.pos_start[l + 1])
        others = L[:, lists.neg_start[l] : lists.neg_start[l + 1]]
        m = own.stop - own.start
        q = np.arange(1, m + 1)
        # How many negatives have L >= x, for x = 1..m.
        counts = np.zeros((len(A), m + 2), dtype=np.int64)
        np.add.at(counts, (np.arange(len(A))[:, None], others), 1)
        at_least = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
        places[:, own] = q + np.maximum(np.sort(A[:, own], axis=1), at_least[:, m - q + 1])
    return places


def twin_places(lists: Lists, A: Array, B: Array) -> Array:
    """The sorted 1 + A + B of each list."""
    places = 1 + A + B
    for l in range(len(lists.pos_start) - 1):
        own = slice(lists.pos_start[l], lists.pos_start[l + 1])
        places[:, own] = np.sort(places[:, own], axis=1)
    return places


def count_twins(chart: ChartArrays, twins: Twins, C: Array, R: Array, lost_below: Array, size: int) -> Array:
    """B_i of each box."""
    centre, width = C @ chart.twins, R @ np.abs(chart.twins)
    B = np.zeros((len(C), size), dtype=np.int64)
    for sign, who in ((1.0, twins.first), (-1.0, twins.second)):
        box, twin = np.nonzero(sign * centre + width < lost_below[:, None])
        np.add.at(B, (box, who[twin]), 1)
    return B


def earned(lists: Lists, places: Array) -> Array:
    """The weights of the places, per box."""
    which = np.repeat(np.arange(len(lists.pos_start) - 1), np.diff(lists.pos_start))
    return np.asarray(lists.disc[lists.place_start[which] + places].sum(axis=1))


def path_bounds(lists: Lists, chart: ChartArrays, twins: Twins, C: Array, R: Array) -> tuple[Array, BoxIntervals]:
    """The bound of each box, twins asked where few pairs are undecided, and what the boxes decide."""
    seen = intervals(chart, C, R)
    A, L = count_lost(lists, seen.lost)
    places = path_places(lists, A, L)
    asked = np.full(len(C), twins.ask) | (seen.undecided.sum(axis=1) <= FEW)
    if len(twins.first) and asked.any():
        B = count_twins(chart, twins, C[asked], R[asked], seen.lost_below[asked], A.shape[1])
        places[asked] = np.maximum(places[asked], twin_places(lists, A[asked], B))
    return earned(lists, places), seen


def descend_arrays(
    lists: Lists, chart: ChartArrays, twins: Twins, effort: Effort, margin: float, C: Array, R: Array, bounds: Array,
    ages: Array, stop: Array,
) -> tuple[Array, Array, Array, Array, int, float, float, Array]:  # fmt: skip
    """Like ``descent.descend``, one level down and by the path bound alone."""
    parts = []
    aside, value, u, nodes = -np.inf, -np.inf, np.zeros(C.shape[1]), 0
    step = max(1, NUMBERS // (chart.D.shape[1] + 1))
    for at in range(0, len(C), step):
        c, r, parent = C[at : at + step], R[at : at + step], bounds[at : at + step]
        if stop[0]:
            parts.append((c, r, parent))
            continue
        own, seen = path_bounds(lists, chart, twins, c, r)
        parent = np.minimum(parent, own)
        alive = parent > effort.prune
        thin = alive & (r.max(axis=1) < THIN)
        aside = max(aside, parent[thin].max(initial=-np.inf))
        alive &= ~thin
        nodes += len(c)
        top = int(np.argmax(parent))
        score = float(centre_values(lists, chart, margin, c[top : top + 1])[0])
        if score > value:
            value, u = score, c[top]
        c, r, parent, undecided = c[alive], r[alive], parent[alive], seen.undecided[alive]
        weight = undecided @ np.abs(chart.D.T) + IDLE * (1 + undecided.sum(axis=1))[:, None]
        axis = np.argmax(weight * r, axis=1)
        rows = np.arange(len(c))
        half = 0.5 * r[rows, axis]
        left, right, narrow = c.copy(), c.copy(), r.copy()
        left[rows, axis] += half
        right[rows, axis] -= half
        narrow[rows, axis] = half
        parts.append((np.concatenate([left, right]), np.concatenate([narrow] * 2), np.concatenate([parent] * 2)))
    out_c, out_r, out_bound = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return out_c, out_r, out_bound, np.zeros(len(out_c), dtype=np.int64), nodes, aside, value, u


def centre_values(lists: Lists, chart: ChartArrays, margin: float, C: Array) -> Array:
    """What the path says of points."""
    largest = np.abs(C @ chart.M.T).max(axis=1)
    A, L = count_lost(lists, margin * largest[:, None] > C @ chart.D)
    return earned(lists, path_places(lists, A, L))
