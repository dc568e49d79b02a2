"""TopPush's own algorithm: Nesterov's accelerated gradient on the dual in m + n variables [1]_.

With m positives, multiples alpha = (C/m) a and beta = (C/m) b of the paper's dual variables, and r_i the
weight of a positive over the mean weight (1 without weights), the dual that is *minimised* here is the
paper's (7),

    g(a, b) = C/(2m) ||X+' a - X-' b||^2 + sum_i r_i l*(a_i / r_i),     a, b >= 0,   sum(a) = sum(b),

so that -C/m g bounds the objective 1/2 ||w||^2 + C risk from below, at w = (C/m) (X+' a - X-' b).

Where the printed Algorithm 1 cannot be followed to the letter
--------------------------------------------------------------
* The loop counts from k = 0, but with t_{-1} = 0 and t_0 = 1 its ``omega_k = (t_{k-2} - 1) / t_{k-1}`` and
  ``L_k = L_{k-1}`` are defined from k = 1 on.  It starts at k = 1 here, where omega multiplies a zero.
* Line 10 accepts a step when g(new) <= g(s) + ||gradient||^2 / (2 L).  On a quadratic that lets 1/L be three
  times the inverse of the curvature, where even the plain gradient step diverges, and it does: on ionosphere
  (C = 1) the objective passes 1e190 within 100 steps.  With a minus sign, as for a step without constraints,
  the projected step fails the test at any L.  The condition that the convergence theorem needs is used:

      g(new) <= g(s) + <gradient, new - s> + L/2 ||new - s||^2 .

* Line 17 computes w but does not end the loop; it is the exit.
* Section 3.1 counts the logistic and exponential conjugates among the smooth ones.  Their slope is unbounded
  at 0, where the algorithm starts, so no L exists.  For these two the conjugate joins the projection: the
  step minimises <gradient, .> + L/2 ||. - s||^2 + sum_i r_i l*(a_i/r_i) over the feasible set, exactly, and
  keeps the paper's rate.

References
----------
.. [1] N. Li, R. Jin, Z.-H. Zhou. Top rank optimization in linear time. NIPS 2014, Algorithms 1 and 2.
.. [2] B. O'Donoghue, E. Candes. Adaptive restart for accelerated gradient schemes. Foundations of
   Computational Mathematics, 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import wrightomega

from shortlist.projections import box_simplex_pair, simplex_pair
from shortlist.risks.surrogates import Surrogate
from shortlist.risks.top import TopRisk
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]
Step = Callable[[Array, Array, Array, Array, float], tuple[Array, Array]]

__all__ = ["solve_nesterov"]


def solve_nesterov(
    X: Any,
    risk: TopRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 10_000,
    stop: Literal["paper", "gap"] = "paper",
    target: float | None = None,
    callback: Callable[[int, float, float], object] | None = None,
) -> Solution:
    """Minimise 1/2 ||w||^2 + C * risk(X w), the risk of the maximum threshold, through its dual.

    The method is described at the head of this module.  A step costs one product with X for the scores and
    one with its transpose for each trial of the line search, mostly one: two passes, and one projection in
    O(m + n).  The dual's error falls as 1/k^2; the objective of w follows later and not monotonically.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
        Products are computed in its dtype, without a copy.
    risk : TopRisk
        Threshold ``Maximum`` and one group; any surrogate.
    C : float
    tol : float
        For ``stop="paper"`` the epsilon of Algorithm 1, for ``stop="gap"`` a relative gap.
    max_iter : int
    stop : "paper" | "gap"
        ``"paper"`` ends when g changes by less than ``tol`` in a step (absolutely, as printed; the dual
        objective times m/C) and returns the last w.  ``"gap"`` ends when the best objective and the best
        bound so far agree to ``tol`` and returns the w that attains the first; to get there it drops the
        momentum whenever it points uphill [2]_.
    target : float, optional
        End as soon as the objective is at most this (with ``tol=0``: only then).
    callback : callable, optional
        Called as ``callback(n_iter, primal, bound)`` after each step; a true value ends the run.

    Returns
    -------
    Solution
        Its certificate holds for the returned coefficients, whichever rule ended the run.

    Raises
    ------
    ValueError
        For a threshold other than the maximum, or several groups.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.risks.surrogates import surrogate
    >>> from shortlist.risks.thresholds import Maximum
    >>> X = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    >>> y = np.array([True, True, False, False])
    >>> risk = TopRisk.from_labels(y, surrogate("squared_hinge"), Maximum())
    >>> solution = solve_nesterov(X, risk, 10.0, tol=1e-8, stop="gap")
    >>> solution.coef.round(4), round(solution.certificate.primal, 4), solution.certificate.converged
    (array([0.9091, 0.    ]), 0.4545, True)
    """
    if stop not in ("paper", "gap"):
        raise ValueError(f'stop must be "paper" or "gap", got {stop!r}')
    if risk.caps is not None or risk.n_groups > 1:
        raise ValueError(
            "solver='nesterov' is the TopPush paper's algorithm, for the maximum threshold without groups; "
            "use the working-set solver for others"
        )
    start = perf_counter()
    pos, neg = risk.positives, risk.negatives
    m, n = len(pos), len(neg)
    f, r = C / m, m * risk.positive_weights
    conjugate_slope, curvature, step = _dual_of(risk.surrogate, r)
    x_norm = _frobenius(X)
    L, enough = 1.0 / (m + n), f * x_norm**2 + 2 * curvature / float(r.min())
    eps = float(np.finfo(X.dtype).eps)

    def signed(a: Array, b: Array) -> Array:
        dual = np.zeros(X.shape[0])
        dual[pos], dual[neg] = f * a, -f * b
        return dual

    def bound_of(a: Array, w: Array) -> float:
        alpha = np.minimum(f * a, C * risk.positive_weights * risk.surrogate.dual_upper)
        return -0.5 * _square(w) - risk.conjugate(alpha, C)

    a, b = np.zeros(m), np.zeros(n)
    w, scores = np.zeros(X.shape[1], X.dtype), np.zeros(X.shape[0], X.dtype)
    a_old, b_old, w_old, scores_old = a, b, w, scores
    primal, bound = C * risk.value(scores), bound_of(a, w)
    g = -bound / f
    best, best_dual = (primal, w, scores), (bound, a, b)
    t_2, t_1 = 0.0, 1.0
    n_iter, n_passes = 0, 1.0
    while n_iter < max_iter:
        n_iter += 1
        omega = (t_2 - 1) / t_1
        s_a, s_b = a + omega * (a - a_old), b + omega * (b - b_old)
        s_w, s_scores = w + omega * (w - w_old), scores + omega * (scores - scores_old)
        g_a = s_scores[pos].astype(np.float64) + conjugate_slope(s_a)
        g_b = -s_scores[neg].astype(np.float64)
        a_old, b_old, w_old, scores_old, g_old = a, b, w, scores, g
        while True:
            a, b = step(s_a, s_b, g_a, g_b, L)
            w = X.T @ signed(a, b).astype(X.dtype)
            n_passes += 1
            moved = _square(a - s_a) + _square(b - s_b)
            # What g(new) exceeds its tangent at s by: exact for a quadratic, and free of cancellation.
            excess = _square(w - s_w) / (2 * f) + curvature * _square((a - s_a) / np.sqrt(r))
            rounding = 0.5 * f * (eps * x_norm) ** 2 * (_square(a) + _square(b))
            if excess <= 0.5 * L * moved + rounding or enough <= L:
                break
            L *= 2
        scores = X @ w
        n_passes += 1
        t_2, t_1 = t_1, (1 + np.sqrt(1 + 4 * t_1**2)) / 2
        primal, bound = 0.5 * _square(w) + C * risk.value(scores), bound_of(a, w)
        g = -bound / f
        best = min(best, (primal, w, scores), key=lambda candidate: candidate[0])
        best_dual = max(best_dual, (bound, a, b), key=lambda candidate: candidate[0])
        if callback is not None and callback(n_iter, primal, bound):
            break
        if target is not None and primal <= target:
            break
        if stop == "paper":
            if abs(g - g_old) < tol:
                break
        elif best[0] - best_dual[0] <= tol * abs(best[0]):
            break
        elif np.dot(s_a - a, a - a_old) + np.dot(s_b - b, b - b_old) > 0:
            a_old, b_old, w_old, scores_old, t_2, t_1 = a, b, w, scores, 0.0, 1.0
    if stop == "gap":
        primal, w, scores = best
    bound, a, b = best_dual
    return Solution(
        coef=w,
        thresholds=risk.thresholds(scores),
        certificate=Certificate.of(
            primal, bound, tolerance=tol, n_iter=n_iter, n_passes=n_passes, seconds=perf_counter() - start
        ),
        dual=signed(a, b),
    )


def _square(x: Array) -> float:
    return float(np.dot(x, x)) if x.dtype == np.float64 else float(np.sum(np.square(x, dtype=np.float64)))


def _frobenius(X: Any) -> float:
    entries: Any = X.data if hasattr(X, "tocsr") else None
    square = np.dot(entries, entries) if entries is not None else np.einsum("ij,ij->", X, X)
    return 1.001 * float(np.sqrt(square))  # not less than the norm, in float32 too


def _dual_of(loss: Surrogate, r: Array) -> tuple[Callable[[Array], Array], float, Step]:
    """Slope of the conjugate part of g, its curvature times r / 2, and the step of line 9."""
    if loss.name == "squared_hinge":
        return (
            lambda a: a / (2 * r) - 1,
            0.25,
            lambda sa, sb, ga, gb, L: simplex_pair(sa - ga / L, sb - gb / L),
        )
    if loss.name == "hinge":
        return (
            lambda a: np.full(len(a), -1.0),
            0.0,
            lambda sa, sb, ga, gb, L: box_simplex_pair(sa - ga / L, sb - gb / L, upper_a=r),
        )
    return (
        lambda a: np.zeros(len(a)),
        0.0,
        lambda sa, sb, ga, gb, L: _proximal_step(loss, r, sa, sb, ga, gb, L),
    )


def _proximal_step(
    loss: Surrogate, r: Array, sa: Array, sb: Array, ga: Array, gb: Array, L: float
) -> tuple[Array, Array]:
    """minimise <ga, a> + <gb, b> + L/2 ||(a, b) - (sa, sb)||^2 + sum_i r_i l*(a_i/r_i),  a, b >= 0,  sum(a)
    = sum(b).

    With the multiplier L c of the sums, a_i = r_i l'(z_i) where z_i + L r_i l'(z_i) = L (sa_i - c) - ga_i,
    and b = [sb - gb/L + c]_+.  Newton's method in c inside a bracket; the last projection removes the
    rounding.
    """
    a0, b0, kappa = sa - ga / L, sb - gb / L, L * r

    def excess(c: float) -> tuple[Array, Array, float, float]:
        z = _resolve(loss, L * (a0 - c), kappa)
        a, b = r * loss.derivative(z), np.maximum(b0 + c, 0)
        stiff = kappa * loss.second_derivative(z)
        return a, b, float(a.sum() - b.sum()), float((stiff / (1 + stiff)).sum() + np.count_nonzero(b))

    low = -float(b0.max())  # b = 0 there
    width = 1.0 + abs(low)
    while excess(low + width)[2] > 0:
        low, width = low + width, 2 * width
    high = low + width
    c = min(max(0.0, low), high)
    for _ in range(100):
        a, b, value, slope = excess(c)
        if abs(value) <= 1e-12 * float(b.sum()) or high - low <= 1e-15 * max(abs(low), abs(high)):
            break
        low, high = (c, high) if value > 0 else (low, c)
        newton = c + value / slope
        c = newton if low < newton < high else 0.5 * (low + high)
    return box_simplex_pair(a, b, upper_a=r) if np.isfinite(loss.dual_upper) else simplex_pair(a, b)


def _resolve(loss: Surrogate, x: Array, kappa: Array) -> Array:
    """The z with z + kappa l'(z) = x, elementwise, for the logistic and the exponential surrogate."""
    z: Array
    if loss.name == "exponential":  # y = kappa e^z satisfies y + log y = x + log kappa
        z = x - wrightomega(x + np.log(kappa))
        return z
    low, high = x - kappa, x.copy()
    z = np.clip(0.0, low, high)
    for _ in range(60):
        value = z + kappa * loss.derivative(z) - x
        np.copyto(high, z, where=value > 0)
        np.copyto(low, z, where=value <= 0)
        open_ = np.abs(value) > 1e-14 * (np.abs(x) + kappa)
        if not open_.any():
            break
        newton = z - value / (1 + kappa * loss.second_derivative(z))
        np.copyto(z, np.where((newton > low) & (newton < high), newton, 0.5 * (low + high)), where=open_)
    return z
