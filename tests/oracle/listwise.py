"""The listwise risks from their definitions: all orders of the rows, one constraint for each, a conic solver.

An order of m positives and n negatives says which negatives stand above which positives, pi_ij = 1 where j is above i,
and has a loss.  Structural risk minimisation with features proportional to sum_ij (1 - pi_ij) (x_i - x_j) is

    minimise 1/2 ||w||^2 + C xi   subject to   xi >= loss(pi) - scale * sum_ij pi_ij w.(x_i - x_j)   for every order.

Up to eight rows every order is listed.  Nothing here knows how the worst one could be found.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["average_precision_loss", "listwise_optimum", "listwise_value", "orders", "partial_auc_loss"]

ACCURACY = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


@cache
def orders(m: int, n: int) -> np.ndarray:
    """Every order of m positives, rows 0..m-1, and n negatives, rows m..m+n-1: a line each, the best row first."""
    return np.array(list(permutations(range(m + n))))


def _above(order: np.ndarray, m: int) -> np.ndarray:
    """pi of each order, (k, m, n)."""
    place = np.argsort(order, axis=1)
    return np.asarray(place[:, None, m:] < place[:, :m, None])


def average_precision_loss(order: np.ndarray, m: int) -> np.ndarray:
    """1 - AP of each order, rank by rank."""
    hit = order < m
    precision = np.cumsum(hit, axis=1) / np.arange(1, order.shape[1] + 1)
    return np.asarray(1 - (precision * hit).sum(axis=1) / m)


def partial_auc_loss(order: np.ndarray, m: int, first: int, last: int) -> np.ndarray:
    """Share of the pairs of a positive and the negative of rank first+1, ..., last that are out of order."""
    hit = order < m
    rank = np.cumsum(~hit, axis=1)  # of the negatives
    inside = ~hit & (rank > first) & (rank <= last)
    below = m - np.cumsum(hit, axis=1)  # positives that stand below each row
    return np.asarray((inside * below).sum(axis=1) / (m * (last - first)))


@cache
def _constraints(m: int, n: int, measure: str, first: int, last: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Distinct pairs of pi and loss over all orders, and the scale of the features."""
    order = orders(m, n)
    if measure == "average_precision":
        loss, scale = average_precision_loss(order, m), 2 / (m * n)
    else:
        loss, scale = partial_auc_loss(order, m, first, last), 1 / (m * (last - first))
    # The loss of an order depends on pi alone: one of each.
    pi, one = np.unique(_above(order, m).reshape(len(order), -1), axis=0, return_index=True)
    return pi.reshape(-1, m, n).astype(float), loss[one], scale


def _planes(P: np.ndarray, N: np.ndarray, measure: str, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and heights of all constraints on a group's positives and negatives: risk = max(slopes @ w + heights)."""
    tight, first, last = options.get("tight", False), options.get("first", 0), options.get("last", len(N))
    slopes, heights = [], []
    # The tight bound of the partial AUC looks at the negatives of any set that is as large as the range's end.
    for chosen in combinations(range(len(N)), last) if tight else [tuple(range(len(N)))]:
        pi, loss, scale = _constraints(len(P), len(chosen), measure, first, last)
        gaps = P[:, None] - N[list(chosen)][None]
        slopes.append(-scale * np.einsum("kij,ijd->kd", pi, gaps))
        heights.append(loss)
    return np.vstack(slopes), np.concatenate(heights)


def listwise_value(s: Any, y: Any, measure: str, **options: Any) -> float:
    """The risk of the scores of one group, as the largest over all orders."""
    s, y = np.asarray(s, dtype=float)[:, None], np.asarray(y)
    slopes, heights = _planes(s[y == 1], s[y == 0], measure, **options)
    return float((slopes[:, 0] + heights).max())


def listwise_optimum(
    X: Any, y: Any, C: float, measure: str, *, groups: Any = None, **options: Any
) -> tuple[float, np.ndarray]:
    """Optimal value and coefficients of 1/2 ||w||^2 + C * risk, all constraints listed.

    ``measure`` is 'average_precision' (groups count alike), 'partial_auc' with ``first``, ``last`` and ``tight``, or
    'ordered_pairs' with ``alpha``, weights by rank as long as the list of negatives: there a constraint is an order of
    the losses of one positive.  In the last two groups count by their positives.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    groups = np.zeros(len(y)) if groups is None else np.asarray(groups)
    w, total, constraints = cp.Variable(X.shape[1]), 0.0, []
    parts = [(X[(groups == g) & (y == 1)], X[(groups == g) & (y == 0)]) for g in np.unique(groups)]
    m = sum(len(P) for P, _ in parts)
    for P, N in parts:
        share = 1 / len(parts) if measure == "average_precision" else len(P) / m
        if measure == "ordered_pairs":
            alpha = np.array(list(permutations(options["alpha"])))
            for x in P:
                loss, xi = cp.Variable(len(N), nonneg=True), cp.Variable()
                constraints += [loss >= 1 - (x - N) @ w, xi >= alpha @ loss]
                total += xi / m
        else:
            slopes, heights = _planes(P, N, measure, **options)
            xi = cp.Variable()
            constraints.append(xi >= slopes @ w + heights)
            total += share * xi
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * total), constraints)
    problem.solve(solver=cp.CLARABEL, **ACCURACY)
    return float(problem.value), np.asarray(w.value)
