"""``Spectrum`` of a kernel from the eigenvectors of its matrix itself, without centring it first.

Problem
    That of ``least_squares_path``, for one group of m rows that all weigh the same, and Z Z' = K = U diag(l) U'.

Method
    The level that is free is a border of the system: with M = (u K + rho I)^-1, u = 2 / m the weight of a row,
    v = M 1 and s = 1'M 1,

        R = rho (M - v v' / s)

    turns targets into residuals.  So one decomposition of K serves the feature map Z = U sqrt(l), every C, and the
    hold-out errors.  In the basis U everything but R itself is O(m) for each C.

Reference
    As ``least_squares_path``; the border is the usual one of least-squares support vector machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["KernelSpectrum"]


@dataclass(frozen=True)
class KernelSpectrum:
    """What ``Spectrum`` offers for one group of equal weights; make it with ``KernelSpectrum.of``.

    Attributes
    ----------
    problem : PairProblem
    values : (m,) array
        Eigenvalues of u K.
    basis : (m, m) array
        U.
    target : (m, T) array
        U' times the scaled targets.
    level : (m,) array
        U'1.
    root : (m,) array
        Roots of the rows' weights.
    Z : (m, r) array
        U sqrt(l), the columns of the largest eigenvalues.
    """

    problem: PairProblem
    values: Array
    basis: Array
    target: Array
    level: Array
    root: Array
    Z: Array

    @classmethod
    def of(cls, Z: Array, values: Array, vectors: Array, problem: PairProblem) -> KernelSpectrum:
        """From the eigenvalues (ascending) and eigenvectors of the kernel matrix."""
        root = np.sqrt(problem.u)
        level = vectors.sum(axis=0)
        return cls(problem, problem.u[0] * values, vectors, vectors.T @ (root[:, None] * problem.y), level, root, Z)

    def rho(self, C: Any) -> Array:
        """1 / (2 C)."""
        return np.asarray(1 / (2 * np.asarray(C, dtype=np.float64)))

    def _bent(self, rho: Array) -> tuple[Array, Array]:
        """rho M in the basis, (n, m), and s, (n,)."""
        rho = np.atleast_1d(rho)[:, None]
        bent = rho / (self.values + rho)
        return bent, bent @ self.level**2

    def _applied(self, rho: Array, target: Array) -> Array:
        """R times vectors that are given in the basis, in the basis: (n, m, T)."""
        bent, s = self._bent(rho)
        seen = bent[:, :, None] * target
        along = np.einsum("k,nkt->nt", self.level, seen) / s[:, None]
        return np.asarray(seen - (bent * self.level)[:, :, None] * along[:, None, :])

    def coefficients(self, Cs: Any) -> Array:
        """Optimal weights for each C, (n_C, T, r)."""
        rho = np.atleast_1d(self.rho(Cs))
        r = self.Z.shape[1]
        # w = Z' root e~ / rho, and Z' U is sqrt(l) on the largest eigenvalues.
        roots = np.sqrt(self.values[len(self.values) - r :])
        W = self._applied(rho, self.target)[:, len(self.values) - r :] * roots[:, None] / rho[:, None, None]
        return np.asarray(W.transpose(0, 2, 1))

    def diagonal(self, rho: Array) -> Array:
        """``R_ii`` for each of several rho, (n, m)."""
        bent, s = self._bent(rho)
        v = (bent * self.level) @ self.basis.T
        return np.asarray(bent @ (self.basis**2).T - v**2 / s[:, None])

    def residuals(self, rho: Array) -> Array:
        """Scaled residuals for each of several rho, (n, m, T)."""
        applied = self._applied(rho, self.target)
        n, m, T = applied.shape
        flat = applied.transpose(1, 0, 2).reshape(m, n * T)
        return np.asarray((self.basis @ flat).reshape(m, n, T).transpose(1, 0, 2))

    def block(self, rho: float, rows: Any, columns: Any) -> Array:
        """Entries of R."""
        bent, s = self._bent(np.array([rho]))
        v = self.basis @ (bent[0] * self.level)
        part = (self.basis[rows] * bent[0]) @ self.basis[columns].T
        part -= np.outer(v[rows], v[columns] / s[0])
        return np.asarray(part)

    def mean_row(self, rho: float) -> tuple[Array, Array]:
        """What each target adds to the score of the mean row of Z, (m,), and the mean row."""
        m = len(self.root)
        raw = self.root[0] * (self.values / self.problem.u[0]) * self.level / m
        seen = self._applied(np.array([rho]), raw[:, None])[0, :, 0]
        return self.root * (self.basis @ seen) / rho, self.Z.mean(axis=0, dtype=np.float64)
