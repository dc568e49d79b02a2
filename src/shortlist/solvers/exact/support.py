"""Which coefficients are zero: the search over supports, when a coefficient has a price.

    max over w of F(w) - l0 ||w||_0  =  max over supports S of  [ max over w on S of F(w) ] - l0 |S|,

where "w on S" may have zeros inside S too: they belong to a smaller support that asks less.  Each S is a cube of its
own (a face of the cube at which coefficients outside S are zero) with a chart of its own.  There are 2^d supports, so
they are unfolded only where there is hope: a ``Family`` holds all S between ``inside`` and ``within``, and no member
is better than the statistic's bound on ``within``, less l0 for each feature in ``inside`` (for one at least).
Without a price one support, all features, holds the rest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.bounds import count_lost, earned, path_places
from shortlist.solvers.exact.pairs import PairForm

Array = NDArray[Any]

__all__ = ["Families", "Family"]


@dataclass(frozen=True)
class Family:
    """All supports S with ``inside <= S <= within`` that are not empty.

    Attributes
    ----------
    inside, within : tuple of int
    bound : float
        Of the statistic, for coefficients on ``within``.
    """

    inside: tuple[int, ...]
    within: tuple[int, ...]
    bound: float

    @property
    def settled(self) -> bool:
        """Whether one support is left."""
        return len(self.inside) == len(self.within)


class Families:
    """The supports that have not been unfolded, the most hopeful family first.

    Parameters
    ----------
    pairs : PairForm
    features : int array
        Features that differ between some pair; no other deserves a coefficient.
    margin, l0 : float
    """

    def __init__(self, pairs: PairForm, features: Array, margin: float, l0: float) -> None:
        self._pairs, self._margin, self._l0 = pairs, margin, l0
        self._heap: list[tuple[float, int, Family]] = []
        self._count = 0
        whole = tuple(int(j) for j in features)
        if whole:
            self._push(whole if l0 == 0 else (), whole, np.inf)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def best_key(self) -> float:
        """The largest bound of a value among those that wait, or -inf."""
        return -self._heap[0][0] if self._heap else -np.inf

    @property
    def widest(self) -> Family | None:
        """The one family that holds all others, before any was unfolded."""
        return self._heap[0][2] if self._heap else None

    def unfold(self) -> Family | None:
        """Split the most hopeful family; the support itself, if it is one only."""
        family = heapq.heappop(self._heap)[2]
        if family.settled:
            return family
        j = next(feature for feature in family.within if feature not in family.inside)
        self._push((*family.inside, j), family.within, family.bound)
        rest = tuple(feature for feature in family.within if feature != j)
        if rest:
            self._push(family.inside, rest, family.bound)
        return None

    def _push(self, inside: tuple[int, ...], within: tuple[int, ...], bound: float) -> None:
        family = Family(inside, within, min(bound, self._cube_bound(within)))
        key = family.bound - self._l0 * max(1, len(inside))
        heapq.heappush(self._heap, (-key, self._count, family))
        self._count += 1

    def _cube_bound(self, within: tuple[int, ...]) -> float:
        """The path bound when only pairs that are lost everywhere in the cube count."""
        reach = np.abs(self._pairs.D[:, list(within)]).sum(axis=1)
        lost = reach < self._margin - self._pairs.rounding
        A, L = count_lost(self._pairs.lists, lost[None, :])
        return float(earned(self._pairs.lists, path_places(self._pairs.lists, A, L))[0])
