"""Precision and recall among the first k rows, for every k."""

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
from shortlist.plotting.curves import Corners, lengths, precision_recall_at

Array = NDArray[Any]

__all__ = ["PrecisionRecallAtKDisplay"]


class PrecisionRecallAtKDisplay(ListDisplay):
    """What the first k rows hold: which share of them is positive, and which share of the positives they are.

    The axis of k is logarithmic, so that the first ten rows have as much room as the next hundred. The budget is
    marked, and what is reached there is written beside it.

    Parameters
    ----------
    k : (n,) array
        Lengths of list.
    precision, recall : (n,) arrays
    base : float, optional
        Precision of a random order.
    budget : float, optional
        How many rows are acted on.
    name : str, optional
    grouped : bool, default=False
        Whether k counts rows of each group.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, recall_line_ : matplotlib lines
    budget_line_ : matplotlib line or None

    Examples
    --------
    >>> from shortlist.plotting import PrecisionRecallAtKDisplay
    >>> display = PrecisionRecallAtKDisplay.from_predictions([1, 0, 1, 0], [4, 3, 2, 1], budget=2)
    >>> float(display.precision[1]), float(display.recall[1])
    (0.5, 0.5)
    """

    def __init__(
        self,
        *,
        k: Array,
        precision: Array,
        recall: Array,
        base: float | None = None,
        budget: float | None = None,
        name: str | None = None,
        grouped: bool = False,
    ) -> None:
        self.k, self.precision, self.recall = k, precision, recall
        self.base, self.budget, self.name, self.grouped = base, budget, name, grouped

    @classmethod
    def _of(cls, found: Corners, k: int | None, name: str | None) -> Self:
        positives = max(float(p[-1]) for p in found.positives)
        most = found.largest if k is None else min(found.largest, max(20.0 * k, 3.0 * positives))
        at = lengths(most, also=k)
        precision, recall = precision_recall_at(found, at)
        return cls(
            k=at,
            precision=precision,
            recall=recall,
            base=found.base,
            budget=k,
            name=name,
            grouped=found.n_groups > 1,
        )

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the line of the precision."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        name = self.name if name is None else name
        number = curve_number(ax)
        style = style_of(number) | {"marker": "", "linestyle": "-"} | kwargs
        (self.line_,) = ax.plot(self.k, self.precision, **style)
        style |= {"color": self.line_.get_color(), "linestyle": (0, (4, 2)), "label": "_"}
        (self.recall_line_,) = ax.plot(self.k, self.recall, **style)
        if number == 0:
            tidy(ax)
            ax.set_xscale("log")
            ax.set_ylim(0, 1.04)
            ax.set_xlabel("first k rows of each group" if self.grouped else "first k rows")
            ax.set_ylabel("share")
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            if self.base is not None:
                ax.axhline(self.base, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)
                ax.annotate(
                    "random order",
                    (0.0, self.base),
                    xycoords=("axes fraction", "data"),
                    xytext=(3, 2),
                    textcoords="offset points",
                    fontsize="x-small",
                    color=GREY,
                )
        ax.set_xlim(1, max(float(self.k[-1]), 1.5, ax.get_xlim()[1] if number else 0.0))
        self.budget_line_ = None if self.budget is None else self._mark(ax, number)
        prefix = "" if name is None else f"{name}: "
        add_end(ax, self.line_, f"{prefix}precision")
        add_end(ax, self.recall_line_, f"{prefix}recall")
        count_curve(ax)
        return self

    def _mark(self, ax: Any, number: int) -> Any:
        assert self.budget is not None
        line = mark_budget(ax, self.budget, budget_words(self.budget, self.grouped))
        at = int(np.searchsorted(self.k, self.budget))
        marker, colour = style_of(number)["marker"], self.line_.get_color()
        for value, filled in ((self.precision[at], True), (self.recall[at], False)):
            if not np.isfinite(value):
                continue
            face = colour if filled else "white"
            ax.plot(
                [self.budget], [value], marker, color=colour, markerfacecolor=face, markersize=7, zorder=3, label="_"
            )
            ax.annotate(
                f"{value:.2f}",
                (self.budget, value),
                xytext=(7, 6),
                textcoords="offset points",
                fontsize="small",
                color=darker(colour),
                path_effects=halo(),
            )
        return line
