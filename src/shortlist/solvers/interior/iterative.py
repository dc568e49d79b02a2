"""The Newton system by conjugate gradients: products with the rows, and no matrix of their number or of d."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from shortlist.solvers.interior.newton_system import RowForm, add_to_diagonal, densify, factor, solve_factored
from shortlist.solvers.rows import Rows, rows_between, squared

Array = NDArray[Any]

__all__ = ["ColumnConjugateGradients", "RowConjugateGradients"]

STIFFEST = 200  # rank of what the column form's preconditioner knows of the negatives
HEAVIEST = 16  # columns that the row form's preconditioner knows exactly
LIGHT = 1e-4  # of the heaviest column: what is below is not worth looking at
BLOCK = 2048  # rows whose squares are held at a time
MOST_PRODUCTS = 200


def square_sums(A: Any, weights: Array) -> tuple[Array, Array]:
    """Sums of the squared entries, of the columns under ``weights`` of the rows and of each row."""
    columns, rows = np.zeros(A.shape[1]), np.empty(A.shape[0])
    for first in range(0, A.shape[0], BLOCK):
        squares = squared(rows_between(A, first, min(first + BLOCK, A.shape[0])))
        columns += squares.T @ weights[first : first + BLOCK]
        rows[first : first + BLOCK] = squares @ np.ones(A.shape[1])
    return columns, rows


class RowConjugateGradients(RowForm):
    """Over the rows, with y = D^1/2 v; the last border variable l of capped thresholds counts as one more multiplier.

    With u = rho' y + H l, which makes dw = r_w - u, and B the coupling to the thresholds b, the system is

        v + D^1/2 (rho u - N_l l) - B_v b = D^1/2 (rho r_w + r),
        H' u - N_l' y + s l       - B_l b = H' r_w - r_l,          s = -Q0_ll,
        B_v' v + B_l' l                   = r_b:

    a positive definite block under equality constraints.  The preconditioner keeps the constraints, the couplings N_l
    and the diagonal, with the exact part of the heaviest columns; conjugate gradients stay in the constraints'
    null space (projected conjugate gradients).  However stiff the active negatives get, the scaled diagonal is met.

    References
    ----------
    Gould, Hribar, Nocedal (2001). On the solution of equality constrained quadratic programming problems arising in
    optimization. SIAM J. Sci. Comput. 23(4).
    """

    leaps = True

    def take_negatives(self, negatives: Rows, members: Array) -> None:
        m = len(self.positives)
        # Positives and negatives in one matrix, gathered once; the old one goes first, the negatives' part is a view.
        self.rows = self._R = self._Rt = None
        self._heavy: Array = np.empty((0, 0))
        self.positives.let_go(np.float64)
        R = negatives.X[np.concatenate([self.positives.index, negatives.index[members]])]
        self._R = R = R.astype(np.float64, copy=False)
        # A view: the columns of the transpose are scattered, which is faster than rows of its own to gather from.
        self._Rt = R.T
        self.rows = rows_between(R, m, R.shape[0])
        self.positives.adopt(rows_between(R, 0, m))
        weight, lengths = square_sums(R, np.ones(R.shape[0]))
        heavy = np.flatnonzero(weight > LIGHT * weight.max(initial=0))
        if len(heavy) > HEAVIEST:
            heavy = heavy[np.argpartition(weight[heavy], -HEAVIEST)[-HEAVIEST:]]
        heavy = np.sort(heavy)
        self._heavy = np.empty((R.shape[0], len(heavy)))
        for first in range(0, R.shape[0], BLOCK):
            last = min(first + BLOCK, R.shape[0])
            self._heavy[first:last] = densify(rows_between(R, first, last)[:, heavy])
        self._rest = np.maximum(lengths - np.einsum("ij,ij->i", self._heavy, self._heavy), 0)

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self._last: tuple[Array, Array] | None = None
        D = np.concatenate([D_pos, D_neg])
        self._root = np.sqrt(D)
        self._signed_root = np.concatenate([-self._root[: len(D_pos)], self.block.sign * self._root[len(D_pos) :]])
        self._diagonal = 1.0 + D * self._rest
        weights, heavy = D / self._diagonal, self._heavy
        capacitance = np.eye(heavy.shape[1])
        for first in range(0, len(D), BLOCK):
            part = slice(first, first + BLOCK)
            capacitance += heavy[part].T @ (heavy[part] * weights[part, None])
        self._capacitance = factor(capacitance)
        self._set_border()

    def _set_border(self) -> None:
        G, k = self.n_groups, self.k
        shifted = np.tile(self.block.shifted, G)
        N = self.dense_coupling()
        N *= self._root[:, None]
        border = linalg.block_diag(*self.block.border)
        self._n_extra = G * k - int(shifted.sum())
        self._Nl = N[:, ~shifted]
        self._s = -np.diag(border)[~shifted]
        self._B = np.vstack([N[:, shifted], border[np.ix_(~shifted, shifted)]])
        d = self.positives.n_columns
        self._H = densify(self.pull_matrix()[~shifted]) if self._n_extra else np.zeros((0, d))
        self._PN = self._solve_rows(self._Nl)
        self._inner = np.diag(self._s) - self._Nl.T @ self._PN
        self._PB = self._almost(self._B)
        self._schur = self._B.T @ self._PB
        self._shifted = shifted

    def _solve_rows(self, r: Array) -> Array:
        """The stand-in for the rows' block, solved."""
        diagonal, root = self._diagonal, self._signed_root
        if r.ndim > 1:
            diagonal, root = diagonal[:, None], root[:, None]
        z = r / diagonal
        known = self._heavy @ solve_factored(self._capacitance, self._heavy.T @ (root * z))
        known *= root / diagonal
        z -= known
        return np.asarray(z)

    def _almost(self, r: Array) -> Array:
        """The stand-in for the positive definite block, solved."""
        n = len(self._root)
        z = self._solve_rows(r[:n])
        if self._n_extra == 0:
            return z
        extra = np.linalg.solve(self._inner, r[n:] + self._Nl.T @ z)
        return np.concatenate([z + self._PN @ extra, extra])

    def _precondition(self, r: Array, second: Array | None = None) -> tuple[Array, Array]:
        z = self._almost(r)
        v = np.linalg.solve(self._schur, self._B.T @ z if second is None else self._B.T @ z - second)
        z -= self._PB @ v
        return z, v

    def _pull(self, x: Array) -> Array:
        """``u``."""
        n = len(self._root)
        u = np.asarray(self._Rt @ (self._signed_root * x[:n]))
        return u if self._n_extra == 0 else u + self._H.T @ x[n:]

    def _product(self, x: Array) -> Array:
        n, u = len(self._root), self._pull(x)
        rows = np.asarray(self._R @ u)
        rows *= self._signed_root
        rows += x[:n]
        if self._n_extra == 0:
            return rows
        extra = self._H @ u - self._Nl.T @ x[:n] + self._s * x[n:]
        return np.concatenate([rows - self._Nl @ x[n:], extra])

    def solve(
        self, r_w: Array, r_b: Array, r_pos: Array | None, r_neg: Array
    ) -> tuple[Array, Array, Array | None]:
        rows = self._signed_root * np.asarray(self._R @ r_w) + self._root * self.row_offsets(r_pos, r_neg)
        flat = r_b.ravel()
        b = np.concatenate([rows, self._H @ r_w - flat[~self._shifted]])
        # Only the constraint's share of the preconditioner's answer is a safe start: where it is too small, its answer
        # to b overshoots.  The corrector starts from the predictor's answer.
        second = flat[self._shifted]
        if self._last is None:
            x, xb = self._precondition(np.zeros_like(b), second)
        else:
            x, xb = self._last
            dx, dxb = self._precondition(np.zeros_like(b), second - self._B.T @ x)
            x, xb = x + dx, xb + dxb
        r = b
        r -= self._product(x)
        r -= self._B @ xb
        z, zb = self._precondition(r)
        p, pb, rz = z, zb, float(r @ z)
        if self._last is None:
            self._goal = self.forcing**2 * rz
        for _ in range(MOST_PRODUCTS):
            if rz <= self._goal:
                break
            Kp = self._product(p)
            Kp += self._B @ pb
            step = rz / float(p @ Kp)
            # In place, and none of it is kept longer than it is used: what a solve holds is the peak of the memory.
            x += step * p
            xb += step * pb
            Kp *= step
            r -= Kp
            del Kp, z
            z, zb = self._precondition(r)
            rz, previous = float(r @ z), rz
            p *= rz / previous
            p += z
            pb = zb + (rz / previous) * pb
        self._last = x, xb
        db = np.empty(self.n_groups * self.k)
        db[self._shifted], db[~self._shifted] = -xb, x[len(rows) :]
        negatives = slice(len(self.positives), len(rows))
        y = self._root[negatives] * x[negatives]
        return r_w - self._pull(x), db.reshape(self.n_groups, self.k), y


