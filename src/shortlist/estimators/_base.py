"""What all estimators of the top family share: fit, scores, ranking.

An estimator checks what it is given, maps the features, calls one solver and keeps the answer.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.estimators._convex import ConvexRanker
from shortlist.estimators._merge import MOST_ROWS, merge_repeats, spread
from shortlist.estimators._ranking import RankingClassifier
from shortlist.estimators._validation import TrainingRows, check_magnitude, prediction_rows, training_rows
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.features import FeatureMap
from shortlist.risks.top import TopRisk
from shortlist.solvers.solution import Solution

Array = NDArray[Any]

__all__ = ["Objective", "Outcome", "TopClassifier", "warm"]


@dataclass(frozen=True)
class Objective:
    """The problem that a fit solved: ``penalty + C * risk``.

    Attributes
    ----------
    penalty : {'l2', 'l1'}
        1/2 ||w||^2 or ||w||_1.
    C : float
    loss : str
        Surrogate l of the risk mean_i l(threshold - s_i).
    threshold : str
        'max', 'mean_of_largest', 'tail_mean', 'surrogate_quantile', 'quantile_by_classes' or
        'quantile_by_rows'.
    amount : float or None
        The k of 'mean_of_largest', the tau of those after it.
    scale : float
        Scale theta of the scores within 'surrogate_quantile'.
    """

    penalty: str
    C: float
    loss: str
    threshold: str
    amount: float | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What an estimator gets back from its solver.

    Attributes
    ----------
    solution : Solution
    objective : Objective, or another family's
    groups : (n_thresholds,) int array
        Number of the group of each threshold.
    shares : (n_thresholds,) array
        The positives' share of the weight in each, sum 1.
    fitted : dict
        Further fitted attributes.
    """

    solution: Solution
    objective: Any
    groups: Array
    shares: Array
    fitted: dict[str, Any]

    @classmethod
    def of(cls, solution: Solution, objective: Objective, risk: TopRisk, **fitted: Any) -> Outcome:
        """The outcome under a risk of the top family."""
        shares = np.bincount(risk.positive_groups, weights=risk.positive_weights, minlength=risk.n_groups)
        return cls(solution, objective, risk.group_ids, shares, fitted)


def warm(start: Solution | None, X: Any) -> Solution | Array | None:
    """What an earlier solution offers a new fit: all of it, its coefficients or nothing, as shapes allow."""
    if start is None or start.coef.shape != (X.shape[1],):
        return None
    return start if start.dual.shape == (X.shape[0],) else start.coef


class TopClassifier(ConvexRanker, RankingClassifier):
    """Base of the top family; a subclass adds parameters and ``_solve``."""

    @abstractmethod
    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        """Call the solver on mapped features."""

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        features = self._feature_map()
        rows = training_rows(self, X, y, groups, sample_weight, pairwise=features.is_precomputed)
        rows = replace(rows, labels=None)  # two classes: ``is_positive`` says it in an eighth of the memory
        largest = check_magnitude(rows.X)
        Z = features.fit_transform(rows.X, sample_weight=rows.weights)
        if not features.is_linear:
            largest = check_magnitude(Z)
        start = getattr(self, "_last", None) if self.warm_start else None
        if Z.shape[0] <= MOST_ROWS:
            Z, merged, places = merge_repeats(Z, rows)
            outcome = self._solve(Z, merged, start)
            dual = spread(outcome.solution.dual, places, rows.weights)
            outcome = replace(outcome, solution=replace(outcome.solution, dual=dual))
        else:
            outcome = self._solve(Z, rows, start)
        self._keep(outcome, rows, features, largest)
        return self._complaints(outcome)

    def _keep(self, outcome: Outcome, rows: TrainingRows, features: FeatureMap, largest: float) -> None:
        solution = outcome.solution
        support = np.flatnonzero(solution.dual)
        is_positive = rows.is_positive[support]
        thresholds = np.asarray(solution.thresholds, dtype=np.float64)
        # Negatives that lie at the threshold must not pass it by rounding, whichever way a score is summed.
        rounding = 4 * np.finfo(solution.coef.dtype).eps * largest * float(np.abs(solution.coef).sum())
        threshold = float(np.dot(outcome.shares, thresholds)) + rounding
        self.classes_ = rows.classes
        self.feature_map_ = features
        self.coef_ = solution.coef[np.newaxis, :]
        self.intercept_ = np.array([-threshold], dtype=solution.coef.dtype)
        self.thresholds_ = {
            rows.group_ids[number]: float(value)
            for number, value in zip(outcome.groups, thresholds, strict=True)
        }
        self.certificate_ = solution.certificate
        self.objective_ = outcome.objective
        self.n_iter_ = solution.certificate.n_iter
        self.support_ = support
        self.dual_coef_ = solution.dual[np.newaxis, support]
        self.n_support_ = np.array([np.count_nonzero(~is_positive), np.count_nonzero(is_positive)])
        for name, value in outcome.fitted.items():
            setattr(self, name, value)
        self._last = solution if self.warm_start else None

    def _complaints(self, outcome: Outcome) -> list[Warning]:
        complaints = self._gap_complaints()
        if not self.coef_.any():
            advice = self._degenerate_advice()
            complaints.append(DegenerateOptimumWarning(f"{type(self).__name__} ranks nothing: {advice}"))
        return complaints

    def _degenerate_advice(self) -> str:
        return (
            "w = 0 is the optimum. The mean of the positives lies among averages of the negatives, so that no C "
            "changes it: a larger tau (TauFPL; tau='auto' finds the smallest that works), more features, or a "
            "kernel help"
        )

    def decision_function(self, X: Any) -> Array:
        """Score of each row, less the threshold: above 0 where the row beats it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        Z = self.feature_map_.transform(prediction_rows(self, X))
        return np.asarray(Z @ self.coef_[0] + self.intercept_[0])
