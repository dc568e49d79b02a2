"""The top family solved by a general conic solver: slow, independent of the library, right.

    minimise over w and t    1/2 ||w||^2 + C sum_i a_i l(t_g(i) - x_i.w)
    subject to               t_g >= the threshold of the negatives' scores in group g,

written from the definition with nothing of Shortlist but its words.  The mean of the k largest of n scores
with weights v is the linear program of the capped mean, in Rockafellar's form

    mean_k(s) = min over q of  q + sum_j (v_j / k) [s_j - q]_+ ,

and with equal weights and whole k also cvxpy's own ``sum_largest``, which is used there.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["top_optimum"]

ACCURACY = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def _loss(name: str, z: cp.Expression) -> cp.Expression:
    if name == "squared_hinge":
        return cp.square(cp.pos(1 + z))
    if name == "hinge":
        return cp.pos(1 + z)
    if name == "logistic":
        return cp.logistic(z)
    if name == "exponential":
        return cp.exp(z)
    raise ValueError(name)


def _threshold(kind: tuple[Any, ...], s: cp.Expression, v: np.ndarray) -> cp.Expression:
    total = float(v.sum())
    if kind[0] == "max":
        return cp.max(s)
    if kind[0] == "tau":
        k = max(1.0, float(np.ceil(round(kind[1] * total, 9))))
    elif kind[0] == "k":
        k = float(kind[1])
    else:
        raise ValueError(kind)
    k = min(k, total)
    if np.all(v == 1) and k == int(k):
        return cp.sum_largest(s, int(k)) / k
    q = cp.Variable()
    return q + cp.sum(cp.multiply(v / k, cp.pos(s - q)))


def top_optimum(
    X: Any,
    y: Any,
    C: float,
    loss: str,
    threshold: tuple[Any, ...] = ("max",),
    groups: Any = None,
    sample_weight: Any = None,
) -> tuple[np.ndarray, float]:
    """The optimal weights and the optimal objective 1/2 ||w||^2 + C * risk.

    Parameters
    ----------
    X : (n_rows, d) dense or sparse
    y : labels; rows above 0 are the positives
    C : float
    loss : "squared_hinge" | "hinge" | "logistic" | "exponential"
    threshold : ("max",) | ("k", k) | ("tau", tau)
    groups, sample_weight : (n_rows,) or None
        Rows of weight 0, and groups with rows of one label only, take no part.

    Notes
    -----
    The objective is good to about 1e-10, the weights to about 1e-5.  Overlapping classes easily make w = 0
    the optimum; give tests a shift between the classes.
    """
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
    positive = np.asarray(y) > 0
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    group = np.zeros(len(X), dtype=int) if groups is None else np.asarray(groups)

    w = cp.Variable(X.shape[1])
    total, terms, constraints = 0.0, [], []
    for g in np.unique(group):
        here = (group == g) & (weight > 0)
        P, N = np.flatnonzero(here & positive), np.flatnonzero(here & ~positive)
        if len(P) == 0 or len(N) == 0:
            continue
        t = cp.Variable()
        constraints.append(t >= _threshold(threshold, X[N] @ w, weight[N]))
        terms.append(cp.sum(cp.multiply(weight[P], _loss(loss, t - X[P] @ w))))
        total += float(weight[P].sum())
    objective = 0.5 * cp.sum_squares(w) + (C / total) * cp.sum(terms)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():  # it asks for more than it can always certify
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **ACCURACY)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"the oracle failed: {problem.status}")
    return np.asarray(w.value), float(problem.value)
