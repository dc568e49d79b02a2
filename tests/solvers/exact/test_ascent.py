"""The ascent: never worse than where it begins, the same for a seed, honest about what it has not proven."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shortlist.solvers.exact import ascent, compiled_ascent
from shortlist.solvers.exact.ascent import Climber, solve_ascent
from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound
from shortlist.solvers.exact.problem import RankProblem
from tests.oracle.exact import best_value
from tests.solvers.exact.box_cases import preferences
from tests.solvers.exact.cases import small_medium, small_problem

PROBLEM = small_medium(0, "dcg", n=40, m=14, d=4)
PRICED = small_medium(1, "dcg", n=40, m=14, d=5, l0=0.05)
EASY = RankProblem.of(np.arange(6.0)[:, None], np.arange(6) > 3, "dcg")

needs_numba = pytest.mark.skipif(not compiled_ascent.available(), reason="needs Numba")
FORMS = [pytest.param(False, id="arrays"), pytest.param(True, id="compiled", marks=needs_numba)]


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("problem", [PROBLEM, PRICED], ids=["free", "priced"])
def test_it_ends_near_the_proven_best(problem, compiled):
    proven = solve_branch_and_bound(problem, time_limit=None, max_nodes=50_000, random_state=0).certificate
    solution = solve_ascent(problem, n_starts=10, random_state=0, compiled=compiled)
    assert proven.proven
    assert 0.99 * proven.value <= solution.certificate.value <= proven.value + 1e-9
    assert problem.value(solution.coef) == solution.certificate.value
    assert np.abs(solution.coef).max() == 1.0


def test_most_small_problems_are_solved():
    hits = 0
    for number in range(40):
        problem = small_problem(number)
        value = solve_ascent(problem, n_starts=5, max_steps=100, random_state=0).certificate.value
        best = best_value(problem)
        assert value <= best + 1e-9
        hits += value >= best - 1e-9
    assert hits >= 37


@pytest.mark.parametrize("problem", [PROBLEM, PRICED, preferences(0)], ids=["free", "priced", "preferences"])
def test_the_same_for_a_seed(problem):
    one, two = (solve_ascent(problem, n_starts=4, max_steps=120, random_state=3) for _ in range(2))
    assert one.coef.tolist() == two.coef.tolist()
    other = solve_ascent(problem, n_starts=4, max_steps=120, random_state=np.random.default_rng(3))
    assert one.coef.tolist() == other.coef.tolist()


def test_the_certificate_claims_the_trivial_bound_and_no_more():
    solution = solve_ascent(PROBLEM, n_starts=3, random_state=0)
    certificate = solution.certificate
    assert certificate.bound == certificate.trivial_bound == PROBLEM.trivial_bound
    assert not certificate.proven and certificate.method == "ascent" and certificate.nodes > 0
    assert solve_ascent(EASY, random_state=0).certificate.proven


def test_weights_to_begin_with_are_never_lost():
    best = solve_ascent(PROBLEM, n_starts=10, random_state=0)
    again = solve_ascent(PROBLEM, n_starts=0, start=[np.zeros(4), 5 * best.coef], random_state=1)
    assert again.certificate.value == best.certificate.value and again.certificate.nodes == 0
    assert again.coef == pytest.approx(best.coef)


def test_it_ends_where_it_is_told():
    assert solve_ascent(PROBLEM, n_starts=None, max_steps=37, random_state=0).certificate.nodes == 37
    # A clock that runs by itself: the time is up in the midst of convex starts, and of climbs.
    for seconds in (0.0, 3.0, 60.0):
        ticks = iter(range(10**6))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ascent, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: float(next(ticks))))
            solution = solve_ascent(PROBLEM, n_starts=None, time_limit=seconds, random_state=0)
        assert solution.certificate.seconds >= seconds
        assert (solution.certificate.nodes > 0) == (seconds == 60.0)


def test_something_has_to_end_it():
    with pytest.raises(ValueError, match="n_starts=None never ends by itself: give time_limit"):
        solve_ascent(PROBLEM, n_starts=None)


def test_a_callback_is_told_and_ends_it():
    heard = []
    solution = solve_ascent(PROBLEM, n_starts=5, random_state=0, callback=lambda p: heard.append(p))
    assert [p.note for p in heard] == ["given weights", *(f"climb {k}" for k in range(1, 6))]
    values = [p.value for p in solution.trace]
    assert values == sorted(values) and solution.trace[-1].note == "end"
    for stop_at in (1, 3):
        calls = []
        short = solve_ascent(
            PROBLEM,
            n_starts=9,
            random_state=0,
            callback=lambda p, calls=calls, k=stop_at: (calls.append(p), len(calls) >= k)[1],
        )
        assert len(calls) == stop_at
        assert short.certificate.value >= calls[-1].value


@pytest.mark.parametrize("place", ["given", "convex"])
def test_at_the_top_it_looks_no_further(place):
    start = [np.ones(1)] if place == "given" else []
    solution = solve_ascent(EASY, start=start, random_state=0)
    assert solution.certificate.nodes == 0 and solution.certificate.value == EASY.trivial_bound


def test_columns_that_are_constant_are_not_climbed():
    same = RankProblem.of(np.ones((5, 2)), np.arange(5) < 2, "dcg")
    climber = Climber(same, np.random.default_rng(0))
    assert len(climber.varies) == 0
    assert climber.climb(np.ones(2)) == same.floor and climber.n_lines == 0
    solution = solve_ascent(same, random_state=0)
    assert solution.certificate.value == same.floor


def test_the_origin_has_no_direction():
    with pytest.raises(ValueError, match="cannot climb from w = 0"):
        Climber(PROBLEM, np.random.default_rng(0)).climb(np.zeros(4))


@pytest.mark.parametrize("problem", [PROBLEM, PRICED], ids=["free", "priced"])
def test_a_climb_is_never_worse_than_its_start(problem):
    climber = Climber(problem, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(12):
        w = rng.normal(size=problem.X.shape[1])
        start, lines = problem.value(w), climber.n_lines
        reached = climber.climb(w, max_steps=20)
        assert reached >= start
        assert climber.best_value >= reached - 1e-9
        assert climber.n_lines - lines <= 20
        assert problem.value(climber.best_w) == climber.best_value


def test_patience_is_lines_in_vain(monkeypatch):
    climber = Climber(PROBLEM, np.random.default_rng(0))
    climber.climb(solve_ascent(PROBLEM, n_starts=10, random_state=0).coef, patience=5)
    assert climber.n_lines == 5


def test_an_answer_of_equal_value_replaces_the_origin_alone():
    same = RankProblem.of(np.array([[0.0], [1.0]]), np.array([True, True]), "winner_takes_all")
    climber = Climber(same, np.random.default_rng(0))
    level = RankProblem.of(np.array([[0.0], [1.0], [2.0]]), np.array([False, True, False]), "winner_takes_all")
    climber = Climber(level, np.random.default_rng(0))
    assert climber.offer(np.array([2.0])) == 0.0 == climber.best_value
    # Any order is worth as much as none, and says more.
    assert climber.best_w.tolist() == [1.0]
    climber.offer(np.array([-1.0]))
    assert climber.best_w.tolist() == [1.0]


def test_a_perturbed_answer_stays_in_its_support_where_that_is_paid_for():
    for problem, within in ((PRICED, {1, 3}), (PROBLEM, {0, 1, 2, 3})):
        climber = Climber(problem, np.random.default_rng(0))
        climber.best_w = np.eye(problem.X.shape[1])[1] - 0.5 * np.eye(problem.X.shape[1])[3]
        for strength in (0.01, 1.0):
            w = climber.perturbed(strength)
            assert set(np.flatnonzero(w)) == within and np.abs(w).max() == 1.0
        near = climber.perturbed(1e-6)
        assert near == pytest.approx(climber.best_w, abs=1e-4)
    empty = Climber(PRICED, np.random.default_rng(0))
    assert not empty.best_w.any() and empty.perturbed().any()


def test_a_price_is_paid_for_what_it_is_worth_only():
    sizes = [
        np.count_nonzero(solve_ascent(small_medium(1, "dcg", n=40, m=14, d=5, l0=l0), random_state=0).coef)
        for l0 in (0.0, 0.1, 5.0)
    ]
    assert sizes[0] == 5 and sizes[1] < 5 and sizes[2] <= 1


def test_many_supports_are_forgotten(monkeypatch):
    monkeypatch.setattr(ascent, "METRICS", 2)
    solution = solve_ascent(PRICED, n_starts=4, max_steps=100, random_state=0)
    monkeypatch.undo()
    again = solve_ascent(PRICED, n_starts=4, max_steps=100, random_state=0)
    assert solution.coef.tolist() == again.coef.tolist()


def test_long_lines_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(ascent, "EVENTS", 60)
    climber = Climber(PROBLEM, np.random.default_rng(0))
    climber.climb(np.array([1.0, 0.2, -0.5, 0.1]), patience=30)
    short = climber._reach
    assert short < ascent.WHOLE
    monkeypatch.setattr(ascent, "EVENTS", 10**6)
    climber.climb(np.array([1.0, 0.2, -0.5, 0.1]), patience=30)
    assert short < climber._reach <= ascent.WHOLE


@pytest.mark.parametrize("scale", [1e-150, 1e-50, 1e50, 1e100, 1e150])
@pytest.mark.parametrize("margin", [1e-4, 1e40])
def test_odd_scales_do_no_harm(scale, margin):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1.0, scale]
    problem = RankProblem.of(X, np.arange(20) < 6, "dcg", margin=margin)
    solution = solve_ascent(problem, n_starts=3, max_steps=50, random_state=0)
    assert np.isfinite(solution.coef).all() and problem.value(solution.coef) == solution.certificate.value


def test_more_columns_than_a_covariance_is_made_for(monkeypatch):
    monkeypatch.setattr(ascent, "WIDEST", 2)
    climber = Climber(PROBLEM, np.random.default_rng(0))
    assert climber._covariance is None
    assert climber.climb(np.ones(4)) > PROBLEM.floor


@pytest.mark.parametrize("kind", ["equal positives", "wide margin", "neither", "resolved", "preferences", "too many"])
def test_positives_that_tie_are_counted_where_they_matter(kind, monkeypatch):
    if kind == "too many":
        monkeypatch.setattr(ascent, "ROW_PAIRS", 10)
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.arange(20) < 8
    if kind in ("equal positives", "too many"):
        X[1] = X[0]
    problem = RankProblem.of(
        X,
        y,
        "dcg",
        margin=0.5 if kind == "wide margin" else 1e-4,
        ranks="resolved" if kind == "resolved" else "subrank",
    )
    problem = preferences(0) if kind == "preferences" else problem
    scope = {"equal positives": "rows", "wide margin": "rows", "preferences": "preferences"}.get(kind, "negatives")
    assert Climber(problem, np.random.default_rng(0)).pairs.scope == scope
