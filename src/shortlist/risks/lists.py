"""Positives and negatives of lists, and how scores order them: what all listwise risks begin with.

A list is a group: rows compete only inside it.  A group that lacks positives or negatives has nothing to order, and its
rows take no part.  Rows of one kind stand group by group, so that a group is a slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Lists", "count_above", "descending", "shared_among_ties"]


@dataclass(frozen=True)
class Lists:
    """Rows sorted into positives and negatives of groups.

    Attributes
    ----------
    n_rows : int
        Scores expected.
    positives, negatives : int arrays
        Row numbers that take part, by group.
    positive_weights : (m,) array
        Sum 1 over all groups.
    negative_weights : (n,) array
        As given, above 0.
    positive_groups, negative_groups : int arrays
        Group number 0..n_groups-1 of each.
    positive_starts, negative_starts : (n_groups + 1,) int arrays
        Where each group begins, and the end.
    group_ids : array
        The caller's id of each group number.
    """

    n_rows: int
    positives: Array
    negatives: Array
    positive_weights: Array
    negative_weights: Array
    positive_groups: Array
    negative_groups: Array
    positive_starts: Array
    negative_starts: Array
    group_ids: Array

    @property
    def n_groups(self) -> int:
        return len(self.group_ids)

    @classmethod
    def from_labels(
        cls, is_positive: Array, *, groups: Array | None = None, sample_weight: Array | None = None
    ) -> Lists:
        """Rows of weight 0 do not exist.

        Raises
        ------
        ValueError
            When no group holds both a positive and a negative.

        Examples
        --------
        >>> lists = Lists.from_labels(np.array([1, 0, 1, 0, 1]), groups=np.array([7, 7, 5, 5, 9]))
        >>> lists.positives, lists.negatives, lists.group_ids
        (array([2, 0]), array([3, 1]), array([5, 7]))
        """
        is_positive = np.asarray(is_positive, dtype=bool)
        n_rows = len(is_positive)
        weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        ids, group = np.zeros(1, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
        if groups is not None:
            ids, group = np.unique(np.asarray(groups), return_inverse=True)
        present = weights > 0
        complete = np.ones(len(ids), dtype=bool)
        for side in (is_positive, ~is_positive):
            complete &= np.bincount(group[present & side], minlength=len(ids)) > 0
        if not complete.any():
            raise ValueError(
                "no group holds both a positive and a negative row of positive weight, so there is nothing to rank"
            )
        number = np.cumsum(complete) - 1
        order = np.argsort(group, kind="stable")
        order = order[(present & complete[group])[order]]
        above, below = order[is_positive[order]], order[~is_positive[order]]
        edges = np.arange(int(complete.sum()) + 1)
        a = weights[above]
        return cls(
            n_rows=n_rows,
            positives=above,
            negatives=below,
            positive_weights=a / a.sum(),
            negative_weights=weights[below],
            positive_groups=number[group[above]],
            negative_groups=number[group[below]],
            positive_starts=np.searchsorted(number[group[above]], edges),
            negative_starts=np.searchsorted(number[group[below]], edges),
            group_ids=ids[complete],
        )

    def spread(self, positives: Array, negatives: Array) -> Array:
        """An array over all rows from one over the positives and one over the negatives."""
        out = np.zeros(self.n_rows)
        out[self.positives] = positives
        out[self.negatives] = negatives
        return out


def descending(scores: Array, starts: Array, groups: Array) -> Array:
    """The order of each group's scores, highest first.

    >>> descending(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 2, 4]), np.array([0, 0, 1, 1]))
    array([1, 0, 3, 2])
    """
    if len(starts) == 2:
        return np.argsort(-scores)
    return np.lexsort((-scores, groups))


def count_above(levels: Array, sorted_scores: Array, starts: Array, groups: Array) -> Array:
    """How many of the group's scores, which descend, lie above each level.

    >>> sorted_scores, starts = np.array([3.0, 1.0, 5.0, 2.0]), np.array([0, 2, 4])
    >>> count_above(np.array([2.0, 2.0]), sorted_scores, starts, np.array([0, 1]))
    array([1, 1])
    """
    if len(starts) == 2:
        return np.searchsorted(-sorted_scores, -levels, side="left")
    first, last = starts[groups], starts[groups + 1]
    while True:
        open_ = np.flatnonzero(first < last)
        if not len(open_):
            return np.asarray(first - starts[groups])
        middle = (first[open_] + last[open_]) // 2
        above = sorted_scores[middle] > levels[open_]
        first[open_] = np.where(above, middle + 1, first[open_])
        last[open_] = np.where(above, last[open_], middle)


def shared_among_ties(amounts: Array, sorted_scores: Array, weights: Array, starts: Array) -> Array:
    """Amounts of tied rows, shared by weight: an answer that does not depend on the order of equal rows.

    >>> shared_among_ties(np.array([3.0, 1.0, 1.0]), np.array([2.0, 2.0, 0.0]), np.ones(3), np.array([0, 3]))
    array([2., 2., 1.])
    """
    new = np.concatenate([[True], sorted_scores[1:] != sorted_scores[:-1]])
    new[starts[:-1]] = True
    if new.all():
        return amounts
    first = np.flatnonzero(new)
    rate = np.add.reduceat(amounts, first) / np.add.reduceat(weights, first)
    return np.asarray(np.repeat(rate, np.diff(np.append(first, len(amounts)))) * weights)
