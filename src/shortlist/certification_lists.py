"""``certify`` for OWPC, SVMpAUC and SVMMAP: objective and bound from the definitions, written anew.

A convex risk lies above its plane at any coefficients v: with s = Z v and a subgradient g of the risk there,

    risk(Z w) >= risk(s) + g.(Z w - s) = a.w + b,      a = Z'g,      b = risk(s) - g.s.

The model names points v_k and weights alpha_k.  Whatever they are, with alpha >= 0 of sum at most 1 and a risk that is
never negative (the plane 0 takes the rest),

    min P >= C sum_k alpha_k b_k - 1/2 ||C sum_k alpha_k a_k||^2.

Ordered pairs may have dual variables in place of points: a plane of their own, ``_from_dual``.

All three risks are the largest, over orders of the rows, of a function that is affine in the scores.  So any order at
all gives a valid plane, and only the objective depends on the order being the worst.  Group by group: the orders are
looked for from the definitions, for average precision among all places of each negative.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify_lists"]

_ROWS = 1 << 14
_CELLS = 1 << 20


def certify_lists(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> Certificate:
    """Objective and bound of a fitted model on the data that it was fitted on."""
    began = time.perf_counter()
    problem = model.objective_
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n_rows = X.shape[0]
    top = np.asarray(y).ravel() == model.classes_[1]
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names = [None] * n_rows if groups is None else list(groups)
    if not len(top) == len(weight) == len(names) == n_rows:
        raise ValueError(
            f"X has {n_rows} rows, y {len(top)}, sample_weight {len(weight)} and groups {len(names)}: certify needs "
            "what fit was given"
        )
    rows_of: dict[Any, list[int]] = {}
    for row in np.flatnonzero(weight > 0):
        rows_of.setdefault(names[row], []).append(int(row))
    split = [(rows[top[rows]], rows[~top[rows]]) for rows in map(np.array, rows_of.values())]
    split = [(p, n) for p, n in split if len(p) and len(n)]
    if not split:
        raise ValueError("no group holds rows of both classes: certify needs what fit was given")

    w = np.asarray(model.coef_[0], dtype=np.float64)
    share = np.clip(np.asarray(model.bound_weights_, dtype=np.float64), 0, None)
    share = share / max(1.0, float(share.sum()))
    points = np.asarray(model.bound_points_, dtype=np.float64).reshape(len(share), len(w))
    at = np.vstack([points, w])
    scores = np.concatenate([block @ at.T for _, block in _blocks(model, X)])
    primal = 0.5 * float(w @ w) + problem.C * _risk(problem, scores[:, -1], split, weight)[0]
    offset, slope = 0.0, np.zeros(n_rows)
    for k, part in enumerate(share):
        value, subgradient = _risk(problem, scores[:, k], split, weight)
        offset += part * (value - float(subgradient @ scores[:, k]))
        slope += part * subgradient
    if not len(share) and problem.measure == "ordered_pairs":
        offset, slope = _from_dual(model, problem, split, weight, n_rows)
    direction = np.zeros(len(w))
    for rows, block in _blocks(model, X):
        direction += block.T @ slope[rows]
    return Certificate.of(
        primal,
        problem.C * offset - 0.5 * problem.C**2 * float(direction @ direction),
        tolerance=model.tol,
        n_iter=0,
        n_passes=2.0 + len(share),
        seconds=time.perf_counter() - began,
    )


def _from_dual(
    model: Any, problem: Any, split: list[tuple[Array, Array]], weight: Array, n_rows: int
) -> tuple[float, Array]:
    """Height and slope of the plane that the dual variables stand for, made to lie below the risk to the letter.

    Positive i bears l_i between 0 and its weight.  Its negatives' shares p_ij sum to l_i, and no k of them hold more
    than the weight of the k first ranks, nor than l_i.  A list of shares b is a sum of such if and only if its k
    largest hold at most sum_i min(a_i F_k, l_i), for every k; equal shares always do.
    """
    given = np.zeros(n_rows)
    if len(model.support_) and model.support_.max() >= n_rows:
        raise ValueError(f"the model was fitted on at least {model.support_.max() + 1} rows, X has {n_rows}")
    given[model.support_] = model.dual_coef_[0] / problem.C
    whole = sum(float(weight[p].sum()) for p, _ in split)
    height, slope = 0.0, np.zeros(n_rows)
    for p, n in split:
        a, v = weight[p] / whole, weight[n]
        borne, shares = np.clip(given[p], 0.0, a), np.clip(-given[n], 0.0, None)
        equal = borne.sum() * v / v.sum()
        shares = shares * (borne.sum() / shares.sum()) if shares.sum() > 0 else equal
        order = np.argsort(-shares / v)
        reached = np.cumsum(_by_rank(problem, v[order]))
        reached = reached / reached[-1]
        ends = np.append(0.0, np.sort(borne / a))
        counted = a[np.argsort(borne / a)]
        # Integral over levels up to F_k of the weight of the positives that bear more.
        above = np.append(counted.sum(), counted.sum() - np.cumsum(counted))
        most = np.interp(reached, ends, np.append(0.0, np.cumsum(np.diff(ends) * above[:-1])))
        excess, room = np.cumsum(shares[order]) - most, np.cumsum((shares - equal)[order])
        wrong = excess > 1e-10 * borne.sum()  # less is rounding, of sums over many rows
        part = min(1.0, float((excess[wrong] / room[wrong]).max())) if wrong.any() else 0.0
        height += float(borne.sum())
        slope[p], slope[n] = -borne, (1 - part) * shares + part * equal
    return height, slope


def _risk(problem: Any, s: Array, split: list[tuple[Array, Array]], weight: Array) -> tuple[float, Array]:
    """Value and a subgradient."""
    value, slope = 0.0, np.zeros(len(s))
    whole = sum(float(weight[p].sum()) for p, _ in split)
    for p, n in split:
        n = n[np.argsort(-s[n])]
        if problem.measure == "average_precision":
            part, up, down = _worst_precision(s[p], s[n], weight[p], weight[n])
            share = 1.0 / len(split)
        else:
            worst = _worst_ordered if problem.measure == "ordered_pairs" else _worst_in_range
            part, up, down = worst(problem, s[p], s[n], weight[p], weight[n])
            share = 1.0 / whole
        value += share * part
        slope[p], slope[n] = share * up, share * down
    return value, slope


def _worst_ordered(problem: Any, x: Array, z: Array, a: Array, v: Array) -> tuple[float, Array, Array]:
    """Sum over positives x of a times the ordered weighted hinges against z, which descends; its slopes."""
    alpha = _by_rank(problem, v)
    alpha = alpha / alpha.sum()
    worse = np.searchsorted(-z, 1.0 - x)  # so many negatives are above x - 1
    mass, moment = (np.append(0.0, np.cumsum(c)) for c in (alpha, alpha * z))
    value = float(a @ ((1.0 - x) * mass[worse] + moment[worse]))
    reaching = np.append(0.0, np.cumsum(np.bincount(worse, a, len(z) + 1)[::-1]))[::-1]
    return value, -a * mass[worse], alpha * reaching[1:-1]


def _by_rank(problem: Any, v: Array) -> Array:
    """What negatives of weights v get, the worst first: each holds as many ranks as it weighs."""
    ends = np.cumsum(v)
    before = np.append(0.0, ends[:-1])
    if not isinstance(problem.weights, str):
        given = np.append(0.0, np.cumsum(problem.weights))
        return np.asarray(np.diff(np.interp(np.append(0.0, ends), np.arange(len(given)), given)))
    if problem.weights == "max":
        return np.asarray(before == 0, dtype=np.float64)
    if problem.weights == "top":
        return np.asarray(np.minimum(ends, problem.k) - np.minimum(before, problem.k))
    if problem.weights == "mean":
        return np.asarray(v)
    ranks = np.arange(int(np.ceil(ends[-1])) + 1.0)
    upto = np.append(0.0, np.cumsum(1.0 / ranks[1:]))
    return np.asarray(np.interp(ends, ranks, upto) - np.interp(before, ranks, upto))


def _worst_in_range(problem: Any, x: Array, z: Array, a: Array, v: Array) -> tuple[float, Array, Array]:
    """Sum over positives of a times the best prefix of the list for the partial AUC; its slopes.

    Within each of the three parts of the list the gain of a longer prefix falls: the best end of each is known, and the
    best of the three is best.
    """
    ends = np.append(0.0, np.cumsum(v))
    first, last = problem.min_fpr * ends[-1], problem.max_fpr * ends[-1]
    moment = np.append(0.0, np.cumsum(v * z))
    plain, wide = (ends[np.searchsorted(-z, -level)] for level in (x, x - 1.0))
    candidates = [np.minimum(plain, first), np.clip(wide, first, last)]
    if not problem.tight:
        candidates.append(np.maximum(plain, last))
    t = np.stack(candidates)
    gains = np.clip(t, first, last) - first + np.interp(t, ends, moment) - t * x
    chosen = gains.argmax(axis=0), np.arange(len(x))
    t, gain = t[chosen], gains[chosen]
    a = a / (last - first)
    # Sum over positives of a times the length of each negative's stretch (e_(k-1), e_k] that lies before t.
    order = np.argsort(t)
    t_sorted, a_sorted = t[order], a[order]
    count = np.searchsorted(t_sorted, ends)
    less, less_t = (np.append(0.0, np.cumsum(c))[count] for c in (a_sorted, a_sorted * t_sorted))
    before = less_t + (a.sum() - less) * ends  # sum of a min(t, e)
    return float(a @ gain), -a * t, np.diff(before)


def _worst_precision(x: Array, z: Array, a: Array, v: Array) -> tuple[float, Array, Array]:
    """The largest of 1 - AP - 2/(mn) sum (x_i - z_j) over orders, and its slopes; rows as often as they weigh."""
    own, theirs = (np.repeat(np.arange(len(c)), c.astype(np.intp)) for c in (a, v))
    own = own[np.argsort(-x[own])]
    up, down = x[own], z[theirs]
    m, n = len(up), len(down)
    # Places do not decrease.  Those of every so many negatives first: the others lie between their neighbours'.
    step = max(1, int(np.sqrt(n)))
    place = np.empty(n, dtype=np.intp)
    place[::step] = _best_places(up, down, np.arange(0, n, step), 0, m)
    for first in range(0, n, step):
        last = min(first + step, n)
        high = int(place[last]) if last < n else m
        place[first + 1 : last] = _best_places(up, down, np.arange(first + 1, last), int(place[first]), high)
    k = np.arange(1, m + 1)
    above = np.searchsorted(np.sort(place), k - 1, side="right")
    loss = 1.0 - float((k / (k + above)).mean())
    pull = 2.0 / (m * n)
    slope_up = np.bincount(own, -pull * above, len(x))
    slope_down = np.bincount(theirs, pull * (m - place), len(z))
    return loss + float(slope_up @ x + slope_down @ z), slope_up, slope_down


def _best_places(up: Array, down: Array, of: Array, low: int, high: int) -> Array:
    """How many positives, from low to high, stand above each of these negatives in the worst order."""
    m, n = len(up), len(down)
    places = [np.empty(0, dtype=np.intp)]
    while len(of):
        j = of[: max(1, _CELLS // (high - low + 1))][:, None] + 1
        k = np.arange(low + 1, high + 1)
        gain = k / ((k + j - 1.0) * (k + j)) / m + 2.0 / (m * n) * (down[j - 1] - up[low:high])
        suffix = np.hstack([np.cumsum(gain[:, ::-1], axis=1)[:, ::-1], np.zeros((len(j), 1))])
        places.append(low + suffix.argmax(axis=1))
        low, of = int(places[-1][-1]), of[len(j) :]
    return np.concatenate(places)


def _blocks(model: Any, X: Any) -> Any:
    for first in range(0, X.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        yield rows, model.feature_map_.transform(X[rows]).astype(np.float64, copy=False)
