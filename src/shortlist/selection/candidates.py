"""What there is to choose from: families of rankers with a few settings each, as scikit-learn pipelines.

A family is a name, a rank in simplicity and an ordered list of settings.  Linear families are scaled to unit variance,
or column by column to the ranks of the values, which no outlier bends; sparse rows are scaled by the largest size of a
column and stay sparse.  Boosted trees and forests take columns as they are; of sparse rows too wide to be made dense
they take the columns that tell the classes apart best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, QuantileTransformer, StandardScaler

from shortlist.estimators.pairwise import RankSVM
from shortlist.estimators.quantile import TauFPL
from shortlist.estimators.top import TopPush

Array = NDArray[Any]

__all__ = ["BASELINES", "FAMILIES", "Densify", "Family", "boosting", "families_for", "scaled"]

# Sparse rows with more entries than this, zeros included, are not made dense as they are.
MOST_ENTRIES = 2 * 10**7
MOST_COLUMNS = 300
LANDMARKS = 300
# Kernels cost as much as all other families together; beyond so many rows they are not tried.
MOST_KERNEL_ROWS = 20_000


class Densify(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make sparse rows dense, for models that take no others."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def scaled(model: Any, X: Any, how: str = "standard", seed: int = 0) -> Pipeline:
    """A linear model behind a scaler that suits the rows."""
    scaler: Any
    if sparse.issparse(X):
        scaler = MaxAbsScaler()
    elif how == "ranks":
        scaler = QuantileTransformer(n_quantiles=min(100, max(X.shape[0], 2)), subsample=10_000, random_state=seed)
    else:
        scaler = StandardScaler()
    return Pipeline([("scale", scaler), ("rank", model)])


def dense_for(model: Any, X: Any) -> Any:
    """A model that takes dense rows only, behind what makes ``X`` dense."""
    if not hasattr(X, "toarray"):
        return model
    steps: list[tuple[str, Any]] = [("dense", Densify()), ("rank", model)]
    if X.shape[0] * X.shape[1] > MOST_ENTRIES:
        steps.insert(0, ("select", SelectKBest(k=min(MOST_COLUMNS, X.shape[1]))))
    return Pipeline(steps)


def boosting(X: Any, seed: int = 0, **parameters: Any) -> Any:
    """scikit-learn's histogram gradient boosting, for dense and sparse rows."""
    return dense_for(HistGradientBoostingClassifier(random_state=seed, **parameters), X)


def _logistic(X: Any, seed: int, scale: str, C: float) -> Any:
    # The solver of the whole Hessian is the fastest by far on few columns.
    solver = "newton-cholesky" if not sparse.issparse(X) and X.shape[1] <= 200 else "lbfgs"
    return scaled(LogisticRegression(C=C, solver=solver, max_iter=300), X, scale, seed)


def _top_push(X: Any, seed: int, scale: str, C: float) -> Any:
    return scaled(TopPush(C, tol=1e-3), X, scale, seed)


def _rank_svm(X: Any, seed: int, scale: str, C: float) -> Any:
    return scaled(RankSVM(C, loss="squared_hinge", tol=1e-3), X, scale, seed)


def _tau_fpl(X: Any, seed: int, scale: str, C: float, tau: float) -> Any:
    return scaled(TauFPL(C, tau=tau, tol=1e-3), X, scale, seed)


def _kernel(X: Any, seed: int, C: float, tau: float) -> Any:
    model = TauFPL(C, tau=tau, kernel="rbf", n_landmarks=LANDMARKS, tol=1e-3, random_state=seed)
    return scaled(model, X, "standard", seed)


def _boosting(X: Any, seed: int, **parameters: Any) -> Any:
    return boosting(X, seed, **parameters)


def _forest(X: Any, seed: int, least: int) -> Any:
    model = RandomForestClassifier(
        100, min_samples_leaf=least, max_samples=min(1.0, 5_000 / X.shape[0]), random_state=seed
    )
    return dense_for(model, X)


@dataclass(frozen=True)
class Family:
    """Models of one kind.

    Attributes
    ----------
    name : str
    make : callable
        ``make(X, seed, **settings)`` returns an unfitted model for rows like ``X``.
    settings : list of dict
        Grid, the safest first.
    """

    name: str
    make: Callable[..., Any]
    settings: list[Mapping[str, Any]] = field(default_factory=list)


def _grid(**values: list[Any]) -> list[Mapping[str, Any]]:
    grid: list[Mapping[str, Any]] = [{}]
    for name, choices in values.items():
        grid = [{**one, name: choice} for one in grid for choice in choices]
    return grid


SCALES = ["standard", "ranks"]
# The simplest first: among equals the earlier one is taken.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("logistic regression", _logistic, _grid(C=[0.3, 0.03, 3.0, 30.0], scale=SCALES)),
        Family("TopPush", _top_push, _grid(C=[0.03, 1.0], scale=SCALES)),
        Family("RankSVM", _rank_svm, _grid(C=[1.0, 10.0], scale=SCALES)),
        Family("TauFPL", _tau_fpl, _grid(C=[0.03, 1.0], tau=[0.2, 0.03], scale=SCALES)),
        Family("TauFPL, rbf kernel", _kernel, _grid(C=[1.0], tau=[0.2, 0.03])),
        Family("random forest", _forest, _grid(least=[1, 3])),
        Family(
            "gradient boosting",
            _boosting,
            [
                {},
                {"max_leaf_nodes": 8, "learning_rate": 0.05, "max_iter": 200, "l2_regularization": 1.0},
                {"max_leaf_nodes": 4, "max_iter": 150},
            ],
        ),
    )
}
BASELINES = ("logistic regression", "gradient boosting")


def families_for(names: Any, X: Any) -> list[Family]:
    """The families to try on rows like ``X``; settings that make no difference there are left out."""
    chosen = []
    for name in names:
        family = FAMILIES[name]
        if family.make is _kernel and X.shape[0] > MOST_KERNEL_ROWS:
            continue
        settings = family.settings
        if sparse.issparse(X):  # ranks would fill the zeros
            settings = [one for one in settings if one.get("scale") != "ranks"]
        chosen.append(Family(family.name, family.make, settings))
    return chosen
