"""Every ranker of real relevance: hostile input, at home in scikit-learn, and twins that must agree."""

from __future__ import annotations

import logging
import pickle
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning
from tests.common.estimators import REGRESSORS, name_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * RNG.normal(size=60) + 5
GROUPS = np.array(["a", "b", "c"])[np.arange(60) % 3]


@pytest.fixture(params=REGRESSORS, ids=name_of)
def estimator(request: pytest.FixtureRequest) -> Any:
    return clone(request.param)


def with_value(value: float) -> Any:
    changed = X.copy()
    changed[3, 1] = value
    return changed


def grid_of(estimator: Any) -> dict[str, list[Any]]:
    """Values for what weighs risk against penalty."""
    known = estimator.get_params()
    grids: dict[str, list[Any]] = {"C": [0.1, 10.0], "lam": [0.1, 10.0], "Cs": [[0.1], [10.0]], "lams": [[0.1], [10.0]]}
    return next({name: values} for name, values in grids.items() if name in known)


def has_kernel(estimator: Any) -> bool:
    known = estimator.get_params()
    return known.get("kernel") is not None or known.get("kernels") is not None or bool({"v", "vs"} & set(known))


class TestHostileInput:
    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"X": with_value(np.nan)}, ValueError, "NaN"),
            ({"X": with_value(np.inf)}, ValueError, "infinity"),
            ({"X": with_value(1e300)}, ValueError, r"1e\+300.*Scale the features"),
            ({"X": X[:0], "y": y[:0]}, ValueError, "0 sample"),
            ({"X": X[:1], "y": y[:1]}, ValueError, "nothing to rank.*1 sample"),
            ({"X": X[:, :0]}, ValueError, "0 feature"),
            ({"X": X.astype(complex)}, ValueError, "[Cc]omplex"),
            ({"X": X[:-1]}, ValueError, "inconsistent numbers of samples"),
            ({"y": np.where(y > 5, np.nan, y)}, ValueError, "NaN"),
            ({"y": np.where(y > 5, np.inf, y)}, ValueError, "infinity"),
            ({"y": np.where(y > 5, 1e300, y)}, ValueError, r"y holds a value of size 1e\+300.*Rescale y"),
            ({"y": None}, ValueError, "requires y"),
            ({"y": np.where(y > 5, "good", "bad")}, ValueError, "real numbers.*encode grades|could not convert"),
            ({"y": y + 1j}, ValueError, "real numbers|Complex"),
            ({"y": sparse.csr_array(y[:, None])}, (TypeError, ValueError), "sparse|Sparse"),
            ({"groups": np.arange(59)}, ValueError, "each of the 60 rows, got 59"),
            ({"groups": np.arange(60)}, ValueError, "nothing to rank.*two rows"),
            ({"groups": 7}, TypeError, "one id for each row"),
            ({"groups": [None, *range(59)]}, ValueError, "no id in row 0"),
            ({"sample_weight": -np.ones(60)}, ValueError, "must not be negative, got -1 in row 0"),
            ({"sample_weight": np.zeros(60)}, ValueError, "zero"),
            ({"sample_weight": np.eye(60)[0]}, ValueError, "nothing to rank.*two rows of positive weight"),
            ({"sample_weight": np.ones(59)}, ValueError, "each of the 60 rows"),
            ({"sample_weight": np.full(60, np.nan)}, ValueError, "NaN"),
        ],
    )
    def test_refused_with_a_reason(self, estimator: Any, changes: Any, error: Any, words: str) -> None:
        arguments = {"X": X, "y": y, **changes}
        with pytest.raises(error, match=words):
            estimator.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
        assert not [name for name in vars(estimator) if name.endswith("_")]

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(np.hstack([X, np.zeros((60, 2))]), id="zero columns"),
            pytest.param(np.hstack([X, np.ones((60, 1))]), id="constant column"),
            pytest.param(np.vstack([X[:30], X[:30]]), id="rows with two values of y"),
            pytest.param(sparse.csr_array(np.where(np.abs(X) > 1.5, X, 0)), id="empty sparse rows"),
            pytest.param(X * 1e-6, id="tiny"),
            pytest.param(X * 1e6, id="huge"),
        ],
    )
    def test_defined_answer(self, estimator: Any, data: Any) -> None:
        model = estimator.fit(data, y)
        assert np.all(np.isfinite(model.predict(data)))
        certificate = model.certificate_
        assert certificate.primal >= certificate.bound
        assert sorted(model.rank(data)) == list(range(60))

    def test_nothing_to_learn_says_so(self, estimator: Any) -> None:
        with pytest.warns(DegenerateOptimumWarning, match="ranks nothing"):
            model = estimator.fit(X, np.full(60, 0.1))
        assert not model.coef_.any()
        assert np.allclose(model.predict(X), 0.1)
        assert np.array_equal(model.rank(X), np.arange(60))
        if not has_kernel(model):
            with pytest.warns(DegenerateOptimumWarning, match="ranks nothing"):
                model.fit(np.zeros((60, 3)), y)

    def test_booleans_and_whole_numbers_are_numbers(self, estimator: Any) -> None:
        as_numbers = clone(estimator).fit(X, (y > 5).astype(float)).predict(X)
        assert np.allclose(clone(estimator).fit(X, y > 5).predict(X), as_numbers)
        assert np.allclose(estimator.fit(X, (y > 5).astype(int)).predict(X), as_numbers)

    @pytest.mark.parametrize(
        ("parameter", "value", "error"),
        [
            ("C", 0.0, ValueError),
            ("C", np.nan, ValueError),
            ("C", "1", TypeError),
            ("C", True, TypeError),
            ("lam", 0.0, ValueError),
            ("lam", 1e-320, ValueError),
            ("lam", None, TypeError),
            ("v", [1.0], ValueError),
            ("v", [1.0, 0.0], ValueError),
            ("v", ["a", "b"], TypeError),
            ("scales", (), ValueError),
            ("kernels", [], ValueError),
            ("tol", 0.0, ValueError),
            ("tol", None, TypeError),
            ("max_iter", 0, ValueError),
            ("max_iter", 2.5, TypeError),
            ("verbose", -1, ValueError),
            ("warm_start", "yes", TypeError),
            ("solver", "magic", ValueError),
            ("kernel", "rbff", ValueError),
            ("max_memory", 0.0, ValueError),
            ("Cs", [], ValueError),
            ("Cs", ["a"], TypeError),
            ("lams", [0.0], ValueError),
            ("vs", [-1.0], ValueError),
            ("n_scales", 0, ValueError),
            ("method", "bootstrap", ValueError),
            ("kernels", "rbf", (ValueError, TypeError)),
            ("epsilon", -1.0, ValueError),
            ("order", 3, ValueError),
            ("cost", "mpp", ValueError),
            ("eta", 0.0, ValueError),
            ("eta", "fast", TypeError),
            ("batch_size", 0, ValueError),
        ],
    )
    def test_wrong_parameters_are_named(self, estimator: Any, parameter: str, value: Any, error: Any) -> None:
        if parameter not in estimator.get_params():
            pytest.skip(f"has no {parameter}")
        with pytest.raises(error, match=parameter):
            estimator.set_params(**{parameter: value}).fit(X, y)
        assert not [name for name in vars(estimator) if name.endswith("_")]


