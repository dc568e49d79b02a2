"""Rows one by one and pairs by chance: the printed loop, the batch optimum, certificates that hold."""

from __future__ import annotations

import doctest
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.solvers import stochastic
from shortlist.solvers.least_squares import solve_least_squares
from shortlist.solvers.pair_problem import PairProblem
from shortlist.solvers.reference import online
from shortlist.solvers.reference.online import solve_online
from shortlist.solvers.stochastic import solve_stochastic


@pytest.mark.parametrize("module", [online, stochastic])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


def draw(m: int = 150, d: int = 5, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, d)) + 2
    y = np.column_stack([Z[:, 0] + rng.normal(size=m), Z[:, 1] ** 2])
    return Z, y, rng.integers(0, 4, m), rng.integers(0, 3, m).astype(float)


def as_printed(K: Any, y: Any, C_paper: float, eta: float, rounds: int) -> Any:
    """Lines 1 to 5 of section 2.5, with the centred kernel matrix."""
    m = len(y)
    H = np.eye(m) - 1 / m
    centred, target, alpha = H @ K @ H, y - y.mean(), np.zeros(m)
    for _ in range(rounds):
        for i in range(m):
            alpha[i] += eta * (2 * (target[i] - alpha @ centred[i]) - m / C_paper * alpha[i])
    return alpha


class TestOnline:
    @pytest.mark.parametrize("block", [1, 7, 64])
    def test_every_update_is_the_printed_one(self, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(online, "BLOCK", block)
        Z, y, _, _ = draw(40)
        C_paper, eta = 6.0, 0.002
        alpha = as_printed(Z @ Z.T, y[:, 0], C_paper, eta, 3)
        found, stopped = solve_online(Z, PairProblem.of(y[:, :1]), C_paper / 2, eta=eta, max_iter=3, tol=1e-9)
        assert not stopped
        assert found.solution.certificate.n_iter == 3
        # w from the printed alpha, with the features centred.
        assert np.allclose(found.solution.coef[0], alpha @ (Z - Z.mean(axis=0)), atol=1e-12)

    @pytest.mark.parametrize("thin", [False, True])
    @pytest.mark.parametrize("grouped", [False, True])
    def test_it_reaches_the_batch_solution(self, grouped: bool, thin: bool) -> None:
        Z, y, groups, weights = draw()
        Z = Z * (np.abs(Z) > 1.5)
        problem = PairProblem.of(y, groups=groups if grouped else None, sample_weight=weights)
        found, stopped = solve_online(sparse.csr_array(Z) if thin else Z, problem, 3.0, tol=1e-13)
        batch = solve_least_squares(Z, problem, 3.0).solution
        assert stopped
        assert found.solution.certificate.relative_gap < 1e-10
        assert np.allclose(found.solution.coef, batch.coef, atol=1e-5)
        assert np.allclose(found.solution.dual, batch.dual, atol=1e-5)

    def test_the_stop_of_the_paper(self) -> None:
        Z, y, _, _ = draw()
        problem = PairProblem.of(y)
        seen: list[tuple[int, float, float]] = []
        found, stopped = solve_online(Z, problem, 3.0, callback=lambda *step: seen.append(step))
        costs = [primal for _, primal, _ in seen]
        assert stopped
        assert abs(costs[-2] - costs[-1]) <= 1e-4 * costs[-2]
        assert all(abs(a - b) > 1e-4 * a for a, b in pairwise(costs[:-1]))
        least = solve_least_squares(Z, problem, 3.0).solution.certificate.primal
        assert all(bound <= least <= primal for _, primal, bound in seen)
        assert all(later >= earlier for (*_, earlier), (*_, later) in pairwise(seen))
        assert found.solution.certificate.bound <= least

    def test_a_step_too_long_is_refused(self) -> None:
        Z, y, _, _ = draw()
        with pytest.raises(ValueError, match=r"eta=5 is too long a step.*eta=None"):
            solve_online(Z, PairProblem.of(y), 1.0, eta=5.0)

    def test_it_goes_on_from_where_it_was(self) -> None:
        Z, y, _, _ = draw()
        problem = PairProblem.of(y)
        cold, _ = solve_online(Z, problem, 3.0)
        warm, _ = solve_online(Z, problem, 3.1, start=cold.solution.dual.T)
        assert warm.solution.certificate.n_iter < cold.solution.certificate.n_iter


class TestStochastic:
    @pytest.mark.parametrize("thin", [False, True])
    @pytest.mark.parametrize("grouped", [False, True])
    def test_variance_reduced_steps_close_the_gap(self, grouped: bool, thin: bool) -> None:
        Z, y, groups, weights = draw()
        Z = Z * (np.abs(Z) > 1.5)
        problem = PairProblem.of(y, groups=groups if grouped else None, sample_weight=weights)
        rows = sparse.csr_array(Z) if thin else Z
        found = solve_stochastic(rows, problem, 3.0, tol=1e-9, max_iter=200)
        batch = solve_least_squares(Z, problem, 3.0).solution
        assert found.solution.certificate.converged
        assert found.solution.certificate.primal == pytest.approx(batch.certificate.primal, rel=1e-8)
        assert np.allclose(found.solution.coef, batch.coef, atol=1e-3)

    def test_averages_come_near(self) -> None:
        Z, y, _, _ = draw(2000)
        problem = PairProblem.of(y)
        least = solve_least_squares(Z, problem, 2.0).solution.certificate.primal
        seen: list[float] = []
        found = solve_stochastic(
            Z, problem, 2.0, averaged=True, max_iter=8, tol=1e-9, callback=lambda _, primal, __: seen.append(primal)
        )
        assert not found.solution.certificate.converged
        assert found.solution.certificate.bound <= least
        assert seen[-1] - least < 0.01 * least

    def test_a_step_that_went_up_is_shortened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Z, y, _, _ = draw()
        curvature = stochastic._curvature
        monkeypatch.setattr(stochastic, "_curvature", lambda *arguments: curvature(*arguments) / 3)
        with np.errstate(over="ignore", invalid="ignore"):
            found = solve_stochastic(Z, PairProblem.of(y), 3.0, tol=1e-6, batch_size=4)
        assert found.solution.certificate.converged

    def test_pairs_come_as_the_mean_weighs_them(self) -> None:
        groups, weights = np.array([0, 1, 0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 0.0, 1.0, 1.0])
        problem = PairProblem.of(np.zeros((6, 1)), groups=groups, sample_weight=weights)
        i, j = stochastic._Pairs.of(problem).draw(200_000, np.random.default_rng(0))
        seen = np.zeros((6, 6))
        np.add.at(seen, (i, j), 1 / len(i))
        expected = np.where(groups[:, None] == groups, np.outer(weights, weights), 0.0)
        assert np.allclose(seen, expected / expected.sum(), atol=0.005)

    def test_rows_without_features(self) -> None:
        _, y, _, _ = draw(20)
        found = solve_stochastic(np.zeros((20, 3)), PairProblem.of(y), 1.0)
        assert found.solution.certificate.converged
        assert not found.solution.coef.any()