class ColumnConjugateGradients(RowForm):
    """Matrix-free; the border is eliminated inside the product."""

    leaps = True
    lag = 0.1

    def set_negatives(self, rows: Any) -> None:
        super().set_negatives(rows)
        self._lengths = square_sums(self.rows, np.zeros(self.rows.shape[0]))[1]

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self.D_pos, self._D = D_pos, np.concatenate([D_pos, D_neg])
        self._H = self.pull_matrix() if self.block.pull.any() else None
        self._Qinv = np.linalg.inv(self.border_matrix(D_pos, D_neg))
        self._diagonal = 1.0 + self._squares_of_positives(D_pos)
        stiffness = D_neg * self._lengths
        stiff = np.argsort(stiffness)[-STIFFEST:]
        stiff = stiff[D_neg[stiff] > 0]
        soft = D_neg.copy()
        soft[stiff] = 0.0
        self._diagonal += square_sums(self.rows, soft)[0]
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
        add_to_diagonal(capacitance)
        self._capacitance = factor(capacitance)

    def _squares_of_positives(self, D: Array) -> Array:
        out = np.zeros(self.positives.n_columns)
        for first in range(0, len(D), BLOCK):
            part = np.arange(first, min(first + BLOCK, len(D)))
            out += squared(self.positives.take(part)).T @ D[part]
        return out

    def _precondition(self, r: Array) -> Array:
        z = r / self._diagonal
        centred = self._stiff_root * (
            self._stiff_rows @ z - np.asarray(self._origin @ z).ravel()[self._stiff_groups]
        )
        y = self._stiff_root * solve_factored(self._capacitance, centred)
        back = np.asarray(self._stiff_rows.T @ y).ravel()
        shift = np.bincount(self._stiff_groups, weights=y, minlength=self._origin.shape[0])
        back = back - np.asarray(self._origin.T @ shift).ravel()
        return np.asarray(z - back / self._diagonal)

    def _border(self, v: Array, a: Array) -> Array:
        """Coupling of the border to ``v``, with ``a = rho v``."""
        pulled = self.couple_t(self._D * a)
        return pulled if self._H is None else pulled + (self._H @ v).reshape(pulled.shape)

    def _border_t(self, b: Array) -> Array:
        out = self.rho_t(self._D * self.couple(b))
        return out if self._H is None else out + self._H.T @ b.ravel()

    def _product(self, v: Array) -> Array:
        a = self.rho(v)
        b = np.einsum("gkl,gl->gk", self._Qinv, self._border(v, a))
        out = v + self.rho_t(self._D * (a - self.couple(b)))
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
