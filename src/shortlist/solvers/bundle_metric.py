"""Curvature from differences: limited-memory BFGS, the quasi-Newton half of the bundle.

From steps s_k and the differences y_k of the gradients at their ends, the inverse of a Hessian H with H s_k = y_k for
the latest pair and close to it for those before (Liu and Nocedal 1989).  A product takes two sweeps over the pairs.

Where to begin.  The Hessian of 1/2 ||w||^2 + C risk(X w) is I + C X'RX, and a risk of differences sees the columns less
their means: its diagonal goes with the columns' variances.  So the sweeps begin from I + kappa diag(variances) with the
kappa that fits the latest pair, s'y = s's + kappa sum_j s_j^2 variance_j.  Columns of unlike sizes then cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.rows import transposed_product

Array = NDArray[Any]

__all__ = ["Differences", "column_variances"]

SAFELY_CURVED = 1e-10  # of |s| |y|: below, s'y is rounding


def column_variances(X: Any, weights: Array | None = None) -> Array:
    """Variance of each column, in two passes over X and without a dense copy of it.

    With weights the weighted sum of the squared distances from the weighted mean; without, all are 1 / n_rows.

    >>> column_variances(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([1., 0.])
    >>> column_variances(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([2.0, 2.0]))
    array([4., 0.])
    """
    n_rows = X.shape[0]
    share = np.full(n_rows, 1.0 / max(n_rows, 1)) if weights is None else weights
    own = share.astype(X.dtype, copy=False)
    if isinstance(X, np.ndarray):
        squares = np.einsum("ij,ij,i->j", X, X, own)
    else:
        squares = type(X)((X.data**2, X.indices, X.indptr), shape=X.shape).T @ own
    sums = transposed_product(X, share)
    total = float(share.sum())
    variances: Array = np.asarray(squares, dtype=np.float64) - sums**2 / (total if total > 0 else 1.0)
    return np.asarray(np.maximum(variances, 0.0))


class Differences:
    """The latest pairs of step and difference.

    >>> known = Differences(5)
    >>> known.add(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    >>> known.add(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    >>> known.solve(np.array([4.0, 2.0]), np.array([1.0, 1.0]))
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

    def solve(self, gradient: Array, variances: Array) -> Array:
        """The inverse Hessian's product with a vector; that vector itself while no pair is known."""
        q = np.array(gradient)
        if not self._pairs:
            return q
        shares = []
        for step, difference, curvature in reversed(self._pairs):
            share = float(step @ q) / curvature
            shares.append(share)
            q -= share * difference
        step, _, curvature = self._pairs[-1]
        beyond, square = curvature - float(step @ step), float((step * step) @ variances)
        q /= 1.0 + (max(beyond, 0.0) / square if square > 0 else 0.0) * variances
        for (step, difference, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            q += (share - float(difference @ q) / curvature) * step
        return q
