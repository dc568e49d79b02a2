"""Accuracy at the Top: the threshold is the (1 - tau) quantile of all scores.

The quantile of the scores is the score of some row.  Boyd, Cortes, Mohri and Radovanovic therefore solve one
convex program for each row q, with the score of q as the threshold,

    minimise over w:   1/2 ||w||^2 + C [ mean over positives of [1 - (s_i - s_q)]_+
                                         + mean over negatives of [1 + (s_j - s_q)]_+ ],      s = X w,

drop the condition that q be the quantile, and keep the best solution whose q is one: at most a share tau of
the rows scores above q, at least a share tau at or above it.  ``weighting="rows"`` replaces the two means by
one over all rows, which counts errors as the paper's loss does.

Here the programs are not all solved.  A dual point of one candidate bounds all others, and bounds of a
candidate's value and of its distance from the quantile improve with each interior-point step
(``aatp_candidate``); it is left as soon as it is proven worse than the best so far.  The order: first along
the fixed-point iteration "take the row at the quantile of the current scores", which finds a good incumbent
in a few steps, then by ascending bound.
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
from scipy.linalg import eigh

from shortlist.solvers.aatp_candidate import Candidates, Iterate
from shortlist.solvers.scatter import Products
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]

__all__ = ["AATPSolution", "solve_aatp"]

log = logging.getLogger(__name__)

MOST_NUMBERS = 2 * 10**8  # of the dense matrix that the programs work on: 1.6 GB
FIRST = 10  # candidates of the fixed-point iteration


@dataclass(frozen=True)
class AATPSolution(Solution):
    """The chosen candidate's solution, and how it was chosen.

    Attributes
    ----------
    candidate : int
        The row whose score is the threshold.
    n_solved : int
        Candidates solved to the tolerance.
    n_pruned : int
        Candidates proven worse before that, most of them unseen.
    quantile_satisfied : bool
        Whether the candidate's score is a (1 - tau) quantile of the training scores.
    violation : float
        Share of the rows by which it is not.
    exhaustive : bool
        Whether all rows were candidates.
    """

    candidate: int
    n_solved: int
    n_pruned: int
    quantile_satisfied: bool
    violation: float
    exhaustive: bool


def solve_aatp(
    X: Any,
    is_positive: Array,
    tau: float,
    C: float,
    *,
    sample_weight: Array | None = None,
    groups: Array | None = None,
    weighting: str = "classes",
    tol: float = 1e-4,
    max_iter: int = 100,
    max_candidates: int | None = None,
    callback: Callable[[int, float, float], None] | None = None,
) -> AATPSolution:
    """Accuracy at the Top, by one quadratic program for each candidate that cannot be ruled out.

    A program takes 10 to 20 interior-point steps of O(n r^2), r = min(n, d); a candidate that is ruled out
    takes a few or none.  How many are, depends on how far tau is from the share of rows that a support
    vector machine would call positive: expect seconds for a few hundred rows, minutes for a few thousand,
    and set ``max_candidates`` (100 is plenty) beyond.  X is held dense, in float64 and in r columns.

    Parameters
    ----------
    X : (n, d) array or CSR/CSC matrix, float32 or float64
    is_positive : (n,) bool array
    tau : float
        Share of all rows that may be at the top, 0 < tau < 1.
    C : float
        Weight of the risk, positive.
    sample_weight : (n,) array, optional
        Weights in the means and in the quantile; rows of weight 0 do not exist.
    groups : (n,) array, optional
        At most one distinct value: the quantile is taken over one list.
    weighting : {"classes", "rows"}
        A mean for each class, or one over all rows; the paper's C, with its sum, is C / n in the latter.
    tol : float
        Relative duality gap of a candidate's program.
    max_iter : int
        Most interior-point steps of a candidate.
    max_candidates : int, optional
        Only so many rows, the nearest to the quantile of a first solution's scores; all by default.
    callback : callable, optional
        ``callback(n_decided, primal, bound)`` after each candidate, with the two sides of the best so far.

    Returns
    -------
    AATPSolution
        The certificate covers the convex program of the chosen candidate.  The choice itself is exhaustive
        over the candidates: each other one is worse, by its solution or by a proven bound, in (violation of
        the quantile, objective), in this order and up to the tolerance.  Where none satisfies the quantile,
        the one nearest to it is returned and ``quantile_satisfied`` is False.  ``dual[candidate]`` balances
        the others, so that ``dual`` sums to 0.

    Raises
    ------
    ValueError
        On parameters out of range, several groups, a missing class, values that are not finite, or too large
        an X.

    References
    ----------
    S. Boyd, C. Cortes, M. Mohri and A. Radovanovic (2012), "Accuracy at the Top", NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0], [2.0], [1.5], [1.0], [0.0], [-1.0]])
    >>> y = np.array([True, True, False, False, False, False])
    >>> solution = solve_aatp(X, y, tau=1 / 3, C=10.0)
    >>> solution.candidate, solution.quantile_satisfied, solution.n_solved + solution.n_pruned
    (2, True, 6)
    """
    began = time.perf_counter()
    _check(X, tau, C, weighting, tol, max_iter, max_candidates)
    rows, y, weights = _rows(X, is_positive, sample_weight, groups)
    part = X if len(rows) == X.shape[0] else X[rows]
    Z, to_coef = _coordinates(part)
    shares = weights / weights.sum()
    scale = shares if weighting == "rows" else _by_class(weights, y)
    search = _Search(Candidates(Z, y, C * scale, shares, tau), tol, max_iter, callback)
    exhaustive = search.run(max_candidates)
    best, q = search.best, search.chosen
    data = Products(part)
    w = to_coef(best.w).astype(data.dtype)
    signed = best.alpha * y
    signed[q] -= signed.sum()
    scores = data.forward(w)
    margins = 1 - y * (scores - scores[q])
    w64 = w.astype(np.float64)
    v = data.back(signed)
    dual = np.zeros(X.shape[0])
    dual[rows] = signed
    violation = search.problem.violation(scores - scores[q])
    certificate = Certificate.of(
        float(w64 @ w64) / 2 + C * float(scale @ np.maximum(margins, 0)),
        float(best.alpha.sum()) - float(v @ v) / 2,
        tolerance=tol,
        n_iter=search.n_iter,
        n_passes=search.problem.passes + data.passes,
        seconds=time.perf_counter() - began,
    )
    log.debug("AATP: candidate %d, violation %g, %s", rows[q], violation, certificate)
    return AATPSolution(
        coef=w,
        thresholds=scores[[q]],
        certificate=certificate,
        dual=dual,
        candidate=int(rows[q]),
        n_solved=search.n_solved,
        n_pruned=search.n_pruned,
        quantile_satisfied=violation == 0,
        violation=violation,
        exhaustive=exhaustive,
    )


class _Search:
    """Best-first search for the candidate least in (violation, value)."""

    def __init__(
        self,
        problem: Candidates,
        tol: float,
        max_iter: int,
        callback: Callable[[int, float, float], None] | None,
    ) -> None:
        self.problem, self.tol, self.max_iter, self.callback = problem, tol, max_iter, callback
        self.n_iter = self.n_solved = self.n_pruned = 0
        self.best: Iterate = Iterate(np.zeros(0), np.zeros(0), np.inf, -np.inf, np.inf, 0.0)
        self.chosen = -1

    def run(self, max_candidates: int | None) -> bool:
        """Decide all candidates; whether these were all rows."""
        problem, n = self.problem, len(self.problem.y)
        budget = n if max_candidates is None else min(max_candidates, n)
        scores = problem.Z @ problem.free_threshold(self.tol, self.max_iter)
        lower, open_ = problem.bounds(np.zeros(n)), np.ones(n, dtype=bool)
        for _ in range(min(FIRST, budget)):
            q = problem.quantile_row(scores)
            if not open_[q]:
                break
            open_[q] = False
            last = self._decide(q)
            np.maximum(lower, problem.bounds(last.alpha), out=lower)
            scores = problem.Z @ last.w
        if budget < n:
            far = np.abs(problem.ranks(problem.Z @ self.best.w) - problem.tau)
            far[~open_] = -1
            open_[np.argsort(far, kind="stable")[budget:]] = False
        while open_.any():
            if self.best.violation == 0:
                worse = open_ & (lower > self.best.primal)
                open_ &= ~worse
                self.n_pruned += int(worse.sum())
            left = np.flatnonzero(open_)
            if len(left):
                q = int(left[np.argmin(lower[left])])
                open_[q] = False
                np.maximum(lower, problem.bounds(self._decide(q).alpha), out=lower)
        return budget == n

    def _decide(self, q: int) -> Iterate:
        """Solve candidate q, or prove it worse than the best; the iterate that shows it."""
        at: Iterate | None = None
        for step in self.problem.iterates(q, self.max_iter):
            self.n_iter += 1
            by_value = self.best.violation == 0 and step.bound > self.best.primal
            if by_value or step.least_violation > self.best.violation:
                self.n_pruned += 1
                return step
            if at is None or step.gap <= at.gap:  # rounding may spoil the last steps
                at = step
            if at.gap <= self.tol * at.primal:
                break
        if at is None:
            raise ValueError("a candidate's program has no finite step: scale the features first")
        self.n_solved += 1
        if (at.violation, at.primal) < (self.best.violation, self.best.primal):
            self.best, self.chosen = at, q
        if self.callback is not None:
            self.callback(self.n_solved + self.n_pruned, self.best.primal, self.best.bound)
        return at


def _check(
    X: Any, tau: float, C: float, weighting: str, tol: float, max_iter: int, max_candidates: int | None
) -> None:
    if not 0 < tau < 1:
        raise ValueError(f"tau is a share of the rows, between 0 and 1, got {tau!r}")
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a positive number, got {C!r}")
    if weighting not in ("classes", "rows"):
        raise ValueError(f"weighting must be 'classes' or 'rows', got {weighting!r}")
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol!r}")
    for name, number in (("max_iter", max_iter), ("max_candidates", max_candidates)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, got {number!r}")
    if X.shape[0] * min(X.shape) > MOST_NUMBERS:
        raise ValueError(
            f"AATP works on a dense matrix of {X.shape[0]} x {min(X.shape)} numbers here, too large: use "
            "PatMat, whose threshold is a quantile too, or fewer rows"
        )


def _rows(
    X: Any, is_positive: Array, sample_weight: Array | None, groups: Array | None
) -> tuple[Array, Array, Array]:
    """Row numbers that take part, their labels 1 and -1, their weights."""
    is_positive = np.asarray(is_positive, dtype=bool)
    weights = np.ones(len(is_positive)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    for name, given in (("is_positive", is_positive), ("sample_weight", weights)):
        if given.shape != (X.shape[0],):
            raise ValueError(f"{name} needs one entry a row of X, {X.shape[0]}, got shape {given.shape}")
    rows = np.flatnonzero(weights > 0)
    if groups is not None and len(np.unique(np.asarray(groups)[rows])) > 1:
        raise ValueError(
            "AATP takes its quantile over one list and knows no groups: leave groups out, or use PatMat, "
            "which keeps a threshold for each group"
        )
    y = np.where(is_positive[rows], 1.0, -1.0)
    if len(np.unique(y)) < 2:
        raise ValueError("AATP needs a positive and a negative row of positive weight")
    return rows, y, weights[rows]


def _by_class(weights: Array, y: Array) -> Array:
    positive = y > 0
    return np.asarray(weights / np.where(positive, weights[positive].sum(), weights[~positive].sum()))


def _coordinates(X: Any) -> tuple[Array, Callable[[Array], Array]]:
    """Rows in min(n, d) orthonormal coordinates, and the way back for coefficients."""
    n, d = X.shape
    dense = (lambda M: M.toarray()) if sp.issparse(X) else np.asarray
    if d <= n:
        Z = np.asarray(dense(X), dtype=np.float64)
        gram = Z
    else:
        gram = np.asarray(dense(X @ X.T), dtype=np.float64)
    if not np.all(np.isfinite(gram)) or np.abs(gram).max(initial=0.0) > 1e100:
        raise ValueError("X must hold finite, moderate numbers: impute missing values, scale the features")
    if d <= n:
        return Z, lambda w: w
    values, U = eigh(gram)
    keep = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    roots, U = np.sqrt(values[keep]), U[:, keep]
    return U * roots, lambda w: np.asarray(X.T @ (U @ (w / roots)).astype(X.dtype), dtype=np.float64)
