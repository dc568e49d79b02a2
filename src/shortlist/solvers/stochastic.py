"""Stochastic least squares over pairs: steps from a few pairs each, with averaging or with less and less noise.

Problem
    As in ``least_squares``, divided by 2 C:

        phi(W) = lambda / 2 ||W||^2 + 1/2 mean over ordered pairs of ||W'(z_i - z_j) - (y_i - y_j)||^2,
        lambda = 1 / (2 C).

Method
    Pairs are drawn as the mean weighs them: i with probability u_i / 2 (a group by its number of pairs), then j in its
    group by the weights.  One step of constant length from the mean gradient of a batch of pairs.

    *Averaged*: the answer is the mean of the steps since the last epoch that is a power of two; for least squares that
    mean converges although the step does not shrink (Bach and Moulines 2013).

    *Variance reduced*: at the end of an epoch the gradient over all pairs is computed, at the price of a pass; in the
    next epoch a batch only estimates what changed since: g(W) = grad(W_0) + lambda (W - W_0) + D'D (W - W_0) / B with
    D the batch's differences.  The noise vanishes with the distance to the optimum, so that the gap falls by a factor
    in each epoch (Johnson and Zhang 2013) and ``tol`` can be met.

    An epoch draws as many pairs as there are rows.  The length of the step comes from the largest difference and from a
    few steps of the power method.

Certificate
    The gradient at the end of each epoch bounds the gap, ||grad P||^2 / 2, and ends the run.

References
    F. Bach, E. Moulines. Non-strongly-convex smooth stochastic approximation with convergence rate O(1/n). NIPS 2013.
    R. Johnson, T. Zhang. Accelerating stochastic gradient descent using predictive variance reduction. NIPS 2013.
    H. Chen et al. Error analysis of stochastic gradient descent ranking. IEEE Trans. Cybernetics 2013.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.gram import blocks, group_means, is_sparse, scores_and_gradient
from shortlist.solvers.least_squares import LeastSquares, certified
from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["EPOCHS", "solve_stochastic"]

EPOCHS = 100
POWER_STEPS = 8


def solve_stochastic(
    Z: Any,
    problem: PairProblem,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = EPOCHS,
    averaged: bool = False,
    batch_size: int = 64,
    seed: int = 0,
    start: Array | None = None,
    callback: Callback | None = None,
) -> LeastSquares:
    """Run epochs until the gap is small enough.

    Parameters
    ----------
    Z : (m, d) array or CSR
    problem : PairProblem
    C : float
    tol : float
        Relative gap.
    max_iter : int
        The most epochs.
    averaged : bool
        Averages alone. Otherwise the first epoch is averaged and the others are variance reduced.
    batch_size : int
        Pairs in a step.
    seed : int
    start : (d, T) array, optional
    callback : callable, optional
        Called with epoch, objective and bound.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> problem = PairProblem.of(np.array([[0.0], [2.0], [4.0]]))
    >>> solve_stochastic(Z, problem, C=5.0, tol=1e-6).solution.certificate.converged
    True
    """
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    pairs = _Pairs.of(problem)
    shrink = 1 / (2 * C)
    step = 1 / _curvature(Z, problem, shrink, batch_size, rng)
    W = np.zeros((Z.shape[1], problem.y.shape[1])) if start is None else start.astype(np.float64)
    n_steps = max(1, -(-len(problem.u) // batch_size))
    passes, n_iter, best = 2.0 * POWER_STEPS + 2.0, 0, (np.inf, W)
    total, taken, current = np.zeros_like(W), 0, W.copy()
    pull = np.zeros_like(W)
    for epoch in range(1, max_iter + 1):
        if averaged or epoch == 1:
            if epoch & (epoch - 1) == 0:
                total, taken = np.zeros_like(W), 0
            for _ in range(n_steps):
                i, j = pairs.draw(batch_size, rng)
                error = _differences(Z, i, j, current) - (problem.y[i] - problem.y[j])
                current -= step * (shrink * current + _gathered(Z, i, j, error) / batch_size)
                total += current
            taken += n_steps
            W = total / taken
        else:
            anchor = best[1]
            moved = np.zeros_like(W)
            for _ in range(n_steps):
                i, j = pairs.draw(batch_size, rng)
                change = _gathered(Z, i, j, _differences(Z, i, j, moved)) / batch_size
                moved -= step * (pull + shrink * moved + change)
            W = anchor + moved
        scores, gradient = scores_and_gradient(Z, problem, W, C)
        passes += 6.0
        n_iter = epoch
        primal = 0.5 * float(np.vdot(W, W)) + C * problem.risk(scores)
        gap = 0.5 * float(np.vdot(gradient, gradient))
        if callback is not None:
            callback(epoch, primal, primal - gap)
        if averaged or primal < best[0]:
            best, pull = (primal, W), gradient / (2 * C)
        else:
            step /= 2
        if gap <= 0.9 * tol * primal:
            break
    return certified(Z, problem, best[1], C, tol=tol, began=began, n_iter=n_iter, n_passes=passes)


@dataclass(frozen=True)
class _Pairs:
    """Draws ordered pairs with the probability a_i a_j / S."""

    order: Array
    by_pairs: Array  # cumulative u in this order
    by_weight: Array  # cumulative weight within groups, all groups one after the other, each of sum 1
    place: Array  # number of the group of each row among those that weigh anything

    @classmethod
    def of(cls, problem: PairProblem) -> _Pairs:
        present = np.flatnonzero(problem.u > 0)
        if problem.groups is None:
            order, place = present, np.zeros(len(problem.u), dtype=np.intp)
            share = problem.u[order] / problem.totals[0]
        else:
            order = present[np.argsort(problem.groups[present], kind="stable")]
            place = np.zeros(len(problem.u), dtype=np.intp)
            place[order] = np.unique(problem.groups[order], return_inverse=True)[1]
            share = problem.u[order] / problem.totals[problem.groups[order]]
        return cls(order, np.cumsum(problem.u[order]), np.cumsum(share), place)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        most = len(self.order) - 1
        i = self.order[np.minimum(np.searchsorted(self.by_pairs, rng.random(size) * self.by_pairs[-1]), most)]
        spot = self.place[i] + rng.random(size)
        return i, self.order[np.minimum(np.searchsorted(self.by_weight, spot), most)]


def _differences(Z: Any, i: Array, j: Array, W: Array) -> Array:
    own = W.astype(Z.dtype, copy=False)
    if is_sparse(Z):
        return np.asarray(Z[i] @ own - Z[j] @ own, dtype=np.float64)
    return np.asarray((Z[i] - Z[j]) @ own, dtype=np.float64)


def _gathered(Z: Any, i: Array, j: Array, error: Array) -> Array:
    own = error.astype(Z.dtype, copy=False)
    if is_sparse(Z):
        return np.asarray(Z[i].T @ own - Z[j].T @ own, dtype=np.float64)
    return np.asarray((Z[i] - Z[j]).T @ own, dtype=np.float64)


def _curvature(Z: Any, problem: PairProblem, shrink: float, batch_size: int, rng: np.random.Generator) -> float:
    """What the mean of a batch may curve: lambda + the mean's own share + a batch's share of the largest pair."""
    means = group_means(Z, problem)
    largest, mean = 0.0, 0.0
    for rows, block in blocks(Z):
        block = block.toarray() if is_sparse(block) else block
        squares = ((block - problem.spread(means, rows)) ** 2).sum(axis=1, dtype=np.float64)
        largest = max(largest, float(squares[problem.u[rows] > 0].max(initial=0.0)))
        mean += float(problem.u[rows] @ squares)
    # ||z_i - z_j|| <= twice the longest centred row; the mean of the squares is sum_i u_i ||z~_i||^2.
    bare = PairProblem(np.zeros((len(problem.u), 1)), problem.u, problem.groups, problem.totals)
    v = rng.normal(size=(Z.shape[1], 1))
    top = 0.0
    for _ in range(POWER_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0:
            break
        v /= length
        image = scores_and_gradient(Z, bare, v, 0.5)[1] - v
        top, v = float(np.linalg.norm(image)), image
    top = min(mean, 1.2 * top)
    return float(shrink + top + (4 * largest - top) / batch_size if 4 * largest > top else shrink + top) or 1.0
