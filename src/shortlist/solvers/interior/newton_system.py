"""The Newton system of the interior point method, in three forms.

Rows r carry signed features rho_r (minus the positives, plus or minus the working negatives), couplings N_r to the
border variables of their group and curvatures D_r >= 0.  With Q0 the border's own block and H the rest of the coupling
(see ``negatives``), the system is

    [ I + rho' D rho    H + rho' D N   ] [dw]   [r_w]
    [ H' + N' D rho     Q0 + N' D N    ] [db] = [r_b].

* ``ColumnSystem``: forms the d x d matrix, border eliminated first (it is block diagonal over groups).  The positives'
  part changes only where their curvature does; for the squared hinge that is a handful of rows a step.
* ``RowSystem``: with y = D (rho dw + N db) and F = N - rho H the system is (D^-1 + rho rho') y - F db = rho r_w,
  F' y + (Q0 - H' H) db = r_b - H' r_w: a matrix over rows, for data with more columns than rows that matter.
* ``ConjugateGradients``: products alone, preconditioned by the diagonal and the stiffest negatives.

``choose_system`` takes the cheapest that fits memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from shortlist.solvers.interior.negatives import NegativeBlock
from shortlist.solvers.rows import Rows

Array = NDArray[Any]

__all__ = ["ColumnSystem", "ConjugateGradients", "NewtonSystem", "RowSystem", "choose_system"]

# Orders of dense matrices that are factored: d of the column form, rows of the row form.
MOST_COLUMNS = 3000
MOST_ROWS = 5000
# Rank of the part of the preconditioner that knows the stiffest negatives.
STIFFEST = 1000


def factor(matrix: Array) -> tuple[Array, bool]:
    """Cholesky factor; where rounding has spoilt definiteness the diagonal is raised by as little as it takes."""
    jitter = 0.0
    diagonal = np.einsum("ii->i", matrix)
    while True:
        try:
            c, lower = linalg.cho_factor(matrix, lower=True, check_finite=False)
            return c, lower
        except linalg.LinAlgError:
            largest = float(diagonal.max(initial=1.0))
            if not np.isfinite(largest) or jitter > largest:
                raise FloatingPointError("the Newton matrix is not finite; scale the features") from None
            jitter = max(10 * jitter, 1e-15 * largest)
            diagonal += jitter


class NewtonSystem(ABC):
    """Assembled by ``update``, then solved for as many right-hand sides as wanted."""

    def __init__(self, positives: Rows, groups: Array, negatives: NegativeBlock) -> None:
        self.positives, self.groups, self.block = positives, groups, negatives
        self.n_groups, self.k = negatives.n_groups, negatives.n_border

    @abstractmethod
    def set_negatives(self, rows: Any) -> None:
        """Take the features of the working negatives (dense float64 or CSR)."""

    @abstractmethod
    def update(self, D_pos: Array, D_neg: Array) -> None:
        """Take new curvatures; the couplings are read from the block."""

    @abstractmethod
    def solve(self, r_w: Array, r_b: Array) -> tuple[Array, Array]:
        """``dw`` and ``db``."""

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
        self._mass = np.zeros(self.n_groups)

    def set_negatives(self, rows: Any) -> None:
        self.rows = rows

    def _update_positives(self, D: Array) -> None:
        changed = np.flatnonzero(D != self._D)
        if 2 * len(changed) > np.count_nonzero(D):
            self._gram[:], self._sums[:] = 0.0, 0.0
            changed, difference = np.flatnonzero(D), D
        else:
            difference = D - self._D
        if len(changed):
            self._gram += self.positives.weighted_gram(
                changed, difference[changed], self.groups[changed], self._sums
            )
        self._D = D
        self._mass = np.bincount(self.groups, weights=D, minlength=self.n_groups)

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self._update_positives(D_pos)
        A = self.rows
        mass = np.maximum(self.block.by_group(D_neg), 1e-300)
        self._origin = (self._pick(D_neg) @ A) / mass[:, None]
        centred = A - (self._origin if self.n_groups == 1 else self._origin[self.block.groups])
        root = np.sqrt(D_neg)[:, None] * centred
        M = root.T @ root
        M += self._gram
        sums = self._sums - self._mass[:, None] * self._origin
        cross = self._origin.T @ self._sums
        M -= cross
        M -= sums.T @ self._origin
        M[np.diag_indices_from(M)] += 1.0
        # Couplings of the border to w: the positives see its first variable; the negatives' own vanish by centring but
        # for the last, which does not move with the origin.
        C = np.zeros((self.n_groups, self.k, M.shape[0]))
        C[:, 0] = -sums
        if not self.block.shifted[-1]:
            weight = self.block.pull + self.block.sign * D_neg * self.block.coupling[:, -1]
            C[:, -1] = self._pick(weight) @ centred
        self._Qinv = np.linalg.inv(self.border_matrix(D_pos, D_neg))
        self._C = C
        self._QC = self._Qinv @ C
        flat = (self.n_groups * self.k, M.shape[0])
        M -= C.reshape(flat).T @ self._QC.reshape(flat)
        self._factor = factor(M)

    def solve(self, r_w: Array, r_b: Array) -> tuple[Array, Array]:
        shifted = np.array(self.block.shifted)
        rhs = r_w + r_b[:, shifted].sum(axis=1) @ self._origin
        rhs -= np.einsum("gkd,gk->d", self._QC, r_b)
        dw = linalg.cho_solve(self._factor, rhs, check_finite=False)
        db = np.einsum("gkl,gl->gk", self._Qinv, r_b - self._C @ dw)
        db[:, shifted] += (self._origin @ dw)[:, None]
        return dw, db


class _RowForms(NewtonSystem):
    """What the two sparse forms share: the negatives as stored, and the sparse coupling matrix."""

    dense = False

    def set_negatives(self, rows: Any) -> None:
        self.rows = sparse.csr_array(rows).astype(np.float64) if sparse.issparse(rows) else rows

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


class RowSystem(_RowForms):
    """Dense over the rows; the Gram matrix of the positives and its factor are kept between steps."""

    def __init__(self, positives: Rows, groups: Array, negatives: NegativeBlock) -> None:
        super().__init__(positives, groups, negatives)
        self._P = positives.take(np.arange(len(positives))).astype(np.float64)
        self._K = _dense(self._P @ self._P.T)
        self._D: Array | None = None

    def set_negatives(self, rows: Any) -> None:
        super().set_negatives(rows)
        # Signed: rho of the positives is minus their features.
        self._cross = -_dense(self.rows @ self._P.T)
        self._own = _dense(self.rows @ self.rows.T)
        self._D = None

    def update(self, D_pos: Array, D_neg: Array) -> None:
        if self._D is None or not np.array_equal(self._D, D_pos):
            self._D, self._root = D_pos, np.sqrt(D_pos)
            K = self._K * self._root[:, None] * self._root
            K[np.diag_indices_from(K)] += 1.0
            self._L = linalg.cholesky(K, lower=True, check_finite=False, overwrite_a=True)
            scaled = (self._cross * self._root).T
            self._T = linalg.solve_triangular(self._L, scaled, lower=True, check_finite=False).T
            self._S = self._own - self._T @ self._T.T
        self._root_neg = np.sqrt(D_neg)
        S = self._S * self._root_neg[:, None] * self._root_neg
        S[np.diag_indices_from(S)] += 1.0
        self._factor = factor(S)
        F = self.coupling_matrix().toarray()
        border = linalg.block_diag(*self.block.border)
        if self.block.pull.any():
            H = _dense(self.pull_matrix())
            self._H = H
            last = slice(self.k - 1, None, self.k)
            F[:, last] -= np.stack([self.rho(h) for h in H[last]], axis=1)
            border = border - H @ H.T
        else:
            self._H = None
        self._F, self._BF = F, self._apply(F)
        self._Q = border + F.T @ self._BF

    def _apply(self, v: Array) -> Array:
        """``(D^-1 + rho rho')^-1 v``, one column a right-hand side."""
        m = len(self.positives)
        root, root_neg = self._root[:, None], self._root_neg[:, None]
        sign = self.block.sign[:, None]
        upper = linalg.solve_triangular(self._L, root * v[:m], lower=True, check_finite=False)
        lower = linalg.cho_solve(
            self._factor, root_neg * (sign * v[m:] - self._T @ upper), check_finite=False
        )
        lower = root_neg * lower
        upper = linalg.solve_triangular(
            self._L, upper - self._T.T @ lower, lower=True, trans=1, check_finite=False
        )
        return np.concatenate([root * upper, sign * lower])

    def solve(self, r_w: Array, r_b: Array) -> tuple[Array, Array]:
        y = self._apply(self.rho(r_w)[:, None])[:, 0]
        rhs = r_b.ravel() - self._F.T @ y
        if self._H is not None:
            rhs = rhs - self._H @ r_w
        db = np.linalg.solve(self._Q, rhs)
        dw = r_w - self.rho_t(y + self._BF @ db)
        if self._H is not None:
            dw -= self._H.T @ db
        return dw, db.reshape(self.n_groups, self.k)


class ConjugateGradients(_RowForms):
    """Matrix-free; the border is eliminated inside the product."""

    most_products = 300

    def update(self, D_pos: Array, D_neg: Array) -> None:
        self._D = np.concatenate([D_pos, D_neg])
        self._N = self.coupling_matrix()
        self._H = self.pull_matrix() if self.block.pull.any() else None
        self._Qinv = np.linalg.inv(self.border_matrix(D_pos, D_neg))
        squares = self.rows.multiply(self.rows) if sparse.issparse(self.rows) else self.rows**2
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
        inner = _dense((R @ inverse) @ R.T)
        across = _dense((R @ inverse) @ O.T)[:, g]
        inner -= across + across.T
        inner += _dense((O @ inverse) @ O.T)[np.ix_(g, g)]
        capacitance = inner * self._stiff_root[:, None] * self._stiff_root
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        self._capacitance = factor(capacitance)

    def _squares_of_positives(self, D: Array) -> Array:
        size, out = 65536, np.zeros(self.positives.n_columns)
        for first in range(0, len(D), size):
            part = np.arange(first, min(first + size, len(D)))
            rows = self.positives.take(part)
            squares = rows.multiply(rows) if sparse.issparse(rows) else np.square(rows)
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

    def solve(self, r_w: Array, r_b: Array) -> tuple[Array, Array]:
        rhs = r_w - self._border_t(np.einsum("gkl,gl->gk", self._Qinv, r_b))
        x = np.zeros_like(rhs)
        r, goal = rhs.copy(), 1e-5 * float(np.linalg.norm(rhs))
        z = self._precondition(r)
        p, rz = z.copy(), float(r @ z)
        for _ in range(self.most_products):
            if float(np.linalg.norm(r)) <= goal:
                break
            Mp = self._product(p)
            step = rz / float(p @ Mp)
            x += step * p
            r -= step * Mp
            z = self._precondition(r)
            rz, previous = float(r @ z), rz
            p = z + (rz / previous) * p
        return x, np.einsum("gkl,gl->gk", self._Qinv, r_b - self._border(x, self.rho(x)))


def _dense(K: Any) -> Array:
    return np.asarray(K.toarray() if sparse.issparse(K) else K, dtype=np.float64)


def choose_system(positives: Rows, groups: Array, negatives: NegativeBlock, expected: int) -> NewtonSystem:
    """The cheapest form for ``expected`` working negatives."""
    rows, d = len(positives) + expected, positives.n_columns
    if d <= MOST_COLUMNS and (d <= rows or rows > MOST_ROWS):
        return ColumnSystem(positives, groups, negatives)
    if rows <= MOST_ROWS:
        return RowSystem(positives, groups, negatives)
    return ConjugateGradients(positives, groups, negatives)
