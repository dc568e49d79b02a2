"""Convex weights where an ascent can begin.

From the cheapest to the dearest, as a generator, so that a caller with little time takes what it needs:

* the mean difference of the pairs, and the same after division by their scatter, (S + c I)^-1 m: least squares on the
  pairs, which for two labels is linear discriminant analysis;
* single columns, where coefficients have a price: nothing is cheaper than one;
* TopPush at several C: its loss looks at the best negative alone, as the statistics at the top do;
* where that puts most positives above the best negative, the linear program of the largest margin,

      maximise gap   subject to   w.x_i >= theta + gap,  w.x_k <= theta  in every list,  -1 <= w <= 1:

  gap >= margin decides whether weights without a mistake exist, and has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem
from shortlist.solvers.working_set import solve_top

Array = NDArray[Any]

__all__ = ["convex_starts", "separating_weights"]

# Shares of the mean scatter that are added to it.
_RIDGES = (1e-4, 1e-2, 1.0)
# C of TopPush, in units of one over the columns' total variance.
_TOP_C = (1e1, 1e3, 1e5)
_LARGEST_SCATTER = 2_000
_LARGEST_PROGRAM = 2_000_000  # numbers
_CHUNK = 1 << 16


def convex_starts(problem: ExactProblem) -> Iterator[Array]:
    """Weights, none of them 0, from quick convex problems; those that find nothing are left out."""
    mean, scatter = _moments(problem)
    if mean.any():
        yield mean
    if scatter is not None and mean.any():
        size = float(np.trace(scatter)) / len(mean)
        # No scatter at all: every side is one point, and the mean difference is the answer already.
        for ridge in _RIDGES if 0 < size < np.inf else ():
            yield np.linalg.solve(scatter / size + ridge * np.eye(len(mean)), mean)
    if problem.l0 > 0:
        for j in np.flatnonzero(np.ptp(problem.X, axis=0) > 0):
            for sign in (1.0, -1.0):
                w = np.zeros(problem.X.shape[1])
                w[j] = sign
                yield w
    nearly = True
    if isinstance(problem, RankProblem):
        nearly = False
        for w, share in _top_push(problem):
            nearly |= share >= 0.5
            if w.any():
                yield w
    rows = len(problem.better) if isinstance(problem, PreferenceProblem) else len(problem.X)
    if nearly and rows * problem.X.shape[1] <= _LARGEST_PROGRAM:
        separating = separating_weights(problem)
        if separating is not None:
            yield separating


def _moments(problem: ExactProblem) -> tuple[Array, Array | None]:
    """Mean difference of the pairs, and their scatter unless there are too many columns."""
    X = problem.X
    d = X.shape[1]
    mean = np.zeros(d)
    scatter = np.zeros((d, d)) if d <= _LARGEST_SCATTER else None
    if isinstance(problem, PreferenceProblem):
        for first in range(0, len(problem.better), _CHUNK):
            part = slice(first, first + _CHUNK)
            D, weight = X[problem.better[part]] - X[problem.worse[part]], problem.weights[part]
            mean += weight @ D
            if scatter is not None:
                scatter += (D.T * weight) @ D
    elif isinstance(problem, RankProblem):
        for list_ in problem.lists:
            if not len(list_.negatives):
                continue
            sides = [X[list_.positives], X[list_.negatives]]
            centres = [side.mean(axis=0) for side in sides]
            n_pairs = len(sides[0]) * len(sides[1])
            mean += n_pairs * (centres[0] - centres[1])
            if scatter is not None:
                for side, centre in zip(sides, centres, strict=True):
                    away = side - centre
                    scatter += n_pairs / len(side) * (away.T @ away)
    return mean, scatter


def _top_push(problem: RankProblem) -> Iterator[tuple[Array, float]]:
    """TopPush's weights at several C, and the share of positives that they put above every negative."""
    groups = np.full(len(problem.X), -1)
    is_positive = np.zeros(len(problem.X), dtype=bool)
    for number, list_ in enumerate(problem.lists):
        if len(list_.negatives):
            groups[list_.rows] = number
            is_positive[list_.positives] = True
    used = np.flatnonzero(groups >= 0)
    if not len(used):
        return
    X = problem.X[used]
    X = X - X.mean(axis=0)
    size = float(np.abs(X).max(initial=0.0))
    if not 0 < size < np.inf:
        return
    # Directions are all that matters here, and the solver is spared numbers such as 1e100.
    X = X / size
    risk = TopRisk.from_labels(is_positive[used], surrogate("squared_hinge"), Maximum(), groups=groups[used])
    variance = float((X**2).sum() / len(X))
    known = None
    for C in _TOP_C:
        known = solve_top(X, risk, C / variance, tol=1e-3, max_iter=60, start=known)
        scores = X @ known.coef
        above = scores[risk.positives] > risk.thresholds(scores)[risk.positive_groups]
        yield known.coef, float(above.mean())


def separating_weights(problem: ExactProblem) -> Array | None:
    """Weights without a mistake by the margin, if there are any, with the largest smallest gap of all on the cube.

    >>> X = np.array([[3.0, 0.0], [2.0, 5.0], [1.0, 3.0]])
    >>> separating_weights(RankProblem.of(X, np.array([True, False, False]), "dcg"))
    array([ 1., -1.])
    """
    X = problem.X
    d = X.shape[1]
    blocks: list[Array] = []
    if isinstance(problem, PreferenceProblem):
        D = X[problem.better] - X[problem.worse]
        blocks.append(np.hstack([-D, np.ones((len(D), 1))]))
        n_lists = 0
    elif isinstance(problem, RankProblem):
        lists = [list_ for list_ in problem.lists if len(list_.negatives)]
        n_lists = len(lists)
        for number, list_ in enumerate(lists):
            for rows, sign in ((list_.positives, -1.0), (list_.negatives, 1.0)):
                block = np.zeros((len(rows), d + 1 + n_lists))
                block[:, :d] = sign * X[rows]
                block[:, d] = sign < 0
                block[:, d + 1 + number] = -sign
                blocks.append(block)
    else:
        return None
    if not blocks:
        return None
    A = np.vstack(blocks)
    bounds = [(-1.0, 1.0)] * d + [(0.0, None)] + [(None, None)] * n_lists
    cost = np.zeros(A.shape[1])
    cost[d] = -1.0
    found = linprog(cost, A_ub=A, b_ub=np.zeros(len(A)), bounds=bounds, method="highs")
    if found.x is None or found.x[d] < problem.margin:
        return None
    return np.asarray(found.x[:d])
