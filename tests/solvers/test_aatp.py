"""Accuracy at the Top against a solver that tries every candidate, against itself, and against bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.solvers import aatp as module
from shortlist.solvers import aatp_candidate as candidate_module
from shortlist.solvers.aatp import AATPSolution, solve_aatp
from shortlist.solvers.aatp_candidate import Candidates
from tests.oracle import quantile as oracle


def data(seed=0, n=24, d=3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    y[:2] = True, False
    X = rng.standard_normal((n, d))
    X[y, 0] += 1.0
    return X, y, rng.integers(0, 3, size=n).astype(float)


@pytest.mark.parametrize("weighting", ["classes", "rows"])
@pytest.mark.parametrize(
    ("seed", "tau", "C"), [(0, 0.2, 1.0), (1, 0.5, 30.0), (2, 0.1, 5.0), (3, 0.33, 100.0)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_choice_is_the_best_of_all_candidates(weighting, seed, tau, C, weighted):
    X, y, weights = data(seed)
    weights = weights if weighted else None
    values, violations = oracle.aatp(X, y, tau, C, weights=weights, weighting=weighting)
    found = solve_aatp(X, y, tau, C, sample_weight=weights, weighting=weighting, tol=1e-9)
    assert found.certificate.converged
    least = violations.min()
    assert found.violation == pytest.approx(least, abs=1e-9)
    assert found.quantile_satisfied == (least < 1e-9)
    best = values[violations <= least + 1e-9].min()
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert values[found.candidate] == pytest.approx(best, rel=1e-6)
    assert violations[found.candidate] == pytest.approx(least, abs=1e-9)
    assert found.n_solved + found.n_pruned == np.isfinite(values).sum()
    assert found.exhaustive


def test_the_certificate_and_the_dual_can_be_recomputed():
    X, y, weights = data(4, n=60)
    C, tau = 20.0, 0.25
    for tol in (1e-3, 1e-9):
        found = solve_aatp(X, y, tau, C, sample_weight=weights, tol=tol)
        assert isinstance(found, AATPSolution)
        c = found.certificate
        assert c.converged
        costs = oracle.aatp_costs(y, C, weights, "classes")
        q, sign = found.candidate, np.where(y, 1.0, -1.0)
        scores = X @ found.coef
        assert found.thresholds[0] == scores[q]
        primal = found.coef @ found.coef / 2 + costs @ np.maximum(1 - sign * (scores - scores[q]), 0)
        assert c.primal == pytest.approx(primal, rel=1e-12)
        # The row q itself costs its share whatever w; all other multipliers are in the dual vector.
        others = np.arange(len(y)) != q
        assert found.dual.sum() == pytest.approx(0, abs=1e-10)
        alpha = (found.dual * sign)[others]
        assert np.all((alpha >= 0) & (alpha <= costs[others] * (1 + 1e-12)))
        v = X.T @ found.dual
        assert alpha.sum() + costs[q] - v @ v / 2 == pytest.approx(c.bound, abs=2 * tol * c.primal)
        assert not found.dual[(weights == 0) & others].any()
    np.testing.assert_allclose(v, found.coef, atol=1e-3)


def candidates(seed, tau=0.3, C=5.0, n=16, d=3):
    X, y, weights = data(seed, n=n, d=d)
    weights = weights + 1
    costs = oracle.aatp_costs(y, C, weights, "classes")
    return Candidates(X, np.where(y, 1.0, -1.0), costs, weights / weights.sum(), tau)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 5.0, 200.0]), st.sampled_from([0.1, 0.4]))
def test_bounds_hold_at_every_step(seed, C, tau):
    """Weak duality for all candidates at once, and the ball around each iterate holds the optimum."""
    problem = candidates(seed, tau, C)
    n = len(problem.y)
    optima = [min(problem.iterates(q, 60), key=lambda at: at.gap) for q in range(n)]
    best = np.array([at.primal for at in optima])
    assert all(at.gap <= 1e-7 * at.primal for at in optima)
    rng = np.random.default_rng(seed)
    for _ in range(3):  # without and with the free threshold's multipliers
        alpha = problem.costs * rng.random(n)
        assert np.all(problem.bounds(alpha) <= best * (1 + 1e-9))
        problem.free_threshold(1e-8, 50)
    assert np.all(problem.bounds(np.zeros(n)) <= best * (1 + 1e-9))
    for q in range(0, n, 4):
        for at in problem.iterates(q, 60):
            assert at.bound <= best[q] * (1 + 1e-9)
            assert at.least_violation <= optima[q].violation
            assert np.all(problem.bounds(at.alpha) <= best * (1 + 1e-9))


def test_a_candidates_own_multipliers_give_its_optimum_back():
    problem = candidates(7)
    problem.free_threshold(1e-10, 60)
    for q in range(5):
        at = min(problem.iterates(q, 60), key=lambda at: at.gap)
        assert problem.bounds(at.alpha)[q] == pytest.approx(at.primal, rel=1e-6)


@pytest.mark.parametrize(
    "kind", ["csr", "csc", "float32", "csr32", "permuted", "shifted", "wide", "wide csr"]
)
def test_twins(kind):
    X, y, weights = data(8, n=50, d=4)
    X[np.abs(X) < 0.3] = 0
    order = np.random.default_rng(0).permutation(len(y)) if kind == "permuted" else np.arange(len(y))
    wide = np.hstack([X, np.zeros((len(y), 60))])
    twin = {
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "csr32": lambda: sp.csr_array(X.astype(np.float32)),
        "permuted": lambda: X[order],
        "shifted": lambda: X + 5.0,
        "wide": lambda: wide,
        "wide csr": lambda: sp.csr_array(wide),
    }[kind]()
    short = kind.endswith("32")
    reference = solve_aatp(X, y, 0.2, 10.0, sample_weight=weights, tol=1e-9)
    found = solve_aatp(twin, y[order], 0.2, 10.0, sample_weight=weights[order], tol=1e-5 if short else 1e-9)
    assert found.certificate.converged
    assert found.coef.dtype == twin.dtype
    assert found.certificate.primal == pytest.approx(
        reference.certificate.primal, rel=3e-5 if short else 1e-8
    )
    assert order[found.candidate] == reference.candidate
    np.testing.assert_allclose(found.coef[:4], reference.coef, atol=2e-2 if short else 1e-3)
    assert not found.coef[4:].any()


def test_weights_are_repetition():
    X, y, weights = data(9, n=40)
    times = weights.astype(int)
    weighted = solve_aatp(X, y, 0.3, 10.0, sample_weight=weights, tol=1e-9)
    repeated = solve_aatp(np.repeat(X, times, axis=0), np.repeat(y, times), 0.3, 10.0, tol=1e-9)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-8)
    assert weighted.violation == pytest.approx(repeated.violation, abs=1e-9)
    assert np.repeat(np.arange(40), times)[repeated.candidate] == weighted.candidate


def test_most_candidates_are_ruled_out_early():
    X, y, _ = data(10, n=400, d=5)
    seen = []
    found = solve_aatp(X, y, 0.2, 1.0, callback=lambda *a: seen.append(a))
    assert found.quantile_satisfied
    assert found.n_solved < 40
    assert found.certificate.n_iter < 6 * 400
    assert found.n_solved + found.n_pruned == 400
    assert all(bound <= primal for _, primal, bound in seen)
    assert seen[-1][1] == pytest.approx(found.certificate.primal)
    scores = X @ found.coef
    assert (scores > found.thresholds[0]).mean() <= 0.2 <= (scores >= found.thresholds[0] - 1e-12).mean()


@pytest.mark.parametrize("most", [1, 5, 60])
def test_a_subset_of_candidates(most):
    X, y, _ = data(11, n=200, d=5)
    everything = solve_aatp(X, y, 0.2, 2.0)
    some = solve_aatp(X, y, 0.2, 2.0, max_candidates=most)
    assert not some.exhaustive
    assert some.n_solved + some.n_pruned == most
    rank = (everything.violation, everything.certificate.primal * (1 - 1e-3))
    assert (some.violation, some.certificate.primal) >= rank
    assert solve_aatp(X, y, 0.2, 2.0, max_candidates=200).exhaustive


def test_an_unreachable_quantile_is_said():
    """Far from tau, C large: the program places every positive above the threshold, too many."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((30, 2)) + 6, rng.standard_normal((10, 2))])
    y = np.arange(40) < 30
    found = solve_aatp(X, y, 0.05, 1e4)
    assert not found.quantile_satisfied
    assert found.violation > 0.01
    assert found.certificate.converged
    assert found.n_solved + found.n_pruned == 40


