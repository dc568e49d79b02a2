"""``certify`` for RankBoost and the P-Norm Push: loss and bound from the definition, by the model's rounds.

A row k stands at the height u_k, the sum of v_i exp(s_k - s_i) over the rows i of its group that belong above it, and

    L = (sum_k v_k u_k^p)^(1/p) / the same at equal scores.

Explicit pairs (i above k, of weight c) count as heights of their own, u = exp(s_k - s_i), with p = 1.  log L is convex.
With pi minus its gradient, every answer whose weights have sizes of sum W or less has

    log L >= log L(s) + pi.s - W * (the largest |pi.h| of all weak rankers h).

The scores are summed round by round, the stumps tried anew at every place where a sorted column turns.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify_boosting"]


def certify_boosting(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> Certificate:
    """Loss and bound of a boosted model on the data that it was fitted on.

    ``tolerance`` is the relative gap that the model claims: a boosted model has none to meet.
    """
    began = time.perf_counter()
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32])
    n_rows = X.shape[0]
    weight = np.ones(n_rows) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    weight[model.held_out_] = 0.0
    present = weight > 0
    scores, size = _scores(model, X, present)
    pairs = getattr(model, "pairs", None)
    if pairs is None or isinstance(pairs, str):
        names = [None] * n_rows if groups is None else list(groups)
        log_loss, potentials = _of_labels(np.asarray(y), names, weight, scores, float(getattr(model, "p", 1.0)))
    else:
        log_loss, potentials = _of_pairs(pairs, weight, scores)
    largest = max(_edge(model, X, k, potentials, present) for k in range(X.shape[1]))
    gap = max(size * largest - float(potentials @ scores), 0.0)
    value = float(np.exp(log_loss))
    with np.errstate(divide="ignore"):  # a claim of 1 is a bound of 0: it always holds
        claimed = float(-np.log1p(-model.certificate_.relative_gap))
    return Certificate.of(
        value,
        value * float(np.exp(-gap)),
        tolerance=float(-np.expm1(-claimed - 1e-6 * (1 + claimed))),  # rounding
        n_iter=0,
        n_passes=2.0,
        seconds=time.perf_counter() - began,
    )


def _column(X: Any, k: int) -> Array:
    column = X[:, [k]].toarray()[:, 0] if hasattr(X, "toarray") else X[:, k]
    return np.asarray(column, dtype=np.float64)


def _scores(model: Any, X: Any, present: Array) -> tuple[Array, float]:
    """Scores and the sum of the weights' sizes, by the coefficients or by the rounds."""
    scores, size = np.zeros(X.shape[0]), 0.0
    if model.weak == "linear":
        coefficients = np.asarray(model.coef_[0], dtype=np.float64)
        for k in map(int, np.flatnonzero(coefficients)):
            column = _column(X, k)
            scores += coefficients[k] * column
            size += abs(float(coefficients[k])) * float(np.ptp(column[present]))
        return scores, size
    total: dict[tuple[int, float], float] = {}
    rounds = (model.rounds_[name].tolist() for name in ("feature", "threshold", "weight"))
    for feature, threshold, weight in zip(*rounds, strict=True):
        total[feature, threshold] = total.get((feature, threshold), 0.0) + weight
    for (feature, threshold), weight in total.items():
        scores += weight * (_column(X, feature) > threshold)
        size += abs(weight)
    return scores, size


def _of_labels(y: Array, names: list[Any], weight: Array, s: Array, p: float) -> tuple[float, Array]:
    """log L and minus its gradient, cell by cell: the rows of one label against all above them in their group."""
    rows_of: dict[Any, list[int]] = {}
    for row in np.flatnonzero(weight > 0):
        rows_of.setdefault(names[row], []).append(int(row))
    low, log_heights, plain, uppers = [], [], [], []
    for members in map(np.array, rows_of.values()):
        for label in np.unique(y[members])[:-1]:
            cell, upper = members[y[members] == label], members[y[members] > label]
            pull = np.log(weight[upper]) - s[upper]
            top = float(pull.max())
            pulled = np.exp(pull - top)
            low.append(cell)
            log_heights.append(s[cell] + top + np.log(pulled.sum()))
            plain.append(np.full(len(cell), weight[upper].sum()))
            uppers.append((upper, pulled / pulled.sum()))
    rows, heights, equal = (np.concatenate(part) for part in (low, log_heights, plain))
    v = weight[rows]
    terms = np.log(v) + p * heights
    most, widest = float(terms.max()), float(equal.max())
    share = np.exp(terms - most)
    log_loss = (most + float(np.log(share.sum()) - np.log(v @ (equal / widest) ** p))) / p - float(np.log(widest))
    share /= share.sum()
    potentials = np.zeros(len(s))
    first = 0
    for cell, (upper, shares) in zip(low, uppers, strict=True):
        part = share[first : first + len(cell)]
        potentials[cell] -= part
        potentials[upper] += part.sum() * shares
        first += len(cell)
    return log_loss, potentials


def _of_pairs(pairs: Any, weight: Array, s: Array) -> tuple[float, Array]:
    n_rows = len(s)
    if hasattr(pairs, "tocoo"):
        matrix = pairs.tocoo()
        better, worse, v = matrix.row, matrix.col, matrix.data.astype(np.float64)
    else:
        array = np.asarray(pairs)
        if array.shape == (n_rows, n_rows) and not (n_rows == 2 and isinstance(pairs, list | tuple)):
            better, worse = np.nonzero(array)
            v = array[better, worse].astype(np.float64)
        else:
            better, worse = array.astype(np.intp).T
            v = np.ones(len(better))
    v = v * weight[better] * weight[worse]
    here = v > 0
    better, worse, v = better[here], worse[here], v[here]
    difference = s[worse] - s[better]
    most = float(difference.max())
    share = v * np.exp(difference - most)
    log_loss = most + float(np.log(share.sum() / v.sum()))
    share /= share.sum()
    potentials = np.zeros(n_rows)
    np.add.at(potentials, better, share)
    np.subtract.at(potentials, worse, share)
    return log_loss, potentials


def _edge(model: Any, X: Any, k: int, potentials: Array, present: Array) -> float:
    """The largest edge of the weak rankers on one column; their range is that over the training rows."""
    column, pull = _column(X, k)[present], potentials[present]
    if model.weak == "linear":
        width = float(np.ptp(column))
        return abs(float(pull @ column)) / width if width > 0 else 0.0
    order = np.argsort(column, kind="stable")
    turns = np.flatnonzero(np.diff(column[order]) > 0)
    below = np.cumsum(pull[order])[turns]
    return float(np.abs(below).max(initial=0.0))
