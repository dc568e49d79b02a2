"""The search of a segment: the lowest objective from w along a direction, from values and subgradients of the risk.

Along w + t v the objective is  phi(t) = 1/2 ||w + t v||^2 + C risk(s + t q)  with s = X w and q = X v known, so that a
trial costs no pass over X, only one evaluation of the risk.  phi is convex: a falling slope at the lower end and a
rising one at the upper end enclose the minimum.

Method.  Step out to where the slopes' straight line is zero, at least by a third and at most eightfold, until the slope
rises; then close in: alternately where that line is zero, which is exact for a quadratic, and where the two tangents
meet, which is exact at a single kink; ten per cent away from either end.  A risk that knows its minimum along a line
(``minimise_along``) is asked for the first trial.

What is handed on.  At a kink the slopes on both sides differ however close they are.  That average of the two planes
whose slope along the segment is zero is a valid plane too, and carries both sides: one product with X instead of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Found", "Trial", "search_segment"]

FLAT = 0.1  # of the slope at the start: flat enough to stop
MOST_TRIALS = 12
OUT = (1.3, 8.0)  # least and largest factor of a step out
FRUITLESS = 6  # trials, none of them below the start: its subgradient was not the slope
CLOSE = 1e-3  # relative width at which a kink is taken as found


@dataclass(frozen=True)
class Trial:
    """The objective at one point of the segment."""

    t: float
    value: float
    slope: float
    risk: float
    subgradient: Array  # with respect to the scores
    offset: float  # height of the plane at scores 0: risk - subgradient @ scores


@dataclass(frozen=True)
class Found:
    """The lowest point, and a plane of the risk as an average of the planes of one or two trials."""

    best: Trial | None  # None: no trial is lower than the start
    parts: list[tuple[float, Trial]]
    n_trials: int

    @property
    def subgradient(self) -> Array:
        if len(self.parts) == 1:
            return self.parts[0][1].subgradient
        return np.asarray(sum(share * trial.subgradient for share, trial in self.parts))

    @property
    def offset(self) -> float:
        return sum(share * trial.offset for share, trial in self.parts)


def search_segment(
    evaluate: Callable[[Array], tuple[float, Array]],
    C: float,
    scores: Array,
    along: Array,
    *,
    value: float,
    slope: float,
    quadratic: tuple[float, float, float],
    first: float = 1.0,
    longest: float = np.inf,
    out: tuple[float, float] = OUT,
) -> Found:
    """From a start with the given value and slope < 0.

    Parameters
    ----------
    evaluate : callable
        Risk and subgradient of scores.
    C : float
    scores, along : (n_rows,) arrays
        ``s`` and ``q``.
    value, slope : float
        The objective at t = 0, and its slope under the subgradient that is known there.
    quadratic : (w.w, w.v, v.v)
    first : float
        First trial.
    longest : float
        Where the segment ends.
    out : (float, float)
        Least and largest factor of a step out.
    """
    ww, wv, vv = quadratic

    def trial(t: float) -> Trial:
        at = scores + t * along
        risk, subgradient = evaluate(at)
        return Trial(
            t,
            0.5 * (ww + t * (2 * wv + t * vv)) + C * risk,
            wv + t * vv + C * float(subgradient @ along),
            risk,
            subgradient,
            risk - float(subgradient @ at),
        )

    lower: Trial | None = None  # falling, above 0
    upper: Trial | None = None
    t, straight = min(first, longest), True
    before = (0.0, slope)
    lean = 0  # straight lines that ended on the falling side, or if negative on the rising one, in a row
    for count in range(1, MOST_TRIALS + 1):
        new = trial(t)
        if abs(new.slope) <= FLAT * abs(slope) and new.value <= value:
            return Found(new, [(1.0, new)], count)
        falls = new.slope < 0 and new.value <= value
        if falls:
            lower = new
        else:
            upper = new
        if count > 1 and upper is not None and not straight:  # what came in was a straight line's
            lean = max(lean, 0) + 1 if falls else min(lean, 0) - 1
        if upper is None:
            if t >= longest:
                return Found(new, [(1.0, new)], count)
            rise = max(new.slope - before[1], np.finfo(float).tiny)
            before, zero = (t, new.slope), t - (t - before[0]) * new.slope / rise
            t = min(max(zero, out[0] * t), out[1] * t, longest)
            continue
        low_t, low_value, low_slope = (lower.t, lower.value, lower.slope) if lower else (0.0, value, slope)
        width = upper.t - low_t
        if width <= CLOSE * upper.t:
            break
        if straight:
            # An end that stays while the other moves counts half, a quarter, ...: the line crosses zero on its side.
            falling, rising = low_slope * 0.5 ** max(-lean - 1, 0), upper.slope * 0.5 ** max(lean - 1, 0)
            inside = -falling / max(rising - falling, np.finfo(float).tiny)
        else:
            drop = upper.value - low_value - upper.slope * width
            inside = drop / min((low_slope - upper.slope) * width, -np.finfo(float).tiny)
        straight = not straight
        if lower is None and count >= FRUITLESS:
            break
        t = low_t + width * (min(max(inside, 0.1), 0.9) if np.isfinite(inside) else 0.1)
    return _at_a_kink(lower, upper, value, count)


def _at_a_kink(lower: Trial | None, upper: Trial | None, value: float, count: int) -> Found:
    ends = [end for end in (lower, upper) if end is not None]
    best = min(ends, key=lambda end: end.value)
    if lower is None or upper is None:
        # The plane at the start is in the bundle already: what is new is the other side.
        return Found(best if best.value < value else None, [(1.0, ends[-1])], count)
    share = upper.slope / (upper.slope - lower.slope)
    return Found(best, [(share, lower), (1.0 - share, upper)], count)
