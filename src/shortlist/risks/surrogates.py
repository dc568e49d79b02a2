"""Scalar surrogates ``l(z)`` of the step ``1[z >= 0]``: value, derivatives, convex conjugate.

Every surrogate is convex, non-decreasing and at least the step itself, so a risk built from it bounds the share of
misplaced positives.  Arrays keep their dtype.

==============  ===================  ===========================  ======================
name            l(z)                 l*(a) = max_z a z - l(z)     where l* is finite
==============  ===================  ===========================  ======================
squared_hinge   [1 + z]_+^2          -a + a^2 / 4                 a >= 0
hinge           [1 + z]_+            -a                           0 <= a <= 1
logistic        log(1 + e^z)         a log a + (1-a) log(1-a)     0 <= a <= 1
exponential     e^z                  a log a - a                  a >= 0
==============  ===================  ===========================  ======================

``logistic`` is the natural logarithm of the papers, so l(0) = log 2 < 1; over log 2 it bounds the step.

>>> import numpy as np
>>> squared_hinge = surrogate("squared_hinge")
>>> squared_hinge.value(np.array([-2.0, 0.0, 1.0]))
array([0., 1., 4.])
>>> squared_hinge.derivative(np.array([-2.0, 0.0, 1.0]))
array([0., 2., 4.])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

Array = NDArray[Any]

__all__ = ["SURROGATES", "Surrogate", "surrogate"]


class Surrogate(ABC):
    """A convex, non-decreasing scalar loss.

    Attributes
    ----------
    name : str
    dual_upper : float
        Largest ``a`` for which the conjugate is finite; the smallest is always 0.
    smooth : bool
        Whether the derivative exists and is Lipschitz on bounded sets.
    """

    name: ClassVar[str]
    dual_upper: ClassVar[float] = np.inf
    smooth: ClassVar[bool] = True

    @abstractmethod
    def value(self, z: Array) -> Array:
        """``l(z)``."""

    @abstractmethod
    def derivative(self, z: Array) -> Array:
        """``l'(z)``; of a kink the right derivative."""

    @abstractmethod
    def second_derivative(self, z: Array) -> Array:
        """``l''(z)`` where it exists; of a jump in the slope the right value."""

    @abstractmethod
    def conjugate(self, a: Array) -> Array:
        """``l*(a)``, ``inf`` outside the domain."""

    def __repr__(self) -> str:
        return f"surrogate({self.name!r})"


class SquaredHinge(Surrogate):
    """``[1 + z]_+^2``, the truncated quadratic loss of TopPush."""

    name = "squared_hinge"

    def value(self, z: Array) -> Array:
        return np.asarray(np.square(np.maximum(z + 1, 0)))

    def derivative(self, z: Array) -> Array:
        return np.asarray(2 * np.maximum(z + 1, 0))

    def second_derivative(self, z: Array) -> Array:
        return 2 * (z >= -1).astype(z.dtype)

    def conjugate(self, a: Array) -> Array:
        return np.where(a >= 0, a * (a / 4 - 1), np.inf)


class Hinge(Surrogate):
    """``[1 + z]_+``, the loss of the Infinite Push."""

    name = "hinge"
    dual_upper = 1.0
    smooth = False

    def value(self, z: Array) -> Array:
        return np.asarray(np.maximum(z + 1, 0))

    def derivative(self, z: Array) -> Array:
        return (z >= -1).astype(z.dtype)

    def second_derivative(self, z: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, a: Array) -> Array:
        return np.where((a >= 0) & (a <= 1), -a, np.inf)


class Logistic(Surrogate):
    """``log(1 + e^z)``."""

    name = "logistic"
    dual_upper = 1.0

    def value(self, z: Array) -> Array:
        return np.logaddexp(np.zeros_like(z), z)

    def derivative(self, z: Array) -> Array:
        return expit(z)

    def second_derivative(self, z: Array) -> Array:
        p = expit(z)
        return p * expit(-z)

    def conjugate(self, a: Array) -> Array:
        inside = (a >= 0) & (a <= 1)
        b = np.where(inside, a, 0)
        return np.where(inside, xlogy(b, b) + xlogy(1 - b, 1 - b), np.inf)


class Exponential(Surrogate):
    """``e^z``, the loss of RankBoost and the P-Norm Push; overflows to ``inf`` without a warning."""

    name = "exponential"

    def value(self, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(z)

    derivative = value
    second_derivative = value

    def conjugate(self, a: Array) -> Array:
        b = np.maximum(a, 0)
        return np.where(a >= 0, xlogy(b, b) - b, np.inf)


SURROGATES: dict[str, Surrogate] = {
    s.name: s for s in (SquaredHinge(), Hinge(), Logistic(), Exponential())
}


def surrogate(name: str) -> Surrogate:
    """Look a surrogate up by its name, with a readable error."""
    try:
        return SURROGATES[name]
    except (KeyError, TypeError):
        raise ValueError(f"loss must be one of {sorted(SURROGATES)}, got {name!r}") from None
