"""From what a user gives to a decomposed problem: the same checks and feature maps as the estimators'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from shortlist.estimators._regression import RegressionRows, regression_rows
from shortlist.estimators._validation import check_magnitude
from shortlist.estimators.magnitude import LeastSquaresRanker
from shortlist.solvers.least_squares_path import Spectrum
from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["DEFAULT_CS", "Decomposed", "check_grid", "decompose"]

#: C from heavy to light regularisation, four a decade.
DEFAULT_CS = tuple(float(f"{10.0 ** (power / 4):.4g}") for power in range(-8, 21))


def check_grid(name: str, values: Any) -> Array:
    """A non-empty 1-d array of finite numbers above 0."""
    try:
        grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers above 0, got {values!r}") from None
    if grid.ndim != 1 or not grid.size:
        raise ValueError(f"{name} must be a non-empty sequence of numbers, got {values!r}")
    if not (np.isfinite(grid).all() and (grid > 0).all()):
        raise ValueError(f"{name} must hold finite numbers above 0, got {grid[~(np.isfinite(grid) & (grid > 0))][0]:g}")
    return grid


@dataclass(frozen=True)
class Decomposed:
    """A problem and its decomposition.

    Attributes
    ----------
    rows : RegressionRows
        As given.
    spectrum : Spectrum
    """

    rows: RegressionRows
    spectrum: Spectrum


def decompose(model: LeastSquaresRanker, X: Any, y: Any, groups: Any, sample_weight: Any) -> Decomposed:
    """Check the data, map the features as ``model`` would, and decompose."""
    model = clone(model)
    model._check_parameters()
    features = model._feature_map()
    rows = regression_rows(model, X, y, groups, sample_weight, pairwise=features.is_precomputed, several=True)
    check_magnitude(rows.X)
    Z = model._features_of(features, rows)
    problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
    return Decomposed(rows, Spectrum.of(Z, problem, max_memory=float(model.max_memory)))