class TestTwins:
    """Problems that are one and the same: the objective agrees, up to what the certificates leave open."""

    @staticmethod
    def objective(estimator: Any, *arguments: Any, **keywords: Any) -> tuple[float, float]:
        certificate = clone(estimator).fit(*arguments, **keywords).certificate_
        return certificate.primal, certificate.gap + 1e-9 * certificate.primal

    def agree(self, one: tuple[float, float], other: tuple[float, float]) -> None:
        assert abs(one[0] - other[0]) <= max(one[1], other[1])

    def test_row_order(self, estimator: Any) -> None:
        order = np.random.default_rng(1).permutation(60)
        plain, mixed = clone(estimator).fit(X, y), clone(estimator).fit(X[order], y[order])
        assert np.allclose(plain.predict(X), mixed.predict(X), atol=1e-6)
        by_group = self.objective(estimator, X, y, groups=GROUPS)
        self.agree(by_group, self.objective(estimator, X[order], y[order], groups=GROUPS[order]))

    def test_weights_and_repetition(self, estimator: Any) -> None:
        times = np.arange(60) % 3
        again = np.repeat(np.arange(60), times)
        weighted = clone(estimator).fit(X, y, sample_weight=times, groups=GROUPS)
        repeated = clone(estimator).fit(X[again], y[again], groups=GROUPS[again])
        assert np.allclose(weighted.predict(X), repeated.predict(X), atol=1e-9)

    def test_one_group_and_none(self, estimator: Any) -> None:
        self.agree(self.objective(estimator, X, y), self.objective(estimator, X, y, groups=[("all", 1)] * 60))

    def test_levels_of_groups_do_not_matter(self, estimator: Any) -> None:
        lifted = y + 100 * (GROUPS == "b")
        plain, up = (clone(estimator).fit(X, target, groups=GROUPS) for target in (y, lifted))
        slack = max(plain.certificate_.gap, up.certificate_.gap) + 1e-3 * plain.certificate_.primal
        assert abs(up.certificate_.primal - plain.certificate_.primal) <= slack

    def test_sparse_and_dense(self, estimator: Any) -> None:
        kept = np.where(np.abs(X) > 0.5, X, 0)
        for container in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
            self.agree(self.objective(estimator, kept, y), self.objective(estimator, container(kept), y))

    def test_single_and_double(self, estimator: Any) -> None:
        single = clone(estimator).fit(X.astype(np.float32), y)
        assert single.coef_.dtype == np.float32
        assert single.predict(X.astype(np.float32)).dtype == np.float32
        double = clone(estimator).fit(X, y)
        assert single.certificate_.primal == pytest.approx(double.certificate_.primal, rel=1e-3)

    def test_a_row_of_weight_zero_does_not_exist(self, estimator: Any) -> None:
        weight = np.append(np.ones(60), 0.0)
        with_it = clone(estimator).fit(np.vstack([X, [[9.0, 9, 9, 9]]]), np.append(y, 1e6), sample_weight=weight)
        assert np.allclose(with_it.predict(X), clone(estimator).fit(X, y).predict(X), atol=1e-7)

    def test_several_targets_are_several_models(self, estimator: Any) -> None:
        if not estimator.__sklearn_tags__().target_tags.multi_output:
            with pytest.raises(ValueError, match="1d array"):
                estimator.fit(X, np.column_stack([y, -y]))
            return
        both = precise(estimator).fit(X, np.column_stack([y, X[:, 0] ** 2]))
        assert both.predict(X).shape == (60, 2)
        assert both.n_targets_ == 2
        # What is chosen by hold-out errors is chosen for all targets.
        chosen = hasattr(both, "best_error_")
        for column, target in enumerate(() if chosen else (y, X[:, 0] ** 2)):
            alone = precise(estimator).fit(X, target)
            assert np.allclose(both.predict(X)[:, column], alone.predict(X), atol=1e-4)
        with pytest.raises(ValueError, match="2 targets"):
            both.rank(X)
        column = precise(estimator).fit(X, y[:, None])
        assert column.predict(X).shape == (60, 1)
        assert sorted(column.rank(X)) == list(range(60))


