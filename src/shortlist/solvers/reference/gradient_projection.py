"""The Infinite Push's own algorithm: gradient projection on the dual in m * n variables [1]_.

    minimise    Q(alpha) = 1/2 ||w||^2 - sum_ij alpha_ij,    w = sum_ij alpha_ij (x_i - x_j),
    subject to  alpha >= 0,   sum_j max_i alpha_ij / r_i <= C/m,

over all pairs of the m positives i and the n negatives j, r_i being a positive's weight over the mean
weight (1 in the paper).  -Q bounds the objective 1/2 ||w||^2 + C max_j mean_i [1 - w.(x_i - x_j)]_+ from
below.  The bound is the same as that of the dual in m + n variables, alpha_i = sum_j alpha_ij and beta_j =
sum_i alpha_ij: for a non-decreasing loss the largest mean over the positives is the mean at the largest
negative score, so the Infinite Push is the hinge case of TopPush, and nobody needs m * n variables.  They
are kept here to show that.

The gradient -1 + w.x_i - w.x_j comes from two products with X, one for w and one for the scores, in
O(m n + (m + n) d) instead of the O(m n d) that the paper counts.  With unequal weights the variables are
alpha_ij / r_i, whose set is the paper's.  The projection is the exact one: the paper's, which clips negative
entries last, is not (see ``projections.l1_inf_ball``).

References
----------
.. [1] S. Agarwal. The Infinite Push: a new support vector ranking algorithm that directly optimizes accuracy
   at the absolute top of the list. SDM 2011, Figure 2.
.. [2] E. Birgin, J. Martinez, M. Raydan. Nonmonotone spectral projected gradient methods on convex sets.
   SIAM Journal on Optimization, 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.projections import l1_inf_ball
from shortlist.risks.top import TopRisk
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]

__all__ = ["MAX_PAIRS", "solve_gradient_projection"]

MAX_PAIRS = 20_000_000  # 160 MB an array, of which the method holds half a dozen
_MEMORY = 10  # steps whose worst value a spectral step may return to


def solve_gradient_projection(
    X: Any,
    risk: TopRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    schedule: Literal["printed", "spectral"] = "spectral",
    eta0: float = 1e-3,
    callback: Callable[[int, float, float], object] | None = None,
) -> Solution:
    """Minimise 1/2 ||w||^2 + C max_j mean_i [1 - w.(x_i - x_j)]_+ through its dual in m * n variables.

    A step costs two products with X, O(m n) for the gradient and O(m n log m) for the projection.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : TopRisk
        Hinge surrogate, threshold ``Maximum``, one group, at most ``MAX_PAIRS`` pairs.
    C : float
        The paper's.
    tol : float
        End when the relative gap is at most this; 0 runs all ``max_iter`` steps, as the paper does.
    max_iter : int
        The paper's t_max, there 1000.
    schedule : "spectral" | "printed"
        ``"printed"`` is Figure 2: step eta0 / sqrt(t), the w of the iterate with the least Q.  Its error
        falls as 1/sqrt(t), which is too slow for a certificate.  ``"spectral"`` has the same start,
        gradient and projection, takes the step length from the last two iterates and searches along the
        projected step [2]_; it returns the w with the least objective so far.
    eta0 : float
        Of the printed schedule; the paper selects it from 1e-6 to 1e-2 by validation.
    callback : callable, optional
        Called as ``callback(n_iter, primal, bound)`` after each step; a true value ends the run.

    Returns
    -------
    Solution
        ``dual`` holds the sums over rows and columns of the m * n variables.

    Raises
    ------
    ValueError
        For another surrogate or threshold, several groups, or too many pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.risks.surrogates import surrogate
    >>> from shortlist.risks.thresholds import Maximum
    >>> X = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    >>> y = np.array([True, True, False, False])
    >>> risk = TopRisk.from_labels(y, surrogate("hinge"), Maximum())
    >>> solution = solve_gradient_projection(X, risk, 10.0, tol=1e-8)
    >>> solution.coef.round(4), round(solution.certificate.primal, 4), solution.certificate.converged
    (array([1., 0.]), 0.5, True)
    """
    _check(risk, schedule)
    start = perf_counter()
    pos, neg = risk.positives, risk.negatives
    m, n = len(pos), len(neg)
    radius, r = C / m, m * risk.positive_weights
    column = r[:, None]

    def state(alpha: Array) -> tuple[Array, Array]:
        """w, and the signed sums of the variables."""
        dual = np.zeros(X.shape[0])
        weighted = alpha if np.all(r == 1) else alpha * column
        dual[pos], dual[neg] = weighted.sum(axis=1), -weighted.sum(axis=0)
        return X.T @ dual.astype(X.dtype), dual

    def gradient(scores: Array) -> Array:
        s = scores.astype(np.float64)
        slope = np.subtract.outer(s[pos] - 1, s[neg])
        return slope if np.all(r == 1) else slope * column

    def value(w: Array, dual: Array) -> float:
        return 0.5 * _square(w) - float(dual[pos].sum())

    alpha = np.full((m, n), C / (1000 * m * n))
    w, dual = state(alpha)
    scores, Q = X @ w, value(w, dual)
    primal = 0.5 * _square(w) + C * risk.value(scores)
    best, best_dual = (primal, w, scores), (-Q, dual)
    n_iter, n_passes, eta, recent = 0, 2.0, 0.0, [Q]
    while best[0] - best_dual[0] > tol * abs(best[0]) and n_iter < max_iter:
        n_iter += 1
        slope = gradient(scores)
        if schedule == "printed":
            alpha = l1_inf_ball(alpha - eta0 / np.sqrt(n_iter) * slope, radius)
            w, dual = state(alpha)
        else:
            eta = eta or _first_step(alpha, slope, radius)
            direction = l1_inf_ball(alpha - eta * slope, radius) - alpha
            w_whole, dual_whole = state(alpha + direction)
            along, curvature = float(np.vdot(slope, direction)), _square(w_whole - w)
            # On a quadratic the non-monotone search has its answer in closed form: the whole step if it stays
            # below the worst recent value, the minimiser along the step otherwise.
            whole = Q + along + 0.5 * curvature <= max(recent) + 1e-4 * along
            step = 1.0 if whole else min(1.0, -along / curvature)
            alpha += step * direction
            w, dual = w + step * (w_whole - w), dual + step * (dual_whole - dual)
            eta = _square(direction) / curvature if curvature > 0 else 0.0
        n_passes += 2
        scores = X @ w
        Q = value(w, dual)
        recent = [*recent[1 - _MEMORY :], Q]
        primal = 0.5 * _square(w) + C * risk.value(scores)
        if best_dual[0] < -Q:
            best_dual = (-Q, dual)
            if schedule == "printed":
                best = (primal, w, scores)
        if schedule == "spectral" and primal < best[0]:
            best = (primal, w, scores)
        if callback is not None and callback(n_iter, primal, -Q):
            break
    return Solution(
        coef=best[1],
        thresholds=risk.thresholds(best[2]),
        certificate=Certificate.of(
            best[0],
            best_dual[0],
            tolerance=tol,
            n_iter=n_iter,
            n_passes=n_passes,
            seconds=perf_counter() - start,
        ),
        dual=best_dual[1],
    )


def _check(risk: TopRisk, schedule: str) -> None:
    if schedule not in ("printed", "spectral"):
        raise ValueError(f'schedule must be "printed" or "spectral", got {schedule!r}')
    if risk.surrogate.name != "hinge" or risk.caps is not None or risk.n_groups > 1:
        raise ValueError(
            "solver='gradient_projection' is the Infinite Push paper's algorithm, for the hinge and the "
            "maximum threshold without groups; use the working-set solver for others"
        )
    pairs = len(risk.positives) * len(risk.negatives)
    if pairs > MAX_PAIRS:
        raise ValueError(
            f"solver='gradient_projection' holds a variable for each of the {pairs} pairs, more than the "
            f"{MAX_PAIRS} it accepts; the working-set solver finds the same optimum with a variable a row"
        )


def _square(x: Array) -> float:
    return float(np.sum(np.square(x, dtype=np.float64)))


def _first_step(alpha: Array, slope: Array, radius: float) -> float:
    """A step that can move a variable as far as the set is wide."""
    return radius / max(float(np.abs(slope).max()), 1e-300)
