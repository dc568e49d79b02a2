"""What RankBoost and the P-Norm Push share: rounds of weak rankers, rows held out to say when to stop, cuts, stages."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.estimators._cuts import best_cuts
from shortlist.estimators._held_out import EarlyStopping, HeldOut, check_validation, held_out, metric_of
from shortlist.estimators._merge import MOST_ROWS, distinct
from shortlist.estimators._ranking import RankingClassifier
from shortlist.estimators._validation import (
    TrainingRows,
    check_choice,
    check_count,
    check_magnitude,
    check_number,
    prediction_rows,
    training_rows,
)
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.risks.boosting import BoostingRisk, ExponentialRisk
from shortlist.solvers.boosting import ROUND, BoostingPath, Watch, boost
from shortlist.solvers.weak_rankers import Choice, Features, Stumps, WeakRankers, column_of

Array = NDArray[Any]

__all__ = ["Booster", "labelled_problem"]

log = logging.getLogger(__name__)

WEAK = ("stump", "linear")


class Booster(RankingClassifier):
    """What both share; a subclass adds its parameters and says which risk."""

    n_estimators: int
    weak: str
    learning_rate: float
    validation: Any
    metric: Any
    patience: int
    random_state: Any
    verbose: int

    def _check_parameters(self) -> None:
        check_count("n_estimators", self.n_estimators)
        check_choice("weak", self.weak, WEAK)
        check_number("learning_rate", self.learning_rate, at_most=1.0, advice="1 is the full step")
        check_validation(self.validation)
        metric_of(self.metric)
        check_count("patience", self.patience)
        check_count("verbose", self.verbose, least=0)

    @abstractmethod
    def _problem(self, rows: TrainingRows, weights: Array | None) -> tuple[Array, Array | None, BoostingRisk]:
        """Numbers of the rows to train on, their weights, and the risk of their scores."""

    def _rows(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> TrainingRows:
        return training_rows(self, X, y, groups, sample_weight)

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        rows = self._rows(X, y, groups, sample_weight)
        check_magnitude(rows.X)
        weights, held = held_out(self, rows, self.random_state)
        chosen, weights, risk = self._problem(rows, weights)
        Z = rows.X[chosen]
        stopping = None if held is None else self._stopping(held, rows, chosen, weights, Z)
        rankers: WeakRankers = Stumps(Z) if self.weak == "stump" else Features(Z)
        path = self._solve(risk, rankers, len(chosen), stopping or self._report())
        self._keep(path, len(path.rounds) if stopping is None else stopping.best_round, rankers, rows)
        self.held_out_ = np.empty(0, dtype=np.intp) if held is None else held.rows
        if stopping is not None:
            self.train_scores_ = np.array(stopping.train_scores)
            self.validation_scores_ = np.array(stopping.held_scores)
        self._cut(rows, chosen, weights, Z)
        return self._complaints()

    def _stopping(
        self, held: HeldOut, rows: TrainingRows, chosen: Array, weights: Array | None, Z: Any
    ) -> EarlyStopping:
        assert rows.labels is not None
        again = np.arange(len(chosen))
        if rows.weights is None and weights is not None:  # a metric may know no weights: rows as often as they are
            again, weights = np.repeat(again, weights.astype(np.intp)), None
        each = chosen[again]
        groups = None if rows.groups is None else rows.groups[each]
        seen = HeldOut(Z, rows.classes[rows.labels[each]], groups, weights, again)
        metric = metric_of(self.metric)
        return EarlyStopping(held, seen, metric, int(self.patience), type(self).__name__, int(self.verbose))

    def _report(self) -> Watch | None:
        if not self.verbose:
            return None

        def report(n_round: int, choice: Choice, step: float, loss: float) -> bool:
            if n_round % self.verbose == 0:
                log.info("%s: round %d, loss %.6g", type(self).__name__, n_round, loss)
            return False

        return report

    def _solve(self, risk: BoostingRisk, rankers: WeakRankers, n_rows: int, watch: Watch | None) -> BoostingPath:
        rounds, rate = int(self.n_estimators), float(self.learning_rate)
        return boost(risk, rankers, n_rows, n_rounds=rounds, learning_rate=rate, watch=watch)

    def _keep(self, path: BoostingPath, n_rounds: int, rankers: WeakRankers, rows: TrainingRows) -> None:
        self.rounds_ = {name: np.ascontiguousarray(path.rounds[name][:n_rounds]) for name in ROUND.names or ()}
        self.losses_ = np.exp(path.log_losses)
        self.n_estimators_ = n_rounds
        self.certificate_ = path.certificate(n_rounds)
        self._dtype = rows.X.dtype
        if isinstance(rankers, Features):
            usable = np.where(rankers.ranges > 0, rankers.ranges, 1.0)
            total = np.bincount(self.rounds_["feature"], self.rounds_["weight"], minlength=len(usable))
            self._ranges = usable
            self.coef_ = (total / usable).astype(self._dtype)[np.newaxis, :]
        drops = -np.diff(path.log_losses[: n_rounds + 1])
        gained = np.bincount(self.rounds_["feature"], drops, minlength=rows.X.shape[1])
        self.feature_importances_ = gained / gained.sum() if gained.any() else gained

    def _cut(self, rows: TrainingRows, chosen: Array, weights: Array | None, Z: Any) -> None:
        """Where the labels turn: the cuts that get most training rows right."""
        self.cuts_ = np.empty(0)
        self.intercept_ = np.zeros(1, dtype=self._dtype)
        if rows.labels is None:
            return
        self.classes_ = rows.classes
        self.cuts_ = np.zeros(len(rows.classes) - 1)
        if self.n_estimators_:
            self.cuts_ = best_cuts(self._scores(Z), rows.labels[chosen], len(rows.classes), weights)
        self.intercept_ = np.array([-self.cuts_[-1]], dtype=self._dtype)

    def _complaints(self) -> list[Warning]:
        if self.n_estimators_:
            return []
        return [
            DegenerateOptimumWarning(
                f"{type(self).__name__} ranks nothing: no weak ranker has an edge, the best weights are 0. The "
                "features say nothing about the order, or no single column does: add features, or products of them"
            )
        ]

    def _scores(self, X: Any) -> Array:
        if self.weak == "linear":
            return np.asarray(X @ self.coef_[0])
        scores = np.zeros(X.shape[0])
        columns = X.tocsc() if hasattr(X, "tocsc") else X
        features, cuts, weights = (self.rounds_[name] for name in ("feature", "threshold", "weight"))
        for k in np.unique(features):
            here = np.flatnonzero(features == k)
            here = here[np.argsort(cuts[here], kind="stable")]
            thresholds = cuts[here]
            heights = np.concatenate([[0.0], np.cumsum(weights[here])])  # of the stairs that these stumps add up to
            if hasattr(columns, "indptr"):
                part = slice(columns.indptr[k], columns.indptr[k + 1])
                ground = heights[np.searchsorted(thresholds, 0.0)]
                scores += ground
                above = heights[np.searchsorted(thresholds, columns.data[part])] - ground
                np.add.at(scores, columns.indices[part], above)
            else:
                scores += heights[np.searchsorted(thresholds, columns[:, k])]
        return scores.astype(X.dtype)

    def decision_function(self, X: Any) -> Array:
        """Score of each row, less the highest cut: above 0 where the row counts as of the last class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(self._scores(prediction_rows(self, X)) + self.intercept_[0])

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """The scores after each round, the last one's being those of ``decision_function`` up to rounding.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Yields
        ------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        X = prediction_rows(self, X)
        columns = X.tocsc() if hasattr(X, "tocsc") else X
        scores = np.full(X.shape[0], float(self.intercept_[0]))
        for k, threshold, weight in zip(
            *(self.rounds_[name] for name in ("feature", "threshold", "weight")), strict=True
        ):
            column = column_of(columns, int(k))
            if self.weak == "linear":
                scores += weight / self._ranges[k] * column
            else:
                scores += weight * (column > threshold)
            yield scores.astype(X.dtype)

    def predict(self, X: Any) -> Array:
        """Label of each row: the positive one where the score beats the cut; of several classes, by all cuts.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self.decision_function(X)
        if not hasattr(self, "classes_"):
            raise ValueError("there are no labels to predict: fit was given pairs alone; use rank or decision_function")
        steps = self.cuts_ - self.cuts_[-1]
        return np.asarray(self.classes_[(scores[:, np.newaxis] > steps).sum(axis=1)])


def labelled_problem(
    rows: TrainingRows, weights: Array | None, p: float
) -> tuple[Array, Array | None, ExponentialRisk]:
    """Rows of positive weight, of small data in an order that is theirs, equal ones as one; and the risk."""
    assert rows.labels is not None
    if rows.X.shape[0] <= MOST_ROWS:
        apart = np.uint64(2 * len(rows.group_ids))  # the codes of labels beside those of groups
        chosen, weights, _ = distinct(rows.X, rows.labels.astype(np.uint64) * apart, rows.groups, weights)
    elif weights is not None and not weights.all():
        chosen = np.flatnonzero(weights > 0)
        weights = weights[chosen]
    else:
        chosen = np.arange(rows.X.shape[0])
    groups = None if rows.groups is None else rows.groups[chosen]
    return chosen, weights, ExponentialRisk.of(rows.labels[chosen], p, groups, weights)
