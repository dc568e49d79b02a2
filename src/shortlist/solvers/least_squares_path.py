"""One eigendecomposition of a least-squares problem over pairs: the optimum for every C, and what each row does to it.

Problem
    As in ``least_squares``: w(C) = argmin 1/2 ||w||^2 + C * mean over pairs, for many C; and the matrix R(rho) that
    turns targets into residuals, in rows centred within groups and scaled by the root of their weight,

        e~ = R y~,    R = rho (Z~Z~' + rho I)^-1 less its part along the levels,    rho = 1 / (2 C).

Method
    With Z~'Z~ = V diag(l) V' (columns no more than rows) and P = Z~V:  w = V (l + rho)^-1 V'b  and
    R = I - Q Q' - P (l + rho)^-1 P', Q the levels' unit vectors.  With Z~Z~' = U diag(l) U' otherwise:
    w = Z~'U (l + rho)^-1 U'y~  and  R = U rho (l + rho)^-1 U', where U are the eigenvectors apart from Q.  These are
    told apart by adding c Q Q' with c above every eigenvalue: then Q are the last ones.

Cost
    One decomposition of the smaller side; a C costs O(m k) for residuals and the diagonal of R, and O(m^2 k) for all
    of R, k the smaller side.

Reference
    G. Wahba. Spline models for observational data. SIAM 1990, for one row left out of ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from shortlist.solvers.gram import BLOCK_BYTES, blocks, column_gram, group_means, is_sparse, row_gram
from shortlist.solvers.least_squares import memory_error
from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["Spectrum"]


@dataclass(frozen=True)
class Spectrum:
    """The decomposition; make it with ``Spectrum.of``.

    Attributes
    ----------
    problem : PairProblem
    values : (k,) array
        Eigenvalues l.
    basis : (m, k) array
        U of the row side, P = Z~V of the column side.
    by_rows : bool
    target : (k, T) array
        U'y~, or V'b.
    root : (m,) array
        Roots of the rows' weights u.
    vectors : (d, k) array or None
        V of the column side.
    Z : matrix
        The rows.
    """

    problem: PairProblem
    values: Array
    basis: Array
    by_rows: bool
    target: Array
    root: Array
    vectors: Array | None
    Z: Any

    @classmethod
    def of(cls, Z: Any, problem: PairProblem, *, max_memory: float = 2e9) -> Spectrum:
        """Decompose the smaller side.

        >>> Z = np.array([[0.0], [1.0], [2.0]])
        >>> spectrum = Spectrum.of(Z, PairProblem.of(np.array([[0.0], [2.0], [4.0]])))
        >>> spectrum.coefficients([0.5, 100.0])[:, 0, 0].round(3)
        array([1.143, 1.993])
        """
        m, d = Z.shape
        root = np.sqrt(problem.u)
        if 8.0 * min(m, d) ** 2 > max_memory:
            raise memory_error(
                min(m, d), max_memory, "Set n_landmarks where there is a kernel, use fewer columns, or raise max_memory"
            )
        if d < m:
            G, b = column_gram(Z, problem)
            values, vectors = eigh(G, driver="evd", overwrite_a=True, check_finite=False)
            values = np.maximum(values, 0.0)
            basis = _projected(Z, problem, vectors, root)
            return cls(problem, values, basis, False, vectors.T @ b, root, vectors, Z)
        K = row_gram(Z, problem)
        levels = _levels(problem, root)
        far = 1.1 * float(np.abs(K).sum(axis=1).max()) or 1.0
        K += far * (levels @ levels.T)
        values, U = eigh(K, driver="evd", overwrite_a=True, check_finite=False)
        kept = slice(0, m - levels.shape[1])
        values, U = np.maximum(values[kept], 0.0), U[:, kept]
        return cls(problem, values, U, True, U.T @ (root[:, None] * problem.y), root, None, Z)

    def rho(self, C: Any) -> Array:
        """1 / (2 C)."""
        return np.asarray(1 / (2 * np.asarray(C, dtype=np.float64)))

    def coefficients(self, Cs: Any) -> Array:
        """Optimal weights for each C, (n_C, T, d)."""
        rho = np.atleast_1d(self.rho(Cs))
        solved = self.target[:, None, :] / (self.values[:, None, None] + rho[:, None])
        flat = solved.reshape(len(self.values), -1)
        if self.vectors is not None:
            W = self.vectors @ flat
        else:
            alpha = self.root[:, None] * (self.basis @ flat)
            # U has no part along the levels: the raw rows may stand for the centred ones.
            W = np.asarray(self.Z.T @ alpha.astype(self.Z.dtype, copy=False), dtype=np.float64)
        return np.asarray(W.reshape(-1, len(rho), self.problem.y.shape[1]).transpose(1, 2, 0))

    def filters(self, rho: Array) -> Array:
        """Weights of the basis in R, (..., k)."""
        bent = np.asarray(rho)[..., None] / (self.values + np.asarray(rho)[..., None])
        if self.by_rows:
            return np.asarray(bent)
        return np.asarray(-1 / (self.values + np.asarray(rho)[..., None]))

    def diagonal(self, rho: Array) -> Array:
        """``R_ii`` for each of several rho, (n, m)."""
        seen = self.filters(np.atleast_1d(rho)) @ (self.basis**2).T
        return np.asarray(seen) if self.by_rows else 1 - self._level_shares() + seen

    def residuals(self, rho: Array) -> Array:
        """``e~`` for each of several rho, (n, m, T)."""
        rho = np.atleast_1d(rho)
        n, T = len(rho), self.problem.y.shape[1]
        solved = self.filters(rho)[:, :, None] * self.target
        flat = solved.transpose(1, 0, 2).reshape(len(self.values), n * T)
        out = (self.basis @ flat).reshape(-1, n, T).transpose(1, 0, 2)
        return np.asarray(out if self.by_rows else out + self.root[:, None] * self.problem.y)

    def each_row(self, rho: Array) -> tuple[Array, Array]:
        """``R_ii`` (m,) and ``e~_i`` (m, T), where every row i has a rho of its own."""
        m, k = self.basis.shape
        diagonal, residuals = np.empty(m), np.empty((m, self.problem.y.shape[1]))
        step = max(1, BLOCK_BYTES // (8 * max(k, 1)))
        for first in range(0, m, step):
            rows = slice(first, first + step)
            weighted = self.filters(rho[rows]) * self.basis[rows]
            diagonal[rows] = np.einsum("ik,ik->i", weighted, self.basis[rows])
            residuals[rows] = weighted @ self.target
        if not self.by_rows:
            diagonal += 1 - self._level_shares()
            residuals += self.root[:, None] * self.problem.y
        return diagonal, residuals

    def block(self, rho: float, rows: Any, columns: Any) -> Array:
        """Entries of R, but for what the identity adds on its diagonal on the column side."""
        weights = self.filters(np.asarray(rho))
        part = (self.basis[rows] * weights) @ self.basis[columns].T
        if not self.by_rows:
            g, totals = self.problem.groups, self.problem.totals
            along = np.outer(self.root[rows], self.root[columns])
            along = along / totals[0] if g is None else along * (g[rows][:, None] == g[columns]) / totals[g[rows], None]
            part -= along
        return np.asarray(part)

    def _level_shares(self) -> Array:
        """The diagonal of Q Q'."""
        g, totals = self.problem.groups, self.problem.totals
        return np.asarray(self.problem.u / (totals[0] if g is None else totals[g]))

    def mean_row(self, rho: float) -> tuple[Array, Array]:
        """What each target adds to the score of the mean row of Z, (m,), and the mean row; one group only."""
        mean = group_means(self.Z, self.problem)[0]
        if self.vectors is not None:
            seen = mean @ self.vectors
        else:
            raw = np.asarray(self.Z @ mean.astype(self.Z.dtype, copy=False), dtype=np.float64)
            seen = (self.root * (raw - mean @ mean)) @ self.basis
        return self.root * (self.basis @ (seen / (self.values + rho))), mean


def _projected(Z: Any, problem: PairProblem, vectors: Array, root: Array) -> Array:
    """``Z~ V``, a block of rows at a time; sparse rows stay sparse."""
    means = group_means(Z, problem)
    out = np.empty((Z.shape[0], vectors.shape[1]))
    if is_sparse(Z):
        out[:] = Z @ vectors
        out -= problem.spread(means @ vectors)
        out *= root[:, None]
        return out
    for rows, block in blocks(Z):
        out[rows] = (root[rows, None] * (block - problem.spread(means, rows))) @ vectors
    return out


def _levels(problem: PairProblem, root: Array) -> Array:
    """Unit vectors of the groups' levels, (m, n_groups); a group of no weight has none."""
    if problem.groups is None:
        return np.asarray((root / np.linalg.norm(root))[:, None])
    used = np.unique(problem.groups[problem.u > 0])
    Q = np.where(problem.groups[:, None] == used, root[:, None], 0.0)
    return np.asarray(Q / np.linalg.norm(Q, axis=0))
