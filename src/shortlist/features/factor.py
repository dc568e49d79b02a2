"""Factor a kernel matrix: ``K = Z Z'``, and the matrix that carries the factor to new rows.

Problem
    Given K (n x n, symmetric, positive semidefinite to rounding) find rows P, and A of |P| rows and r
    columns, with

        Z = K[:, P] A,    Z Z' = K    to rounding,    r the numerical rank.

    A new row x then has the features k(x, x_P) A, and products of features are kernel values on the span of
    P.

Method
    Cholesky with complete pivoting of the matrix scaled to a unit diagonal, D^-1 K D^-1: it takes the row
    that the rows taken so far explain worst, and stops when every row is explained to ``tolerance``, relative
    to its own norm. So P is a well chosen subset, duplicates never enter twice, and A = D^-1 L^-T is
    triangular. What is left must then vanish: a positive semidefinite remainder is bounded by its diagonal.
    Where it does not, the matrix is indefinite, and its eigenvalues decide: an error if the smallest is
    negative beyond rounding, else the factor U diag(sqrt(lambda)) with the negative ones, and as much on the
    positive side, left out.

Cost
    n r^2 for the factor and n^2 r for the check of a matrix of deficient rank; about 9 n^3 in the rare second
    case.

Reference
    Higham, Analysis of the Cholesky decomposition of a semi-definite matrix, 1990 (LAPACK's xPSTRF).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lapack, solve_triangular

from shortlist.features.matrices import Array

__all__ = ["Factor", "factor"]


@dataclass(frozen=True)
class Factor:
    """``Z = K[:, rows] @ mixing`` with ``Z Z' = K``."""

    rows: Array
    mixing: Array
    Z: Array


def factor(K: Array, *, tolerance: float = 0.0, indefinite: float = 1e-8) -> Factor:
    """Factor a kernel matrix.

    Parameters
    ----------
    K : (n, n) array
        Of double precision; its symmetric part is used.
    tolerance : float
        Squared length, relative to the row's own, that may be left of any row. At least n times the rounding
        unit.
    indefinite : float
        The smallest eigenvalue may be this share of the largest below zero.

    Returns
    -------
    Factor
        Of at least one column, also for the zero matrix.

    Raises
    ------
    ValueError
        For values that are not finite, and for an indefinite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[4.0, 2.0, 2.0], [2.0, 5.0, 5.0], [2.0, 5.0, 5.0]])
    >>> f = factor(K)
    >>> f.Z.shape, np.allclose(f.Z @ f.Z.T, K), np.allclose(K[:, f.rows] @ f.mixing, f.Z)
    ((3, 2), True, True)
    """
    n = len(K)
    if not np.isfinite(K).all():
        raise ValueError(
            "the kernel matrix of the training rows holds values that are not finite. Scale the features, "
            "or lower gamma or degree"
        )
    if not K.any():
        return Factor(np.zeros(1, dtype=np.intp), np.zeros((1, 1)), np.zeros((n, 1)))
    tolerance = max(tolerance, n * float(np.finfo(np.float64).eps))
    norms = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    norms[norms == 0.0] = 1.0
    unit = K / norms[:, None] / norms[None, :]
    unit = (unit + unit.T) / 2
    packed, pivots, rank, _ = lapack.dpstrf(unit, tol=tolerance, lower=1)
    order = np.asarray(pivots, dtype=np.intp) - 1
    L = np.tril(packed[:, :rank])
    if rank == 0 or not _explains(unit, L, order, tolerance):
        return _by_eigenvalues((K + K.T) / 2, tolerance, indefinite)
    rows = order[:rank]
    Z = np.empty((n, rank))
    Z[order] = L * norms[order, None]
    inverse = solve_triangular(L[:rank], np.eye(rank), lower=True, check_finite=False)
    return Factor(rows, inverse.T / norms[rows, None], Z)


def _explains(unit: Array, L: Array, order: Array, tolerance: float) -> bool:
    """Whether ``L L'`` leaves nothing of the rows that were not pivots."""
    rank = L.shape[1]
    rest = order[rank:]
    if not len(rest):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        left = unit[np.ix_(rest, rest)] - L[rank:] @ L[rank:].T
        return bool(np.abs(left).max() <= 8 * tolerance)


def _by_eigenvalues(K: Array, tolerance: float, indefinite: float) -> Factor:
    values, vectors = eigh(K, check_finite=False)
    smallest, largest = float(values[0]), float(values[-1])
    if smallest < -indefinite * max(largest, 0.0):
        raise ValueError(
            f"the kernel is not positive semidefinite: the smallest eigenvalue of its matrix on {len(K)} "
            f"training rows is {smallest:.6g} (the largest {largest:.6g}), so no feature vectors have these "
            "products. Use a positive semidefinite kernel; for a matrix of similarities, add at least "
            f"{-smallest:.3g} to its diagonal or set its negative eigenvalues to zero first"
        )
    keep = values > max(tolerance * largest, 2 * abs(min(smallest, 0.0)))
    roots = np.sqrt(values[keep])
    U = vectors[:, keep]
    return Factor(np.arange(len(K)), U / roots, U * roots)
