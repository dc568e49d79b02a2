"""Ordered weighted pairs by Newton's method on smoothed risks of falling width.

Problem.  minimise over w  1/2 ||w||^2 + C risk(X w), for a risk of which ``risks.smooth_pairs`` makes a smooth one.

Method.  Minimise the smoothed problem by ``newton``, let the width fall, begin again from there.  At each
minimum two things are worked out for the true risk: its objective, and from the smoothed slopes, mended, a plane below
it, whose minimum against 1/2 ||w||^2 is a bound.  **Stop** when the best objective and the best bound are within tol.

Why.  Where weights favour the worst negatives, the optimum ties hundreds of them, and many positives at a margin from
them.  Cutting planes know one order of the tied rows at a time, and need as many as there are rows in the tie; the
smoothed slopes share the weights among them all at once.  Of no use where the weights fall at one rank alone ("top"):
there the smooth F rounds the one corner that matters; nor on a few dozen rows, which hold few ties.

Cost.  Two passes over X for each conjugate gradient, and no sort; beside that as ``newton``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.smooth_pairs import SmoothedPairs, mended
from shortlist.solvers.bundle import PlaneSolution, check_problem
from shortlist.solvers.newton import solve_newton
from shortlist.solvers.rows import product, transposed_product
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["solve_annealed"]

WIDEST = 0.1
NARROWEST = 1e-5
FALL = 0.5
EACH = 60  # Newton steps to a width


def solve_annealed(
    X: Any,
    risk: OrderedPairsRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    start: Solution | Array | None = None,
    callback: Callback | None = None,
) -> PlaneSolution:
    """Minimise 1/2 ||w||^2 + C risk(X w) to a proven relative gap.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : OrderedPairsRisk
        Of one list.
    C : float
    tol : float
        Relative gap to reach.
    max_iter : int
        Most Newton steps.
    start : Solution or (d,) array, optional
        Where to begin.
    callback : callable, optional
        Called once a width with the number of steps, the objective and the bound.

    Returns
    -------
    PlaneSolution
        Without points: ``dual`` is the proof.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = X[:, 0] + rng.normal(size=500) > 1.5
    >>> solution = solve_annealed(X, OrderedPairsRisk.from_labels(y), C=10.0)
    >>> solution.certificate.converged
    True
    """
    check_problem("solve_annealed", X, risk, C, tol, max_iter, ("value_and_subgradient",))
    began = time.perf_counter()
    w = np.zeros(X.shape[1]) if start is None else start.coef if isinstance(start, Solution) else np.asarray(start)
    coef, best = np.zeros(X.shape[1], dtype=X.dtype), float(C) * risk.value(np.zeros(X.shape[0]))
    bound, dual = 0.0, np.zeros(X.shape[0])
    steps, passes, width, gap, fruitless = 0, 0.0, WIDEST, np.inf, 0
    while steps < max_iter and width >= NARROWEST and fruitless < 3:
        smoothed = SmoothedPairs(risk, width)
        try:
            found = solve_newton(
                X,
                smoothed,
                C,
                tol=max(tol / 4, WIDEST * width),
                max_iter=min(EACH, max_iter - steps),
                start=w,
            )
            w = found.coef
            scores = product(X, w.astype(np.float64))
            slope, height = mended(risk, smoothed.value_and_subgradient(scores)[1])
        except OverflowError:  # the scores are too far apart for so fine a grid
            break
        primal = 0.5 * float(w @ w.astype(np.float64)) + C * risk.value(scores)
        if primal < best:
            best, coef = primal, w
        direction = transposed_product(X, slope)
        square = float(direction @ direction)
        # The plane 0 is one too: the best average of both.
        share = min(1.0, height / (C * square)) if square > 0 else 1.0
        proven = C * share * height - 0.5 * (C * share) ** 2 * square
        if proven > bound:
            bound, dual = proven, -C * share * slope
        steps, passes = steps + found.certificate.n_iter, passes + found.certificate.n_passes + 2
        if callback is not None:
            callback(steps, best, bound)
        if best - bound <= 0.98 * tol * abs(best):
            break
        fruitless = 0 if best - bound < 0.9 * gap else fruitless + 1
        gap, width = min(gap, best - bound), FALL * width
    certificate = Certificate.of(
        best,
        bound,
        tolerance=tol,
        n_iter=max(steps, 1),
        n_passes=passes,
        seconds=time.perf_counter() - began,
    )
    return PlaneSolution(
        coef=coef,
        thresholds=np.empty(0),
        certificate=certificate,
        dual=dual,
        points=np.empty((0, X.shape[1])),
        point_weights=np.empty(0),
    )
