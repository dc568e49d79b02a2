"""RankSVM by a general conic solver, written over all pairs: slow, independent, right."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["pairwise_optimum"]

ACCURACY = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def pairwise_optimum(
    X: Any,
    y: Any,
    C: float,
    loss: str = "hinge",
    power: int = 0,
    *,
    groups: Any = None,
    weights: Any = None,
    signs: Any = None,
) -> tuple[float, np.ndarray]:
    """Optimal value and coefficients of 1/2 ||w||^2 + C * mean loss over the pairs with y_i < y_j within groups."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    groups = np.zeros(len(y)) if groups is None else np.asarray(groups)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    i, j = np.nonzero((groups[:, None] == groups) & (y[:, None] < y) & (weights[:, None] * weights > 0))
    share = weights[i] * weights[j] * (y[j] - y[i]) ** power
    share = share / share.sum()
    w = cp.Variable(X.shape[1])
    behind = (X[i] - X[j]) @ w
    each = {
        "hinge": lambda u: cp.pos(1 + u),
        "squared_hinge": lambda u: cp.square(cp.pos(1 + u)),
        "logistic": cp.logistic,
    }[loss](behind)
    constraints = [] if signs is None else [cp.multiply(np.asarray(signs, dtype=float), w) >= 0]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * (share @ each)), constraints)
    problem.solve(solver=cp.CLARABEL, **ACCURACY)
    return float(problem.value), np.asarray(w.value)
