"""A figure of the top over a parameter such as C: where the best lies, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from shortlist.estimators._validation import class_labels, encode_groups, row_weights
from shortlist.metrics.scorers import METRICS
from shortlist.plotting._style import BLUE, INK, VERMILION, axes, darker, tidy
from shortlist.selection.splits import make_splits
from shortlist.selection.table import Table

Array = NDArray[Any]

__all__ = ["TopOverCDisplay"]

VALUES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


class TopOverCDisplay:
    """Positives at top, or another metric, on held-out and training rows over C.

    The folds are drawn thin behind their mean, with a band of one standard error: a best C whose band covers all others
    was chosen by luck.

    Parameters
    ----------
    values : (n,) array
        Of the parameter, ascending.
    held_out : (n, n_folds) array
    training : (n, n_folds) array, optional
    param : str, default='C'
    metric : str, default='positives_at_top'
    more_is_better : bool, default=True

    Attributes
    ----------
    best_ : float
        Value of the best mean.
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line
        Of the held-out mean.
    training_line_ : matplotlib line or None

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.plotting import TopOverCDisplay
    >>> display = TopOverCDisplay(values=np.array([0.1, 1.0]), held_out=np.array([[3.0, 4.0], [5.0, 6.0]])).plot()
    >>> display.best_
    1.0
    """

    def __init__(
        self,
        *,
        values: Any,
        held_out: Any,
        training: Any = None,
        param: str = "C",
        metric: str = "positives_at_top",
        more_is_better: bool = True,
    ) -> None:
        self.values, self.held_out = np.asarray(values, dtype=float), np.asarray(held_out, dtype=float)
        self.training = None if training is None else np.asarray(training, dtype=float)
        self.param, self.metric, self.more_is_better = param, metric, more_is_better
        if self.held_out.ndim != 2 or len(self.held_out) != len(self.values) or not len(self.values):
            raise ValueError(
                f"held_out must have a row for each of the {len(self.values)} values and a column for each fold, got "
                f"shape {self.held_out.shape}"
            )
        means = np.nan_to_num(self._means(self.held_out), nan=-np.inf if more_is_better else np.inf)
        self.best_ = float(self.values[int(np.argmax(means) if more_is_better else np.argmin(means))])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        values: Sequence[float] = VALUES,
        param: str = "C",
        metric: str = "positives_at_top",
        cv: Any = 5,
        groups: Any = None,
        sample_weight: Any = None,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit clones of a model over a grid, on the folds of a cross-validation, and draw what they reach.

        Parameters
        ----------
        estimator : classifier or regressor
            With the parameter; of a pipeline, the last step's.
        X, y, groups, sample_weight
            As in `compare`; y has two labels.
        values : sequence of float, default=(0.001, 0.01, 0.1, 1, 10, 100)
        param : str, default='C'
        metric : str, default='positives_at_top'
            A name of `shortlist.metrics.SCORERS`.
        cv : int, splitter or list of (train, test), default=5
        random_state : int, default=0
            Of the folds.
        ax : matplotlib axes, optional
        **kwargs
            For the line of the held-out mean.
        """
        if metric not in METRICS:
            raise ValueError(f"metric must be one of {sorted(METRICS)}, got {metric!r}")
        function, more = METRICS[metric]
        name = _full_name(estimator, param)
        y = np.asarray(y)
        weights = row_weights(sample_weight, len(y))
        classes, labels = class_labels(y, weights)
        codes = None if groups is None else encode_groups(groups, len(y))[0]
        whole = Table(X, y, labels, codes, weights, classes[1])
        found: tuple[list[list[float]], list[list[float]]] = ([], [])
        splits = [[whole.take(rows) for rows in split] for split in make_splits(cv, 1, labels, codes, random_state)]
        for value in sorted(values):
            fits = [(parts, parts[0].fit(clone(estimator).set_params(**{name: value}))) for parts in splits]
            for side, figures in enumerate(found):
                of = [(parts[side], model) for parts, model in fits]
                figures.append(
                    [
                        float(function(t.labels, t.scores(model), groups=t.codes, sample_weight=t.weights))
                        for t, model in of
                    ]
                )
        display = cls(
            values=sorted(values),
            held_out=found[1],
            training=found[0],
            param=param,
            metric=metric,
            more_is_better=more,
        )
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_search(
        cls, search: Any, *, param: str = "C", metric: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw what a fitted ``GridSearchCV`` found; where it varied more parameters, the best of these for each value.

        Parameters
        ----------
        search : fitted search with ``cv_results_``
        param : str, default='C'
            Its own name, or that at the end of a pipeline's.
        metric : str, optional
            Which one, if the search scored several; else the name for the axis.
        ax : matplotlib axes, optional
        **kwargs
            For the line of the held-out mean.
        """
        results = getattr(search, "cv_results_", None)
        if results is None:
            raise ValueError(f"from_search needs a fitted search with cv_results_, got {type(search).__name__}")
        varied = [key.removeprefix("param_") for key in results if key.startswith("param_")]
        matching = [key for key in varied if key == param or key.endswith(f"__{param}")]
        if len(matching) != 1:
            raise ValueError(f"param={param!r} names {len(matching)} of what the search varied: {', '.join(varied)}")
        ending = metric if metric is not None and f"mean_test_{metric}" in results else "score"
        if f"mean_test_{ending}" not in results:
            known = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
            raise ValueError(f"the search has several scores; pass metric=, one of {', '.join(known)}")
        folds = int(search.n_splits_)
        value_of = np.array([float(value) for value in results[f"param_{matching[0]}"]])
        means = results[f"mean_test_{ending}"]
        values = np.unique(value_of)
        chosen = []
        for value in values:
            rows = np.flatnonzero(value_of == value)
            chosen.append(int(rows[np.argmax(np.nan_to_num(means[rows], nan=-np.inf))]))
        sides = [
            np.column_stack([results[f"split{fold}_{side}_{ending}"] for fold in range(folds)])[chosen]
            if f"split0_{side}_{ending}" in results
            else None
            for side in ("test", "train")
        ]
        scoring = getattr(search, "scoring", None)
        words = metric or (scoring if isinstance(scoring, str) else _score_name(scoring))
        return cls(values=values, held_out=sides[0], training=sides[1], param=param, metric=words).plot(ax=ax, **kwargs)

    @staticmethod
    def _means(figures: Array) -> Array:
        finite = np.isfinite(figures)
        counts = finite.sum(axis=1)
        total = np.where(finite, figures, 0.0).sum(axis=1)
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes; further arguments go to the line of the held-out mean."""
        self.ax_, self.figure_ = ax, _ = axes(ax)
        tidy(ax)
        if (self.values > 0).all() and len(self.values) > 1:
            ax.set_xscale("log")
        mean = self._means(self.held_out)
        ax.plot(self.values, self.held_out, color=BLUE, alpha=0.28, linewidth=0.8, label="_")
        folds = self.held_out.shape[1]
        if folds > 1:
            error = self.held_out.std(axis=1, ddof=1) / np.sqrt(folds)
            ax.fill_between(self.values, mean - error, mean + error, color=BLUE, alpha=0.16, linewidth=0)
        style = {"color": BLUE, "marker": "o", "linewidth": 1.9, "label": name or "held-out rows"} | kwargs
        (self.line_,) = ax.plot(self.values, mean, **style)
        self.training_line_ = None
        if self.training is not None:
            (self.training_line_,) = ax.plot(
                self.values,
                self._means(self.training),
                color=VERMILION,
                linestyle=(0, (5, 2)),
                marker="s",
                markersize=4.5,
                linewidth=1.5,
                label="training rows",
            )
        at = int(np.flatnonzero(self.values == self.best_)[0])
        ax.axvline(self.best_, color=INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
        late = at > (len(self.values) - 1) / 2
        ax.annotate(
            f"best {self.param} = {self.best_:.3g}: {mean[at]:.3g}",
            (self.best_, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=(-5 if late else 5, 5),
            textcoords="offset points",
            ha="right" if late else "left",
            fontsize="small",
            color=INK,
        )
        ax.set_xlabel(self.param)
        ax.set_ylabel(self.metric.replace("_", " "))
        for line in (self.line_, self.training_line_):
            if line is not None:
                x, y = np.asarray(line.get_xydata())[-1]
                words = str(line.get_label())
                ax.annotate(
                    words,
                    (x, y),
                    xytext=(7, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                    fontweight="bold",
                    color=darker(line.get_color()),
                    annotation_clip=False,
                )
        return self


def _full_name(estimator: Any, param: str) -> str:
    names = [name for name in estimator.get_params() if name == param or name.endswith(f"__{param}")]
    if len(names) != 1:
        raise ValueError(
            f"param={param!r} names {len(names)} parameters of {type(estimator).__name__}; give it in full"
        )
    return str(names[0])


def _score_name(scoring: Any) -> str:
    function = getattr(scoring, "_score_func", None)
    return "score" if function is None else str(function.__name__)
