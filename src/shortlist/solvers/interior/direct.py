"""The Newton system by Cholesky factors: over the columns of the features, or over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from shortlist.solvers.interior.negatives import NegativeBlock
from shortlist.solvers.interior.newton_system import (
    NewtonSystem,
    RowForm,
    add_to_diagonal,
    densify,
    factor,
    solve_factored,
)
from shortlist.solvers.rows import Rows

Array = NDArray[Any]

__all__ = ["ColumnSystem", "RowSystem"]


NEGLIGIBLE = 0.01


def _gram(rows: Array, weights: Array) -> Array:
    """``sum_j weights_j x_j x_j'``, less rows that together cannot move an eigenvalue by ``NEGLIGIBLE``."""
    share = weights * np.einsum("ij,ij->i", rows, rows)
    order = np.argsort(share)
    least = int(np.searchsorted(np.cumsum(share[order]), NEGLIGIBLE))
    if least > len(rows) // 8:
        rows, weights = rows[order[least:]], weights[order[least:]]
    root = np.sqrt(weights)[:, None] * rows
    return np.asarray(root.T @ root)


class ColumnSystem(NewtonSystem):
    """Dense in d.  All rows are centred at their group's mean of the stiff negatives.

    Without that shift of the origin the huge curvatures of active negatives would cancel in the elimination of t.
    """

    dense = True

    def __init__(self, positives: Rows, groups: Array, negatives: NegativeBlock) -> None:
        super().__init__(positives, groups, negatives)
        d = positives.n_columns
        self._D = np.zeros(len(positives))
        self._gram = np.zeros((d, d))
        self._sums = np.zeros((self.n_groups, d))
        self._mass: Array = np.zeros(self.n_groups)

    def set_negatives(self, rows: Any) -> None:
        self.rows = rows

    def _update_positives(self, D: Array) -> None:
        changed = np.flatnonzero(D != self._D)
        if 2 * len(changed) > np.count_nonzero(D):
            self._gram[:], self._sums[:] = 0.0, 0.0
            self._D = np.zeros_like(D)
            changed = np.flatnonzero(D)
        difference = D - self._D
        if len(changed):
            self._gram += self.positives.weighted_gram(
                changed, difference[changed], self.groups[changed], self._sums
            )
        self._D = D
        self._mass = self.sum_positives(D)

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self._update_positives(D_pos)
        self.D_pos, self._D_neg = D_pos, D_neg
        A = self.rows
        mass = np.maximum(self.block.by_group(D_neg), 1e-300)
        self._origin = (self._pick(D_neg) @ A) / mass[:, None]
        centred = A - (self._origin if self.n_groups == 1 else self._origin[self.block.groups])
        M = _gram(centred, D_neg)
        M += self._gram
        sums = self._sums - self._mass[:, None] * self._origin
        cross = self._origin.T @ self._sums
        M -= cross
        M -= sums.T @ self._origin
        add_to_diagonal(M)
        # Couplings of the border to w: the positives see its first variable; the negatives' own vanish by centring but
        # for the last, which does not move with the origin.
        C = np.zeros((self.n_groups, self.k, M.shape[0]))
        C[:, 0] = -sums
        if not self.block.shifted[-1]:
            weight = self.block.pull + self.block.sign * D_neg * self.block.coupling[:, -1]
            C[:, -1] = self._pick(weight) @ centred
        Q = self.border_matrix(D_pos, D_neg)
        self._Qinv = 1 / Q if self.k == 1 else np.linalg.inv(Q)
        self._C = C
        flat = (self.n_groups * self.k, M.shape[0])
        self._QC = (self._Qinv @ C).reshape(flat)
        M -= C.reshape(flat).T @ self._QC
        self._factor = factor(M)

    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        r_w, r_b = self.fold(r_w, r_b, r_pos, r_neg, self._D_neg)
        # The variables that move with the origin come first.
        moving = sum(self.block.shifted)
        rhs = r_w + r_b[:, :moving].sum(axis=1) @ self._origin - r_b.ravel() @ self._QC
        dw = solve_factored(self._factor, rhs)
        db = (self._Qinv @ (r_b - self._C @ dw)[:, :, None])[:, :, 0]
        db[:, :moving] += (self._origin @ dw)[:, None]
        return dw, db, None


class RowSystem(RowForm):
    """Dense over the rows; the Gram matrix of the positives and its factor are kept between steps."""

    def __init__(self, positives: Rows, groups: Array, negatives: NegativeBlock) -> None:
        super().__init__(positives, groups, negatives)
        self._P = positives.take(np.arange(len(positives))).astype(np.float64)
        self._K = densify(self._P @ self._P.T)
        self._D: Array | None = None

    def set_negatives(self, rows: Any) -> None:
        super().set_negatives(rows)
        # Signed: rho of the positives is minus their features.
        self._cross = -densify(self.rows @ self._P.T)
        self._own = densify(self.rows @ self.rows.T)
        self._D = None

    def update(self, D_pos: Array, D_neg: Array) -> None:
        if self._D is None or not np.array_equal(self._D, D_pos):
            self._D, self._root = D_pos, np.sqrt(D_pos)
            K = self._K * self._root[:, None] * self._root
            add_to_diagonal(K)
            self._L = linalg.cholesky(K, lower=True, check_finite=False, overwrite_a=True)
            scaled = (self._cross * self._root).T
            self._T = linalg.solve_triangular(self._L, scaled, lower=True, check_finite=False).T
            self._S = self._own - self._T @ self._T.T
        self._root_neg = np.sqrt(D_neg)
        S = self._S * self._root_neg[:, None] * self._root_neg
        add_to_diagonal(S)
        self._factor = factor(S)
        F = self.coupling_matrix().toarray()
        border = linalg.block_diag(*self.block.border)
        self._H: Array | None = None
        if self.block.pull.any():
            self._H = H = densify(self.pull_matrix())
            last = slice(self.k - 1, None, self.k)
            F[:, last] -= np.stack([self.rho(h) for h in H[last]], axis=1)
            border = border - H @ H.T
        self._F, self._BF = F, self._apply(F)
        self._Q = border + F.T @ self._BF

    def _apply(self, v: Array) -> Array:
        """``(D^-1 + rho rho')^-1 v``, one column a right-hand side."""
        m = len(self.positives)
        root, root_neg = self._root[:, None], self._root_neg[:, None]
        sign = self.block.sign[:, None]
        upper = linalg.solve_triangular(self._L, root * v[:m], lower=True, check_finite=False)
        lower = solve_factored(self._factor, root_neg * (sign * v[m:] - self._T @ upper))
        lower = root_neg * lower
        upper = linalg.solve_triangular(
            self._L, upper - self._T.T @ lower, lower=True, trans=1, check_finite=False
        )
        return np.concatenate([root * upper, sign * lower])

    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        y = self._apply((self.rho(r_w) + self.row_offsets(r_pos, r_neg))[:, None])[:, 0]
        rhs = r_b.ravel() - self._F.T @ y
        if self._H is not None:
            rhs = rhs - self._H @ r_w
        db = np.linalg.solve(self._Q, rhs)
        y = y + self._BF @ db
        dw = r_w - self.rho_t(y)
        if self._H is not None:
            dw -= self._H.T @ db
        return dw, db.reshape(self.n_groups, self.k), y[len(self.positives) :]
