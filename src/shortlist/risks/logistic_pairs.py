"""Sums of the logistic loss over all pairs, in time linear in the rows and to the last digits.

For the pairs (i, j) with y_i < y_j of a group, u = z_i - z_j, and K one of l(u) = log(1 + e^u), l' and l'',

    over_i = sum over j of K(z_i - z_j) b_j,        under_j = sum over i of K(z_i - z_j) a_i.

No prefix sum gives these: l is no polynomial anywhere.  But it is analytic in the strip |Im u| < pi, and beyond
|u| = 40 it is u or 0 to within e^-40.

Method.  Cut the scores into cells of width 1.  In two cells the kernel is a polynomial of low degree in either score,

    K(x - y) = sum over m, k < p of A_d[m, k] T_m(s) T_k(t),      s, t in [-1, 1] the places inside the cells,

with T the Chebyshev polynomials and a table A_d that depends on the cells' distance d alone.  So each cell is known by
p moments sum_j b_j T_k(t_j); cells at most 40 apart exchange them through the tables; what lies farther below adds
u = x - y, which prefix sums of the first two moments give; and each row evaluates its own cell's polynomial.
O(p) a row for either end, O(81 p^2) a pair of cells in between.  Labels are halved digit by digit, as in
``risks.preferences``; blocks whose smaller half has at most p rows are summed pair by pair, at most p pairs a row.

Error.  On the ellipse with foci at a cell's ends and the sum of whose half axes is r half widths, K is analytic while
b = (r - 1/r) / 4 < pi.  Interpolation at p nodes in one variable errs by at most 4 M r^(1-p) / (r - 1) with M the
largest |K| there, affine functions apart, which it reproduces; in both by (1 + L) times that, with L <= 1 + 2/pi log p.
For l'' M is 1 / (4 cos(b/2)^2), for l' and l less.  With p = 17 and r = 10 that is 4e-16 of the sum of |b_j|: a
rounding error or two, and less than what the sums themselves round off.  Hence a certificate has no term for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from shortlist.risks.preferences import Preferences

Array = NDArray[Any]

__all__ = ["KernelHalves", "LogisticPairs"]

P = 17  # moments of a cell
NEAR = 40  # cells whose kernel is not yet affine
WIDEST = 2**20  # cells between the lowest and the highest score before gaps are closed
ROWS = 1 << 13

_KERNELS = (
    lambda u: np.logaddexp(0.0, u),
    expit,
    lambda u: expit(u) * expit(-u),
)


@cache
def tables(order: int) -> Array:
    """A_d of a derivative of l for d = -NEAR, ..., NEAR.

    >>> tables(1).shape, round(float(tables(1)[NEAR, 0, 0]), 12)  # the mean of l' in a cell with itself is 1/2
    ((81, 17, 17), 0.5)
    """
    angle = np.pi * (np.arange(P) + 0.5) / P
    nodes = 0.5 * np.cos(angle)
    analysis = (2.0 - (np.arange(P) == 0))[:, None] / P * np.cos(np.outer(np.arange(P), angle))
    apart = np.arange(-NEAR, NEAR + 1)[:, None, None] + nodes[:, None] - nodes
    return np.asarray(analysis @ _KERNELS[order](apart) @ analysis.T)


@dataclass(frozen=True)
class _Cells:
    """Rows spread over cells, lower halves first: the moments and what they become."""

    rows: Array
    polynomials: Any  # (rows, cells * P) CSR: T_k of each row's place
    n_low: int
    centres: Array
    near: list[tuple[int, Array, Array]]  # distance, lower cells, higher cells
    under: tuple[Array, Array]  # of each lower cell, the far higher cells below it: first, last
    above: tuple[Array, Array]

    def sums(self, f: Array, order: int) -> Array:
        """For each row the sum over the rows of the other half of K times f."""
        moments = (self.polynomials.T @ f[self.rows]).reshape(-1, P)
        low, high = moments[: self.n_low], moments[self.n_low :]
        found = np.zeros_like(moments)
        of_low, of_high = found[: self.n_low], found[self.n_low :]
        table = tables(order)
        for d, i, j in self.near:
            of_low[i] += high[j] @ table[d + NEAR].T
            of_high[j] += low[i] @ table[d + NEAR]
        if order < 2:
            for out, other, (first, last), at, sign, its in (
                (of_low, high, self.under, self.centres[: self.n_low], 1.0, self.centres[self.n_low :]),
                (of_high, low, self.above, self.centres[self.n_low :], -1.0, self.centres[: self.n_low]),
            ):
                mass = _between(other[:, 0], first, last)
                if order == 1:
                    out[:, 0] += mass
                else:  # x less y, as a polynomial of the place of either
                    out[:, 0] += sign * (at * mass - _between(other[:, 0] * its + 0.5 * other[:, 1], first, last))
                    out[:, 1] += sign * 0.5 * mass
        total = np.zeros(len(f))
        total[self.rows] = self.polynomials @ found.ravel()
        return total


@dataclass(frozen=True)
class KernelHalves:
    """The halves of all blocks at a digit, whose pairs weigh K(z_i - z_j)."""

    low: Array
    high: Array
    order: int
    cells: _Cells | None
    pairs: Any  # (lower rows, higher rows) CSR of the blocks that are summed pair by pair

    def sums(self, of_low: Array, of_high: Array) -> tuple[Array, Array]:
        """As ``Halves.sums``, with these weights."""
        over, under = self.pairs @ of_high, self.pairs.T @ of_low
        if self.cells is not None:
            f = np.empty(len(self.low) + len(self.high))
            f[self.low], f[self.high] = of_low, of_high
            total = self.cells.sums(f, self.order)
            over, under = over + total[self.low], under + total[self.high]
        return over, under


class LogisticPairs(Preferences):
    """Preferences whose pairs weigh the logistic loss of their difference, its slope or its curvature.

    Examples
    --------
    >>> pairs = LogisticPairs(np.array([0, 1, 1]), np.array([0, 3]))
    >>> halves, = pairs.weighed(np.array([0.5, 0.0, 2.0]), 0)
    >>> over, _ = halves.sums(np.ones(1), np.ones(2))
    >>> bool(np.isclose(over[0], np.logaddexp(0, 0.5) + np.logaddexp(0, -1.5)))
    True
    """

    def __init__(self, numbers: Array, starts: Array) -> None:
        super().__init__(numbers, starts)
        self._parts = [self._split(digit) for digit in self._digits]
        self._known: tuple[Array, list[_Cells | None]] | None = None

    def weighed(self, z: Array, order: int) -> list[KernelHalves]:
        """The halves of each digit under some scores: the loss itself (0), its slope (1) or its curvature (2)."""
        if self._known is None or not np.array_equal(self._known[0], z):
            self._known = z, self._spread(z)
        found = []
        for (low, high, rows, columns, pointers, _), cells in zip(self._parts, self._known[1], strict=True):
            weights = _KERNELS[order](z[low[rows]] - z[high[columns]])
            pairs = sparse.csr_array((weights, columns, pointers), shape=(len(low), len(high)))
            found.append(KernelHalves(low, high, order, cells, pairs))
        return found

    def _split(self, digit: Any) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Lower and higher rows, the pairs of small blocks, and each row's block, -1 for those."""
        has = ((self.numbers >> digit.shift) & 1).astype(bool)
        low, high = np.flatnonzero(~has), np.flatnonzero(has)
        low_sizes, high_sizes = np.diff(digit.low_starts), np.diff(digit.high_starts)
        small = np.minimum(low_sizes, high_sizes) <= P
        partners = np.repeat(np.where(small, high_sizes, 0), low_sizes)
        pointers = np.append(0, np.cumsum(partners))
        first = np.repeat(digit.high_starts[:-1], low_sizes) - pointers[:-1]
        columns = np.arange(pointers[-1]) + np.repeat(first, partners)
        block = np.repeat(np.where(small, -1, np.cumsum(~small) - 1), np.diff(digit.starts))
        return low, high, np.repeat(np.arange(len(low)), partners), columns, pointers, block

    def _spread(self, z: Array) -> list[_Cells | None]:
        large = [bool((part[5] >= 0).any()) for part in self._parts]
        if not any(large):
            return [None] * len(large)
        cell, centre, polynomials = _polynomials(z)
        return [
            _cells(part[5], cell, centre, polynomials, part[1]) if wanted else None
            for part, wanted in zip(self._parts, large, strict=True)
        ]


