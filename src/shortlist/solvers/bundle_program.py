"""The small program of the bundle: how much of each plane the best lower bound takes.

    minimise over a >= 0, sum(a) = 1    1/2 a'G a - b'a,

with G = C^2 A A' the products of the planes' slopes and b = C times their heights at w = 0.

Method.  Active sets from a warm start: solve on the planes in use with the sum fixed; step back to the border where a
weight would turn negative and drop that plane; once all are positive take in the plane whose derivative is lowest.  The
matrix is factored anew for each set: it has a few dozen rows.  Planes that depend on each other make G singular; a
ridge of some rounding errors then decides between equals.

Any a that is feasible gives a valid bound.  So neither the ridge nor an early stop can make the certificate wrong, only
a little weaker, and what is missing is known: with g = G a - b the value is at most a'g - min(g) above the minimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Array = NDArray[Any]

__all__ = ["best_weights"]

RIDGE = 3e-14


def best_weights(G: Array, b: Array, start: Array, *, accuracy: float = 0.0, max_pivots: int = 1000) -> Array:
    """Weights of the planes, from a feasible start, to a given distance from the minimum.

    >>> best_weights(np.array([[4.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.array([1.0, 0.0])).round(12)
    array([0.2, 0.8])
    """
    a = np.maximum(start, 0.0)
    a /= a.sum()
    used = np.flatnonzero(a)
    for _ in range(max_pivots):
        target = _with_sum_one(G, b, used)
        falling = target <= 0
        if falling.any():
            now = a[used]
            steps = np.where(falling, now / np.maximum(now - target, np.finfo(float).tiny), np.inf)
            first = int(steps.argmin())
            now = np.maximum(now + min(float(steps[first]), 1.0) * (target - now), 0.0)
            now[first] = 0.0
            a[used] = now
            used = used[now > 0]
            continue
        a[:] = 0.0
        a[used] = target
        slope = G @ a - b
        missing = float(a @ slope - slope.min())
        entering = int(slope.argmin())
        rounding = 1e-14 * float(np.abs(slope).max())
        if missing <= max(accuracy, rounding) or entering in used:
            break
        used = np.append(used, entering)
    return np.asarray(a / a.sum())


def _with_sum_one(G: Array, b: Array, used: Array) -> Array:
    """The minimum over the planes in use with sum 1 and any sign."""
    if len(used) == 1:
        return np.ones(1)
    matrix = G[np.ix_(used, used)]
    # The common part of the slopes does not change with the weights; without it the differences keep their digits.
    anchor = matrix[-1]
    centred = matrix[:-1, :-1] - anchor[:-1] - anchor[:-1, None] + anchor[-1]
    right = (b[used[:-1]] - b[used[-1]]) - (anchor[:-1] - anchor[-1])
    # What rounding leaves of a difference of equal planes, of slopes or of heights, is not a length to divide by.
    floor = np.finfo(float).eps * (np.diag(matrix)[:-1] + anchor[-1] + np.abs(right)) + np.finfo(float).tiny
    ridge = RIDGE * np.diag(centred) + 4 * floor
    while True:
        try:
            factor = cho_factor(centred + np.diag(ridge), check_finite=False)
            break
        except LinAlgError:
            ridge = 10 * ridge
    rest = cho_solve(factor, right, check_finite=False)
    return np.append(rest, 1.0 - rest.sum())
