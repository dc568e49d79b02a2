"""Truncated Newton against the bundle, against a conic solver, and its certificate from the returned arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from shortlist.risks.magnitude import MagnitudeRisk
from shortlist.solvers import newton as module
from shortlist.solvers.bundle import solve_bundle
from shortlist.solvers.newton import solve_newton
from tests.oracle.magnitude_costs import magnitude_optimum

KINDS = [("svr", "closure"), ("mp", "closure"), ("hmp", "hinge")]


def data(seed=0, n=20, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 0.7 * rng.normal(size=n)
    return X, y, rng.integers(0, 2, n), rng.integers(0, 3, n).astype(float)


def risk_of(y, kind, order=2, *, groups=None, weights=None):
    cost, one_sided = kind
    return MagnitudeRisk.from_labels(y, cost, order, 0.2, one_sided=one_sided, groups=groups, sample_weight=weights)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_the_optimum_is_the_oracles(kind, C):
    X, y, groups, weights = data(1)
    extra = {"groups": groups, "weights": weights}
    value, w = magnitude_optimum(X, y, C, kind[0], 2, epsilon=0.2, one_sided=kind[1], **extra)
    found = solve_newton(X, risk_of(y, kind, **extra), C, tol=1e-9)
    assert found.certificate.converged
    assert found.certificate.bound <= value * (1 + 1e-8)
    assert found.certificate.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(found.coef, w, atol=1e-3 * max(np.abs(w).max(), 1e-3))
    assert solve_bundle(X, risk_of(y, kind, **extra), C, tol=1e-9).certificate.primal == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_certificate_can_be_recomputed(kind):
    X, y, groups, weights = data(2, n=60)
    risk = risk_of(y, kind, groups=groups, weights=weights)
    for tol in (1e-2, 1e-8):
        found = solve_newton(X, risk, 20.0, tol=tol)
        c = found.certificate
        assert c.relative_gap <= tol
        assert c.primal == pytest.approx(found.coef @ found.coef / 2 + 20.0 * risk.value(X @ found.coef), rel=1e-12)
        value, slope = risk.value_and_subgradient(X @ found.points[0])
        dual = -20.0 * slope
        np.testing.assert_allclose(found.dual, dual, atol=1e-10)
        direction = X.T @ dual
        offset = value - slope @ (X @ found.points[0])
        assert c.bound == pytest.approx(20.0 * offset - direction @ direction / 2, rel=1e-9)
    np.testing.assert_allclose(direction, found.coef, atol=1e-3 * np.abs(found.coef).max())


@pytest.mark.parametrize("form", ["csr", "csc", "float32", "csr32", "more columns"])
def test_twins(form):
    X, y, groups, weights = data(3, n=40)
    X[np.abs(X) < 0.4] = 0
    risk = risk_of(y, KINDS[0], groups=groups, weights=weights)
    reference = solve_newton(X, risk, 5.0, tol=1e-8)
    short = form.endswith("32")
    twin = {
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "csr32": lambda: sp.csr_array(X.astype(np.float32)),
        "more columns": lambda: np.hstack([X, np.zeros((40, 30))]),
    }[form]()
    found = solve_newton(twin, risk, 5.0, tol=1e-5 if short else 1e-8)
    assert found.certificate.converged
    assert found.coef.dtype == twin.dtype
    assert found.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-5 if short else 2e-8)
    np.testing.assert_allclose(found.coef[:4], reference.coef, atol=1e-2 if short else 1e-3)


def test_a_cost_that_vanishes_at_zero_is_solved_by_zero():
    X, y, _, _ = data(4)
    found = solve_newton(X, risk_of(y, ("hr", "closure")), 100.0)
    assert found.certificate.primal == found.certificate.bound == 0
    assert not found.coef.any()
    seen = []
    solve_newton(X, risk_of(y, ("hr", "closure")), 100.0, callback=lambda *a: seen.append(a))
    assert seen == [(1, 0.0, 0.0)]


def test_a_warm_start_saves_steps_and_changes_nothing():
    X, y, _, _ = data(5, n=100)
    risk = risk_of(y, KINDS[0])
    cold = solve_newton(X, risk, 100.0, tol=1e-7)
    seen = []
    warm = solve_newton(X, risk, 100.0, tol=1e-7, start=cold, callback=lambda *a: seen.append(a))
    assert len(seen) == warm.certificate.n_iter <= cold.certificate.n_iter
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    hopeless = solve_newton(X, risk, 100.0, tol=1e-7, start=np.full(4, 1e6), callback=lambda *a: seen.append(a))
    assert hopeless.certificate.n_iter == cold.certificate.n_iter
    assert [a[0] for a in seen[-hopeless.certificate.n_iter :]] == list(range(1, hopeless.certificate.n_iter + 1))


def test_budgets(monkeypatch):
    X, y, _, _ = data(6)
    risk = risk_of(y, KINDS[2])
    found = solve_newton(X, risk, 1e4, tol=1e-12, max_iter=1)
    assert not found.certificate.converged
    assert found.certificate.n_iter == 1
    assert found.certificate.bound <= found.certificate.primal
    floor = solve_newton(X, risk, 10.0, tol=0.0)
    assert floor.certificate.relative_gap < 1e-12
    monkeypatch.setattr(module, "MOST_PRODUCTS", 2)
    assert solve_newton(X, risk, 100.0, tol=1e-8).certificate.converged


def test_a_risk_of_unknown_sign_has_its_bound_from_the_gradient():
    class Shifted:
        n_rows = 3

        def value_and_subgradient(self, scores):
            return float(scores @ scores) / 2 - 5.0, scores

        def hessian(self, scores):
            return lambda v: v

    found = solve_newton(np.eye(3), Shifted(), 1.0)
    assert found.certificate.primal == found.certificate.bound == -5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": -1.0}, "C must be a finite number above 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"start": np.ones(3)}, "start must hold 4 finite numbers"),
    ],
)
def test_bad_arguments(change, message):
    X, y, _, _ = data(7)
    arguments = {"C": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        solve_newton(X, risk_of(y, KINDS[0]), arguments.pop("C"), **arguments)


def test_what_it_needs_of_a_risk_is_said():
    X, y, _, _ = data(8)
    with pytest.raises(ValueError, match="needs a smooth risk, this MagnitudeRisk has kinks: use solve_bundle"):
        solve_newton(X, risk_of(y, KINDS[0], order=1), 1.0)

    class Blunt:
        n_rows = 20
        value_and_subgradient = None

    with pytest.raises(TypeError, match=r"Blunt lacks value_and_subgradient\(\), hessian\(\)"):
        solve_newton(X, Blunt(), 1.0)
