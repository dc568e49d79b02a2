"""The spread of the entries of a matrix, from which ``gamma="scale"`` takes its unit.

    variance(X) = sum_i w_i sum_j (x_ij - mean)^2 / (d sum_i w_i)

over all entries, as in scikit-learn's SVC, with a weight for each row, so that weight 2 counts as the row
twice.
"""

from __future__ import annotations

import numpy as np

from shortlist.features.matrices import Array, Matrix, is_sparse

__all__ = ["entry_variance"]


def entry_variance(X: Matrix, weight: Array) -> float:
    """Weighted variance of all entries of ``X``; 0 when they are equal to rounding, ``inf`` on overflow.

    Two passes, the second around the mean, so that a large mean does no harm; O(n + d) beyond X.

    >>> import numpy as np
    >>> entry_variance(np.array([[1.0, 3.0], [9.0, 9.0]]), np.array([2.0, 0.0]))
    1.0
    """
    total = float(weight.sum()) * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        row_sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        mean = float(weight @ row_sums) / total
        variance = float(weight @ _squares_around(X, mean)) / total
    if not np.isfinite(variance):
        return np.inf
    rounding = 8 * np.finfo(np.float64).eps * abs(mean)
    return 0.0 if variance <= rounding**2 else variance


def _squares_around(X: Matrix, mean: float) -> Array:
    """``sum_j (x_ij - mean)^2`` of each row."""
    n_rows, n_columns = X.shape
    if is_sparse(X):
        row = np.repeat(np.arange(n_rows), np.diff(X.indptr))
        stored = np.bincount(row, np.square(X.data - mean, dtype=np.float64), minlength=n_rows)
        return np.asarray(stored + (n_columns - np.diff(X.indptr)) * mean**2)
    squares = np.empty(n_rows)
    step = max(1, 2**20 // n_columns)
    for start in range(0, n_rows, step):
        block = X[start : start + step] - np.float64(mean)
        np.einsum("ij,ij->i", block, block, out=squares[start : start + step])
    return squares
