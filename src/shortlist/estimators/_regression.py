"""What all regressors of the house share: real relevance in, a score out whose differences mean something.

As in the classifiers an estimator checks what it is given, maps the features, calls one solver and keeps the answer.
Pairs of rows know differences only: no pair says where zero is.  ``intercept_`` puts the scores on the scale of y, with
a mean residual of 0; ranks, differences and the objective are the same for any other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shortlist.estimators._convex import ConvexRanker
from shortlist.estimators._merge import MOST_ROWS, distinct, spread
from shortlist.estimators._ranking import Ranker, ranked
from shortlist.estimators._validation import check_magnitude, encode_groups, prediction_rows, row_weights
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.features import AUTO_LANDMARKS, EXACT_LIMIT, FeatureMap
from shortlist.features.landmarks import row_keys
from shortlist.features.streamed import STREAMED_BYTES, StreamedFeatures
from shortlist.solvers.solution import Solution

Array = NDArray[Any]

__all__ = [
    "PairObjective",
    "RankingRegressor",
    "RegressionOutcome",
    "RegressionRows",
    "merged_rows",
    "regression_rows",
    "unmerged",
]


@dataclass(frozen=True)
class PairObjective:
    """The problem that a fit solved: 1/2 ||w||^2 + C * mean over ordered pairs (i, j) of a group of a cost.

    Attributes
    ----------
    C : float
    cost : {'mp', 'svr', 'hr', 'hmp'}
        Of a pair with the residuals r = s - y: 'mp' is |r_i - r_j|^order, 'svr' [|r_i - r_j| - epsilon]_+^order; 'hr'
        and 'hmp' count misranked pairs only, by |s_i - s_j| and |r_i - r_j|.
    order : {1, 2}
    epsilon : float
    one_sided : {'closure', 'hinge'}
        Convex form of 'hmp'.
    """

    C: float
    cost: str = "mp"
    order: int = 2
    epsilon: float = 0.0
    one_sided: str = "closure"


@dataclass(frozen=True)
class RegressionRows:
    """Checked training data.

    Attributes
    ----------
    X : (n_rows, n_features) array or CSR
    y : (n_rows, n_targets) float64 array
    one_column : bool
        Whether y came as a single column without a second axis.
    groups : (n_rows,) int array or None
        Number of each row's group, in order of first appearance.
    group_ids : list
        The user's id of each group number.
    weights : (n_rows,) array or None
    origin : (n_rows,) int array or None
        Row numbers as given to fit, where these rows are a selection.
    """

    X: Any
    y: Array
    one_column: bool
    groups: Array | None
    group_ids: list[Hashable]
    weights: Array | None
    origin: Array | None = None


@dataclass(frozen=True)
class RegressionOutcome:
    """What a regressor gets back from its solver.

    Attributes
    ----------
    solution : Solution
        ``coef`` of shape (n_components,) and ``dual`` of shape (n_rows,), or for several targets (n_targets,
        n_components) and (n_targets, n_rows); ``thresholds`` are not looked at.
    objective : PairObjective, or another family's
    intercept : (n_targets,) array or None
        The mean residual y - s where the solver knows it; None: it is worked out.
    fitted : dict
        Further fitted attributes.
    """

    solution: Solution
    objective: Any
    intercept: Array | None = None
    fitted: dict[str, Any] = field(default_factory=dict)


def regression_rows(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    *,
    pairwise: bool = False,
    several: bool = False,
    reset: bool = True,
    needs_pairs: bool = True,
) -> RegressionRows:
    """Check everything that ``fit`` is given; sets ``n_features_in_`` and ``feature_names_in_``.

    Without ``reset`` X has to have the columns of an earlier call; ``needs_pairs`` refuses rows that do not compare.
    """
    form: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
    X, y = validate_data(estimator, X, y, y_numeric=True, multi_output=several, **form)
    n_rows = X.shape[0]
    if pairwise and X.shape[1] != n_rows:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix k(train, train) in fit, got the shape {X.shape}"
        )
    weights = row_weights(sample_weight, n_rows)
    codes, ids = (None, list[Hashable]([None])) if groups is None else encode_groups(groups, n_rows)
    target = _numbers(y)
    present = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
    sizes = np.bincount(present.astype(np.intp) if codes is None else codes[present])
    if needs_pairs and not (sizes[1:] if codes is None else sizes).max(initial=0) > 1:
        found = "1 sample" if n_rows == 1 else f"n_samples = {n_rows}"
        raise ValueError(
            f"there is nothing to rank: no group holds two rows of positive weight ({found}). A magnitude is the "
            "difference between two rows of one group"
        )
    return RegressionRows(X, target.reshape(n_rows, -1), target.ndim == 1, codes, ids, weights)


def _numbers(y: Any) -> Array:
    if hasattr(y, "tocsr"):
        raise TypeError("y is sparse; it must be a dense array of numbers, so pass y.toarray()")
    kind = np.asarray(y).dtype.kind
    if kind not in "fiub":
        raise ValueError(
            f"y must hold real numbers, got the type {np.asarray(y).dtype}: encode grades as numbers whose differences "
            "mean something, for instance 0, 1, 3, 7"
        )
    target = np.asarray(y, dtype=np.float64)
    largest = float(np.abs(target).max(initial=0))
    limit = float(np.sqrt(np.finfo(np.float64).max)) / max(target.size, 1)
    if largest > limit:
        raise ValueError(
            f"y holds a value of size {largest:.3g}; sums of such squares overflow (largest usable here: {limit:.3g}). "
            "Rescale y, or check for placeholders such as 1e300"
        )
    return target


def merged_rows(rows: RegressionRows) -> tuple[Array, RegressionRows, Array]:
    """Equal rows as one row of their weight, in an order that does not depend on the order they came in.

    Numbers of the rows kept, these rows, and for each given row its place among them (-1 for weight 0).
    """
    kept, weights, places = distinct(rows.X, row_keys(rows.y, 1), rows.groups, rows.weights)
    # Groups are numbered as they appear: what the rows hold has to settle their order, and then the numbers.
    order = np.argsort(row_keys(rows.X[kept], 0) + row_keys(rows.y[kept], 1), kind="stable")
    kept, weights = kept[order], weights[order]
    places = np.where(places < 0, -1, np.argsort(order)[places])
    groups, ids = None, rows.group_ids
    if rows.groups is not None:
        used, first, inverse = np.unique(rows.groups[kept], return_index=True, return_inverse=True)
        groups = np.argsort(np.argsort(first))[inverse]
        ids = [rows.group_ids[number] for number in used[np.argsort(first)]]
    merged = replace(
        rows, X=rows.X[kept], y=rows.y[kept], groups=groups, group_ids=ids, weights=weights, origin=kept
    )
    return kept, merged, places


def unmerged(outcome: RegressionOutcome, rows: RegressionRows, places: Array) -> RegressionOutcome:
    """The outcome for merged rows with dual variables for the given ones."""
    dual = np.atleast_2d(outcome.solution.dual)
    dual = np.stack([spread(one, places, rows.weights) for one in dual])
    return replace(outcome, solution=replace(outcome.solution, dual=dual))


class RankingRegressor(ConvexRanker, RegressorMixin, Ranker):  # type: ignore[misc]
    """A regressor whose score is what matters; a subclass adds parameters and ``_solve``."""

    # Whether y may have several columns, each with a score of its own.
    _several: ClassVar[bool] = False
    # Whether the solver asks for rows Z[first:last] only, so that feature vectors may be made as they are needed.
    _streams: ClassVar[bool] = False

    @abstractmethod
    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        """Call the solver on mapped features."""

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array, CSR or CSC matrix, or data frame of shape (n_rows, n_features)
            float32 stays float32. With ``kernel='precomputed'`` the kernel values of all pairs of rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Relevance, as numbers: higher belongs nearer the top.
        groups : array-like of shape (n_rows,), optional
            A query id for each row, of any hashable kind and in any order. Only rows of one group are compared.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 equals the row twice, weight 0 equals the row removed; a pair weighs the product.

        Returns
        -------
        self
        """
        return self._fit_whole(X, y, groups, sample_weight)

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        features = self._feature_map()
        rows = regression_rows(
            self, X, y, groups, sample_weight, pairwise=features.is_precomputed, several=self._several
        )
        check_magnitude(rows.X)
        Z = self._features_of(features, rows)
        start = getattr(self, "_last", None) if self.warm_start else None
        if Z.shape[0] <= MOST_ROWS:
            outcome = self._solve_merged(Z, rows, start)
        else:
            outcome = self._solve(Z, rows, start)
        self._keep(outcome, rows, features, Z)
        return self._complaints()

    def _features_of(self, features: FeatureMap, rows: RegressionRows) -> Any:
        """Feature vectors of the training rows, all at once where they have room."""
        if features.is_linear:
            return features.fit_transform(rows.X, sample_weight=rows.weights)
        n_rows = rows.X.shape[0]
        n_landmarks = self._most_landmarks(n_rows)
        if self._streams and 2 * n_landmarks < n_rows and 8 * n_rows * n_landmarks > STREAMED_BYTES:
            return StreamedFeatures(features.fit(rows.X, sample_weight=rows.weights), rows.X)
        Z = features.fit_transform(rows.X, sample_weight=rows.weights)
        check_magnitude(Z)
        return Z

    def _most_landmarks(self, n_rows: int) -> int:
        """How many rows the kernel matrix can have; an error where it would not fit."""
        asked = self.n_landmarks
        if asked is None:
            return n_rows if n_rows <= EXACT_LIMIT else EXACT_LIMIT if n_rows < 2 * EXACT_LIMIT else AUTO_LANDMARKS
        n_landmarks = n_rows if isinstance(asked, str) else min(int(asked), n_rows)
        most = getattr(self, "max_memory", np.inf)
        if 8.0 * n_landmarks**2 > most:
            raise ValueError(
                f"the kernel matrix of {n_landmarks} landmarks takes {8.0 * n_landmarks**2:.3g} bytes, beyond "
                f"max_memory={most:g}. Set n_landmarks to a number (1000, say), or raise max_memory"
            )
        return n_landmarks

    def _solve_merged(self, Z: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        kept, merged, places = merged_rows(rows)
        return unmerged(self._solve(Z[kept], merged, start), rows, places)

    def _keep(self, outcome: RegressionOutcome, rows: RegressionRows, features: FeatureMap, Z: Any) -> None:
        solution = outcome.solution
        dual = np.atleast_2d(solution.dual)
        support = np.flatnonzero(dual.any(axis=0))
        self.feature_map_ = features
        self.coef_ = np.atleast_2d(solution.coef)
        self.n_targets_ = len(self.coef_)
        self._one_column = rows.one_column
        intercept = outcome.intercept
        if intercept is None:
            residuals = rows.y - np.asarray(Z @ self.coef_.T)
            intercept = np.average(residuals, axis=0, weights=rows.weights)
        self.intercept_ = np.asarray(intercept, dtype=solution.coef.dtype)
        self.certificate_ = solution.certificate
        self.objective_ = outcome.objective
        self.n_iter_ = solution.certificate.n_iter
        self.support_ = support
        self.dual_coef_ = dual[:, support]
        for name, value in outcome.fitted.items():
            setattr(self, name, value)
        self._last = solution if self.warm_start else None

    def _complaints(self) -> list[Warning]:
        complaints = self._gap_complaints()
        if not self.coef_.any():
            name = type(self).__name__
            complaints.append(DegenerateOptimumWarning(f"{name} ranks nothing: {self._degenerate_advice()}"))
        return complaints

    def _degenerate_advice(self) -> str:
        return (
            "w = 0 is the optimum, every row of a group has the same score. Within each group y is constant, or the "
            "features say nothing about it"
        )

    def predict(self, X: Any) -> Array:
        """Score of each row; differences of scores estimate differences of y.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        check_is_fitted(self)
        Z = self.feature_map_.transform(prediction_rows(self, X))
        scores = np.asarray(Z @ self.coef_.T + self.intercept_)
        return scores[:, 0] if self._one_column else scores

    def rank(self, X: Any, groups: Any = None) -> Array:
        """Row numbers, best first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            With groups the rows of the group that appears first come first, best first; then the next
            group's.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            Rows with equal scores keep their order.
        """
        scores = self.predict(X)
        if scores.ndim == 2:
            if scores.shape[1] > 1:
                raise ValueError(
                    f"rank needs one score for each row, and this model has {scores.shape[1]} targets: sort by one of "
                    "them, numpy.argsort(-model.predict(X)[:, 0], kind='stable')"
                )
            scores = scores[:, 0]
        return ranked(scores, groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags
