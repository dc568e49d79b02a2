"""Conditional linear rank statistics: a sum of weights ``a_l`` over the ranks of the positives.

    value(s) = sum over positives i of a[1 + r_i(s)],      0 <= a_1 <= ... <= a_n,   l = n is the top,

where ``r_i`` is one of two ranks that count a tie against the positive (Rudin and Wang 2018, section 2.6):

* ``subranks``: the number of rows that score at least ``margin`` below row i (strictly below when
  ``margin`` is 0).
  Rows of equal score share a Subrank.
* ``resolved_ranks``: a permutation of 0..n-1 that agrees with the scores; among equal scores the negatives
  stand higher.

==========================  =========================  =====================================
weights                     a_l                        statistic
==========================  =========================  =====================================
``WilcoxonRankSum()``       l                          m n AUC + m (m + 1) / 2 without ties
``PartialAUC(top=t)``       l 1[l > n - t]             the rank sum of the first t places
``WinnerTakesAll()``        1[l = n]                   is the first row a positive?
``ReciprocalRank()``        1 / (n - l + 1)            sum of 1 / place
``DCG(top=None)``           1 / log2(n - l + 2)        discounted cumulative gain (DCG@top)
``Power(p)``                l^p                        concentrates at the top as p grows
``GivenWeights(values)``    your own                   any non-decreasing array
==========================  =========================  =====================================

The paper prints the cut of DCG@N as 1[l >= N]; with l = n at the top it has to be 1[l > n - N], which is
built here.

>>> import numpy as np
>>> scores = np.array([6.2, 6.2, 5.8, 4.6, 3.1, 3.1, 2.3, 1.7, 1.7])
>>> positive = np.array([1, 1, 0, 0, 0, 1, 1, 0, 1], dtype=bool)
>>> subranks(scores)
array([7, 7, 6, 5, 3, 3, 2, 0, 0])
>>> statistic_value(positive, scores, "wrs"), statistic_value(positive, scores, "wrs", ranks="resolved")
(24.0, 25.0)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

__all__ = [
    "DCG",
    "GivenWeights",
    "PartialAUC",
    "Power",
    "RankWeights",
    "ReciprocalRank",
    "WilcoxonRankSum",
    "WinnerTakesAll",
    "count_beaten",
    "rank_weights",
    "resolved_ranks",
    "statistic_value",
    "subranks",
]


class RankWeights(ABC):
    """Non-decreasing, non-negative weights ``a_l`` of the ranks l = 1..n."""

    @abstractmethod
    def at(self, l: Array, n: Array | int) -> Array:
        """``a_l`` of a list of ``n`` rows, element by element; ``n`` may be an array too."""

    def array(self, n: int) -> Array:
        """``a_1, ..., a_n``."""
        return self.at(np.arange(1, n + 1), n)


@dataclass(frozen=True)
class WilcoxonRankSum(RankWeights):
    """``a_l = l``: an increasing affine function of the AUC where no scores are equal."""

    def at(self, l: Array, n: Array | int) -> Array:
        return np.asarray(l, dtype=np.float64)


@dataclass(frozen=True)
class PartialAUC(RankWeights):
    """``a_l = l 1[l > theta]``; give ``theta``, or ``top`` for theta = n - top.

    >>> PartialAUC(top=2).array(4)
    array([0., 0., 3., 4.])
    """

    theta: float | None = None
    top: float | None = None

    def __post_init__(self) -> None:
        if (self.theta is None) == (self.top is None):
            raise ValueError("PartialAUC takes exactly one of theta (a rank) and top (a number of places)")
        if self.top is not None and not self.top > 0:
            raise ValueError(f"top must be positive, got {self.top!r}")

    def at(self, l: Array, n: Array | int) -> Array:
        theta = self.theta if self.top is None else n - self.top
        return np.where(l > theta, l, 0).astype(np.float64)


@dataclass(frozen=True)
class WinnerTakesAll(RankWeights):
    """``a_l = 1[l = n]``."""

    def at(self, l: Array, n: Array | int) -> Array:
        return np.asarray(l == n, dtype=np.float64)


@dataclass(frozen=True)
class ReciprocalRank(RankWeights):
    """``a_l = 1 / (n - l + 1)``: one over the place, counted from the top."""

    def at(self, l: Array, n: Array | int) -> Array:
        return 1.0 / (n - l + 1.0)


@dataclass(frozen=True)
class DCG(RankWeights):
    """``a_l = 1 / log2(n - l + 2)``, and 0 below the first ``top`` places.

    >>> DCG(top=2).array(4).round(3)
    array([0.   , 0.   , 0.631, 1.   ])
    """

    top: float | None = None

    def __post_init__(self) -> None:
        if self.top is not None and not self.top > 0:
            raise ValueError(f"top must be positive, got {self.top!r}")

    def at(self, l: Array, n: Array | int) -> Array:
        discount = 1.0 / np.log2(n - l + 2.0)
        return discount if self.top is None else np.where(l > n - self.top, discount, 0.0)


@dataclass(frozen=True)
class Power(RankWeights):
    """``a_l = l^p``, p > 0."""

    p: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.p) and self.p > 0):
            raise ValueError(f"p must be a positive number, got {self.p!r}")

    def at(self, l: Array, n: Array | int) -> Array:
        return np.asarray(l, dtype=np.float64) ** self.p


class GivenWeights(RankWeights):
    """The user's own ``a_1 <= ... <= a_n``; fits lists of exactly n rows.

    >>> GivenWeights([0, 1, 1]).array(3)
    array([0., 1., 1.])
    """

    def __init__(self, values: ArrayLike) -> None:
        try:
            a = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"rank weights must be numbers a_1, ..., a_n, got {values!r}") from None
        if a.ndim != 1 or a.size == 0:
            raise ValueError(f"rank weights must be a one-dimensional, non-empty array, got shape {a.shape}")
        if not np.isfinite(a).all():
            raise ValueError("rank weights must be finite, found NaN or infinity")
        if a[0] < 0:
            raise ValueError(f"rank weights must be non-negative, but a_1 = {a[0]}")
        falls = np.flatnonzero(np.diff(a) < 0)
        if len(falls):
            l = int(falls[0]) + 1
            raise ValueError(
                f"rank weights must not decrease towards the top (l = n), but a_{l} = {a[l - 1]} > "
                f"a_{l + 1} = {a[l]}; if yours are ordered from the top down, reverse them"
            )
        a.setflags(write=False)
        self.values = a

    def __repr__(self) -> str:
        return f"GivenWeights({self.values!r})"

    def at(self, l: Array, n: Array | int) -> Array:
        if np.any(np.asarray(n) != len(self.values)):
            wrong = np.asarray(n)[np.asarray(n) != len(self.values)].flat[0]
            raise ValueError(
                f"there are {len(self.values)} rank weights for a list of {wrong} rows; give one a row"
            )
        return self.values[np.asarray(l, dtype=np.intp) - 1]


_NAMED: dict[str, RankWeights] = {
    "wrs": WilcoxonRankSum(),
    "auc": WilcoxonRankSum(),
    "winner_takes_all": WinnerTakesAll(),
    "reciprocal_rank": ReciprocalRank(),
    "dcg": DCG(),
}


def rank_weights(weights: RankWeights | str | ArrayLike) -> RankWeights:
    """Rank weights from a name ("wrs" or "auc", "winner_takes_all", "reciprocal_rank", "dcg"), an array or
    an object.

    >>> rank_weights("winner_takes_all").array(3)
    array([0., 0., 1.])
    """
    if isinstance(weights, RankWeights):
        return weights
    if isinstance(weights, str):
        try:
            return _NAMED[weights]
        except KeyError:
            raise ValueError(
                f"weights must be one of {sorted(_NAMED)}, an array or a RankWeights object such as "
                f"DCG(top=10), got {weights!r}"
            ) from None
    return GivenWeights(weights)


def count_beaten(ascending: Array, queries: Array, margin: float, first: Array, last: Array) -> Array:
    """How many of ``ascending[first:last]`` each query beats: by at least ``margin``, strictly when it is 0.

    The condition ``query - score >= margin`` is evaluated as written, so no rounding can set the count
    apart from the definition: bisection on it is sound because floating-point subtraction is monotone.
    O(log n) passes over the queries; ``first`` and ``last`` are per query.
    """
    lo, hi = first.astype(np.intp), last.astype(np.intp)
    while True:
        open_ = np.flatnonzero(lo < hi)
        if not len(open_):
            return lo - first
        middle = (lo[open_] + hi[open_]) // 2
        gap = queries[open_] - ascending[middle]
        beaten = gap >= margin if margin > 0 else gap > 0
        lo[open_[beaten]] = middle[beaten] + 1
        hi[open_[~beaten]] = middle[~beaten]


def subranks(scores: ArrayLike, margin: float = 0.0) -> Array:
    """Number of rows that score at least ``margin`` below each row; strictly below when ``margin`` is 0.

    O(n log n).  Reference: Rudin and Wang (2018), equation (7), and the constraint (24) for the margin.

    >>> subranks([3.0, 1.0, 2.5, 1.0]), subranks([3.0, 1.0, 2.5, 1.0], margin=1.0)
    (array([3, 0, 2, 0]), array([2, 0, 2, 0]))
    """
    s = _scores(scores)
    _check_margin(margin)
    ascending = np.sort(s)
    if margin == 0:
        return np.searchsorted(ascending, s, side="left")
    return count_beaten(
        ascending, s, margin, np.zeros(len(s), dtype=np.intp), np.full(len(s), len(s), dtype=np.intp)
    )


def resolved_ranks(is_positive: ArrayLike, scores: ArrayLike) -> Array:
    """Ranks 0..n-1 that agree with the scores; among equal scores every negative stands above every positive.

    Equal rows of one label are told apart by their position, the first above, as the paper's Figure 2
    prints them.
    O(n log n).  Reference: Rudin and Wang (2018), equation (8).

    >>> resolved_ranks([True, False, True], [1.0, 1.0, 0.0])
    array([1, 2, 0])
    """
    s = _scores(scores)
    positive = _flags(is_positive, len(s))
    order = np.lexsort((-np.arange(len(s)), ~positive, s))
    ranks = np.empty(len(s), dtype=np.intp)
    ranks[order] = np.arange(len(s))
    return ranks


def statistic_value(
    is_positive: ArrayLike,
    scores: ArrayLike,
    weights: RankWeights | str | ArrayLike,
    *,
    ranks: Literal["subrank", "resolved"] = "subrank",
    margin: float = 0.0,
) -> float:
    """``sum over positives of a[1 + rank]`` for one list, straight from the definition.

    This is the number an optimiser of rank statistics maximises and has to be scored by.  ``margin``
    belongs to the Subrank.  O(n log n).

    >>> statistic_value([True, False, True], [3.0, 2.0, 1.0], "wrs")
    4.0
    """
    s = _scores(scores)
    positive = _flags(is_positive, len(s))
    if ranks == "subrank":
        r = subranks(s, margin)
    elif ranks == "resolved":
        if margin != 0:
            raise ValueError("margin is part of the Subrank; ResolvedRank has none, so leave margin=0")
        r = resolved_ranks(positive, s)
    else:
        raise ValueError(f'ranks must be "subrank" or "resolved", got {ranks!r}')
    return float(rank_weights(weights).at(1 + r[positive], len(s)).sum())


def _scores(scores: ArrayLike) -> Array:
    s = np.asarray(scores)
    if s.ndim != 1 or s.dtype.kind not in "iufb":
        raise ValueError(f"scores must be one real number a row, got shape {s.shape} and dtype {s.dtype}")
    # Differences of narrow or unsigned integers would wrap round.
    s = s.astype(np.float64) if s.dtype.kind in "iub" else s
    if not np.isfinite(s).all():
        raise ValueError(f"scores must be finite, but row {int(np.argmin(np.isfinite(s)))} is not")
    return s


def _flags(is_positive: ArrayLike, n: int) -> Array:
    flags = np.asarray(is_positive)
    if flags.shape != (n,):
        raise ValueError(f"there are {n} scores, but the labels have shape {flags.shape}")
    return flags.astype(bool)


def _check_margin(margin: float) -> None:
    if not (np.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin must be a non-negative number, got {margin!r}")
