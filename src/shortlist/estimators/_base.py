"""What all estimators of the top family share: fit, scores, ranking.

An estimator checks what it is given, maps the features, calls one solver and keeps the answer.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.estimators._merge import MOST_ROWS, merge_repeats, spread
from shortlist.estimators._ranking import RankingClassifier
from shortlist.estimators._validation import (
    TrainingRows,
    check_choice,
    check_count,
    check_flag,
    check_magnitude,
    check_number,
    prediction_rows,
    training_rows,
)
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning
from shortlist.features import FeatureMap, feature_map
from shortlist.risks.top import TopRisk
from shortlist.solvers.solution import Solution

Array = NDArray[Any]
Callback = Callable[[int, float, float], None]

__all__ = ["Objective", "Outcome", "TopClassifier", "warm"]

log = logging.getLogger(__name__)


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
    objective : Objective
    groups : (n_thresholds,) int array
        Number of the group of each threshold.
    shares : (n_thresholds,) array
        The positives' share of the weight in each, sum 1.
    fitted : dict
        Further fitted attributes.
    """

    solution: Solution
    objective: Objective
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


class TopClassifier(RankingClassifier):
    """Base of the top family; a subclass adds parameters and ``_solve``."""

    _solvers: ClassVar[tuple[str, ...]] = ()

    C: float
    tol: float
    max_iter: int | None
    verbose: int
    warm_start: bool = False

    @abstractmethod
    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        """Call the solver on mapped features."""

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        features = self._feature_map()
        rows = training_rows(self, X, y, groups, sample_weight, pairwise=features.is_precomputed)
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

    def _check_parameters(self) -> None:
        check_number("C", self.C, advice="it weighs the risk against the penalty; 1.0 is a start")
        check_number("tol", self.tol, advice="it is a relative duality gap; 1e-4 is a start")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_count("verbose", self.verbose, least=0)
        if self._solvers:
            check_choice("solver", self.solver, self._solvers)

    def _feature_map(self) -> FeatureMap:
        if not hasattr(self, "kernel"):
            return feature_map(None)
        return feature_map(
            self.kernel,
            gamma=self.gamma,
            scales=self.scales,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_landmarks=self.n_landmarks,
            random_state=self.random_state,
        )

    def _stopping(self) -> dict[str, Any]:
        """Keyword arguments that every solver takes."""
        arguments: dict[str, Any] = {"tol": self.tol, "callback": self._callback()}
        if self.max_iter is not None:
            arguments["max_iter"] = self.max_iter
        return arguments

    def _callback(self) -> Callback | None:
        if not self.verbose:
            return None

        def report(n_iter: int, primal: float, bound: float) -> None:
            if n_iter % self.verbose == 0:
                name = type(self).__name__
                log.info("%s: step %d, objective %.8g, bound %.8g", name, n_iter, primal, bound)

        return report

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
        complaints: list[Warning] = []
        name, certificate = type(self).__name__, self.certificate_
        if not certificate.converged:
            complaints.append(
                ConvergenceWarning(
                    f"{name} stopped at a relative gap of {certificate.relative_gap:.2g} after "
                    f"{certificate.n_iter} steps; tol={certificate.tolerance:g} was asked for. Raise "
                    "max_iter, scale the features, lower C or accept a larger tol"
                )
            )
        if not self.coef_.any():
            advice = self._degenerate_advice()
            complaints.append(DegenerateOptimumWarning(f"{name} ranks nothing: {advice}"))
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags
