"""Conflict packing: pairs that no point of a box wins together, and what they cost.

Two undecided pairs p and q conflict in a box of centre c and half-widths r if for some t > 0 the largest value of
u.(D_p + t D_q) in the box stays below (1 + t) times the margin: not both can be won.  With t = h_p / h_q, where
h_p = sum_j r_j |D_pj|, that is

    a_p + a_q + |x_p + x_q|_1 < 0,      a_p = (c.D_p - margin) / h_p,   x_p = (r_j D_pj / h_p)_j,  |x_p|_1 = 1.

T disjoint conflicts mean T more lost pairs than the box forces one by one.  Let A_i and L_k count the pairs that a
positive or a negative surely loses, conflicts within one positive or one negative included (S of these).

* By the path: places p_q = q + u_q that follow from A and L hold V = sum u_q lost pairs; the truth stays at or below
  these places and holds at least F + T, F the pairs forced one by one.  Each of the F + T - V further ones is a
  step of some positive from a place p to p + 1, at disc(p) - disc(p + 1); of these
  #{q: p_q <= p} - #{q: q + N <= p} exist.  The cheapest are charged, over all lists together.
* By the negatives: the j-th best negative stands at m + j - l_(j), l_(j) its lost pairs, and F = PD(n) less the weights
  of their places, PD(n) the sum of all weights.  The T - S other conflicts each move one of their two negatives a
  place up.  With disc convex the weights taken are least for the sorted order of L, and the steps of one negative cost
  more and more, so the cheapest are charged, from each negative no more than the conflicts that touch it.

The greedy matching takes the hardest pair first and gives it the hardest partner that conflicts.
Compiled by ``compiled.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.kernels import earned, path_places
from shortlist.solvers.exact.pairs import Lists

Array = NDArray[Any]

# Candidates that are tested at a time, and coordinates that are added at a time: sizes that fill vector registers.
BLOCK = 64
ABREAST = 4
BUCKETS = 512
TAKEN = 1e9
# Single precision: a sum of s numbers of total size at most 2 and two of size 1 is off by less than 3e-7 s.
SINGLE = 5e-7


def conflicts(
    D: Array, index: Array, v: Array, h: Array, T: int, r: Array, lost_below: float, first: Array, second: Array
) -> int:
    """Disjoint conflicts among T undecided pairs; their positions go to ``first`` and ``second``."""
    s = D.shape[0]
    bucket = np.empty(T, dtype=np.int32)
    starts = np.zeros(BUCKETS + 1, dtype=np.int64)
    for t in range(T):
        b = -1
        if h[t] > 1e-12:
            b = min(max(int((1.0 - (v[t] - lost_below) / h[t]) * (BUCKETS // 2)), 0), BUCKETS - 1)
            starts[b + 1] += 1
        bucket[t] = b
    for b in range(BUCKETS):
        starts[b + 1] += starts[b]
    count = starts[BUCKETS]
    fill = starts.copy()
    order = np.empty(count, dtype=np.int32)
    for t in range(T):
        b = bucket[t]
        if b >= 0:
            order[fill[b]] = t
            fill[b] += 1
    a = np.full(count + BLOCK, TAKEN, dtype=np.float32)
    active = 0
    for j in range(s):
        active += r[j] > 0
    x = np.zeros((-(-active // ABREAST) * ABREAST, count + BLOCK), dtype=np.float32)
    for q in range(count):
        t = order[q]
        a[q] = (v[t] - lost_below) / h[t]
    row = 0
    for j in range(s):
        if r[j] > 0:
            for q in range(count):
                t = order[q]
                x[row, q] = r[j] * D[j, index[t]] / h[t]
            row += 1
    reach = np.empty(BLOCK, dtype=np.float32)
    found = 0
    safe = np.float32(SINGLE * (s + 2))
    for p in range(count):
        if a[p] >= TAKEN:
            continue
        limit = np.float32(-a[p] - safe)
        # Before this bucket a_p + a_q > 0.
        q = max(p + 1, starts[min(max(int((1.0 + a[p]) * (BUCKETS // 2)) - 1, 0), BUCKETS - 1)])
        while q < count:
            if count_below(a, x, p, q, reach, limit) > 0:
                e = 0
                while reach[e] >= limit:
                    e += 1
                first[found] = order[p]
                second[found] = order[q + e]
                found += 1
                a[p] = TAKEN
                a[q + e] = TAKEN
                break
            q += BLOCK
    return found


def count_below(a: Array, x: Array, p: int, q: int, reach: Array, limit: Any) -> int:
    """``a_q + |x_p + x_q|`` of the pairs q, q + 1, ... of a block, and how many lie below the limit."""
    own = a[q : q + BLOCK]
    for e in range(BLOCK):
        reach[e] = own[e]
    for j in range(0, len(x), ABREAST):
        x0, x1, x2, x3 = x[j, q : q + BLOCK], x[j + 1, q : q + BLOCK], x[j + 2, q : q + BLOCK], x[j + 3, q : q + BLOCK]
        p0, p1, p2, p3 = x[j, p], x[j + 1, p], x[j + 2, p], x[j + 3, p]
        for e in range(BLOCK):
            reach[e] += (abs(x0[e] + p0) + abs(x1[e] + p1)) + (abs(x2[e] + p2) + abs(x3[e] + p3))
    count = np.int32(0)
    for e in range(BLOCK):
        count += np.int32(reach[e] < limit)
    return int(count)


def packed_bound(
    lists: Lists, A: Array, L: Array, pos: Array, neg: Array, first: Array, second: Array, T: int,
    places: Array, hist_a: Array, hist_l: Array,
) -> float:  # fmt: skip
    """The better of the two bounds; ``pos`` and ``neg`` are those of the undecided pairs."""
    A2, L2 = A.copy(), L.copy()
    touched = np.zeros(len(L), dtype=np.int64)
    forced = 0
    for i in range(len(A)):
        forced += A[i]
    same = 0
    for t in range(T):
        p, q = first[t], second[t]
        if pos[p] == pos[q]:
            A2[pos[p]] += 1
        if neg[p] == neg[q]:
            L2[neg[p]] += 1
            same += 1
        else:
            touched[neg[p]] += 1
            touched[neg[q]] += 1
    bound = by_path(lists, A2, L2, forced + T, places, hist_a, hist_l)
    if lists.convex:
        bound = min(bound, by_negatives(lists, L2, touched, T - same))
    return bound


def by_path(
    lists: Lists, A: Array, L: Array, lost: int, places: Array, hist_a: Array, hist_l: Array
) -> float:  # fmt: skip
    """The bound by the path when at least ``lost`` pairs are lost in all."""
    path_places(lists, A, L, places, hist_a, hist_l)
    bound = earned(lists, places)
    more = lost
    reached = np.zeros(len(lists.disc) + 1, dtype=np.int64)
    for l in range(len(lists.pos_start) - 1):
        base = lists.place_start[l]
        for q in range(lists.pos_start[l], lists.pos_start[l + 1]):
            more -= places[q] - (q - lists.pos_start[l]) - 1
            reached[base + places[q]] = 1
        for p in range(base + 1, lists.place_start[l + 1]):
            reached[p] += reached[p - 1]
    for unit in range(len(lists.unit_list)):
        if more <= 0:
            break
        l, p = lists.unit_list[unit], lists.unit_place[unit]
        m = lists.pos_start[l + 1] - lists.pos_start[l]
        N = lists.neg_start[l + 1] - lists.neg_start[l]
        taken = min(more, reached[lists.place_start[l] + p] - min(max(p - N, 0), m))
        bound -= taken * lists.unit_price[unit]
        more -= taken
    return bound


def by_negatives(lists: Lists, L: Array, touched: Array, more: int) -> float:
    """The bound by the negatives of the one list, ``more`` further lost pairs at those that are touched."""
    m, N = lists.pos_start[1], lists.neg_start[1]
    bucket = np.zeros(m + 2, dtype=np.int64)
    for k in range(N):
        bucket[m - L[k] + 1] += 1
    for b in range(m + 1):
        bucket[b + 1] += bucket[b]
    change = np.zeros(m + N + 2, dtype=np.int64)
    bound = 0.0
    for p in range(1, m + N + 1):
        bound += lists.disc[p]
    for k in range(N):
        place = m + 1 + bucket[m - L[k]] - L[k]
        bucket[m - L[k]] += 1
        bound -= lists.disc[place]
        room = min(touched[k], m - L[k])
        change[place] += room > 0
        change[place - room] -= room > 0
    there = 0
    for p in range(m + N, 1, -1):
        if more <= 0:
            break
        there += change[p]
        taken = min(more, there)
        bound -= taken * (lists.disc[p - 1] - lists.disc[p])
        more -= taken
    return bound
