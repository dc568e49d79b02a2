"""Certified minimisation of any convex risk, from its values and subgradients: a bundle method.

Problem.  With risk convex in the scores,

    minimise over w    P(w) = 1/2 ||w||^2 + C risk(X w).

Bound.  A subgradient g of the risk at some scores s gives a plane below it: risk(X w) >= a.w + b for all w, with
a = X'g and b = risk(s) - g.s.  For any average of such planes, with weights alpha >= 0 of sum 1, the minimum is known:

    P(w) >= D(alpha) = C sum_k alpha_k b_k - 1/2 ||C sum_k alpha_k a_k||^2     for every w,

and the best weights are those of the cutting-plane model's minimum (``bundle_program``; ``signs`` where coefficients
have given ones, and the minimum is over those).  The certificate's bound is the largest D so far, evaluated from the
weights themselves: neither the search nor the small program can make it wrong.  **Stop** when P(w) - D <= tol P(w).

Method.  Each step searches a segment from the best w (``bundle_search``) and takes in one plane.  Two directions take
turns by merit: to the minimum of the model, which is what finds the kinks of a polyhedral risk; and a quasi-Newton
step from the differences of the planes' slopes and the columns' variances (``bundle_metric``).  A mean over many pairs
is smooth to the eye, and there the model alone needs a plane for each dimension and each digit.  A direction that
closed little of the gap gives way.

Cost.  Two passes over X a step, one for the direction's scores and one for the plane's slope, and three to five
evaluations of the risk.  Memory: planes of n + d numbers and differences of 2 d.  Where ``max_planes`` are reached,
planes that carry no weight go first; then the two lightest become their average, which is a plane too.

References
----------
Joachims (2006), Teo et al. (2010): cutting planes and bundles for regularised risk.  Franc and Sonnenburg (2009): line
search between the best point and the model's.  Luksan and Vlcek (1999): variable metrics in bundles.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.bundle_metric import Differences, column_variances
from shortlist.solvers.bundle_program import best_weights
from shortlist.solvers.bundle_search import search_segment
from shortlist.solvers.rows import product, transposed_product
from shortlist.solvers.signs import Signs
from shortlist.solvers.solution import Certificate, Solution
from shortlist.solvers.threads import blas_threads

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["BundleRisk", "PlaneSolution", "check_problem", "solve_bundle"]

SHARE_KEPT = 0.7  # a direction that leaves more of the gap than this gives way
PATIENCE = 30  # steps in which the gap has to shrink by a thousandth
BYTES = 2**28  # of the slopes, and of the differences; four times that for the subgradients
FEWEST_PLANES = 30


class BundleRisk(Protocol):
    """What the bundle needs of a risk: convex in the scores, with a value and one subgradient anywhere.

    Three more are used where a risk has them: ``nonnegative = True`` says that it is never below 0, ``row_weights`` is
    the share of each row in it, and
    ``minimise_along(scores, along, linear, quadratic)`` gives the t that minimises
    ``linear t + quadratic t^2 / 2 + risk(scores + t along)``, or None where it cannot say.
    """

    @property
    def n_rows(self) -> int: ...

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]: ...


@dataclass(frozen=True)
class PlaneSolution(Solution):
    """A solution with the evidence for its bound: the points whose planes carry it.

    Attributes
    ----------
    points : (k, d) array
        Coefficients at which the risk was linearised.
    point_weights : (k,) array
        Their weights, of sum at most 1; what is missing belongs to the plane 0 of a risk that is never negative.
    """

    points: Array
    point_weights: Array


@dataclass
class _Plane:
    slope: Array
    offset: float
    subgradient: Array  # with respect to the scores
    points: list[tuple[float, Array]]


def check_problem(solver: str, X: Any, risk: Any, C: float, tol: float, max_iter: int, needs: tuple[str, ...]) -> None:
    """One readable error where a solver cannot have what it needs."""
    missing = [name for name in needs if not callable(getattr(risk, name, None))]
    if missing or not hasattr(risk, "n_rows"):
        wanted = ", ".join(f"{name}()" for name in needs)
        lacks = ", ".join([f"{name}()" for name in missing] + ([] if hasattr(risk, "n_rows") else ["n_rows"]))
        raise TypeError(f"{solver} needs of a risk: n_rows, {wanted}; {type(risk).__name__} lacks {lacks}")
    if risk.n_rows != X.shape[0]:
        raise ValueError(f"the risk is one of {risk.n_rows} rows, X has {X.shape[0]}: make both from the same rows")
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a finite number above 0, got {C!r}")
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol!r}")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")


def solve_bundle(
    X: Any,
    risk: BundleRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    max_planes: int = 200,
    start: Solution | Array | None = None,
    signs: Array | None = None,
    callback: Callback | None = None,
) -> PlaneSolution:
    """Minimise 1/2 ||w||^2 + C risk(X w) to a proven relative gap.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : BundleRisk
    C : float
    tol : float
        Relative gap to reach.
    max_iter : int
        Most steps.
    max_planes : int
        Most planes kept, at least 3.
    start : Solution or (d,) array, optional
        Where to begin; used where it beats w = 0.
    signs : (d,) array, optional
        1 for a coefficient that must not be negative, -1 for one that must not be positive, 0 for either.
    callback : callable, optional
        Called once a step with the number of steps, the objective and the bound.

    Returns
    -------
    PlaneSolution

    Examples
    --------
    >>> from shortlist.risks.magnitude import MagnitudeRisk
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> risk = MagnitudeRisk.from_labels(np.array([0.0, 2.0, 6.0]), "svr", order=1, epsilon=0.3)
    >>> solution = solve_bundle(X, risk, C=100.0)
    >>> solution.coef.round(2), solution.certificate.converged
    (array([1.9]), True)
    """
    check_problem("solve_bundle", X, risk, C, tol, max_iter, ("value_and_subgradient",))
    if max_planes < 3:
        raise ValueError(f"max_planes must be at least 3, got {max_planes!r}")
    began = time.perf_counter()
    with blas_threads(X.shape[1]):
        bundle = _Bundle(X, risk, float(C), float(tol), max_planes, None if signs is None else Signs(signs))
        bundle.begin(start.coef if isinstance(start, Solution) else start)
        bundle.run(max_iter, callback)
        primal = bundle.primal()
    certificate = Certificate.of(
        primal,
        bundle.bound,
        tolerance=tol,
        n_iter=bundle.n_steps,
        n_passes=bundle.passes,
        seconds=time.perf_counter() - began,
    )
    dual, shares, points = bundle.evidence()
    return PlaneSolution(
        coef=bundle.coef,
        thresholds=np.empty(0),
        certificate=certificate,
        dual=dual,
        points=points,
        point_weights=shares,
    )


@dataclass
class _Bundle:
    """The state of the method; w, its scores and its subgradient are those of the best point."""

    X: Any
    risk: BundleRisk
    C: float
    tol: float
    max_planes: int
    cone: Signs | None = None
    planes: list[_Plane] = field(default_factory=list)
    bound: float = -np.inf
    n_steps: int = 0
    passes: float = 0.0
    variances: Array | None = None

    def begin(self, start: Array | None) -> None:
        n_rows, d = self.X.shape
        width = max(d, 1)
        room = max(FEWEST_PLANES, min(BYTES // (8 * width), 4 * BYTES // (8 * n_rows)))
        self.max_planes = min(self.max_planes, room)
        self.differences = Differences(max(10, min(100, BYTES // (16 * width))))
        self.gram = np.empty((0, 0))
        self.alpha = np.empty(0)
        self.bound_evidence: tuple[Array, list[_Plane]] = (np.empty(0), [])
        if getattr(self.risk, "nonnegative", False):
            self._take_in(_Plane(np.zeros(d), 0.0, np.zeros(n_rows), []))
        self.w, self.scores = np.zeros(d), np.zeros(n_rows)
        level, self.subgradient = self._evaluate(self.scores)
        self.best = self.C * level
        if start is not None:
            self._begin_at(np.asarray(start, dtype=np.float64))
        slope = self._back(self.subgradient)
        offset = (self.best - 0.5 * float(self.w @ self.w)) / self.C - float(self.subgradient @ self.scores)
        self.gradient = self.w + self.C * slope
        self._take_in(_Plane(slope, offset, self.subgradient, [(1.0, self.w)]))

    def _begin_at(self, start: Array) -> None:
        if start.shape != self.w.shape or not np.isfinite(start).all():
            raise ValueError(f"start must hold {len(self.w)} finite numbers, got the shape {start.shape}")
        start = start if self.cone is None else self.cone.nearest(start)
        scores = self._forward(start)
        level, subgradient = self._evaluate(scores)
        value = 0.5 * float(start @ start) + self.C * level
        if value < self.best:
            self.w, self.scores, self.subgradient, self.best = start, scores, subgradient, value

    def run(self, max_iter: int, callback: Callback | None) -> None:
        newton, gaps = True, [np.inf]
        while True:
            lowest = self._improve_bound()
            gap = self.best - self.bound
            # A little below the tolerance, for the objective is worked out anew from the rounded coefficients.
            close = gap <= max(0.98 * self.tol, 4 * np.finfo(float).eps) * abs(self.best)
            stuck = len(gaps) > PATIENCE and gap > 0.999 * gaps[-PATIENCE]
            if close or stuck or self.n_steps == max_iter:
                break
            # Whatever closed little of the gap gives way to the other.
            if gap > SHARE_KEPT * gaps[-1]:
                newton = not newton
            gaps.append(gap)
            known = newton and len(self.differences)
            self._step(self._newton() if known else lowest - self.w, lowest)
            self.n_steps += 1
            if callback is not None:
                callback(self.n_steps, self.best, self.bound)
        if not self.n_steps:  # the look at the start was all that it took
            self.n_steps = 1
            if callback is not None:
                callback(1, self.best, self.bound)

    def primal(self) -> float:
        """The objective at the coefficients as they are returned."""
        self.coef = self.w.astype(self.X.dtype)
        w = self.coef.astype(np.float64)
        return 0.5 * float(w @ w) + self.C * self._evaluate(self._forward(w))[0]

    def evidence(self) -> tuple[Array, Array, Array]:
        """Dual variables, and weights and points of the planes that carry the bound."""
        dual, shares, points = np.zeros(self.X.shape[0]), [], []
        for share, plane in zip(*self.bound_evidence, strict=True):
            dual -= self.C * share * plane.subgradient
            for part, point in plane.points:
                shares.append(share * part)
                points.append(point)
        return dual, np.array(shares), np.array(points).reshape(len(points), self.X.shape[1])

    def _improve_bound(self) -> Array:
        """The minimum of the model, whose value is the bound."""
        offsets = self.C * np.array([plane.offset for plane in self.planes])
        accuracy = 1e-3 * self.tol * abs(self.best)
        if self.cone is None:
            self.alpha = best_weights(self.C**2 * self.gram, offsets, self.alpha, accuracy=accuracy)
        else:
            slopes = self.C * np.array([plane.slope for plane in self.planes])
            self.alpha = self.cone.best_weights(slopes, offsets, self.alpha, accuracy)
        slope = np.zeros(len(self.w))
        for share, plane in zip(self.alpha, self.planes, strict=True):
            if share:
                slope += share * plane.slope
        lowest = -self.C * slope
        if self.cone is not None:
            lowest = self.cone.nearest(lowest)
        bound = float(self.alpha @ offsets) - 0.5 * float(lowest @ lowest)
        if bound > self.bound:
            used = np.flatnonzero(self.alpha)
            self.bound, self.bound_evidence = bound, (self.alpha[used], [self.planes[k] for k in used])
        return lowest

    def _newton(self) -> Array:
        if self.variances is None:
            shares = getattr(self.risk, "row_weights", None)
            self.variances = column_variances(self.X, *([] if shares is None else [shares]))
            self.passes += 2
        if self.cone is None:
            return -self.differences.solve(self.gradient, self.variances)
        free = self.cone.free(self.w, self.gradient)
        way = -self.differences.solve(np.where(free, self.gradient, 0.0), self.variances)
        return self.cone.shorten(self.w, np.where(free, way, 0.0))

    def _step(self, direction: Array, lowest: Array) -> None:
        """Search along a direction and take in a plane."""
        slope = float(self.gradient @ direction)
        if not slope < 0:
            direction = lowest - self.w
            slope = float(self.gradient @ direction)
        along = self._forward(direction)
        w, v = self.w, direction
        found = search_segment(
            self._evaluate,
            self.C,
            self.scores,
            along,
            value=self.best,
            slope=min(slope, 0.0),
            quadratic=(float(w @ w), float(w @ v), float(v @ v)),
            first=self._first_trial(along, float(w @ v), float(v @ v)),
            longest=np.inf if self.cone is None else 1.0,
        )
        subgradient = found.subgradient
        plane_slope = self._back(subgradient)
        points = [(share, w + trial.t * v) for share, trial in found.parts]
        self._take_in(_Plane(plane_slope, found.offset, subgradient, points))
        if found.best is None or not found.best.value < self.best:
            return
        t = found.best.t
        gradient = w + t * v + self.C * plane_slope
        self.differences.add(t * v, gradient - self.gradient)
        self.w, self.scores, self.best = w + t * v, self.scores + t * along, found.best.value
        self.gradient = gradient

    def _first_trial(self, along: Array, linear: float, quadratic: float) -> float:
        known = getattr(self.risk, "minimise_along", None)
        t = None if known is None else known(self.scores, along, linear / self.C, quadratic / self.C)
        return float(t) if t is not None and t > 0 else 1.0

    def _take_in(self, plane: _Plane) -> None:
        if len(self.planes) == self.max_planes:
            self._make_room()
        slopes = [other.slope for other in self.planes]
        row = np.array([float(plane.slope @ other) for other in slopes])
        self.planes.append(plane)
        self.gram = np.block([[self.gram, row[:, None]], [row[None, :], np.array([[plane.slope @ plane.slope]])]])
        self.alpha = np.append(self.alpha, 0.0) if len(row) else np.ones(1)

    def _make_room(self) -> None:
        """Forget a plane without weight, the oldest first; else let the two lightest be their average."""
        idle = np.flatnonzero(self.alpha == 0)
        if len(idle):
            gone = int(idle[0])
        else:
            kept, gone = (int(k) for k in np.argsort(-self.alpha)[-2:])
            self._average(kept, gone)
        remaining = np.delete(np.arange(len(self.planes)), gone)
        self.planes.pop(gone)
        self.gram, self.alpha = self.gram[np.ix_(remaining, remaining)], self.alpha[remaining]

    def _average(self, kept: int, gone: int) -> None:
        one, other = self.planes[kept], self.planes[gone]
        total = float(self.alpha[kept] + self.alpha[gone])
        p, q = float(self.alpha[kept]) / total, float(self.alpha[gone]) / total
        subgradient = p * one.subgradient + q * other.subgradient
        points = [(p * share, at) for share, at in one.points] + [(q * share, at) for share, at in other.points]
        self.planes[kept] = _Plane(
            p * one.slope + q * other.slope, p * one.offset + q * other.offset, subgradient, points
        )
        self.gram[kept] = p * self.gram[kept] + q * self.gram[gone]
        self.gram[:, kept] = p * self.gram[:, kept] + q * self.gram[:, gone]
        self.alpha[kept], self.alpha[gone] = total, 0.0

    def _evaluate(self, scores: Array) -> tuple[float, Array]:
        return self.risk.value_and_subgradient(scores)

    def _forward(self, w: Array) -> Array:
        self.passes += 1
        return product(self.X, w)

    def _back(self, v: Array) -> Array:
        self.passes += 1
        return transposed_product(self.X, v)
