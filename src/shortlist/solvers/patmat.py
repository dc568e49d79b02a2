"""Pat&Mat: a quantile threshold by its convex surrogate, solved by Newton's method in w alone.

    minimise over w, t:   1/2 ||w||^2 + C sum_i a_i l(t_g(i) - w.x_i)
    subject to            sum_j p_j l(theta (w.x_j - t_g)) <= tau      over the negatives j of each group g.

The loss does not decrease in t, so t sits where its constraint is active, and t = t(w) is convex (see
``risks.quantile``).  What remains is F(w) = 1/2 ||w||^2 + C risk(X w), unconstrained, strongly convex with
modulus 1, with a Hessian I + X' R X in which R acts on scores in O(n): Newton steps, with the Hessian formed
where there are few columns and by conjugate gradients where there are many, and a line search that costs no
pass.

**Certificate.**  Multipliers alpha_i = u_i l'(t - s_i) and beta_j = lambda_g b_j of the current w are
feasible in the dual, and Fenchel's equality holds in every term: the gap is exactly 1/2 ||grad F(w)||^2.
The reported bound is evaluated from the dual itself.

**Hinge.**  It has no Hessian.  Where matrices of d x d are formed, an interior-point method
(``patmat_hinge``) solves it; elsewhere a sequence of smoothed hinges of falling width, each warm-started by
the last, until the duality gap *of the hinge problem* is below the tolerance: slopes of the smoothed hinge
are feasible in the hinge's dual.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from shortlist.risks.quantile import PatMatPoint, PatMatRisk, SmoothedHinge
from shortlist.solvers.patmat_hinge import patmat_hinge
from shortlist.solvers.scatter import Products
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["solve_patmat"]

log = logging.getLogger(__name__)

DIRECT_COLUMNS = 1500  # up to here a formed Hessian beats conjugate gradients


@dataclass
class _Iterate:
    w: Array
    scores: Array
    point: PatMatPoint
    value: float
    gradient: Array

    @property
    def gap(self) -> float:
        """Of a smooth loss."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.gradient @ self.gradient) / 2


