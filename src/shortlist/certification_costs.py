"""``certify`` for the pairwise costs without a closed dual: the planes that a model's bound rests on, made anew.

A convex risk lies above its plane at any coefficients v: with s = Z v and a subgradient g of the risk there,

    risk(Z w) >= risk(s) + g.(Z w - s) = a.w + b,      a = Z'g,      b = risk(s) - g.s.

The model names points v_k and weights alpha_k.  Whatever they are, with alpha >= 0 of sum at most 1 and a risk that is
never negative (the plane 0 takes the rest),

    min P >= C sum_k alpha_k b_k - 1/2 ||C sum_k alpha_k a_k||^2.

Values and subgradients come from the definitions: costs of residuals by counting along their order, one-sided costs by
halving the list of labels, until the rows of a part are few enough to be compared one with another.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify_costs"]

_FEW = 64


def certify_costs(model: Any, blocks: Any, y: Array, members: list[Array], weight: Array) -> Certificate:
    """Objective and bound from the definition of the cost.

    ``blocks`` is a function that goes through the mapped rows in double precision: pairs of a slice and its rows.
    """
    began = time.perf_counter()
    problem = model.objective_
    points = np.atleast_2d(np.asarray(model.bound_points_, dtype=np.float64))
    share = np.clip(np.asarray(model.bound_weights_, dtype=np.float64), 0, None)
    share = share / max(1.0, float(share.sum()))
    w = np.asarray(model.coef_[0], dtype=np.float64)
    at = np.vstack([points, w])
    scores = np.concatenate([block @ at.T for _, block in blocks()])
    primal = 0.5 * float(w @ w) + problem.C * _risk(problem, scores[:, -1], y, members, weight)[0]
    offset, slope = 0.0, np.zeros(len(y))
    for k, part in enumerate(share):
        value, subgradient = _risk(problem, scores[:, k], y, members, weight)
        offset += part * (value - float(subgradient @ scores[:, k]))
        slope += part * subgradient
    direction = np.zeros(len(w))
    for rows, block in blocks():
        direction += block.T @ slope[rows]
    return Certificate.of(
        primal,
        problem.C * offset - 0.5 * problem.C**2 * float(direction @ direction),
        tolerance=model.tol,
        n_iter=0,
        n_passes=2.0 + len(share),
        seconds=time.perf_counter() - began,
    )


def _risk(problem: Any, s: Array, y: Array, members: list[Array], weight: Array) -> tuple[float, Array]:
    """Mean over ordered pairs and a subgradient."""
    value, slope = 0.0, np.zeros(len(s))
    for rows in members:
        a = weight[rows]
        level = (a @ s[rows]) / a.sum(), (a @ y[rows]) / a.sum()
        part, slope[rows] = _cost(problem, s[rows] - level[0], y[rows] - level[1], a)
        value += part
    total = sum(float(weight[rows].sum()) ** 2 for rows in members)
    return 2 * value / total, 2 * slope / total


def _cost(problem: Any, s: Array, y: Array, a: Array) -> tuple[float, Array]:
    """Sum over the pairs of a group, each once."""
    n = problem.order
    if problem.cost in ("mp", "svr"):
        return _beyond(s - y, a, problem.epsilon if problem.cost == "svr" else 0.0, n)
    hinge = problem.cost == "hmp" and problem.one_sided == "hinge"
    if problem.cost == "hr" or n == 1 or hinge:
        return _contradictions(s - y if hinge else s, y, a, a, n)
    # 4 Y u + (u - Y)_+^2 over pairs with u > 0: the first as a difference of two sums with weighted ends.
    parts = [
        (4.0, _contradictions(s, y, a, a * y, 1)),
        (-4.0, _contradictions(s, y, a * y, a, 1)),
        (1.0, _contradictions(s + y, y, a, a, 2)),
    ]
    return sum(c * value for c, (value, _) in parts), np.asarray(sum(c * slope for c, (_, slope) in parts))


def _beyond(r: Array, a: Array, epsilon: float, n: int) -> tuple[float, Array]:
    """Sum over pairs of a_i a_j (|r_i - r_j| - epsilon)_+^n."""
    order = np.argsort(r)
    r, a = r[order], a[order]
    below = np.searchsorted(r, r - epsilon)  # the rows 0 .. below - 1 are lower by more than epsilon
    zero, one = (np.append(0.0, np.cumsum(x))[below] for x in (a, a * r))
    # Row i is among them for exactly those rows whose count is above i.
    over_zero, over_one = (x.sum() - np.cumsum(np.bincount(below, x, len(r) + 1))[:-1] for x in (a, a * r))
    lead = (r - epsilon) * zero - one
    if n == 1:
        value, slope = a @ lead, a * (zero - over_zero)
    else:
        lag = over_one - (r + epsilon) * over_zero
        value, slope = a @ ((r - epsilon) * lead - r * lag), 2 * a * (lead - lag)
    out = np.empty(len(r))
    out[order] = slope
    return float(value), out


def _contradictions(z: Array, y: Array, low: Array, high: Array, n: int) -> tuple[float, Array]:
    """Sum of low_i high_j (z_i - z_j)_+^n over pairs with y_i < y_j."""
    order = np.argsort(y, kind="stable")
    z, y, low, high = z[order], y[order], low[order], high[order]
    value, slope = 0.0, np.zeros(len(z))
    waiting = [(0, len(z))]
    while waiting:
        first, last = waiting.pop()
        if last <= first or y[first] == y[last - 1]:
            continue
        if last - first <= _FEW:
            part = slice(first, last)
            u = np.where(y[part][:, None] < y[part], z[part][:, None] - z[part], 0.0).clip(0)
            pair = low[part][:, None] * high[part]
            value += float((pair * u**n).sum())
            pull = pair * (u > 0 if n == 1 else 2 * u)
            slope[part] += pull.sum(axis=1) - pull.sum(axis=0)
            continue
        cut = first + int(np.searchsorted(y[first:last], y[(first + last) // 2]))
        if cut == first:  # the middle label reaches down to the first row: cut above it
            cut = first + int(np.searchsorted(y[first:last], y[first], side="right"))
        worse, better = slice(first, cut), slice(cut, last)
        added, slope_low, slope_high = _across(z[worse], low[worse], z[better], high[better], n)
        value += added
        slope[worse] += slope_low
        slope[better] += slope_high
        waiting += [(first, cut), (cut, last)]
    out = np.empty(len(z))
    out[order] = slope
    return value, out


def _across(x: Array, p: Array, z: Array, q: Array, n: int) -> tuple[float, Array, Array]:
    """Sum of p_i q_j (x_i - z_j)_+^n over all i, j, and its slopes."""
    order = np.argsort(z)
    z, q = z[order], q[order]
    count = np.searchsorted(z, x)
    zero, one = (np.append(0.0, np.cumsum(v))[count] for v in (q, q * z))
    above_zero, above_one = (v.sum() - np.cumsum(np.bincount(count, v, len(z) + 1))[:-1] for v in (p, p * x))
    lead, lag = x * zero - one, above_one - z * above_zero
    slope = np.empty(len(z))
    if n == 1:
        slope[order] = -q * above_zero
        return float(p @ lead), p * zero, slope
    slope[order] = -2 * q * lag
    # (x - z)^2 = x (x - z) - z (x - z), each summed from its own end.
    return float(p @ (x * lead) - q @ (z * lag)), 2 * p * lead, slope
