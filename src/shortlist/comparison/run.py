"""compare: all models on the same splits, each with its parameters chosen within the training rows."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import indexable

from shortlist.comparison.entrants import Entrant, last_step, make_entrants
from shortlist.comparison.measures import DEFAULT_METRICS, Measure, make_measures
from shortlist.comparison.result import Comparison, Run
from shortlist.comparison.store import plain, resume, write
from shortlist.estimators._validation import check_choice, check_number, class_labels, encode_groups, row_weights
from shortlist.selection.budget import check_budget, describe_budget
from shortlist.selection.splits import Split, digest, make_splits
from shortlist.selection.table import Table

Array = NDArray[Any]
Progress = Callable[[str, int, int, int], Any]

__all__ = ["compare"]

INNER_FOLDS = 3
TESTS = ("t", "wilcoxon")

log = logging.getLogger(__name__)


def compare(
    models: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    budget: Any = 100,
    metrics: Any = DEFAULT_METRICS,
    cv: Any = 5,
    repeats: int = 2,
    test: str = "t",
    level: float = 0.05,
    baseline: str | None = None,
    path: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    callback: Progress | None = None,
) -> Comparison:
    """Which model puts most of the right rows on top, and is the difference more than luck?

    Repeated cross-validation: all models see the same splits, and a model with a grid chooses its parameters by
    cross-validation within the training rows of each. Differences are tested in pairs with a variance that allows for
    the overlap of the training rows, and corrected for their number.

    Parameters
    ----------
    models : "default", dict, or list
        Models by name, or a list that names them by class. A model is an estimator, or ``(estimator, grid)``. An
        estimator that searches on its own, `AutoRanker` or a ``GridSearchCV``, is fitted as it is. "default" is
        TopPush, InfinitePush, RankSVM, logistic regression, gradient boosting, and boosting reranked exactly.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Two labels; the one that sorts last is the positive.
    groups : array-like of shape (n_rows,), optional
        A query id a row. Groups stay whole, metrics are means over groups, and models that know groups are told.
    sample_weight : array-like of shape (n_rows,), optional
        For fits and metrics.
    budget : int or float, default=100
        How many of the rows given here will be acted on, or which share; with groups, of each group. A test fold has
        its share of the places.
    metrics : list of str, or dict of str to function, default=DEFAULT_METRICS
        'precision_at_budget', 'recall_at_budget', names of `shortlist.metrics`, or functions of labels (0, 1) and
        scores. The first decides: on it parameters are chosen, unless it is a function, and models tested.
    cv : int, splitter or list of (train, test), default=5
        Folds, stratified by label; or a scikit-learn splitter.
    repeats : int, default=2
        How often folds are drawn anew, where cv is a number.
    test : {'t', 'wilcoxon'}, default='t'
        The corrected paired t-test, or Wilcoxon's signed ranks, which ignore that splits overlap.
    level : float, default=0.05
        Of the tests.
    baseline : str, optional
        A model to test the others against: fewer comparisons, so more power, than all pairs.
    path : path, optional
        A file that is rewritten after each fit. A comparison that was interrupted continues from it; one with other
        data or settings is refused. Models may be added, and level, test and baseline changed.
    random_state : int, default=0
        Seed of the splits and of the default line-up.
    callback : callable, optional
        Called after each fit with the model's name, the number of fits done, of all fits, and the split.

    Returns
    -------
    Comparison

    Notes
    -----
    Cost: models * splits fits, times 1 + 3 * settings for a model with a grid.

    Groups say which rows compete. Where rows merely belong together (the visits of one patient) and the list is one,
    give ``cv=GroupKFold(5).split(X, y, patients)`` instead.

    References
    ----------
    C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.pipeline import make_pipeline
    >>> from shortlist import TauFPL, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {
    ...     "TauFPL": (make_pipeline(StandardScaler(), TauFPL()), {"taufpl__C": [0.1, 1.0]}),
    ...     "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    ... }
    >>> result = compare(models, X, y == 0, budget=0.2, cv=3, repeats=1)
    >>> len(result.leaderboard()), result.winner() is None
    (2, True)
    """
    check_budget(budget)
    check_choice("test", test, TESTS)
    check_number("level", level, at_most=0.5)
    if not isinstance(random_state, int | np.integer) or isinstance(random_state, bool):
        raise TypeError(f"random_state must be a whole number, so that a comparison can go on, got {random_state!r}")
    random_state = int(random_state)
    measures = make_measures(metrics)
    X, y = indexable(X, np.asarray(y))
    table = _table(X, y, groups, sample_weight)
    entrants = make_entrants(models, X, random_state)
    names = [entrant.name for entrant in entrants]
    if baseline is not None and baseline not in names:
        raise ValueError(f"baseline must be one of the models {', '.join(names)}, got {baseline!r}")
    splits = make_splits(cv, repeats, table.labels, table.codes, random_state)
    n_rows = len(table.y)
    parts = [table.take(rows).places(budget, table.size) for _, rows in splits]
    settings = {
        "rows": n_rows,
        "positives": int(table.labels.sum()),
        "columns": int(X.shape[1]) if hasattr(X, "shape") else len(X[0]),
        "groups": None if table.codes is None else int(table.codes.max()) + 1,
        "positive_label": str(table.positive),
        "budget": float(budget) if budget < 1 else int(budget),
        "budget_in_words": describe_budget(budget, n_rows, table.codes is not None),
        "places": parts,
        "splits": len(splits),
        "train": [len(train) for train, _ in splits],
        "test": [len(test_rows) for _, test_rows in splits],
        "statistical_test": test,
        "level": float(level),
        "baseline": baseline,
        "random_state": random_state,
        "models": {entrant.name: repr(entrant) for entrant in entrants},
        "fingerprint": {
            "data": digest(_hashable(X), y, table.codes, table.weights),
            "plan": digest(*[part for split in splits for part in split], [m.name for m in measures], parts),
            "models": {entrant.name: digest(repr(entrant)) for entrant in entrants},
        },
    }
    losses = [measure.name for measure in measures if not measure.more_is_better]
    result = Comparison({name: [] for name in names}, [measure.name for measure in measures], losses, settings)
    if path is not None:
        result.runs.update(resume(path, result))
        write(path, result)  # a place that cannot be written to is known before the first fit
    total = len(splits) * len(entrants)
    for number, split in enumerate(splits):
        for entrant in entrants:
            runs = result.runs[entrant.name]
            if len(runs) > number:
                continue
            try:
                runs.append(_run(entrant, table, split, parts[number], budget, measures, random_state))
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"the model {entrant.name!r} failed on split {number}: {error}") from error
            if path is not None:
                write(path, result)
            done = sum(len(several) for several in result.runs.values())
            log.info("compare: fit %d of %d, %s on split %d", done, total, entrant.name, number)
            if callback is not None:
                callback(entrant.name, done, total, number)
    return result


def _table(X: Any, y: Array, groups: Any, sample_weight: Any) -> Table:
    weights = row_weights(sample_weight, len(y))
    classes, labels = class_labels(y, weights)
    if (labels < 0).any():
        raise ValueError("y holds a third label on rows of weight 0; leave such rows out")
    codes = None if groups is None else encode_groups(groups, len(y))[0]
    return Table(X, y, labels, codes, weights, classes[1])


def _hashable(X: Any) -> Any:
    return X if hasattr(X, "indptr") else X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def _measured(measure: Measure, model: Any, table: Table, k: int) -> float:
    return measure(table.labels, table.scores(model), k, table.codes, table.weights)


def _run(entrant: Entrant, table: Table, split: Split, k: int, budget: Any, measures: list[Measure], seed: int) -> Run:
    train, test = (table.take(rows) for rows in split)
    began = time.perf_counter()
    chosen = _choose(entrant, train, budget, table.size, measures[0], seed)
    model = train.fit(clone(entrant.model).set_params(**chosen))
    seconds = time.perf_counter() - began
    scores = test.scores(model)
    figures = {measure.name: measure(test.labels, scores, k, test.codes, test.weights) for measure in measures}
    certificate = getattr(last_step(model), "certificate_", None)
    told = {**chosen, **getattr(model, "best_params_", {})}
    if hasattr(model, "best_name_"):
        told["model"] = model.best_name_
    gap = None if certificate is None else float(certificate.relative_gap)
    return Run(
        figures,
        seconds,
        {name.split("__")[-1]: plain(value) for name, value in told.items()},
        None if certificate is None else str(certificate),
        gap if gap is not None and np.isfinite(gap) else None,
    )


def _choose(entrant: Entrant, train: Table, budget: Any, whole: float, measure: Measure, seed: int) -> dict[str, Any]:
    """The settings of the best mean over inner folds; among equals the first."""
    settings = entrant.settings
    if len(settings) == 1:
        return settings[0]
    if measure.own:
        measure = make_measures(["precision_at_budget"])[0]
    most = min(int(np.bincount(train.labels).min()), train.n_groups or len(train))
    try:
        inner_splits = make_splits(max(min(INNER_FOLDS, most), 2), 1, train.labels, train.codes, seed)
    except ValueError:  # too few rows of a label, or groups with it, to choose by
        return settings[0]
    sign = 1.0 if measure.more_is_better else -1.0
    means = np.zeros(len(settings))
    for inner in inner_splits:
        part, rest = (train.take(rows) for rows in inner)
        k = rest.places(budget, whole)
        for number, one in enumerate(settings):
            model = part.fit(clone(entrant.model).set_params(**one))
            means[number] += sign * _measured(measure, model, rest, k)
    return settings[int(np.argmax(np.nan_to_num(np.round(means, 12), nan=-np.inf)))]
