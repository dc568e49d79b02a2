"""Curvature from differences: limited-memory BFGS, the quasi-Newton half of the bundle.

From steps s_k and the differences y_k of the gradients at their ends, the inverse of a Hessian H with H s_k = y_k for
the latest pair and close to it for those before (Liu and Nocedal 1989).  A product takes two sweeps over the pairs
kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Differences"]

SAFELY_CURVED = 1e-10  # of |s| |y|: below, s'y is rounding


class Differences:
    """The latest pairs of step and difference.

    >>> known = Differences(5)
    >>> known.add(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    >>> known.add(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    >>> known.solve(np.array([4.0, 2.0]))
    array([1., 1.])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._pairs: list[tuple[Array, Array, float]] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, step: Array, difference: Array) -> None:
        """Keep a pair unless its curvature is not positive beyond rounding."""
        curvature = float(step @ difference)
        if curvature > SAFELY_CURVED * float(np.linalg.norm(step) * np.linalg.norm(difference)):
            self._pairs.append((step, difference, curvature))
            if len(self._pairs) > self.most:
                self._pairs.pop(0)

    def solve(self, gradient: Array) -> Array:
        """The inverse Hessian's product with a vector; that vector itself while no pair is known."""
        q = np.array(gradient)
        if not self._pairs:
            return q
        shares = []
        for step, difference, curvature in reversed(self._pairs):
            share = float(step @ q) / curvature
            shares.append(share)
            q -= share * difference
        _, difference, curvature = self._pairs[-1]
        q *= curvature / float(difference @ difference)
        for (step, difference, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            q += (share - float(difference @ q) / curvature) * step
        return q