def precise(estimator: Any) -> Any:
    """Twins of quadratic problems agree to the last digits, those of cutting planes to some."""
    return clone(estimator).set_params(tol=1e-6 if "epsilon" in estimator.get_params() else 1e-12)


class TestState:
    def test_not_fitted(self, estimator: Any) -> None:
        for method in (estimator.predict, estimator.rank):
            with pytest.raises(NotFittedError):
                method(X)

    def test_an_interrupted_fit_leaves_the_last_valid_state(
        self, estimator: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

        model = estimator.fit(X, y)
        before, scores = dict(vars(model)), model.predict(X)
        with monkeypatch.context() as patch:
            # What every fit does last: keep its answer.
            patch.setattr(type(model), "_keep", interrupt)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X[:, :2], y)
        assert vars(model) == before
        assert np.array_equal(model.predict(X), scores)

    def test_a_warning_raised_as_an_error_leaves_a_valid_model(self, estimator: Any) -> None:
        estimator.set_params(tol=1e-30, **({"max_iter": 1} if "max_iter" in estimator.get_params() else {}))
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            with suppress(ConvergenceWarning):
                estimator.fit(X, y)
        assert np.all(np.isfinite(estimator.predict(X)))

    def test_progress_goes_to_the_log(self, estimator: Any, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="shortlist"):
            estimator.set_params(verbose=1).fit(X, y)
        assert type(estimator).__name__ in caplog.text

    def test_warm_start(self, estimator: Any) -> None:
        if "warm_start" not in estimator.get_params():
            pytest.skip("has no warm start")
        name = next(iter(grid_of(estimator)))
        cold = clone(estimator).set_params(**{name: 1.2}).fit(X, y)
        model = estimator.set_params(warm_start=True, **{name: 1.0}).fit(X, y)
        model.set_params(**{name: 1.2}).fit(X, y)
        slack = 2 * max(cold.certificate_.gap, model.certificate_.gap) + 1e-9
        assert abs(model.certificate_.primal - cold.certificate_.primal) <= slack
        model.fit(X[:50], y[:50])
        model.fit(X[:, :2], y)
        assert np.all(np.isfinite(model.predict(X[:, :2])))


