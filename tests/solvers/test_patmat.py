"""Pat&Mat against a general convex solver, against itself, and against bad input."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from shortlist.risks.quantile import PatMatRisk
from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.solvers import patmat as module
from shortlist.solvers.patmat import solve_patmat
from tests.oracle import quantile as oracle

LOSSES = sorted(SURROGATES)


def data(seed=0, n=40, d=4, n_groups=1):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    y[:2] = True, False
    X = rng.standard_normal((n, d))
    X[y, 0] += 1.0
    return X, y, rng.integers(n_groups, size=n), rng.integers(0, 4, size=n).astype(float)


def solve(X, y, loss, tau=0.2, C=5.0, *, theta=1.0, groups=None, weights=None, tol=1e-8, **kw):
    risk = PatMatRisk.from_labels(y, surrogate(loss), tau, theta=theta, groups=groups, sample_weight=weights)
    return solve_patmat(X, risk, C, tol=tol, **kw)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("tau", "theta", "C"), [(0.2, 1.0, 5.0), (0.02, 2.0, 200.0), (1.5, 0.5, 0.1)])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_optimum_is_the_oracles(loss, tau, theta, C, grouped):
    X, y, groups, weights = data(3, n_groups=3)
    extra = {"groups": groups, "weights": weights} if grouped else {}
    tau = (
        min(tau, 0.9) if loss == "hinge" else tau
    )  # beyond 1 the hinge's threshold loses to the margin: no loss left
    value, w, t = oracle.patmat(X, y, loss, tau, C, theta=theta, **extra)
    found = solve(X, y, loss, tau, C, theta=theta, **extra)
    assert found.certificate.converged
    assert found.certificate.bound <= value * (1 + 1e-6)
    assert found.certificate.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found.coef, w, atol=2e-3 * np.abs(w).max())
    np.testing.assert_allclose(found.thresholds, t, atol=2e-3 * (1 + np.abs(t).max()))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_can_be_recomputed(loss):
    X, y, groups, weights = data(4, n_groups=2)
    risk = PatMatRisk.from_labels(y, surrogate(loss), 0.1, groups=groups, sample_weight=weights)
    for tol in (1e-3, 1e-8):
        found = solve_patmat(X, risk, 20.0, tol=tol)
        c = found.certificate
        assert c.converged
        assert c.relative_gap <= tol
        primal = found.coef @ found.coef / 2 + 20.0 * risk.value(X @ found.coef)
        alpha, beta = found.dual[risk.top.positives], -found.dual[risk.top.negatives]
        v = X.T @ found.dual
        bound = -float(v @ v) / 2 - risk.conjugate(alpha, beta, 20.0)
        assert c.primal == pytest.approx(primal, rel=1e-12)
        assert c.bound == pytest.approx(bound, rel=1e-9)
        for g in range(risk.n_groups):  # feasible in the dual
            assert alpha[risk.top.positive_groups == g].sum() == pytest.approx(
                beta[risk.top.negative_groups == g].sum(), rel=1e-12
            )
    # Strong duality: at the optimum the dual variables give the coefficients.
    np.testing.assert_allclose(v, found.coef, atol=1e-3 * np.abs(v).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential"])
def test_the_gap_of_a_smooth_loss_is_half_the_squared_gradient(loss):
    X, y, _, _ = data(5)
    seen = []
    found = solve(X, y, loss, tol=0.0, max_iter=2, callback=lambda *a: seen.append(a))
    assert not found.certificate.converged
    assert [a[0] for a in seen] == [1, 2]
    gradient = found.coef - X.T @ found.dual
    assert found.certificate.gap == pytest.approx(gradient @ gradient / 2, rel=1e-6)
    assert seen[-1][1] == pytest.approx(found.certificate.primal, rel=1e-12)
    assert seen[-1][2] == pytest.approx(found.certificate.bound, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetition(loss):
    X, y, groups, weights = data(6, n_groups=2)
    times = weights.astype(int)
    weighted = solve(X, y, loss, groups=groups, weights=weights)
    repeated = solve(np.repeat(X, times, axis=0), np.repeat(y, times), loss, groups=np.repeat(groups, times))
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-7)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-3)
    assert not weighted.dual[weights == 0].any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("way", ["formed", "conjugate gradients"])
@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "float32", "csr32", "permuted", "more columns"])
def test_twins(loss, way, kind, monkeypatch):
    """The same problem in other clothes has the same optimum."""
    X, y, groups, _ = data(7, n=60, d=5, n_groups=2)
    X[np.abs(X) < 0.5] = 0
    reference = solve(X, y, loss, groups=groups)
    if way == "conjugate gradients":
        monkeypatch.setattr(module, "DIRECT_COLUMNS", 0)
    order = np.random.default_rng(0).permutation(len(y)) if kind == "permuted" else np.arange(len(y))
    twin = {
        "dense": lambda: X,
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "csr32": lambda: sp.csr_array(X.astype(np.float32)),
        "permuted": lambda: X[order],
        "more columns": lambda: np.hstack([X, np.zeros((len(y), 100))]),
    }[kind]()
    short = kind.endswith("32")
    found = solve(twin, y[order], loss, groups=groups[order], tol=1e-5 if short else 1e-8)
    assert found.certificate.converged
    assert found.coef.dtype == twin.dtype
    assert found.certificate.primal == pytest.approx(
        reference.certificate.primal, rel=2e-5 if short else 2e-8
    )
    np.testing.assert_allclose(found.coef[:5], reference.coef, atol=1e-2 if short else 1e-3)
    assert not found.coef[5:].any()


@pytest.mark.parametrize("loss", LOSSES)
def test_duplicated_columns_share_the_coefficient(loss):
    X, y, _, _ = data(8)
    single = solve(X * np.sqrt(2), y, loss)
    double = solve(np.hstack([X, X]), y, loss)
    assert double.certificate.primal == pytest.approx(single.certificate.primal, rel=1e-7)
    np.testing.assert_allclose(double.coef[:4], double.coef[4:], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_saves_steps_and_changes_nothing(loss):
    X, y, _, _ = data(9, n=200)
    cold = solve(X, y, loss, C=100.0)
    warm = solve(X, y, loss, C=100.0, start=cold.coef)
    assert warm.certificate.converged
    assert warm.certificate.n_iter <= cold.certificate.n_iter
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)


def test_a_hopeless_start_is_replaced():
    X, y, _, _ = data(9)
    found = solve(X, y, "exponential", start=np.full(4, 1e6))
    assert found.certificate.converged


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_shifts_do_not_matter(loss):
    """Adding one vector to all rows moves the threshold with the scores."""
    X, y, _, _ = data(10)
    assert solve(X + 3.0, y, loss).certificate.primal == pytest.approx(
        solve(X, y, loss).certificate.primal, rel=1e-7
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_generous_tau(loss):
    """Any tau > 0 has a threshold; at tau = 5 it lies below the scores and nothing is left to lose."""
    X, y, _, _ = data(10)
    found = solve(X, y, loss, tau=5.0)
    assert found.certificate.primal >= found.certificate.bound
    assert found.certificate.converged or found.certificate.gap < 1e-8


def test_the_hinge_without_matrices(monkeypatch):
    """Smoothed hinges and the interior-point method meet at one optimum."""
    monkeypatch.setattr(module, "DIRECT_COLUMNS", 0)
    for seed in range(3):
        X, y, groups, weights = data(30 + seed, n=80, n_groups=2)
        seen = []
        found = solve(
            X,
            y,
            "hinge",
            C=20.0,
            groups=groups,
            weights=weights,
            callback=lambda *a, seen=seen: seen.append(a),
        )
        value, _, _ = oracle.patmat(X, y, "hinge", 0.2, 20.0, groups=groups, weights=weights)
        assert found.certificate.converged
        assert found.certificate.primal == pytest.approx(value, rel=1e-6)
        assert found.certificate.n_iter > len(seen) > 1
        assert seen[-1][1] == pytest.approx(found.certificate.primal)
    budget = solve(X, y, "hinge", C=1e4, max_iter=1)
    assert budget.certificate.n_iter == 1
    assert not budget.certificate.converged


@pytest.mark.parametrize("loss", LOSSES)
def test_the_degenerate_optimum_is_exactly_zero(loss):
    """Equal class means: w = 0 is optimal whatever C, and is returned as such."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((10, 3))
    X = np.vstack([half, -half, 2 * half, -2 * half])
    y = np.arange(40) < 20
    for dtype in (np.float64, np.float32):
        found = solve(X.astype(dtype), y, loss, C=100.0, tol=1e-6)
        assert not found.coef.any()
        assert found.certificate.converged
    constant = solve(np.ones((40, 2)), y, loss)
    assert not constant.coef.any()
    assert not solve(np.ones((40, 0)), y, loss).coef.size


