"""The bundle solver against a conic solver, against itself in other clothes, and its parts against their problems."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from shortlist.risks.magnitude import MagnitudeRisk
from shortlist.solvers import bundle as module
from shortlist.solvers.bundle import solve_bundle
from shortlist.solvers.bundle_metric import Differences, column_variances
from shortlist.solvers.bundle_program import best_weights
from shortlist.solvers.bundle_search import search_segment
from tests.oracle.magnitude_costs import magnitude_optimum

KINDS = [("svr", 1, "closure"), ("svr", 2, "closure"), ("mp", 1, "closure"), ("mp", 2, "closure")]
KINDS += [("hmp", 1, "hinge"), ("hmp", 2, "hinge")]
FLAT_AT_ZERO = [("hr", 1, "closure"), ("hr", 2, "closure"), ("hmp", 1, "closure"), ("hmp", 2, "closure")]


def data(seed=0, n=20, d=4, n_groups=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 0.7 * rng.normal(size=n)
    return X, y, rng.integers(0, n_groups, n), rng.integers(0, 3, n).astype(float)


def risk_of(y, kind, *, groups=None, weights=None, epsilon=0.2):
    cost, order, one_sided = kind
    return MagnitudeRisk.from_labels(y, cost, order, epsilon, one_sided=one_sided, groups=groups, sample_weight=weights)


class Absolute:
    """Mean absolute deviation of the scores from targets: polyhedral, with no word on its sign."""

    def __init__(self, targets):
        self.targets, self.n_rows = targets, len(targets)

    def value_and_subgradient(self, scores):
        away = scores - self.targets
        return float(np.abs(away).mean()), np.sign(away) / self.n_rows


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_optimum_is_the_oracles(kind, C, grouped):
    X, y, groups, weights = data(1)
    extra = {"groups": groups, "weights": weights} if grouped else {}
    value, w = magnitude_optimum(X, y, C, kind[0], kind[1], epsilon=0.2, one_sided=kind[2], **extra)
    found = solve_bundle(X, risk_of(y, kind, **extra), C, tol=1e-9)
    assert found.certificate.converged
    assert found.certificate.bound <= value * (1 + 1e-8)
    assert found.certificate.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(found.coef, w, atol=1e-3 * max(np.abs(w).max(), 1e-3))


@pytest.mark.parametrize("kind", FLAT_AT_ZERO, ids=str)
def test_costs_that_vanish_at_zero_are_solved_by_zero(kind):
    X, y, _, _ = data(2)
    value, _ = magnitude_optimum(X, y, 100.0, kind[0], kind[1])
    assert value == pytest.approx(0.0, abs=1e-6)
    found = solve_bundle(X, risk_of(y, kind), 100.0)
    assert found.certificate.primal == found.certificate.bound == 0
    assert not found.coef.any()
    assert found.certificate.n_iter == 1
    # From elsewhere the way leads back.
    back = solve_bundle(X, risk_of(y, kind), 100.0, start=-10 * X[0])
    assert back.certificate.primal == 0


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_certificate_can_be_recomputed(kind):
    X, y, groups, weights = data(3, n=60)
    risk = risk_of(y, kind, groups=groups, weights=weights)
    for tol in (1e-2, 1e-8):
        found = solve_bundle(X, risk, 20.0, tol=tol)
        c = found.certificate
        assert c.converged
        assert c.relative_gap <= tol
        assert c.primal == pytest.approx(found.coef @ found.coef / 2 + 20.0 * risk.value(X @ found.coef), rel=1e-12)
        slope, offset = np.zeros(X.shape[1]), 0.0
        for share, point in zip(found.point_weights, found.points, strict=True):
            value, subgradient = risk.value_and_subgradient(X @ point)
            slope += share * (X.T @ subgradient)
            offset += share * (value - subgradient @ (X @ point))
        assert found.point_weights.min() >= 0
        assert found.point_weights.sum() <= 1 + 1e-12
        assert c.bound == pytest.approx(20.0 * offset - (20.0 * slope) @ (20.0 * slope) / 2, rel=1e-7)
    np.testing.assert_allclose(X.T @ found.dual, found.coef, atol=1e-3 * np.abs(found.coef).max())


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("form", ["csr", "csc", "float32", "csr32", "permuted", "more columns", "repeated"])
def test_twins(kind, form):
    """The same problem in other clothes has the same optimum."""
    X, y, groups, weights = data(4, n=40)
    X[np.abs(X) < 0.4] = 0
    reference = solve_bundle(X, risk_of(y, kind, groups=groups, weights=weights), 5.0, tol=1e-8)
    short = form.endswith("32")
    rows = np.arange(len(y))
    if form == "permuted":
        rows = np.random.default_rng(0).permutation(len(y))
    elif form == "repeated":
        rows = np.repeat(rows, weights.astype(int))
    twin = {
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "csr32": lambda: sp.csr_array(X.astype(np.float32)),
        "more columns": lambda: np.hstack([X, np.zeros((len(y), 30))]),
    }.get(form, lambda: X[rows])()
    weight = None if form == "repeated" else weights[rows]
    found = solve_bundle(
        twin, risk_of(y[rows], kind, groups=groups[rows], weights=weight), 5.0, tol=1e-5 if short else 1e-8
    )
    assert found.certificate.converged
    assert found.coef.dtype == twin.dtype
    assert found.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-5 if short else 3e-8)
    np.testing.assert_allclose(found.coef[:4], reference.coef, atol=2e-2 if short else 1e-3)
    assert not found.coef[4:].any()


def test_a_risk_of_which_nothing_else_is_known():
    """Median regression by its linear-programming optimum: any convex risk will do, smooth or not."""
    X, y, _, _ = data(5, n=30, d=2)
    found = solve_bundle(X, Absolute(y), 1000.0, tol=1e-9)
    assert found.certificate.converged
    rng = np.random.default_rng(0)
    for step in (1.0, 0.1, 0.001):
        for _ in range(50):
            w = found.coef + step * rng.normal(size=2)
            assert w @ w / 2 + 1000 * np.abs(X @ w - y).mean() >= found.certificate.bound
    assert found.point_weights.sum() == pytest.approx(1.0)


def test_few_passes_where_the_mean_is_smooth_to_the_eye():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = X @ rng.normal(size=20) + rng.standard_t(3, size=2000)
    for C in (1.0, 100.0, 10000.0):
        certificate = solve_bundle(X, risk_of(y, ("svr", 1, "closure")), C, tol=1e-3).certificate
        assert certificate.converged
        assert certificate.n_passes <= 60


@pytest.mark.parametrize("C", [100.0, 10000.0])
def test_passes_are_counted(C, monkeypatch):
    X, y, _, _ = data(6, n=50)
    variances = []
    monkeypatch.setattr(module, "column_variances", lambda X: (variances.append(1), column_variances(X))[1])

    class Counting(sp.csr_array):
        products = 0

        def __matmul__(self, other):
            Counting.products += 1
            return super().__matmul__(other)

    found = solve_bundle(Counting(X), risk_of(y, ("svr", 1, "closure")), C, tol=1e-6)
    # Transposed products are another object's; a step has one of each, the objective is checked at the end, and the
    # columns' variances are two more.
    assert found.certificate.n_passes == 2 * Counting.products + 2 * len(variances)
    assert Counting.products == found.certificate.n_iter + 1
    assert len(variances) <= 1


def test_little_memory_makes_it_slow_but_not_wrong():
    X, y, _, _ = data(7, n=40)
    risk = risk_of(y, ("svr", 1, "closure"))
    full = solve_bundle(X, risk, 100.0, tol=1e-8)
    for most in (3, 5):
        found = solve_bundle(X, risk, 100.0, tol=1e-3, max_planes=most, max_iter=3000)
        assert found.certificate.converged
        assert found.certificate.bound <= full.certificate.primal * (1 + 1e-9)
        slope = sum(
            share * (X.T @ risk.value_and_subgradient(X @ point)[1])
            for share, point in zip(found.point_weights, found.points, strict=True)
        )
        np.testing.assert_allclose(X.T @ found.dual, -100.0 * slope, atol=1e-9)


def test_averages_when_every_plane_carries_weight(monkeypatch):
    """With one more plane than two, no plane can be spared."""
    seen = []
    original = module._Bundle._average
    monkeypatch.setattr(module._Bundle, "_average", lambda *a: (seen.append(1), original(*a))[1])
    X, y, _, _ = data(8, n=40)
    found = solve_bundle(X, Absolute(y), 100.0, tol=1e-4, max_planes=3, max_iter=3000)
    reference = solve_bundle(X, Absolute(y), 100.0, tol=1e-8)
    assert seen
    assert found.certificate.bound <= reference.certificate.primal
    assert found.certificate.primal >= reference.certificate.bound


def test_a_warm_start_saves_steps_and_changes_nothing():
    X, y, _, _ = data(9, n=100)
    risk = risk_of(y, ("svr", 1, "closure"))
    cold = solve_bundle(X, risk, 100.0, tol=1e-7)
    warm = solve_bundle(X, risk, 100.0, tol=1e-7, start=cold)
    assert warm.certificate.converged
    assert warm.certificate.n_iter <= cold.certificate.n_iter
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    hopeless = solve_bundle(X, risk, 100.0, tol=1e-7, start=np.full(4, 1e6))
    assert hopeless.certificate.n_iter == cold.certificate.n_iter


def test_the_callback_sees_the_gap_close():
    X, y, _, _ = data(10)
    seen = []
    found = solve_bundle(X, risk_of(y, ("mp", 1, "closure")), 10.0, callback=lambda *a: seen.append(a))
    assert [a[0] for a in seen] == list(range(1, found.certificate.n_iter + 1))
    solve_bundle(X, risk_of(y, ("hr", 1, "closure")), 10.0, callback=lambda *a: seen.append(a))
    assert seen.pop() == (1, 0.0, 0.0)
    assert all(late[1] <= early[1] and late[2] >= early[2] for early, late in pairwise(seen))


def test_an_exhausted_budget_is_said():
    X, y, _, _ = data(11)
    found = solve_bundle(X, risk_of(y, ("svr", 1, "closure")), 1e4, max_iter=1, tol=1e-9)
    assert not found.certificate.converged
    assert found.certificate.n_iter == 1
    assert found.certificate.bound <= found.certificate.primal


def test_no_tolerance_at_all_ends_at_roundings_floor():
    X, y, _, _ = data(12)
    for kind in KINDS:
        found = solve_bundle(X, risk_of(y, kind), 10.0, tol=0.0)
        assert found.certificate.relative_gap < 1e-9


def test_no_columns():
    found = solve_bundle(np.empty((3, 0)), risk_of(np.arange(3.0), ("mp", 2, "closure")), 1.0)
    assert found.certificate.converged
    assert found.coef.shape == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C must be a finite number above 0"),
        ({"C": np.nan}, "C must be a finite number above 0"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_planes": 2}, "max_planes must be at least 3"),
        ({"start": np.ones(3)}, "start must hold 4 finite numbers"),
        ({"start": np.full(4, np.nan)}, "start must hold 4 finite numbers"),
    ],
)
def test_bad_arguments(change, message):
    X, y, _, _ = data(13)
    arguments = {"C": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        solve_bundle(X, risk_of(y, ("svr", 1, "closure")), arguments.pop("C"), **arguments)


def test_what_it_needs_of_a_risk_is_said():
    X, y, _, _ = data(14)
    needs = r"solve_bundle needs of a risk: n_rows, value_and_subgradient\(\); object lacks"
    with pytest.raises(TypeError, match=needs):
        solve_bundle(X, object(), 1.0)
    with pytest.raises(ValueError, match="the risk is one of 20 rows, X has 15"):
        solve_bundle(X[:15], risk_of(y, ("svr", 1, "closure")), 1.0)


class TestTheSmallProgram:
    def test_it_is_solved_whatever_the_rank(self):
        rng = np.random.default_rng(0)
        for case in range(60):
            k, d = int(rng.integers(1, 40)), int(rng.integers(1, 30))
            A = rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-2, 2)
            b = rng.normal(size=k)
            if case % 3 == 0:
                A, b = np.repeat(A, 2, axis=0), np.repeat(b, 2)
            if case % 4 == 0:
                A += 1e4
            G = A @ A.T
            a = best_weights(G, b, np.eye(len(b))[0])
            slope = G @ a - b
            assert a.min() >= 0
            assert a.sum() == pytest.approx(1.0)
            assert a @ slope - slope.min() <= 1e-6 * max(1.0, abs(a @ slope))

    def test_a_matrix_that_rounding_made_indefinite_is_lifted(self):
        G = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        a = best_weights(G, np.zeros(3), np.full(3, 1 / 3))
        assert a.min() >= 0
        assert a.sum() == pytest.approx(1.0)

    def test_slopes_next_to_nothing_leave_the_heights_to_decide(self):
        a = best_weights(np.diag([1e-310, 0.0, 1e-320]), np.array([0.1, 0.3, -5.0]), np.full(3, 1 / 3))
        np.testing.assert_allclose(a, [0.0, 1.0, 0.0], atol=1e-12)

    def test_a_budget_of_pivots_leaves_a_feasible_point(self):
        rng = np.random.default_rng(2)
        A = rng.normal(size=(20, 5))
        a = best_weights(A @ A.T, rng.normal(size=20), np.eye(20)[0], max_pivots=3)
        assert a.min() >= 0
        assert a.sum() == pytest.approx(1.0)

    def test_a_warm_start_needs_fewer_pivots(self):
        rng = np.random.default_rng(1)
        A = rng.normal(size=(20, 30))
        G, b = A @ A.T, np.zeros(20)
        a = best_weights(G, b, np.eye(20)[0])
        np.testing.assert_allclose(best_weights(G, b, a, max_pivots=1), a, atol=1e-12)


class TestTheSearch:
    @staticmethod
    def along(risk, start, first=1.0):
        """The minimum of 0.5 t^2 + risk(start + t) in one dimension."""
        value, slope = risk(np.array([start]))
        return search_segment(
            risk, 1.0, np.array([start]), np.ones(1), value=value, slope=float(slope[0]), quadratic=(0.0, 0.0, 1.0),
            first=first,
        )  # fmt: skip

    def test_a_quadratic_takes_two_trials(self):
        found = self.along(lambda s: (float((s[0] - 3) ** 2), 2 * (s - 3)), 0.0)
        assert found.best.t == pytest.approx(2.0)
        assert found.n_trials <= 3

    @pytest.mark.parametrize("first", [1e-3, 1.0, 100.0])
    def test_a_kink_is_found_from_both_sides(self, first):
        found = self.along(lambda s: (10 * abs(float(s[0]) - 0.7), 10 * np.sign(s - 0.7)), 0.0, first)
        assert found.best.t == pytest.approx(0.7, rel=2e-2)
        assert len(found.parts) == 2
        total = sum(share * trial.slope for share, trial in found.parts)
        assert total == pytest.approx(0.0, abs=1e-12)
        # The average of two planes lies below the function, and nearly touches it.
        below = found.offset + found.subgradient[0] * np.linspace(-2, 2, 41)
        assert np.all(below <= 10 * np.abs(np.linspace(-2, 2, 41) - 0.7) + 1e-9)

    def test_no_lower_point_gives_the_plane_of_the_far_side(self):
        """At a kink a subgradient can promise a fall that no direction keeps."""
        risk = lambda s: (abs(float(s[0])), np.where(s > 0, 1.0, -1.0))  # noqa: E731
        found = self.along(risk, 0.0)
        assert found.best is None
        assert [trial.slope > 0 for _, trial in found.parts] == [True]

    def test_values_that_overflow_are_left_at_once(self):
        def risk(s):
            return (float(abs(s[0] - 1)), np.sign(s - 1)) if s[0] < 3 else (np.inf, np.full(1, np.nan))

        found = self.along(risk, 0.0, first=100.0)
        assert 0 < found.best.t < 3


def test_differences_give_newtons_step_of_a_quadratic():
    rng = np.random.default_rng(0)
    H = np.diag([1.0, 10.0, 100.0])
    known = Differences(10)
    np.testing.assert_array_equal(known.solve(np.ones(3), np.ones(3)), np.ones(3))
    for _ in range(3):
        known.add(np.zeros(3), np.zeros(3))
    assert len(known) == 0
    for axis in np.eye(3):
        known.add(axis, H @ axis)
    g = rng.normal(size=3)
    for variances in (np.zeros(3), np.ones(3), np.array([0.0, 2.0, 20.0])):
        np.testing.assert_allclose(known.solve(g, variances), np.linalg.solve(H, g), rtol=1e-12)
    short = Differences(2)
    for axis in np.eye(3):
        short.add(axis, H @ axis)
    assert len(short) == 2


def test_one_difference_and_the_variances_know_a_diagonal_hessian():
    variances = np.array([0.0, 1.0, 25.0])
    known, step = Differences(5), np.array([1.0, 2.0, 3.0])
    known.add(step, (1 + 4 * variances) * step)
    np.testing.assert_allclose(known.solve(1 + 4 * variances, variances), np.ones(3))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_variances_of_columns(form):
    X = np.where(np.random.default_rng(0).random((40, 5)) > 0.5, 3.0, 0.0) + np.arange(5)
    np.testing.assert_allclose(column_variances(form(X)), X.var(axis=0), atol=1e-12)
    np.testing.assert_allclose(column_variances(form(X.astype(np.float32))), X.var(axis=0), rtol=1e-4, atol=1e-4)
