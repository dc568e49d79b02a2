"""The sparse Infinite Push against the whole linear program, written down and solved by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

import shortlist.solvers.linear_program as module
from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest
from shortlist.risks.top import TopRisk
from shortlist.solvers.linear_program import solve_sparse_infinite_push

Array = NDArray[Any]


def problem(
    seed: int, *, n: int = 80, d: int = 12, grouped: bool = False, weighted: bool = False
) -> tuple[Array, TopRisk]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.8
    groups = rng.integers(0, 3, n) if grouped else None
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    risk = TopRisk.from_labels(y, surrogate("hinge"), Maximum(), groups=groups, sample_weight=weight)
    return X, risk


def whole_program(X: Array, risk: TopRisk, C: float) -> tuple[float, Array]:
    """Variables w+, w-, t, xi; every row and column at once."""
    d, m, n, n_groups = X.shape[1], len(risk.positives), len(risk.negatives), risk.n_groups
    P, N = X[risk.positives], X[risk.negatives]
    at_p, at_n = np.eye(n_groups)[risk.positive_groups], np.eye(n_groups)[risk.negative_groups]
    answer = linprog(
        np.concatenate([np.ones(2 * d), np.zeros(n_groups), C * risk.positive_weights]),
        A_ub=np.block([[-P, P, at_p, -np.eye(m)], [N, -N, -at_n, np.zeros((n, m))]]),
        b_ub=np.concatenate([-np.ones(m), np.zeros(n)]),
        bounds=[(0, None)] * (2 * d) + [(None, None)] * n_groups + [(0, None)] * m,
    )
    return float(answer.fun), answer.x[:d] - answer.x[d : 2 * d]


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_whole_program(C: float, grouped: bool, weighted: bool) -> None:
    X, risk = problem(1, grouped=grouped, weighted=weighted)
    optimum, w = whole_program(X, risk, C)
    solution = solve_sparse_infinite_push(X, risk, C, tol=1e-9)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-9)
    assert solution.certificate.bound <= optimum * (1 + 1e-12)
    assert np.allclose(solution.coef, w, atol=1e-8)
    scores = X @ solution.coef
    assert solution.certificate.primal == pytest.approx(np.abs(w).sum() + C * risk.value(scores), rel=1e-9)
    assert np.allclose(solution.thresholds, risk.thresholds(scores))


@pytest.mark.parametrize("C", [1.0, 30.0, 1e4])
def test_the_dual_is_feasible_and_pays_the_bound(C: float) -> None:
    X, risk = problem(2, grouped=True, weighted=True)
    solution = solve_sparse_infinite_push(X, risk, C, tol=1e-9)
    alpha, beta = solution.dual[risk.positives], -solution.dual[risk.negatives]
    assert np.all(alpha >= 0)
    assert np.all(alpha <= C * risk.positive_weights)
    assert np.all(beta >= 0)
    assert np.abs(X.T @ solution.dual).max() <= 1 + 1e-12
    assert np.allclose(
        np.bincount(risk.positive_groups, weights=alpha), np.bincount(risk.negative_groups, weights=beta)
    )
    assert alpha.sum() == pytest.approx(solution.certificate.bound)


def test_rows_and_columns_are_added_as_needed() -> None:
    X, risk = problem(3, n=2000, d=150)
    steps: list[tuple[int, float, float]] = []
    solution = solve_sparse_infinite_push(X, risk, 100.0, tol=1e-9, callback=lambda *step: steps.append(step))
    assert solution.certificate.converged
    assert len(steps) == solution.certificate.n_iter > 2
    primals, bounds = np.array(steps).T[1:]
    assert np.all(np.diff(primals) <= 0)
    assert np.all(np.diff(bounds) >= 0)
    optimum, _ = whole_program(X, risk, 100.0)
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-8)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_agrees_with_dense(container: Any) -> None:
    X, risk = problem(4)
    X = np.where(np.abs(X) > 0.7, X, 0)
    dense = solve_sparse_infinite_push(X, risk, 10.0, tol=1e-9)
    found = solve_sparse_infinite_push(container(X), risk, 10.0, tol=1e-9)
    assert np.allclose(found.coef, dense.coef, atol=1e-9)
    assert found.thresholds.shape == dense.thresholds.shape


def test_single_precision_keeps_its_type() -> None:
    X, risk = problem(5)
    solution = solve_sparse_infinite_push(X.astype(np.float32), risk, 10.0, tol=1e-5)
    assert solution.coef.dtype == np.float32
    assert solution.certificate.converged


def test_weights_are_repetitions() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 6))
    y = X[:, 0] + rng.normal(size=50) > 0.3
    weight = rng.integers(0, 3, 50)
    weighted = TopRisk.from_labels(y, surrogate("hinge"), Maximum(), sample_weight=weight)
    repeated = TopRisk.from_labels(np.repeat(y, weight), surrogate("hinge"), Maximum())
    a = solve_sparse_infinite_push(X, weighted, 20.0, tol=1e-10)
    b = solve_sparse_infinite_push(np.repeat(X, weight, axis=0), repeated, 20.0, tol=1e-10)
    assert np.allclose(a.coef, b.coef, atol=1e-9)


def test_columns_of_very_different_scale() -> None:
    X, risk = problem(7)
    scale = np.logspace(-3, 4, X.shape[1])
    solution = solve_sparse_infinite_push(X * scale, risk, 100.0, tol=1e-6)
    optimum, _ = whole_program(X * scale, risk, 100.0)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-6)


def test_a_small_C_gives_exactly_zero() -> None:
    X, risk = problem(8)
    solution = solve_sparse_infinite_push(X, risk, 0.01)
    assert not solution.coef.any()
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(0.01)


def test_few_steps_leave_an_honest_gap() -> None:
    X, risk = problem(9, n=2000, d=150)
    certificate = solve_sparse_infinite_push(X, risk, 100.0, max_iter=1).certificate
    assert not certificate.converged
    assert certificate.n_iter == 1
    assert certificate.bound < certificate.primal


def test_a_tolerance_of_zero_ends() -> None:
    X, risk = problem(10)
    certificate = solve_sparse_infinite_push(X, risk, 10.0, tol=0.0, max_iter=50).certificate
    assert certificate.relative_gap < 1e-9
    assert certificate.n_iter < 50


def test_when_the_simplex_fails_the_best_so_far_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    X, risk = problem(11, n=600, d=60)
    solve = module._Master.solve
    calls = []

    def fails_later(master: Any) -> Any:
        calls.append(1)
        return solve(master) if len(calls) < 3 else None

    monkeypatch.setattr(module._Master, "solve", fails_later)
    certificate = solve_sparse_infinite_push(X, risk, 1000.0, tol=1e-9).certificate
    assert not certificate.converged
    assert np.isfinite(certificate.primal)
    assert certificate.bound > 0


def test_a_failed_warm_start_is_tried_afresh(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    X, risk = problem(12)
    master = module._Master(X, risk, 10.0)
    master.add_features(np.arange(3))
    master.add_negatives(np.array([0]))
    good = module.highspy.HighsModelStatus.kOptimal
    statuses = iter([module.highspy.HighsModelStatus.kNotset, good])
    monkeypatch.setattr(master._lp, "getModelStatus", lambda: next(statuses), raising=False)
    assert master.solve() is not None
    monkeypatch.setattr(master._lp, "getModelStatus", lambda: module.highspy.HighsModelStatus.kUnknown)
    assert master.solve() is None
    assert "HiGHS stopped" in caplog.text


@pytest.mark.parametrize(("loss", "threshold"), [("squared_hinge", Maximum()), ("hinge", MeanOfLargest(2))])
def test_other_risks_are_refused(loss: str, threshold: Any) -> None:
    y = np.array([True, False, False])
    risk = TopRisk.from_labels(y, surrogate(loss), threshold)
    with pytest.raises(ValueError, match="needs the hinge under the max threshold"):
        solve_sparse_infinite_push(np.eye(3), risk, 1.0)
