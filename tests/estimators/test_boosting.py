"""RankBoost and the P-Norm Push as users meet them."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, train_test_split

from shortlist import PNormPush, RankBoost, certify
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.metrics import auc, ndcg
from tests.common.estimators import clouds
from tests.oracle.boosting import boosted, definition

X, y = clouds(90)
GROUPS = (np.arange(90) // 3) % 3


def graded(n: int = 90, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5, 1.5])


@pytest.mark.parametrize("weak", ["stump", "linear"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one list", "groups"])
def test_the_push_with_p_1_is_rankboost_round_by_round(weak: str, groups: Any) -> None:
    weight = 1.0 + np.arange(90) % 2
    one = RankBoost(30, weak=weak).fit(X, y, groups=groups, sample_weight=weight)
    other = PNormPush(1.0, 30, weak=weak).fit(X, y, groups=groups, sample_weight=weight)
    for name in one.rounds_:
        np.testing.assert_array_equal(one.rounds_[name], other.rounds_[name])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_larger_p_looks_nearer_the_top() -> None:
    def highest(model: Any) -> float:
        s = model.fit(X, y).decision_function(X)
        return float(np.exp(s[y == 0][:, None] - s[y == 1]).mean(axis=1).max())

    worst = [highest(PNormPush(p, 100)) for p in (1.0, 4.0, 64.0)]
    assert worst[0] > worst[1] > worst[2]  # the loss of the exponential Infinite Push


@pytest.mark.parametrize(
    "model", [RankBoost(4), RankBoost(4, weak="linear"), PNormPush(3.0, 4), RankBoost(4, pairs="classes")]
)
def test_the_losses_are_those_of_an_exhaustive_search(model: Any) -> None:
    data, labels = graded(20) if model.get_params().get("pairs") else (X[:20], y[:20])
    model = clone(model).fit(data, labels)
    p = model.get_params().get("p", 1.0)
    longest = np.inf if model.weak == "linear" else 5.0
    losses = boosted(lambda s: definition(s, labels, p), data, model.weak, 4, longest)
    np.testing.assert_allclose(model.losses_[1:], losses, rtol=1e-6)
    assert model.certificate_.value == pytest.approx(definition(model.decision_function(data), labels, p))


MODELS = [
    RankBoost(25),
    RankBoost(25, weak="linear"),
    PNormPush(4.0, 25),
    PNormPush(4.0, 25, weak="stump", learning_rate=0.3),
    RankBoost(25, pairs="classes"),
    RankBoost(25, validation=0.3, patience=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("grouped", [False, True])
def test_certify_finds_the_same(model: Any, grouped: bool) -> None:
    data, labels = graded() if model.get_params().get("pairs") else (X, y)
    groups = (np.arange(90) // 3) % 15 if grouped else None
    weight = ((np.arange(90) // 2) % 3).astype(float)
    fitted = clone(model).fit(data, labels, groups=groups, sample_weight=weight)
    found = certify(fitted, data, labels, groups=groups, sample_weight=weight)
    assert found.converged
    assert found.primal == pytest.approx(fitted.certificate_.value, rel=1e-9)
    assert found.bound == pytest.approx(fitted.certificate_.bound, rel=1e-6)
    thin = certify(fitted, sparse.csr_array(data), labels, groups=groups, sample_weight=weight)
    assert thin.bound == pytest.approx(found.bound)
    for name in ("rounds_", "coef_"):  # a model that is not what it says
        if name == "rounds_":
            fitted.rounds_ = {**fitted.rounds_, "weight": -fitted.rounds_["weight"]}
        elif hasattr(fitted, name):
            fitted.coef_ = -fitted.coef_
    assert not certify(fitted, data, labels, groups=groups, sample_weight=weight).converged


def as_matrix(pairs: Any) -> Any:
    matrix = np.zeros((90, 90))
    np.add.at(matrix, tuple(np.transpose(pairs)), 1.0)
    return matrix


def test_preferences_in_all_their_forms() -> None:
    rng = np.random.default_rng(0)
    pairs = [(int(i), int(k)) for i, k in rng.integers(0, 90, (200, 2)) if X[i, 0] > X[k, 0]]
    plain = RankBoost(20, pairs=pairs).fit(X)
    assert not hasattr(plain, "classes_")
    s = plain.decision_function(X)
    assert np.mean([s[i] > s[k] for i, k in pairs]) > 0.9
    for form in (np.array(pairs), as_matrix(pairs), sparse.csr_array(as_matrix(pairs))):
        model = RankBoost(20, pairs=form).fit(X)
        np.testing.assert_allclose(model.decision_function(X), s, atol=1e-9)
        found = certify(model, X, None)
        assert found.converged
        assert found.primal == pytest.approx(model.certificate_.value)
    with pytest.raises(ValueError, match="no labels to predict"):
        plain.predict(X)
    with pytest.raises(ValueError, match="validation needs labels"):
        RankBoost(pairs=pairs, validation=0.3).fit(X)
    labelled = RankBoost(20, pairs=pairs).fit(X, y)
    np.testing.assert_array_equal(labelled.rank(X), plain.rank(X))
    assert set(labelled.predict(X)) <= {0, 1}


def test_weights_of_preferences_multiply() -> None:
    pairs = [(0, 1), (2, 1), (2, 3), (3, 0), (0, 2)]
    times = np.array([2, 1, 3, 1])
    again = np.repeat(np.arange(4), times)
    copies = [(i, k) for a, b in pairs for i in np.flatnonzero(again == a) for k in np.flatnonzero(again == b)]
    weighed = RankBoost(10, pairs=pairs).fit(X[:4], sample_weight=times)
    repeated = RankBoost(10, pairs=copies).fit(X[:4][again])
    np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X))
    with pytest.raises(ValueError, match="no preference joins"):
        RankBoost(pairs=[(0, 1)]).fit(X[:4], sample_weight=[0, 1, 1, 1])
    with pytest.raises(ValueError, match="another group"):
        RankBoost(pairs=[(0, 1)]).fit(X[:4], groups=[0, 1, 0, 1])


def test_classes_by_groups_and_their_cuts() -> None:
    data, grade = graded(200)
    names = np.array(["a", "b", "c", "d"])[grade]
    model = RankBoost(60, pairs="classes").fit(data, names, groups=np.arange(200) % 4)
    assert list(model.classes_) == ["a", "b", "c", "d"]
    assert len(model.cuts_) == 3
    assert np.all(np.diff(model.cuts_) >= 0)
    assert (model.predict(data) == names).mean() > 0.6
    assert ndcg(grade, model.decision_function(data)) > 0.9
    with pytest.raises(ValueError, match="pairs='classes'"):
        RankBoost().fit(data, names)


@pytest.mark.parametrize("weak", ["stump", "linear"])
def test_staged_scores_end_where_the_model_is(weak: str) -> None:
    model = RankBoost(12, weak=weak).fit(X, y)
    for data in (X, sparse.csr_array(X)):
        stages = list(model.staged_decision_function(data))
        assert len(stages) == model.n_estimators_ == len(model.losses_) - 1 == 12
        np.testing.assert_allclose(stages[-1] - stages[-1][0], (s := model.decision_function(data)) - s[0], atol=1e-9)
        for scores, loss in zip(stages, model.losses_[1:], strict=True):
            assert definition(scores, y) == pytest.approx(loss)


def test_importances_are_shares_of_the_fall() -> None:
    for model in (RankBoost(30), PNormPush(n_estimators=30)):
        model.fit(np.column_stack([X, np.zeros(90)]), y)
        assert model.feature_importances_.sum() == pytest.approx(1.0)
        assert model.feature_importances_[4] == 0
        assert model.feature_importances_[:2].sum() > 0.5  # where the classes differ
        drops = -np.diff(np.log(model.losses_))
        first = drops[model.rounds_["feature"] == 0].sum() / drops.sum()
        assert model.feature_importances_[0] == pytest.approx(first)


def test_a_curved_dependence_needs_stumps() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 3))
    far = (np.abs(data[:, 1]) > 1).astype(int)
    curved, straight = (
        auc(far, RankBoost(20, weak=weak).fit(data, far).decision_function(data)) for weak in ("stump", "linear")
    )
    assert curved > 0.99
    assert straight < 0.7


def test_sparse_rows_give_the_same_model() -> None:
    thin = np.where(np.abs(X) > 1, X, 0.0)
    for model in (RankBoost(20), RankBoost(20, weak="linear"), PNormPush(4.0, 20)):
        dense = clone(model).fit(thin, y).decision_function(X)
        for container in (sparse.csr_array, sparse.csc_array):
            np.testing.assert_allclose(clone(model).fit(container(thin), y).decision_function(X), dense, atol=1e-9)


def test_many_rows_are_not_merged() -> None:
    data, labels = clouds(2400)
    weight = (np.arange(2400) % 4 > 0).astype(float)
    some = RankBoost(5).fit(data, labels, sample_weight=weight)
    kept = RankBoost(5).fit(data[weight > 0], labels[weight > 0])
    np.testing.assert_allclose(some.decision_function(data), kept.decision_function(data), atol=1e-9)
    np.testing.assert_allclose(RankBoost(5).fit(data, labels).losses_[0], 1.0)


@pytest.mark.parametrize(
    ("model", "words", "error"),
    [
        (RankBoost(0), "n_estimators", ValueError),
        (RankBoost(2.5), "n_estimators", TypeError),  # type: ignore[arg-type]
        (RankBoost(weak="tree"), "weak", ValueError),
        (RankBoost(learning_rate=1.5), "learning_rate", ValueError),
        (RankBoost(learning_rate=0.0), "learning_rate", ValueError),
        (RankBoost(patience=0), "patience", ValueError),
        (RankBoost(verbose=-1), "verbose", ValueError),
        (RankBoost(pairs="all"), "pairs", ValueError),
        (PNormPush(0.5), "p must be at least 1", ValueError),
        (PNormPush(np.inf), "p must be a finite", ValueError),
        (PNormPush("2"), "p must be", TypeError),  # type: ignore[arg-type]
    ],
)
def test_wrong_parameters_are_named(model: Any, words: str, error: Any) -> None:
    with pytest.raises(error, match=words):
        model.fit(X, y)


def test_nothing_to_learn_says_so() -> None:
    with pytest.warns(DegenerateOptimumWarning, match="no weak ranker has an edge"):
        model = RankBoost().fit(np.ones((6, 1)), [0, 1, 0, 1, 0, 1])
    assert model.n_estimators_ == 0
    assert model.feature_importances_.tolist() == [0.0]
    assert list(model.staged_decision_function(np.ones((2, 1)))) == []


def test_progress(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="shortlist"):
        PNormPush(n_estimators=6, verbose=3).fit(X, y)
        RankBoost(6, validation=0.3, verbose=2, random_state=0).fit(X, y)
    assert [record.message.split(",")[0] for record in caplog.records[:2]] == [
        "PNormPush: round 3",
        "PNormPush: round 6",
    ]
    assert "held out" in caplog.text


def test_the_best_round_is_kept() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 10))
    noisy = (data[:, 0] + 2 * rng.normal(size=400) > 0).astype(int)
    train, test, y_train, y_test = train_test_split(data, noisy, test_size=0.5, random_state=0)
    model = RankBoost(200, validation=(test, y_test), metric="auc", patience=15).fit(train, y_train)
    assert model.n_estimators_ == int(np.argmax(model.validation_scores_)) + 1
    assert len(model.validation_scores_) == len(model.train_scores_) == model.n_estimators_ + 15
    assert auc(y_test, model.decision_function(test)) == pytest.approx(model.validation_scores_.max())
    assert model.train_scores_[-1] > model.train_scores_[0]
    assert len(model.held_out_) == 0
    # Whatever comes after the best round leaves the model alone.
    alone = RankBoost(model.n_estimators_).fit(train, y_train)
    np.testing.assert_allclose(alone.decision_function(test), model.decision_function(test), atol=1e-9)


def test_held_out_rows_are_not_trained_on() -> None:
    model = RankBoost(30, validation=GroupKFold(3), patience=5).fit(X, y, groups=GROUPS)
    assert len(set(GROUPS[model.held_out_])) == 1
    weight = np.ones(90)
    weight[model.held_out_] = 0
    alone = RankBoost(model.n_estimators_).fit(X, y, groups=GROUPS, sample_weight=weight)
    np.testing.assert_allclose(alone.rounds_["weight"], model.rounds_["weight"])