class TestNeighbours:
    def test_a_grid_search(self, estimator: Any) -> None:
        search = GridSearchCV(estimator, grid_of(estimator), cv=3, error_score="raise").fit(X, y)
        assert search.best_estimator_.rank(X).shape == y.shape
        assert search.best_score_ > 0.3 or estimator.__sklearn_tags__().regressor_tags.poor_score

    def test_cross_validation_with_routed_groups_and_weights(self, estimator: Any) -> None:
        with config_context(enable_metadata_routing=True):
            estimator.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=False)
            result = cross_validate(
                estimator,
                X,
                y,
                params={"groups": GROUPS, "sample_weight": np.ones(60)},
                cv=GroupKFold(3),
                error_score="raise",
            )
        assert len(result["test_score"]) == 3

    def test_pipelines_frames_and_pickles(self, estimator: Any) -> None:
        plain = clone(estimator).fit(X, y)
        for frame, target in (
            (pd.DataFrame(X, columns=list("abcd")), pd.Series(y)),
            (pl.DataFrame(X, schema=list("abcd")), pl.Series(y)),
        ):
            model = clone(estimator).fit(frame, target, groups=None)
            assert list(model.feature_names_in_) == list("abcd")
            assert np.allclose(model.predict(frame), plain.predict(X))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(pd.DataFrame(X, columns=list("dcba")))
        assert make_pipeline(MinMaxScaler(), clone(estimator)).fit(X, y).predict(X).shape == y.shape
        again = pickle.loads(pickle.dumps(plain))
        assert np.array_equal(again.predict(X), plain.predict(X))
        assert again.certificate_ == plain.certificate_

    def test_rank_by_group(self, estimator: Any) -> None:
        model = estimator.fit(X, y, groups=GROUPS)
        order = model.rank(X, groups=GROUPS)
        assert "".join(GROUPS[order]) == "a" * 20 + "b" * 20 + "c" * 20
        assert np.all(np.diff(model.predict(X)[order[:20]]) <= 0)
