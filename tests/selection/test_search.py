"""MPRankCV and MLSRRankCV choose what trying everything would choose, and fit what the plain estimators fit."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

from shortlist import LSRRank, MLSRRank, MPRank, certify
from shortlist.selection import MLSRRankCV, MPRankCV, leave_group_out, leave_one_out, leave_pair_out, search


def test_examples() -> None:
    assert doctest.testmod(search).failed == 0


def draw(m: int = 60, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(m, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=m)


CS = [0.1, 10.0, 1000.0]
KERNELS: list[Any] = [None, {"kernel": "rbf", "gamma": 1.0}, {"kernel": "gaussian", "scales": [0.3, 3.0]}]


class TestMPRankCV:
    @pytest.mark.parametrize("method", ["leave_one_out", "leave_pair_out", "paper"])
    def test_the_best_of_all_is_fitted(self, method: str) -> None:
        X, y = draw()
        model = MPRankCV(CS, kernels=KERNELS, method=method, random_state=0).fit(X, y)
        errors = []
        for one in KERNELS:
            settings = one or {}
            if method == "leave_one_out":
                errors.append(leave_one_out(X, y, CS, **settings).errors)
            else:
                which = "exact" if method == "leave_pair_out" else "paper"
                errors.append(leave_pair_out(X, y, CS, method=which, **settings).errors)
        assert np.allclose(model.errors_, errors, rtol=1e-6)
        assert model.best_error_ == pytest.approx(np.min(errors))
        row, column = np.unravel_index(np.argmin(errors), (3, 3))
        assert (model.C_, model.kernel_) == (CS[column], KERNELS[row])
        plain = MPRank(model.C_, **model.kernel_).fit(X, y)
        assert np.allclose(model.predict(X), plain.predict(X), atol=1e-7)
        assert certify(model, X, y).converged

    def test_hold_out_predictions(self) -> None:
        X, y = draw(30)
        model = MPRankCV([5.0]).fit(X, y)
        found = leave_one_out(X, y, 5.0)
        assert found.predictions is not None
        assert np.allclose(model.hold_out_predictions_, found.predictions[0])
        assert MPRankCV([5.0], method="paper").fit(X, y).hold_out_predictions_ is None
        weights = np.append(np.ones(29), 0.0)
        weighted = MPRankCV([5.0]).fit(X, y, sample_weight=weights)
        assert np.array_equal(np.isnan(weighted.hold_out_predictions_), weights == 0)
        targets = MPRankCV([5.0]).fit(X, np.column_stack([y, -y]), sample_weight=weights)
        assert targets.hold_out_predictions_.shape == (30, 2)

    def test_groups_are_left_out_whole(self) -> None:
        X, y = draw()
        groups = np.arange(60) % 5
        model = MPRankCV(CS).fit(X, y + groups, groups=groups)
        assert np.allclose(model.errors_[0], leave_group_out(X, y + groups, groups, CS).errors)
        with pytest.raises(ValueError, match="knows neither groups nor sample_weight"):
            MPRankCV(CS, method="leave_pair_out").fit(X, y, groups=groups)

    def test_equal_rows_do_not_vouch_for_themselves(self) -> None:
        X, y = draw(20)
        twice = MPRankCV(CS, kernels=["rbf"]).fit(np.vstack([X, X]), np.append(y, y))
        once = MPRankCV(CS, kernels=["rbf"]).fit(X, y, sample_weight=np.full(20, 2.0))
        assert np.allclose(twice.errors_, once.errors_)

    def test_many_rows(self) -> None:
        X, y = draw(2100)
        model = MPRankCV(CS, kernels=[None, "rbf"], n_landmarks=40, random_state=0).fit(X, y)
        assert model.kernel_ == {"kernel": "rbf"}
        assert model.certificate_.converged
        assert model.hold_out_predictions_.shape == (2100,)

    @pytest.mark.parametrize("kernels", [[], "rbf", [{"width": 1.0}], ["precomputed"]])
    def test_kernels_that_are_none(self, kernels: Any) -> None:
        with pytest.raises(ValueError, match="kernels"):
            MPRankCV(kernels=kernels).fit(*draw(10))


class TestMLSRRankCV:
    def test_scales_are_added_while_the_error_falls(self) -> None:
        x = np.linspace(0, 6, 80)
        y = x + 0.3 * np.sin(9 * x) + 0.02 * np.random.default_rng(0).normal(size=80)
        model = MLSRRankCV(scales=(0.1, 1.0, 10.0), lams=np.logspace(-6, 0, 13), n_scales=3).fit(x[:, None], y)
        singles = [error for scales, _, error in model.trials_ if len(scales) == 1]
        assert len(singles) == 3
        assert model.best_error_ < min(singles)
        assert model.best_error_ == min(error for _, _, error in model.trials_)
        assert min(model.v_) == 1
        assert len(model.v_) == len(model.scales_) >= 2
        plain = MLSRRank(model.scales_, model.v_, model.lam_).fit(x[:, None], y)
        assert np.allclose(model.predict(x[:, None]), plain.predict(x[:, None]), atol=1e-6)
        assert certify(model, x[:, None], y).converged

    def test_one_scale(self) -> None:
        X, y = draw(40)
        model = MLSRRankCV(scales=[0.5, 2.0], lams=[0.1, 0.001], n_scales=1).fit(X, y)
        assert len(model.scales_) == 1
        plain = LSRRank(model.lam_, kernel="gaussian", scales=model.scales_).fit(X, y)
        assert np.allclose(model.predict(X), plain.predict(X), atol=1e-7)
