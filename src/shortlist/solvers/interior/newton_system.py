"""The Newton system of the interior point method, in four forms.

Rows r carry signed features rho_r (minus the positives, plus or minus the working negatives), couplings N_r to the
border variables of their group and curvatures D_r >= 0.  With Q0 the border's own block and H the rest of the coupling
(see ``negatives``), the system is

    [ I + rho' D rho    H + rho' D N   ] [dw]   [r_w - rho' D r]
    [ H' + N' D rho     Q0 + N' D N    ] [db] = [r_b - N' D r  ],

r the rows' offsets, which may be large where D is: the row forms keep them apart.

* ``ColumnSystem``: forms the d x d matrix, border eliminated first (it is block diagonal over groups).  The positives'
  part changes only where their curvature does; for the squared hinge that is a handful of rows a step.
* ``RowSystem``: with y = D (rho dw + N db + r) and F = N - rho H it is (D^-1 + rho rho') y - F db = rho r_w + r,
  F' y + (Q0 - H' H) db = r_b - H' r_w: a matrix over rows, for data with more columns than rows that matter.
* ``RowConjugateGradients``: the row form by products alone, preconditioned by its diagonal and the heaviest columns.
* ``ColumnConjugateGradients``: the column form by products alone, preconditioned by its diagonal and the stiffest
  negatives.

This module holds what they share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from shortlist.solvers.interior.negatives import NegativeBlock
from shortlist.solvers.rows import Rows

Array = NDArray[Any]

__all__ = ["NewtonSystem", "RowForm", "add_to_diagonal", "densify", "factor", "solve_factored"]


def add_to_diagonal(matrix: Array, value: float = 1.0) -> None:
    """Add to the diagonal in place."""
    diagonal = np.einsum("ii->i", matrix)
    diagonal += value


def factor(matrix: Array) -> Array:
    """Cholesky factor; where rounding has spoilt definiteness the diagonal is raised by as little as it takes.

    LAPACK is called as it is: on a few dozen columns the checks around it take longer than the factor.
    """
    jitter, diagonal = 0.0, np.einsum("ii->i", matrix)
    if not np.isfinite(diagonal.sum()):
        raise FloatingPointError("the Newton matrix is not finite; scale the features")
    while True:
        lower, failed = lapack.dpotrf(matrix.T, lower=1, clean=0)
        if not failed:
            return np.asarray(lower)
        jitter = max(10 * jitter, 1e-15 * float(diagonal.max()))
        diagonal += jitter


def solve_factored(lower: Array, rhs: Array) -> Array:
    """The system whose ``factor`` is known, solved for one right-hand side or for several columns."""
    if not len(lower):
        return rhs
    x, _ = lapack.dpotrs(lower, rhs, lower=1)
    return np.asarray(x)


class NewtonSystem(ABC):
    """Assembled by ``update``, then solved for as many right-hand sides as wanted.

    Attributes
    ----------
    dense : bool
        Whether the negatives are wanted as a dense array.
    leaps : bool
        Whether one direction at full length pays better than a predictor and a corrector, each as dear as the other.
    lag : float
        Share of the gap below which leaps do not press the complementarity: a small one makes the system hard to solve
        by products, and is of no use before the residuals are as small.
    forcing : float
        Relative residual to which an iterative form solves; the method lowers it when its steps turn out short.
    """

    dense = False
    leaps = False
    lag = 0.0
    rows: Any
    D_pos: Array

    def __init__(self, positives: Rows, groups: Array, negatives: NegativeBlock) -> None:
        self.positives, self.groups, self.block = positives, groups, negatives
        self.n_groups, self.k = negatives.n_groups, negatives.n_border
        self.forcing = negatives.forcing

    @abstractmethod
    def set_negatives(self, rows: Any) -> None:
        """Take the features of the working negatives (dense float64 or CSR)."""

    def take_negatives(self, negatives: Rows, members: Array) -> None:
        """Take these of the negatives as the working ones; those there were are let go first."""
        self.rows = None
        self.set_negatives(negatives.dense(members) if self.dense else negatives.take(members))

    @abstractmethod
    def update(self, D_pos: Array, D_neg: Array) -> None:
        """Take new curvatures; the couplings are read from the block."""

    @abstractmethod
    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        """``dw``, ``db`` and, of the forms that have it, y of the negatives; ``r_pos`` None stands for zeros."""

    def fold(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array, D_neg: Array
    ) -> tuple[Array, Array]:
        """Right-hand sides with the offsets folded in, for the forms over columns."""
        Dr = D_neg * r_neg
        r_w = r_w - np.asarray(self.rows.T @ (self.block.sign * Dr))
        pulled = [self.block.by_group(Dr * column) for column in self.block.coupling.T]
        r_b = r_b - (pulled[0][:, None] if self.k == 1 else np.stack(pulled, axis=1))
        if r_pos is not None:
            Dr = self.D_pos * r_pos
            r_w = r_w + self.positives.t_dot(Dr)
            r_b[:, 0] -= self.sum_positives(Dr)
        return r_w, r_b

    def sum_positives(self, values: Array) -> Array:
        """Sums over the positives of each group."""
        if self.n_groups == 1:
            return np.array([values.sum()])
        return np.bincount(self.groups, weights=values, minlength=self.n_groups)

    def row_offsets(self, r_pos: Array | None, r_neg: Array) -> Array:
        """The offsets of all rows."""
        return np.concatenate([np.zeros(len(self.positives)) if r_pos is None else r_pos, r_neg])

    def border_matrix(self, D_pos: Array, D_neg: Array) -> Array:
        """``Q0 + N' D N`` of each group."""
        N, Q = self.block.coupling, self.block.border.copy()
        if self.n_groups == 1:
            Q[0] += (N * D_neg[:, None]).T @ N
            Q[0, 0, 0] += D_pos.sum()
            return Q
        for a in range(self.k):
            for b in range(a, self.k):
                Q[:, a, b] += self.block.by_group(D_neg * N[:, a] * N[:, b])
                Q[:, b, a] = Q[:, a, b]
        Q[:, 0, 0] += np.bincount(self.groups, weights=D_pos, minlength=self.n_groups)
        return Q

    def _pick(self, weights: Array) -> Any:
        """Matrix that sums the negatives' rows, weighted, by group."""
        if self.n_groups == 1:
            return weights[None, :]
        g = self.block.groups
        return sparse.csr_array((weights, (g, np.arange(len(g)))), shape=(self.n_groups, len(g)))