def test_the_degenerate_optimum_is_exactly_zero():
    """Equal class means: w = 0 solves every candidate, whatever C."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((8, 3))
    X = np.vstack([half, -half, 2 * half, -2 * half])
    found = solve_aatp(X, np.arange(32) < 16, 0.2, 100.0)
    assert not found.coef.any()
    assert found.certificate.relative_gap < 1e-12
    assert not solve_aatp(np.ones((6, 2)), np.arange(6) < 3, 0.5, 1.0).coef.any()


def test_an_exhausted_budget_is_said():
    X, y, _ = data(12)
    found = solve_aatp(X, y, 0.2, 100.0, max_iter=1)
    assert not found.certificate.converged
    assert found.certificate.bound <= found.certificate.primal


def test_one_group_is_no_group():
    X, y, _ = data(13)
    plain = solve_aatp(X, y, 0.2, 1.0)
    grouped = solve_aatp(X, y, 0.2, 1.0, groups=np.full(len(y), "a"))
    np.testing.assert_array_equal(plain.coef, grouped.coef)
    with pytest.raises(ValueError, match="knows no groups"):
        solve_aatp(X, y, 0.2, 1.0, groups=np.arange(len(y)) % 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0.0}, "tau is a share"),
        ({"tau": 1.0}, "tau is a share"),
        ({"tau": np.nan}, "tau is a share"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"C": np.inf}, "C must be a positive number"),
        ({"weighting": "none"}, "weighting must be 'classes' or 'rows'"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_candidates": 0}, "max_candidates must be at least 1"),
        ({"sample_weight": np.ones(3)}, "sample_weight needs one entry a row"),
        ({"is_positive": np.ones(3, dtype=bool)}, "is_positive needs one entry a row"),
        ({"is_positive": np.ones(24, dtype=bool)}, "needs a positive and a negative row"),
    ],
)
def test_bad_arguments(change, message):
    X, y, _ = data(14)
    arguments = {"is_positive": y, "tau": 0.2, "C": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        solve_aatp(X, **arguments)


def test_bad_data(monkeypatch):
    X, y, _ = data(15)
    for bad in (np.nan, np.inf, 1e200):
        broken = X.copy()
        broken[0, 0] = bad
        for form in (broken, sp.csr_array(broken), np.hstack([broken] * 20)):
            with pytest.raises(ValueError, match="finite, moderate numbers"), np.errstate(all="ignore"):
                solve_aatp(form, y, 0.2, 1.0)
    monkeypatch.setattr(candidate_module, "hinge_iterates", lambda *a, **k: iter(()))
    with pytest.raises(ValueError, match="no finite step"):
        solve_aatp(X, y, 0.2, 1.0)
    monkeypatch.setattr(module, "MOST_NUMBERS", 10)
    with pytest.raises(ValueError, match="too large: use PatMat"):
        solve_aatp(X, y, 0.2, 1.0)
