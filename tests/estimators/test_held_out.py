"""Rows that are held out to say when to stop: which they are, what they are measured by, what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import ShuffleSplit

from shortlist import RankBoost
from shortlist.estimators._held_out import _lowest, metric_of
from shortlist.metrics import auc, average_precision, precision_at_k
from shortlist.metrics.scorers import METRICS
from tests.common.estimators import clouds

X, y = clouds(120)
GROUPS = (np.arange(120) // 3) % 12


def model(**options: Any) -> RankBoost:
    return RankBoost(12, **{"validation": 0.25, "patience": 4, "random_state": 0, **options})


def test_a_share_of_each_class() -> None:
    held = model().fit(X, y).held_out_
    assert [int((y[held] == label).sum()) for label in (0, 1)] == [20, 10]
    again = model(random_state=1).fit(X, y).held_out_
    assert len(again) == len(held)
    assert set(again) != set(held)


def test_it_is_the_rows_that_are_chosen_not_their_places() -> None:
    order = np.random.default_rng(0).permutation(120)
    plain, mixed = model().fit(X, y), model().fit(X[order], y[order])
    assert set(order[mixed.held_out_]) == set(plain.held_out_)
    np.testing.assert_allclose(mixed.decision_function(X), plain.decision_function(X), atol=1e-9)
    thin = model().fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.held_out_, plain.held_out_)
    # Copies of a row stay on one side, and a weight counts as copies do.
    twice = model().fit(np.vstack([X, X]), np.tile(y, 2))
    assert set(twice.held_out_) == set(plain.held_out_) | {row + 120 for row in plain.held_out_}
    weighed = model().fit(X, y, sample_weight=np.full(120, 2.0))
    np.testing.assert_array_equal(weighed.held_out_, plain.held_out_)


def test_whole_groups() -> None:
    fitted = model().fit(X, y, groups=GROUPS)
    inside = set(GROUPS[fitted.held_out_])
    assert len(inside) == 3
    assert len(fitted.held_out_) == np.isin(GROUPS, list(inside)).sum()


def test_rows_of_weight_0_are_neither() -> None:
    weight = np.ones(120)
    weight[::4] = 0
    held = model().fit(X, y, sample_weight=weight).held_out_
    assert not set(held) & set(range(0, 120, 4))


def test_a_splitter_a_callable_and_rows_of_ones_own() -> None:
    split = ShuffleSplit(1, test_size=0.25, random_state=0)
    train, held = next(split.split(X, y))
    by_split = model(validation=split).fit(X, y)
    assert set(by_split.held_out_) == set(held)
    given = model(validation=lambda X, y, groups: (train, held)).fit(X, y)
    np.testing.assert_allclose(given.validation_scores_, by_split.validation_scores_)
    own = model(validation=(X[held], y[held])).fit(X[train], y[train])
    np.testing.assert_allclose(own.validation_scores_, by_split.validation_scores_)
    assert len(own.held_out_) == 0
    grouped = model(validation=(X[held], y[held], GROUPS[held])).fit(X[train], y[train], groups=GROUPS[train])
    weighed = model(validation=(X[held], y[held], None, np.ones(len(held)))).fit(X[train], y[train])
    np.testing.assert_allclose(weighed.validation_scores_, own.validation_scores_)
    assert grouped.validation_scores_[0] != own.validation_scores_[0]


def test_what_is_measured() -> None:
    fitted = RankBoost(6, validation=0.25, patience=6, metric="auc", random_state=0).fit(X, y)
    held = fitted.held_out_
    stages = fitted.staged_decision_function(X[held])
    for value, scores in zip(fitted.validation_scores_, stages, strict=False):
        assert auc(y[held], scores) == pytest.approx(value)
    top = RankBoost(6, validation=0.25, metric=partial(precision_at_k, k=5), random_state=0).fit(X, y)
    assert top.validation_scores_.max() <= 1
    mine = RankBoost(6, validation=0.25, metric=lambda y, s: -average_precision(y, s), random_state=0).fit(X, y)
    assert mine.validation_scores_.max() < 0


def test_metrics_of_which_less_is_better_are_negated() -> None:
    lower = [name for name, (_, greater) in METRICS.items() if not greater]
    assert lower
    for name in lower:
        assert metric_of(name)(y, X[:, 0]) == -METRICS[name][0](y, X[:, 0])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"validation": 0.0}, ValueError, "validation"),
        ({"validation": 1.5}, ValueError, "validation"),
        ({"validation": True}, TypeError, "validation must be None"),
        ({"validation": "half"}, TypeError, "validation must be None"),
        ({"validation": (X,)}, ValueError, "of length 1"),
        ({"validation": (X[:, :2], y)}, ValueError, "features"),
        ({"validation": (X, y[:5])}, ValueError, "one label for each of its 120 rows"),
        ({"validation": (X, y + 7)}, ValueError, "no label of the training rows"),
        ({"validation": (X, y, [1, 2])}, ValueError, "each of the 120 rows"),
        ({"validation": lambda X, y, groups: ([0, 1], [1, 2])}, ValueError, "row 1 both into training"),
        ({"validation": lambda X, y, groups: ([0, 1], [])}, (ValueError, IndexError), ""),
        ({"validation": lambda X, y, groups: None}, TypeError, "must return row numbers"),
        ({"validation": lambda X, y, groups: ([0], [500])}, IndexError, "must return row numbers"),
        ({"metric": "ndgc"}, ValueError, "metric must be one of"),
        ({"metric": 3}, TypeError, "metric must be a name"),
        ({"metric": lambda y, s: np.nan}, ValueError, "the metric is nan on held-out rows"),
        ({"patience": 0}, ValueError, "patience"),
    ],
)
def test_what_is_refused(options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words or "."):
        model(**options).fit(X, y)


def test_too_little_to_share() -> None:
    with pytest.raises(ValueError, match="none to train or none to hold out"):
        model().fit(np.array([[0.0], [1.0], [2.0]]), [0, 0, 1])
    with pytest.raises(ValueError, match="of 1 groups"):
        model().fit(X, y, groups=np.zeros(120))


def test_the_lowest_keys() -> None:
    keys = np.array([5, 1, 1, 9, 3], dtype=np.uint64)
    assert _lowest(keys, np.ones(5), 0.2).tolist() == [False, True, True, False, False]
    assert _lowest(keys, np.ones(5), 0.6).tolist() == [False, True, True, False, True]
    assert _lowest(keys, np.ones(5), 1.0).all()


def test_a_metric_of_labels_and_scores_alone_sees_every_row() -> None:
    seen: list[int] = []

    def metric(y_true: Any, scores: Any) -> float:
        seen.append(len(y_true))
        return average_precision(y_true, scores)

    data, labels = np.vstack([X, X[:7]]), np.append(y, y[:7])
    fitted = model(metric=metric).fit(data, labels)
    assert set(seen) == {len(fitted.held_out_), 127 - len(fitted.held_out_)}
    rest = np.setdiff1d(np.arange(127), fitted.held_out_)
    first = next(fitted.staged_decision_function(data[rest]))
    assert fitted.train_scores_[0] == pytest.approx(average_precision(labels[rest], first))
