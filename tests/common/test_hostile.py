"""Hostile input: for every estimator a named error that says what to do, or a defined answer."""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shortlist import AATP, ExactRanker, Reranker, TopPush
from shortlist.estimators import exact
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning
from tests.common.estimators import ALL, CUT, clouds, learnt, name_of, objective_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.QuantileWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.NothingToRerankWarning"),
]

X, y = clouds(60)


@pytest.fixture(params=ALL, ids=name_of)
def estimator(request: pytest.FixtureRequest) -> Any:
    return clone(request.param)


def with_value(value: float) -> Any:
    changed = X.copy()
    changed[3, 1] = value
    return changed


class TestHostileInput:
    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"X": with_value(np.nan)}, ValueError, "NaN"),
            ({"X": with_value(np.inf)}, ValueError, "infinity"),
            ({"X": with_value(1e300)}, ValueError, r"1e\+300.*Scale the features"),
            ({"X": with_value(3e38).astype(np.float32)}, ValueError, "overflow float32"),
            ({"X": X[:0], "y": y[:0]}, ValueError, "0 sample"),
            ({"X": X[:1], "y": y[:1]}, ValueError, "1 class"),
            ({"X": X[:, :0]}, ValueError, "0 feature"),
            ({"X": X.astype(complex)}, ValueError, "[Cc]omplex"),
            ({"X": X[:-1]}, ValueError, "inconsistent numbers of samples"),
            ({"y": np.ones(60)}, ValueError, "1 class only"),
            ({"y": np.arange(60) % 3}, ValueError, "Only binary classification is supported"),
            ({"y": np.linspace(0, 1, 60)}, ValueError, "continuous"),
            ({"y": np.where(y == 1, np.nan, 0.0)}, ValueError, "NaN"),
            ({"y": None}, ValueError, "requires y"),
            ({"groups": np.arange(59)}, ValueError, "each of the 60 rows, got 59"),
            ({"groups": 7}, TypeError, "one id for each row"),
            ({"groups": [[1]] * 60}, TypeError, "hashable"),
            ({"groups": np.where(y == 1, np.nan, 1.0)}, ValueError, "no id in row 0"),
            ({"groups": [None, *range(59)]}, ValueError, "no id in row 0"),
            ({"groups": y}, ValueError, "nothing to rank|knows no groups"),
            ({"groups": np.arange(60)}, ValueError, "nothing to rank|knows no groups"),
            ({"sample_weight": -np.ones(60)}, ValueError, "must not be negative, got -1 in row 0"),
            ({"sample_weight": np.zeros(60)}, ValueError, "zero"),
            ({"sample_weight": np.ones(59)}, ValueError, "each of the 60 rows"),
            ({"sample_weight": np.full(60, np.nan)}, ValueError, "NaN"),
            ({"sample_weight": np.full(60, np.inf)}, ValueError, "infinity"),
            ({"sample_weight": y.astype(float)}, ValueError, "1 class only"),
        ],
    )
    def test_refused_with_a_reason(self, estimator: Any, changes: Any, error: Any, words: str) -> None:
        if words.startswith("Only binary") and estimator.get_params().get("pairs") is not None:
            pytest.skip("has no limit of two classes")
        arguments = {"X": X, "y": y, **changes}
        with pytest.raises(error, match=words):
            estimator.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
        assert not [name for name in vars(estimator) if name.endswith("_")]

    @pytest.mark.parametrize(
        ("data", "labels"),
        [
            pytest.param(np.hstack([X, np.zeros((60, 2))]), y, id="zero columns"),
            pytest.param(np.hstack([X, np.ones((60, 1))]), y, id="constant column"),
            pytest.param(np.vstack([X[:30], X[:30]]), np.tile(y[:30], 2), id="duplicated rows"),
            pytest.param(
                np.vstack([X[:30], X[:30]]), np.repeat([0, 1], 30), id="the same rows in both classes"
            ),
            pytest.param(sparse.csr_array(np.where(np.abs(X) > 1.5, X, 0)), y, id="empty sparse rows"),
            pytest.param(X * 1e-6, y, id="tiny"),
            pytest.param(X * 1e6, y, id="huge"),
        ],
    )
    def test_defined_answer(self, estimator: Any, data: Any, labels: Any) -> None:
        model = estimator.fit(data, labels)
        assert np.all(np.isfinite(model.decision_function(data)))
        if not isinstance(model, Reranker):
            assert np.all(np.isfinite(learnt(model)))
            objective, bound = objective_of(model), model.certificate_.bound
            sign = -1 if isinstance(model, ExactRanker) else 1
            assert sign * objective >= sign * bound - 1e-9 * abs(bound)
        assert sorted(model.rank(data)) == list(range(60))

    def test_a_matrix_of_zeros_is_degenerate_and_says_so(self, estimator: Any) -> None:
        if getattr(estimator, "kernel", None) is not None:
            pytest.skip("a kernel of zero width has an error of its own")
        with pytest.warns(DegenerateOptimumWarning, match="ranks nothing"):
            model = estimator.fit(np.zeros((60, 3)), y)
        if not isinstance(model, Reranker):
            assert not learnt(model).any()
        assert np.array_equal(model.rank(np.zeros((60, 3))), np.arange(60))
        assert not (model.predict(np.zeros((60, 3))) == 1).any()

    def test_unicode_and_boolean_labels(self, estimator: Any) -> None:
        plain = clone(estimator).fit(X, y)
        for labels in (
            np.array(["nein", "ja"])[1 - y],
            np.array(["λ", "π"], dtype=object)[y],
            y.astype(bool),
        ):
            model = clone(estimator).fit(X, labels)
            if labels[0] != "ja":
                assert np.allclose(model.decision_function(X), plain.decision_function(X))
            assert set(np.unique(model.predict(X))) <= set(np.unique(labels))

    def test_a_label_of_weight_zero_does_not_exist(self, estimator: Any) -> None:
        labels = np.where(np.arange(60) < 6, "unknown", np.where(y == 1, "yes", "no"))
        weight = (labels != "unknown").astype(float)
        model = estimator.fit(X, labels, sample_weight=weight)
        assert list(model.classes_) == ["no", "yes"]

    def test_groups_of_any_kind_in_any_order(self, estimator: Any) -> None:
        if isinstance(estimator, AATP):
            assert list(estimator.fit(X, y, groups=["all"] * 60).thresholds_) == ["all"]
            return
        kinds: list[Any] = ["a", ("b", 1), 3, 4.5]
        groups = [kinds[(7 * row) % 4] for row in range(60)]
        model = estimator.fit(X, y, groups=groups)
        if isinstance(model, CUT):
            assert sorted(model.rank(X, groups)) == list(range(60))
            return
        if isinstance(model, Reranker):
            assert set(model.group_cuts_) == set(kinds)
            return
        assert set(model.thresholds_) == set(kinds)
        share = np.array([sum(y[row] for row in range(60) if groups[row] == kind) for kind in kinds])
        mean = sum(model.thresholds_[kind] * n for kind, n in zip(kinds, share, strict=True)) / share.sum()
        assert np.isclose(model.intercept_[0], -mean, atol=1e-9)

    def test_a_group_of_one_class_takes_no_part(self, estimator: Any) -> None:
        if isinstance(estimator, AATP):
            pytest.skip("AATP takes its quantile over one list")
        extra = np.vstack([X, 100 + X[:5]])
        labels = np.append(y, np.ones(5, dtype=int))
        groups = np.append(np.arange(60) % 2, np.full(5, 9))
        with_it = clone(estimator).fit(extra, labels, groups=groups)
        if not isinstance(estimator, (*CUT, Reranker)):
            assert set(with_it.thresholds_) == {0, 1}
        if getattr(estimator, "kernel", None) is None:
            without = clone(estimator).fit(X, y, groups=groups[:60])
            both = [learnt(model) for model in (with_it, without)]
            assert np.allclose(*both, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize(
        ("parameter", "value", "error"),
        [
            ("C", 0.0, ValueError),
            ("C", -1.0, ValueError),
            ("C", np.inf, ValueError),
            ("C", np.nan, ValueError),
            ("C", "1", TypeError),
            ("C", True, TypeError),
            ("tol", 0.0, ValueError),
            ("tol", None, TypeError),
            ("max_iter", 0, ValueError),
            ("max_iter", 2.5, TypeError),
            ("verbose", -1, ValueError),
            ("warm_start", "yes", TypeError),
            ("solver", "magic", ValueError),
            ("solver", 3, TypeError),
            ("loss", "hnge", ValueError),
            ("k", 0, ValueError),
            ("tau", 0.0, ValueError),
            ("tau", 1.5, ValueError),
            ("tau", "automatic", (ValueError, TypeError)),
            ("theta", 0.0, ValueError),
            ("kernel", "rbff", ValueError),
            ("statistic", "ndgc", ValueError),
            ("statistic", [3.0, 2.0, 1.0], ValueError),
            ("statistic", object(), TypeError),
            ("l0", -1.0, ValueError),
            ("l0", None, TypeError),
            ("margin", 0.0, ValueError),
            ("method", "simplex", ValueError),
            ("formulation", "ranks", ValueError),
            ("pairs", "all", ValueError),
            ("pairs", np.ones(3), ValueError),
            ("pairs", np.eye(60), ValueError),
            ("pairs", -np.ones((60, 60)), ValueError),
            ("pairs", [(0, 60)], ValueError),
            ("pairs", [("a", "b")], TypeError),
            ("time_limit", 0.0, ValueError),
            ("max_nodes", 0, ValueError),
            ("gap_tol", -0.1, ValueError),
            ("gap_tol", None, TypeError),
            ("n_starts", 0, ValueError),
            ("max_memory", 0.0, ValueError),
            ("n_jobs", -2, ValueError),
            ("big_m", "huge", ValueError),
            ("start", [1.0], ValueError),
            ("start", [np.nan] * 4, ValueError),
            ("callback", 3, TypeError),
            ("top", 0, ValueError),
            ("top", 1.5, ValueError),
            ("top", "ten", TypeError),
            ("top", True, TypeError),
            ("add_score", 1, TypeError),
            ("base", None, TypeError),
            ("reranker", 3, TypeError),
        ],
    )
    def test_wrong_parameters_are_named(self, estimator: Any, parameter: str, value: Any, error: Any) -> None:
        if parameter not in estimator.get_params():
            pytest.skip(f"has no {parameter}")
        with pytest.raises(error, match=parameter):
            estimator.set_params(**{parameter: value}).fit(X, y)
        assert not [name for name in vars(estimator) if name.endswith("_")]


class TestState:
    def test_not_fitted(self, estimator: Any) -> None:
        for method in (estimator.decision_function, estimator.predict, estimator.rank):
            with pytest.raises(NotFittedError):
                method(X)

    def test_an_interrupted_fit_leaves_the_last_valid_state(
        self, estimator: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

        def attempt(model: Any, data: Any) -> None:
            with monkeypatch.context() as patch:
                if hasattr(model, "_solve"):
                    patch.setattr(type(model), "_solve", interrupt)
                patch.setattr(exact, "search", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    model.fit(data, y, groups=np.arange(60) % 2)

        fresh = clone(estimator)
        attempt(fresh, X)
        assert not [name for name in vars(fresh) if name.endswith("_")]
        model = estimator.fit(X, y)
        before, scores = dict(vars(model)), model.decision_function(X)
        attempt(model, X[:, :2])
        assert vars(model) == before
        assert np.array_equal(model.decision_function(X), scores)

    def test_a_warning_raised_as_an_error_leaves_a_valid_model(self, estimator: Any) -> None:
        if isinstance(estimator, Reranker):
            pytest.skip("has no warning of its own here: its parts give theirs")
        if "tol" in estimator.get_params():
            estimator.set_params(max_iter=1, tol=1e-15)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            with suppress(ConvergenceWarning):
                estimator.fit(X, y)
        assert np.all(np.isfinite(estimator.decision_function(X)))

    def test_a_refit_forgets_the_names_of_the_last_fit(self, estimator: Any) -> None:
        import pandas as pd

        estimator.fit(pd.DataFrame(X, columns=list("abcd")), y)
        estimator.fit(X, y)
        assert not hasattr(estimator, "feature_names_in_")

    def test_progress_goes_to_the_log(self, estimator: Any, caplog: pytest.LogCaptureFixture) -> None:
        if "verbose" not in estimator.get_params():
            pytest.skip("has no verbose")
        with caplog.at_level(logging.INFO, logger="shortlist"):
            estimator.set_params(verbose=1).fit(X, y)
        assert type(estimator).__name__ in caplog.text

    def test_warm_start(self, estimator: Any) -> None:
        if "warm_start" not in estimator.get_params():
            pytest.skip("has no warm start")
        if isinstance(estimator, ExactRanker):
            first = objective_of(estimator.set_params(warm_start=True).fit(X, y))
            assert objective_of(estimator.fit(X, y)) >= first
            estimator.fit(X[:, :2], y)
            return
        cold = clone(estimator).set_params(C=12.0, tol=1e-7).fit(X, y)
        model = estimator.set_params(warm_start=True, C=10.0, tol=1e-7).fit(X, y)
        model.set_params(C=12.0).fit(X, y)
        assert np.isclose(model.certificate_.primal, cold.certificate_.primal, rtol=1e-6)
        model.fit(X[:50], y[:50])
        model.fit(X[:, :2], y)
        assert model.certificate_.converged


def test_predictions_refuse_other_widths() -> None:
    model = TopPush().fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.rank(X[:, :2])
