"""Pat&Mat with the hinge: a quadratic program, by an interior-point method.

    minimise over w, t:   1/2 ||w||^2 + sum_i u_i [1 + t_g(i) - w.x_i]_+
    subject to            sum_j p_j [1 + theta (w.x_j - t_g)]_+ <= tau      over the negatives j of a group g.

The rows of the method's matrix A are -(x_i, -e_g) for positives and theta (x_j, -e_g) for negatives.  Its
multipliers are the dual variables, alpha_i and beta_j / theta, up to the balance sum(beta) = sum(alpha) of
each group: the larger side is scaled down to the smaller, after which the bound holds to the last digit.
The primal side of the gap is evaluated at the exact threshold of the current w.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from shortlist.risks.quantile import PatMatRisk
from shortlist.solvers.hinge_programs import Budget, hinge_iterates
from shortlist.solvers.scatter import Products

Array = NDArray[Any]

__all__ = ["patmat_hinge"]


class _Rows:
    """A v = sign_k (x_k.w - t_g(k)) over positives, then negatives; sign -1 and theta."""

    def __init__(self, data: Products, risk: PatMatRisk) -> None:
        top = risk.top
        self.data, self.n_groups, self.penalised = data, risk.n_groups, data.X.shape[1]
        self.rows = np.concatenate([top.positives, top.negatives])
        self.groups = np.concatenate([top.positive_groups, top.negative_groups])
        self.sign = np.where(np.arange(len(self.rows)) < len(top.positives), -1.0, risk.theta)

    def _full(self, x: Array) -> Array:
        out = np.zeros(self.data.X.shape[0])
        out[self.rows] = x
        return out

    def forward(self, v: Array) -> Array:
        w, t = v[: self.penalised], v[self.penalised :]
        return np.asarray(self.sign * (self.data.forward(w)[self.rows] - t[self.groups]))

    def back(self, alpha: Array) -> Array:
        x = self.sign * alpha
        t = np.bincount(self.groups, weights=x, minlength=self.n_groups)
        return np.concatenate([self.data.back(self._full(x)), -t])

    def sums(self, weights: Array, groups: Array, n_groups: int) -> Array:
        x = self.sign * weights * (groups >= 0)
        t = np.bincount(self.groups, weights=x, minlength=self.n_groups)
        return np.vstack([self._by_group(x).T, -np.diag(t)])

    def normal(self, weights: Array) -> Array:
        h = weights * self.sign**2
        d, size = self.penalised, self.penalised + self.n_groups
        out = np.zeros((size, size))
        out[:d, :d] = self.data.scatter(self._full(h))
        out[d:, :d] = -self._by_group(h)
        out[:d, d:] = out[d:, :d].T
        t = np.arange(d, size)
        out[t, t] = np.bincount(self.groups, weights=h, minlength=self.n_groups)
        return out

    def _by_group(self, x: Array) -> Array:
        shape = (self.n_groups, self.data.X.shape[0])
        return self.data.combine(sp.csr_array((x, (self.groups, self.rows)), shape=shape))


def patmat_hinge(
    data: Products,
    risk: PatMatRisk,
    C: float,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float, float], None] | None,
) -> tuple[Array, Array, int]:
    """Coefficients, dual variables (one a row) and the number of steps.

    A step costs one weighted scatter matrix of X, a factorisation of size d + n_groups, and about a dozen
    passes.
    """
    top, theta, G = risk.top, risk.theta, risk.n_groups
    A, m, d = _Rows(data, risk), len(top.positives), data.X.shape[1]
    u = C * top.positive_weights
    # At w = 0 and this t each budget is half spent.
    t = np.full(G, (1 - risk.tau / 2) / theta)
    total = np.bincount(top.positive_groups, weights=u / 2, minlength=G)
    alpha = np.concatenate([u / 2, risk.shares * total[top.negative_groups] / theta])
    none = np.zeros(m)
    budget = Budget(
        np.concatenate([np.full(m, -1), top.negative_groups]),
        np.concatenate([none, risk.shares]),
        risk.tau,
        G,
    )
    steps = hinge_iterates(
        A,
        np.concatenate([u, np.zeros(len(risk.shares))]),
        v=np.concatenate([np.zeros(d), t]),
        alpha=alpha,
        nu=2 * total / theta,
        budget=budget,
        max_iter=max_iter,
    )
    w, dual = np.zeros(d), np.zeros(data.X.shape[0])
    primal, bound, k = np.inf, -np.inf, 0
    for k, (v, alpha) in enumerate(steps, start=1):
        trial = v[:d].astype(data.dtype).astype(np.float64)
        value = float(trial @ trial) / 2 + C * risk.value(data.forward(trial))
        if value < primal:
            primal, w = value, trial
        candidate, proven = _bound(data, risk, C, alpha)
        if proven > bound:
            bound, dual = proven, candidate
        if callback is not None:
            callback(k, primal, bound)
        if primal - bound <= tol * abs(primal):
            break
    return w, dual, k


def _bound(data: Products, risk: PatMatRisk, C: float, alpha: Array) -> tuple[Array, float]:
    """A feasible dual point near the multipliers, and what it proves."""
    top, m = risk.top, len(risk.top.positives)
    a, b = np.minimum(alpha[:m], C * top.positive_weights), risk.theta * alpha[m:]
    have = np.bincount(top.positive_groups, weights=a, minlength=risk.n_groups)
    owe = np.bincount(top.negative_groups, weights=b, minlength=risk.n_groups)
    a *= np.minimum(1, owe / have)[top.positive_groups]
    b *= np.minimum(1, have / owe)[top.negative_groups]
    dual = np.zeros(data.X.shape[0])
    dual[top.positives], dual[top.negatives] = a, -b
    v = data.back(dual)
    return dual, -float(v @ v) / 2 - risk.conjugate(a, b, C)
