"""The search below a box, depth first, with a budget; compiled by ``compiled.py``.

One pass over all pairs finds those that are undecided in the box.  Below it each child inherits the undecided pairs of
its parent with their intervals: when coordinate j is halved, the centre of a pair's interval moves by r_j D_j / 2 and
its half-width shrinks by as much, so a pair costs O(1) a child whatever the dimension.

Boxes are cut in the coordinate with the largest  r_j sum |D_j|  over the undecided pairs; a small weight more keeps
every coordinate in the race, or a box that no undecided pair feels in one coordinate would be cut for ever in others.
A box whose bound falls below ``keep_below`` goes back to the heap; so does everything once the budget is spent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.chart import ChartArrays
from shortlist.solvers.exact.kernels import count_twins, earned, margins, path_places, twin_places
from shortlist.solvers.exact.packing import conflicts, packed_bound
from shortlist.solvers.exact.pairs import Lists

Array = NDArray[Any]

# Twins cost a pass over all of them: they are asked where few pairs are undecided.
FEW = 8
# Weight of a coordinate that no undecided pair feels, a pair.
IDLE = 0.02
# Half the width of a box too thin to cut.
THIN = 5e-10
# Numbers that the levels of a descent may hold, a pair.
LEVEL_NUMBERS = 4_000_000


class Twins(NamedTuple):
    """Which positives ``ChartArrays.twins`` compares; ``ask`` where equal ones make every box ask."""

    first: Array
    second: Array
    ask: bool


class Effort(NamedTuple):
    """How a descent is to go.

    Attributes
    ----------
    prune : float
        A bound up to this is no hope.
    keep_below : float
        A bound below this goes back to the heap.
    budget, levels : int
        Boxes a task, and depth below its box.
    period : int
        Conflicts are packed at every ``period``-th level.
    most_packed : int
        Not for more undecided pairs than this.
    glance : int
        The centre of every ``glance``-th box is scored.
    """

    prune: float
    keep_below: float
    budget: int
    levels: int
    period: int
    most_packed: int
    glance: int


def box_bound(
    lists: Lists, chart: ChartArrays, twins: Twins, c: Array, r: Array, lost_below: float,
    index: Array, pos: Array, neg: Array, v: Array, h: Array, T: int, A: Array, L: Array, parent: float,
    prune: float, pack: bool, places: Array, hist_a: Array, hist_l: Array,
) -> float:  # fmt: skip
    """The bound of a box whose T undecided pairs are listed: by the path, by twins, by conflicts, while it may live."""
    path_places(lists, A, L, places, hist_a, hist_l)
    bound = min(parent, earned(lists, places))
    if bound > prune and len(twins.first) > 0 and (T <= FEW or twins.ask):
        B = np.zeros(len(A), dtype=np.int64)
        count_twins(chart.twins, twins.first, twins.second, c, r, lost_below, B)
        twin_places(lists, A, B, places, hist_a)
        bound = min(bound, earned(lists, places))
    if bound > prune and pack and T > 1:
        first = np.empty(T // 2, dtype=np.int64)
        second = np.empty(T // 2, dtype=np.int64)
        found = conflicts(chart.D, index, v, h, T, r, lost_below, first, second)
        if found > 0:
            own_pos = np.empty(T, dtype=np.int64)
            own_neg = np.empty(T, dtype=np.int64)
            for t in range(T):
                own_pos[t] = pos[index[t]]
                own_neg[t] = neg[index[t]]
            packed = packed_bound(lists, A, L, own_pos, own_neg, first, second, found, places, hist_a, hist_l)
            bound = min(bound, packed)
    return bound


def centre_value(
    lists: Lists, M: Array, margin: float, c: Array, index: Array, v: Array, T: int, A: Array, L: Array,
    places: Array, hist_a: Array, hist_l: Array,
) -> float:  # fmt: skip
    """What the path says of the centre of a box."""
    largest = 0.0
    for i in range(M.shape[0]):
        w = 0.0
        for j in range(len(c)):
            w += M[i, j] * c[j]
        largest = max(largest, abs(w))
    A2, L2 = A.copy(), L.copy()
    for t in range(T):
        if v[t] < margin * largest:
            A2[lists.pos[index[t]]] += 1
            L2[lists.neg[index[t]]] += 1
    path_places(lists, A2, L2, places, hist_a, hist_l)
    return earned(lists, places)


def longest_cut(D: Array, index: Array, T: int, r: Array) -> int:
    """The coordinate whose halving decides most."""
    best, axis = -1.0, 0
    for j in range(len(r)):
        if r[j] > 0.0:
            weight = IDLE * (T + 1)
            for t in range(T):
                weight += abs(D[j, index[t]])
            if weight * r[j] > best:
                best, axis = weight * r[j], j
    return axis


def first_look(
    lists: Lists, chart: ChartArrays, c: Array, r: Array, lost_below: float, won_from: float,
    v: Array, h: Array, index: Array, A: Array, L: Array,
) -> int:  # fmt: skip
    """Intervals of all pairs: the undecided go to the front of ``index``, ``v``, ``h``; the lost are counted."""
    D, P = chart.D, chart.D.shape[1]
    v[:] = 0.0
    h[:] = 0.0
    for j in range(len(c)):
        cj, rj = c[j], r[j]
        if rj > 0.0:
            for p in range(P):
                v[p] += cj * D[j, p]
                h[p] += rj * abs(D[j, p])
        else:
            for p in range(P):
                v[p] += cj * D[j, p]
    A[:] = 0
    L[:] = 0
    T = 0
    for p in range(P):
        if v[p] + h[p] < lost_below:
            A[lists.pos[p]] += 1
            L[lists.neg[p]] += 1
        elif v[p] - h[p] < won_from:
            index[T] = p
            v[T] = v[p]
            h[T] = h[p]
            T += 1
    return T


def look_below(
    lists: Lists, D: Array, j: int, half: float, lost_below: float, won_from: float, T: int, index: Array, v: Array,
    h: Array, index2: Array, v2: Array, h2: Array, A: Array, L: Array,
) -> int:  # fmt: skip
    """The same for a child, from the undecided pairs of its parent; ``half`` is the signed step of its centre."""
    size = abs(half)
    T2 = 0
    for t in range(T):
        p = index[t]
        x = D[j, p]
        centre = v[t] + half * x
        width = h[t] - size * abs(x)
        if centre + width < lost_below:
            A[lists.pos[p]] += 1
            L[lists.neg[p]] += 1
        elif centre - width < won_from:
            index2[T2] = p
            v2[T2] = centre
            h2[T2] = width
            T2 += 1
    return T2


def copy_row(source: Array, target: Array) -> None:
    """As an assignment of a slice; the compiler is sooner done with it, for it prepares no words for a misfit."""
    for k in range(len(source)):
        target[k] = source[k]


def descend(
    lists: Lists, chart: ChartArrays, twins: Twins, effort: Effort, margin: float, C: Array, R: Array, bounds: Array,
    ages: Array, stop: Array,
) -> tuple[Array, Array, Array, Array, int, float, float, Array]:  # fmt: skip
    """The boxes that are left of a few tasks.

    Returns
    -------
    centres, half-widths, bounds, levels since conflicts were packed : arrays
        Of the boxes that remain open.
    nodes : int
    aside : float
        Largest bound of a box too thin to cut, or -inf.
    value : float
        Largest value that the path gave a centre, or -inf.
    u : (s,) array
        That centre.
    """
    n_tasks, s = C.shape
    P, levels = chart.D.shape[1], effort.levels
    room = n_tasks * (effort.budget + 2 * levels + 4)
    out_c, out_r = np.empty((room, s)), np.empty((room, s))
    out_bound, out_age = np.empty(room), np.empty(room, dtype=np.int64)
    size, nodes, aside, value = 0, 0, -np.inf, -np.inf
    best_u = np.zeros(s)
    n_pos, n_neg = lists.pos_start[-1], lists.neg_start[-1]
    places = np.zeros(n_pos, dtype=np.int64)
    hist_a, hist_l = np.zeros(n_pos + n_neg + 3, dtype=np.int64), np.zeros(n_pos + 3, dtype=np.int64)
    v0, h0, index0 = np.empty(P), np.empty(P), np.empty(P, dtype=np.int32)
    A, L = np.zeros((levels + 1, n_pos), dtype=np.int64), np.zeros((levels + 1, n_neg), dtype=np.int64)
    c, r = np.empty((levels + 1, s)), np.empty((levels + 1, s))
    bound, age = np.empty(levels + 1), np.empty(levels + 1, dtype=np.int64)
    axis, child = np.empty(levels + 1, dtype=np.int64), np.empty(levels + 1, dtype=np.int64)
    count = np.empty(levels + 1, dtype=np.int64)
    for task in range(n_tasks):
        copy_row(C[task], c[0])
        copy_row(R[task], r[0])
        bound[0], age[0] = bounds[task], ages[task]
        lost_below, won_from = margins(chart.M, chart.least, chart.most, chart.slack, c[0], r[0])
        count[0] = first_look(lists, chart, c[0], r[0], lost_below, won_from, v0, h0, index0, A[0], L[0])
        T = count[0]
        deepest = min(levels, max(2, LEVEL_NUMBERS // (T + 1)))
        v, h = np.empty((deepest + 1, T)), np.empty((deepest + 1, T))
        index = np.empty((deepest + 1, T), dtype=np.int32)
        copy_row(v0[:T], v[0])
        copy_row(h0[:T], h[0])
        copy_row(index0[:T], index[0])
        visited = 0
        at = 0
        fresh = True  # the box at level ``at`` has not been looked at
        while at >= 0:
            if fresh:
                fresh = False
                nodes += 1
                visited += 1
                T = count[at]
                pack = age[at] >= effort.period and effort.most_packed >= T
                bound[at] = box_bound(
                    lists, chart, twins, c[at], r[at], lost_below, index[at], lists.pos, lists.neg, v[at], h[at], T,
                    A[at], L[at], bound[at], effort.prune, pack, places, hist_a, hist_l,
                )  # fmt: skip
                if pack:
                    age[at] = 0
                if bound[at] > effort.prune and (nodes % effort.glance == 0 or r[at].max() < THIN):
                    there = centre_value(
                        lists, chart.M, margin, c[at], index[at], v[at], T, A[at], L[at], places, hist_a, hist_l
                    )
                    if there > value:
                        value = there
                        copy_row(c[at], best_u)
                if bound[at] <= effort.prune:
                    at -= 1
                    continue
                if r[at].max() < THIN:
                    aside = max(aside, bound[at])
                    at -= 1
                    continue
                if at > 0 and (at == deepest or bound[at] < effort.keep_below):
                    copy_row(c[at], out_c[size])
                    copy_row(r[at], out_r[size])
                    out_bound[size], out_age[size] = bound[at], age[at]
                    size += 1
                    at -= 1
                    continue
                axis[at] = longest_cut(chart.D, index[at], T, r[at])
                child[at] = 0
            if child[at] == 2:
                at -= 1
                continue
            side = 1.0 if child[at] == 0 else -1.0
            child[at] += 1
            j, below = axis[at], at + 1
            step = 0.5 * r[at, j]
            copy_row(c[at], c[below])
            copy_row(r[at], r[below])
            bound[below], age[below] = bound[at], age[at] + 1
            c[below, j] += side * step
            r[below, j] = step
            if visited >= effort.budget or stop[0] != 0:
                copy_row(c[below], out_c[size])
                copy_row(r[below], out_r[size])
                out_bound[size], out_age[size] = bound[at], age[below]
                size += 1
                continue
            copy_row(A[at], A[below])
            copy_row(L[at], L[below])
            lost_below, won_from = margins(chart.M, chart.least, chart.most, chart.slack, c[below], r[below])
            count[below] = look_below(
                lists, chart.D, j, side * step, lost_below, won_from, count[at], index[at], v[at], h[at],
                index[below], v[below], h[below], A[below], L[below],
            )  # fmt: skip
            at = below
            fresh = True
    return out_c[:size], out_r[:size], out_bound[:size], out_age[:size], nodes, aside, value, best_u
