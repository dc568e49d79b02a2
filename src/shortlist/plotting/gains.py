"""Cumulative gains: who looks at this share of the rows finds that share of the positives."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.plotting._list import ListDisplay, budget_words
from shortlist.plotting._style import (
    GREY,
    add_end,
    axes,
    count_curve,
    curve_number,
    darker,
    halo,
    mark_budget,
    style_of,
    tidy,
)
from shortlist.plotting.curves import Corners, cumulative_gains

Array = NDArray[Any]

__all__ = ["CumulativeGainsDisplay"]


class CumulativeGainsDisplay(ListDisplay):
    """Which share of the positives is found by acting on which share of the rows.

    Between chance (dotted: so much found as looked at) and a list without a mistake (thin).

    Parameters
    ----------
    rows, found : (n,) arrays
        Shares of the rows and of the positives.
    base : float, optional
        Share of positives: where a list without a mistake is through.
    budget : float, optional
        Share of the rows acted on.
    words : str, default=''
        The budget in words.
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line

    Examples
    --------
    >>> from shortlist.plotting import CumulativeGainsDisplay
    >>> display = CumulativeGainsDisplay.from_predictions([1, 0, 1, 0], [4, 3, 2, 1], budget=0.5)
    >>> display.found.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        *,
        rows: Array,
        found: Array,
        base: float | None = None,
        budget: float | None = None,
        words: str = "",
        name: str | None = None,
    ) -> None:
        self.rows, self.found, self.base, self.budget = rows, found, base, budget
        self.words, self.name = words, name

    @classmethod
    def _of(cls, found: Corners, k: int | None, name: str | None) -> Self:
        rows, share = cumulative_gains(found)
        if k is None:
            return cls(rows=rows, found=share, base=found.base, name=name)
        sizes = [float(p[-1] + n[-1]) for p, n in zip(found.positives, found.negatives, strict=True)]
        budget = float(np.mean([min(k / size, 1.0) for size in sizes]))
        words = budget_words(k, found.n_groups > 1)
        return cls(rows=rows, found=share, base=found.base, budget=budget, words=words, name=name)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the curve."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        name = self.name if name is None else name
        number = curve_number(ax)
        marker = style_of(number)["marker"]
        if number == 0:
            tidy(ax)
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), label="_")
            if self.base is not None:
                ax.plot([0, self.base, 1], [0, 1, 1], color=GREY, linewidth=0.8, label="_")
                ax.annotate(
                    "without a mistake",
                    (self.base, 1.0),
                    xytext=(4, 3),
                    textcoords="offset points",
                    fontsize="x-small",
                    color=GREY,
                )
            ax.annotate(
                "chance", (0.8, 0.8), xytext=(3, -11), textcoords="offset points", fontsize="x-small", color=GREY
            )
            ax.set(
                xlim=(0, 1), ylim=(0, 1.06), xlabel="share of the rows acted on", ylabel="share of the positives found"
            )
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        (self.line_,) = ax.plot(self.rows, self.found, **(style_of(number) | {"marker": ""} | kwargs))
        if self.budget is not None:
            mark_budget(ax, self.budget, self.words)
            value = float(np.interp(self.budget, self.rows, self.found))
            colour = self.line_.get_color()
            ax.plot([self.budget], [value], marker, color=colour, markersize=7, zorder=4, label="_")
            ax.annotate(
                f"{100 * value:.0f} %",
                (self.budget, value),
                xytext=(7, -9),
                textcoords="offset points",
                fontsize="small",
                color=darker(colour),
                path_effects=halo(),
            )
        add_end(ax, self.line_, name)
        count_curve(ax)
        return self
