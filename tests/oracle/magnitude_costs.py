"""The magnitude costs by a general conic solver, written over all pairs: slow, independent, right."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["magnitude_optimum"]

ACCURACY = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def magnitude_optimum(
    X: Any,
    y: Any,
    C: float,
    cost: str,
    order: int,
    *,
    epsilon: float = 0.0,
    one_sided: str = "closure",
    groups: Any = None,
    weights: Any = None,
) -> tuple[float, np.ndarray]:
    """Optimal value and coefficients of 1/2 ||w||^2 + C * mean cost over the ordered pairs within groups."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    groups = np.zeros(len(y)) if groups is None else np.asarray(groups)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    i, j = np.nonzero(groups[:, None] == groups[None, :])
    mass = weights[i] * weights[j]
    total = mass.sum()
    w = cp.Variable(X.shape[1])
    if cost in ("mp", "svr"):
        away = cp.abs((X[j] - X[i]) @ w - (y[j] - y[i])) - (epsilon if cost == "svr" else 0.0)
        terms = [(mass, cp.pos(away) if order == 1 else cp.square(cp.pos(away)))]
    else:
        # Each misranked pair appears in both orders: take the one with Y > 0, twice.
        up = y[j] > y[i]
        i, j, mass = i[up], j[up], 2 * mass[up]
        Y, u = y[j] - y[i], -(X[j] - X[i]) @ w
        if cost == "hr" or (order == 1 and one_sided == "closure"):
            terms = [(mass, cp.pos(u) if order == 1 else cp.square(cp.pos(u)))]
        elif one_sided == "hinge":
            terms = [(mass, cp.pos(u + Y) if order == 1 else cp.square(cp.pos(u + Y)))]
        else:
            terms = [(4 * Y * mass, cp.pos(u)), (mass, cp.square(cp.pos(u - Y)))]
    risk = sum(share @ value for share, value in terms) / total
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * risk))
    problem.solve(solver=cp.CLARABEL, **ACCURACY)
    return float(problem.value), np.asarray(w.value)