def test_a_small_C_still_moves():
    """At C = 1e-9 w = 0 is within any tolerance of the optimum, and ranks nothing: a step is made anyway."""
    X, y, _, _ = data(11)
    found = solve(X, y, "squared_hinge", C=1e-9, tol=1e-4)
    assert found.certificate.n_iter == 1
    direction = X[y].mean(axis=0) - X[~y].mean(axis=0)
    assert found.coef @ direction > 0.999 * np.linalg.norm(found.coef) * np.linalg.norm(direction)


def test_separable_data_and_a_large_C():
    X, y, _, _ = data(12, n=100)
    X[y, 0] += 8.0
    for loss in LOSSES:
        found = solve(X, y, loss, C=1e5, tau=0.05, tol=1e-6)
        assert found.certificate.converged
        assert np.all((X @ found.coef)[y] > found.thresholds[0])


def test_more_columns_than_rows():
    X, y, _, _ = data(13, n=20, d=80)
    for loss in LOSSES:
        assert solve(X, y, loss, C=10.0).certificate.converged


def test_many_groups_take_conjugate_gradients():
    """More groups than columns: forming the Hessian would need a row for each group."""
    X, y, groups, _ = data(14, n=200, d=3, n_groups=30)
    value, _, _ = oracle.patmat(X, y, "logistic", 0.2, 5.0, groups=groups)
    found = solve(X, y, "logistic", groups=groups)
    assert found.certificate.primal == pytest.approx(value, rel=1e-6)
    assert found.certificate.n_passes > 10
    assert len(found.thresholds) <= 30