def _polynomials(z: Array) -> tuple[Array, Array, Array]:
    """Number of each row's cell, from 0; its centre; and T_0, ..., T_(P-1) of its place there."""
    floor = np.floor(z)
    place = np.clip(2.0 * (z - floor) - 1.0, -1.0, 1.0)
    low = float(floor.min())
    if float(floor.max()) - low < WIDEST:
        cell = (floor - low).astype(np.intp)
    else:  # an empty stretch is as good as another beyond what is near
        distinct, inverse = np.unique(floor, return_inverse=True)
        steps = np.minimum(np.diff(distinct), NEAR + 1).astype(np.intp)
        cell = np.append(0, np.cumsum(steps))[inverse]
    out = np.empty((len(z), P))
    out[:, 0], out[:, 1] = 1.0, place
    for first in range(0, len(z), ROWS):
        block, twice = out[first : first + ROWS], 2.0 * place[first : first + ROWS]
        for k in range(2, P):
            block[:, k] = twice * block[:, k - 1] - block[:, k - 2]
    return cell, floor + 0.5, out


def _cells(block: Array, cell: Array, centre: Array, polynomials: Array, high: Array) -> _Cells:
    """The cells of either half of each large block, and which of them are near."""
    span = int(cell.max()) + 2 * NEAR + 2  # so that neighbours of a block's cells are not another block's
    n_keys = span * (int(block.max()) + 1)
    side = np.zeros(len(block), dtype=bool)
    side[high] = True
    rows = np.flatnonzero(block >= 0)
    key = block[rows] * span + NEAR + cell[rows]
    keys, number, n_low = [], np.empty(len(rows), dtype=np.intp), 0
    for half in (False, True):
        chosen = side[rows] == half
        own, numbers = _numbered(key[chosen], n_keys)
        number[chosen] = n_low + numbers
        keys.append(own)
        n_low = len(keys[0])
    low, upper = keys
    centres = np.empty(n_low + len(upper))
    centres[number] = centre[rows]
    near = []
    for d in range(-NEAR, NEAR + 1):
        place = np.searchsorted(upper, low - d)
        i = np.flatnonzero(upper[np.minimum(place, len(upper) - 1)] == low - d)
        if len(i):
            near.append((d, i, place[i]))
    # Of each cell the far ones that it counts: lower halves count what lies below them, higher ones what lies above.
    under = np.searchsorted(upper, low // span * span), np.searchsorted(upper, low - NEAR)
    above = np.searchsorted(low, upper + NEAR, side="right"), np.searchsorted(low, (upper // span + 1) * span)
    index = (number[:, None] * P + np.arange(P)).ravel()
    data = polynomials.ravel() if len(rows) == len(block) else polynomials[rows].ravel()
    small = np.int32 if max(len(data), len(centres) * P) < 2**31 else np.int64
    pointers = np.arange(0, len(data) + 1, P, dtype=small)
    spread = sparse.csr_array((data, index.astype(small), pointers), shape=(len(rows), len(centres) * P))
    return _Cells(rows, spread, n_low, centres, near, under, above)


def _numbered(key: Array, n_keys: int) -> tuple[Array, Array]:
    """The distinct keys, ascending, and the number of each key's."""
    if n_keys > 8 * len(key) + 1000:
        return np.unique(key, return_inverse=True)
    present = np.zeros(n_keys, dtype=bool)
    present[key] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[key]


def _between(a: Array, first: Array, last: Array) -> Array:
    total = np.append(0.0, np.cumsum(a))
    return np.asarray(total[last] - total[first])
