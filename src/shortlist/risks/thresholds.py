"""Thresholds: what a positive has to beat, as a convex function of the negatives' scores in its group.

Each is the support function of a set of weights ``b`` on the negatives,

    threshold(s) = max { sum_j b_j s_j :  b >= 0,  sum_j b_j = 1,  b_j <= cap_j },

so one number a negative, its cap, tells a solver all it needs to know:

* ``Maximum``: no cap. The single best negative counts, as in TopPush and the Infinite Push.
* ``MeanOfLargest(k)``: cap_j = v_j / k, with v_j the row's weight; the mean of the k largest (TopPushK).
* ``TailMean(tau)``: the same with k = ceil(tau * sum(v)), a share instead of a count (tau-FPL).

>>> import numpy as np
>>> scores = np.array([3.0, 1.0, 2.0])
>>> Maximum().value(scores, np.ones(3)), MeanOfLargest(2).value(scores, np.ones(3))
(3.0, 2.5)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Maximum", "MeanOfLargest", "TailMean", "Threshold", "capped_mean"]


def capped_mean(scores: Array, caps: Array) -> float:
    """``max { b.s : 0 <= b <= caps, sum(b) = 1 }``: fill the largest scores up to their caps.

    O(n) expected by selection when the caps are equal, O(n log n) otherwise.
    """
    order = np.argsort(scores, kind="stable")[::-1]
    filled = np.cumsum(caps[order], dtype=np.float64)
    last = int(np.searchsorted(filled, 1.0 - 1e-12))
    if last >= len(order):
        raise ValueError("the caps sum to less than 1: there are fewer negatives than the threshold averages")
    top = order[:last]
    rest = 1.0 - (filled[last - 1] if last else 0.0)
    return float(np.dot(caps[top], scores[top]) + rest * scores[order[last]])


class Threshold(ABC):
    """A convex threshold; see the module for the one definition that all share."""

    @abstractmethod
    def caps(self, weights: Array) -> Array | None:
        """Upper limits of the weights ``b`` in one group of negatives; ``None`` where there is none."""

    def value(self, scores: Array, weights: Array) -> float:
        """The threshold of one group's negatives."""
        caps = self.caps(weights)
        return float(scores.max()) if caps is None else capped_mean(scores, caps)


@dataclass(frozen=True)
class Maximum(Threshold):
    """The largest score."""

    def caps(self, weights: Array) -> None:
        return None


@dataclass(frozen=True)
class MeanOfLargest(Threshold):
    """Mean of the ``k`` largest scores; of all of them where a group holds fewer."""

    k: float

    def caps(self, weights: Array) -> Array:
        return weights / min(float(self.k), float(weights.sum(dtype=np.float64)))


@dataclass(frozen=True)
class TailMean(Threshold):
    """Mean of the ``ceil(tau * n)`` largest scores, n the number of negatives in the group."""

    tau: float

    def caps(self, weights: Array) -> Array:
        total = float(weights.sum(dtype=np.float64))
        # A hair below the product: 0.07 * 100 is 7.000000000000001 in binary, and must count 7.
        k = max(1.0, float(np.ceil(self.tau * total * (1 - 1e-12))))
        return weights / min(k, total)
