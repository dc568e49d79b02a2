"""The certified solver against an independent one, and against itself in other clothes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest, TailMean
from shortlist.risks.top import TopRisk
from shortlist.solvers.interior import choice, search
from shortlist.solvers.working_set import solve_top
from tests.oracle.top import top_optimum

THRESHOLDS = {"max": (Maximum(), ("max",)), "k": (MeanOfLargest(3), ("k", 3)), "tau": (TailMean(0.2), ("tau", 0.2))}
LOSSES = sorted(SURROGATES)


def noisy(n=90, d=6, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = shift * X[:, 0] + rng.normal(size=n) > 0.6
    return X, y


def risk_of(y, loss="squared_hinge", threshold=None, **kwargs):
    return TopRisk.from_labels(y, surrogate(loss), threshold or Maximum(), **kwargs)


def assert_same_optimum(a, b, rtol=1e-6):
    np.testing.assert_allclose(a.certificate.primal, b.certificate.primal, rtol=rtol)
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-3, atol=1e-3 * np.abs(b.coef).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", sorted(THRESHOLDS))
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_it_reaches_the_optimum_of_an_independent_solver(loss, kind, grouped, C):
    X, y = noisy(seed=LOSSES.index(loss))
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 3, len(y)) if grouped else None
    weights = rng.integers(0, 4, len(y)).astype(float)
    threshold, oracle = THRESHOLDS[kind]
    risk = risk_of(y, loss, threshold, groups=groups, sample_weight=weights)
    solution = solve_top(X, risk, C, tol=1e-8)
    _, objective = top_optimum(X, y, C, loss, threshold=oracle, groups=groups, sample_weight=weights)
    certificate = solution.certificate
    assert certificate.converged and certificate.relative_gap <= 1e-8
    assert certificate.primal == pytest.approx(objective, rel=1e-6)
    assert certificate.bound <= objective * (1 + 1e-7)


@pytest.mark.parametrize("kind", sorted(THRESHOLDS))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_is_what_the_risk_and_the_dual_say(loss, kind):
    X, y = noisy(n=200, seed=3)
    risk = risk_of(y, loss, THRESHOLDS[kind][0])
    C = 10.0
    s = solve_top(X, risk, C, tol=1e-6)
    scores = X @ s.coef
    primal = 0.5 * s.coef @ s.coef + C * risk.value(scores)
    assert s.certificate.primal == pytest.approx(primal, rel=1e-9)
    alpha, beta = s.dual[risk.positives], -s.dual[risk.negatives]
    assert alpha.min() >= 0 and beta.min() >= 0
    assert alpha.sum() == pytest.approx(beta.sum(), rel=1e-9)
    if risk.caps is not None:
        assert np.all(beta <= risk.caps * alpha.sum() * (1 + 1e-9))
    bound = -0.5 * np.sum((X.T @ s.dual) ** 2) - risk.conjugate(alpha, C)
    assert s.certificate.bound == pytest.approx(bound, rel=1e-9)
    np.testing.assert_allclose(s.thresholds, risk.thresholds(scores), rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 60),
    d=st.integers(1, 90),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(sorted(THRESHOLDS)),
    integers=st.booleans(),
)
def test_any_small_problem_is_certified(seed, n, d, C, loss, kind, integers):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, d)).astype(float) if integers else rng.normal(size=(n, d))
    y = np.arange(n) % 3 == 0
    risk = risk_of(y, loss, THRESHOLDS[kind][0])
    certificate = solve_top(X, risk, C, tol=1e-6).certificate
    assert certificate.converged
    assert certificate.bound <= certificate.primal * (1 + 1e-12)


@pytest.mark.parametrize("kind", sorted(THRESHOLDS))
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("limits", [{}, {"MOST_COLUMNS": 0}, {"MOST_COLUMNS": 0, "MOST_ROWS": 0}])
@pytest.mark.parametrize("shape", [(1500, 12), (250, 400)])
def test_every_form_of_the_newton_system_leads_to_the_same_optimum(monkeypatch, shape, limits, loss, kind):
    n, d = shape
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    y = X[:, :5].sum(axis=1) + rng.normal(size=n) > 1.5
    risk = risk_of(y, loss, THRESHOLDS[kind][0], groups=np.arange(n) % 2)
    reference = solve_top(X, risk, 10.0, tol=1e-6)
    for name, value in limits.items():
        monkeypatch.setattr(choice, name, value)
    for storage in (X, sparse.csr_array(X)):
        other = solve_top(storage, risk, 10.0, tol=1e-6)
        assert other.certificate.converged
        assert_same_optimum(other, reference, rtol=3e-6)


def test_many_negatives_need_few_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = X[:, 0] + 2 * rng.normal(size=len(X)) > 4.5
    seen = []
    s = solve_top(X, risk_of(y), 100.0, callback=lambda *state: seen.append(state))
    assert s.certificate.converged
    assert np.count_nonzero(s.dual < 0) < 3_000
    assert s.certificate.n_passes < 100
    steps, objectives, bounds = (list(column) for column in zip(*seen, strict=True))
    assert steps == sorted(steps)
    assert objectives == sorted(objectives, reverse=True)
    assert bounds == sorted(bounds)


def test_rows_in_another_order_give_the_same_answer():
    X, y = noisy(n=3000, d=8, seed=9)
    order = np.random.default_rng(2).permutation(len(y))
    a, b = (solve_top(X[p], risk_of(y[p]), 10.0, tol=1e-9) for p in (np.arange(len(y)), order))
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-4, atol=1e-6)


def test_weights_are_repetitions():
    X, y = noisy(seed=4)
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    for threshold, _ in THRESHOLDS.values():
        weighted = solve_top(X, risk_of(y, threshold=threshold, sample_weight=weights), 10.0, tol=1e-9)
        rows = np.repeat(np.arange(len(y)), weights)
        repeated = solve_top(X[rows], risk_of(y[rows], threshold=threshold), 10.0, tol=1e-9)
        np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-5, atol=1e-7)


def test_single_precision_stays_single_and_is_certified():
    X, y = noisy(n=500)
    X = X.astype(np.float32)
    s = solve_top(X, risk_of(y), 10.0)
    assert s.coef.dtype == np.float32
    assert s.certificate.converged
    reference = solve_top(X.astype(float), risk_of(y), 10.0)
    assert s.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-4)


def test_a_warm_start_saves_steps_and_changes_nothing():
    X, y = noisy(n=4000, d=20, seed=6)
    risk = risk_of(y)
    cold = solve_top(X, risk, 12.0, tol=1e-6)
    near = solve_top(X, risk, 10.0, tol=1e-6)
    for start in (near, near.coef):
        warm = solve_top(X, risk, 12.0, tol=1e-6, start=start)
        assert warm.certificate.converged
        assert_same_optimum(warm, cold, rtol=3e-6)
    assert solve_top(X, risk, 12.0, tol=1e-6, start=near).certificate.n_iter <= cold.certificate.n_iter
    with pytest.raises(ValueError, match="coefficients"):
        solve_top(X, risk, 1.0, start=np.zeros(3))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_degenerate_optimum_is_exactly_zero_and_proven(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.arange(400) % 4 == 0
    s = solve_top(X, risk_of(y, loss), 1e4)
    assert not s.coef.any()
    assert s.certificate.relative_gap <= 1e-9
    assert s.certificate.primal == pytest.approx(1e4 * float(surrogate(loss).value(np.zeros(1))[0]))


def test_a_fit_that_ranks_something_is_not_taken_for_degenerate():
    # The optimum lies a hair below that of w = 0: a gap of 1e-4 alone would accept w = 0.
    X, y = noisy(n=400, d=2, seed=8)
    X = 1e-3 * X
    X[~y, 0] -= 1e-2
    s = solve_top(X, risk_of(y), 1.0)
    assert s.coef.any()
    assert s.certificate.primal < 1.0
    assert s.certificate.gap <= 0.51 * (1.0 - s.certificate.bound)


@pytest.mark.parametrize("scale", [1e-7, 1e-9, 1e-30])
def test_tiny_features_are_told_from_a_degenerate_optimum(scale):
    # w earns less over w = 0 than rounding lets the objective show; the direction is still that of larger features.
    X, y = noisy(n=300, d=3, seed=8)
    X[~y, 0] -= 4.0
    reference = solve_top(1e-3 * X, risk_of(y), 1.0, tol=1e-9).coef / 1e-3
    s = solve_top(scale * X, risk_of(y), 1.0)
    assert s.certificate.converged
    np.testing.assert_allclose(s.coef / scale, reference, rtol=2e-2, atol=2e-2 * np.abs(reference).max())
    inside = np.random.default_rng(0).normal(size=(400, 3)) * scale
    assert not solve_top(inside, risk_of(np.arange(400) % 4 == 0), 1.0).coef.any()


def test_hostile_numbers():
    X, y = noisy()
    with pytest.raises(ValueError, match="scale"), np.errstate(all="ignore"):
        solve_top(X * 1e300, risk_of(y), 1.0)
    constant = solve_top(np.ones((20, 2)), risk_of(np.arange(20) < 5), 1.0)
    assert not constant.coef.any() and constant.certificate.converged
    assert solve_top(np.zeros((20, 0)), risk_of(np.arange(20) < 5), 1.0).coef.shape == (0,)
    pair = solve_top(np.array([[1.0], [0.0]]), risk_of(np.array([True, False])), 1e3, tol=1e-8)
    assert pair.coef[0] == pytest.approx(2000 / 2001, rel=1e-6)


def test_it_stops_at_its_limit_with_an_honest_gap():
    X, y = noisy(n=3000, d=30, seed=1)
    s = solve_top(X, risk_of(y), 1e4, tol=1e-10, max_iter=3)
    assert s.certificate.n_iter == 3
    assert not s.certificate.converged
    full = solve_top(X, risk_of(y), 1e4, tol=1e-8)
    assert s.certificate.bound <= full.certificate.primal <= s.certificate.primal * (1 + 1e-12)


def test_leaving_negatives_do_not_break_the_bound(monkeypatch):
    monkeypatch.setattr(search, "SMALL", 10)
    monkeypatch.setattr(search, "FIRST_TOP", 5)
    monkeypatch.setattr(search, "FIRST_SPREAD", 10)
    monkeypatch.setattr(search, "MOST_NEWCOMERS", 7)
    X, y = noisy(n=600, d=5, seed=12)
    for threshold, oracle in THRESHOLDS.values():
        s = solve_top(X, risk_of(y, threshold=threshold), 10.0, tol=1e-7)
        _, objective = top_optimum(X, y, 10.0, "squared_hinge", threshold=oracle)
        assert s.certificate.converged
        assert s.certificate.primal == pytest.approx(objective, rel=1e-6)
