"""What the bounds see of a problem: pairs that should be won, gathered in lists.

Every statistic here is a sum over lists, and a list of m positives and N negatives earns at most

    sum over q = 1..m of disc(q + u_(q)),     disc(p) = a[m + N + 1 - p],

where u_(1) <= ... <= u_(m) are the sorted numbers of negatives that each positive fails to beat: the q-th best
positive has q - 1 positives beside it or above.  With ResolvedRank this is the statistic itself; with Subrank
positives that do not beat one another (``twins``) cost more.  A preference of weight c is a list of one positive and
one negative with disc = (c, 0).  So the bounds know one kind of problem: pairs ``(pos, neg)`` with a difference of
features D each, won by w when  D.w >= margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem

Array = NDArray[Any]

__all__ = ["Lists", "PairForm"]

# Twins are kept while their differences fit in this many numbers.
TWIN_NUMBERS = 8_000_000


class Lists(NamedTuple):
    """The lists of a problem as flat arrays, which is how compiled code wants them.

    Positives and negatives are numbered through all lists; ``pos_start[l]:pos_start[l + 1]`` are those of list l.
    ``disc[place_start[l] + p]`` is the weight of place p = 1..n_l; the entry of place 0 is not used.
    ``unit_*`` are all steps down, from place p of list l to p + 1, the cheapest first, at a price of
    disc(p) - disc(p + 1).  ``convex`` says that there is one list and its prices fall with p.
    """

    pos: Array
    neg: Array
    pos_start: Array
    neg_start: Array
    place_start: Array
    disc: Array
    unit_list: Array
    unit_place: Array
    unit_price: Array
    convex: bool


@dataclass(frozen=True)
class PairForm:
    """A problem in the form of pairs.

    Attributes
    ----------
    D : (P, d) array
        Differences of features, positive less negative.
    lists : Lists
    twins : (Q, d) array
        Differences of two positives of one list; empty where ranks are resolved or there are too many.
    twin_first, twin_second : (Q,) int arrays
    rounding : float
        Of a difference of scores, at coefficients on the unit cube; generous.
    has_equal_twins : bool
    """

    D: Array
    lists: Lists
    twins: Array
    twin_first: Array
    twin_second: Array
    rounding: float
    has_equal_twins: bool

    @classmethod
    def of(cls, problem: ExactProblem) -> PairForm:
        """The pairs of a problem, in O(pairs)."""
        X = problem.X
        if isinstance(problem, PreferenceProblem):
            positives, resolved = [], True
            lists, better, worse = _of_one_pair(problem.weights), problem.better, problem.worse
        elif isinstance(problem, RankProblem):
            positives, resolved = [list_.positives for list_ in problem.lists], problem.ranks == "resolved"
            negatives = [list_.negatives for list_ in problem.lists]
            lists, better, worse = _flat(positives, negatives, [list_.discounts for list_ in problem.lists])
        else:
            raise TypeError(f"branch and bound knows RankProblem and PreferenceProblem, got {type(problem).__name__}")
        D = X[better] - X[worse]
        first, second = _none(), _none()
        if not resolved and sum(len(p) ** 2 for p in positives) * X.shape[1] <= 2 * TWIN_NUMBERS:
            upper = [np.triu_indices(len(p), 1) for p in positives]
            first = np.concatenate([_none(), *(lists.pos_start[l] + i for l, (i, _) in enumerate(upper))])
            second = np.concatenate([_none(), *(lists.pos_start[l] + k for l, (_, k) in enumerate(upper))])
        rows = np.concatenate([_none(), *positives])
        twins = X[rows[first]] - X[rows[second]]
        size = float(np.abs(X).sum(axis=1).max(initial=0.0))
        return cls(
            D=D,
            lists=lists,
            twins=twins,
            twin_first=first.astype(np.int32),
            twin_second=second.astype(np.int32),
            rounding=64 * float(np.finfo(float).eps) * (X.shape[1] + 2) * size,
            has_equal_twins=bool(len(twins) and (~twins.any(axis=1)).any()),
        )


def _none() -> Array:
    return np.zeros(0, dtype=np.int64)


def _of_one_pair(weights: Array) -> Lists:
    """Lists of one positive and one negative each, which earn ``weights`` in the right order."""
    P = len(weights)
    each, price = np.arange(P + 1, dtype=np.int64), np.asarray(weights, dtype=np.float64)
    disc = np.zeros((P, 3))
    disc[:, 1] = price
    order = np.argsort(price, kind="stable").astype(np.int64)
    pairs = each[:-1].astype(np.int32)
    return Lists(
        pos=pairs, neg=pairs.copy(), pos_start=each, neg_start=each.copy(), place_start=3 * each, disc=disc.ravel(),
        unit_list=order, unit_place=np.ones(P, dtype=np.int64), unit_price=price[order], convex=P == 1,
    )  # fmt: skip


def _flat(positives: list[Array], negatives: list[Array], discounts: list[Array]) -> tuple[Lists, Array, Array]:
    m = np.array([len(p) for p in positives], dtype=np.int64)
    N = np.array([len(k) for k in negatives], dtype=np.int64)
    pos_start, neg_start = (np.concatenate([[0], np.cumsum(count)]).astype(np.int64) for count in (m, N))
    place_start = np.concatenate([[0], np.cumsum(m + N + 1)]).astype(np.int64)
    pos = [np.repeat(pos_start[l] + np.arange(m[l]), N[l]) for l in range(len(m))]
    neg = [np.tile(neg_start[l] + np.arange(N[l]), m[l]) for l in range(len(m))]
    better = [np.repeat(p, len(k)) for p, k in zip(positives, negatives, strict=True)]
    worse = [np.tile(k, len(p)) for p, k in zip(positives, negatives, strict=True)]
    disc = [np.concatenate([[0.0], d]) for d in discounts]
    prices = [d[:-1] - d[1:] for d in discounts]
    which = [np.full(len(c), l) for l, c in enumerate(prices)]
    place = [np.arange(1, len(c) + 1) for c in prices]
    price = np.concatenate([np.zeros(0), *prices])
    # The lowest places first among equal prices: there the units are.
    places = np.concatenate([_none(), *place])
    order = np.lexsort([-places, price])
    convex = len(m) == 1 and bool(np.all(np.diff(price) <= 1e-12 * max(price.max(initial=0.0), 1e-300)))
    lists = Lists(
        pos=np.concatenate([_none(), *pos]).astype(np.int32),
        neg=np.concatenate([_none(), *neg]).astype(np.int32),
        pos_start=pos_start,
        neg_start=neg_start,
        place_start=place_start,
        disc=np.concatenate([np.zeros(0), *disc]),
        unit_list=np.concatenate([_none(), *which])[order].astype(np.int64),
        unit_place=places[order].astype(np.int64),
        unit_price=price[order],
        convex=convex,
    )
    return lists, np.concatenate([_none(), *better]), np.concatenate([_none(), *worse])
