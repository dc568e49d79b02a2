"""Exact rank statistics by exhaustion, in whole numbers: every vertex of the arrangement is scored.

    maximise over w with max_j |w_j| = 1, or w = 0:   statistic(X w) - l0 ||w||_0,   at most three features.

The statistics depend on w through the conditions w.(x_i - x_k) >= margin alone, never fall when one more holds, and
the conditions are closed.  So from any w one may walk, within the facet w_j = +-1 of the cube (of a face, when
coefficients are zero), to a vertex of the arrangement of the planes w.(x_i - x_k) = margin and the facet's own edges,
without losing a condition.  A facet is bounded, hence has vertices: the best of them is the best of all.

Data, margin and vertices are integers over a common denominator (floats are rational), so nothing is rounded.  The
optimum may be a single point that floating-point scores cannot hit; ``best_value`` is the true supremum all the same.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem

Array = NDArray[Any]

__all__ = ["best_value", "exact_value"]


def best_value(problem: ExactProblem) -> float:
    """The largest value that any coefficients have; cost about (pairs)^2 vertices a facet for three features."""
    d = problem.X.shape[1]
    if d > 3:
        raise ValueError(f"exhaustion is for at most 3 features, got {d}")
    x, margin = _whole_numbers(problem)
    pairs = _pairs(problem)
    best = _statistics(problem, pairs, np.zeros((1, len(pairs)), dtype=bool)).max()
    for size in range(1, d + 1):
        for support in combinations(range(d), size):
            D = (x[pairs[:, 0]] - x[pairs[:, 1]])[:, list(support)]
            for axis in range(size):
                for sign in (1, -1):
                    good = _good_at_vertices(D, margin, axis, sign)
                    best = max(best, _statistics(problem, pairs, good).max() - problem.l0 * size)
    return float(best)


def exact_value(problem: ExactProblem, w: Array) -> float:
    """``problem.value(w)`` with scores, differences and comparisons in rational arithmetic."""
    rows = [[Fraction(float(x)) for x in row] for row in problem.X]
    coefficients = [Fraction(float(c)) for c in w]
    scores = [sum((x * c for x, c in zip(row, coefficients, strict=True)), Fraction(0)) for row in rows]
    pairs, margin = _pairs(problem), Fraction(float(problem.margin))
    good = np.array([[scores[i] - scores[k] >= margin for i, k in pairs]], dtype=bool).reshape(1, len(pairs))
    return float(_statistics(problem, pairs, good)[0]) - problem.l0 * int(np.count_nonzero(w))


def _whole_numbers(problem: ExactProblem) -> tuple[Array, Any]:
    """Features and margin times their common denominator, as Python integers."""
    fractions = [Fraction(float(x)) for x in problem.X.ravel()]
    margin = Fraction(float(problem.margin))
    scale = lcm(*(f.denominator for f in [*fractions, margin]))
    x = np.array([int(f * scale) for f in fractions], dtype=object).reshape(problem.X.shape)
    m = int(margin * scale)
    # A condition at a vertex is a sum of three products of three entries (of differences): stay within 63 bits.
    size = max(2 * max((abs(v) for v in x.ravel()), default=0), m, 1)
    return (x.astype(np.int64), m) if 24 * size**3 < 2**62 else (x, m)


def _pairs(problem: ExactProblem) -> Array:
    """The conditions (i, k) on which the statistic depends."""
    if isinstance(problem, PreferenceProblem):
        return np.column_stack([problem.better, problem.worse]).reshape(-1, 2)
    assert isinstance(problem, RankProblem)
    found = [(i, k) for list_ in problem.lists for i in list_.positives for k in list_.rows if i != k]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def _good_at_vertices(D: Array, margin: Any, axis: int, sign: int) -> Array:
    """(vertices, pairs): which conditions hold at each vertex of the facet ``w[axis] = sign``.

    With w = (sign, v), a condition is  E v >= b,  E the other columns, b = margin - sign D[axis].
    """
    E, b = np.delete(D, axis, axis=1), margin - sign * D[:, axis]
    free = E.shape[1]
    if free == 0:
        return np.asarray(b <= 0)[None, :].astype(bool)
    one = np.ones(1, dtype=D.dtype)
    edges = np.concatenate([np.eye(free, dtype=int), -np.eye(free, dtype=int)]).astype(D.dtype)
    planes, right = np.concatenate([E, edges]), np.concatenate([b, -np.repeat(one, 2 * free)])
    planes, right = _distinct(planes, right)
    if free == 1:
        den, num = planes[:, 0], right[:, None]
    else:
        p, q = np.array(list(combinations(range(len(planes)), 2))).T
        den = planes[p, 0] * planes[q, 1] - planes[p, 1] * planes[q, 0]
        num = np.column_stack(
            [right[p] * planes[q, 1] - planes[p, 1] * right[q], planes[p, 0] * right[q] - right[p] * planes[q, 0]]
        )
    keep = den != 0
    den, num = den[keep], num[keep]
    num, den = np.where(den < 0, -1, 1)[:, None] * num, abs(den)
    inside = np.all(abs(num) <= den[:, None], axis=1)
    num, den = num[inside], den[inside]
    return (num @ E.T - den[:, None] * b[None, :] >= 0).astype(bool)


def _distinct(planes: Array, right: Array) -> tuple[Array, Array]:
    kept = list(dict.fromkeys(tuple(row) for row in np.column_stack([planes, right]).tolist()))
    rows = np.array(kept, dtype=planes.dtype).reshape(len(kept), planes.shape[1] + 1)
    return rows[:, :-1], rows[:, -1]


def _statistics(problem: ExactProblem, pairs: Array, good: Array) -> Array:
    """The statistic of each row of ``good``, from the definition of the ranks."""
    if isinstance(problem, PreferenceProblem):
        return np.asarray(good @ problem.weights)
    assert isinstance(problem, RankProblem)
    total = np.zeros(len(good))
    for list_ in problem.lists:
        n, own = len(list_.rows), set(list_.positives.tolist())
        counts = []
        for i in list_.positives:
            rivals = [p for p, (a, k) in enumerate(pairs) if a == i and k in set(list_.rows.tolist())]
            if problem.ranks == "resolved":
                rivals = [p for p in rivals if pairs[p, 1] not in own]
            counts.append(good[:, rivals].sum(axis=1))
        beaten = np.array(counts).T
        if problem.ranks == "resolved":
            # The better positive has beaten no fewer negatives; the q-th from the bottom has q positives below it.
            beaten = np.sort(beaten, axis=1) + np.arange(len(list_.positives))
        assert beaten.max(initial=0) < n
        total += list_.a[beaten].sum(axis=1)
    return total
