"""The Newton system by conjugate gradients: products with the rows, and no matrix of their number or of d."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from shortlist.solvers.interior.newton_system import RowForm, densify, factor

Array = NDArray[Any]

__all__ = ["ColumnConjugateGradients", "RowConjugateGradients"]

STIFFEST = 200  # rank of what the column form's preconditioner knows of the negatives
HEAVIEST = 16  # columns that the row form's preconditioner knows exactly
MOST_PRODUCTS = 300


class RowConjugateGradients(RowForm):
    """Over the rows, with v = D^-1/2 y:

        [A, F; F', -Q] [v; -db] = [D^1/2 (rho r_w + r); r_b - H' r_w],   A = I + D^1/2 rho rho' D^1/2,

    F = D^1/2 (N - rho H), Q = Q0 - H' H.  The preconditioner replaces A by its diagonal, plus the exact part of the
    heaviest columns, and keeps the rest: its residual in the second block stays zero, so that conjugate gradients apply
    (projected conjugate gradients).  However stiff the active negatives get, the scaled diagonal is met exactly.

    References
    ----------
    Gould, Hribar, Nocedal (2001). On the solution of equality constrained quadratic programming problems arising in
    optimization. SIAM J. Sci. Comput. 23(4).
    """

    def set_negatives(self, rows: Any) -> None:
        super().set_negatives(rows)
        blocks = [-self.positives.take(np.arange(len(self.positives))), self.rows]
        self._R: Any
        self._Rt: Any
        if isinstance(self.rows, np.ndarray):
            self._R = np.vstack(blocks).astype(np.float64)
            self._Rt = self._R.T
        else:
            self._R = sparse.vstack(blocks, format="csr").astype(np.float64)
            self._Rt = self._R.T.tocsr()
        squares = self._R**2 if isinstance(self._R, np.ndarray) else self._R.power(2)
        weight = np.asarray(squares.sum(axis=0)).ravel()
        heavy = np.argsort(weight)[-HEAVIEST:]
        self._heavy = densify(self._R[:, heavy])
        self._rest = np.maximum(np.asarray(squares.sum(axis=1)).ravel() - (self._heavy**2).sum(axis=1), 0)

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self._last: tuple[Array, Array] | None = None
        D = np.concatenate([D_pos, D_neg])
        self._root = np.sqrt(D)
        self._sign = np.concatenate([np.ones(len(D_pos)), self.block.sign])
        self._signed_root = self._sign * self._root
        self._diagonal = 1.0 + D * self._rest
        U = self._heavy * self._signed_root[:, None]
        capacitance = U.T @ (U / self._diagonal[:, None])
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        self._U, self._capacitance = U, factor(capacitance)
        N = self.coupling_matrix().toarray()
        border = linalg.block_diag(*self.block.border)
        self._H: Array | None = densify(self.pull_matrix()) if self.block.pull.any() else None
        if self._H is not None:
            last = slice(self.k - 1, None, self.k)
            N[:, last] -= self._sign[:, None] * (self._R @ self._H[last].T)
            border = border - self._H @ self._H.T
        self._F, self._Q = self._root[:, None] * N, border
        self._PF = self._almost(self._F)
        self._schur = -self._Q - self._F.T @ self._PF

    def _almost(self, r: Array) -> Array:
        """``P^-1 r`` for the stand-in P of A."""
        diagonal = self._diagonal if r.ndim == 1 else self._diagonal[:, None]
        z = r / diagonal
        return np.asarray(
            z - self._U @ linalg.cho_solve(self._capacitance, self._U.T @ z, check_finite=False) / diagonal
        )

    def _precondition(self, r: Array, second: Array) -> tuple[Array, Array]:
        z = self._almost(r)
        v = np.linalg.solve(self._schur, second - self._F.T @ z)
        return z - self._PF @ v, v

    def _product(self, v: Array) -> Array:
        return np.asarray(v + self._signed_root * (self._R @ (self._Rt @ (self._signed_root * v))))

    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        b = self._signed_root * np.asarray(self._R @ r_w) + self._root * self.row_offsets(r_pos, r_neg)
        second = r_b.ravel() if self._H is None else r_b.ravel() - self._H @ r_w
        # Only the constraint's share of the preconditioner's answer is a safe start: where it is too small for A, its
        # answer to b overshoots.  The corrector starts from the predictor's answer.
        none = np.zeros_like(second)
        if self._last is None:
            x, xb = self._precondition(np.zeros_like(b), second)
        else:
            x, xb = self._last
            dx, dxb = self._precondition(np.zeros_like(b), second - self._F.T @ x + self._Q @ xb)
            x, xb = x + dx, xb + dxb
        r = b - self._product(x) - self._F @ xb
        z, zb = self._precondition(r, none)
        p, pb, rz = z, zb, float(r @ z)
        if self._last is None:
            self._goal = self.forcing**2 * rz
        goal = self._goal
        for _ in range(MOST_PRODUCTS):
            if rz <= goal:
                break
            Kp = self._product(p) + self._F @ pb
            step = rz / float(p @ Kp)
            x, xb, r = x + step * p, xb + step * pb, r - step * Kp
            z, zb = self._precondition(r, none)
            rz, previous = float(r @ z), rz
            p, pb = z + (rz / previous) * p, zb + (rz / previous) * pb
        self._last = x, xb
        db = -xb
        dw = r_w - np.asarray(self._Rt @ (self._signed_root * x))
        if self._H is not None:
            dw = dw - self._H.T @ db
        return dw, db.reshape(self.n_groups, self.k), (self._root * x)[len(self.positives) :]


class ColumnConjugateGradients(RowForm):
    """Matrix-free; the border is eliminated inside the product."""

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self.D_pos, self._D = D_pos, np.concatenate([D_pos, D_neg])
        self._N = self.coupling_matrix()
        self._H = self.pull_matrix() if self.block.pull.any() else None
        self._Qinv = np.linalg.inv(self.border_matrix(D_pos, D_neg))
        squares = self.rows**2 if isinstance(self.rows, np.ndarray) else self.rows.multiply(self.rows)
        self._diagonal = 1.0 + self._squares_of_positives(D_pos)
        stiffness = D_neg * np.asarray(squares.sum(axis=1)).ravel()
        stiff = np.argsort(stiffness)[-STIFFEST:]
        stiff = stiff[D_neg[stiff] > 0]
        soft = D_neg.copy()
        soft[stiff] = 0.0
        self._diagonal += np.asarray(squares.T @ soft).ravel()
        self._prepare_woodbury(stiff, D_neg)

    def _prepare_woodbury(self, stiff: Array, D_neg: Array) -> None:
        """Factor the capacitance of (diagonal + U U')^-1, U' the centred stiff rows times the root of their curvature.

        The rows are centred at their group's mean, as elimination of the border does, without being formed: sparse
        rows stay sparse.
        """
        groups = self.block.groups
        present, self._stiff_groups = np.unique(groups[stiff], return_inverse=True)
        place = np.searchsorted(present, groups)
        inside = np.flatnonzero(np.isin(groups, present))
        mass = np.maximum(np.bincount(place[inside], weights=D_neg[inside], minlength=len(present)), 1e-300)
        mean = sparse.csr_array(
            (D_neg[inside] / mass[place[inside]], (place[inside], inside)), shape=(len(present), len(groups))
        )
        self._origin = mean @ self.rows
        self._stiff_rows, self._stiff_root = self.rows[stiff], np.sqrt(D_neg[stiff])
        inverse = sparse.diags_array(1.0 / self._diagonal)
        R, O, g = self._stiff_rows, self._origin, self._stiff_groups
        inner = densify((R @ inverse) @ R.T)
        across = densify((R @ inverse) @ O.T)[:, g]
        inner -= across + across.T
        inner += densify((O @ inverse) @ O.T)[np.ix_(g, g)]
        capacitance = inner * self._stiff_root[:, None] * self._stiff_root
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        self._capacitance = factor(capacitance)

    def _squares_of_positives(self, D: Array) -> Array:
        size, out = 65536, np.zeros(self.positives.n_columns)
        for first in range(0, len(D), size):
            part = np.arange(first, min(first + size, len(D)))
            rows = self.positives.take(part)
            squares = np.square(rows) if isinstance(rows, np.ndarray) else rows.multiply(rows)
            out += np.asarray(squares.T @ D[part]).ravel()
        return out

    def _precondition(self, r: Array) -> Array:
        z = r / self._diagonal
        centred = self._stiff_root * (
            self._stiff_rows @ z - np.asarray(self._origin @ z).ravel()[self._stiff_groups]
        )
        y = self._stiff_root * linalg.cho_solve(self._capacitance, centred, check_finite=False)
        back = np.asarray(self._stiff_rows.T @ y).ravel()
        shift = np.bincount(self._stiff_groups, weights=y, minlength=self._origin.shape[0])
        back = back - np.asarray(self._origin.T @ shift).ravel()
        return np.asarray(z - back / self._diagonal)

    def _border(self, v: Array, a: Array) -> Array:
        """Coupling of the border to ``v``, with ``a = rho v``."""
        pulled = np.asarray(self._N.T @ (self._D * a))
        if self._H is not None:
            pulled = pulled + self._H @ v
        return pulled.reshape(self.n_groups, self.k)

    def _border_t(self, b: Array) -> Array:
        out = self.rho_t(self._D * (self._N @ b.ravel()))
        return out if self._H is None else out + self._H.T @ b.ravel()

    def _product(self, v: Array) -> Array:
        a = self.rho(v)
        b = np.einsum("gkl,gl->gk", self._Qinv, self._border(v, a))
        out = v + self.rho_t(self._D * (a - self._N @ b.ravel()))
        return out if self._H is None else out - self._H.T @ b.ravel()

    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        r_w, r_b = self.fold(r_w, r_b, r_pos, r_neg, self._D[len(self.positives) :])
        rhs = r_w - self._border_t(np.einsum("gkl,gl->gk", self._Qinv, r_b))
        x = np.zeros_like(rhs)
        r, goal = rhs.copy(), self.forcing * float(np.linalg.norm(rhs))
        z = self._precondition(r)
        p, rz = z.copy(), float(r @ z)
        for _ in range(MOST_PRODUCTS):
            if float(np.linalg.norm(r)) <= goal:
                break
            Mp = self._product(p)
            step = rz / float(p @ Mp)
            x += step * p
            r -= step * Mp
            z = self._precondition(r)
            rz, previous = float(r @ z), rz
            p = z + (rz / previous) * p
        return x, np.einsum("gkl,gl->gk", self._Qinv, r_b - self._border(x, self.rho(x))), None
