"""How the two labels share the scores around the end of the budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.plotting._list import ListDisplay, budget_words
from shortlist.plotting._style import BLUE, INK, VERMILION, axes, share_of, tidy, title
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
        style = {"align": "edge", "linewidth": 0.8}
        self.positive_bars_ = ax.bar(
            at, bins.positives, width, **({"color": BLUE, "edgecolor": "white"} | style | kwargs)
        )
        hatched = {"facecolor": "#fbe3d3", "edgecolor": VERMILION, "hatch": "////"}
        self.negative_bars_ = ax.bar(at, -bins.negatives, width, **(hatched | style | kwargs))
        tidy(ax)
        ax.grid(False, axis="x")
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.margins(x=0)
        ax.set_xlim(bins.edges[0], bins.edges[-1])
        top = max(float(bins.positives.max()), 1e-9)
        bottom = max(float(bins.negatives.max()), 1e-9)
        # Where negatives abound, their tallest bars are cut, so that the positives can be seen.
        shown = min(bottom, max(4 * top, float(bins.negatives[at >= bins.threshold].max(initial=0.0))))
        ax.set_ylim(-shown * (1.0 if shown < bottom else 1.12), top * 1.18)
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
        ax.set_xlabel("score" + (f" ({bins.below:,.0f} more rows lie further left)" if bins.below else ""))
        ax.set_ylabel("rows per bin")
        corner = {"transform": ax.transAxes, "fontsize": "small", "fontweight": "bold", "ha": "right"}
        ax.text(0.988, 0.985, "positives", va="top", color=BLUE, **corner)
        cut = f" (up to {bottom:,.0f})" if shown < bottom else ""
        ax.text(0.988, 0.015, f"negatives{cut}", va="bottom", color="#A34700", **corner)
        self.line_ = ax.axvline(bins.threshold, color=INK, linewidth=1.2, linestyle=(0, (2, 2)))
        words = "as many rows as positives" if self.budget is None else budget_words(self.budget, self.grouped)
        share = share_of(ax, bins.threshold)
        ax.annotate(
            f"{words} →",
            (bins.threshold, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="left" if share < 0.2 else "right" if share > 0.8 else "center",
            va="bottom",
            fontsize="small",
            color=INK,
        )
        title(ax, name, pad=18)
        return self
