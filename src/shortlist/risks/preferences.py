"""Pairs whose scores keep a margin too small, summed without listing them.

Rows of a group are compared where their labels differ.  A pair (i, j) with y_i < y_j is *active* when z_j < z_i + 1:
the better row is not ahead by 1.  All that the hinge, its square and their curvature need are sums over the active
partners of each row,

    over_i = sum of a_j over j with y_j > y_i and z_j < z_i + 1,        under_j = the same seen from the better row.

Method.  Number the distinct labels of a group.  Two labels differ first in one binary digit, so at each digit the rows
of a block (those that agree in all digits before) fall into a lower and a higher half, and every pair of the halves is
compared there and nowhere else.  Both halves are sorted by score; the active partners of a row are then the first few
of the other half, found by a search and summed by differences of prefix sums.  Two labels have one digit, five grades
three.  O(m log m) for the sort and the searches, O(m) a digit for each sum.

The search is done from the smaller half only, and what the other half sees follows by counting: so rounding cannot make
a pair count at one of its ends alone, which would not be a subgradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Halves", "Preferences"]

REMEMBERED = 2


@dataclass(frozen=True)
class Halves:
    """The lower and the higher half of all blocks at a digit, each by block, then by score.

    Attributes
    ----------
    low, high : int arrays
        Rows.
    low_from, low_to : int arrays
        The active partners of each lower row are ``high[low_from:low_to]``.
    high_from, high_to : int arrays
        Those of each higher row are ``low[high_from:high_to]``.
    """

    low: Array
    high: Array
    low_from: Array
    low_to: Array
    high_from: Array
    high_to: Array

    def sums(self, of_low: Array, of_high: Array) -> tuple[Array, Array]:
        """For each lower row the sum over its partners of ``of_high``, for each higher row that of ``of_low``.

        Both moments are in the order of their half.
        """
        above, below = _prefixes(of_high), _prefixes(of_low)
        return above[self.low_to] - above[self.low_from], below[self.high_to] - below[self.high_from]


@dataclass(frozen=True)
class _Digit:
    """Blocks of rows that agree in all higher digits: where each begins in either half, and in both together."""

    shift: int
    starts: Array
    low_starts: Array
    high_starts: Array


class Preferences:
    """The pairs of rows of a group whose labels differ.

    Parameters
    ----------
    numbers : (m,) int array
        Labels, numbered from 0 inside each group; ascending inside groups.
    starts : (n_groups + 1,) int array
        Where each group begins, and the end.

    Examples
    --------
    Scores 0.5, 0, 2 under labels 0, 1, 1: the first better row is behind, the second is ahead by more than 1.

    >>> pairs = Preferences(np.array([0, 1, 1]), np.array([0, 3]))
    >>> halves, = pairs.active(np.array([0.5, 0.0, 2.0]))
    >>> halves.sums(np.ones(1), np.ones(2))
    (array([1.]), array([1., 0.]))
    """

    def __init__(self, numbers: Array, starts: Array) -> None:
        self.numbers, self.starts = numbers, starts
        self._group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        bits = int(numbers.max(initial=0)).bit_length()
        key = (self._group << bits) | numbers
        self._digits = []
        # A solver asks for value, slope and curvature at the same scores, one after the other.
        self._remembered: list[tuple[Array, list[Halves]]] = []
        for shift in range(bits - 1, -1, -1):
            block = key >> (shift + 1)
            first = np.flatnonzero(np.concatenate([[True], block[1:] != block[:-1]]))
            has = np.add.reduceat((numbers >> shift) & 1, first)
            ends = np.append(first, len(key))
            highs = np.append(0, np.cumsum(has))
            self._digits.append(_Digit(shift, ends, ends - highs, highs))

    def active(self, z: Array) -> list[Halves]:
        """The halves of each digit, with the active partners under some scores; the last few are remembered."""
        for scores, found in self._remembered:
            if np.array_equal(scores, z):
                return found
        found = [_searched(digit, low, high, z) for digit, low, high in self._halves(z)]
        self._remembered = [(z, found), *self._remembered[: REMEMBERED - 1]]
        return found

    def all_pairs(self) -> list[Halves]:
        """The halves of each digit, with every pair counted."""
        found = []
        for digit, low, high in self._halves(np.zeros(len(self.numbers))):
            low_sizes, high_sizes = np.diff(digit.low_starts), np.diff(digit.high_starts)
            found.append(
                Halves(
                    low,
                    high,
                    np.repeat(digit.high_starts[:-1], low_sizes),
                    np.repeat(digit.high_starts[1:], low_sizes),
                    np.repeat(digit.low_starts[:-1], high_sizes),
                    np.repeat(digit.low_starts[1:], high_sizes),
                )
            )
        return found

    def _halves(self, z: Array) -> Any:
        if not self._digits:
            return
        first = self._digits[0]
        if first.shift == 0 and len(self.starts) == 2:  # two labels, one group: two sorts of the halves
            cut = int(first.low_starts[1])
            yield first, np.argsort(z[:cut]), cut + np.argsort(z[cut:])
            return
        rows = np.argsort(z, kind="stable") if len(self.starts) == 2 else np.lexsort((z, self._group))
        for digit in self._digits:
            has = ((self.numbers[rows] >> digit.shift) & 1).astype(bool)
            low, high = rows[~has], rows[has]
            yield digit, low, high
            if digit.shift:  # inside each block the lower half first, both still by score
                split = np.empty_like(rows)
                low_places = np.arange(len(low)) + np.repeat(digit.high_starts[:-1], np.diff(digit.low_starts))
                high_places = np.arange(len(high)) + np.repeat(digit.low_starts[1:], np.diff(digit.high_starts))
                split[low_places], split[high_places] = low, high
                rows = split


def _searched(digit: _Digit, low: Array, high: Array, z: Array) -> Halves:
    one = len(digit.starts) == 2
    low_sizes, high_sizes = np.diff(digit.low_starts), np.diff(digit.high_starts)
    low_from: Any = np.zeros(1, dtype=np.intp) if one else np.repeat(digit.high_starts[:-1], low_sizes)
    high_to: Any = np.array([len(low)]) if one else np.repeat(digit.low_starts[1:], high_sizes)
    reached, ahead = z[low] + 1.0, z[high]
    if len(low) <= len(high):
        # How many of the higher rows stand below each lower row's score plus one.
        if one:
            low_to = np.searchsorted(ahead, reached, side="left")
        else:
            low_to = _places(ahead, reached, low_from, np.repeat(digit.high_starts[1:], low_sizes), "left")
        high_from = _counted(low_to, len(high))
    else:
        if one:
            high_from = np.searchsorted(reached, ahead, side="right")
        else:
            high_from = _places(reached, ahead, np.repeat(digit.low_starts[:-1], high_sizes), high_to, "right")
        low_to = _counted(high_from, len(low))
    return Halves(low, high, low_from, low_to, high_from, high_to)


def _counted(places: Array, n: int) -> Array:
    """How many of the ascending ``places`` are at most 0, 1, ..., n - 1."""
    return np.asarray(np.cumsum(np.bincount(places, minlength=n + 1)[:n]))


def _places(values: Array, at: Array, first: Array, last: Array, side: str) -> Array:
    """``searchsorted`` of each ``at`` among its own stretch ``values[first:last]``."""
    first, last = first.copy(), last.copy()
    while True:
        open_ = np.flatnonzero(first < last)
        if not len(open_):
            return first
        middle = (first[open_] + last[open_]) // 2
        before = values[middle] < at[open_] if side == "left" else values[middle] <= at[open_]
        first[open_] = np.where(before, middle + 1, first[open_])
        last[open_] = np.where(before, last[open_], middle)


def _prefixes(a: Array) -> Array:
    """Sums of the first 0, 1, ..., n entries."""
    total = np.empty(len(a) + 1)
    total[0] = 0.0
    np.cumsum(a, out=total[1:])
    return total
