"""What the displays of one ranked list share: they are made from predictions or a fitted estimator, then drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from shortlist.estimators._responses import scores_of
from shortlist.plotting.curves import Corners, corners
from shortlist.selection.budget import check_budget, places

Array = NDArray[Any]

__all__ = ["ListDisplay", "budget_words"]


class ListDisplay(ABC):
    """A picture of one ranked list; a subclass says what it keeps of the list and how that is drawn."""

    name: str | None
    ax_: Any
    figure_: Any
    line_: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        budget: int | float | None = 100,
        groups: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        ties: str = "average",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the list that a fitted model makes of some rows.

        Parameters
        ----------
        estimator : fitted classifier or regressor
            Of Shortlist or scikit-learn, or a pipeline or search.
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Two labels; the one that sorts last is the positive.
        budget : int, float or None, default=100
            How many of the rows are acted on, or which share; with groups, of each. None marks nothing.
        groups, sample_weight : array-like of shape (n_rows,), optional
            As in `shortlist.metrics`: with groups a curve is the mean of the groups' curves.
        pos_label : optional
            The positive label.
        ties : {'average', 'pessimistic', 'optimistic'}, default='average'
            In which order rows of equal score count.
        name : str, optional
            Of the curve; the class of the estimator, if left out.
        ax : matplotlib axes, optional
            To draw on; several displays on one get styles of their own.
        **kwargs
            For matplotlib's drawing of the curve.

        Returns
        -------
        display
            With ``ax_``, ``figure_`` and ``line_``.
        """
        scores = _response(estimator, X, pos_label)
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        return cls.from_predictions(
            y,
            scores,
            budget=budget,
            groups=groups,
            sample_weight=sample_weight,
            pos_label=pos_label,
            ties=ties,
            name=type(last).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        budget: int | float | None = 100,
        groups: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        ties: str = "average",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a list from labels and scores, higher being nearer the top; parameters as in `from_estimator`."""
        found = corners(y_true, y_score, groups, sample_weight, pos_label, ties)
        k = None
        if budget is not None:
            check_budget(budget)
            mass = float(sum(p[-1] + n[-1] for p, n in zip(found.positives, found.negatives, strict=True)))
            k = places(budget, mass, mass, found.n_groups if found.n_groups > 1 else None)
        return cls._of(found, k, name).plot(ax=ax, **kwargs)

    @classmethod
    @abstractmethod
    def _of(cls, found: Corners, k: int | None, name: str | None) -> Self:
        """What is kept of the list."""

    @abstractmethod
    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, on ``ax`` or new axes."""


def budget_words(k: float, grouped: bool = False) -> str:
    """
    >>> budget_words(100), budget_words(10, grouped=True)
    ('budget: 100', 'budget: 10 of each group')
    """
    return f"budget: {k:,.0f}" + (" of each group" if grouped else "")


def _response(estimator: Any, X: Any, pos_label: Any) -> Array:
    classes = getattr(estimator, "classes_", None)
    if classes is None and is_regressor(estimator):
        return np.asarray(estimator.predict(X))
    if classes is None or len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} must be fitted to two labels, or be a regressor, to rank rows; it knows "
            f"{'no classes' if classes is None else f'{len(classes)} classes'}"
        )
    positive = classes[-1] if pos_label is None else pos_label
    if positive not in classes:
        raise ValueError(f"pos_label={pos_label!r} is no class of the estimator, whose classes are {list(classes)}")
    if positive == classes[0] and hasattr(estimator, "decision_function"):
        return -scores_of(estimator, X, positive)
    return scores_of(estimator, X, positive)
