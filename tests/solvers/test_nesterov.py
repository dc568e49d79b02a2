"""TopPush's accelerated dual method: it reaches the certified optimum, and its own stop falls short of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest
from shortlist.risks.top import TopRisk
from shortlist.solvers.reference.nesterov import _resolve, solve_nesterov
from tests.oracle.top import top_optimum


def problem(seed=0, n_rows=60, d=4, shift=1.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, d))
    y = rng.random(n_rows) < 0.4
    X[y, :2] += shift
    return X, y


def risk_of(y, loss, **kwargs):
    return TopRisk.from_labels(y, surrogate(loss), Maximum(), **kwargs)


def gap_by_hand(X, risk, C, solution):
    """Certificate from nothing but the returned arrays."""
    w, dual = solution.coef, solution.dual
    primal = 0.5 * w @ w + C * risk.value(X @ w)
    alpha = np.minimum(dual[risk.positives], C * risk.positive_weights * risk.surrogate.dual_upper)
    beta = -dual[risk.negatives]
    assert alpha.min() >= 0
    assert beta.min() >= 0
    assert alpha.sum() == pytest.approx(beta.sum(), rel=1e-9)
    v = X.T @ dual
    return primal, -0.5 * v @ v - risk.conjugate(alpha, C)


@pytest.mark.parametrize("loss", sorted(SURROGATES))
@pytest.mark.parametrize(("C", "tol"), [(1.0, 1e-6), (30.0, 1e-5)])
def test_the_gap_rule_reaches_the_optimum(loss, C, tol):
    X, y = problem()
    risk = risk_of(y, loss)
    solution = solve_nesterov(X, risk, C, tol=tol, stop="gap")
    w, optimum = top_optimum(X, y, C, loss)
    certificate = solution.certificate
    assert certificate.converged
    assert optimum * (1 - 1e-8) <= certificate.primal <= optimum * (1 + tol)
    assert optimum * (1 - tol) <= certificate.bound <= optimum * (1 + 1e-8)
    np.testing.assert_allclose(solution.coef, w, atol=0.02 * np.abs(w).max())
    primal, bound = gap_by_hand(X, risk, C, solution)
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.bound == pytest.approx(bound, rel=1e-9)
    np.testing.assert_allclose(solution.thresholds, [(X @ solution.coef)[~y].max()])


@pytest.mark.parametrize("loss", sorted(SURROGATES))
def test_weights_count_rows(loss):
    X, y = problem(1, n_rows=40)
    v = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = solve_nesterov(X, risk_of(y, loss, sample_weight=v), 3.0, tol=1e-6, stop="gap")
    rows = np.repeat(np.arange(len(y)), v)
    repeated = solve_nesterov(X[rows], risk_of(y[rows], loss), 3.0, tol=1e-6, stop="gap")
    _, optimum = top_optimum(X, y, 3.0, loss, sample_weight=v)
    for certificate in (weighted.certificate, repeated.certificate):
        assert certificate.converged
        assert certificate.primal == pytest.approx(optimum, rel=2e-6)
    assert not weighted.dual[v == 0].any()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_dense_sparse_single_and_double_agree(loss):
    X, y = problem(2)
    risk = risk_of(y, loss)
    reference = solve_nesterov(X, risk, 5.0, tol=1e-6, stop="gap")
    for other, tol in (
        (sparse.csr_array(X), 1e-6),
        (sparse.csr_matrix(X), 1e-6),
        (np.asfortranarray(X), 1e-6),
        (X.astype(np.float32), 1e-4),
        (sparse.csr_array(X.astype(np.float32)), 1e-4),
    ):
        solution = solve_nesterov(other, risk, 5.0, tol=tol, stop="gap")
        assert solution.coef.dtype == other.dtype
        assert solution.coef.shape == (X.shape[1],)
        assert solution.certificate.converged
        assert solution.certificate.primal == pytest.approx(reference.certificate.primal, rel=2 * tol)


def test_the_printed_rule_stops_early_and_the_certificate_says_so():
    X, y = problem()
    risk = risk_of(y, "squared_hinge")
    values = []

    def watch(n_iter, primal, bound):
        values.append((n_iter, primal, bound))

    solution = solve_nesterov(X, risk, 30.0, tol=1e-4, callback=watch)
    certificate = solution.certificate
    assert not certificate.converged
    assert certificate.relative_gap > 1e-3
    assert [v[0] for v in values] == list(range(1, certificate.n_iter + 1))
    # It returns the last w, and stops when g = -(m/C) bound changes by less than epsilon.
    assert certificate.primal == values[-1][1]
    change = np.abs(np.diff([0.0] + [v[2] for v in values])) * len(risk.positives) / 30.0
    assert change[-1] < 1e-4
    assert (change[:-1] >= 1e-4).all()
    # Every bound that was ever reported is one.
    _, optimum = top_optimum(X, y, 30.0, "squared_hinge")
    assert max(v[2] for v in values) <= optimum * (1 + 1e-9)
    assert min(v[1] for v in values) >= optimum * (1 - 1e-9)
    primal, bound = gap_by_hand(X, risk, 30.0, solution)
    assert primal == pytest.approx(certificate.primal)
    assert bound == pytest.approx(certificate.bound)


def test_a_smaller_epsilon_comes_closer():
    X, y = problem()
    risk = risk_of(y, "squared_hinge")
    # In the bound, that is: the objective of w swings while the momentum lasts.
    bounds = [solve_nesterov(X, risk, 3.0, tol=eps).certificate.bound for eps in (1e-2, 1e-5, 1e-10)]
    assert bounds[0] < bounds[1] < bounds[2]
    assert bounds[2] == pytest.approx(top_optimum(X, y, 3.0, "squared_hinge")[1], rel=1e-6)


def test_each_end_of_the_run():
    X, y = problem()
    risk = risk_of(y, "squared_hinge")
    assert solve_nesterov(X, risk, 5.0, tol=0, max_iter=7).certificate.n_iter == 7
    assert solve_nesterov(X, risk, 5.0, tol=0, callback=lambda k, p, b: k == 3).certificate.n_iter == 3
    _, optimum = top_optimum(X, y, 5.0, "squared_hinge")
    for stop in ("paper", "gap"):
        certificate = solve_nesterov(X, risk, 5.0, tol=0, stop=stop, target=1.01 * optimum).certificate
        assert optimum <= certificate.primal <= 1.01 * optimum
        assert certificate.n_iter < 10_000
    nothing = solve_nesterov(X, risk, 5.0, max_iter=0)
    assert not nothing.coef.any()
    assert nothing.certificate.primal == 5.0


def test_passes_are_counted():
    X, y = problem()

    class Counting:
        """A matrix that counts its products."""

        def __init__(self, X, calls):
            self.X, self.calls, self.shape, self.dtype = X, calls, X.shape, X.dtype

        @property
        def T(self):
            return Counting(self.X.T, self.calls)

        def __matmul__(self, v):
            self.calls.append(v.shape)
            return self.X @ v

        def __array__(self, dtype=None, copy=None):
            return self.X

    calls = []
    solution = solve_nesterov(Counting(X, calls), risk_of(y, "squared_hinge"), 5.0, max_iter=20, tol=0)
    assert solution.certificate.n_passes == len(calls) + 1  # and the pass for the norm of X


def test_the_degenerate_optimum_is_zero_and_proven():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.arange(60) < 8
    X[y] *= 0.1  # the mean of the positives is deep among the negatives
    solution = solve_nesterov(X, risk_of(y, "squared_hinge"), 2.0, tol=1e-8, stop="gap")
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(2.0, rel=1e-8)
    assert np.abs(solution.coef).max() < 1e-3


def test_a_constant_matrix_is_no_accident():
    X, y = np.zeros((6, 2)), np.arange(6) < 2
    for loss, at_zero in (("squared_hinge", 1), ("hinge", 1), ("logistic", np.log(2)), ("exponential", 1)):
        solution = solve_nesterov(X, risk_of(y, loss), 2.0, tol=1e-6, stop="gap")
        assert solution.certificate.primal == pytest.approx(2 * at_zero)
        assert solution.certificate.converged


def test_what_the_paper_does_not_cover_is_refused():
    X, y = problem()
    k_mean = TopRisk.from_labels(y, surrogate("squared_hinge"), MeanOfLargest(3))
    grouped = risk_of(y, "squared_hinge", groups=np.arange(len(y)) % 2)
    for risk in (k_mean, grouped):
        with pytest.raises(ValueError, match="working-set"):
            solve_nesterov(X, risk, 1.0)
    with pytest.raises(ValueError, match="stop must be"):
        solve_nesterov(X, risk_of(y, "hinge"), 1.0, stop="soon")


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_proximal_equation_is_solved_everywhere(loss):
    x = np.concatenate([np.linspace(-60, 60, 121), [-1e6, -700.0, 700.0, 1e6]])
    for kappa in (1e-8, 1e-2, 1.0, 1e3, 1e9):
        k = np.full_like(x, kappa)
        l = surrogate(loss)
        z = _resolve(l, x.copy(), k)
        assert (np.abs(z + k * l.derivative(z) - x) <= 1e-9 * (np.abs(x) + min(kappa, 1e6))).all()
