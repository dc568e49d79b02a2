"""The open boxes of a search, kept in flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["BoxSet", "Pool"]


class BoxSet(NamedTuple):
    """Some boxes.

    Attributes
    ----------
    centre, radius : (B, d) arrays
        A chart of s < d features uses the first s columns.
    bound : (B,) array
        Of the statistic.
    key : (B,) array
        ``bound`` less the price of the support: of the value.
    age : (B,) int array
        Levels since conflicts were packed.
    chart : (B,) int array
        Number of the chart.
    """

    centre: Array
    radius: Array
    bound: Array
    key: Array
    age: Array
    chart: Array

    def rows(self, which: Array) -> BoxSet:
        """Some of the boxes."""
        return BoxSet(*(part[which] for part in self))


class Pool:
    """Boxes in the order in which they came, best and worst at hand.

    Parameters
    ----------
    d : int
        Number of features.
    """

    def __init__(self, d: int) -> None:
        self._size = 0
        self._store = _empty(64, d)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes that are in use, and as many for what moving them takes."""
        return 2 * self._size * sum(part[:1].nbytes for part in self._store)

    @property
    def boxes(self) -> BoxSet:
        """All boxes, as views."""
        return BoxSet(*(part[: self._size] for part in self._store))

    @property
    def best_key(self) -> float:
        """The largest key, or -inf."""
        return float(self.boxes.key.max(initial=-np.inf))

    def add(self, boxes: BoxSet) -> None:
        """More boxes."""
        need = self._size + len(boxes.key)
        if need > len(self._store.key):
            bigger = _empty(max(need, 2 * len(self._store.key)), boxes.centre.shape[1])
            for new, old in zip(bigger, self.boxes, strict=True):
                new[: self._size] = old
            self._store = bigger
        for own, part in zip(self._store, boxes, strict=True):
            own[self._size : need] = part
        self._size = need

    def take(self, count: int, *, largest: bool = True) -> BoxSet:
        """Remove the ``count`` boxes with the largest (or smallest) keys, in order of arrival."""
        key = self.boxes.key if not largest else -self.boxes.key
        if count >= self._size:
            taken = np.arange(self._size)
        else:
            taken = np.sort(np.argpartition(key, count - 1)[:count])
        out = self.boxes.rows(taken)
        self._remove(taken)
        return out

    def prune(self, limit: float) -> None:
        """Forget boxes with a key up to ``limit``."""
        self._remove(np.flatnonzero(self.boxes.key <= limit))

    def _remove(self, rows: Array) -> None:
        """The last boxes move into the gaps."""
        left = self._size - len(rows)
        tail = np.ones(self._size - left, dtype=bool)
        tail[rows[rows >= left] - left] = False
        movers = left + np.flatnonzero(tail)
        gaps = rows[rows < left]
        for part in self._store:
            part[gaps] = part[movers]
        self._size = left


def _empty(rows: int, d: int) -> BoxSet:
    return BoxSet(
        np.zeros((rows, d)),
        np.zeros((rows, d)),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows, dtype=np.int32),
    )
