"""The exponential risks by their definition, pair by pair, and boosting by looking at everything there is.

Nothing here is fast, and nothing is shared with the package.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Array = NDArray[Any]

__all__ = ["best_ranker", "boosted", "definition", "of_preferences", "rankers_of"]


def definition(s: Array, y: Array, p: float = 1.0, groups: Array | None = None, weight: Array | None = None) -> float:
    """The p-norm of the heights; equal scores have the loss 1."""
    n = len(s)
    groups = np.zeros(n) if groups is None else groups
    weight = np.ones(n) if weight is None else weight
    height, equal = np.zeros(n), np.zeros(n)
    for k in range(n):
        for i in range(n):
            if groups[i] == groups[k] and y[i] > y[k]:
                height[k] += weight[i] * np.exp(s[k] - s[i])
                equal[k] += weight[i]
    low = (equal > 0) & (weight > 0)
    return float((weight[low] @ height[low] ** p / (weight[low] @ equal[low] ** p)) ** (1 / p))


def of_preferences(s: Array, pairs: Array, weight: Array) -> float:
    """The mean of exp(s_worse - s_better)."""
    return float(sum(c * np.exp(s[k] - s[i]) for (i, k), c in zip(pairs, weight, strict=True)) / weight.sum())


def rankers_of(X: Array, weak: str) -> list[tuple[int, float, Array]]:
    """Every weak ranker: its column, its threshold, its values at the rows."""
    found = []
    for k, column in enumerate(X.T):
        if weak == "linear":
            if np.ptp(column) > 0:
                found.append((k, np.nan, (column - column.min()) / np.ptp(column)))
        else:
            values = np.unique(column)
            found += [
                (k, (low + high) / 2, (column > (low + high) / 2).astype(float)) for low, high in pairwise(values)
            ]
    return found


def best_ranker(loss: Any, s: Array, rankers: list[tuple[int, float, Array]]) -> tuple[int, float]:
    """Place and edge of the steepest ranker, by differences of the logarithm of the loss."""
    step = 1e-5
    edges = [(np.log(loss(s - step * h)) - np.log(loss(s + step * h))) / (2 * step) for *_, h in rankers]
    place = int(np.argmax(np.abs(edges)))
    return place, float(edges[place])


def boosted(loss: Any, X: Array, weak: str, rounds: int, longest: float = np.inf) -> list[float]:
    """The loss after each round: the steepest ranker, the step by a search along it."""
    rankers, s, losses = rankers_of(X, weak), np.zeros(len(X)), []
    for _ in range(rounds):
        place, edge = best_ranker(loss, s, rankers)
        h, sign = rankers[place][2], np.sign(edge)

        def along(t: float, s: Array = s, direction: Array = sign * h) -> float:
            return float(np.log(loss(s + t * direction)))

        most = min(longest, 60.0)
        found = minimize_scalar(along, bounds=(0.0, most), method="bounded", options={"xatol": 1e-12})
        t = most if along(most) <= found.fun else found.x
        s = s + t * sign * h
        losses.append(loss(s))
    return losses
