"""Least squares over all pairs: magnitude-preserving ranking with the squared cost.

Problem
    minimise over W (d x T):  sum_t 1/2 ||w_t||^2 + C * mean over ordered pairs (i, j) of a group of
    sum_t ((s_it - s_jt) - (y_it - y_jt))^2,   s = Z W.

Method
    The mean over pairs is a sum over rows with a free level in each group (`PairProblem`), so this is ridge regression
    with free intercepts.  With Z~, y~ centred and weighted and rho = 1 / (2 C) (that is m / (4 C) in the units of one
    group of m rows) the optimum is

        w = (G + rho I)^-1 b   with G = Z~'Z~,        or   w = Z~' (K + rho I)^-1 y~   with K = Z~Z~',

    whichever side is smaller, by one Cholesky factor.  Where both sides are large: conjugate gradients on
    (I + 2 C G) w = 2 C b, scaled by the diagonal, without G.

Certificate
    The objective is 1-strongly convex, so P(w) - min P <= ||grad P(w)||^2 / 2.  (The same number is the gap to the dual
    value at alpha = -2 C u * residual.)  The gradient is computed anew from the rows, not from G or K.  Where it is too
    large for the tolerance, the factor is used again to improve w.

Cost
    columns: m d^2 + d^3 / 3; rows: m^2 d + m^3 / 3; then one pass for the certificate.  Iterative: two passes a step.

References
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007.
    Y. Zhou, H. Chen, R. Lan, Z. Pan. Generalization performance of regularized ranking with multiscale kernels. IEEE
    TNNLS 2016.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from shortlist.solvers.gram import blocks, column_gram, group_means, is_sparse, row_gram, scores_and_gradient
from shortlist.solvers.pair_problem import PairProblem
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["LeastSquares", "certified", "choose_side", "memory_error", "solve_least_squares"]

REFINEMENTS = 5
MAX_STEPS = 2000
# What a product costs against one of dense blocks: products of a matrix with a vector wait for memory.
SLOW_DENSE, SLOW_SPARSE, STEPS = 10, 30, 200


class LeastSquares(NamedTuple):
    """The solution, and the residuals y - s (m, T) in the problem's centred targets."""

    solution: Solution
    residuals: Array


def choose_side(Z: Any, max_memory: float) -> str:
    """'primal' (d x d), 'dual' (m x m) or 'iterative', by shape, memory and a rough count of what each costs."""
    m, d = Z.shape
    small = min(m, d)
    if 8.0 * small**2 > max_memory:
        return "iterative"
    thin = is_sparse(Z)
    direct = small**3 / 3 + m * d * small / (1 if not thin else 10)
    steps = 4.0 * STEPS * (SLOW_SPARSE * Z.nnz if thin else SLOW_DENSE * m * d)
    if direct > 4 * steps and not hasattr(Z, "features"):
        return "iterative"
    return "primal" if d <= m else "dual"


def memory_error(side: int, max_memory: float, advice: str) -> ValueError:
    """What to say where a square matrix does not fit."""
    return ValueError(
        f"a matrix of {side:,} x {side:,} takes {8.0 * side**2:.3g} bytes, beyond max_memory={max_memory:g}. {advice}"
    )


