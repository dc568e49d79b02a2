"""The exact problems: what is maximised, straight from the definition.

    maximise over w with max_j |w_j| = 1, or w = 0:   statistic(X w) - l0 ||w||_0.

``RankProblem``: the conditional linear rank statistic of one or several lists,

    statistic(s) = sum over lists, sum over the list's positives i of a[1 + r_i(s)],

r_i either the Subrank, the number of rows k of the list with s_i - s_k >= margin, or the ResolvedRank, in which the
positives of a list stand in a strict order whatever their scores and a negative stands above a positive that does not
beat it by the margin.  ``PreferenceProblem``: the number (or weight) of the preferences (i, k) with
s_i - s_k >= margin.

Scores keep their order when w is scaled, and a larger w only makes it easier to meet the margin: so the surface of the
cube, with the origin, is the whole of the cube.

A solver asks ``statistic`` and ``value`` for the truth, whatever it believes about its answer.

Reference
---------
Rudin, Wang (2018). Direct learning to rank and rerank, AISTATS; sections 2.6 and 3, appendix A.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.statistics import RankWeights, subranks

Array = NDArray[Any]
Ranks = Literal["subrank", "resolved"]

__all__ = ["ExactProblem", "PreferenceProblem", "RankProblem", "RankedList", "on_the_cube"]


def on_the_cube(w: Array) -> Array:
    """The multiple of ``w`` whose largest entry is 1 in size; the origin stays.

    >>> on_the_cube(np.array([0.5, -2.0]))
    array([ 0.25, -1.  ])
    """
    size = float(np.abs(w).max(initial=0.0))
    return w / size if size > 0 else np.zeros_like(w)


@dataclass(frozen=True)
class RankedList:
    """Rows that compete with one another.

    Attributes
    ----------
    positives, negatives : int arrays
        Row numbers.
    a : (n,) array
        Weights a_1 <= ... <= a_n of the ranks, n the number of the list's rows.
    """

    positives: Array
    negatives: Array
    a: Array

    @property
    def rows(self) -> Array:
        """All row numbers, positives first."""
        return np.concatenate([self.positives, self.negatives])

    @property
    def discounts(self) -> Array:
        """``a`` by position from the top: ``discounts[0]`` is the weight of the first place."""
        return self.a[::-1]


@dataclass(frozen=True)
class ExactProblem(ABC):
    """What all exact solvers are given.

    Attributes
    ----------
    X : (n_rows, d) float64 array
    margin : float
        By how much a score has to be larger to count as larger; positive.
    l0 : float
        Price of a coefficient that is not zero.
    """

    X: Array
    margin: float
    l0: float

    @abstractmethod
    def statistic(self, scores: Array) -> float:
        """The statistic of a score for each row."""

    @property
    @abstractmethod
    def best_statistic(self) -> float:
        """The statistic of an order without a mistake: the bound that needs no search."""

    def value(self, w: Array) -> float:
        """``statistic(X w) - l0 ||w||_0``."""
        return self.statistic(self.X @ w) - self.l0 * int(np.count_nonzero(w))

    @property
    def floor(self) -> float:
        """The value of w = 0."""
        return self.statistic(np.zeros(len(self.X)))

    @property
    def trivial_bound(self) -> float:
        """No mistake, at the price of one coefficient; or the origin."""
        return max(self.best_statistic - self.l0, self.floor)


@dataclass(frozen=True)
class RankProblem(ExactProblem):
    """Rank statistics of labelled rows.

    Attributes
    ----------
    lists : tuple of RankedList
        Each with at least one positive.  A list without negatives counts too: its positives' own order earns a part.
    ranks : {'subrank', 'resolved'}

    Examples
    --------
    >>> X = np.array([[3.0], [2.0], [1.0]])
    >>> problem = RankProblem.of(X, np.array([True, False, True]), "wrs", margin=1e-4)
    >>> problem.value(np.array([1.0])), problem.value(np.array([-1.0])), problem.trivial_bound
    (4.0, 4.0, 5.0)
    """

    lists: tuple[RankedList, ...]
    ranks: Ranks

    @classmethod
    def of(
        cls,
        X: Array,
        is_positive: Array,
        weights: RankWeights | str | Any,
        *,
        groups: Array | None = None,
        margin: float = 1e-4,
        l0: float = 0.0,
        ranks: Ranks = "subrank",
    ) -> RankProblem:
        """From labels, and numbers of groups; groups without a positive take no part."""
        from shortlist.statistics import rank_weights

        chosen, lists = rank_weights(weights), []
        codes = np.zeros(len(X), dtype=np.intp) if groups is None else groups
        for group in np.unique(codes):
            rows = np.flatnonzero(codes == group)
            positives = rows[is_positive[rows]]
            if len(positives):
                lists.append(RankedList(positives, rows[~is_positive[rows]], chosen.array(len(rows))))
        return cls(np.asarray(X, dtype=np.float64), margin, l0, tuple(lists), ranks)

    def statistic(self, scores: Array) -> float:
        count = self._subranks if self.ranks == "subrank" else self._resolved
        return float(sum(list_.a[count(list_, scores)].sum() for list_ in self.lists))

    @property
    def best_statistic(self) -> float:
        return float(sum(list_.discounts[: len(list_.positives)].sum() for list_ in self.lists))

    def _subranks(self, list_: RankedList, scores: Array) -> Array:
        return np.asarray(subranks(scores[list_.rows], self.margin)[: len(list_.positives)])

    def _resolved(self, list_: RankedList, scores: Array) -> Array:
        """Of the positives, best first: the rows that are not among the better positives nor the unbeaten negatives."""
        own = np.sort(scores[list_.positives])[::-1]
        both = np.concatenate([own, scores[list_.negatives]])
        beaten = subranks(both, self.margin)[: len(own)] - self._beaten_positives(own)
        unbeaten = len(list_.negatives) - beaten
        return np.asarray(len(both) - 1 - np.arange(len(own)) - unbeaten)

    def _beaten_positives(self, own: Array) -> Array:
        return np.asarray(subranks(own, self.margin))


@dataclass(frozen=True)
class PreferenceProblem(ExactProblem):
    """Preferences between rows: row ``better[p]`` should score above row ``worse[p]``.

    Attributes
    ----------
    better, worse : (n_pairs,) int arrays
    weights : (n_pairs,) array
        Positive.

    Examples
    --------
    >>> X = np.array([[3.0], [2.0], [1.0]])
    >>> pairs = np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> problem = PreferenceProblem(X, 1e-4, 0.0, *pairs, np.ones(3))
    >>> problem.value(np.array([1.0])), problem.value(np.array([-1.0])), problem.trivial_bound
    (2.0, 1.0, 3.0)
    """

    better: Array
    worse: Array
    weights: Array

    def statistic(self, scores: Array) -> float:
        agreed = scores[self.better] - scores[self.worse] >= self.margin
        return float(self.weights[agreed].sum())

    @property
    def best_statistic(self) -> float:
        return float(self.weights.sum())
