"""How the two labels share the scores around the end of the budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.plotting._list import ListDisplay, budget_words
from shortlist.plotting._style import BLUE, INK, VERMILION, axes, tidy
from shortlist.plotting.curves import Corners, Histogram, histogram

Array = NDArray[Any]

__all__ = ["ScoreDistributionDisplay"]


class ScoreDistributionDisplay(ListDisplay):
    """Positives upwards, negatives downwards, by score, near the score at which the budget ends.

    Far below that score lie most rows, and none of them matters: the axis begins at the row of five times the budget.
    A curve per model would hide another, so each display has axes of its own.

    Parameters
    ----------
    bins : Histogram
        Rows of both labels by score.
    budget : float, optional
        Rows acted on.
    name : str, optional
    grouped : bool, default=False

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line
        At the score where the budget ends.
    positive_bars_, negative_bars_ : matplotlib bar containers

    Examples
    --------
    >>> from shortlist.plotting import ScoreDistributionDisplay
    >>> display = ScoreDistributionDisplay.from_predictions([1, 0, 1, 0], [4, 3, 2, 1], budget=1)
    >>> display.bins.threshold
    4.0
    """

    def __init__(
        self, *, bins: Histogram, budget: float | None = None, name: str | None = None, grouped: bool = False
    ) -> None:
        self.bins, self.budget, self.name, self.grouped = bins, budget, name, grouped

    @classmethod
    def _of(cls, found: Corners, k: int | None, name: str | None) -> Self:
        # Without a budget there is no end to be near: all rows, cut where as many rows as positives are above.
        share = max(float(np.mean([p[-1] for p in found.positives])), 1.0)
        bins = histogram(found, share, zoom=found.largest / share) if k is None else histogram(found, k)
        return cls(bins=bins, budget=k, name=name, grouped=found.n_groups > 1)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the bars of both labels."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        name = self.name if name is None else name
        bins = self.bins
        at, width = bins.edges[:-1], np.diff(bins.edges)
        style = {"align": "edge", "linewidth": 0.8} | kwargs
        self.positive_bars_ = ax.bar(at, bins.positives, width, color=BLUE, edgecolor="white", **style)
        self.negative_bars_ = ax.bar(
            at, -bins.negatives, width, facecolor="#fbe3d3", edgecolor=VERMILION, hatch="////", **style
        )
        tidy(ax)
        ax.grid(False, axis="x")
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.margins(x=0)
        ax.set_xlim(bins.edges[0], bins.edges[-1])
        top = max(float(bins.positives.max()), 1e-9)
        bottom = max(float(bins.negatives.max()), 1e-9)
        ax.set_ylim(-bottom * 1.18, top * 1.18)
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
        ax.set_xlabel("score")
        ax.set_ylabel("rows per bin")
        for y, words, va, colour in ((0.985, "positives", "top", BLUE), (0.015, "negatives", "bottom", "#A34700")):
            ax.text(0.012, y, words, transform=ax.transAxes, va=va, fontsize="small", fontweight="bold", color=colour)
        self.line_ = ax.axvline(bins.threshold, color=INK, linewidth=1.2, linestyle=(0, (2, 2)))
        words = "as many rows as positives" if self.budget is None else budget_words(self.budget, self.grouped)
        left = bins.threshold > (bins.edges[0] + bins.edges[-1]) / 2
        ax.annotate(
            f"{words} →",
            (bins.threshold, 0.985),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            fontsize="small",
            color=INK,
        )
        if name:
            ax.set_title(name, loc="left", fontsize="medium", fontweight="bold", color=INK)
        if bins.below:
            ax.annotate(
                f"{bins.below:,.0f} rows further left",
                (0.0, 0.5),
                xycoords="axes fraction",
                xytext=(4, 4),
                textcoords="offset points",
                fontsize="x-small",
                color=INK,
            )
        return self
