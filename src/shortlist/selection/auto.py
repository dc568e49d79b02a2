"""AutoRanker: say how many rows will be acted on, and the ranker is chosen."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.estimators._merge import distinct
from shortlist.estimators._ranking import RankingClassifier
from shortlist.estimators._validation import (
    TrainingRows,
    check_count,
    check_flag,
    check_magnitude,
    check_number,
    prediction_rows,
    training_rows,
)
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.features.landmarks import row_keys, seed_of
from shortlist.selection.blend import Blended, Scale
from shortlist.selection.budget import check_budget, describe_budget
from shortlist.selection.candidates import FAMILIES
from shortlist.selection.race import Candidate, Outcome, Race
from shortlist.selection.table import Table

Array = NDArray[Any]

__all__ = ["AutoRanker"]

# With fewer rows of a label than this nothing can be compared.
FEWEST = 6


class AutoRanker(RankingClassifier):
    """The ranker for a budget, chosen by cross-validation: say how many rows will be acted on, nothing else.

    Logistic regression, gradient boosting, random forests, TopPush, RankSVM and TauFPL (also with a Gaussian kernel),
    each with a few settings, race on held-out folds; so do the first two with their top ranked again by an exact
    search, and blends of the best. What lies hopelessly behind drops out early. The best of regression, boosting, a
    forest and the blend of the three leads, and loses the lead only to what is better by more than a standard error.

    Parameters
    ----------
    budget : int or float, default=100
        How many of as many rows as are given to fit will be acted on, or which share; with groups, of each group.
    candidates : list of str, optional
        Families to try instead of all: 'logistic regression', 'gradient boosting', 'random forest', 'TopPush',
        'RankSVM', 'TauFPL', 'TauFPL, rbf kernel'.
    folds : int, default=5
        Of the last round; of at most 500 rows they are drawn twice.
    blend : bool, default=True
        Whether means of several models may be chosen.
    rerank : bool, default=True
        Whether models with their top ranked again are tried.
    max_rows : int, default=8000
        Rows that the race looks at, a stratified sample. What is chosen is fitted to all.
    time_limit : float or None, default=None
        Seconds for the race, looked at between fits and folds; two folds are always done, and the last fit comes on
        top. The choice then depends on the machine; without, it does not.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds and the models.

    Attributes
    ----------
    model_ : Blended
        ``models``, fitted to all rows, and the ``scales`` that put their scores on log-odds.
    best_name_ : str
        What was chosen.
    reason_ : str
        Why, in a few sentences.
    leaderboard_ : list of dict
        Everything tried, the finalists first: 'model', 'family', 'settings', 'precision' at the budget, 'worth' (its
        mean with average precision, which decides), 'folds', 'seconds', 'status'.
    expected_precision_ : float
        At the budget, of new rows: a figure of the whole procedure, for it asks on each fold what would have been
        chosen without it. NaN where there was no race.
    places_ : int
        Rows acted on, of the training rows.
    race_rows_, race_folds_ : int
        Of the last round.
    seconds_ : float
        Of the race.
    classes_ : ndarray of shape (2,)
        ``classes_[1]``, the label that sorts last, is the positive: it belongs at the top.
    n_features_in_ : int
        Columns of X in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X was a frame with string names.

    See Also
    --------
    shortlist.compare : Models of your own on the same splits, with tests.

    Notes
    -----
    Rows have to be numbers without gaps; put an encoder and an imputer before it in a pipeline.

    Equal rows are merged and put in an order of their own first, so that the answer depends neither on the order of
    the rows nor on whether a row is there twice or weighs 2. Weights count rows of the budget too.

    Never knowingly worse than logistic regression or boosting, where both are candidates: had either had a better mean
    of precision and average precision in the last round, it would have been chosen. On new rows it can still be
    worse, by bad luck.

    Cost: about 30 settings in three folds on some 2,000 rows, then up to ten models in five folds on ``max_rows``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from shortlist import AutoRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AutoRanker(budget=0.1, candidates=["logistic regression", "TauFPL"]).fit(X, y == 0)
    >>> model.leaderboard_[0]["precision"] > 0.95
    True
    >>> model.rank(X).shape
    (569,)
    """

    def __init__(
        self,
        budget: Any = 100,
        *,
        candidates: Any = None,
        folds: int = 5,
        blend: bool = True,
        rerank: bool = True,
        max_rows: int = 8_000,
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.budget = budget
        self.candidates = candidates
        self.folds = folds
        self.blend = blend
        self.rerank = rerank
        self.max_rows = max_rows
        self.time_limit = time_limit
        self.random_state = random_state

    def _check_parameters(self) -> list[str]:
        check_budget(self.budget)
        check_count("folds", self.folds, least=2)
        check_count("max_rows", self.max_rows, least=100)
        for name in ("blend", "rerank"):
            check_flag(name, getattr(self, name))
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, advice="None is no limit")
        if self.candidates is None:
            return list(FAMILIES)
        names = [self.candidates] if isinstance(self.candidates, str) else list(self.candidates)
        unknown = [name for name in names if name not in FAMILIES]
        if unknown or not names:
            raise ValueError(f"candidates must be some of {', '.join(FAMILIES)}, got {self.candidates!r}")
        return names

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        names = self._check_parameters()
        began = time.perf_counter()
        rows = training_rows(self, X, y, groups, sample_weight)
        check_magnitude(rows.X)
        table = _canonical(rows)
        self.classes_ = rows.classes
        self.places_ = table.places(self.budget, table.size)
        words = describe_budget(self.budget, round(table.size), groups is not None)
        seed = seed_of(self.random_state) % 2**31
        if not _competes(table):
            raise ValueError("there is nothing to rank: no group holds rows of both classes with a positive weight")
        units = _units(table)
        deadline = math.inf if self.time_limit is None else began + self.time_limit
        race = Race(table, names, self.budget, self.folds, self.max_rows, self.blend, self.rerank, deadline, seed)
        if units < FEWEST:
            simplest = next(name for name in FAMILIES if name in names)
            race.families = [simplest]
            chosen = race.simplest()
            what = "rows of the rarer label" if table.codes is None else "groups with both labels"
            self._keep(table, [chosen], None)
            self.reason_ = f"{chosen.name}: with {units} {what} nothing can be compared, so the simplest was taken."
        else:
            outcome = race.run()
            self._keep(table, outcome.winner.parts or [outcome.winner], outcome)
            self.reason_ = _reason(outcome, words)
        self.seconds_ = time.perf_counter() - began
        if np.ptp(self.model_.decision_function(table.X)) == 0:
            return [DegenerateOptimumWarning("AutoRanker ranks nothing: all rows have the same score; add features")]
        return []

    def _keep(self, table: Table, parts: list[Candidate], outcome: Outcome | None) -> None:
        """Fit what was chosen to all rows."""
        models = [table.fit(part.make(table.X)) for part in parts if part.make is not None]
        plain = Scale(1.0, 0.0)
        # One model alone keeps its own scores, and with them its own cut between the labels.
        scales = [plain if len(parts) == 1 else part.scale or plain for part in parts]
        self.model_ = Blended(models, scales, self.classes_[1])
        board = parts if outcome is None else outcome.board
        self.leaderboard_ = [_row(one) for one in board]
        self.best_name_ = parts[0].name if outcome is None else outcome.winner.name
        self.expected_precision_ = float("nan") if outcome is None else outcome.expected
        self.race_rows_ = 0 if outcome is None else outcome.rows
        self.race_folds_ = 0 if outcome is None else outcome.folds

    @property
    def report_(self) -> str:
        """What was tried and why the choice fell as it did, as text."""
        check_is_fitted(self)
        lines = [self.reason_, "", f"{'precision':>9} {'decides':>8} {'folds':>5} {'seconds':>8}  model"]
        for row in self.leaderboard_:
            figures = f"{row['precision']:9.3f} {row['worth']:8.3f}" if row["folds"] else f"{'':>9} {'':>8}"
            lines.append(f"{figures} {row['folds']:5d} {row['seconds']:8.2f}  {row['model']}: {row['status']}")
        return "\n".join(lines)

    def decision_function(self, X: Any) -> Array:
        """Score of each row: above 0 where the model, or the mean log-odds of the blend, calls it positive.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(self.model_.decision_function(prediction_rows(self, X)))


