"""The bounds of one box, written for a compiler: plain loops over flat arrays.

``compiled.py`` hands these functions to Numba; they call one another by their global names, and run as plain Python
too (slowly), which is how they are tested line by line.  ``bounds.py`` tells the mathematics of the path bound and has
its array form.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from shortlist.solvers.exact.pairs import Lists

Array = NDArray[Any]


def path_places(lists: Lists, A: Array, L: Array, places: Array, hist_a: Array, hist_l: Array) -> None:
    """Places of the positives, best first in each list, when A and L count the pairs that are surely lost."""
    for l in range(len(lists.pos_start) - 1):
        first, last = lists.pos_start[l], lists.pos_start[l + 1]
        m = last - first
        start, stop = lists.neg_start[l], lists.neg_start[l + 1]
        N = stop - start
        hist_a[: N + 2] = 0
        hist_l[: m + 1] = 0
        for i in range(first, last):
            hist_a[A[i]] += 1
        for k in range(start, stop):
            hist_l[L[k]] += 1
        above = m  # positives with j or more unbeaten negatives, for the j at hand
        least = m  # of the negatives sorted by L, largest first: L of the (j + 1)-th
        q = first
        for j in range(N + 1):
            above -= hist_a[j]
            following = 0
            if j < N:
                while hist_l[least] == 0:
                    least -= 1
                hist_l[least] -= 1
                following = max(above, least)
            while q < last - following:
                places[q] = (q - first) + 1 + j
                q += 1


def earned(lists: Lists, places: Array) -> float:
    """The weights of the places."""
    total = 0.0
    for l in range(len(lists.pos_start) - 1):
        base = lists.place_start[l]
        for q in range(lists.pos_start[l], lists.pos_start[l + 1]):
            total += lists.disc[base + places[q]]
    return total


def twin_places(lists: Lists, A: Array, B: Array, places: Array, hist: Array) -> None:
    """Move places down to the sorted 1 + A + B where those are lower."""
    for l in range(len(lists.pos_start) - 1):
        first, last = lists.pos_start[l], lists.pos_start[l + 1]
        n = (last - first) + (lists.neg_start[l + 1] - lists.neg_start[l])
        hist[: n + 1] = 0
        for i in range(first, last):
            hist[1 + A[i] + B[i]] += 1
        q = first
        for p in range(1, n + 1):
            for _ in range(hist[p]):
                places[q] = max(places[q], p)
                q += 1


def count_twins(twins: Array, first: Array, second: Array, c: Array, r: Array, lost_below: float, B: Array) -> None:
    """B_i = number of positives that positive i surely fails to beat."""
    B[:] = 0
    for t in range(twins.shape[1]):
        v = 0.0
        h = 0.0
        for j in range(len(c)):
            v += c[j] * twins[j, t]
            h += r[j] * abs(twins[j, t])
        if v + h < lost_below:
            B[first[t]] += 1
        if h - v < lost_below:
            B[second[t]] += 1


def margins(M: Array, least: float, most: float, slack: float, c: Array, r: Array) -> tuple[float, float]:
    """A difference below the first is surely lost in the box, one from the second on is surely won."""
    low = 0.0
    high = 0.0
    for i in range(M.shape[0]):
        v = 0.0
        h = 0.0
        for j in range(len(c)):
            v += M[i, j] * c[j]
            h += abs(M[i, j]) * r[j]
        low = max(low, abs(v) - h)
        high = max(high, abs(v) + h)
    return (least * low if least > 0 else least * high) - slack, most * high + slack
