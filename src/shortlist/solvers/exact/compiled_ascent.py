"""The loops of ``line_search``, compiled by Numba where it is installed.

The mathematics is told there; the array version is the reference, and tests hold the two together.  What compiling
buys is one pass over the pairs without temporary arrays, and a sweep in order of events that needs no second sort.
Compiled code is kept on disk and lets go of Python's lock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shortlist.solvers.exact.line_search import Pairs

Array = NDArray[Any]

__all__ = ["available", "sweep_segment"]

# As in ``line_search``: won on less than this is not won, and a pair's own events keep their order.
COINCIDE = 1e-12
_SCOPES = {"negatives": 0, "rows": 1, "preferences": 2}


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether Numba is installed."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def sweep_segment(
    pairs: Pairs, a: Array, b: Array, scores_a: Array, scores_b: Array, margin: float
) -> tuple[Array, Array]:
    """Edges and values of the arcs between ``a`` and ``b``."""
    pieces, gather, sweep = _functions()
    breaks, base, slope = pieces(a, b)
    size_a, size_b = float(np.abs(a).max()), float(np.abs(b).max())
    room = 1024
    while True:
        t, item, amount, won = np.empty(room), np.empty(room, np.int64), np.empty(room), np.empty(len(pairs.rows))
        n = gather(
            pairs.rows, pairs.start, pairs.stop, pairs.opponents, pairs.weights, scores_a, scores_b, margin,
            size_a, size_b, breaks, base, slope, t, item, amount, won,
        )  # fmt: skip
        if n <= room:
            break
        room = n
    order = np.argsort(t[:n])
    values = sweep(
        _SCOPES[pairs.scope], pairs.start, pairs.stop, pairs.table, pairs.table_start, pairs.level_start,
        pairs.n_levels, item, amount, won, order,
    )  # fmt: skip
    edges = np.empty(n + 2)
    edges[0], edges[1:-1], edges[-1] = 0.0, t[order], 1.0
    return edges, values


@lru_cache(maxsize=1)
def _functions() -> tuple[Any, Any, Any]:
    from numba import njit

    compiler = njit(cache=True, nogil=True)
    crossing = compiler(_crossing)
    globals()["_crossing_compiled"] = crossing
    return compiler(_pieces), compiler(_gather), compiler(_sweep)


def _pieces(a, b):  # type: ignore[no-untyped-def]
    d = len(a)
    breaks, base, slope = np.empty(2 * d + 1), np.empty(2 * d), np.empty(2 * d)
    t, n = 0.0, 0
    value, rise = -1.0, 0.0
    for j in range(d):
        # The larger of the two signs; at 0 the one that grows.
        size, grows = abs(a[j]), (b[j] - a[j] if a[j] > 0 else (a[j] - b[j] if a[j] < 0 else abs(b[j])))
        if size > value or (size == value and grows > rise):
            value, rise = size, grows
    level = value
    breaks[0] = 0.0
    while True:
        base[n], slope[n] = level, rise
        n += 1
        nearest, best_rise, best_level = np.inf, rise, level
        for j in range(d):
            for sign in (-1.0, 1.0):
                other_rise, other_level = sign * (b[j] - a[j]), sign * a[j]
                if other_rise > rise:
                    meets = (level - other_level) / (other_rise - rise)
                    if meets <= t:
                        meets = t
                    if meets < nearest or (meets == nearest and other_rise > best_rise):
                        nearest, best_rise, best_level = meets, other_rise, other_level
        if nearest >= 1.0:
            break
        t, rise, level = nearest, best_rise, best_level
        breaks[n] = t
    breaks[n] = 1.0
    return breaks[: n + 1], base[:n], slope[:n]


def _crossing(p, rise, breaks, base, slope, margin, rising):  # type: ignore[no-untyped-def]
    n = len(base)
    for i in range(n):
        k = i if rising else n - 1 - i
        level, steep = p - margin * base[k], rise - margin * slope[k]
        end = breaks[k + 1] if rising else breaks[k]
        if level + steep * end >= 0:
            t = end if steep == 0 else -level / steep
            return min(max(t, breaks[k]), breaks[k + 1])
    return -1.0


_crossing_compiled: Any = _crossing


def _gather(  # type: ignore[no-untyped-def]
    rows, start, stop, opponents, weights, scores_a, scores_b, margin,
    size_a, size_b, breaks, base, slope, t, item, amount, won,
):
    room, n = len(t), 0
    at_a, at_b = margin * size_a, margin * size_b
    least = at_b
    for k in range(len(base)):
        least = min(least, margin * (base[k] + slope[k] * breaks[k]))
    for i in range(len(rows)):
        a, b, total = scores_a[rows[i]], scores_b[rows[i]], 0.0
        for place in range(start[i], stop[i]):
            k = opponents[place]
            p, q = a - scores_a[k], b - scores_b[k]
            ahead, behind = p - at_a >= 0, q - at_b >= 0
            if ahead:
                total += weights[place]
            if ahead and behind:
                continue
            if ahead != behind:
                if n < room:
                    t[n] = _crossing_compiled(p, q - p, breaks, base, slope, margin, behind)
                    item[n] = i
                    amount[n] = weights[place] if behind else -weights[place]
                n += 1
            elif max(p, q) >= least:
                enter = _crossing_compiled(p, q - p, breaks, base, slope, margin, True)
                leave = _crossing_compiled(p, q - p, breaks, base, slope, margin, False)
                if enter >= 0 and leave - enter > COINCIDE:
                    if n + 1 < room:
                        t[n], t[n + 1] = enter, leave
                        item[n], item[n + 1] = i, i
                        amount[n], amount[n + 1] = weights[place], -weights[place]
                    n += 2
        won[i] = total
    return n


def _sweep(  # type: ignore[no-untyped-def]
    scope, start, stop, table, table_start, level_start, n_levels, item, amount, won, order
):
    n = len(order)
    values = np.empty(n + 1)
    value = 0.0
    if scope == 2:
        for i in range(len(won)):
            value += won[i]
        values[0] = value
        for e in range(n):
            value += amount[order[e]]
            values[e + 1] = value
        return values
    if scope == 1:
        rank = np.empty(len(won), np.int64)
        for i in range(len(won)):
            rank[i] = table_start[i] + np.int64(won[i])
            value += table[rank[i]]
        values[0] = value
        for e in range(n):
            i = item[order[e]]
            step = 1 if amount[order[e]] > 0 else -1
            value += table[rank[i] + step] - table[rank[i]]
            rank[i] += step
            values[e + 1] = value
        return values
    missed, count = np.empty(len(won), np.int64), np.zeros(n_levels, np.int64)
    for i in range(len(won)):
        missed[i] = stop[i] - start[i] - np.int64(won[i])
        count[level_start[i] + missed[i]] += 1
    # Items of a list stand together: first the positions of its positives, then running sums of its counts.
    i = 0
    while i < len(won):
        first, levels, q = level_start[i], stop[i] - start[i] + 1, 0
        for j in range(levels):
            for _ in range(count[first + j]):
                value += table[table_start[i] + q + j]
                q += 1
            count[first + j] = q
        i += q
    values[0] = value
    for e in range(n):
        i = item[order[e]]
        if amount[order[e]] < 0:
            j = missed[i]
            place = table_start[i] + count[level_start[i] + j] - 1 + j
            value += table[place + 1] - table[place]
            count[level_start[i] + j] -= 1
            missed[i] = j + 1
        else:
            j = missed[i] - 1
            count[level_start[i] + j] += 1
            place = table_start[i] + count[level_start[i] + j] - 1 + j
            value += table[place] - table[place + 1]
            missed[i] = j
        values[e + 1] = value
    return values
