"""Two scores as one: a base's below a cut, a second model's at and above it, and the cut between them.

A row with the base score b stays where it is if b < cut.  Otherwise the second model's score s decides, through a
strictly increasing function of s whose values are all at or above the cut, so no row of the one kind passes one of the
other.  Where the base calls its row at the cut positive (cut >= 0), all rows above are:

    cut + unit * f((s - low) / scale),    f(u) = 1 + u for u >= 0,  1 / (1 - u) below.

Otherwise the second model's own sign is kept, and its negative scores are fitted between the cut and 0:

    unit * s / scale for s >= 0,    cut * v / (1 + v) below,  v = -s / scale.

Each row's value depends on that row alone.  ``low`` and ``scale`` put the scores seen in training where the functions
are linear, so that no two of them become one by rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Blend", "cut_at"]

TINY = 1e-290


def cut_at(scores: Array, weights: Array, top: float) -> float:
    """The score of the row that makes the rows at or above it weigh ``top``, a little less for rounding.

    >>> round(cut_at(np.array([3.0, 1.0, 2.0, 2.0]), np.ones(4), 2), 6)
    2.0
    """
    order = np.argsort(-scores, kind="stable")
    reached = np.cumsum(weights[order])
    at = min(int(np.searchsorted(reached, top * (1 - 1e-12))), len(order) - 1)
    eps = np.finfo(scores.dtype).eps
    # A score may be summed in another order when fewer rows are scored: rows that equal the cut have to stay above it.
    # Never nothing: at a cut of 0 there would be no room for negative scores between the cut and 0.
    slack = max(64 * float(eps) * float(np.abs(scores).max()), TINY)
    return float(scores[order[at]]) - slack


@dataclass(frozen=True)
class Blend:
    """The joint score.

    Attributes
    ----------
    unit : float
        A length on the base's scale.
    low, scale : float
        The lowest, and the spread, of the second model's scores in training.
    """

    unit: float
    low: float
    scale: float

    @classmethod
    def of(cls, base_scores: Array, top_scores: Array) -> Blend:
        """Units from the scores of the training rows."""
        unit = max(float(np.ptp(base_scores)), float(np.abs(base_scores).max()))
        low, high = float(top_scores.min()), float(top_scores.max())
        return cls(unit or 1.0, low, (high - low) or 1.0)

    def __call__(self, base_scores: Array, is_top: Array, top_scores: Array, cuts: Array) -> Array:
        """``cuts`` holds the cut of each row; ``top_scores`` the scores of the rows that ``is_top`` marks.

        >>> blend = Blend(unit=1.0, low=0.0, scale=1.0)
        >>> blend(np.array([3.0, -1.0, 2.0]), np.array([True, False, True]), np.array([0.5, 0.7]), np.full(3, 2.0))
        array([ 3.5, -1. ,  3.7])
        """
        joint = base_scores.astype(np.float64)
        cut = cuts[is_top]
        u = (top_scores - self.low) / self.scale
        above = cut + self.unit * np.where(u >= 0, 1 + u, 1 / (1 + np.maximum(-u, 0)))
        v = top_scores / self.scale
        down = np.maximum(-v, 0)
        signed = np.where(v >= 0, self.unit * v, cut * (down / (1 + down)))
        joint[is_top] = np.where(cut >= 0, above, signed)
        return joint
