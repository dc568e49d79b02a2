"""Pairs whose scores contradict their labels, summed without listing them.

A pair (i, j) of rows of one group is *discordant* when y_j > y_i and z_j < z_i.  All that the one-sided pairwise
costs need are sums of a moment a over the partners of each row,

    high_i = sum of a_j over j with y_j > y_i and z_j < z_i,
    low_j  = sum of a_i over i with y_i < y_j and z_i > z_j,

for they give value, slope and curvature of  sum over discordant pairs of w_i w_j (z_i - z_j)^n.  With T = high + low,

    n = 1:  gradient  w (high_w - low_w),
    n = 2:  gradient  2 w (z T_w - T_wz),     Hessian  v -> 2 w (v T_w - T_wv).

Method.  Number the distinct labels of a group.  Two labels differ first in one binary digit: so sort the rows by score,
and for each digit, the highest first, add up prefixes of those that have it and suffixes of those that lack it, inside
blocks of rows that agree in all digits before; then split the blocks by that digit, keeping the order of the scores.
One sort and O(m) a digit: O(m log m), and for five grades three digits.  Rows with equal scores or equal labels are
never discordant: so the result does not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Discordance", "distinct_numbers"]


def distinct_numbers(y: Array, starts: Array) -> Array:
    """Number of each row's label among the distinct ones of its group; rows ascend in y inside groups.

    >>> distinct_numbers(np.array([1.0, 1.0, 4.0, 0.0, 2.0]), np.array([0, 3, 5]))
    array([0, 0, 1, 0, 1])
    """
    new = np.concatenate([[False], y[1:] != y[:-1]])[: len(y)]
    new[starts[:-1]] = False
    number = np.cumsum(new)
    return np.asarray(number - np.repeat(number[starts[:-1]], np.diff(starts)))


@dataclass(frozen=True)
class _Digit:
    """Blocks of rows that agree in all higher digits of their labels' numbers."""

    shift: int
    starts: Array
    sizes: Array
    lacking: Array  # how many rows of each block lack the digit


class Discordance:
    """Sums over the discordant pairs of fixed labels.

    Parameters
    ----------
    numbers : (m,) int array
        Labels, numbered from 0 inside each group; ascending inside groups.
    starts : (n_groups + 1,) int array
        Where each group begins, and the end.

    Examples
    --------
    Scores 3, 1, 2 under labels 0, 1, 2: the first row stands above both that belong above it.

    >>> pairs = Discordance(np.array([0, 1, 2]), np.array([0, 3]))
    >>> order = pairs.order(np.array([3.0, 1.0, 2.0]))
    >>> high, low = pairs.partners(order, np.ones(3))
    >>> high, low
    (array([2., 0., 0.]), array([0., 1., 1.]))
    """

    def __init__(self, numbers: Array, starts: Array) -> None:
        self.numbers = numbers
        self.starts = starts
        self._group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        bits = int(numbers.max(initial=0)).bit_length()
        self._digits = []
        key = (self._group << bits) | numbers
        for shift in range(bits - 1, -1, -1):
            block = key >> (shift + 1)
            first = np.flatnonzero(np.concatenate([[True], block[1:] != block[:-1]]))
            lacking = np.add.reduceat(1 - ((numbers >> shift) & 1), first)
            self._digits.append(_Digit(shift, first, np.diff(np.append(first, len(key))), lacking))

    def order(self, z: Array) -> Array:
        """Rows by group, then by score; equal scores by label, so that ties are concordant."""
        if len(self.starts) == 2:
            return np.argsort(z, kind="stable")
        return np.lexsort((z, self._group))

    def partners(self, order: Array, *moments: Array) -> list[Array]:
        """``high`` and ``low`` of each moment in turn, for the order of some scores."""
        sums = [np.zeros(len(order)) for _ in range(2 * len(moments))]
        rows, places = order, np.arange(len(order))
        for digit in self._digits:
            has = ((self.numbers[rows] >> digit.shift) & 1).astype(bool)
            for k, moment in enumerate(moments):
                a = moment[rows]
                with_digit = _prefixes(np.where(has, a, 0.0))
                without = _prefixes(np.where(has, 0.0, a))
                below = with_digit[:-1] - np.repeat(with_digit[digit.starts], digit.sizes)
                above = np.repeat(without[digit.starts + digit.sizes], digit.sizes) - without[1:]
                sums[2 * k][rows] += np.where(has, 0.0, below)
                sums[2 * k + 1][rows] += np.where(has, above, 0.0)
            if digit.shift:
                count = _prefixes(has)
                before = count[:-1] - np.repeat(count[digit.starts], digit.sizes)
                first = np.repeat(digit.starts + digit.lacking, digit.sizes)
                split = np.empty_like(rows)
                split[np.where(has, first + before, places - before)] = rows
                rows = split
        return sums


def _prefixes(a: Array) -> Array:
    """Sums of the first 0, 1, ..., n entries."""
    total = np.empty(len(a) + 1, dtype=np.intp if a.dtype == bool else np.float64)
    total[0] = 0
    np.cumsum(a, out=total[1:])
    return total
