"""MPRank, LSRRank, MLSRRank: the papers' problems in the papers' parameters, at every size."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from shortlist import LSRRank, MLSRRank, MPRank
from shortlist.estimators import _regression, magnitude
from shortlist.features import ApproximationWarning, Gaussians, streamed
from shortlist.features.streamed import StreamedFeatures
from tests.oracle.least_squares import all_pairs, block_system


@pytest.mark.parametrize("module", [magnitude, streamed])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def draw(m: int = 40, d: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=m)


class TestThePapersProblems:
    def test_mprank_in_the_parameters_of_its_paper(self) -> None:
        # Equation (11): W = C' (I + C' M M')^-1 M Y with M the centred features as columns and C' = 2 C_paper / m.
        X, y = draw()
        C_paper = 7.0
        M, Y = (X - X.mean(axis=0)).T, y - y.mean()
        share = 2 * C_paper / len(y)
        W = share * np.linalg.solve(np.eye(3) + share * M @ M.T, M @ Y)
        assert np.allclose(MPRank(C=C_paper / 2).fit(X, y).coef_[0], W, atol=1e-12)

    def test_lsrrank_solves_equation_5(self) -> None:
        X, y = draw()
        m, lam, sigma = len(y), 0.02, 0.8
        K = Gaussians([sigma])(X, X)
        D = m * np.eye(m) - np.ones((m, m))
        alpha = np.linalg.solve(D @ K + m**2 / 2 * lam * np.eye(m), D @ y)
        model = LSRRank(lam, kernel="gaussian", scales=[sigma]).fit(X, y)
        scores = model.predict(X) - model.intercept_
        assert np.allclose(scores, K @ alpha, atol=1e-9)
        assert np.allclose(model.dual_coef_[0], alpha, atol=1e-9)
        assert model.objective_.C == 25.0

    @pytest.mark.parametrize(("scales", "v"), [([0.3, 2.0], [1.0, 0.5]), ([0.2, 1.0, 5.0, 20.0], [3.0, 1.0, 2.0, 0.1])])
    def test_mlsrrank_solves_the_block_system(self, scales: Any, v: Any) -> None:
        X, y = draw(30)
        new, _ = draw(10, seed=1)
        alphas = block_system([Gaussians([s])(X, X) for s in scales], v, 0.01, y)
        model = MLSRRank(scales, v, lam=0.01).fit(X, y)
        expected = sum(Gaussians([s])(new, X) @ alpha for s, alpha in zip(scales, alphas, strict=True))
        assert np.allclose(model.predict(new) - model.intercept_, expected, atol=1e-8)
        # The coefficients of kernel t are alpha / v_t, with one alpha for all.
        for penalty, alpha in zip(v, alphas, strict=True):
            assert np.allclose(model.dual_coef_[0] / penalty, alpha, atol=1e-8)

    def test_any_kernels_in_a_sum(self) -> None:
        X, y = draw(30)
        model = MLSRRank(kernels=["linear", "tanimoto"], v=[2.0, 1.0]).fit(np.abs(X), y)
        single = LSRRank(kernel=[("linear", 0.5), ("tanimoto", 1.0)]).fit(np.abs(X), y)
        assert np.allclose(model.predict(np.abs(X)), single.predict(np.abs(X)), atol=1e-9)
        one = MLSRRank(2.0).fit(X, y)
        assert np.allclose(one.predict(X), LSRRank(kernel="gaussian", scales=2.0).fit(X, y).predict(X), atol=1e-9)

    def test_one_group_is_ridge_regression_with_a_free_intercept(self) -> None:
        X, y = draw()
        weight = np.random.default_rng(0).random(40)
        ridge = Ridge(alpha=weight.sum() / (4 * 2.5)).fit(X, y, sample_weight=weight)
        model = MPRank(C=2.5).fit(X, y, sample_weight=weight)
        assert np.allclose(model.coef_[0], ridge.coef_)
        assert model.intercept_[0] == pytest.approx(ridge.intercept_)

    def test_groups_are_compared_within(self) -> None:
        X, y = draw()
        groups = np.arange(40) % 3
        W, value = all_pairs(X, y[:, None], 4.0, groups)
        model = MPRank(C=4.0).fit(X, y + 50 * groups, groups=groups)
        assert np.allclose(model.coef_, W.T, atol=1e-9)
        assert model.certificate_.primal == pytest.approx(value)
        assert model.predict(X).mean() == pytest.approx((y + 50 * groups).mean())


class TestSize:
    def test_a_kernel_matrix_beyond_the_budget_is_refused(self) -> None:
        X, y = draw(50)
        with pytest.raises(ValueError, match=r"50 landmarks takes 2e\+04 bytes.*max_memory=10000.*Set n_landmarks"):
            MPRank(kernel="rbf", n_landmarks="all", max_memory=1e4).fit(X, y)
        with pytest.raises(ValueError, match="max_memory"):
            MPRank(kernel="precomputed", n_landmarks=45, max_memory=1e4).fit(X @ X.T, y)
        assert MPRank(kernel="rbf", n_landmarks=10, max_memory=1e4).fit(X, y).certificate_.converged

    def test_landmarks_of_many_rows_are_streamed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Any] = []
        solve = MPRank._solve

        def spy(self: Any, X: Any, *rest: Any) -> Any:
            seen.append(type(X))
            return solve(self, X, *rest)

        monkeypatch.setattr(MPRank, "_solve", spy)
        X, y = draw(2100)
        weight = np.random.default_rng(0).random(2100)
        model = MPRank(kernel="rbf", n_landmarks=20, random_state=0)
        whole = model.fit(X, y, sample_weight=weight).predict(X)
        monkeypatch.setattr(_regression, "STREAMED_BYTES", 1000)
        assert np.allclose(model.fit(X, y, sample_weight=weight).predict(X), whole, atol=1e-8)
        assert seen == [np.ndarray, StreamedFeatures]

    def test_many_rows_of_a_kernel_take_landmarks_and_say_so(self) -> None:
        X, y = draw(2100)
        with pytest.warns(ApproximationWarning, match="1,000 landmarks"):
            model = MPRank(C=1000.0, kernel="rbf", random_state=0).fit(X, y)
        assert model.certificate_.converged
        assert model.score(X, y) > 0.9