class RowForm(NewtonSystem):
    """What the forms over rows share: the negatives as stored, and the sparse coupling matrix."""

    def set_negatives(self, rows: Any) -> None:
        self.rows = rows if isinstance(rows, np.ndarray) else rows.astype(np.float64, copy=False)

    def coupling_matrix(self) -> Any:
        """``N`` over all rows, sparse: rows x (n_groups * k)."""
        m, k = len(self.positives), self.k
        N = self.block.coupling
        r = np.repeat(np.arange(m, m + len(N)), k)
        c = (self.block.groups[:, None] * k + np.arange(k)).ravel()
        shape = (m + len(N), self.n_groups * k)
        return sparse.csr_array(
            (
                np.concatenate([np.ones(m), N.ravel()]),
                (np.concatenate([np.arange(m), r]), np.concatenate([self.groups * k, c])),
            ),
            shape=shape,
        )

    def dense_coupling(self) -> Array:
        """``N`` as an array."""
        if self.n_groups > 1:
            return np.asarray(self.coupling_matrix().toarray())
        m = len(self.positives)
        N = np.zeros((m + len(self.block), self.k))
        N[:m, 0], N[m:] = 1.0, self.block.coupling
        return N

    def couple(self, b: Array) -> Array:
        """``N b`` over positives and negatives, without the matrix."""
        m, N = len(self.positives), self.block.coupling
        if self.n_groups == 1:
            return np.concatenate([np.full(m, b[0, 0]), N @ b[0]])
        return np.concatenate([b[self.groups, 0], np.einsum("jk,jk->j", N, b[self.block.groups])])

    def couple_t(self, y: Array) -> Array:
        """``N' y``, a row a group."""
        m, N = len(self.positives), self.block.coupling
        out = np.stack([self.block.by_group(y[m:] * column) for column in N.T], axis=1)
        out[:, 0] += self.sum_positives(y[:m])
        return out

    def rho(self, w: Array) -> Array:
        """``rho w`` over positives and negatives."""
        return np.concatenate([-self.positives.dot(w), self.block.sign * (self.rows @ w)])

    def rho_t(self, y: Array) -> Array:
        """``rho' y``."""
        m = len(self.positives)
        return np.asarray(self.rows.T @ (self.block.sign * y[m:])) - self.positives.t_dot(y[:m])

    def pull_matrix(self) -> Any:
        """``H'``: (n_groups * k) x d, all zero but for the last border variable of each group."""
        last = self.block.groups * self.k + self.k - 1
        place = (last, np.arange(len(last)))
        shape = (self.n_groups * self.k, len(last))
        return sparse.csr_array((self.block.pull, place), shape=shape) @ self.rows


def densify(K: Any) -> Array:
    return np.asarray(K if isinstance(K, np.ndarray) else K.toarray(), dtype=np.float64)
