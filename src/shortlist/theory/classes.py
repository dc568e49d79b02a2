"""Classes of scoring functions and the logarithms of their covering numbers in the largest difference of scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from shortlist.theory._input import number, whole

__all__ = ["FiniteClass", "FunctionClass", "LinearClass", "norm_bound"]


class FunctionClass(Protocol):
    """Anything that knows how many balls cover it."""

    def log_covering(self, distance: float) -> float:
        """log of a number of functions of the class such that every other is within ``distance`` of one of them.

        The distance of two functions is the largest difference of their scores over all rows that can occur.
        """
        ...


@dataclass(frozen=True)
class FiniteClass:
    """A list of ``size`` functions that were chosen before the rows were drawn, such as models fitted on other rows.

    >>> from shortlist.theory import FiniteClass
    >>> FiniteClass(1).log_covering(0.1)
    0.0
    """

    size: int

    def __post_init__(self) -> None:
        whole("size", self.size, 1)

    def log_covering(self, distance: float) -> float:
        number("distance", distance, above=0.0)
        return math.log(self.size)


@dataclass(frozen=True)
class LinearClass:
    """Scores w.x with ||w|| <= ``norm`` over rows with ||x|| <= ``radius``, in ``dimension`` features.

    The largest difference of two such functions is ``radius`` times the distance of their w, so the question is how
    many balls of radius e = distance / radius cover a ball of radius ``norm``.  Centres that cannot be added to are
    more than e apart, so the balls of half that radius around them are disjoint and lie in a ball of radius
    norm + e/2.  Comparing volumes,

        N <= ((norm + e/2) / (e/2))^d = (1 + 2 norm radius / distance)^d ,

    and N = 1 once distance >= norm * radius.  In one dimension the balls are intervals, and
    N = ceil(norm radius / distance) exactly.  A kernel map with finitely many features (landmarks) is a linear class;
    in infinite dimension no finite number of balls covers the class in this distance.

    Parameters
    ----------
    dimension : int
        Number of features.
    norm : float
        Largest norm of the coefficients; :func:`norm_bound` gives one that holds for a penalised fit.
    radius : float
        Largest norm of a row, of those to come too.

    Notes
    -----
    Li, Jin and Zhou (2014) use d log(9 norm / e).  It holds, but is never below the bound used here while
    e <= 7 norm; for larger e one ball is enough.

    Examples
    --------
    >>> from shortlist.theory import LinearClass
    >>> round(LinearClass(dimension=10, norm=2.0).log_covering(0.5), 3)
    21.972
    >>> LinearClass(dimension=10, norm=2.0).log_covering(2.0)
    0.0
    """

    dimension: int
    norm: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        whole("dimension", self.dimension, 1)
        number("norm", self.norm)
        number("radius", self.radius)

    def log_covering(self, distance: float) -> float:
        distance = number("distance", distance, above=0.0)
        ratio = self.norm * self.radius / distance
        if ratio <= 1.0:
            return 0.0
        if self.dimension == 1 and math.isfinite(ratio):
            return math.log(math.ceil(ratio))
        return self.dimension * math.log1p(2.0 * ratio)


def norm_bound(C: float, *, loss_at_zero: float = 1.0) -> float:
    """Largest norm that the minimiser of 1/2 ||w||^2 + C risk(w) can have, whatever the rows.

    At the optimum 1/2 ||w||^2 <= C risk(0), because the risk is not negative and w = 0 is allowed.  The risks of the
    top family at w = 0 are l(0): 1 for ``hinge``, ``squared_hinge`` and ``exponential``, log 2 for ``logistic``.
    So the bounds below, which hold for all w of a ball at once, hold for a penalised fit with this radius.

    Examples
    --------
    >>> from shortlist.theory import norm_bound
    >>> norm_bound(2.0)
    2.0
    """
    C = number("C", C, above=0.0)
    return math.sqrt(2.0 * C * number("loss_at_zero", loss_at_zero, above=0.0))
