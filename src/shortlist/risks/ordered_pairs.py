"""Ordered weighted pairwise classification: the worst negatives of a positive count most.

With the negatives of the group in descending order of score, s_(1) >= s_(2) >= ..., and weights that do not increase,
alpha_1 >= alpha_2 >= ... >= 0 of sum 1,

    risk(s) = sum_i a_i sum_k alpha_k [1 - s_i + s_(k)]_+,      sum_i a_i = 1,

over the positives i (Usunier, Buffoni, Gallinari 2009).  The order of the losses of *every* positive is that of the
negatives' scores: one sort serves all.  As alpha does not increase, the sum is the largest over all ways to hand the
weights out, so that the risk is convex.

Cost.  Losses above 0 are a prefix of the order.  With cumulated weights F_k = alpha_1 + ... + alpha_k and
S_k = alpha_1 s_(1) + ... + alpha_k s_(k), positive i pays F_k (1 - s_i) + S_k, k the number of negatives above s_i - 1:
O((m + n) log n) for value and subgradient.

Weights of rows.  A negative of weight v holds v ranks.  So alpha is a function of the rank t that is constant on
(k - 1, k], F its integral from 0, and the negative whose ranks are (t - v, t] gets F(t) - F(t - v).  Whole weights then
equal repeated rows.  The families, for a group of N negatives:

    mean         F(t) = t / N                   the mean over all pairs: the hinge of RankSVM
    top          F(t) = min(t / k, 1)           the k worst negatives alike; the same as ``SVMpAUC`` with k = N max_fpr
    reciprocal   F(t) = H(t) / H(N)             alpha_k in proportion to 1 / k; H the harmonic numbers, linear between
    max          F(t) = 1 for t > 0             the worst negative: the hinge Infinite Push
    an array     F(t) in proportion to its sum up to t; 0 beyond its end

"mean" and "max" are the two ends: for the same scores the risk under any other family lies between theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from shortlist.risks.lists import Lists, count_above, descending, shared_among_ties

Array = NDArray[Any]

__all__ = ["FAMILIES", "OrderedPairsRisk", "cumulated"]

FAMILIES = ("mean", "top", "reciprocal", "max")


MOST_KNOWN = 1e6  # harmonic numbers in a table; above, a series


def cumulated(weights: str | Array, k: float = 1.0, most: float = np.inf) -> Callable[[Array], Array]:
    """The function t -> alpha_1 + ... + alpha_t of a family, not normalised, concave and 0 at 0.

    ``most`` is the largest t that will be asked for.

    >>> cumulated("reciprocal")(np.array([0.0, 1.0, 1.5, 2.0]))
    array([0.  , 1.  , 1.25, 1.5 ])
    >>> cumulated(np.array([3.0, 1.0]))(np.array([0.5, 2.0, 9.0]))
    array([1.5, 4. , 4. ])
    """
    if not isinstance(weights, str):
        return _Table(np.concatenate([[0.0], np.cumsum(np.asarray(weights, dtype=np.float64))]))
    if weights == "mean":
        return lambda t: t
    if weights == "top":
        return lambda t: np.minimum(t, k)
    if weights == "max":
        return lambda t: np.where(t > 0, 1.0, 0.0)
    if weights == "reciprocal":
        if most > MOST_KNOWN:
            return _harmonic
        return _Table(np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(most) + 2))]))
    raise ValueError(f"weights must be an array or one of {', '.join(map(repr, FAMILIES))}, got {weights!r}")


@dataclass(frozen=True)
class _Table:
    """Values at 0, 1, 2, ..., linear between them, constant beyond."""

    values: Array

    def __call__(self, t: Array) -> Array:
        t = np.minimum(t, len(self.values) - 1.0)
        whole = t.astype(np.intp)
        parts = t - whole
        at = self.values[whole]
        if parts.any():
            at += parts * (self.values[np.minimum(whole + 1, len(self.values) - 1)] - at)
        return np.asarray(at)


def _harmonic(t: Array) -> Array:
    whole = np.floor(t)
    return np.asarray(digamma(whole + 1) + np.euler_gamma + (t - whole) / (whole + 1))


@dataclass(frozen=True)
class OrderedPairsRisk:
    """Scores in, risk out; sees labels, groups and weights, never X.

    Attributes
    ----------
    lists : Lists
    share : callable
        The function F, not normalised.
    totals : (n_groups,) array
        F of each group's weight of negatives.
    """

    lists: Lists
    share: Callable[[Array], Array]
    totals: Array

    nonnegative = True

    @property
    def n_rows(self) -> int:
        return self.lists.n_rows

    @classmethod
    def from_labels(
        cls,
        is_positive: Array,
        weights: str | Array = "reciprocal",
        k: float = 1.0,
        *,
        groups: Array | None = None,
        sample_weight: Array | None = None,
    ) -> OrderedPairsRisk:
        """The risk of labelled rows.

        Examples
        --------
        >>> y, s = np.array([1, 0, 0]), np.array([0.0, 1.0, -1.0])
        >>> [OrderedPairsRisk.from_labels(y, family).value(s) for family in ("mean", "max")]
        [1.0, 2.0]
        """
        lists = Lists.from_labels(is_positive, groups=groups, sample_weight=sample_weight)
        totals = np.add.reduceat(lists.negative_weights, lists.negative_starts[:-1])
        share = cumulated(weights, k, float(totals.max()))
        return cls(lists, share, share(totals))

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_and_subgradient(scores)[0]

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The risk and one subgradient, the same for any order of tied rows."""
        lists = self.lists
        s = np.asarray(scores, dtype=np.float64)
        above, below, starts = s[lists.positives], s[lists.negatives], lists.negative_starts
        order = descending(below, starts, lists.negative_groups)
        below, v = below[order], lists.negative_weights[order]
        # Prefixes of each group begin with a 0 of their own.
        mass = self.share(_prefixes(v, starts)) / np.repeat(self.totals, np.diff(starts) + 1)
        alpha = np.delete(np.diff(mass), starts[1:-1] + np.arange(lists.n_groups - 1))
        moment = _prefixes(alpha * below, starts)
        count = count_above(above - 1.0, below, starts, lists.positive_groups)
        at = count + starts[lists.positive_groups] + lists.positive_groups
        a = lists.positive_weights
        value = float(a @ (mass[at] * (1.0 - above) + moment[at]))
        slope = np.empty(len(below))
        slope[order] = shared_among_ties(alpha, below, v, starts) * _reached(a, count, lists)
        return value, lists.spread(-a * mass[at], slope)


