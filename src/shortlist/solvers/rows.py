"""The one place where a solver meets X: products with some of its rows, in the arithmetic of X.

Products run in the dtype of X (float32 stays float32: no pass ever converts the matrix) and are handed on as float64
vectors, which are small.  A subset of less than half of the rows is gathered once; the products of a larger one run
over the whole of X with zeros in the places of the other rows.  Of two classes only the smaller is gathered, so that no
more than half of X is ever copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

__all__ = ["Rows", "nbytes", "product", "rows_between", "squared", "transposed", "transposed_product"]

# What the arrays of a matrix are when rows and columns change places.
TURNED = {"csr": sparse.csc_array, "csc": sparse.csr_array}

# A gathered subset holds less than this share of X, or at most this many bytes.
GATHER_SHARE = 0.5
GATHER_BYTES = 2**20
CHUNK_BYTES = 2**24


def nbytes(X: Any) -> int:
    """Memory of a dense or CSR matrix."""
    if not isinstance(X, np.ndarray):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def product(X: Any, w: Array) -> Array:
    """``X @ w`` in the dtype of X, returned as float64."""
    return np.asarray(X @ w.astype(X.dtype, copy=False)).astype(np.float64, copy=False)


def transposed_product(X: Any, v: Array) -> Array:
    """``X.T @ v`` in the dtype of X, returned as float64."""
    return np.asarray(transposed(X) @ v.astype(X.dtype, copy=False)).astype(np.float64, copy=False)


def transposed(X: Any) -> Any:
    """The transpose as a view, of views too: the constructor would copy what is less than half of another array."""
    if isinstance(X, np.ndarray) or X.format not in TURNED:
        return X.T
    turned = TURNED[X.format]((X.shape[1], X.shape[0]), dtype=X.dtype)
    turned.data, turned.indices, turned.indptr = X.data, X.indices, X.indptr
    return turned


def rows_between(A: Any, first: int, last: int) -> Any:
    """Consecutive rows as a view of a dense or CSR matrix."""
    if isinstance(A, np.ndarray):
        return A[first:last]
    inside = slice(A.indptr[first], A.indptr[last])
    part = sparse.csr_array((last - first, A.shape[1]), dtype=A.dtype)
    # Set one by one, as in ``transposed``.
    part.data, part.indices = A.data[inside], A.indices[inside]
    part.indptr = A.indptr[first : last + 1] - A.indptr[first]
    return part


def squared(A: Any) -> Any:
    """The squares of the entries."""
    if isinstance(A, np.ndarray):
        return A * A
    return sparse.csr_array((np.square(A.data), A.indices, A.indptr), shape=A.shape)


class Rows:
    """Rows ``index`` of ``X``, with products that count their passes.

    Attributes
    ----------
    passes : float
        Passes over the whole of X spent so far by this object.
    """

    def __init__(self, X: Any, index: Array) -> None:
        self.X = X
        self.index = index
        self.n_rows, self.n_columns = X.shape
        self.passes = 0.0
        share = len(index) / max(self.n_rows, 1)
        self._gathered: Any = None
        if len(index) == self.n_rows:
            self._gathered = X if np.array_equal(index, np.arange(self.n_rows)) else X[index]
        elif share < GATHER_SHARE or share * nbytes(X) <= GATHER_BYTES:
            self._gathered = X[index]
        self._gathers = self._gathered is not None
        self._cost = share if self._gathers else 1.0

    def __len__(self) -> int:
        return len(self.index)

    def dot(self, w: Array) -> Array:
        """Scores of the rows."""
        self.passes += self._cost
        if self._gathered is not None:
            return product(self._gathered, w)
        return product(self.X, w)[self.index]

    def t_dot(self, v: Array) -> Array:
        """Sum of the rows, weighted by ``v``."""
        self.passes += self._cost
        if self._gathered is not None:
            return transposed_product(self._gathered, v)
        padded = np.zeros(self.n_rows)
        padded[self.index] = v
        return transposed_product(self.X, padded)

    def let_go(self, dtype: Any) -> None:
        """Hold no rows while a matrix of this dtype is made of which to ``adopt`` a part."""
        if dtype == self.X.dtype:
            self._gathered = None

    def adopt(self, rows: Any) -> None:
        """Use these same rows, a part of another matrix, in place of a copy of their own."""
        if self._gathers and rows.dtype == self.X.dtype:
            self._gathered = rows

    def regather(self) -> None:
        """Hold a copy of their own again, so that the matrix of adopted rows can go."""
        if self._gathers:
            self._gathered = None
            self._gathered = self.X[self.index]

    def take(self, which: Array | slice) -> Any:
        """Some of the rows, as stored (dense or CSR)."""
        if self._gathered is not None:
            return self._gathered[which]
        return self.X[self.index[which]]

    def dense(self, which: Array) -> Array:
        """Some of the rows as a dense float64 array."""
        rows = self.take(which)
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)

    def weighted_gram(self, which: Array, weights: Array, groups: Array, sums: Array) -> Array:
        """``sum_r weights_r x_r x_r'`` over ``which``; adds ``weights_r x_r`` to row groups[r] of ``sums``.

        O(rows * d^2) flops in blocks of bounded memory; sparse rows that are thin enough are never made dense.
        """
        d = self.n_columns
        self.passes += len(which) / max(self.n_rows, 1)
        gram = np.zeros((d, d))
        thin = not isinstance(self.X, np.ndarray) and 100 * (self.X.nnz / max(self.n_rows, 1)) ** 2 < d * d
        if thin:
            rows = self.take(which).astype(np.float64)
            weighted = sparse.diags_array(weights) @ rows
            gram += (rows.T @ weighted).toarray()
            membership = sparse.csr_array(
                (np.ones(len(which)), (groups, np.arange(len(which)))), shape=(len(sums), len(which))
            )
            sums += (membership @ weighted).toarray()
            return gram
        size = max(1, CHUNK_BYTES // (8 * max(d, 1)))
        for first in range(0, len(which), size):
            part = slice(first, first + size)
            rows = self.dense(which[part])
            weight = weights[part]
            if len(sums) == 1:
                sums[0] += weight @ rows
            else:
                place = (groups[part], np.arange(len(weight)))
                sums += sparse.csr_array((weight, place), shape=(len(sums), len(weight))) @ rows
            for sign in (1.0, -1.0):
                chosen = sign * weight > 0
                if chosen.any():
                    root = np.sqrt(sign * weight[chosen])[:, None] * (rows if chosen.all() else rows[chosen])
                    # A product with its own transpose goes to the symmetric rank-k update of the BLAS.
                    gram += sign * (root.T @ root)
        return gram
