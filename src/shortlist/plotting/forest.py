"""A comparison at a glance: each model's mean with its interval, its splits behind, and what is proven beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.comparison import Comparison, Place
from shortlist.plotting._style import BLUE, GREY, INK, VERMILION, axes, tidy, title

Array = NDArray[Any]

__all__ = ["ComparisonDisplay"]

# How a model stands against the leader: colour, marker, whether it is filled.
LOOKS = {
    "best": (BLUE, "o", True),
    "no proof of a difference": (BLUE, "o", False),
    "worse": (VERMILION, "s", False),
}


class ComparisonDisplay:
    """Forest plot of a `Comparison`, best first.

    A filled disc is the leader, a ring a model that the splits do not tell from it, a square one that is significantly
    worse. Bars are intervals of the means at 95 %; dots are the splits. Intervals may overlap where the paired test,
    which looks at differences on the same splits, finds a winner.

    Parameters
    ----------
    board : list of Place
        Best first.
    splits : dict of str to array
        Figures of each model, one a split.
    title : str
        The metric in words.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line
        At the leader's mean.

    Examples
    --------
    >>> from shortlist.comparison import Place
    >>> from shortlist.plotting import ComparisonDisplay
    >>> places = [Place("A", 0.6, 0.1, 0.5, 0.7, None, "best", 1.0, "none"),
    ...           Place("B", 0.4, 0.1, 0.3, 0.5, 0.01, "worse", 1.0, "none")]
    >>> display = ComparisonDisplay(board=places, splits={}, title="precision").plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['A', 'B']
    """

    def __init__(self, *, board: Sequence[Place], splits: Mapping[str, Any], title: str) -> None:
        if not board:
            raise ValueError("board is empty: there is no model to draw")
        self.board, self.splits, self.title = list(board), dict(splits), title

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, metric: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw what `compare` returned.

        Parameters
        ----------
        comparison : Comparison
        metric : str, optional
            The one that decides, if left out.
        ax : matplotlib axes, optional
        **kwargs
            For the bars of the intervals.
        """
        board, title = comparison.leaderboard(metric), comparison.title(metric)
        return cls(board=board, splits=comparison.scores(metric), title=title).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the bars of the intervals."""
        self.ax_, self.figure_ = ax, _ = axes(ax, (6.8, 0.9 + 0.42 * len(self.board)))
        tidy(ax)
        ax.grid(False, axis="y")
        for side in ("left",):
            ax.spines[side].set_visible(False)
        self.line_ = ax.axvline(self.board[0].mean, color=GREY, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
        for y, place in enumerate(self.board):
            colour, marker, filled = LOOKS.get(place.verdict, LOOKS["no proof of a difference"])
            figures = np.asarray(self.splits.get(place.model, ()), dtype=float)
            # Moved up and down by their turn, so that equal figures do not hide one another.
            shift = 0.11 * (np.arange(len(figures)) % 3 - 1)
            ax.plot(figures, y + 0.04 + shift, ".", color=GREY, alpha=0.55, markersize=4, zorder=2)
            ax.plot([place.low, place.high], [y, y], **({"color": colour, "linewidth": 2.2, "zorder": 3} | kwargs))
            face = colour if filled else "white"
            ax.plot(
                [place.mean],
                [y],
                marker,
                color=colour,
                markerfacecolor=face,
                markersize=8,
                markeredgewidth=1.8,
                zorder=4,
            )
            words = f"{place.mean:.3g}" + ("" if place.p is None else f"   p {_chance(place.p)}")
            ax.annotate(
                words,
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                color=INK,
                annotation_clip=False,
            )
        ax.set_yticks(range(len(self.board)), [place.model for place in self.board])
        ax.set_ylim(len(self.board) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{self.title} (mean, 95 % interval, splits)")
        title(ax, name)
        return self


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