def test_passes_are_counted():
    """Every product of X with a vector is in the count, and no other."""
    X, y, _, _ = data(15, n=50, d=6)

    class Counting(sp.csr_array):
        products = 0

        def __matmul__(self, other):
            if getattr(other, "ndim", 2) == 1:
                Counting.products += 1
            return super().__matmul__(other)

    counted = Counting(X)
    module_columns, module.DIRECT_COLUMNS = module.DIRECT_COLUMNS, 0
    try:
        found = solve(counted, y, "squared_hinge")
    finally:
        module.DIRECT_COLUMNS = module_columns
    # The transposes are products of another object: as many as the forward ones, give or take the ends.
    assert abs(found.certificate.n_passes - 2 * Counting.products) <= found.certificate.n_iter + 2


def test_an_exhausted_budget_is_said():
    X, y, _, _ = data(16)
    for loss in LOSSES:
        found = solve(X, y, loss, C=1e4, max_iter=1)
        assert not found.certificate.converged
        assert found.certificate.n_iter == 1
        assert found.certificate.bound <= found.certificate.primal


def test_no_tolerance_at_all_ends_at_roundings_floor():
    X, y, _, _ = data(17)
    for loss in LOSSES:
        found = solve(X, y, loss, tol=0.0)
        assert found.certificate.relative_gap < 1e-9


def test_the_callback_of_the_hinge_sees_the_hinges_gap():
    X, y, _, _ = data(18)
    seen = []
    found = solve(X, y, "hinge", callback=lambda *a: seen.append(a))
    assert seen[-1][1] == pytest.approx(found.certificate.primal)
    assert all(bound <= primal for _, primal, bound in seen)
    assert all(late[1] <= early[1] for early, late in pairwise(seen))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C must be a positive number"),
        ({"C": np.nan}, "C must be a positive number"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"start": np.ones(3)}, "start must hold 4 finite numbers"),
        ({"start": np.full(4, np.nan)}, "start must hold 4 finite numbers"),
    ],
)
def test_bad_arguments(change, message):
    X, y, _, _ = data(19)
    with pytest.raises(ValueError, match=message):
        solve(X, y, "logistic", **change)


def test_bad_data():
    X, y, _, _ = data(20)
    risk = PatMatRisk.from_labels(y, surrogate("logistic"), 0.1)
    with pytest.raises(ValueError, match="the risk names row"):
        solve_patmat(X[:-5], risk, 1.0)
    with pytest.raises(ValueError, match="scale the features"):
        solve(X * 1e300, y, "squared_hinge")
    with pytest.raises(ValueError, match="scale the features"):
        solve(np.where(X > 2, np.nan, X), y, "squared_hinge")
