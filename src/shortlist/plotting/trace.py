"""An exact search as it went: the best answer so far and the bound on all others, over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.plotting._style import BLUE, VERMILION, axes, darker, tidy, title

Array = NDArray[Any]

__all__ = ["CertificateTraceDisplay"]


class CertificateTraceDisplay:
    """The value of the best answer and the proven bound over the seconds of a search.

    Between the two lies what is still possible. Where they meet, the answer is proven.

    Parameters
    ----------
    seconds, value, bound : (n,) arrays
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, bound_line_ : matplotlib lines

    Examples
    --------
    >>> from shortlist.plotting import CertificateTraceDisplay
    >>> trace = {"seconds": [0.1, 0.5, 2.0], "value": [3.0, 4.0, 4.0], "bound": [9.0, 6.0, 4.0]}
    >>> CertificateTraceDisplay.from_trace(trace).relative_gap
    0.0
    """

    def __init__(self, *, seconds: Any, value: Any, bound: Any, name: str | None = None) -> None:
        columns = [np.asarray(column, dtype=float) for column in (seconds, value, bound)]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1 or not len(columns[0]):
            raise ValueError("seconds, value and bound must be columns of one length, and not empty")
        self.seconds, self.value, self.bound = columns
        self.name = name

    @property
    def relative_gap(self) -> float:
        """At the end, against the value."""
        gap = max(float(self.bound[-1] - self.value[-1]), 0.0)
        return gap / max(abs(float(self.value[-1])), float(np.finfo(float).tiny)) if gap else 0.0

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the search of a fitted `ExactRanker`, or of the one within a `Reranker`, pipeline or search."""
        model = estimator
        while not hasattr(model, "trace_"):
            inner = (
                model.steps[-1][1]
                if hasattr(model, "steps")
                else getattr(model, "best_estimator_", getattr(model, "reranker_", None))
            )
            if inner is None:
                check_is_fitted(estimator)
                raise ValueError(
                    f"{type(estimator).__name__} keeps no trace of a search; ExactRanker and what holds one do"
                )
            model = inner
        return cls.from_trace(model.trace_, name=type(model).__name__ if name is None else name, ax=ax, **kwargs)

    @classmethod
    def from_trace(cls, trace: Mapping[str, Any], *, name: str | None = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a ``trace_``: columns 'seconds', 'value' and 'bound'."""
        missing = [key for key in ("seconds", "value", "bound") if key not in trace]
        if missing:
            raise ValueError(f"trace lacks the column {missing[0]!r}")
        kept = {key: trace[key] for key in ("seconds", "value", "bound")}
        return cls(**kept, name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the line of the value."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        name = self.name if name is None else name
        tidy(ax)
        seconds, value, bound = self._shown()
        steps = {"drawstyle": "steps-post", "linewidth": 1.9}
        ax.fill_between(
            seconds, value, bound, step="post", facecolor="#f3f3f3", edgecolor="#cfcfcf", hatch="...", linewidth=0
        )
        (self.bound_line_,) = ax.plot(
            seconds, bound, color=VERMILION, linestyle=(0, (5, 2)), label="proven bound", **steps
        )
        (self.line_,) = ax.plot(seconds, value, **({"color": BLUE, "label": "best answer"} | steps | kwargs))
        if seconds[-1] / seconds[0] > 30:
            ax.set_xscale("log")
        else:
            ax.set_xlim(left=0)
        ax.set_xlim(right=seconds[-1])
        gap = self.relative_gap
        closed = gap <= 1e-9
        words = "proven optimal" if closed else f"{100 * gap:.2g} % open"
        ends = [
            (bound[-1], f"bound {self.bound[-1]:.4g}", VERMILION, 7 if closed else 0, "bottom" if closed else "center")
        ]
        ends.append(
            (
                value[-1],
                f"answer {self.value[-1]:.4g}\n{words}",
                BLUE,
                -2 if closed else 0,
                "top" if closed else "center",
            )
        )
        for y, text, colour, shift, va in ends:
            ax.annotate(
                text,
                (seconds[-1], y),
                xytext=(6, shift),
                textcoords="offset points",
                va=va,
                fontsize="small",
                fontweight="bold",
                color=darker(colour),
                annotation_clip=False,
            )
        ax.set_xlabel("seconds")
        ax.set_ylabel("value of the statistic")
        title(ax, name)
        return self

    def _shown(self) -> tuple[Array, Array, Array]:
        """Finite, and on a logarithmic axis without 0: a bound that is not there yet stands at the first that is."""
        first = float(np.min(self.seconds[self.seconds > 0], initial=1.0))
        seconds = np.maximum(self.seconds, first / 2)
        finite = np.isfinite(self.bound)
        start = float(self.bound[finite][0]) if finite.any() else float(np.nanmax(self.value))
        known = np.isfinite(self.value)
        low = float(self.value[known][0]) if known.any() else 0.0
        return seconds, np.where(known, self.value, low), np.where(finite, self.bound, start)
