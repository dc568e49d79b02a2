"""Coefficients whose sign is given: the cone  K = {w : signs_j w_j >= 0},  a product of half lines and lines.

Three small problems, each coordinate by coordinate but for the last:

* the nearest point of K:  w_j, or 0 where its sign is wrong;
* the least of the plane  v.u + 1/2 ||u||^2  over u in K:  u = nearest(-v), of value -1/2 ||u||^2.  So a bound for all
  of space becomes one for K by one projection;
* the average of planes whose least value over K is largest,

      maximise over alpha >= 0, sum(alpha) = 1    b.alpha - 1/2 ||nearest(-A'alpha)||^2,

  which is concave, smooth, and quadratic for as long as the same coordinates are 0.  Each step solves the quadratic
  program of the coordinates that are not (``bundle_program``) and searches the segment to its solution.  Any alpha that
  is feasible gives a valid bound, and what it lacks is known: at most max(g) - alpha.g with g the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.bundle_program import best_weights

Array = NDArray[Any]

__all__ = ["Signs"]

MOST_STEPS = 100
RIDGE = 1e-12
LEAST_STEP = 1e-6
HALVINGS = 60


class Signs:
    """The cone of some signs: 1 for a coefficient that must not be negative, -1 not positive, 0 for either.

    Examples
    --------
    >>> cone = Signs(np.array([1, -1, 0]))
    >>> cone.nearest(np.array([-1.0, -2.0, -3.0]))
    array([ 0., -2., -3.])
    """

    def __init__(self, signs: Array) -> None:
        self.signs = np.asarray(signs, dtype=np.float64)

    def nearest(self, w: Array) -> Array:
        """The projection of w."""
        return np.asarray(np.where(w * self.signs >= 0, w, 0.0))

    def free(self, w: Array, gradient: Array) -> Array:
        """Coordinates that are not held at 0 by their sign: where w or a step downhill is inside."""
        return np.asarray((self.signs == 0) | (w != 0) | (gradient * self.signs < 0))

    def shorten(self, w: Array, way: Array) -> Array:
        """The way from a point of the cone to the projection of its end: all of it stays inside."""
        return np.asarray(self.nearest(w + way) - w)

    def best_weights(self, slopes: Array, heights: Array, start: Array, accuracy: float) -> Array:
        """Weights of the planes ``slopes @ u + heights`` (k, d), (k,), from a feasible start.

        >>> cone = Signs(np.array([1, 1]))
        >>> slopes = np.array([[-4.0, 1.0], [1.0, -4.0]])
        >>> cone.best_weights(slopes, np.zeros(2), np.array([1.0, 0.0]), 0.0).round(6)
        array([0.5, 0.5])
        """
        alpha = start
        # Close to a border of the cone the program may be linear, or its solution not uphill: what holds the step short
        # of it, a ridge about the present weights, grows until it is.
        scale = float(np.einsum("ij,ij->i", slopes, slopes).max(initial=0.0)) + np.finfo(float).tiny
        share = RIDGE
        for _ in range(MOST_STEPS):
            pull = alpha @ slopes
            gain = heights + slopes @ self.nearest(-pull)
            if float(gain.max() - alpha @ gain) <= accuracy:
                break
            inside = slopes[:, (self.signs == 0) | (pull * self.signs < 0)]
            curved = inside @ inside.T + share * scale * np.eye(len(slopes))
            target = best_weights(curved, heights + share * scale * alpha, alpha, accuracy=0.1 * accuracy)
            step = self._along(pull, (target - alpha) @ slopes, float(heights @ (target - alpha)))
            moved = (1.0 - step) * alpha + step * target
            if step > LEAST_STEP:
                share = max(RIDGE, 0.1 * share)
            elif share >= 1.0:
                break
            else:
                share *= 100.0
            alpha = moved
        return alpha

    def _along(self, pull: Array, turn: Array, height: float) -> float:
        """The step to the best average on a segment, by halving: its slope does not increase."""

        def slope(t: float) -> float:
            return height + float(turn @ self.nearest(-(pull + t * turn)))

        if slope(1.0) >= 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) >= 0 else (low, middle)
        return low
