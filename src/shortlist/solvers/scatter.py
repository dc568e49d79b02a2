"""Weighted scatter matrices ``X' diag(h) X``: what Newton and interior-point steps need of the data.

Dense rows are taken in chunks, so that the only copy is one chunk; rows of weight 0 are left out; sparse
rows stay sparse.  Sums run in float64.

>>> import numpy as np
>>> scatter(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0]))
array([[1., 2.],
       [2., 4.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Products", "scatter"]

CHUNK_BYTES = 1 << 23


def scatter(X: Any, h: Array) -> Array:
    """``X' diag(h) X`` for h >= 0; O(n d^2) dense, the sum of squared row lengths when sparse."""
    d = X.shape[1]
    rows = np.flatnonzero(h)
    total = np.zeros((d, d))
    chunk = max(1, CHUNK_BYTES // (8 * max(d, 1)))
    if sp.issparse(X):
        chunk *= 16
    for first in range(0, len(rows), chunk):
        take = rows[first : first + chunk]
        everything = len(take) == take[-1] - take[0] + 1
        block: Any = X[take[0] : take[-1] + 1] if everything else X[take]
        root = np.sqrt(h[take])
        if not isinstance(block, np.ndarray):
            scaled = sp.csr_array(block.multiply(root[:, None]))
            total += (scaled.T @ scaled).toarray()
        else:
            half = root[:, None] * block
            total += half.T @ half
    return total


class Products:
    """The two products with X, in X's own arithmetic, and a count of them."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.dtype = X.dtype
        self.passes = 0.0

    def forward(self, w: Array) -> Array:
        """``X w`` in float64."""
        self.passes += 1
        return np.asarray(self.X @ w.astype(self.dtype, copy=False), dtype=np.float64)

    def back(self, v: Array) -> Array:
        """``X' v`` in float64."""
        self.passes += 1
        return np.asarray(self.X.T @ v.astype(self.dtype, copy=False), dtype=np.float64)

    def combine(self, weights: Any) -> Array:
        """``B X`` for a sparse B with at most one entry a column: sums of rows by group."""
        self.passes += 1
        product: Any = weights.astype(self.dtype) @ self.X
        return np.asarray(product if isinstance(product, np.ndarray) else product.toarray(), dtype=np.float64)

    def scatter(self, h: Array) -> Array:
        """``X' diag(h) X``; counts d passes for each row that takes part."""
        self.passes += self.X.shape[1] * np.count_nonzero(h) / max(len(h), 1)
        return scatter(self.X, h)
