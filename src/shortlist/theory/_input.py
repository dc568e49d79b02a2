"""What a bound assumes of its arguments, checked with errors that name the argument."""

from __future__ import annotations

import math
import numbers

__all__ = ["failure_of", "number", "whole"]


def whole(name: str, value: object, low: int) -> int:
    """A whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) < low:
        raise ValueError(f"{name} must be {low} or more, got {value}")
    return int(value)


def number(name: str, value: object, *, above: float | None = None, low: float = 0.0, high: float = math.inf) -> float:
    """A finite number, larger than ``above`` if that is given, else at least ``low``; and at most ``high``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    x = float(value)
    small = x < low if above is None else x <= above
    if not math.isfinite(x) or small or x > high:
        lower = f"at least {low:g}" if above is None else f"above {above:g}"
        upper = "and finite" if math.isinf(high) else f"and at most {high:g}"
        raise ValueError(f"{name} must be {lower} {upper}, got {value}")
    return x


def failure_of(confidence: object) -> float:
    """1 - confidence."""
    failure = 1.0 - number("confidence", confidence, above=0.0, high=1.0)
    if failure == 0.0:
        raise ValueError("confidence must be below 1: no bound holds with certainty; try 0.95")
    return failure
