"""Graded relevance: lists of gains, and pairs that disagree, for any number of label values.

Two-label data take the shorter way through ``_two_label``; the tests hold the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._discounts import Discount
from shortlist.metrics._input import Sample
from shortlist.metrics._ranking import ratio

Array = NDArray[Any]

__all__ = ["Disagreement", "dcg", "disagreement", "ideal_dcg", "spearman_rho"]

_SHARE = {"pessimistic": 1.0, "average": 0.5, "optimistic": 0.0}


def dcg(sample: Sample, gain: Array, ties: str, discount: Discount, k: float | None) -> Array:
    """Discounted sum of the gains of each group, best score first."""
    groups = _groups(sample)
    # Reversed, so that the best come first; codes are turned round to stay in ascending order after that.
    key = gain if ties == "optimistic" else -gain
    order = np.lexsort((key, sample.scores, -groups))[::-1]
    group, g, w = groups[order], gain[order], _weights(sample)[order]
    above = _running(w, group)
    if ties != "average":
        return np.bincount(
            group, weights=g * discount.between(above, above + w, k), minlength=sample.n_groups
        )
    first = _changes(sample.scores[order], group)
    at = np.flatnonzero(first)
    size = np.add.reduceat(w, at)
    mean = np.add.reduceat(w * g, at) / size
    worth = mean * discount.between(above[at], above[at] + size, k)
    return np.bincount(group[at], weights=worth, minlength=sample.n_groups)


def ideal_dcg(sample: Sample, gain: Array, discount: Discount, k: float | None) -> Array:
    """The largest value that ``dcg`` can take."""
    groups = _groups(sample)
    order = np.lexsort((-gain, groups))
    group, w = groups[order], _weights(sample)[order]
    above = _running(w, group)
    worth = gain[order] * discount.between(above, above + w, k)
    return np.bincount(group, weights=worth, minlength=sample.n_groups)


@dataclass(frozen=True)
class Disagreement:
    """Per group: pairs with y_i > y_j, counted and weighed by y_i - y_j.

    ``reversed``: those with s_i < s_j; ``tied``: those with s_i = s_j; ``all``: all of them.
    """

    reversed_count: Array
    reversed_gap: Array
    tied_count: Array
    tied_gap: Array
    all_count: Array
    all_gap: Array

    def misranking(self, ties: str) -> Array:
        return ratio(self.reversed_count + _SHARE[ties] * self.tied_count, self.all_count)

    def error(self, ties: str) -> Array:
        return ratio(self.reversed_gap + _SHARE[ties] * self.tied_gap, self.all_count)


def disagreement(sample: Sample, y: Array) -> Disagreement:
    """Count discordant pairs bit by bit of the labels' rank: O(n log n), no loop over rows or groups.

    Rows are listed by rising score, equal scores by rising label.  A pair is reversed when the earlier row
    has the larger label.  Splitting the list at each bit of the label, highest first, stable both ways,
    every such pair is met exactly once: at the first bit in which the labels differ.
    """
    groups, weights = _groups(sample), _weights(sample)
    y = y - y.mean()
    order = np.lexsort((y, sample.scores, groups))
    group, w, v = groups[order], weights[order], y[order]
    block = np.cumsum(_changes(sample.scores[order], group)) - 1
    tied = _spread(block, w, v)
    owner = group[np.flatnonzero(np.diff(block, prepend=-1))]
    tied_count, tied_gap = (np.bincount(owner, weights=t, minlength=sample.n_groups) for t in tied)
    by_label = np.lexsort((y, groups))
    everything = _spread(groups[by_label].astype(np.intp), weights[by_label], y[by_label])

    rank = np.unique(v, return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(group.astype(np.intp), prepend=-1))
    lengths = np.diff(np.append(starts, len(group)))
    start, end = np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)
    place = np.arange(len(v))
    count, gap = np.zeros(sample.n_groups), np.zeros(sample.n_groups)
    for bit in range(int(rank.max(initial=0)).bit_length() - 1, -1, -1):
        one = (rank >> bit) & 1
        ones = np.concatenate([[0], np.cumsum(one)])
        mass = np.concatenate([[0.0], np.cumsum(one * w)])
        moment = np.concatenate([[0.0], np.cumsum(one * w * v)])
        above = mass[:-1] - mass[start]
        low = (one == 0) & (above > 0)
        count += np.bincount(group[low], weights=(w * above)[low], minlength=sample.n_groups)
        excess = w * (moment[:-1] - moment[start] - v * above)
        gap += np.bincount(group[low], weights=excess[low], minlength=sample.n_groups)
        ones_before = ones[:-1] - ones[start]
        zeros = (end - start) - (ones[end] - ones[start])
        target = start + np.where(one == 1, zeros + ones_before, place - start - ones_before)
        middle = start + zeros
        start, end = np.where(one == 1, middle, start), np.where(one == 1, end, middle)
        move = np.empty_like(target)
        move[target] = place
        rank, w, v, group, start, end = rank[move], w[move], v[move], group[move], start[move], end[move]
    return Disagreement(count, gap, tied_count, tied_gap, *everything)


def spearman_rho(sample: Sample, y: Array, ties: str) -> Array:
    """Correlation of the places by score, ties resolved, with the mean places by label.

    The places 1..W of an order have the variance (W^2 - 1) / 12 whatever the order, so the expectation over
    orders is that of the covariance alone.
    """
    groups, w = _groups(sample), _weights(sample)
    n_groups = sample.n_groups
    total = np.bincount(groups, weights=w, minlength=n_groups)
    by_label = _middle_rank(np.lexsort((y, groups)), [y], groups, w) - (total[groups] + 1) / 2
    if ties == "average":
        by_score = _middle_rank(np.lexsort((sample.scores, groups)), [sample.scores], groups, w)
    else:
        key = -y if ties == "pessimistic" else y
        order = np.lexsort((key, sample.scores, groups))
        by_score = _middle_rank(order, [sample.scores, y], groups, w)
    covariance = np.bincount(groups, weights=w * by_score * by_label, minlength=n_groups)
    spread = np.bincount(groups, weights=w * by_label**2, minlength=n_groups)
    scale = np.sqrt(np.maximum(spread * total * (total**2 - 1) / 12, 0.0))
    return np.asarray(np.clip(ratio(covariance, scale), -1.0, 1.0))


def _middle_rank(order: Array, keys: list[Array], groups: Array, w: Array) -> Array:
    """Mean place, from the bottom of the group, of the rows that share all keys."""
    group, weight = groups[order], w[order]
    first = _changes(keys[0][order], group)
    for key in keys[1:]:
        first |= _changes(key[order], group)
    at = np.flatnonzero(first)
    size = np.add.reduceat(weight, at)
    middle = _running(weight, group)[at] + (size + 1) / 2
    ranks = np.empty(len(order))
    ranks[order] = middle[np.cumsum(first) - 1]
    return ranks


def _spread(block: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Pairs of different ``v`` in each block, rows listed by block and rising ``v``: count, sum of gaps."""
    n_blocks = int(block[-1]) + 1
    total = np.bincount(block, weights=w, minlength=n_blocks)
    at = np.flatnonzero(_changes(v, block))
    same = np.add.reduceat(w, at)
    count = (total**2 - np.bincount(block[at], weights=same**2, minlength=n_blocks)) / 2
    # Differences of squares leave dust where there is no pair.
    kinds = np.bincount(block[at], minlength=n_blocks)
    count = np.where(kinds > 1, count, 0.0)
    before = _running(w, block)
    gap = np.bincount(block, weights=w * v * (2 * before + w - total[block]), minlength=n_blocks)
    return count, np.where(kinds > 1, gap, 0.0)


def _groups(sample: Sample) -> Array:
    codes = np.zeros(len(sample.y), dtype=np.intp) if sample.groups is None else sample.groups
    return codes.astype(np.intp, copy=False)


def _weights(sample: Sample) -> Array:
    return np.ones(len(sample.y)) if sample.weights is None else sample.weights


def _changes(values: Array, group: Array) -> Array:
    """Rows that open a run of equal values inside a group."""
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    new[1:] |= group[1:] != group[:-1]
    return new


def _running(w: Array, group: Array) -> Array:
    """Sum of the weights of the earlier rows of the group."""
    before = np.cumsum(w) - w
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    lengths = np.diff(np.append(starts, len(group)))
    return np.asarray(before - np.repeat(before[starts], lengths))