def _canonical(rows: TrainingRows) -> Table:
    """Distinct rows of positive weight, in an order that does not depend on the order given."""
    groups = None if rows.groups is None else _numbered(rows, rows.groups)
    kept, weights, _ = distinct(rows.X, rows.is_positive.astype(np.uint64), groups, rows.weights)
    labels = rows.is_positive[kept].astype(np.intp)
    codes = None if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    unweighted = bool(np.all(weights == 1))
    return Table(rows.X[kept], rows.classes[labels], labels, codes, None if unweighted else weights, rows.classes[1])


def _numbered(rows: TrainingRows, groups: Array) -> Array:
    """Groups numbered by what is in them, since the numbers given depend on which row came first."""
    weights = np.ones(len(groups)) if rows.weights is None else rows.weights
    keys = row_keys(rows.X, 0) + rows.is_positive.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    order = np.lexsort((keys, groups))
    order = order[weights[order] > 0]
    repeats = (np.diff(groups[order]) == 0) & (np.diff(keys[order]) == 0)
    first = order[np.concatenate([[True], ~repeats])]
    content = np.zeros(int(groups.max()) + 1, dtype=np.uint64)
    np.add.at(content, groups[first], keys[first])
    number = np.argsort(np.lexsort((np.bincount(groups, weights, len(content)), content)))
    return np.asarray(number[groups])


def _competes(table: Table) -> bool:
    if table.codes is None:
        return True
    return _units(table) > 0


def _units(table: Table) -> int:
    """What folds are made of: rows of the rarer label, or groups that hold both."""
    if table.codes is None:
        return int(np.bincount(table.labels, minlength=2).min())
    positives = np.bincount(table.codes, table.labels)
    return int(np.sum((positives > 0) & (positives < np.bincount(table.codes))))


def _row(one: Candidate) -> dict[str, Any]:
    return {
        "model": one.name,
        "family": one.family,
        "settings": dict(one.settings),
        "precision": one.precision,
        "worth": float(one.worth.mean()) if one.figures else float("nan"),
        "folds": len(one.figures),
        "seconds": one.seconds,
        "status": one.status or "the only one",
    }


def _reason(outcome: Outcome, words: str) -> str:
    winner, incumbent = outcome.winner, outcome.incumbent
    tried = len([one for one in outcome.board if one.figures])
    opening = (
        f"For {words}: {winner.name}. {tried} models were tried; in the last round, of {outcome.folds} folds on "
        f"{outcome.rows:,} rows, it had a precision of {winner.precision:.3f} at the budget."
    )
    best = outcome.board[0]
    if winner is not incumbent:
        why = (
            f"It is better than the best of regression, boosting, forest and their blend, {incumbent.name}, by "
            f"{outcome.advantage:.3f} (standard error {outcome.error:.3f}) in the mean of precision and average "
            "precision."
        )
    elif best is winner:
        why = "Nothing was better in the mean of precision and average precision."
    else:
        why = (
            f"{best.name} was better in the mean of precision and average precision, but by less than the standard "
            "error, and the choice is the best of regression, boosting, forest and their blend."
        )
    late = " The time ran out before all was tried." if outcome.out_of_time else ""
    return f"{opening} {why}{late}"