def solve_patmat(
    X: Any,
    risk: PatMatRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise 1/2 ||w||^2 + C * Pat&Mat's risk, with a duality gap.

    Newton's method with a line search.  A step costs 2 passes and either one weighted scatter matrix (O(n
    d^2); up to 1,500 columns and no more groups than columns) or 2 passes for each conjugate-gradient step;
    finding the thresholds costs O(n) a trial and no pass.  Peak memory beside X: a few vectors of n, and d x
    d in the first case.

    ``w = 0`` is optimal only if it balances the class means: sum_g lambda_g (mean+ - mean-) = 0, with
    lambda_g the positives' share of group g and mean+, mean- its weighted means.  It is then returned
    exactly.

    Parameters
    ----------
    X : (n, d) array or CSR/CSC matrix, float32 or float64
    risk : PatMatRisk
        Built from the labels, any of the four surrogates.
    C : float
        Weight of the risk, positive.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most Newton steps in all.
    start : (d,) array, optional
        Coefficients to start from.
    callback : callable, optional
        ``callback(n_iter, primal, bound)`` after each Newton step (of the hinge: after each smoothing).

    Returns
    -------
    Solution
        The certificate covers the convex problem at the head of this module, and no more: it says nothing
        about the exact quantile.

    Raises
    ------
    ValueError
        On shapes that do not match, C, tol or max_iter out of range, or products of X that overflow.

    References
    ----------
    M. Grill and T. Pevny (2016), "Learning combination of anomaly detectors for security domain", Computer
    Networks. L. Adam, V. Macha, V. Smidl and T. Pevny (2020), "General framework for binary classification
    on top samples".

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.risks.quantile import PatMatRisk
    >>> from shortlist.risks.surrogates import surrogate
    >>> X = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.5], [0.5, 0.0], [0.0, 0.0]])
    >>> y = np.array([True, True, False, False, False])
    >>> risk = PatMatRisk.from_labels(y, surrogate("squared_hinge"), tau=0.3)
    >>> solution = solve_patmat(X, risk, C=10.0, tol=1e-8)
    >>> bool((X @ solution.coef > solution.thresholds[0])[:2].all()), solution.certificate.converged
    (True, True)
    """
    _check(X, risk, C, tol, max_iter, start)
    began = time.perf_counter()
    data = Products(X)
    solver = _Newton(data, C, max_iter)
    w = np.zeros(X.shape[1]) if start is None else np.asarray(start, dtype=np.float64)
    if risk.surrogate.smooth:
        at, dual = solver.smooth(risk, w, tol, callback)
    else:
        at = solver.at(risk, np.zeros(X.shape[1]))
        if solver.balanced(at):
            dual = -C * at.point.gradient
        elif _forms(X.shape[1], risk.n_groups):
            w, dual, solver.n_iter = patmat_hinge(data, risk, C, tol, max_iter, callback)
            at = solver.at(risk, w)
        else:
            w, dual = solver.hinge(risk, w, tol, callback)
            at = solver.at(risk, w)
    w, primal, thresholds = at.w, at.value, at.point.thresholds
    bound = _bound(data, risk, C, dual)
    certificate = Certificate.of(
        primal,
        bound,
        tolerance=tol,
        n_iter=solver.n_iter,
        n_passes=data.passes,
        seconds=time.perf_counter() - began,
    )
    log.debug("Pat&Mat: %s", certificate)
    return Solution(w.astype(data.dtype), thresholds, certificate, dual)


def _check(X: Any, risk: PatMatRisk, C: float, tol: float, max_iter: int, start: Array | None) -> None:
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a positive number, got {C!r}")
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol!r}")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
    last = max(risk.top.positives[-1], risk.top.negatives[-1])
    if X.shape[0] <= last:
        raise ValueError(f"the risk names row {last}, X has {X.shape[0]} rows: build both from the same data")
    if start is not None and (np.shape(start) != (X.shape[1],) or not np.all(np.isfinite(start))):
        raise ValueError(f"start must hold {X.shape[1]} finite numbers, one a column of X")


def _forms(d: int, n_groups: int) -> bool:
    """Whether to form d x d matrices."""
    return n_groups <= d <= DIRECT_COLUMNS


def _bound(data: Products, risk: PatMatRisk, C: float, dual: Array) -> float:
    v = data.back(dual)
    paid = risk.conjugate(dual[risk.top.positives], -dual[risk.top.negatives], C)
    return -float(v @ v) / 2 - paid


class _Newton:
    """Newton's method on F for one X and C; counts its steps over all calls."""

    def __init__(self, data: Products, C: float, max_iter: int) -> None:
        self.data, self.C, self.max_iter = data, float(C), max_iter
        self.n_iter = 0

    def smooth(
        self, risk: PatMatRisk, w: Array, tol: float, callback: Callback | None = None
    ) -> tuple[_Iterate, Array]:
        """Minimise F to a relative gap ``tol``."""
        if w.any():
            at = self.at(risk, w)
        if not w.any() or not np.isfinite(at.gap):  # a hopeless start: from w = 0 every loss is finite
            at = self.at(risk, np.zeros_like(w))
        if self.balanced(at):
            return at, -self.C * at.point.gradient
        fresh, first = True, self.n_iter
        while self.n_iter < self.max_iter:
            # A loose tolerance must not mistake w = 0 for a solution: at least one step is made.
            if at.gap <= tol * abs(at.value) and self.n_iter > first:
                if fresh:
                    break
                at, fresh = self.at(risk, at.w, at.point.thresholds), True
                continue
            self.n_iter += 1
            moved = self._step(risk, at)
            if moved is None:  # no further descent: rounding's floor
                break
            at, fresh = moved, False
            if callback is not None:
                callback(self.n_iter, at.value, at.value - at.gap)
        if not fresh:
            at = self.at(risk, at.w, at.point.thresholds)
        return at, -self.C * at.point.gradient

    def hinge(self, risk: PatMatRisk, w: Array, tol: float, callback: Callback | None) -> tuple[Array, Array]:
        """Smoothed hinges of falling width, until the hinge's own gap is small."""
        width, asked = 1.0, 0.1
        bound, primal, dual, best = -np.inf, np.inf, np.zeros(0), w
        while True:
            at, candidate = self.smooth(risk.with_surrogate(SmoothedHinge(width)), w, asked)
            w = at.w
            value = float(w @ w) / 2 + self.C * risk.value(at.scores)
            v = w - at.gradient  # X' dual, without a pass
            paid = risk.conjugate(candidate[risk.top.positives], -candidate[risk.top.negatives], self.C)
            if value < primal:
                primal, best = value, w
            if -float(v @ v) / 2 - paid > bound:
                bound, dual = -float(v @ v) / 2 - paid, candidate
            if callback is not None:
                callback(self.n_iter, primal, bound)
            gap = (primal - bound) / max(abs(primal), np.finfo(float).tiny)
            if gap <= tol or self.n_iter >= self.max_iter or width < 1e-13:
                return best, dual
            width *= 0.2
            asked = max(0.03 * min(gap, 1.0), 0.1 * tol)

    def at(self, risk: PatMatRisk, w: Array, thresholds: Array | None = None) -> _Iterate:
        w = w.astype(self.data.dtype).astype(np.float64)  # the coefficients that will be returned
        return self._about(risk, w, self.data.forward(w), thresholds)

    def _about(self, risk: PatMatRisk, w: Array, scores: Array, thresholds: Array | None) -> _Iterate:
        with np.errstate(over="ignore", invalid="ignore"):
            point = risk.at(scores, thresholds)
            gradient = w + self.data.back(self.C * point.gradient)
            return _Iterate(w, scores, point, float(w @ w) / 2 + self.C * point.value, gradient)

    def balanced(self, at: _Iterate) -> bool:
        """Whether w = 0 is the optimum, up to the rounding of X' v."""
        if not np.isfinite(at.gap):
            raise ValueError("products with X overflow: scale the features to a moderate size first")
        if at.w.any():
            return False
        X = self.data.X
        size = max(float(X.max()), -float(X.min())) if min(X.shape) else 0.0
        noise = 16 * np.finfo(self.data.dtype).eps * self.C * float(np.abs(at.point.gradient).sum()) * size
        return bool(np.abs(at.gradient).max(initial=0.0) <= noise)

    def _step(self, risk: PatMatRisk, at: _Iterate) -> _Iterate | None:
        d = self._direction(risk, at)
        q = self.data.forward(d)
        slope = float(at.gradient @ d)
        if slope >= 0:
            return None
        drift = np.bincount(
            risk.top.negative_groups, weights=at.point.pull * q[risk.top.negatives], minlength=risk.n_groups
        )
        step, rounding = 1.0, 8 * np.finfo(float).eps * abs(at.value)
        while step > 1e-10:
            w, scores = at.w + step * d, at.scores + step * q
            with np.errstate(over="ignore", invalid="ignore"):
                # t is convex in w: its tangent is a start from below, whence Newton climbs straight to the
                # root.
                t = risk.thresholds(scores, at.point.thresholds + step * drift)
                value = float(w @ w) / 2 + self.C * risk.value(scores, t)
            if value <= at.value + 1e-4 * step * slope + rounding:
                w = w.astype(self.data.dtype).astype(np.float64)
                return self._about(risk, w, scores, t)
            # The parabola through the value, the slope and the trial; at least a tenth, at most a half.
            excess = value - at.value - step * slope
            ratio = -slope * step / (2 * excess) if np.isfinite(excess) and excess > 0 else 0.1
            step *= min(max(ratio, 0.1), 0.5)
        return None

    def _direction(self, risk: PatMatRisk, at: _Iterate) -> Array:
        if _forms(len(at.w), risk.n_groups):
            factor = cho_factor(self._hessian(risk, at.point), overwrite_a=True, check_finite=False)
            return np.asarray(-cho_solve(factor, at.gradient, check_finite=False))
        return self._conjugate_gradients(risk, at)

    def _hessian(self, risk: PatMatRisk, point: PatMatPoint) -> Array:
        """I + C X' R X, as one scatter matrix less its shift to the thresholds' gradients."""
        top, n = risk.top, self.data.X.shape[0]
        h = self.C * point.curvature
        rows = np.concatenate([top.positives, top.negatives])
        groups = np.concatenate([top.positive_groups, top.negative_groups])
        shape = (risk.n_groups, n)
        centre = self.data.combine(
            sp.csr_array((point.pull, (top.negative_groups, top.negatives)), shape=shape)
        )
        moment = self.data.combine(sp.csr_array((h[rows], (groups, rows)), shape=shape))
        total = np.bincount(groups, weights=h[rows], minlength=risk.n_groups)
        H = self.data.scatter(h)
        cross = centre.T @ (moment - total[:, None] / 2 * centre)
        H -= cross + cross.T
        H[np.diag_indices_from(H)] += 1
        return H

    def _conjugate_gradients(self, risk: PatMatRisk, at: _Iterate) -> Array:
        """An inexact Newton direction: residual at most a tenth, less as the gradient vanishes."""
        g = at.gradient
        size = float(np.linalg.norm(g))
        target = size * min(0.1, np.sqrt(size / (self.C + size)))
        x, r = np.zeros_like(g), -g
        p, rr = r.copy(), float(r @ r)
        for _ in range(min(len(g), 1000)):
            if rr <= target**2:
                break
            Hp = p + self.data.back(self.C * risk.hessian_product(at.point, self.data.forward(p)))
            a = rr / float(p @ Hp)
            x += a * p
            r -= a * Hp
            rr, before = float(r @ r), rr
            p = r + (rr / before) * p
        return x
