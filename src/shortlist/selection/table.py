"""Rows with what belongs to them, taken apart together; models fitted to them and asked for scores."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import _safe_indexing as take_rows

from shortlist.estimators._responses import fit_arguments, scores_of
from shortlist.selection.budget import places

Array = NDArray[Any]

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Checked rows.

    Attributes
    ----------
    X : array, sparse matrix or data frame
    y : (n_rows,) array
        As the user gave them.
    labels : (n_rows,) int array
        1 for the positive.
    codes : (n_rows,) int array or None
        Groups.
    weights : (n_rows,) array or None
    positive : object
        The positive label.
    """

    X: Any
    y: Array
    labels: Array
    codes: Array | None
    weights: Array | None
    positive: Any

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_groups(self) -> int | None:
        return None if self.codes is None else len(set(self.codes.tolist()))

    @property
    def size(self) -> float:
        """Rows, counted by weight."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def take(self, rows: Array) -> Table:
        return Table(
            take_rows(self.X, rows),
            self.y[rows],
            self.labels[rows],
            None if self.codes is None else self.codes[rows],
            None if self.weights is None else self.weights[rows],
            self.positive,
        )

    def places(self, budget: Any, whole: float) -> int:
        """Places to act on here, of a budget for ``whole`` rows."""
        return places(budget, whole, self.size, self.n_groups)

    def fit(self, model: Any) -> Any:
        """Fit a model, told groups and weights where it knows them.

        What a fit has to say is in its certificate, and on a grid some setting always complains: warnings are not
        passed on.
        """
        target = self.labels.astype(np.float64) if is_regressor(model) else self.y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(self.X, target, **fit_arguments(model, self.codes, self.weights))

    def scores(self, model: Any) -> Array:
        """One score a row, higher for the positive label."""
        return scores_of(model, self.X, self.positive)