def solve_least_squares(
    Z: Any,
    problem: PairProblem,
    C: float,
    *,
    tol: float = 1e-6,
    max_iter: int = MAX_STEPS,
    solver: str = "auto",
    max_memory: float = 2e9,
    start: Array | None = None,
    callback: Callback | None = None,
) -> LeastSquares:
    """Solve the problem and certify the answer.

    Parameters
    ----------
    Z : (m, d) array, CSR, or rows made on demand
    problem : PairProblem
    C : float
    tol : float
        Relative gap.
    max_iter : int
        Steps of conjugate gradients.
    solver : {'auto', 'primal', 'dual', 'iterative'}
    max_memory : float
        Bytes that G or K may take.
    start : (d, T) array, optional
        Where conjugate gradients begin.
    callback : callable, optional
        Called with step, objective and bound.

    Returns
    -------
    LeastSquares
        ``coef`` of the solution is (T, d), ``dual`` (T, m).

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> problem = PairProblem.of(np.array([[0.0], [2.0], [4.0]]))
    >>> solution = solve_least_squares(Z, problem, C=100.0).solution
    >>> solution.coef.round(3)
    array([[1.993]])
    >>> solution.certificate.converged
    True
    """
    began = time.perf_counter()
    side = choose_side(Z, max_memory) if solver == "auto" else solver
    if side == "iterative":
        W, n_iter, passes = _conjugate_gradients(Z, problem, C, tol, max_iter, start, callback)
        improve = None
    else:
        small = Z.shape[1] if side == "primal" else Z.shape[0]
        if 8.0 * small**2 > max_memory:
            other = "dual" if side == "primal" else "primal"
            raise memory_error(small, max_memory, f"Use solver='iterative' or '{other}', or raise max_memory")
        W, improve = _primal(Z, problem, C) if side == "primal" else _dual(Z, problem, C)
        n_iter, passes = 1, 1.0
    scores, gradient = scores_and_gradient(Z, problem, W, C)
    primal, bound = _sides(problem, W, scores, gradient, C)
    passes += 2.0
    for _ in range(REFINEMENTS):
        if improve is None or primal - bound <= tol * primal:
            break
        better = W - improve(gradient)
        scores_of_better, gradient_of_better = scores_and_gradient(Z, problem, better, C)
        passes += 2.0
        sides = _sides(problem, better, scores_of_better, gradient_of_better, C)
        if sides[0] - sides[1] >= primal - bound:
            break
        W, scores, gradient, (primal, bound) = better, scores_of_better, gradient_of_better, sides
        n_iter += 1
    if callback is not None:
        callback(n_iter, primal, bound)
    seconds = time.perf_counter() - began
    certificate = Certificate.of(primal, bound, tolerance=tol, n_iter=n_iter, n_passes=passes, seconds=seconds)
    return _packed(Z, problem, W, C, scores, certificate)


def certified(
    Z: Any,
    problem: PairProblem,
    W: Array,
    C: float,
    *,
    tol: float,
    began: float,
    n_iter: int = 1,
    n_passes: float = 1.0,
) -> LeastSquares:
    """Weights (d, T) from elsewhere, with their certificate: two passes more."""
    scores, gradient = scores_and_gradient(Z, problem, W, C)
    primal, bound = _sides(problem, W, scores, gradient, C)
    seconds = time.perf_counter() - began
    certificate = Certificate.of(
        primal, bound, tolerance=tol, n_iter=n_iter, n_passes=n_passes + 2, seconds=seconds
    )
    return _packed(Z, problem, W, C, scores, certificate)


def _packed(
    Z: Any, problem: PairProblem, W: Array, C: float, scores: Array, certificate: Certificate
) -> LeastSquares:
    residuals = problem.y - scores
    dual = 2 * C * problem.u[:, None] * problem.centre(residuals)
    coef = np.ascontiguousarray(W.T).astype(Z.dtype, copy=False)
    return LeastSquares(Solution(coef, np.empty(0), certificate, np.ascontiguousarray(dual.T)), residuals)


def _sides(problem: PairProblem, W: Array, scores: Array, gradient: Array, C: float) -> tuple[float, float]:
    primal = 0.5 * float(np.vdot(W, W)) + C * problem.risk(scores)
    return primal, primal - 0.5 * float(np.vdot(gradient, gradient))


def _primal(Z: Any, problem: PairProblem, C: float) -> tuple[Array, Callable[[Array], Array]]:
    G, b = column_gram(Z, problem)
    solve = _solver(G, 1 / (2 * C))
    return solve(b), lambda gradient: solve(gradient / (2 * C))


def _dual(Z: Any, problem: PairProblem, C: float) -> tuple[Array, Callable[[Array], Array]]:
    root = np.sqrt(problem.u)[:, None]
    rho = 1 / (2 * C)
    solve = _solver(row_gram(Z, problem), rho)

    def spanned(alpha: Array) -> Array:
        return np.asarray(Z.T @ _uncentred(problem, root * alpha).astype(Z.dtype, copy=False), dtype=np.float64)

    def improve(gradient: Array) -> Array:
        # (I + 2 C Z~'Z~)^-1 g = g - Z~' (K + rho I)^-1 Z~ g
        seen = root * problem.centre(np.asarray(Z @ gradient.astype(Z.dtype, copy=False), dtype=np.float64))
        return np.asarray(gradient - spanned(solve(seen)))

    return spanned(solve(root * problem.y)), improve


