"""Certified minimisation of the top family by a working set of negatives.

Problem (``risks.top``):

    minimise  1/2 ||w||^2 + C sum_i a_i l(theta_g(i)(w) - w.x_i),

theta_g the maximum, or the mean of the largest, of the scores of the negatives in group g.

Method.  Few negatives carry a multiplier at the optimum: an interior point method on a working set of them
(``interior.search``, ``interior.method``), whose dual value bounds the whole problem, so that the certificate costs
nothing.  Where the search ends at w = 0 a projection tells a degenerate optimum from one too small to be told from zero
by its objective (``degenerate``).

Cost.  One pass over the negatives a round and three products with the positives a step, typically 15 to
35 steps; beside that the Newton matrices of the working rows.

References
----------
Li, Jin, Zhou (2014). Top rank optimization in linear time (the problem and its dual).
Agarwal (2011). The Infinite Push (the hinge case).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.top import TopRisk
from shortlist.solvers.degenerate import escape_direction
from shortlist.solvers.interior.search import Callback, Search
from shortlist.solvers.solution import Certificate, Solution
from shortlist.solvers.threads import blas_threads

Array = NDArray[Any]

__all__ = ["solve_top"]

# What w must earn over w = 0, relatively, for the objective alone to tell the two apart.
TELLS_FROM_ZERO = 1e-10


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
        Called once a round with the number of steps, the objective and the bound.

    Returns
    -------
    Solution
        With ``coef`` exactly zero if, and only if, w = 0 is proven optimal.
    """
    began = time.perf_counter()
    with blas_threads(X.shape[1]):
        search = Search(X, risk, C, tol, proof=TELLS_FROM_ZERO * float(risk.surrogate.value(np.zeros(1))[0]))
        if isinstance(start, Solution):
            known = np.maximum(-start.dual[risk.negatives], 0) if len(start.dual) == X.shape[0] else None
            search.begin(start.coef, known)
        else:
            search.begin(start)
        search.run(max_iter, callback)
        if search.null - search.bound <= TELLS_FROM_ZERO * search.null:
            _settle_near_zero(search)
        return _solution(search, time.perf_counter() - began)


def _settle_near_zero(search: Search) -> None:
    """Exact zero where that is the optimum, else the step that the slope at zero asks for."""
    direction = escape_direction(search.X, search.risk)
    if direction is None:
        search.w, search.best = np.zeros_like(search.w), search.null
        return
    slope = float(search.risk.surrogate.derivative(np.zeros(1))[0])
    w = search.C * slope * direction
    scores = search.positives.dot(w), search.negatives.dot(w)
    # The objective is that of w = 0 to rounding; what it earns is known from the slope, not from the difference.
    search.w, search.best = w, min(search.objective(w, *scores), search.null)


def _solution(search: Search, seconds: float) -> Solution:
    X, risk, method, w = search.X, search.risk, search.method, search.w
    dual = np.zeros(X.shape[0])
    dual[risk.positives] = method.alpha
    dual[risk.negatives[method.bound_members]] -= method.beta
    thresholds = np.asarray(search.thresholds(w), dtype=np.float64)
    certificate = Certificate.of(
        search.best,
        search.bound,
        tolerance=search.tol,
        n_iter=search.n_steps,
        n_passes=search.passes,
        seconds=seconds,
    )
    return Solution(coef=w.astype(X.dtype), thresholds=thresholds, certificate=certificate, dual=dual)
