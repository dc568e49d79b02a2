"""Drawings as SVG within the page: axes, lines, bars; colours and letters are the page's own, by class.

A drawing is 420 units wide, so that its letters can be read where it fills a telephone and where it fills half a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.report._text import escape

Array = NDArray[Any]

__all__ = ["Axis", "Drawing", "key", "mark", "nice_ticks"]

WIDTH = 420.0
SHAPES = 6
POINTS = 300


@dataclass(frozen=True)
class Axis:
    """One direction: from ``low`` to ``high`` between two places, straight or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: Any) -> Any:
        """The place of a value; beyond the ends at the ends."""
        value = np.clip(np.asarray(value, dtype=float), min(self.low, self.high), max(self.low, self.high))
        low, high = self.low, self.high
        if self.log:
            value, low, high = np.log10(value), math.log10(low), math.log10(high)
        share = (value - low) / (high - low) if high != low else np.zeros_like(value)
        return self.start + share * (self.end - self.start)


@dataclass
class Drawing:
    """A picture with two axes, made up of elements."""

    x: Axis
    y: Axis
    height: float
    words: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: Any, look: str = "", anchor: str = "start") -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} class="{look}">{escape(text)}</text>')

    def rule(self, x1: float, y1: float, x2: float, y2: float, look: str) -> None:
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"/>')

    def curve(self, x: Array, y: Array, look: str) -> None:
        """A line through points, few enough to be drawn."""
        px, py = np.round(self.x.at(x), 1), np.round(self.y.at(y), 1)
        if len(px) > POINTS:
            kept = np.unique(np.searchsorted(px, np.linspace(px[0], px[-1], POINTS)).clip(0, len(px) - 1))
            px, py = px[kept], py[kept]
        path = " ".join(f"{a:g},{b:g}" for a, b in zip(px.tolist(), py.tolist(), strict=True))
        self.parts.append(f'<polyline points="{path}" class="line {look}"/>')

    def box(self, x: float, y: float, width: float, height: float, look: str) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" class="{look}"/>'
        )

    def x_ticks(self, values: Sequence[float], spell: Callable[[float], str], title: str) -> None:
        bottom = self.y.start
        for value in values:
            px = float(self.x.at(value))
            self.rule(px, bottom, px, self.y.end, "grid")
            self.text(px, bottom + 16, spell(value), "tick", "middle")
        self.rule(self.x.start, bottom, self.x.end, bottom, "axis")
        self.text((self.x.start + self.x.end) / 2, bottom + 34, title, "title", "middle")

    def y_ticks(self, values: Sequence[float], spell: Callable[[float], str]) -> None:
        for value in values:
            py = float(self.y.at(value))
            self.rule(self.x.start, py, self.x.end, py, "grid")
            self.text(self.x.start - 6, py + 4, spell(value), "tick", "end")

    def budget(self, value: float, words: str) -> None:
        """A line where the rows acted on end, with its name above."""
        px = float(self.x.at(value))
        self.rule(px, self.y.start, px, self.y.end, "budget")
        room = (px - self.x.start) / (self.x.end - self.x.start)
        anchor = "start" if room < 0.2 else "end" if room > 0.8 else "middle"
        self.text(px, self.y.end - 5, words, "note", anchor)

    def svg(self) -> str:
        inside = "\n".join(self.parts)
        box = f"0 0 {WIDTH:g} {self.height:g}"
        return f'<svg viewBox="{box}" role="img" aria-label="{escape(self.words)}">\n{inside}\n</svg>'


def mark(number: int, x: float, y: float, filled: bool = True, size: float = 5.0) -> str:
    """A marker whose shape says which line it is on."""
    look = f"mark c{number % SHAPES}" + ("" if filled else " hollow")
    r = size
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" class="{look}"/>',
        f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:g}" height="{2 * r:g}" class="{look}"/>',
        f'<path d="M{x:.1f} {y - 1.2 * r:.1f}l{1.2 * r:g} {2.2 * r:g}h{-2.4 * r:g}z" class="{look}"/>',
        f'<path d="M{x:.1f} {y - 1.3 * r:.1f}l{1.3 * r:g} {1.3 * r:g}l{-1.3 * r:g} {1.3 * r:g}l{-1.3 * r:g} '
        f'{-1.3 * r:g}z" class="{look}"/>',
        f'<path d="M{x:.1f} {y + 1.2 * r:.1f}l{1.2 * r:g} {-2.2 * r:g}h{-2.4 * r:g}z" class="{look}"/>',
        f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{1.5 * r:g}" ry="{0.8 * r:g}" class="{look}"/>',
    )
    return shapes[number % SHAPES]


def key(names: Sequence[str]) -> str:
    """Which line is whose: a sample of each with its name."""
    items = "".join(
        f'<li><svg viewBox="0 0 34 12" width="34" height="12" aria-hidden="true"><line x1="0" y1="6" x2="34" y2="6" '
        f'class="line c{i % SHAPES}"/>{mark(i, 17, 6, size=4)}</svg>{escape(name)}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="key">{items}</ul>'


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between two ends.

    >>> nice_ticks(0, 1), nice_ticks(0.31, 1.02), nice_ticks(0, 7)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.4, 0.6, 0.8, 1.0], [0.0, 2.0, 4.0, 6.0])
    """
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]
