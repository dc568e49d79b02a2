"""Weak rankers: the columns themselves, or thresholds on columns.  Each finds its best one for given potentials.

The edge of a ranker h is potentials . h.  Potentials sum to 0, so that a constant added to h changes nothing.

**Features.** h = x_k / range of x_k.  All edges are one product with the transposed matrix: O(entries of X) a round.

**Stumps.** h = 1[x_k > theta], for every theta between two values of a column.  The rows of a column are sorted once.
The most frequent value of a column (of sparse data the zero) is left out: rows above it are listed downwards, rows
below it upwards, and running sums of the potentials along these lists are the edges of all thresholds.  A round costs
O(rows off the most frequent values), and sparse data stay sparse.

Equal edges, up to rounding, go to the first column, and in it to the highest threshold: the choice does not hang on the
order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Choice", "Features", "Stumps", "WeakRankers"]

# Edges nearer than this are equal: sums of potentials, whose absolute values sum to 2 at most, differ by rounding.
SAME = 1e-11


@dataclass(frozen=True)
class Choice:
    """A weak ranker.

    Attributes
    ----------
    column : int
    threshold : float
        Of a stump; NaN for a feature.
    edge : float
        Negative where the ranker serves turned round.
    values : (n_rows,) array
        The ranker at each row, up to a constant; their range is 1.
    up : (n_rows,) bool array or None
        Where a stump is 1.
    scale : float
        Of a feature: one over its range.
    """

    column: int
    threshold: float
    edge: float
    values: Array
    up: Array | None
    scale: float = 1.0

    def on(self, X: Any) -> Array:
        """The ranker at other rows."""
        column = column_of(X, self.column)
        return column * self.scale if self.up is None else np.asarray(column > self.threshold, dtype=np.float64)


class WeakRankers(Protocol):
    """What the solver asks of a family of weak rankers."""

    @property
    def longest(self) -> float:
        """The longest step along one of them."""

    def best(self, potentials: Array) -> Choice | None:
        """The ranker with the largest edge; None if there is none at all."""


class Features:
    """The columns of X, each divided by its range.

    >>> best = Features(np.array([[0.0, 4.0], [1.0, 0.0]])).best(np.array([-1.0, 1.0]))
    >>> best.column, best.edge
    (0, 1.0)
    """

    longest = np.inf

    def __init__(self, X: Any) -> None:
        self.X = X
        self.ranges = _extreme(X, "max") - _extreme(X, "min")
        with np.errstate(divide="ignore"):
            self._scale = np.where(self.ranges > 0, 1 / self.ranges, 0.0)

    def best(self, potentials: Array) -> Choice | None:
        pulled = np.asarray(self.X.T @ potentials.astype(self.X.dtype), dtype=np.float64)
        edges = pulled * self._scale
        sizes = np.abs(edges)
        largest = float(sizes.max(initial=0.0))
        if not largest > SAME:
            return None
        k = int(np.argmax(sizes >= largest - SAME))
        values = column_of(self.X, k) * self._scale[k]
        values -= values.min()
        edge = float(potentials @ values)  # as double precision has it
        return Choice(k, np.nan, edge, values, None, float(self._scale[k])) if abs(edge) > SAME else None


def column_of(X: Any, k: int) -> Array:
    """One column, dense and in double precision."""
    column = X[:, [k]].toarray()[:, 0] if hasattr(X, "toarray") else X[:, k]
    return np.asarray(column, dtype=np.float64)


def _extreme(X: Any, which: str) -> Array:
    found = getattr(X, which)(axis=0)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64).ravel()


class Stumps:
    """All thresholds on the columns of X.

    >>> best = Stumps(np.array([[0.0], [1.0], [3.0]])).best(np.array([-0.5, -0.5, 1.0]))
    >>> best.column, best.threshold, best.edge
    (0, 2.0, 1.0)
    """

    longest = 5.0  # a ranker without a mistake would take an endless step

    def __init__(self, X: Any) -> None:
        self.n_rows = X.shape[0]
        parts = _sparse_lists(X) if hasattr(X, "tocsc") else _dense_lists(X)
        # Rows, list by list; the candidates are places in it, each with its list's first place.
        self._rows, self._begins, self._ends, self._columns, self._thresholds, self._is_above = parts
        self._signs = np.where(self._is_above, 1.0, -1.0)

    def best(self, potentials: Array) -> Choice | None:
        if not len(self._ends):
            return None
        running = np.empty(len(self._rows) + 1)
        running[0] = 0.0
        np.cumsum(potentials[self._rows], out=running[1:])
        edges = running[self._ends + 1] - running[self._begins]
        sizes = np.abs(edges)
        largest = float(sizes.max())
        if not largest > SAME:
            return None
        equal = np.flatnonzero(sizes >= largest - SAME)
        if len(equal) > 1:
            equal = equal[np.lexsort((-self._thresholds[equal], self._columns[equal]))]
        at = int(equal[0])
        listed = self._rows[self._begins[at] : self._ends[at] + 1]
        values, up = np.zeros(self.n_rows), np.full(self.n_rows, not self._is_above[at])
        values[listed] = self._signs[at]
        up[listed] = self._is_above[at]
        edge = float(self._signs[at] * edges[at])
        return Choice(int(self._columns[at]), float(self._thresholds[at]), edge, values, up)


Lists = tuple[Array, Array, Array, Array, Array, Array]


def _middles(low: Array, high: Array) -> Array:
    """Between two values: below the higher one, whatever the rounding."""
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def _dense_lists(X: Array) -> Lists:
    n_rows = X.shape[0]
    rows: list[Array] = []
    begins: list[Array] = []
    ends: list[Array] = []
    columns: list[Array] = []
    thresholds: list[Array] = []
    above: list[Array] = []
    place = 0
    for k in range(X.shape[1]):
        order = np.argsort(X[:, k], kind="stable").astype(np.int32)
        values = X[order, k]
        turns = np.flatnonzero(values[1:] != values[:-1]) + 1  # first places of the runs of equal values, but for 0
        starts = np.concatenate([[0], turns, [n_rows]])
        usual = int(np.argmax(np.diff(starts)))
        cuts = _middles(values[turns - 1], values[turns])
        for is_above, listed, at in (
            (True, order[starts[usual + 1] :][::-1], n_rows - 1 - turns[usual:][::-1]),
            (False, order[: starts[usual]], turns[:usual] - 1),
        ):
            rows.append(listed)
            begins.append(np.full(len(at), place))
            ends.append(place + at)
            columns.append(np.full(len(at), k))
            thresholds.append(cuts[usual:][::-1] if is_above else cuts[:usual])
            above.append(np.full(len(at), is_above))
            place += len(listed)
    joined = (rows, begins, ends, columns, thresholds, above)
    lists, begin, end, column, threshold, sides = (np.concatenate(part) for part in joined)
    return lists, begin, end, column, threshold, sides


def _sparse_lists(X: Any) -> Lists:
    entries = X.tocoo()
    filled = entries.data != 0
    row, column, value = entries.row[filled], entries.col[filled], entries.data[filled]
    is_below = value < 0
    order = np.lexsort((row, -np.abs(value), is_below, column))
    row, column, value, is_below = row[order], column[order], value[order], is_below[order]
    new_list = np.ones(len(row), dtype=bool)
    new_list[1:] = (column[1:] != column[:-1]) | (is_below[1:] != is_below[:-1])
    firsts = np.flatnonzero(new_list)
    lasts = np.append(firsts[1:], len(row)) - 1 if len(firsts) else firsts
    # What follows each entry: the next in its list, after the last one zero; where no row has a zero there, the list of
    # the other sign.
    follows = np.zeros(len(row), dtype=value.dtype)
    follows[:-1] = value[1:]
    follows[lasts] = 0
    full = np.bincount(column, minlength=X.shape[1])[column[firsts]] == X.shape[0]
    exists = np.ones(len(row), dtype=bool)
    for i in np.flatnonzero(full):
        beside = i - 1 if is_below[firsts[i]] else i + 1
        paired = 0 <= beside < len(firsts) and column[firsts[beside]] == column[firsts[i]]
        exists[lasts[i]] = paired and not is_below[firsts[i]]
        if paired:
            follows[lasts[i]] = value[lasts[beside]]
    ends = np.flatnonzero((value != follows) & exists)
    begins = firsts[np.cumsum(new_list)[ends] - 1]
    low, high = np.minimum(value, follows)[ends], np.maximum(value, follows)[ends]
    return row.astype(np.int32), begins, ends, column[ends], _middles(low, high), ~is_below[ends]
