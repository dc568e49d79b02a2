"""The Infinite Push's gradient projection over m * n pairs: same optimum as the dual in m + n variables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest
from shortlist.risks.top import TopRisk
from shortlist.solvers.reference import gradient_projection
from shortlist.solvers.reference.gradient_projection import solve_gradient_projection
from shortlist.solvers.reference.nesterov import solve_nesterov
from tests.oracle.top import top_optimum


def problem(seed=0, n_rows=50, d=4, shift=1.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, d))
    y = rng.random(n_rows) < 0.4
    X[y, :2] += shift
    return X, y


def risk_of(y, loss="hinge", **kwargs):
    return TopRisk.from_labels(y, surrogate(loss), Maximum(), **kwargs)


@pytest.mark.parametrize(("C", "tol"), [(1.0, 1e-6), (30.0, 1e-5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_optimum_as_the_oracle_and_the_smaller_dual(C, tol, weighted):
    X, y = problem()
    v = np.random.default_rng(3).integers(0, 4, len(y)) if weighted else None
    risk = risk_of(y, sample_weight=v)
    pairs = solve_gradient_projection(X, risk, C, tol=tol, max_iter=5000)
    rows = solve_nesterov(X, risk, C, tol=tol, stop="gap")
    w, optimum = top_optimum(X, y, C, "hinge", sample_weight=v)
    for solution in (pairs, rows):
        certificate = solution.certificate
        assert certificate.converged
        assert optimum * (1 - 1e-8) <= certificate.primal <= optimum * (1 + tol)
        assert optimum * (1 - tol) <= certificate.bound <= optimum * (1 + 1e-8)
        np.testing.assert_allclose(solution.coef, w, atol=0.02 * np.abs(w).max())
    # The sums over rows and columns of the m * n variables are feasible in the dual of m + n, and as good.
    alpha, beta = pairs.dual[risk.positives], -pairs.dual[risk.negatives]
    u = C * risk.positive_weights
    assert min(alpha.min(), beta.min()) >= 0
    assert (alpha <= u * (1 + 1e-9)).all()
    assert alpha.sum() == pytest.approx(beta.sum(), rel=1e-9)
    image = X.T @ pairs.dual
    bound = -0.5 * image @ image - risk.conjugate(np.minimum(alpha, u), C)
    assert bound == pytest.approx(pairs.certificate.bound, rel=1e-9)
    assert pairs.certificate.primal == pytest.approx(
        0.5 * pairs.coef @ pairs.coef + C * risk.value(X @ pairs.coef), rel=1e-12
    )
    np.testing.assert_allclose(pairs.thresholds, risk.thresholds(X @ pairs.coef))


def test_the_printed_schedule_returns_the_best_dual_iterate():
    X, y = problem()
    risk = risk_of(y)
    seen = []
    solution = solve_gradient_projection(
        X,
        risk,
        1.0,
        tol=0,
        max_iter=200,
        schedule="printed",
        eta0=1e-2,
        callback=lambda n_iter, primal, bound: seen.append((bound, primal)),
    )
    certificate = solution.certificate
    assert certificate.n_iter == 200
    assert (certificate.bound, certificate.primal) == max(seen)
    assert not certificate.converged
    _, optimum = top_optimum(X, y, 1.0, "hinge")
    assert certificate.bound <= optimum * (1 + 1e-9)
    assert certificate.relative_gap < 0.01


def test_the_printed_start():
    X, y = problem()
    risk = risk_of(y)
    solution = solve_gradient_projection(X, risk, 2.0, max_iter=0)
    mean_difference = X[y].mean(axis=0) - X[~y].mean(axis=0)
    np.testing.assert_allclose(solution.coef, 2.0 / 1000 * mean_difference)
    assert solution.certificate.n_passes == 2


def test_a_step_too_long_for_the_printed_schedule_is_survived():
    X, y = problem()
    certificate = solve_gradient_projection(
        X, risk_of(y), 1.0, max_iter=30, schedule="printed", eta0=1e3
    ).certificate
    assert np.isfinite(certificate.primal)
    assert certificate.bound <= certificate.primal


def test_dense_sparse_single_and_double_agree():
    X, y = problem(2)
    risk = risk_of(y)
    reference = solve_gradient_projection(X, risk, 5.0, tol=1e-6, max_iter=5000).certificate.primal
    for other, tol in (
        (sparse.csr_array(X), 1e-6),
        (X.astype(np.float32), 1e-4),
        (sparse.csr_matrix(X.astype(np.float32)), 1e-4),
    ):
        solution = solve_gradient_projection(other, risk, 5.0, tol=tol, max_iter=5000)
        assert solution.coef.dtype == other.dtype
        assert solution.certificate.converged
        assert solution.certificate.primal == pytest.approx(reference, rel=2 * tol)


def test_a_callback_ends_the_run():
    X, y = problem()
    solution = solve_gradient_projection(X, risk_of(y), 5.0, tol=0, callback=lambda k, p, b: k == 4)
    assert solution.certificate.n_iter == 4
    assert solution.certificate.n_passes == 10


def test_degenerate_and_constant_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) < 6
    X[y] *= 0.1
    solution = solve_gradient_projection(X, risk_of(y), 2.0, tol=1e-6, max_iter=5000)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(2.0, rel=1e-6)
    constant = solve_gradient_projection(np.zeros((6, 2)), risk_of(np.arange(6) < 2), 2.0, tol=1e-9)
    assert constant.certificate.converged
    assert constant.certificate.primal == pytest.approx(2.0)


def test_what_the_paper_does_not_cover_is_refused(monkeypatch):
    X, y = problem()
    k_mean = TopRisk.from_labels(y, surrogate("hinge"), MeanOfLargest(3))
    for risk in (k_mean, risk_of(y, groups=np.arange(len(y)) % 2), risk_of(y, "squared_hinge")):
        with pytest.raises(ValueError, match="working-set"):
            solve_gradient_projection(X, risk, 1.0)
    with pytest.raises(ValueError, match="schedule must be"):
        solve_gradient_projection(X, risk_of(y), 1.0, schedule="other")
    monkeypatch.setattr(gradient_projection, "MAX_PAIRS", 100)
    with pytest.raises(ValueError, match="working-set solver finds the same optimum"):
        solve_gradient_projection(X, risk_of(y), 1.0)
