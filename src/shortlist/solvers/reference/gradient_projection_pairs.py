"""RankSVM by gradient projection on the dual in a variable a pair [1]_.

    minimise    Q(alpha) = 1/2 ||w||^2 - sum_p alpha_p,    w = sum_p alpha_p (x_better(p) - x_worse(p)),
    subject to  0 <= alpha_p <= C omega_p,

over all pairs p of a better and a worse row, omega_p the share of the pair in the risk: C / (m n) for m positives and n
negatives of weight 1, as in the paper.  -Q bounds the objective 1/2 ||w||^2 + C sum_p omega_p [1 - w.(x_b - x_w)]_+
from below.

The gradient -1 + s_better - s_worse takes two products with X, one for w and one for the scores, and O(pairs); the
projection clips.  Both are the paper's; nobody needs a variable a pair (``solvers.bundle`` reaches the same optimum
with a sort), and they are kept to show that.

References
----------
.. [1] S. Agarwal. The Infinite Push: a new support vector ranking algorithm that directly optimizes accuracy at the
   absolute top of the list. SDM 2011, Figure 3.
.. [2] E. Birgin, J. Martinez, M. Raydan. Nonmonotone spectral projected gradient methods on convex sets. SIAM Journal
   on Optimization, 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.pairwise import PairwiseRisk
from shortlist.solvers.rows import product, transposed_product
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]

__all__ = ["MAX_PAIRS", "PairDualSolution", "solve_pairs_by_projection"]

MAX_PAIRS = 5_000_000  # 40 MB an array, of which the method holds half a dozen
_MEMORY = 10  # steps whose worst value a spectral step may return to


@dataclass(frozen=True)
class PairDualSolution(Solution):
    """A solution with its dual variables.

    Attributes
    ----------
    pairs : (2, k) int array
        Better and worse row of each pair whose variable is not 0.
    pair_dual : (k,) array
        Their variables.
    """

    pairs: Array
    pair_dual: Array


def solve_pairs_by_projection(
    X: Any,
    risk: PairwiseRisk,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    schedule: Literal["printed", "spectral"] = "spectral",
    eta0: float = 1e-3,
    callback: Callable[[int, float, float], object] | None = None,
) -> PairDualSolution:
    """Minimise 1/2 ||w||^2 + C risk(X w) through its dual in a variable a pair.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix, float32 or float64
    risk : PairwiseRisk
        Of the hinge, with at most ``MAX_PAIRS`` pairs.
    C : float
        The paper's.
    tol : float
        End when the relative gap is at most this; 0 runs all ``max_iter`` steps, as the paper does.
    max_iter : int
        The paper's t_max.
    schedule : "spectral" | "printed"
        ``"printed"`` is Figure 3: step eta0 / sqrt(t), the w of the iterate with the least Q.  ``"spectral"`` has the
        same start, gradient and projection, takes the step length from the last two iterates and searches along the
        projected step [2]_; it returns the w with the least objective so far.
    eta0 : float
        Of the printed schedule.
    callback : callable, optional
        Called as ``callback(n_iter, primal, bound)`` after each step; a true value ends the run.

    Raises
    ------
    ValueError
        For another loss, another schedule, or too many pairs.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    >>> risk = PairwiseRisk.from_labels(np.array([1, 1, 0, 0]), "hinge")
    >>> solution = solve_pairs_by_projection(X, risk, 10.0, tol=1e-8)
    >>> solution.coef.round(4), round(solution.certificate.primal, 4), solution.certificate.converged
    (array([1., 0.]), 0.5, True)
    """
    _check(risk, schedule)
    start = perf_counter()
    better, worse, share = _pairs(risk)
    upper = C * share

    def state(alpha: Array) -> tuple[Array, Array]:
        """w, and the signed sums of the variables."""
        n_rows = X.shape[0]
        dual = np.bincount(better, alpha, n_rows) - np.bincount(worse, alpha, n_rows)
        return transposed_product(X, dual), dual

    def value(w: Array, alpha: Array) -> float:
        return 0.5 * float(w @ w) - float(alpha.sum())

    alpha = upper / 1000
    w, dual = state(alpha)
    scores, Q = product(X, w), value(w, alpha)
    best = 0.5 * float(w @ w) + C * risk.value(scores), w
    proof = -Q, dual, alpha.copy()
    n_iter, n_passes, eta, recent = 0, 2.0, 0.0, [Q]
    while best[0] - proof[0] > tol * abs(best[0]) and n_iter < max_iter:
        n_iter += 1
        slope = scores[better] - scores[worse] - 1.0
        if schedule == "printed":
            alpha = np.clip(alpha - eta0 / np.sqrt(n_iter) * slope, 0.0, upper)
            w, dual = state(alpha)
        else:
            eta = eta or float(upper.max(initial=0.0)) / max(float(np.abs(slope).max(initial=0.0)), 1e-300)
            direction = np.clip(alpha - eta * slope, 0.0, upper) - alpha
            w_along, dual_along = state(direction)
            along, curvature = float(slope @ direction), float(w_along @ w_along)
            # On a quadratic the non-monotone search has its answer in closed form: the whole step if it stays below
            # the worst recent value, the minimiser along the step otherwise.
            whole = Q + along + 0.5 * curvature <= max(recent) + 1e-4 * along
            step = 1.0 if whole else min(1.0, -along / curvature)
            alpha = alpha + step * direction
            w, dual = w + step * w_along, dual + step * dual_along
            eta = float(direction @ direction) / curvature if curvature > 0 else 0.0
        n_passes += 2
        scores = product(X, w)
        Q = value(w, alpha)
        recent = [*recent[1 - _MEMORY :], Q]
        primal = 0.5 * float(w @ w) + C * risk.value(scores)
        if proof[0] < -Q:
            proof = -Q, dual, alpha
            if schedule == "printed":
                best = primal, w
        if schedule == "spectral" and primal < best[0]:
            best = primal, w
        if callback is not None and callback(n_iter, primal, -Q):
            break
    coef = best[1].astype(X.dtype)
    rounded = coef.astype(np.float64)
    used = np.flatnonzero(proof[2])
    return PairDualSolution(
        coef=coef,
        thresholds=np.empty(0),
        certificate=Certificate.of(
            0.5 * float(rounded @ rounded) + C * risk.value(product(X, rounded)),
            proof[0],
            tolerance=tol,
            n_iter=n_iter,
            n_passes=n_passes + 1,
            seconds=perf_counter() - start,
        ),
        dual=proof[1],
        pairs=np.stack([better[used], worse[used]]),
        pair_dual=proof[2][used],
    )


def _check(risk: PairwiseRisk, schedule: str) -> None:
    if schedule not in ("printed", "spectral"):
        raise ValueError(f'schedule must be "printed" or "spectral", got {schedule!r}')
    if risk.loss != "hinge":
        raise ValueError(
            f"solver='gradient_projection' is a paper's algorithm for the hinge, got loss={risk.loss!r}: take "
            "solver='auto', or loss='hinge'"
        )
    pairs = sum(int((h.low_to - h.low_from).sum()) for h in risk.pairs.all_pairs())
    if pairs > MAX_PAIRS:
        raise ValueError(
            f"solver='gradient_projection' holds a variable for each of the {pairs} pairs, more than the {MAX_PAIRS} "
            "it accepts; solver='bundle' finds the same optimum without listing a pair"
        )


def _pairs(risk: PairwiseRisk) -> tuple[Array, Array, Array]:
    """Better row, worse row and share of every pair."""
    better, worse = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for h in risk.pairs.all_pairs():
        count = h.low_to - h.low_from
        first = np.append(0, np.cumsum(count))
        better.append(h.high[np.arange(first[-1]) + np.repeat(h.low_from - first[:-1], count)])
        worse.append(np.repeat(h.low, count))
    i, j = np.concatenate(better), np.concatenate(worse)
    share = risk.weights[i] * risk.weights[j] * (risk.y[i] - risk.y[j]) ** risk.power / risk.total
    return risk.rows[i], risk.rows[j], share
