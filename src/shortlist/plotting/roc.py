"""The ROC curve where a short list lives: at its left end."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.plotting._list import ListDisplay, budget_words
from shortlist.plotting._style import (
    GREY,
    INK,
    add_end,
    axes,
    count_curve,
    curve_number,
    darker,
    halo,
    share_of,
    style_of,
    tidy,
)
from shortlist.plotting.curves import Corners, roc

Array = NDArray[Any]

__all__ = ["TopROCDisplay"]

CORNER = (0.68, 0.09, 0.30, 0.33)
SMALL = 3.0  # inches


class TopROCDisplay(ListDisplay):
    """The ROC curve over a logarithmic axis of false positives, with the top left corner enlarged in an inset.

    Over the usual axis the first thousandth of the negatives is a thousandth of the picture, and all that a short list
    holds lies in it. Positives above every negative are drawn at the left edge, marked 0.

    Parameters
    ----------
    fpr, tpr : (n,) arrays
    floor : float
        Left edge of the axis: half of the smallest false-positive rate above 0.
    point : (float, float), optional
        False-positive and true-positive rate at the budget.
    budget : float, optional
    corner : float, default=0.1
        False-positive rate up to which the corner is enlarged.
    name : str, optional
    grouped : bool, default=False

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    corner_ : matplotlib axes or None
        Of the inset; small axes have none.
    line_ : matplotlib line

    Examples
    --------
    >>> from shortlist.plotting import TopROCDisplay
    >>> display = TopROCDisplay.from_predictions([1, 0, 1, 0], [4, 3, 2, 1], budget=1)
    >>> display.point
    (0.0, 0.5)
    """

    def __init__(
        self,
        *,
        fpr: Array,
        tpr: Array,
        floor: float,
        point: tuple[float, float] | None = None,
        budget: float | None = None,
        corner: float = 0.1,
        name: str | None = None,
        grouped: bool = False,
    ) -> None:
        self.fpr, self.tpr, self.floor, self.point, self.budget = fpr, tpr, floor, point, budget
        self.corner, self.name, self.grouped = corner, name, grouped

    @classmethod
    def _of(cls, found: Corners, k: int | None, name: str | None) -> Self:
        fpr, tpr = roc(found)
        floor = float(fpr[fpr > 0][0]) / 2
        point = None
        if k is not None:
            at = []
            for p, n in zip(found.positives, found.negatives, strict=True):
                if p[-1] > 0 and n[-1] > 0:
                    at.append((np.interp(k, p + n, n) / n[-1], np.interp(k, p + n, p) / p[-1]))
            point = (float(np.mean([x for x, _ in at])), float(np.mean([y for _, y in at])))
        return cls(fpr=fpr, tpr=tpr, floor=floor, point=point, budget=k, name=name, grouped=found.n_groups > 1)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the curve."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        name = self.name if name is None else name
        number = curve_number(ax)
        style = style_of(number) | {"marker": ""} | kwargs
        if number == 0:
            self._furnish(ax)
        self.corner_ = ax._shortlist_corner
        floor = min(self.floor, ax.get_xlim()[0])
        (self.line_,) = ax.plot(np.maximum(self.fpr, floor), self.tpr, **style)
        ax.set_xlim(floor, 1)
        if self.corner_ is not None:
            self.corner_.plot(self.fpr, self.tpr, **(style | {"label": "_"}))
        if self.point is not None:
            self._mark(ax, number, max(self.point[0], floor), self.point[1])
        add_end(ax, self.line_, name)
        if self.corner_ is not None:
            self._fit_corner()
        count_curve(ax)
        return self

    def _mark(self, ax: Any, number: int, x: float, y: float) -> None:
        colour = self.line_.get_color()
        dot = {"color": colour, "marker": style_of(number)["marker"], "markersize": 7, "zorder": 4, "label": "_"}
        ax.plot([x], [y], **dot)
        if self.corner_ is not None and self.point is not None:
            self.corner_.plot(*[[value] for value in self.point], **dot)
        at_left = share_of(ax, x) < 0.1
        ax.annotate(
            f"{100 * y:.0f} %",
            (x, y),
            xytext=(4 if at_left else -4, 7),
            textcoords="offset points",
            ha="left" if at_left else "right",
            fontsize="small",
            color=darker(colour),
            path_effects=halo(),
        )
        if number == 0 and self.budget is not None:
            words = f"marked: {budget_words(self.budget, self.grouped)}"
            ax.text(0.0, 1.01, words, transform=ax.transAxes, fontsize="small", va="bottom", color=INK)

    def _furnish(self, ax: Any) -> None:
        tidy(ax)
        ax.set_xscale("log")
        ax.set_xlim(self.floor, 1)
        ax.set_ylim(0, 1.04)
        ax.set_xlabel("false-positive rate (logarithmic; left edge: 0)")
        ax.set_ylabel("true-positive rate")
        chance = np.geomspace(self.floor, 1, 200)
        ax.plot(chance, chance, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), label="_")
        ax._shortlist_corner = None
        if ax.get_window_extent().width / ax.figure.dpi < SMALL:
            return  # there would be no room to read it
        inset = ax.inset_axes(CORNER)
        tidy(inset)
        inset.tick_params(labelsize="x-small", length=2)
        inset.text(0.96, 0.05, "top left corner", transform=inset.transAxes, ha="right", fontsize="x-small", color=INK)
        inset.set_xticks([0, self.corner])
        inset.set_xlim(0, self.corner)
        ax._shortlist_corner = inset

    def _fit_corner(self) -> None:
        """The inset reaches down to where its lowest curve enters it, half way."""
        lowest = [float(np.interp(self.corner / 8, *np.asarray(line.get_data()))) for line in self.corner_.lines]
        low = min(0.8, max(0.0, min(lowest) - 0.05))
        self.corner_.set_ylim(low, 1.0 + 0.02 * (1 - low))
