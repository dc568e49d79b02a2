"""Online MPRank: coordinate ascent of the dual, row after row, as printed.

Problem
    Least squares over all pairs as in ``least_squares``.  With z~ the rows less the mean of their group and xi_i =
    (y_i - w.z_i) less its mean, the dual of minimising 1/2 ||w||^2 + C sum_i u_i xi_i^2 is to maximise

        D(alpha) = sum_i alpha_i y~_i - 1/2 ||w||^2 - sum_i alpha_i^2 / (4 C u_i),      w = sum_i alpha_i z~_i.

    For one group of m rows u_i = 2 / m, and with C = C_paper / 2 twice D is the paper's (16).

Method
    For each row in turn:  alpha_i += eta (2 (y~_i - w.z~_i) - alpha_i / (C u_i)),  the paper's line 4, where the sum
    over j of alpha_j K~(x_i, x_j) is w.z~_i: no kernel matrix is ever there.  After each round over the rows the
    cost is computed; the paper stops when it changed by less than 0.01 %.  The paper does not give eta: without one
    each row takes the step that is best for it, 1 / (2 ||z~_i||^2 + 1 / (C u_i)).

    A block of rows at a time: what the rows of a block do to each other one after the other is the solution of a
    triangular system, so that the sequence is the printed one, at the speed of matrix products.

Certificate
    P(w) - D(alpha), alpha first made to sum to 0 in each group, which only raises D; or the gap by the gradient, if
    that is smaller.

Cost
    O(m d) a round for d features, or O(m) times the landmarks of a kernel.

Reference
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007, section 2.5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from shortlist.solvers.gram import group_means, is_sparse, scores_and_gradient
from shortlist.solvers.least_squares import LeastSquares
from shortlist.solvers.pair_problem import PairProblem
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["ROUNDS", "solve_online"]

ROUNDS = 1000
BLOCK = 64


def solve_online(
    Z: Any,
    problem: PairProblem,
    C: float,
    *,
    tol: float = 1e-4,
    max_iter: int = ROUNDS,
    eta: float | None = None,
    start: Array | None = None,
    callback: Callback | None = None,
) -> tuple[LeastSquares, bool]:
    """Run rounds until the cost stands still.

    Parameters
    ----------
    Z : (m, d) array or CSR
    problem : PairProblem
    C : float
    tol : float
        Change of the cost in a round, relative to it, at which to stop.
    max_iter : int
        The most rounds.
    eta : float, optional
        One step for all rows.
    start : (m, T) array, optional
        Dual variables to begin with.
    callback : callable, optional
        Called with round, objective and dual value.

    Returns
    -------
    LeastSquares
        The certificate's ``tolerance`` is ``tol``, its gap the true one.
    bool
        Whether the cost stood still.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> problem = PairProblem.of(np.array([[0.0], [2.0], [4.0]]))
    >>> found, stopped = solve_online(Z, problem, C=100.0)
    >>> found.solution.coef.round(2), stopped
    (array([[2.]]), True)
    """
    began = time.perf_counter()
    means = group_means(Z, problem)
    alpha = np.zeros(problem.y.shape) if start is None else start.astype(np.float64)
    present = problem.u > 0
    alpha[~present] = 0.0
    price = np.divide(1.0, C * problem.u, out=np.ones(len(alpha)), where=present)
    inverse_steps = _inverse_steps(Z, problem, means, price, eta)
    W = _spanned(Z, problem, means, alpha)
    primal = _objective(Z, problem, W, C)
    passes, n_iter, still = 4.0, 0, False
    while n_iter < max_iter and not still:
        for first in range(0, len(alpha), BLOCK):
            rows = slice(first, first + BLOCK)
            B = _centred(Z, problem, means, rows)
            B[~present[rows]] = 0.0
            rest = 2 * (problem.y[rows] - B @ W) - alpha[rows] * price[rows, None]
            rest[~present[rows]] = 0.0
            chain = np.tril(2 * (B @ B.T), -1)
            np.fill_diagonal(chain, inverse_steps[rows])
            change = solve_triangular(chain, rest, lower=True, check_finite=False)
            alpha[rows] += change
            W += B.T @ change
        n_iter += 1
        passes += 3.0
        before, primal = primal, _objective(Z, problem, W, C)
        still = abs(before - primal) <= tol * before
        if callback is not None:
            callback(n_iter, primal, _dual_value(problem, alpha, W, price))
    return _packed(Z, problem, C, W, alpha, price, tol, n_iter, passes, began), still


def _centred(Z: Any, problem: PairProblem, means: Array, rows: slice) -> Array:
    block = Z[rows]
    block = block.toarray() if is_sparse(block) else block
    return np.asarray(block - problem.spread(means, rows), dtype=np.float64)


def _inverse_steps(Z: Any, problem: PairProblem, means: Array, price: Array, eta: float | None) -> Array:
    """1 / eta for each row; an eta at which rows would run away is refused."""
    best = np.empty(len(price))
    for first in range(0, len(best), BLOCK):
        rows = slice(first, first + BLOCK)
        best[rows] = 2 * (_centred(Z, problem, means, rows) ** 2).sum(axis=1) + price[rows]
    best[problem.u == 0] = 1.0
    if eta is None:
        return best
    largest = 2 / float(best[problem.u > 0].max())
    if eta >= largest:
        raise ValueError(
            f"eta={eta:g} is too long a step: the updates run away from {largest:.3g} on. Use a smaller one, or "
            "eta=None, which takes the best for each row"
        )
    return np.full(len(best), 1 / eta)


def _spanned(Z: Any, problem: PairProblem, means: Array, alpha: Array) -> Array:
    W = np.zeros((Z.shape[1], alpha.shape[1]))
    if alpha.any():
        for first in range(0, len(alpha), BLOCK):
            rows = slice(first, first + BLOCK)
            W += _centred(Z, problem, means, rows).T @ alpha[rows]
    return W


def _objective(Z: Any, problem: PairProblem, W: Array, C: float) -> float:
    scores = np.asarray(Z @ W.astype(Z.dtype, copy=False), dtype=np.float64)
    return 0.5 * float(np.vdot(W, W)) + C * problem.risk(scores)


def _dual_value(problem: PairProblem, alpha: Array, W: Array, price: Array) -> float:
    return float(np.vdot(alpha, problem.y) - 0.5 * np.vdot(W, W) - 0.25 * (price @ alpha**2).sum())


def _packed(
    Z: Any,
    problem: PairProblem,
    C: float,
    W: Array,
    alpha: Array,
    price: Array,
    tol: float,
    n_iter: int,
    passes: float,
    began: float,
) -> LeastSquares:
    scores, gradient = scores_and_gradient(Z, problem, W, C)
    residuals = problem.y - scores
    primal = 0.5 * float(np.vdot(W, W)) + C * problem.risk(scores)
    by_gradient = primal - 0.5 * float(np.vdot(gradient, gradient))
    # Less its mean by u: the levels of the groups take no part in w, and cost something in D.
    sums = problem.sums(alpha / np.where(problem.u > 0, problem.u, 1.0)[:, None])
    alpha = alpha - problem.u[:, None] * problem.spread(sums / problem.totals[:, None])
    by_dual = _dual_value(problem, alpha, W, price)
    dual = alpha if by_dual >= by_gradient else 2 * C * problem.u[:, None] * problem.centre(residuals)
    certificate = Certificate.of(
        primal,
        min(max(by_dual, by_gradient), primal),
        tolerance=tol,
        n_iter=n_iter,
        n_passes=passes + 2.0,
        seconds=time.perf_counter() - began,
    )
    coef = np.ascontiguousarray(W.T).astype(Z.dtype, copy=False)
    return LeastSquares(Solution(coef, np.empty(0), certificate, np.ascontiguousarray(dual.T)), residuals)
