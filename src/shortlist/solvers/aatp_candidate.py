"""One candidate of Accuracy at the Top: the quadratic program whose threshold is the score of row q.

    minimise over w:   P_q(w) = 1/2 ||w||^2 + sum_k c_k [1 - y_k w.(x_k - x_q)]_+,      y_k = 1 or -1,

c = C times the weight of a row in the mean.  Dual, for 0 <= alpha <= c, with V = sum_k alpha_k y_k x_k and
gamma = sum_k alpha_k y_k:

    D_q(alpha) = sum_k alpha_k - 1/2 ||V - gamma x_q||^2.

The dual's domain does not depend on q.  So one alpha bounds every candidate after one product with X
(``bounds``).

P_q is strongly convex and so is -D_q in its vector v = V - gamma x_q; together a gap G = P_q(w) - D_q(alpha)
confines the optimal coefficients to the ball of radius sqrt(G - ||w - v||^2 / 4) about (w + v) / 2.  Rows
that lie above (below) x_q for all coefficients of that ball are above (below) it at the optimum, which
bounds how far q is from the quantile long before the program is solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.quantile import quantile_violation
from shortlist.solvers.hinge_programs import hinge_iterates

Array = NDArray[Any]

__all__ = ["Candidates", "Iterate"]


@dataclass
class Iterate:
    """One step on the way to a candidate's optimum, and what it proves.

    Attributes
    ----------
    w, alpha : arrays
    primal, bound : float
    violation : float
        Distance of q from the quantile under ``w``.
    least_violation : float
        Proven lower bound of that distance at the candidate's optimum.
    """

    w: Array
    alpha: Array
    primal: float
    bound: float
    violation: float
    least_violation: float

    @property
    def gap(self) -> float:
        return self.primal - self.bound


class _Rows:
    """A = -y (Z - z_q), and for the free threshold -y (Z, -1)."""

    def __init__(self, A: Array, penalised: int) -> None:
        self.A, self.penalised = A, penalised
        self.passes = 0.0

    def forward(self, v: Array) -> Array:
        self.passes += 1
        return np.asarray(self.A @ v)

    def back(self, alpha: Array) -> Array:
        self.passes += 1
        return np.asarray(self.A.T @ alpha)

    def normal(self, weights: Array) -> Array:
        self.passes += self.A.shape[1]
        half = np.sqrt(weights)[:, None] * self.A
        return np.asarray(half.T @ half)

    def sums(self, weights: Array, groups: Array, n_groups: int) -> Array:
        raise NotImplementedError("no budgets here")


class Candidates:
    """All candidates of one training set.

    Parameters
    ----------
    Z : (n, r) array, float64
    y : (n,) array of 1 and -1
    costs : (n,) array
    shares : (n,) array
        Weights of the rows in the quantile, sum 1.
    tau : float
    """

    def __init__(self, Z: Array, y: Array, costs: Array, shares: Array, tau: float) -> None:
        self.Z, self.y, self.costs, self.shares, self.tau = Z, y, costs, shares, tau
        self.squares = np.einsum("ij,ij->i", Z, Z)
        self.free: tuple[Array, float, Array, Array] | None = None
        self.passes = 0.0

    def violation(self, scores: Array) -> float:
        """How far 0 is from the (1 - tau) quantile of ``scores``; 1e-9 of their range counts as a tie."""
        level = 1e-9 * float(np.abs(scores).max(initial=0.0))
        above = float(self.shares @ (scores > level))
        at = float(self.shares @ (scores >= -level))
        return round(float(quantile_violation(above, at, self.tau)), 12)

    def ranks(self, scores: Array) -> Array:
        """Share of the rows above the middle of each row."""
        order = np.argsort(-scores, kind="stable")
        out = np.empty(len(scores))
        out[order] = np.cumsum(self.shares[order]) - self.shares[order] / 2
        return out

    def quantile_row(self, scores: Array) -> int:
        """The row whose score is the (1 - tau) quantile."""
        return int(np.argmin(np.abs(self.ranks(scores) - self.tau)))

    def iterates(self, q: int, max_iter: int) -> Iterator[Iterate]:
        """Better and better iterates of candidate q."""
        Zq = self.Z - self.Z[q]
        rows = _Rows(-self.y[:, None] * Zq, self.Z.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", Zq, Zq))
        pull = rows.back(self.costs)
        if np.abs(pull).max(initial=0.0) <= 1e-14 * float(self.costs @ norms):  # w = 0 is optimal
            yield self._iterate(rows, norms, np.zeros(len(pull)), self.costs)
        else:
            for w, alpha in hinge_iterates(rows, self.costs, v=np.zeros(len(pull)), max_iter=max_iter):
                yield self._iterate(rows, norms, w, alpha)
                self.passes, rows.passes = self.passes + rows.passes, 0.0
        self.passes += rows.passes

    def _iterate(self, rows: _Rows, norms: Array, w: Array, alpha: Array) -> Iterate:
        margins = rows.forward(w)
        v = -rows.back(alpha)
        primal = float(w @ w) / 2 + float(self.costs @ np.maximum(1 + margins, 0))
        bound = float(alpha.sum()) - float(v @ v) / 2
        # Scores, less that of q, at the centre of the ball.
        between = -self.y * (margins + rows.forward(v)) / 2
        radius = np.sqrt(max(primal - bound - float((w - v) @ (w - v)) / 4, 0.0))
        reach = radius * norms + 1e-9 * float(np.abs(between).max(initial=0.0))
        above = float(self.shares @ (between > reach))
        at = 1 - float(self.shares @ (between < -reach))
        least = max(above - self.tau, self.tau - at, 0.0) - 1e-12
        return Iterate(w, alpha, primal, bound, self.violation(-self.y * margins), least)

    def free_threshold(self, tol: float, max_iter: int) -> Array:
        """The support vector machine with its own threshold: a base score, and a bound of all candidates."""
        r = self.Z.shape[1]
        A = np.hstack([self.Z, -np.ones((len(self.y), 1))])
        A *= -self.y[:, None]
        rows = _Rows(A, r)
        w, alpha = np.zeros(r), np.minimum(self.costs, 0)
        for v, step in hinge_iterates(rows, self.costs, v=np.zeros(r + 1), max_iter=max_iter):
            w, alpha = v[:r], step
            primal = float(w @ w) / 2 + float(self.costs @ np.maximum(1 + rows.forward(v), 0))
            u = rows.back(alpha)[:r]
            if primal - (float(alpha.sum()) - float(u @ u) / 2) <= tol * primal:
                break
        self.passes += rows.passes
        self.free = self._moments(alpha)
        return w

    def _moments(self, alpha: Array) -> tuple[Array, float, Array, Array]:
        signed = alpha * self.y
        V = self.Z.T @ signed
        self.passes += 2
        return V, float(signed.sum()), self.Z @ V, float(alpha.sum()) + self.costs - alpha

    def bounds(self, alpha: Array) -> Array:
        """A lower bound of every candidate's optimum, from any 0 <= alpha <= c.

        The best point of the segment from the free threshold's multipliers to ``alpha``, then the best
        multiple of it, each in closed form for each candidate; a candidate's own term is 1 whatever w, so
        that its own multiplier is taken at its limit.
        """
        V1, g1, s1, A1 = self._moments(alpha)
        V0, g0, s0, A0 = (V1, g1, s1, A1) if self.free is None else self.free
        e00 = V0 @ V0 - 2 * g0 * s0 + g0**2 * self.squares
        e11 = V1 @ V1 - 2 * g1 * s1 + g1**2 * self.squares
        e01 = V0 @ V1 - g0 * s1 - g1 * s0 + g0 * g1 * self.squares
        bend = np.maximum(e00 - 2 * e01 + e11, np.finfo(float).tiny)
        share = np.clip((A1 - A0 + e00 - e01) / bend, 0, 1)
        total = A0 + share * (A1 - A0)
        square = np.maximum((1 - share) ** 2 * e00 + 2 * share * (1 - share) * e01 + share**2 * e11, 0)
        multiple = np.minimum(total / np.maximum(square, np.finfo(float).tiny), 1)
        # Squares of differences, formed from squares: allow for their rounding.
        noise = 1e-13 * (V0 @ V0 + V1 @ V1 + (g0**2 + g1**2) * self.squares)
        return np.asarray(multiple * total - multiple**2 / 2 * (square + noise))
