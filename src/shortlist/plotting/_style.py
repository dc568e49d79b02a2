"""The look that all plots share: colours that colour-blind eyes tell apart, line styles and markers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = [
    "BLUE",
    "COLOURS",
    "GREY",
    "INK",
    "VERMILION",
    "add_end",
    "apart",
    "axes",
    "count_curve",
    "curve_number",
    "darker",
    "halo",
    "mark_budget",
    "pyplot",
    "share_of",
    "style_of",
    "tidy",
    "title",
]

# Okabe and Ito's, those first that differ most in grey.
BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, GREY = "#222222", "#767676"


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots are drawn by matplotlib: pip install 'shortlist[plot]'") from error
    return plt


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> tuple[Any, Any]:
    """Axes to draw on and their figure: those given, or new ones."""
    if ax is None:
        figure, ax = pyplot().subplots(figsize=size, layout="constrained")
        return ax, figure
    pyplot()
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be matplotlib axes, got {type(ax).__name__}")
    return ax, ax.figure


def style_of(number: int) -> dict[str, Any]:
    """Colour, line style and marker of the number-th curve of a plot."""
    at = number % len(COLOURS)
    return {"color": COLOURS[at], "linestyle": LINES[at], "marker": MARKERS[at], "linewidth": 1.8}


def curve_number(ax: Any) -> int:
    """How many curves of ours the axes hold already, so that the next one looks different."""
    return int(getattr(ax, "_shortlist_curves", 0))


def count_curve(ax: Any) -> None:
    ax._shortlist_curves = curve_number(ax) + 1


def tidy(ax: Any) -> None:
    """Two spines and a grid that stays behind."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(colors=INK, length=3)
    ax.grid(True, color="#e3e3e3", linewidth=0.7)
    ax.set_axisbelow(True)


def title(ax: Any, text: str | None, pad: float = 6) -> None:
    """A name above the left end."""
    if text:
        ax.set_title(text, loc="left", fontsize="medium", fontweight="bold", color=INK, pad=pad)


def mark_budget(ax: Any, k: float, words: str) -> Any:
    """A line where the rows acted on end, named at its upper end; drawn once for each place."""
    drawn = getattr(ax, "_shortlist_budgets", {})
    if k in drawn:
        return drawn[k]
    line = ax.axvline(k, color=INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
    share = share_of(ax, k)
    ax.annotate(
        words,
        (k, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="left" if share < 0.2 else "right" if share > 0.8 else "center",
        va="bottom",
        fontsize="small",
        color=INK,
    )
    ax._shortlist_budgets = {**drawn, k: line}
    return line


def share_of(ax: Any, x: float) -> float:
    """Where x lies between the left and the right end of the axis."""
    low, high = ax.get_xlim()
    if ax.get_xscale() == "log":
        low, high, x = np.log10([max(low, 1e-300), max(high, 1e-300), max(x, 1e-300)])
    return float((x - low) / (high - low)) if high != low else 0.5


def add_end(ax: Any, line: Any, name: str | None) -> None:
    """Name a curve at its right end; all names so far are placed anew, apart, so that curves may come one at a time.

    A figure that does not make room for text beside its axes gets a legend instead.
    """
    if not name:
        return
    line.set_label(name)
    if ax.figure.get_layout_engine() is None:
        ax.legend(frameon=False, fontsize="small")
        return
    for text in getattr(ax, "_shortlist_names", []):
        text.remove()
    ax._shortlist_ends = [*getattr(ax, "_shortlist_ends", []), (line, name)]
    ends = [(*np.asarray(line.get_xydata())[-1], name, line.get_color()) for line, name in ax._shortlist_ends]
    low, high = ax.get_ylim()
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    # Of curves that end in the same place, the one that was higher on the way stands higher.
    way = [1e-3 * float(np.mean(np.asarray(line.get_ydata()))) for line, _ in ax._shortlist_ends]
    wanted = [(y - low) / (high - low) * height + more for (_, y, _, _), more in zip(ends, way, strict=True)]
    ax._shortlist_names = [
        ax.annotate(
            name,
            (x, y),
            xytext=(6, at - want),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize="small",
            color=darker(colour),
            fontweight="bold",
            annotation_clip=False,
        )
        for (x, y, name, colour), want, at in zip(ends, wanted, apart(wanted, 11.0, height), strict=True)
    ]


def halo() -> list[Any]:
    """White around text that lies on curves."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground="white")]


def darker(colour: str) -> Any:
    """A colour for text: light ones are hard to read on white."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(colour))
    light = float(rgb @ [0.2126, 0.7152, 0.0722])
    return tuple(rgb * min(1.0, 0.42 / light))


def apart(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Places near those wanted, in the same order, no two nearer than ``gap``, within [0, height] where they fit.

    >>> apart([1.0, 2.0, 30.0], gap=10, height=40)
    [0.0, 10.0, 30.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    clusters: list[list[float]] = []  # sum of (wanted less offset), members
    for i in order:
        clusters.append([wanted[i], 1.0])
        while len(clusters) > 1:
            (a, m), (b, n) = clusters[-2:]
            if a / m + gap * m <= b / n:
                break
            clusters[-2:] = [[a + b - gap * m * n, m + n]]
    found = [0.0] * len(wanted)
    places: list[float] = []
    for total, members in clusters:
        start = min(max(total / members, 0.0), max(height - gap * (members - 1), 0.0))
        places += [start + gap * j for j in range(int(members))]
    for i, place in zip(order, places, strict=True):
        found[i] = place
    return found
