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
from shortlist.features import EXACT_LIMIT, FeatureMap, KernelMap
from shortlist.features.spectral import spectral_map
from shortlist.solvers.kernel_spectrum import KernelSpectrum
from shortlist.solvers.least_squares_path import Spectrum
from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["DEFAULT_CS", "Decomposed", "check_grid", "decompose", "decomposed"]

#: C from heavy to light regularisation, four a decade.
DEFAULT_CS = tuple(float(f"{10.0 ** (power / 4):.4g}") for power in range(-8, 25))


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
        The rows of the problem.
    spectrum : Spectrum or KernelSpectrum
    features : FeatureMap
    """

    rows: RegressionRows
    spectrum: Any
    features: FeatureMap


def decompose(model: LeastSquaresRanker, X: Any, y: Any, groups: Any, sample_weight: Any) -> Decomposed:
    """Check the data, map the features as ``model`` would, and decompose."""
    model = clone(model)
    model._check_parameters()
    precomputed = model._feature_map().is_precomputed
    rows = regression_rows(model, X, y, groups, sample_weight, pairwise=precomputed, several=True)
    check_magnitude(rows.X)
    problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
    return decomposed(model, rows, rows, None, problem)


def decomposed(
    model: LeastSquaresRanker, given: RegressionRows, rows: RegressionRows, kept: Array | None, problem: PairProblem
) -> Decomposed:
    """Features and decomposition of ``rows``, which are the ``kept`` ones of the given rows, or all of them.

    An exact kernel on rows of equal weight is decomposed once for both; otherwise the features come first.
    """
    features = model._feature_map()
    m, asked = len(rows.y), getattr(features, "n_landmarks", None)
    whole = m <= EXACT_LIMIT if asked is None else isinstance(asked, str) or asked >= m
    if isinstance(features, KernelMap) and not features.is_precomputed and whole and problem.is_uniform:
        model._most_landmarks(m)
        features, Z, values, vectors = spectral_map(features, rows.X)
        check_magnitude(Z)
        return Decomposed(rows, KernelSpectrum.of(Z, values, vectors, problem), features)
    Z = model._features_of(features, given)
    spectrum = Spectrum.of(Z if kept is None else Z[kept], problem, max_memory=float(model.max_memory))
    return Decomposed(rows, spectrum, features)
