"""The positives' side of the interior point method: ``sum_i u_i l(z_i)``, z_i = theta - score_i.

A block answers four questions of the method.  What is its Newton model: curvatures D_i and offsets r_i so that the
multipliers change by D_i (dz_i + r_i)?  How far may a step go?  What does it add to the merit function?  And which
alpha does it offer to the dual?

Smooth surrogates need no barrier: alpha_i = u_i l'(z_i) is a function of z.  The hinge is split by a slack,

    min u xi   s.t.   p = xi - 1 - z >= 0 (multiplier alpha),  xi >= 0 (multiplier u - alpha),

and both complementarities are relaxed to alpha p = omega mu, (u - alpha) xi = omega mu.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.surrogates import Surrogate

Array = NDArray[Any]

__all__ = ["HingeBlock", "PositiveBlock", "SmoothBlock", "centred_hinge", "longest_step", "positive_block"]


def longest_step(x: Array, dx: Array) -> float:
    """Largest ``a`` with ``x + a dx >= 0`` for positive x; ``inf`` when nothing falls."""
    if len(x) == 0:
        return np.inf
    with np.errstate(over="ignore"):
        steepest = float((dx / x).min())
    return -1.0 / steepest if steepest < 0 else np.inf


def centred_hinge(u: Array, products: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """The central point of ``min u xi`` over ``xi >= v, xi >= 0``.

    Returns the multipliers ``a`` of the first constraint and ``g = u - a`` of the second, the slack ``p = xi - v`` and
    ``xi`` with ``a p = g xi = products``, in closed form and without cancellation: the smaller of the two slacks is
    h = products (1 + 2 products / (root + |u v|)) / u, the larger h + |v|.
    """
    scaled = np.abs(u * v)
    h = products / u * (1 + 2 * products / (np.hypot(scaled, 2 * products) + scaled))
    larger = h + np.abs(v)
    p, xi = np.where(v > 0, h, larger), np.where(v > 0, larger, h)
    return products / p, products / xi, p, xi


class PositiveBlock(ABC):
    """State of the positives; ``z`` is kept up to date by ``advance``."""

    z: Array
    count: float = 0.0  # sum of the weights of the barrier's terms
    leaps: ClassVar[bool] = False  # whether a full step leaves a valid state

    @abstractmethod
    def curvature(self) -> Array:
        """``D``, fixed for the predictor and the corrector."""

    @abstractmethod
    def offsets(self, target: float, corrected: bool) -> Array | None:
        """``r`` for complementarity ``target``; with the second-order term of the predictor if ``corrected``."""

    @abstractmethod
    def set_direction(self, dz: Array) -> tuple[float, float]:
        """Take the direction; return the longest primal and dual steps."""

    @abstractmethod
    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        """Sum of the products of slacks and multipliers after the steps."""

    @abstractmethod
    def merit(self, step: float, mu: float) -> float:
        """Loss and barrier after a primal step."""

    @abstractmethod
    def advance(self, primal_step: float, dual_step: float) -> None:
        """Move."""

    @abstractmethod
    def alpha(self, step: float = 0.0) -> Array:
        """Multipliers inside the domain of the dual, after a step of both kinds."""


class SmoothBlock(PositiveBlock):
    """A differentiable surrogate."""

    leaps = True

    def __init__(self, surrogate: Surrogate, u: Array, z: Array) -> None:
        self.surrogate, self.u, self.z = surrogate, u, z
        self._dz = np.zeros_like(z)

    def curvature(self) -> Array:
        return self.u * self.surrogate.second_derivative(self.z)

    def offsets(self, target: float, corrected: bool) -> None:
        return None

    def set_direction(self, dz: Array) -> tuple[float, float]:
        self._dz = dz
        return np.inf, np.inf

    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        return 0.0

    def merit(self, step: float, mu: float) -> float:
        z = self.z + step * self._dz if step else self.z
        return float(np.dot(self.u, self.surrogate.value(z)))

    def advance(self, primal_step: float, dual_step: float) -> None:
        self.z = self.z + primal_step * self._dz

    def alpha(self, step: float = 0.0) -> Array:
        z = self.z + step * self._dz if step else self.z
        return self.u * self.surrogate.derivative(z)


class HingeBlock(PositiveBlock):
    """The hinge, through its slack; starts on the central path at ``mu``."""

    def __init__(self, u: Array, omega: Array, z: Array, mu: float) -> None:
        self.u, self.omega, self.z = u, omega, z
        self.count = 2.0 * float(omega.sum())
        self._alpha, self._gamma, self.p, self.xi = centred_hinge(u, omega * mu, 1 + z)
        self._dp = self._dxi = self._da = np.zeros_like(z)

    def curvature(self) -> Array:
        self._D = 1.0 / (self.p / self._alpha + self.xi / self._gamma)
        return self._D

    def offsets(self, target: float, corrected: bool) -> Array:
        a, g = self._alpha, self._gamma
        mp = mx = target * self.omega
        if corrected:
            mp, mx = mp - self._dp * self._da, mx + self._dxi * self._da
        self._mx = mx
        self._r = mp / a - self.p - mx / g + self.xi
        return np.asarray(self._r)

    def set_direction(self, dz: Array) -> tuple[float, float]:
        gamma = self._gamma
        self._dz = dz
        self._da = self._D * (dz + self._r)
        self._dxi = self._mx / gamma - self.xi + self.xi / gamma * self._da
        self._dp = self._dxi - dz
        primal = min(longest_step(self.p, self._dp), longest_step(self.xi, self._dxi))
        dual = min(longest_step(self._alpha, self._da), longest_step(gamma, -self._da))
        return primal, dual

    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        a, g = self._alpha + dual_step * self._da, self._gamma - dual_step * self._da
        p, xi = self.p + primal_step * self._dp, self.xi + primal_step * self._dxi
        return float(np.dot(a, p) + np.dot(g, xi))

    def merit(self, step: float, mu: float) -> float:
        p, xi = self.p + step * self._dp, self.xi + step * self._dxi
        return float(np.dot(self.u, xi) - mu * np.dot(self.omega, np.log(p) + np.log(xi)))

    def advance(self, primal_step: float, dual_step: float) -> None:
        self.z = self.z + primal_step * self._dz
        self._alpha = self._alpha + dual_step * self._da
        self._gamma = self._gamma - dual_step * self._da
        self.xi = self.xi + primal_step * self._dxi
        self.p = self.p + primal_step * self._dp

    def alpha(self, step: float = 0.0) -> Array:
        return np.clip(self._alpha + step * self._da, 0.0, self.u)


def positive_block(surrogate: Surrogate, u: Array, omega: Array, z: Array, mu: float) -> PositiveBlock:
    """The block for a surrogate."""
    return SmoothBlock(surrogate, u, z) if surrogate.smooth else HingeBlock(u, omega, z, mu)
