"""Certified minimisation of the top family by a working set of negatives.

Problem (``risks.top``):

    minimise  1/2 ||w||^2 + C sum_i a_i l(theta_g(i)(w) - w.x_i),

theta_g the maximum, or the mean of the largest, of the scores of the negatives in group g.

Method.  Few negatives carry a multiplier at the optimum.  An interior point method runs on a working set of them; after
every few of its steps all negatives are scored once, the worst violators join, and those far below the threshold leave.
The dual value of the reduced problem bounds the whole problem from below (the absent multipliers are zero), the
objective with all negatives from above, so the certificate costs nothing.

Cost.  One pass over the negatives a round and three products with the positives a step, typically 15 to
35 steps; beside that the Newton matrices of the working rows.

References
----------
Li, Jin, Zhou (2014). Top rank optimization in linear time (the problem and its dual).
Agarwal (2011). The Infinite Push (the hinge case).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.top import TopRisk
from shortlist.solvers.interior.method import InteriorPoint
from shortlist.solvers.rows import Rows
from shortlist.solvers.solution import Certificate, Solution
from shortlist.solvers.threads import blas_threads

Array = NDArray[Any]
Callback = Callable[[dict[str, float]], Any]

__all__ = ["solve_top"]

FIRST_TOP = 100  # of the first working set: the best by a first guess ...
FIRST_SPREAD = 300  # ... and an even spread over the rest, so that it knows their covariance
MOST_NEWCOMERS = 300
STEPS_PER_ROUND = 2
BAND = 1
WIDE = 3000  # with more columns than this many negatives carry a multiplier: begin with more
SMALL = 500  # with no more negatives than this all of them work from the start


class _Search:
    """The outer loop's state."""

    def __init__(self, X: Any, risk: TopRisk, C: float, tol: float) -> None:
        self.X, self.risk, self.C, self.tol = X, risk, C, tol
        self.positives = Rows(X, risk.positives)
        self.negatives = Rows(X, risk.negatives)
        self.null = C * float(risk.surrogate.value(np.zeros(1))[0])
        self.best = self.null
        self.w = np.zeros(X.shape[1])
        self.n_steps = 0

    def all_scores(self, positive_scores: Array, negative_scores: Array) -> Array:
        scores = np.zeros(self.X.shape[0])
        scores[self.risk.positives] = positive_scores
        scores[self.risk.negatives] = negative_scores
        return scores

    def objective(self, w: Array, positive_scores: Array, negative_scores: Array) -> float:
        return 0.5 * float(w @ w) + self.C * self.risk.value(
            self.all_scores(positive_scores, negative_scores)
        )

    def offer(self, w: Array, primal: float) -> None:
        if primal < self.best:
            self.best, self.w = primal, w

    def done(self, bound: float) -> bool:
        """Gap small, also against what w earns over w = 0: that a fit ranks nothing must be proven."""
        return self.best - bound <= self.wanted(bound)

    def wanted(self, bound: float) -> float:
        """The gap at which to stop."""
        return min(self.tol * self.best, max(0.5 * (self.null - bound), 1e-10 * self.null))


