"""The plots of a page: the same curves as `shortlist.plotting` draws, as SVG in the page's colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.comparison import Place
from shortlist.plotting.curves import Corners, cumulative_gains, histogram, lengths, precision_recall_at, roc
from shortlist.report._svg import WIDTH, Axis, Drawing, mark, nice_ticks
from shortlist.report._text import clip, escape, number

Array = NDArray[Any]

__all__ = ["figure", "forest", "gains_chart", "places_chart", "precision_chart", "roc_chart", "score_chart"]

LEFT, RIGHT, TOP, BOTTOM = 44.0, 14.0, 24.0, 42.0
MOST_PLACES = 400


def figure(drawing: str, title: str, words: str, look: str = "") -> str:
    """A drawing with a title above and what it shows below."""
    caption = f"<figcaption><strong>{escape(title)}</strong> {escape(words)}</figcaption>"
    return f'<figure class="{look}">{caption}{drawing}</figure>'


def _axes(
    x: tuple[float, float], y: tuple[float, float], words: str, log: bool = False, height: float = 290
) -> Drawing:
    across = Axis(x[0], x[1], LEFT, WIDTH - RIGHT, log)
    up = Axis(y[0], y[1], height - BOTTOM, TOP)
    return Drawing(across, up, height, words)


def _tens(low: float, high: float) -> list[float]:
    return [10.0**i for i in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def _share(value: float) -> str:
    return f"{number(100 * value)} %"


def precision_chart(names: Sequence[str], found: Sequence[Corners], k: int, budget: str, rows: str) -> str:
    """Precision among the first rows, for lists of every length."""
    most = max(min(found[0].largest, 20.0 * k), 2.0)
    at = lengths(most, also=k, limit=600)
    drawing = _axes((1, most), (0, 1), f"Precision among the first {rows}, by their number", log=True)
    drawing.y_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], _share)
    drawing.x_ticks(_tens(1, most), number, f"first {rows} of the list")
    base = float(drawing.y.at(found[0].base))
    drawing.rule(LEFT, base, WIDTH - RIGHT, base, "chance")
    drawing.text(LEFT + 4, base - 4, "random order", "small")
    drawing.budget(k, budget)
    curves = [precision_recall_at(one, at)[0] for one in found]
    for i, precision in reversed(list(enumerate(curves))):
        drawing.curve(at, precision, f"c{i % 6}")
    for i, precision in reversed(list(enumerate(curves))):
        _value(drawing, i, k, float(precision[np.searchsorted(at, k)]))
    told = "; ".join(f"{n} {_share(c[np.searchsorted(at, k)])}" for n, c in zip(names, curves, strict=True))
    return figure(
        drawing.svg(),
        "Precision down the list.",
        f"Which share of the first {rows} is positive? At the budget: {told}.",
    )


def _value(drawing: Drawing, i: int, x: float, y: float) -> None:
    """A marker with its value, to the right where there is room."""
    px, py = float(drawing.x.at(x)), float(drawing.y.at(y))
    drawing.parts.append(mark(i, px, py))
    right = px < drawing.x.end - 60
    drawing.text(
        px + (10 if right else -10),
        py + (4 if i % 2 else -5),
        _share(y),
        f"value t{i % 6}",
        "start" if right else "end",
    )


def gains_chart(names: Sequence[str], found: Sequence[Corners], k: int, budget: str, rows: str) -> str:
    """The share of the positives found by acting on a share of the rows."""
    drawing = _axes((0, 1), (0, 1), f"Share of the positives found, by the share of the {rows} acted on")
    drawing.y_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], _share)
    drawing.x_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], _share, f"share of the {rows} acted on")
    drawing.rule(LEFT, float(drawing.y.at(0)), WIDTH - RIGHT, float(drawing.y.at(1)), "chance")
    drawing.text(float(drawing.x.at(0.7)) + 6, float(drawing.y.at(0.66)), "random order", "small")
    sizes = [float(p[-1] + n[-1]) for p, n in zip(found[0].positives, found[0].negatives, strict=True)]
    share = float(np.mean([min(k / size, 1.0) for size in sizes]))
    drawing.budget(share, budget)
    curves = [cumulative_gains(one) for one in found]
    for i, (x, y) in reversed(list(enumerate(curves))):
        drawing.curve(x, y, f"c{i % 6}")
    for i, (x, y) in reversed(list(enumerate(curves))):
        _value(drawing, i, share, float(np.interp(share, x, y)))
    told = "; ".join(f"{n} {_share(float(np.interp(share, x, y)))}" for n, (x, y) in zip(names, curves, strict=True))
    return figure(drawing.svg(), "Found so far.", f"Who acts on the budget finds this share of all positives: {told}.")


def roc_chart(names: Sequence[str], found: Sequence[Corners]) -> str:
    """The left end of the ROC curve."""
    curves = [roc(one) for one in found]
    at = ", ".join(names)
    floor = min(float(x[x > 0][0]) / 2 for x, _ in curves)
    drawing = _axes((floor, 1), (0, 1), f"True-positive rate by false-positive rate, logarithmic: {at}", log=True)
    drawing.y_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], _share)
    drawing.x_ticks(_tens(floor, 1), _share, "share of the negatives let through")
    chance = np.geomspace(floor, 1, 60)
    drawing.curve(chance, chance, "chance")
    for i, (x, y) in reversed(list(enumerate(curves))):
        drawing.curve(np.maximum(x, floor), y, f"c{i % 6}")
    return figure(
        drawing.svg(),
        "The left end of the ROC curve.",
        "Which share of the positives stands above all but a small share of the negatives? At the left end: above all.",
    )


def score_chart(found: Corners, k: int, budget: str, name: str) -> str:
    """Positives upwards, negatives downwards, around the score where the budget ends."""
    bins = histogram(found, k, bins=36)
    top, bottom = max(float(bins.positives.max()), 1e-9), max(float(bins.negatives.max()), 1e-9)
    left = bins.edges[:-1]
    shown = min(bottom, max(3 * top, float(bins.negatives[left >= bins.threshold].max(initial=0.0))))
    drawing = _axes(
        (float(bins.edges[0]), float(bins.edges[-1])),
        (-shown, top),
        "Rows by score, positives upwards, negatives downwards",
    )
    drawing.y_ticks(nice_ticks(-shown, top, 6), lambda value: number(abs(value)))
    zero = float(drawing.y.at(0))
    for start, end, up, down in zip(left, bins.edges[1:], bins.positives, bins.negatives, strict=True):
        x, width = float(drawing.x.at(start)), float(drawing.x.at(end) - drawing.x.at(start)) - 1
        if up:
            y = float(drawing.y.at(up))
            drawing.box(x, y, width, zero - y, "bar c0")
        if down:
            drawing.box(x, zero, width, float(drawing.y.at(-down)) - zero, "bar hollow c1")
    drawing.rule(LEFT, zero, WIDTH - RIGHT, zero, "axis")
    drawing.x_ticks(nice_ticks(float(bins.edges[0]), float(bins.edges[-1])), number, "score")
    drawing.budget(bins.threshold, f"{budget} →")
    drawing.text(WIDTH - RIGHT - 2, TOP + 12, "positives", "value t0", "end")
    cut = f" (up to {number(bottom)})" if shown < bottom else ""
    drawing.text(WIDTH - RIGHT - 2, drawing.y.start - 6, f"negatives{cut}", "value t1", "end")
    more = f" {number(bins.below)} more rows lie further left." if bins.below else ""
    return figure(drawing.svg(), "Scores near the budget.", f"How clearly {name} parts the two labels there.{more}")


def places_chart(name: str, flags: Array, k: int, positive: str, look: int = 0) -> str:
    """The first places one by one, full where the row is positive."""
    shown = flags[: min(k, MOST_PLACES)]
    across = 25 if len(shown) > 60 else 20
    step = WIDTH / across
    lines = math.ceil(len(shown) / across)
    drawing = Drawing(
        Axis(0, 1, 0, 1), Axis(0, 1, 0, 1), lines * step, f"{name}: {int(shown.sum())} of {len(shown)} are {positive}"
    )
    for i, hit in enumerate(shown.tolist()):
        x, y = (i % across) * step, (i // across) * step
        drawing.box(x + 1.5, y + 1.5, step - 3, step - 3, f"place hit c{look % 6}" if hit else "place")
    rest = f", the first {len(shown)} of {number(k)} places" if len(shown) < k else ""
    words = f"{number(int(shown.sum()))} of {number(len(shown))} are {positive}{rest}, from the first place on."
    return figure(drawing.svg(), f"{clip(name, 60)}.", words, "places")


def forest(board: Sequence[Place], splits: dict[str, Array], title: str) -> str:
    """Means with their intervals, the splits behind."""
    rows = 46.0
    height = TOP + rows * len(board) + BOTTOM
    values = [value for place in board for value in (place.low, place.high, place.mean)]
    values += [float(value) for figures in splits.values() for value in figures]
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    room = 0.04 * (high - low) or 0.5
    drawing = Drawing(
        Axis(low - room, high + room, 10, WIDTH - 10),
        Axis(0, 1, height - BOTTOM, TOP),
        height,
        f"{title} of each model",
    )
    drawing.x_ticks(nice_ticks(low - room, high + room, 7), number, title)
    leader = float(drawing.x.at(board[0].mean))
    drawing.rule(leader, drawing.y.start, leader, TOP, "budget")
    for i, place in enumerate(board):
        y = TOP + rows * i + 31
        colour = 1 if place.verdict == "worse" else 0
        drawing.text(12, y - 14, clip(place.model, 40), "name")
        drawing.text(WIDTH - 12, y - 14, number(place.mean), f"value t{colour}", "end")
        for value in np.asarray(splits.get(place.model, ()), dtype=float):
            if math.isfinite(value):
                drawing.parts.append(
                    f'<circle cx="{float(drawing.x.at(value)):.1f}" cy="{y + 9:.1f}" r="2.2" class="split"/>'
                )
        if math.isfinite(place.low):
            drawing.rule(float(drawing.x.at(place.low)), y, float(drawing.x.at(place.high)), y, f"line solid c{colour}")
        drawing.parts.append(mark(colour, float(drawing.x.at(place.mean)), y, filled=place.verdict == "best"))
    words = (
        "Marks are means, bars their intervals at 95 %, dots the splits. A full disc leads; a ring is not told from "
        "it; a square is worse by more than luck. Intervals may overlap where the paired test decides."
    )
    return figure(
        drawing.svg(), f"{title.capitalize() if title[:1].islower() else title}, model by model.", words, "wide"
    )
