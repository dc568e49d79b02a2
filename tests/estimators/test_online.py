"""OnlineMPRank and SGDRank as estimators: rows added bit by bit, warnings, seeds."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist import MPRank, OnlineMPRank, SGDRank, certify
from shortlist.estimators import online
from shortlist.exceptions import ConvergenceWarning


def test_examples() -> None:
    assert doctest.testmod(online).failed == 0


RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
y = X @ [1.0, -1.0, 0.5] + 0.2 * RNG.normal(size=80)
GROUPS = np.array(["a", "b"])[RNG.integers(0, 2, 80)]
WEIGHTS = RNG.integers(0, 3, 80).astype(float)
WEIGHTS[20] = 2.0


def in_parts(model: Any, data: Any = X, target: Any = y, **arguments: Any) -> Any:
    for first, last in ((0, 20), (20, 21), (21, 60), (60, 80)):
        part = {name: value[first:last] for name, value in arguments.items()}
        model.partial_fit(data[first:last], target[first:last], **part)
    return model


class TestPartialFit:
    @pytest.mark.parametrize(
        "arguments", [{}, {"groups": GROUPS}, {"groups": GROUPS, "sample_weight": WEIGHTS}], ids=lambda a: "+".join(a)
    )
    def test_all_rows_seen_make_the_model(self, arguments: Any) -> None:
        model = in_parts(OnlineMPRank(C=3.0, tol=1e-13), **arguments)
        batch = MPRank(C=3.0).fit(X, y, **arguments)
        assert np.allclose(model.predict(X), batch.predict(X), atol=1e-5)
        assert model.n_samples_seen_ == 80
        assert certify(model, X, y, **arguments).relative_gap < 1e-9

    def test_it_begins_where_it_was(self) -> None:
        model = OnlineMPRank(C=30.0, tol=1e-8).partial_fit(X[:79], y[:79])
        rounds = model.n_iter_
        assert model.partial_fit(X[79:], y[79:]).n_iter_ < rounds

    def test_sparse_parts_and_several_targets(self) -> None:
        both = np.column_stack([y, -y])
        model = in_parts(OnlineMPRank(tol=1e-12), sparse.csr_array(X), both)
        assert np.allclose(model.predict(X), MPRank().fit(X, both).predict(X), atol=1e-5)
        dense_then = OnlineMPRank(tol=1e-12).partial_fit(sparse.csr_array(X[:40]), y[:40]).partial_fit(X[40:], y[40:])
        assert np.allclose(dense_then.predict(X), model.predict(X)[:, 0], atol=1e-5)
        sparse_then = OnlineMPRank(tol=1e-12).partial_fit(X[:40], y[:40]).partial_fit(sparse.csr_array(X[40:]), y[40:])
        assert np.allclose(sparse_then.predict(X), model.predict(X)[:, 0], atol=1e-5)

    def test_a_kernel_compares_with_the_first_rows(self) -> None:
        model = in_parts(OnlineMPRank(C=10.0, kernel="rbf", gamma=0.5, random_state=0))
        assert len(model.feature_map_.landmarks_) == 20
        assert model.score(X, y) > 0.7

    def test_fit_starts_anew(self) -> None:
        model = in_parts(OnlineMPRank())
        alone = OnlineMPRank().fit(X[:30], y[:30])
        assert np.array_equal(model.fit(X[:30], y[:30]).coef_, alone.coef_)
        assert model.partial_fit(X[:20], y[:20]).n_samples_seen_ == 20

    def test_a_refused_part_changes_nothing(self) -> None:
        model = OnlineMPRank().partial_fit(X[:40], y[:40], groups=GROUPS[:40])
        before = dict(vars(model))
        for arguments, words in (
            ((X[40:, :2], y[40:]), "2 features"),
            ((X[40:], np.column_stack([y, y])[40:]), "2 targets"),
            ((X[40:], y[40:]), "began with groups"),
            ((X[40:], np.full(40, np.nan)), "NaN"),
        ):
            groups = None if "groups" in words else GROUPS[40:]
            with pytest.raises(ValueError, match=words):
                model.partial_fit(*arguments, groups=groups)
        with pytest.raises(ValueError, match="began without sample_weight"):
            model.partial_fit(X[40:], y[40:], groups=GROUPS[40:], sample_weight=WEIGHTS[40:])
        assert vars(model) == before

    def test_what_the_first_call_needs(self) -> None:
        with pytest.raises(ValueError, match="nothing to rank"):
            OnlineMPRank().partial_fit(X[:1], y[:1])
        with pytest.raises(ValueError, match="partial_fit needs rows"):
            OnlineMPRank(kernel="precomputed").partial_fit(X @ X.T, y)

    def test_a_warning_of_a_part(self) -> None:
        with pytest.warns(ConvergenceWarning, match="1 rounds before the objective"):
            OnlineMPRank(C=100.0, max_iter=1).partial_fit(X, y)


class TestStops:
    def test_the_gap_is_told_not_warned_of(self, recwarn: pytest.WarningsRecorder) -> None:
        model = OnlineMPRank(C=100.0).fit(X, y)
        assert not recwarn.list
        assert model.certificate_.relative_gap > model.certificate_.tolerance

    def test_a_step_too_long(self) -> None:
        with pytest.raises(ValueError, match="eta=10 is too long a step"):
            OnlineMPRank(eta=10.0).fit(X, y)
        assert OnlineMPRank(eta=0.01).fit(X, y).score(X, y) > 0.9

    def test_seeds(self) -> None:
        one, again, other = (SGDRank(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1))
        assert np.array_equal(one, again)
        assert not np.array_equal(one, other)

    def test_averages_alone(self) -> None:
        with pytest.warns(ConvergenceWarning, match="SGDRank stopped at a relative gap"):
            model = SGDRank(solver="averaged", max_iter=4, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.8
        assert model.n_iter_ == 4
