"""Metrics in scikit-learn's model selection."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB

from shortlist import metrics


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


def test_every_metric_has_a_scorer(cancer):
    X, y = cancer
    model = RidgeClassifier().fit(X, y)
    s = model.decision_function(X)
    assert set(metrics.SCORERS) <= set(metrics.__all__)
    for name, score in metrics.SCORERS.items():
        value = getattr(metrics, name)(y, s)
        assert abs(score(model, X, y)) == pytest.approx(abs(value))
        assert (score(model, X, y) < 0) == (("loss" in name or "error" in name or "difference" in name
                                             or "misranking" in name) and value > 0)  # fmt: skip


def test_probabilities_text_labels_and_regressors(cancer):
    X, y = cancer
    text = np.array(["benign", "malignant"])[1 - y]
    model = GaussianNB().fit(X, text)
    expected = metrics.auc(text, model.predict_proba(X)[:, 1])
    assert metrics.scorer("auc")(model, X, text) == pytest.approx(expected)
    turned = metrics.scorer("auc", pos_label="benign")(model, X, text)
    assert turned == pytest.approx(metrics.auc(text == "benign", model.predict_proba(X)[:, 0]))
    X, y = load_diabetes(return_X_y=True)
    model = Ridge().fit(X, y)
    assert metrics.scorer("kendall_tau")(model, X, y) == metrics.kendall_tau(y, model.predict(X))


def test_grid_search_and_cross_validation(cancer):
    X, y = cancer
    search = GridSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0]}, scoring=metrics.scorer("precision_at_k", k=20), cv=3
    )
    assert search.fit(X, y).best_score_ > 0.95
    names = ["pos_at_top", "infinite_push_loss", "ndcg"]
    result = cross_validate(
        RidgeClassifier(), X, y, cv=3, scoring={name: metrics.SCORERS[name] for name in names}
    )
    assert result["test_pos_at_top"] == pytest.approx(1 + result["test_infinite_push_loss"])


def test_groups_and_weights_are_routed(cancer):
    X, y = cancer
    rng = np.random.default_rng(0)
    groups, weight = rng.integers(0, 12, len(y)), rng.integers(1, 3, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        score = metrics.scorer("auc").set_score_request(groups=True, sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=True)
        folds = GroupKFold(3)
        result = cross_validate(
            model,
            X,
            y,
            cv=folds,
            scoring=score,
            params={"groups": groups, "sample_weight": weight},
            return_estimator=True,
            return_indices=True,
        )
    for fitted, test, value in zip(
        result["estimator"], result["indices"]["test"], result["test_score"], strict=True
    ):
        s = fitted.decision_function(X[test])
        expected = metrics.auc(y[test], s, groups=groups[test], sample_weight=weight[test])
        assert value == pytest.approx(expected)