def _prefixes(a: Array, starts: Array) -> Array:
    """Sums of the first 0, 1, ... entries of each group, one group after the other."""
    total = np.concatenate([[0.0], np.cumsum(a)])
    if len(starts) == 2:
        return total
    sizes = np.diff(starts)
    places = np.arange(len(a) + len(sizes)) - np.repeat(np.arange(len(sizes)), sizes + 1)
    return np.asarray(total[places] - np.repeat(total[starts[:-1]], sizes + 1))


def _reached(a: Array, count: Array, lists: Lists) -> Array:
    """For each negative by rank: the sum of a over positives of its group whose count is beyond the rank."""
    starts = lists.negative_starts
    gone = np.bincount(starts[lists.positive_groups] + count, a, len(lists.negatives) + 1)
    # All of the group's positives reach the first rank; those whose count is k reach no rank from k on. A count that is
    # the group's size falls on the next group's start, where it belongs to nobody: that group begins with its own sum.
    whole = np.bincount(lists.positive_groups, a, lists.n_groups)
    if lists.n_groups == 1:
        return np.asarray(whole[0] - np.cumsum(gone)[:-1])
    full = count == np.diff(starts)[lists.positive_groups]
    gone = np.bincount((starts[lists.positive_groups] + count)[~full], a[~full], len(lists.negatives) + 1)
    sums = np.concatenate([[0.0], np.cumsum(gone)])
    return np.asarray(whole[lists.negative_groups] - (sums[1:-1] - sums[starts[lists.negative_groups]]))
