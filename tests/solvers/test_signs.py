"""Sign constraints: projections, weights of planes over the cone, and both solvers against a conic one."""

from __future__ import annotations

import doctest
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from shortlist.risks.pairwise import PairwiseRisk
from shortlist.solvers import signs as module
from shortlist.solvers.bundle import solve_bundle
from shortlist.solvers.newton import solve_newton
from shortlist.solvers.signs import Signs
from tests.oracle.pairwise import pairwise_optimum


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def data(seed: int = 0, n: int = 24, d: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ np.array([1.0, -1.0, 0.5, -0.5, 0.0]) + rng.normal(size=n) > 0).astype(float)


@pytest.mark.parametrize("seed", range(12))
def test_weights_of_planes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    slopes, heights = rng.normal(size=(k, d)), rng.normal(size=k)
    signs = rng.integers(-1, 2, d)
    alpha = Signs(signs).best_weights(slopes, heights, np.full(k, 1 / k), 1e-12)
    # min over u in the cone of max_k (slope.u + height) + 1/2 |u|^2
    u, level = cp.Variable(d), cp.Variable()
    problem = cp.Problem(
        cp.Minimize(level + cp.sum_squares(u) / 2), [slopes @ u + heights <= level, cp.multiply(signs, u) >= 0]
    )
    problem.solve(solver=cp.CLARABEL)
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(1.0)
    lowest = Signs(signs).nearest(-(alpha @ slopes))
    assert alpha @ heights - lowest @ lowest / 2 == pytest.approx(problem.value, abs=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("signs", [[1] * 5, [-1, 1, 0, 0, 0], [0, 0, 0, -1, 1], [-1, 1, -1, 1, 1]], ids=str)
@pytest.mark.parametrize("C", [1.0, 300.0])
def test_the_optimum_is_the_oracles(loss: str, signs: list[int], C: float) -> None:
    X, y = data()
    value, w = pairwise_optimum(X, y, C, loss, signs=signs)
    risk = PairwiseRisk.from_labels(y, loss)
    for solve in (solve_newton, solve_bundle) if risk.smooth else (solve_bundle,):
        found = solve(X, risk, C, tol=1e-7, signs=np.array(signs))
        assert found.certificate.converged
        assert found.certificate.bound <= value * (1 + 1e-8)
        assert found.certificate.primal == pytest.approx(value, rel=1e-6)
        assert (found.coef * signs >= 0).all()
        np.testing.assert_allclose(found.coef, w, atol=5e-3 * max(float(np.abs(w).max()), 1e-2))


@pytest.mark.parametrize("solve", [solve_newton, solve_bundle])
def test_a_start_outside_is_projected(solve: Any) -> None:
    X, y = data(1)
    risk = PairwiseRisk.from_labels(y, "squared_hinge")
    signs = np.array([1, 1, 1, 0, 0])
    cold = solve(X, risk, 10.0, tol=1e-8, signs=signs)
    warm = solve(X, risk, 10.0, tol=1e-8, signs=signs, start=cold.coef - np.array([0, 0.01, 0, 0, 0]))
    assert (warm.coef * signs >= 0).all()
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)
    hopeless = solve(X, risk, 10.0, tol=1e-8, signs=signs, start=-np.full(5, 100.0))
    assert hopeless.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("solve", [solve_newton, solve_bundle])
def test_signs_that_forbid_all_leave_zero(solve: Any) -> None:
    X, y = data(2)
    X = np.abs(X) * np.where(y == 1, 1.0, 0.1)[:, None]
    found = solve(X, PairwiseRisk.from_labels(y, "squared_hinge"), 10.0, signs=-np.ones(5))
    assert not found.coef.any()
    assert found.certificate.converged
    assert found.certificate.bound == pytest.approx(10.0)
