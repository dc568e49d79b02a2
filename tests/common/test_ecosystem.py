"""Every estimator at home in scikit-learn: searches, pipelines, frames, displays, pickles."""

from __future__ import annotations

import pickle
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import RocCurveDisplay, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from shortlist import AATP, ExactRanker, Reranker, TopPush
from tests.common.estimators import ALL, CUT, PLAIN, clouds, grid_of, learnt, name_of, objective_of, precisely

matplotlib.use("Agg")

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.QuantileWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.NothingToRerankWarning"),
]


@pytest.fixture(params=ALL, ids=name_of)
def estimator(request: pytest.FixtureRequest) -> Any:
    return clone(request.param)


@pytest.fixture(params=PLAIN, ids=name_of)
def default(request: pytest.FixtureRequest) -> Any:
    return clone(request.param)


X, y = clouds(shift=2.0)
GROUPS = np.array(["a", "b", "c", "d"])[np.arange(len(y)) % 4]


# AATP has one quantile over one list.
GROUPED = [estimator for estimator in PLAIN if not isinstance(estimator, AATP)]


def groups_of(model: Any) -> set[Any]:
    """The groups that a fitted model knows."""
    return set(model.group_cuts_ if isinstance(model, Reranker) else model.thresholds_)


class TestSearches:
    def test_a_grid_search(self, default: Any) -> None:
        search = GridSearchCV(default, grid_of(default), scoring="average_precision", cv=3, error_score="raise")
        search.fit(X, y)
        assert search.best_score_ > 0.5
        assert search.best_estimator_.rank(X).shape == y.shape

    @pytest.mark.parametrize("default", GROUPED, ids=name_of)
    def test_cross_validation_with_routed_groups_and_weights(self, default: Any) -> None:
        seen: list[Any] = []

        class Spy(type(default)):  # type: ignore[misc]
            def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Any:
                seen.append((groups, sample_weight))
                return super().fit(X, y, groups=groups, sample_weight=sample_weight)

        spy = Spy(**default.get_params(deep=False))
        with config_context(enable_metadata_routing=True):
            spy.set_fit_request(groups=True, sample_weight=True)
            scorer = make_scorer(roc_auc_score, response_method="decision_function")
            result = cross_validate(
                spy,
                X,
                y,
                params={"groups": GROUPS, "sample_weight": np.ones(len(y))},
                cv=GroupKFold(2),
                scoring=scorer.set_score_request(sample_weight=False),
                return_estimator=True,
                error_score="raise",
            )
        assert len(seen) == 2
        assert all(groups is not None and weights is not None for groups, weights in seen)
        if not isinstance(default, CUT):
            assert groups_of(result["estimator"][0]) < {"a", "b", "c", "d"}

    @pytest.mark.parametrize("default", GROUPED, ids=name_of)
    def test_a_grid_search_with_routed_groups(self, default: Any) -> None:
        default = clone(default)
        with config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                default.set_fit_request(groups=True, sample_weight=False),
                grid_of(default),
                scoring="roc_auc",
                cv=GroupKFold(2),
                error_score="raise",
            )
            search.fit(X, y, groups=GROUPS)
        if not isinstance(default, CUT):
            assert groups_of(search.best_estimator_) == {"a", "b", "c", "d"}


class TestNeighbours:
    def test_pipeline(self, estimator: Any) -> None:
        pipeline = make_pipeline(MinMaxScaler(), estimator).fit(X, y)
        assert pipeline.predict(X).shape == y.shape
        assert roc_auc_score(y, pipeline.decision_function(X)) >= 0.5

    def test_calibration(self, estimator: Any) -> None:
        model = CalibratedClassifierCV(estimator, cv=2).fit(X, y)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_roc_display(self, estimator: Any) -> None:
        display = RocCurveDisplay.from_estimator(estimator.fit(X, y), X, y)
        assert 0.5 <= display.roc_auc <= 1
        matplotlib.pyplot.close("all")

    def test_clone_and_pickle(self, estimator: Any) -> None:
        model = estimator.fit(X, y)
        assert repr(clone(model).get_params()) == repr(model.get_params())
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
        assert objective_of(again) == objective_of(model)

    def test_the_output_of_a_scaler_may_be_a_frame(self, estimator: Any) -> None:
        pipeline = make_pipeline(MinMaxScaler(), estimator).set_output(transform="pandas").fit(X, y)
        assert list(pipeline[-1].feature_names_in_) == ["x0", "x1", "x2", "x3"]


class TestContainers:
    def test_frames(self, estimator: Any) -> None:
        plain = clone(estimator).fit(X, y)
        columns = {f"feature {k}": X[:, k] for k in range(X.shape[1])}
        for frame, labels, groups in (
            (pd.DataFrame(columns), pd.Series(y), pd.Series(GROUPS)),
            (pl.DataFrame(columns), pl.Series(y), pl.Series(GROUPS)),
        ):
            model = clone(estimator).fit(frame, labels)
            assert list(model.feature_names_in_) == list(columns)
            assert np.allclose(model.decision_function(frame), plain.decision_function(X))
            assert model.rank(frame, groups=groups).shape == y.shape
            if not isinstance(estimator, AATP):
                clone(estimator).fit(frame, labels, groups=groups)

    def test_wrong_feature_names_are_refused(self, default: Any) -> None:
        frame = pd.DataFrame(X, columns=list("abcd"))
        default.fit(frame, y)
        with pytest.raises(ValueError, match="feature names"):
            default.decision_function(frame[list("badc")])

    @pytest.mark.parametrize(
        "container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array]
    )
    def test_sparse_agrees_with_dense(self, default: Any, container: Any) -> None:
        kept = np.where(np.abs(X) > 0.5, X, 0)
        dense = precisely(clone(default), 1e-8).fit(kept, y)
        model = precisely(default, 1e-8).fit(container(kept), y)
        assert np.allclose(
            model.decision_function(container(kept)), dense.decision_function(kept), atol=1e-3, rtol=1e-3
        )
        assert np.isclose(objective_of(model), objective_of(dense), rtol=1e-6)

    def test_float32_stays_float32(self, default: Any) -> None:
        single = clone(default).fit(X.astype(np.float32), y)
        double = default.fit(X, y)
        model = single.reranker_ if isinstance(default, Reranker) else single
        assert learnt(model).dtype == np.float32 or not hasattr(model, "coef_")
        assert model.decision_function(X.astype(np.float32)).dtype == np.float32
        # An exact search is another one as soon as a row differs in its last digit.
        exact = isinstance(model, ExactRanker)
        assert np.isclose(objective_of(single), objective_of(double), rtol=0.02 if exact else 3e-4)

    def test_precomputed_kernels_are_split_along_both_sides(self) -> None:
        K = X @ X.T
        search = GridSearchCV(TopPush(kernel="precomputed"), {"C": [0.1, 1.0]}, scoring="roc_auc", cv=3)
        assert search.fit(K, y).best_score_ > 0.5
        with pytest.raises(ValueError, match="square"):
            TopPush(kernel="precomputed").fit(K[:, :-1], y)
