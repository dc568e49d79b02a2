"""Discounts ``d(1) >= d(2) >= ...`` of the places of a list, and their sums over stretches of places.

A stretch of equal scores takes the places lo+1..hi in any order, so the average over orders needs only
``between(lo, hi)``, the sum of its discounts.  Ends that are not whole numbers come from sample weights;
the sums are continued between whole numbers, and equal the repetition of rows at them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expi

Array = NDArray[Any]

__all__ = [
    "CustomDiscount",
    "Discount",
    "ExponentialDiscount",
    "HarmonicDiscount",
    "LogDiscount",
    "make_discount",
]

_TABLE = 1 << 22


class Discount(ABC):
    """What a place is worth."""

    @abstractmethod
    def at(self, place: Array) -> Array:
        """``d(place)`` of whole places 1, 2, ..."""

    @abstractmethod
    def cumulative(self, x: Array) -> Array:
        """``d(1) + ... + d(x)``, continued between whole numbers."""

    def between(self, lo: Array, hi: Array, k: float | None = None) -> Array:
        """Sum over the places lo+1..hi, of which those beyond ``k`` are worth nothing."""
        if k is not None:
            lo, hi = np.minimum(lo, k), np.minimum(hi, k)
        width = hi - lo
        if np.array_equal(width, np.ones_like(width)) and np.array_equal(lo, np.floor(lo)):
            return self.at(hi)
        middle = (lo + hi + 1.0) / 2
        bend = self.bend(np.maximum(middle, 1.0))
        short = np.zeros(len(width), dtype=bool) if bend is None else lo > 1000 * width
        total = np.empty(len(width))
        if bend is not None:
            # Taylor's series about the middle of a short stretch: its next term is below 1e-14 of the sum.
            w = width[short]
            total[short] = w * (self.at(middle[short]) + bend[short] * (w - 1.0) * (w + 1.0) / 24)
        if not short.all():
            a, b = lo[~short], hi[~short]
            part = self.cumulative(b) - self.cumulative(a)
            # A single place is read off: a difference of two long sums would cost it half its digits.
            single = (b - a == 1) & (a == np.floor(a))
            part[single] = self.at(b[single])
            total[~short] = part
        return total

    def bend(self, place: Array) -> Array | None:
        """Second derivative of ``d``, where it is a smooth function."""
        return None


class _Tabulated(Discount):
    table = _TABLE
    head = _TABLE

    def __init__(self) -> None:
        self._sums = np.zeros(1)

    def cumulative(self, x: Array) -> Array:
        whole = np.floor(x)
        # A table pays where many sums are wanted; a few long ones are better left to the tail.
        last = int(min(whole.max(initial=0.0), self.table if x.size > self.head else self.head))
        if last >= len(self._sums):
            # Doubled, because parts of a list ask for longer and longer sums.
            length = max(last, min(2 * len(self._sums), _TABLE))
            self._sums = np.concatenate([[0.0], np.cumsum(self.at(np.arange(1.0, length + 1)))])
        table = self._sums
        inside = np.minimum(whole, last)
        total = table[inside.astype(np.intp)]
        rest = x - inside
        part = (rest > 0) & (x < last + 1)
        if part.any():
            total[part] += rest[part] * self.at(inside[part] + 1)
        far = x >= last + 1
        if far.any():
            total[far] += self.tail(float(last), x[far])
        return total

    @abstractmethod
    def tail(self, start: float, x: Array) -> Array:
        """``d(start+1) + ... + d(x)`` beyond the table."""


class LogDiscount(_Tabulated):
    """``1 / log2(1 + place)``, the discount of DCG."""

    head = 4096

    def at(self, place: Array) -> Array:
        return np.asarray(1.0 / np.log2(place + 1.0))

    def bend(self, place: Array) -> Array:
        log = np.log1p(place)
        return np.asarray(np.log(2) * (log + 2) / ((place + 1) ** 2 * log**3))

    def tail(self, start: float, x: Array) -> Array:
        # Euler-Maclaurin: the next term is below 1e-15 beyond 4096.
        log_x, log_start = np.log1p(x), np.log1p(start)
        integral = expi(log_x) - expi(log_start)
        ends = (1 / log_x - 1 / log_start) / 2
        slopes = (1 / ((start + 1) * log_start**2) - 1 / ((x + 1) * log_x**2)) / 12
        return np.asarray(np.log(2) * (integral + ends + slopes))


class HarmonicDiscount(_Tabulated):
    """``1 / place``; between whole numbers the sums are differences of digammas, which keeps them smooth."""

    head = 4096

    def at(self, place: Array) -> Array:
        return np.asarray(1.0 / place)

    def bend(self, place: Array) -> Array:
        return np.asarray(2.0 / place**3)

    def cumulative(self, x: Array) -> Array:
        if (x == np.floor(x)).all():
            return super().cumulative(x)
        return np.asarray(digamma(x + 1.0) + np.euler_gamma)

    def tail(self, start: float, x: Array) -> Array:
        return np.asarray(digamma(x + 1.0) - digamma(start + 1.0))


class CustomDiscount(_Tabulated):
    """The user's own: an array (0 beyond its end) or a function of the places 1, 2, ..."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._function: Callable[[Array], Any] | None = source if callable(source) else None
        self._values = np.empty(0) if callable(source) else self._check(source)

    def at(self, place: Array) -> Array:
        if self._function is not None:
            values = self._check(self._function(place))
            if values.shape != place.shape:
                raise ValueError(f"discounts returned shape {values.shape} for places of shape {place.shape}")
            return values
        values = np.append(self._values, 0.0)
        return np.asarray(values[np.minimum(place.astype(np.intp), len(values)) - 1])

    def tail(self, start: float, x: Array) -> Array:
        if self._function is None and len(self._values) <= start:
            return np.zeros_like(x)
        raise ValueError(
            f"discounts of your own are summed over at most {_TABLE} places; lower k or the weights"
        )

    @staticmethod
    def _check(values: Any) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 1:
            raise ValueError(f"discounts must be one-dimensional, got shape {array.shape}")
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError("discounts must be finite and not negative")
        return array


class ExponentialDiscount(Discount):
    """``exp(-alpha place / n)``; n may differ from stretch to stretch.  The sums are geometric."""

    def __init__(self, alpha: float, n: Array) -> None:
        self.rate = alpha / n

    def at(self, place: Array) -> Array:
        return np.exp(-self.rate * place)

    def cumulative(self, x: Array) -> Array:
        return np.asarray(-np.expm1(-self.rate * x) / np.expm1(self.rate))

    def between(self, lo: Array, hi: Array, k: float | None = None) -> Array:
        return np.asarray(np.exp(-self.rate * lo) * self.cumulative(hi - lo))


def make_discount(discounts: Any) -> Discount:
    """``"log2"``, an array or a function."""
    if isinstance(discounts, str):
        if discounts != "log2":
            raise ValueError(
                f'discounts must be "log2", an array or a function of the places, got {discounts!r}'
            )
        return LogDiscount()
    return CustomDiscount(discounts)
