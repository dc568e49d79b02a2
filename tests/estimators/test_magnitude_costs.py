"""SVRank and MagnitudeRanker: the paper's problems in its parameters, the ways between them, what they say."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from shortlist import MagnitudeRanker, MPRank, SVRank
from shortlist.estimators import magnitude_costs
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.metrics.magnitude import mean_absolute_difference
from tests.oracle.magnitude_costs import magnitude_optimum


def test_examples() -> None:
    assert doctest.testmod(magnitude_costs).failed == 0


def draw(m: int = 20, d: int = 3, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, size=m)
    return X, y, rng.integers(0, 2, m), rng.integers(0, 3, m).astype(float)


class TestThePapersProblems:
    @pytest.mark.parametrize("order", [1, 2])
    @pytest.mark.parametrize("extra", [False, True], ids=["plain", "groups and weights"])
    def test_svrank(self, order: int, extra: bool) -> None:
        # F = ||w||^2 + C_paper * mean, so 1/2 F has C = C_paper / 2.
        X, y, groups, weights = draw()
        keywords = {"groups": groups, "sample_weight": weights} if extra else {}
        value, w = magnitude_optimum(
            X, y, 6.0, "svr", order, epsilon=0.2, groups=keywords.get("groups"), weights=keywords.get("sample_weight")
        )
        model = SVRank(C=6.0, epsilon=0.2, order=order, tol=1e-8).fit(X, y, **keywords)
        assert model.certificate_.converged
        assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
        assert np.allclose(model.coef_[0], w, atol=1e-3)

    @pytest.mark.parametrize(
        ("cost", "order", "one_sided"),
        [("mp", 1, "closure"), ("mp", 2, "closure"), ("svr", 1, "closure"), ("hmp", 1, "hinge"), ("hmp", 2, "hinge")],
    )
    def test_every_cost(self, cost: str, order: int, one_sided: str) -> None:
        X, y, groups, weights = draw(seed=1)
        value, w = magnitude_optimum(
            X, y, 6.0, cost, order, epsilon=0.1, one_sided=one_sided, groups=groups, weights=weights
        )
        model = MagnitudeRanker(C=6.0, cost=cost, order=order, one_sided=one_sided, tol=1e-8)
        model.fit(X, y, groups=groups, sample_weight=weights)
        assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
        assert np.allclose(model.coef_[0], w, atol=1e-3)

    def test_a_kernel_is_its_feature_map(self) -> None:
        X, y, _, _ = draw()
        model = SVRank(C=20.0, kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        root = np.linalg.cholesky(K + 1e-12 * np.eye(20))
        value, _ = magnitude_optimum(root, y, 20.0, "svr", 1, epsilon=0.1)
        assert model.certificate_.primal == pytest.approx(value, rel=1e-5)
        assert np.allclose(SVRank(C=20.0, kernel="linear").fit(X, y).coef_, SVRank(C=20.0).fit(X, y).coef_)


class TestFamily:
    @pytest.mark.parametrize("solver", ["newton", "bundle"])
    def test_mp_of_order_two_is_mprank(self, solver: str) -> None:
        X, y, groups, weights = draw(60)
        for keywords in ({}, {"groups": groups, "sample_weight": weights}):
            model = MagnitudeRanker(C=3.0, order=2, solver=solver, tol=1e-12).fit(X, y, **keywords)
            system = MPRank(C=3.0).fit(X, y, **keywords)
            assert np.allclose(model.coef_, system.coef_, atol=1e-6)
            assert np.allclose(model.predict(X), system.predict(X), atol=1e-6)
            assert model.certificate_.primal == pytest.approx(system.certificate_.primal, rel=1e-9)

    def test_svr_is_svrank_and_without_a_tube_mp(self) -> None:
        X, y, _, _ = draw(40)
        named = SVRank(C=5.0, epsilon=0.3).fit(X, y)
        assert np.array_equal(named.coef_, MagnitudeRanker(C=5.0, cost="svr", epsilon=0.3).fit(X, y).coef_)
        bare = SVRank(C=5.0, epsilon=0.0).fit(X, y)
        assert np.array_equal(bare.coef_, MagnitudeRanker(C=5.0, epsilon=9.0).fit(X, y).coef_)
        assert MagnitudeRanker(epsilon=9.0).fit(X, y).objective_.epsilon == 0

    @pytest.mark.parametrize("cost", ["svr", "mp", "hmp"])
    def test_both_solvers_reach_one_optimum(self, cost: str) -> None:
        X, y, _, _ = draw(60)
        model = MagnitudeRanker(C=50.0, cost=cost, order=2, one_sided="hinge", tol=1e-9)
        newton, bundle = (clone(model).set_params(solver=name).fit(X, y) for name in ("newton", "bundle"))
        assert newton.certificate_.primal == pytest.approx(bundle.certificate_.primal, rel=1e-8)
        assert np.array_equal(clone(model).fit(X, y).coef_, newton.coef_)

    def test_order_one_shrugs_at_outliers(self) -> None:
        rng = np.random.default_rng(3)
        X = rng.normal(size=(200, 2))
        y = X[:, 0] + 0.1 * rng.normal(size=200)
        wild = y + 100 * (np.arange(200) < 10)
        one, two = (MagnitudeRanker(C=100.0, order=order).fit(X, wild).coef_[0] for order in (1, 2))
        assert np.abs(one - [1, 0]).max() < 0.1 < np.abs(two - [1, 0]).max()

    def test_the_objective_is_what_the_metrics_measure(self) -> None:
        X, y, _, _ = draw(40)
        model = MagnitudeRanker(C=5.0).fit(X, y)
        w, measured = model.coef_[0], mean_absolute_difference(y, model.predict(X))
        assert model.certificate_.primal == pytest.approx(w @ w / 2 + 5.0 * measured)


class TestWhatIsSaid:
    @pytest.mark.parametrize(("cost", "order"), [("hr", 1), ("hr", 2), ("hmp", 1), ("hmp", 2)])
    def test_costs_that_equal_scores_do_not_pay_rank_nothing(self, cost: str, order: int) -> None:
        X, y, _, _ = draw()
        model = MagnitudeRanker(C=1e6, cost=cost, order=order)
        with pytest.warns(DegenerateOptimumWarning, match="one_sided='hinge'"):
            model.fit(X, y)
        assert not model.coef_.any()
        assert model.certificate_.converged
        assert model.__sklearn_tags__().regressor_tags.poor_score

    def test_constant_labels_have_the_common_advice(self) -> None:
        X, _, _, _ = draw()
        with pytest.warns(DegenerateOptimumWarning, match="y is constant"):
            MagnitudeRanker(order=2).fit(X, np.ones(20))

    def test_newton_needs_a_smooth_cost(self) -> None:
        X, y, _, _ = draw()
        with pytest.raises(ValueError, match="'svr' of order 1 has kinks: take solver='bundle', or order=2"):
            SVRank(solver="newton").fit(X, y)

    @pytest.mark.parametrize("order", [0, 1.5, True, "1"])
    def test_order(self, order: Any) -> None:
        X, y, _, _ = draw()
        with pytest.raises(ValueError, match="order must be 1 or 2"):
            SVRank(order=order).fit(X, y)
        with pytest.raises(ValueError, match="one_sided"):
            MagnitudeRanker(one_sided="both").fit(X, y)

    def test_one_target_only(self) -> None:
        X, y, _, _ = draw()
        with pytest.raises(ValueError, match="1d array"):
            SVRank().fit(X, np.column_stack([y, y]))
