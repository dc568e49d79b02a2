"""``certify`` for RankSVM and GradedRankSVM: objective and bound from the definition of the mean over pairs.

A convex risk lies above its plane at any coefficients v: with s = Z v and a subgradient g of the risk there,

    risk(Z w) >= risk(s) + g.(Z w - s) = a.w + b,      a = Z'g,      b = risk(s) - g.s.

The model names points v_k and weights alpha_k.  Whatever they are, with alpha >= 0 of sum at most 1 and a risk that is
never negative (the plane 0 takes the rest),

    min P >= C sum_k alpha_k b_k - 1/2 ||C sum_k alpha_k a_k||^2.

Where coefficients have given signs, those that -a would give the wrong one do not count in that norm; weights of a
wrong sign are no solution, and their objective is infinite.

Pairs are summed by halving the sorted list of labels: all rows below a cut against all above it, until the rows of a
part are few enough to be compared one with another.

For the logistic loss one half against another is a sum of exponentials.  With e = exp(-|u|),

    log(1 + e^u) = max(u, 0) + log(1 + e),      its slope is  1 / (1 + e)  for u >= 0 and  1 - 1 / (1 + e)  below,

and on [0, 1] both functions of e are polynomials of degree 20 but for 1e-15, as their only pole, e = -1, is far; what
is e^k in u is one running sum over the sorted scores, in stretches short enough for e^(20 z) to be a number.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify_pairwise"]

_ROWS = 1 << 14
_FEW = 32

# Value and slope of l(u) where u is the worse row's score less the better row's.
_LOSSES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "hinge": lambda u: (np.maximum(1 + u, 0), (u > -1).astype(np.float64)),
    "squared_hinge": lambda u: (np.maximum(1 + u, 0) ** 2, 2 * np.maximum(1 + u, 0)),
    "logistic": lambda u: (np.maximum(u, 0) + np.log1p(np.exp(-np.abs(u))), 0.5 + 0.5 * np.tanh(u / 2)),
}

_DEGREE = 20
_STRETCH = 30.0


def _powers(function: Callable[[Array], Array]) -> Array:
    """Coefficients of a function on [0, 1] as a polynomial."""
    return np.asarray(Chebyshev.interpolate(function, _DEGREE, domain=[0, 1]).convert(kind=Polynomial).coef)


_LOG, _RECIPROCAL = _powers(np.log1p), _powers(lambda e: 1 / (1 + e))


def certify_pairwise(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> Certificate:
    """Objective and bound of a fitted model on the data that it was fitted on."""
    began = time.perf_counter()
    problem = model.objective_
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    y = np.asarray(y).ravel()
    y = (y == model.classes_[1]).astype(np.float64) if hasattr(model, "classes_") else y.astype(np.float64)
    n_rows = X.shape[0]
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names = [None] * n_rows if groups is None else list(groups)
    if not len(y) == len(weight) == len(names) == n_rows:
        raise ValueError(
            f"X has {n_rows} rows, y {len(y)}, sample_weight {len(weight)} and groups {len(names)}: certify needs what "
            "fit was given"
        )
    rows_of: dict[Any, list[int]] = {}
    for row in np.flatnonzero(weight > 0):
        rows_of.setdefault(names[row], []).append(int(row))
    members = [np.array(rows) for rows in rows_of.values()]

    w = np.asarray(model.coef_[0], dtype=np.float64)
    if hasattr(model, "pair_dual_"):
        scores = np.concatenate([block @ w for _, block in _blocks(model, X)])
        primal = 0.5 * float(w @ w) + problem.C * _risk(problem, scores, y, members, weight)[0]
        bound = _bound_by_pairs(model, X, y, members, weight)
        seconds = time.perf_counter() - began
        return Certificate.of(primal, bound, tolerance=model.tol, n_iter=0, n_passes=2.0, seconds=seconds)
    share = np.clip(np.asarray(model.bound_weights_, dtype=np.float64), 0, None)
    share = share / max(1.0, float(share.sum()))
    points = np.asarray(model.bound_points_, dtype=np.float64).reshape(len(share), len(w))
    at = np.vstack([points, w])
    scores = np.concatenate([block @ at.T for _, block in _blocks(model, X)])
    risk, _ = _risk(problem, scores[:, -1], y, members, weight)
    primal = 0.5 * float(w @ w) + problem.C * risk
    offset, slope = 0.0, np.zeros(n_rows)
    for k, part in enumerate(share):
        value, subgradient = _risk(problem, scores[:, k], y, members, weight)
        offset += part * (value - float(subgradient @ scores[:, k]))
        slope += part * subgradient
    direction = np.zeros(len(w))
    for rows, block in _blocks(model, X):
        direction += block.T @ slope[rows]
    if problem.signs is not None:
        signs = np.asarray(problem.signs)
        primal = np.inf if (w * signs < 0).any() else primal
        direction = np.where(direction * signs > 0, 0.0, direction)
    return Certificate.of(
        primal,
        problem.C * offset - 0.5 * problem.C**2 * float(direction @ direction),
        tolerance=model.tol,
        n_iter=0,
        n_passes=2.0 + len(share),
        seconds=time.perf_counter() - began,
    )


def _bound_by_pairs(model: Any, X: Any, y: Array, members: list[Array], weight: Array) -> float:
    """The dual value of a variable a pair, each first cut to between 0 and C times the pair's share.

    Equal rows may stand for each other, so that variables of equal pairs are added up before they are cut.
    """
    features = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    group = np.full(len(y), -1.0)
    for number, rows in enumerate(members):
        group[rows] = number
    _, first, kind = np.unique(
        np.column_stack([features, y, group]), axis=0, return_index=True, return_inverse=True
    )
    kind = kind.ravel()
    mass = np.bincount(kind, weight)
    total = sum(float(weight[r] @ y[r]) * float(weight[r] @ (1 - y[r])) for r in members)
    better, worse = (kind[np.asarray(rows, dtype=np.intp)] for rows in model.pair_rows_)
    keys, place = np.unique(better * len(first) + worse, return_inverse=True)
    alpha = np.bincount(place.ravel(), np.asarray(model.pair_dual_, dtype=np.float64), len(keys))
    i, j = keys // len(first), keys % len(first)
    valid = (y[first[i]] > y[first[j]]) & (group[first[i]] == group[first[j]]) & (group[first[i]] >= 0)
    alpha = np.where(valid, np.clip(alpha, 0, model.objective_.C * mass[i] * mass[j] / total), 0.0)
    dual = np.bincount(i, alpha, len(first)) - np.bincount(j, alpha, len(first))
    rows = model.feature_map_.transform(X[first]).astype(np.float64, copy=False)
    direction = rows.T @ dual
    return float(alpha.sum()) - 0.5 * float(direction @ direction)


def _risk(problem: Any, s: Array, y: Array, members: list[Array], weight: Array) -> tuple[float, Array]:
    """Mean over the preferences and a subgradient."""
    value, total, slope = 0.0, 0.0, np.zeros(len(s))
    widest = max((float(np.ptp(y[rows])) for rows in members), default=0.0) or 1.0
    for rows in members:
        rows = rows[np.argsort(y[rows], kind="stable")]
        a, grade, z = weight[rows], (y[rows] - y[rows[0]]) / widest, s[rows] - s[rows].mean()
        # (g - h)^p of two grades, as a sum of products of one factor of either row.
        for k in range(problem.power + 1):
            low, high = a * (-grade) ** (problem.power - k), a * grade**k
            part, pull, mass = _preferred(problem.loss, z, grade, low, high)
            times = comb(problem.power, k)
            value += times * part
            slope[rows] += times * pull
            total += times * mass
    total = total or 1.0
    return value / total, slope / total


def _preferred(loss: str, z: Array, grade: Array, low: Array, high: Array) -> tuple[float, Array, float]:
    """Sum of low_i high_j l(z_i - z_j) over pairs with grade_i < grade_j, its slope, and the sum of low_i high_j."""
    value, mass, slope = 0.0, 0.0, np.zeros(len(z))
    waiting = [(0, len(z))]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2 or grade[first] == grade[last - 1]:
            continue
        part = slice(first, last)
        if last - first <= _FEW:
            pair = np.where(grade[part][:, None] < grade[part], low[part][:, None] * high[part], 0.0)
            worth, pull = _LOSSES[loss](z[part][:, None] - z[part])
            value, mass = value + float((pair * worth).sum()), mass + float(pair.sum())
            slope[part] += (pair * pull).sum(axis=1) - (pair * pull).sum(axis=0)
            continue
        middle = grade[(first + last) // 2]
        cut = first + int(np.searchsorted(grade[part], middle))
        if cut == first:  # the middle label reaches down to the first row: cut above it
            cut = first + int(np.searchsorted(grade[part], middle, side="right"))
        worse, better = slice(first, cut), slice(cut, last)
        added, up, down = _across(loss, z[worse], low[worse], z[better], high[better])
        value, mass = value + added, mass + float(low[worse].sum() * high[better].sum())
        slope[worse] += up
        slope[better] -= down
        waiting += [(first, cut), (cut, last)]
    return value, slope, mass


def _across(loss: str, x: Array, p: Array, z: Array, q: Array) -> tuple[float, Array, Array]:
    """Sum of p_i q_j l(x_i - z_j) over all i, j; its slope in x, and minus that in z."""
    if loss == "logistic":
        return _across_logistic(x, p, z, q)
    x = x + 1.0
    order = np.argsort(z)
    z, q = z[order], q[order]
    count = np.searchsorted(z, x)
    zero, one = (np.append(0.0, np.cumsum(v))[count] for v in (q, q * z))
    over_zero, over_one = (v.sum() - np.cumsum(np.bincount(count, v, len(z) + 1))[:-1] for v in (p, p * x))
    lead, lag = x * zero - one, over_one - z * over_zero
    down = np.empty(len(z))
    if loss == "hinge":
        down[order] = q * over_zero
        return float(p @ lead), p * zero, down
    down[order] = 2 * q * lag
    # (x - z)^2 = x (x - z) - z (x - z), each summed from its own end.
    return float(p @ (x * lead) - q @ (z * lag)), 2 * p * lead, down


def _across_logistic(x: Array, p: Array, z: Array, q: Array) -> tuple[float, Array, Array]:
    up, down = np.argsort(x), np.argsort(z)
    x, p, z, q = x[up], p[up], z[down], q[down]
    # Of each x the z at or below it, of each z the x below it: every pair on exactly one side of u = 0.
    below = np.searchsorted(z, x, side="right")
    beneath = np.searchsorted(x, z, side="left")
    mass, first = (np.append(0.0, np.cumsum(v)) for v in (q, q * z))
    mass_x = np.append(0.0, np.cumsum(p))
    value = float(p @ (x * mass[below] - first[below]))
    slope_x, slope_z = np.zeros(len(x)), np.zeros(len(z))
    for k in range(_DEGREE + 1):
        # Sums of e^(-k|u|): over the z below each x, over the z above it, and the same seen from each z.
        under = _decayed(z, q, x, below, k)
        over = _decayed(-z[::-1], q[::-1], -x, len(z) - below, k)
        value += _LOG[k] * float(p @ (under + over))
        slope_x += _RECIPROCAL[k] * (under - over)
        slope_z += _RECIPROCAL[k] * (
            _decayed(-x[::-1], p[::-1], -z, len(x) - beneath, k) - _decayed(x, p, z, beneath, k)
        )
    slope_x += mass[-1] - mass[below]
    slope_z += mass_x[beneath]
    steep, pull = np.empty(len(x)), np.empty(len(z))
    steep[up], pull[down] = p * slope_x, q * slope_z
    return value, steep, pull


def _decayed(z: Array, q: Array, at: Array, count: Array, k: int) -> Array:
    """Sum of q_j e^(-k (at - z_j)) over the first ``count`` of the ascending z, none of them above ``at``."""
    running, last, before = np.empty(len(z)), 0.0, float(z[0])
    stretch = np.floor((z - z[0]) / _STRETCH)
    ends = np.append(np.flatnonzero(np.diff(stretch)) + 1, len(z))
    begin = 0
    for end in ends:
        part, top = z[begin:end], z[end - 1]
        running[begin:end] = np.cumsum(q[begin:end] * np.exp(k * (part - top))) * np.exp(k * (top - part))
        running[begin:end] += last * np.exp(-k * (part - before))
        last, before, begin = float(running[end - 1]), float(top), int(end)
    latest = np.maximum(count - 1, 0)
    return np.asarray(np.where(count > 0, running[latest] * np.exp(-k * np.maximum(at - z[latest], 0.0)), 0.0))


def _blocks(model: Any, X: Any) -> Any:
    for first in range(0, X.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        yield rows, model.feature_map_.transform(X[rows]).astype(np.float64, copy=False)
