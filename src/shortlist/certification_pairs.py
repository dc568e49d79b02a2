"""``certify`` for rankers of real relevance: the objective over pairs and its dual bound, written anew.

With residuals r = s - y, weights a, groups g of the sums A_g, and S = sum_g A_g^2, least squares over all ordered pairs
within groups is

    P(w) = 1/2 ||w||^2 + (C / S) sum_g sum_{i,j in g} a_i a_j (r_i - r_j)^2.

Any numbers alpha, one a row, that sum to 0 in every group prove

    min P >= sum_i alpha_i y_i - 1/2 ||sum_i alpha_i z_i||^2 - sum_i alpha_i^2 S / (8 C A_g a_i),

because sum_ij a_i a_j (r_i - r_j)^2 = min over t of 2 A_g sum_i a_i (r_i - t)^2 and a square is the largest of its
tangents.  The model's dual variables are first made to sum to 0, so that the bound holds whatever the model says.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from shortlist.certification_costs import certify_costs
from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify_pairs"]

_ROWS = 1 << 14


def certify_pairs(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> Certificate:
    """Objective and bound of a fitted regressor on the data that it was fitted on."""
    began = time.perf_counter()
    problem = model.objective_
    planes = hasattr(model, "bound_points_")
    if not planes and (problem.cost, problem.order) != ("mp", 2):
        raise ValueError(
            f"there is no certificate by separate code for the cost {problem.cost!r} of order {problem.order}: "
            "model.certificate_ holds the solver's own"
        )
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    n_rows = X.shape[0]
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names = [None] * n_rows if groups is None else list(groups)
    n_targets = len(model.coef_)
    if not len(y) == len(weight) == len(names) == n_rows or y.shape[1] != n_targets:
        raise ValueError(
            f"X has {n_rows} rows, y the shape {y.shape}, sample_weight {len(weight)} and groups {len(names)} rows, "
            f"the model {n_targets} targets: certify needs what fit was given"
        )
    if len(model.support_) and model.support_.max() >= n_rows:
        raise ValueError(f"the model was fitted on more rows than the {n_rows} of X: certify needs what fit was given")
    rows_of: dict[Any, list[int]] = {}
    for row in np.flatnonzero(weight > 0):
        rows_of.setdefault(names[row], []).append(int(row))
    members = [np.array(rows) for rows in rows_of.values()]
    if planes:
        return certify_costs(model, partial(_blocks, model, X), y[:, 0], members, weight)

    w = np.asarray(model.coef_, dtype=np.float64)
    dual = np.zeros((n_rows, n_targets))
    dual[model.support_] = np.asarray(model.dual_coef_).T
    scores, alpha = _scores(model, X, w), np.zeros_like(dual)
    S = sum(float(weight[rows].sum()) ** 2 for rows in members)
    primal, paid = 0.5 * float((w**2).sum()), 0.0
    for rows in members:
        a = weight[rows, None]
        A = float(a.sum())
        r = scores[rows] - y[rows]
        r = r - (a * r).sum(axis=0) / A
        primal += problem.C / S * 2 * A * float((a * r**2).sum())
        part = dual[rows] - a * dual[rows].sum(axis=0) / A
        alpha[rows] = part
        level = (a * y[rows]).sum(axis=0) / A
        paid += float((part**2 / a).sum()) * S / (8 * problem.C * A) - float((part * (y[rows] - level)).sum())
    direction = _spanned(model, X, alpha)
    return Certificate.of(
        primal,
        -0.5 * float((direction**2).sum()) - paid,
        tolerance=model.tol,
        n_iter=0,
        n_passes=2.0,
        seconds=time.perf_counter() - began,
    )


def _scores(model: Any, X: Any, w: Array) -> Array:
    return np.concatenate([block @ w.T for _, block in _blocks(model, X)])


def _spanned(model: Any, X: Any, alpha: Array) -> Array:
    total = np.zeros((len(model.coef_[0]), alpha.shape[1]))
    for rows, block in _blocks(model, X):
        total += block.T @ alpha[rows]
    return total


def _blocks(model: Any, X: Any) -> Any:
    for first in range(0, X.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        yield rows, model.feature_map_.transform(X[rows]).astype(np.float64, copy=False)
