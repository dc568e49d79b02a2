"""The quantile family by a general convex solver: slow, independent, written from the definitions."""

import cvxpy as cp
import numpy as np

LOSSES = {
    "squared_hinge": lambda z: cp.square(cp.pos(1 + z)),
    "hinge": lambda z: cp.pos(1 + z),
    "logistic": cp.logistic,
    "exponential": cp.exp,
}


def patmat(X, y, loss, tau, C, *, theta=1.0, groups=None, weights=None):
    """Optimal value, w and thresholds of Pat&Mat; ``groups`` and ``weights`` one a row."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=bool)
    groups = np.zeros(len(y)) if groups is None else np.asarray(groups)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    both = [g for g in np.unique(groups) if all((weights * (groups == g))[side].any() for side in (y, ~y))]
    w, t = cp.Variable(X.shape[1]), cp.Variable(len(both))
    mass = sum(weights[y & (groups == g)].sum() for g in both)
    terms, limits = [], []
    for k, g in enumerate(both):
        pos, neg = y & (groups == g) & (weights > 0), ~y & (groups == g) & (weights > 0)
        terms.append(weights[pos] / mass @ LOSSES[loss](t[k] - X[pos] @ w))
        share = weights[neg] / weights[neg].sum()
        limits.append(share @ LOSSES[loss](theta * (X[neg] @ w - t[k])) <= tau)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * sum(terms)), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, w.value, t.value


def aatp_costs(y, C, weights, weighting):
    """What a unit of hinge loss costs in each row."""
    if weighting == "rows":
        return C * weights / weights.sum()
    return C * np.where(y, weights / weights[y].sum(), weights / weights[~y].sum())


def aatp_candidate(X, y, row, C, *, weights=None, weighting="classes"):
    """Optimal value and w with the score of ``row`` as the threshold."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=bool)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    w = cp.Variable(X.shape[1])
    margins = cp.multiply(np.where(y, 1.0, -1.0), (X - X[row]) @ w)
    value = cp.sum_squares(w) / 2 + aatp_costs(y, C, weights, weighting) @ cp.pos(1 - margins)
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, w.value


def aatp(X, y, tau, C, *, weights=None, weighting="classes", rounding=1e-6):
    """Every candidate solved: (values, violations), one a row; violation 0: the row is the quantile."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    values, violations = np.full(len(y), np.inf), np.full(len(y), np.inf)
    for row in np.flatnonzero(weights > 0):
        values[row], w = aatp_candidate(X, y, row, C, weights=weights, weighting=weighting)
        above = (X - X[row]) @ w
        level = rounding * (1 + np.abs(above).max())
        over = weights[above > level].sum() / weights.sum()
        at = weights[above >= -level].sum() / weights.sum()
        violations[row] = max(over - tau, tau - at, 0.0)
    return values, violations