def _uncentred(problem: PairProblem, values: Array) -> Array:
    """What multiplies the raw rows when ``values`` multiply the rows less their group's mean."""
    g = problem.groups
    if g is None:
        return np.asarray(values - problem.u[:, None] * (values.sum(axis=0) / problem.totals[0]))
    total = np.stack([np.bincount(g, weights=column, minlength=len(problem.totals)) for column in values.T], axis=1)
    return np.asarray(values - problem.u[:, None] * (total / problem.totals[:, None])[g])


def _solver(M: Array, shift: float) -> Callable[[Array], Array]:
    """Solves with ``M + shift I``, M positive semidefinite to rounding; M is overwritten.

    Where the shift is lost in the rounding of M, what M does not see to rounding is left out: right-hand sides have no
    part in it, or their part has no part in w.
    """
    diagonal = np.diagonal(M).copy()
    rounding = len(M) * np.finfo(np.float64).eps * float(diagonal.sum())
    if shift > rounding:
        M.flat[:: len(M) + 1] += shift
        try:
            # LAPACK sees the transpose and writes to its lower triangle: the lower triangle of M stays what it is.
            factor = cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
            return lambda rhs: np.asarray(cho_solve(factor, rhs, check_finite=False))
        except LinAlgError:
            np.fill_diagonal(M, diagonal)
    values, vectors = eigh(M, lower=True, driver="evd", check_finite=False)
    seen = values > max(rounding, 2 * abs(min(float(values[0]), 0.0)))
    vectors, scale = vectors[:, seen], 1 / (values[seen, None] + shift)
    return lambda rhs: np.asarray(vectors @ (scale * (vectors.T @ rhs)))


def _conjugate_gradients(
    Z: Any, problem: PairProblem, C: float, tol: float, max_iter: int, start: Array | None, callback: Callback | None
) -> tuple[Array, int, float]:
    """Each target on its own course, all in the same products; stops where the gap of the sum is small enough."""
    d, T = Z.shape[1], problem.y.shape[1]
    W = np.zeros((d, T)) if start is None else start.astype(np.float64)
    scores, gradient = scores_and_gradient(Z, problem, W, C)
    passes = 2.0
    scale = 1 / (1 + 2 * C * _column_squares(Z, problem))[:, None]
    residual = -gradient
    primal = 0.5 * float(np.vdot(W, W)) + C * problem.risk(scores)
    z = scale * residual
    direction = z.copy()
    rz = (residual * z).sum(axis=0)
    empty = PairProblem(np.zeros_like(problem.y), problem.u, problem.groups, problem.totals)
    step = 0
    for step in range(1, max_iter + 1):
        gap = 0.5 * float(np.vdot(residual, residual))
        if gap <= 0.5 * tol * primal:
            return W, step, passes
        # The gradient of the problem with targets 0 is the product with I + 2 C G.
        _, image = scores_and_gradient(Z, empty, direction, C)
        passes += 2.0
        curvature = (direction * image).sum(axis=0)
        length = np.divide(rz, curvature, out=np.zeros(T), where=curvature > 0)
        # Along a direction p the objective falls by  length * (r.p) - length^2 / 2 * (p.A p).
        primal -= float((length * (residual * direction).sum(axis=0) - 0.5 * length**2 * curvature).sum())
        W += length * direction
        residual -= length * image
        z = scale * residual
        fresh = (residual * z).sum(axis=0)
        direction = z + np.divide(fresh, rz, out=np.zeros(T), where=rz > 0) * direction
        rz = fresh
        if callback is not None:
            callback(step, primal, primal - 0.5 * float(np.vdot(residual, residual)))
    return W, step, passes


def _column_squares(Z: Any, problem: PairProblem) -> Array:
    """``sum_i z~_ij^2``, the diagonal of G."""
    means = group_means(Z, problem)
    if is_sparse(Z):
        squares = np.asarray(Z.multiply(Z).T @ problem.u, dtype=np.float64)
    else:
        squares = np.zeros(Z.shape[1])
        for rows, block in blocks(Z):
            squares += problem.u[rows] @ (block * block)
    return np.asarray(np.maximum(squares - problem.totals @ means**2, 0.0))
