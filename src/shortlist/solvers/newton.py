"""Certified minimisation of a smooth risk: truncated Newton.

Problem.  With risk convex and its gradient continuous in the scores,

    minimise over w    P(w) = 1/2 ||w||^2 + C risk(X w).

Bound.  P is 1-strongly convex, so that its gradient alone proves how far it can be from the optimum:

    min P >= P(w) - 1/2 ||grad P(w)||^2,       grad P(w) = w + C X' risk'(X w).

**Stop** when that gap is at most tol P(w); the best bound so far counts.  Where coefficients have given signs the same
quadratic is least at a projection (``signs``), the steps keep to those that are not held at 0, and end inside.

Method.  Each step solves (I + C X'HX) p = -grad by conjugate gradients, where H is the (generalised) Hessian of the
risk at the scores, until the residual is a fifth of the gradient or half of what the tolerance allows, and searches
the segment along p (``bundle_search``).  The preconditioner is I + kappa diag(variances of the columns), for a risk of
differences sees the columns less their means; kappa = C v'Hv for one vector v of random signs, which takes no pass.
A risk that knows the diagonal of H (``row_curvature``) has it as the weights of these variances, in two passes a step;
and where fewer than half of the rows have any curvature, the products run over those alone.  A finer residual is lost
on the early steps, for the pieces on which the Hessian is constant change with each: on the 15,935 documents of
news20_train at C = 10,000 a hundredth in place of a fifth took 699 passes, not 188.

Cost.  Two passes over X a conjugate gradient, and a product with H, which for pairs is O(m) or O(m log m) once the
scores are sorted; beside that one pass and one or two evaluations of the risk a step.  The bundle asks for fewer passes
and for more evaluations, each with a sort: on 20,000 dense rows of 50 columns Newton takes between a sixth of its time
and all of it (``python -m benchmarks.scaling.magnitude_costs``).

References
----------
Lin, Weng, Keerthi (2008), truncated Newton for large linear models; Lee and Lin (2014), the same for pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.bundle import PlaneSolution, check_problem
from shortlist.solvers.bundle_metric import column_variances
from shortlist.solvers.bundle_search import search_segment
from shortlist.solvers.rows import GATHER_SHARE, Rows, product, transposed_product
from shortlist.solvers.signs import Signs
from shortlist.solvers.solution import Certificate, Solution
from shortlist.solvers.threads import blas_threads

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["SmoothRisk", "solve_newton"]

RESIDUAL = (0.2, 0.3)  # least and largest share of the gradient that conjugate gradients leave
MOST_PRODUCTS = 500  # of the Hessian in a step
NEGLIGIBLE = 1e-12  # of the largest curvature of a row: below, the row does not turn the step


class SmoothRisk(Protocol):
    """What Newton's method needs of a risk: convex, a value and a gradient anywhere, a Hessian's products.

    ``smooth = False`` says that a risk has kinks after all; ``nonnegative = True`` that it is never below 0;
    ``row_curvature(scores)`` is the diagonal of the Hessian.
    """

    @property
    def n_rows(self) -> int: ...

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]: ...

    def hessian(self, scores: Array) -> Callable[[Array], Array]: ...


def solve_newton(
    X: Any,
    risk: SmoothRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    start: Solution | Array | None = None,
    signs: Array | None = None,
    callback: Callback | None = None,
) -> PlaneSolution:
    """Minimise 1/2 ||w||^2 + C risk(X w) to a proven relative gap.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : SmoothRisk
    C : float
    tol : float
        Relative gap to reach.
    max_iter : int
        Most Newton steps.
    start : Solution or (d,) array, optional
        Where to begin; used where it beats w = 0.
    signs : (d,) array, optional
        1 for a coefficient that must not be negative, -1 for one that must not be positive, 0 for either.
    callback : callable, optional
        Called once a step with the number of steps, the objective and the bound.

    Returns
    -------
    PlaneSolution
        The one point is that of the best bound.

    Examples
    --------
    >>> from shortlist.risks.magnitude import MagnitudeRisk
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> risk = MagnitudeRisk.from_labels(np.array([0.0, 2.0, 6.0]), "mp", order=2)
    >>> solution = solve_newton(X, risk, C=100.0)
    >>> solution.coef.round(2), solution.certificate.converged
    (array([2.]), True)
    """
    check_problem("solve_newton", X, risk, C, tol, max_iter, ("value_and_subgradient", "hessian"))
    if not getattr(risk, "smooth", True):
        raise ValueError(f"solve_newton needs a smooth risk, this {type(risk).__name__} has kinks: use solve_bundle")
    began = time.perf_counter()
    with blas_threads(X.shape[1]):
        newton = _Newton(X, risk, float(C), float(tol), None if signs is None else Signs(signs))
        newton.begin(start.coef if isinstance(start, Solution) else start)
        newton.run(max_iter, callback)
        coef = newton.w.astype(X.dtype)
        newton.begin_at(coef.astype(np.float64))
    certificate = Certificate.of(
        newton.value,
        newton.bound,
        tolerance=tol,
        n_iter=newton.n_steps,
        n_passes=newton.passes,
        seconds=time.perf_counter() - began,
    )
    points = newton.points
    return PlaneSolution(
        coef=coef,
        thresholds=np.empty(0),
        certificate=certificate,
        dual=-newton.C * newton.bound_gradient,
        points=np.array(points).reshape(len(points), X.shape[1]),
        point_weights=np.ones(len(points)),
    )


class _Newton:
    """The state of the method at its present w."""

    def __init__(self, X: Any, risk: SmoothRisk, C: float, tol: float, cone: Signs | None = None) -> None:
        self.X, self.risk, self.C, self.tol, self.cone = X, risk, C, tol, cone
        self.n_steps, self.passes = 0, 0.0
        self.points: list[Array] = []
        self.variances: Array | None = None
        self.signs = np.random.default_rng(0).choice([-1.0, 1.0], X.shape[0])
        self.bound = 0.0 if getattr(risk, "nonnegative", False) else -np.inf
        self.bound_gradient = np.zeros(X.shape[0])

    def begin(self, start: Array | None) -> None:
        n_rows, d = self.X.shape
        self.w, self.scores = np.zeros(d), np.zeros(n_rows)
        risk, slope = self.risk.value_and_subgradient(self.scores)
        self.value = self.C * risk
        if start is not None:
            start = np.asarray(start, dtype=np.float64)
            if start.shape != (d,) or not np.isfinite(start).all():
                raise ValueError(f"start must hold {d} finite numbers, got the shape {start.shape}")
            at_zero = self.value
            self.begin_at(start if self.cone is None else self.cone.nearest(start))
            if self.value < at_zero:
                return
            self.w, self.scores, self.value = np.zeros(d), np.zeros(n_rows), at_zero
        self._linearise(slope)

    def begin_at(self, w: Array) -> None:
        """The objective, its gradient and its bound at some coefficients."""
        self.w, self.scores = w, self._forward(w)
        risk, slope = self.risk.value_and_subgradient(self.scores)
        self.value = 0.5 * float(w @ w) + self.C * risk
        self._linearise(slope)

    def run(self, max_iter: int, callback: Callback | None) -> None:
        while self.n_steps < max_iter and self.value - self.bound > 0.98 * self.tol * abs(self.value):
            way, along = self._direction()
            found = search_segment(
                self.risk.value_and_subgradient,
                self.C,
                self.scores,
                along,
                value=self.value,
                slope=float(self.gradient @ way),
                quadratic=(float(self.w @ self.w), float(self.w @ way), float(way @ way)),
                longest=np.inf if self.cone is None else 1.0,
                out=(4.0, 4.0),  # beyond Newton's step the slope is no line
            )
            best = found.best
            if best is None or not best.value < self.value:
                break
            self.w, self.scores = self.w + best.t * way, self.scores + best.t * along
            self.value = best.value
            self._linearise(best.subgradient)
            self.n_steps += 1
            if callback is not None:
                callback(self.n_steps, self.value, self.bound)
        if not self.n_steps:  # the look at the start was all that it took
            self.n_steps = 1
            if callback is not None:
                callback(1, self.value, self.bound)

    def _direction(self) -> tuple[Array, Array]:
        """Newton's step by conjugate gradients, and its scores; coefficients that their sign holds at 0 stay there."""
        curvature, scale, seen = self._curvature()
        free = None if self.cone is None else self.cone.free(self.w, self.gradient)
        gradient = self.gradient if free is None else np.where(free, self.gradient, 0.0)
        length = float(np.linalg.norm(gradient))
        wanted = 0.5 * np.sqrt(2 * self.tol * abs(self.value)) / length
        stop = min(max(wanted, RESIDUAL[0]), RESIDUAL[1]) * length
        way = np.zeros(len(self.w))
        residual = -gradient
        p = residual / scale
        square = float(residual @ p)
        for _ in range(MOST_PRODUCTS):
            curved = p + self.C * curvature(p)
            if free is not None:
                curved = np.where(free, curved, 0.0)
            step = square / float(p @ curved)
            way, residual = way + step * p, residual - step * curved
            if float(residual @ residual) <= stop**2:
                break
            scaled = residual / scale
            rest = float(residual @ scaled)
            p, square = scaled + (rest / square) * p, rest
        if seen is not None:
            self.passes += seen.passes
        return (way, self._forward(way)) if self.cone is None else self._inside(self.cone, way)

    def _inside(self, cone: Signs, way: Array) -> tuple[Array, Array]:
        """The way to the nearest point of the cone, or where that does not lead downhill to the bound's."""
        short = cone.shorten(self.w, way)
        if not float(self.gradient @ short) < 0:
            short = self._lowest() - self.w
        return short, self._forward(short)

    def _lowest(self) -> Array:
        """Where the quadratic that bounds the objective from below is least."""
        lowest = self.w - self.gradient
        return lowest if self.cone is None else self.cone.nearest(lowest)

    def _curvature(self) -> tuple[Callable[[Array], Array], Array, Rows | None]:
        """Product with X'HX, diagonal of the preconditioner, and the rows that H sees where they are few."""
        hessian = self.risk.hessian(self.scores)
        known = getattr(self.risk, "row_curvature", None)
        if known is None:
            if self.variances is None:
                self.variances = column_variances(self.X)
                self.passes += 2
            scale = 1.0 + self.C * max(float(self.signs @ hessian(self.signs)), 0.0) * self.variances
            return lambda p: self._back(hessian(self._forward(p))), scale, None
        curved = known(self.scores)
        active = np.flatnonzero(curved > NEGLIGIBLE * curved.max(initial=0.0))
        if len(active) >= GATHER_SHARE * len(curved):
            self.passes += 2
            scale = 1.0 + self.C * column_variances(self.X, curved)
            return lambda p: self._back(hessian(self._forward(p))), scale, None
        rows = Rows(self.X, active)
        rows.passes += 2 * len(active) / len(curved)
        scale = 1.0 + self.C * column_variances(rows.take(slice(None)), curved[active])
        padded = np.zeros(len(curved))

        def product(p: Array) -> Array:
            padded[active] = rows.dot(p)
            return rows.t_dot(hessian(padded)[active])

        return product, scale, rows

    def _linearise(self, slope: Array) -> None:
        """The gradient at w, and the bound that it proves."""
        self.gradient = self.w + self.C * self._back(slope)
        way = self._lowest() - self.w
        bound = self.value + float(self.gradient @ way) + 0.5 * float(way @ way)
        if bound > self.bound:
            self.bound, self.points, self.bound_gradient = bound, [self.w], slope

    def _forward(self, w: Array) -> Array:
        self.passes += 1
        return product(self.X, w)

    def _back(self, v: Array) -> Array:
        self.passes += 1
        return transposed_product(self.X, v)