def _spread_start(risk: TopRisk, scores: Array, wide: bool) -> Array:
    """First working set: of each group the top by ``scores`` and an even spread, whatever the order."""
    n, n_top, n_spread = len(scores), FIRST_TOP, FIRST_SPREAD
    if wide:
        n_top, n_spread = 4 * n_top, n_spread + 100
    if n <= SMALL:
        return np.arange(n)
    order = np.lexsort((-scores, risk.negative_groups))
    groups = risk.negative_groups[order]
    first = np.searchsorted(groups, np.arange(risk.n_groups))
    size = np.diff(np.append(first, n))
    rank = np.arange(n) - first[groups]
    top = np.maximum(3, np.ceil(n_top * size / n))[groups]
    stride = max(1, n // n_spread)
    chosen = (rank < top) | (np.arange(n) % stride == 0)
    if risk.caps is not None:
        filled = np.cumsum(risk.caps[order])
        filled -= (filled - risk.caps[order])[first][groups]
        chosen |= filled <= 1.5 + 1e-9
        chosen |= rank <= 1
    return np.sort(order[chosen])


def solve_top(
    X: Any,
    risk: TopRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: Solution | Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise 1/2 ||w||^2 + C risk(X w) to a proven relative gap.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : TopRisk
    C : float
    tol : float
        Relative gap to reach.
    max_iter : int
        Most interior point steps.
    start : Solution or (d,) array, optional
        Where to begin; saves steps when close.
    callback : callable, optional
        Called once a round with a dict of ``n_iter``, ``primal``, ``bound``, ``working``.

    Returns
    -------
    Solution
        With ``coef`` exactly zero if, and only if, w = 0 is proven optimal to rounding.
    """
    with blas_threads(X.shape[1]):
        return _solve(X, risk, C, tol, max_iter, start, callback)


def _solve(
    X: Any,
    risk: TopRisk,
    C: float,
    tol: float,
    max_iter: int,
    start: Solution | Array | None,
    callback: Callback | None,
) -> Solution:
    began = time.perf_counter()
    search = _Search(X, risk, C, tol)
    method = _begin(search, start)
    bound = method.bound
    stuck = 0
    for round_ in range(10_000):
        before = method.bound
        _solve_reduced(search, method, max_iter, least=STEPS_PER_ROUND + round_ // 8 + stuck)
        negative_scores = search.negatives.dot(method.w)
        primal = search.objective(method.w, method.scores, negative_scores)
        search.offer(method.w, primal)
        bound = max(bound, method.bound)
        if callback is not None:
            callback(
                {
                    "n_iter": search.n_steps,
                    "primal": search.best,
                    "bound": bound,
                    "working": len(method.members),
                }
            )
        if search.done(bound) or search.n_steps >= max_iter:
            break
        improved = method.bound - before > 1e-3 * (search.best - method.bound)
        stuck = 0 if improved else stuck + 1
        if stuck:
            method.sharpen()
        grown = _exchange(search, method, negative_scores, prune=round_ < 12)
        if not grown and (method.stalled or stuck > 12):
            break
        method.stalled = False
    return _finish(search, method, bound, tol, time.perf_counter() - began)


def _begin(search: _Search, start: Solution | Array | None) -> InteriorPoint:
    X, risk, C = search.X, search.risk, search.C
    centre = search.positives.t_dot(risk.positive_weights)
    beta0 = None
    if start is None:
        v = risk.negative_weights / risk.negative_weights.sum()
        guess = centre - search.negatives.t_dot(v)
        scores = search.negatives.dot(guess)
        which = _spread_start(risk, scores, X.shape[1] > WIDE)
        share = risk.negative_weights[which] / risk.negative_weights[which].sum()
        rows = search.negatives.take(which)
        direction = centre - np.asarray(rows.T @ share.astype(X.dtype)).astype(np.float64)
        # The best multiple of the dual point alpha = 2 u, beta uniform, for the squared hinge: a scale for w.
        w = direction * (2 * C / (2 * C * float(direction @ direction) + 1))
        w = w / max(1.0, 0.25 * float(np.abs(search.positives.dot(w)).max(initial=0.0)))
    else:
        w = np.array(start.coef if isinstance(start, Solution) else start, dtype=np.float64).ravel()
        if w.shape != (X.shape[1],):
            raise ValueError(f"start has {w.size} coefficients, X has {X.shape[1]} columns")
    scores = search.negatives.dot(w)
    if start is not None:
        which = _spread_start(risk, scores, X.shape[1] > WIDE)
        if isinstance(start, Solution) and len(start.dual) == X.shape[0]:
            multipliers = np.maximum(-start.dual[risk.negatives], 0)
            which = np.union1d(which, np.flatnonzero(multipliers))
            beta0 = multipliers[which]
    groups, s = risk.negative_groups[which], scores[which]
    if not np.all(np.isfinite(s)) or not np.isfinite(float(centre @ centre)):
        raise ValueError(
            "the features are too large for their squares to be finite; scale them, to [0, 1] say"
        )
    count = np.bincount(groups, minlength=risk.n_groups)
    mean = np.bincount(groups, weights=s, minlength=risk.n_groups) / count
    spread = np.sqrt(np.bincount(groups, weights=(s - mean[groups]) ** 2, minlength=risk.n_groups) / count)
    positive_scores = search.positives.dot(w)
    search.offer(w, search.objective(w, positive_scores, scores))
    typical = float(np.std(positive_scores)) + float(np.abs(mean).max(initial=0.0)) + 1e-3 * min(1.0, C)
    spread = np.maximum(spread, 0.1 * typical)
    theta = mean + 2 * spread
    slack = np.maximum(theta[groups] - s, 0.1 * spread[groups])
    mu = C / max(float((risk.negative_weights[which] / slack).sum()), 1e-300)
    if start is not None:
        mu *= 0.05
    method = InteriorPoint(X, risk, C, search.positives, search.negatives, w, theta, mu)
    method.add(which, s, mu, first=True, beta=beta0)
    return method


def _solve_reduced(search: _Search, method: InteriorPoint, max_iter: int, least: int) -> None:
    """Steps on the working set: at least ``least``, and on while it is what holds the gap open."""
    for step in range(1000):
        primal, _ = method.refresh_bound()
        inner = primal - method.bound
        wanted = search.wanted(method.bound)
        if (step >= 1 and inner <= 0.3 * wanted) or search.n_steps >= max_iter or method.stalled:
            return
        if step >= least:
            return
        method.step(0.1 * wanted)
        search.n_steps += 1


def _exchange(search: _Search, method: InteriorPoint, scores: Array, prune: bool) -> bool:
    """Let idle negatives leave and violators join; whether any joined."""
    risk, mu = search.risk, method.mu()
    if prune:
        useful = method.block.useful()
        if useful.sum() < 0.8 * len(useful):
            method.keep(np.flatnonzero(useful))
    working = np.zeros(len(risk.negatives), dtype=bool)
    working[method.members] = True
    over = scores - method.block.height[risk.negative_groups]
    # The next steps move scores by about as much as the worst violation: rows that close below come along.
    band = BAND * max(float(over.max()), 0.0)
    violators = np.flatnonzero((over > -band) & ~working) if band > 0 else np.empty(0, dtype=np.intp)
    most = MOST_NEWCOMERS
    if method.sparse or risk.caps is not None:
        # Many will carry a multiplier: grow by a factor.
        most = max(most, len(method.members))
    most = min(most, 50 + 2 * int(np.count_nonzero(over[~working] > 0)))
    if len(violators) > most:
        violators = np.sort(violators[np.argpartition(-over[violators], most)[:most]])
    if len(violators) == 0:
        return False
    method.add(violators, scores[violators], mu)
    return True


def _finish(search: _Search, method: InteriorPoint, bound: float, tol: float, seconds: float) -> Solution:
    X, risk = search.X, search.risk
    dual = np.zeros(X.shape[0])
    dual[risk.positives] = method.alpha
    dual[risk.negatives[method.bound_members]] -= method.beta
    w = search.w
    null_best = search.null - bound <= 1e-10 * search.null
    if null_best:
        w, search.best = np.zeros_like(w), search.null
    passes = search.positives.passes + search.negatives.passes
    certificate = Certificate.of(
        search.best, bound, tolerance=tol, n_iter=search.n_steps, n_passes=passes, seconds=seconds
    )
    thresholds = risk.thresholds(search.all_scores(search.positives.dot(w), search.negatives.dot(w)))
    return Solution(
        coef=w.astype(X.dtype),
        thresholds=np.asarray(thresholds, dtype=np.float64),
        certificate=certificate,
        dual=dual,
    )
