"""Branch and bound: honest at every end, the same every time, and sound without its ascent and with little memory."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shortlist.solvers.exact import branch_and_bound as module
from shortlist.solvers.exact import chart
from shortlist.solvers.exact.branch_and_bound import _Search, solve_branch_and_bound
from shortlist.solvers.exact.compiled import available
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from tests.oracle.exact import best_value, exact_value
from tests.solvers.exact.cases import small_medium, small_problem

# The arguments of a search that nothing ends but its proof.
NOTHING: dict[str, Any] = {
    "time_limit": None,
    "max_nodes": None,
    "gap_tol": 0.0,
    "max_memory": 1e9,
    "n_jobs": 1,
    "random_state": 0,
    "callback": None,
    "compiled": None,
}
# Some thousand boxes to prove.
LONG = small_medium(0, "dcg", n=40, m=14, d=5)
PRICED = small_medium(3, "dcg", n=24, m=8, d=3, l0=0.05)


@lru_cache(maxsize=2)
def undisturbed(which):
    problem = {"long": LONG, "priced": PRICED}[which]
    certificate = solve_branch_and_bound(problem, time_limit=None, random_state=0).certificate
    assert certificate.proven
    return certificate


def proven(problem):
    """The certificate of an undisturbed search."""
    return undisturbed("long" if problem is LONG else "priced")


class Alone(_Search):
    """The search without an ascent: its answers are centres of boxes."""

    def _first_answer(self, start):
        self.climber.n_lines = 0

    def _look_at(self, w, believed):
        self.climber.offer(w)


def same(one, two):
    assert one.coef.tolist() == two.coef.tolist()
    assert one.certificate.value == two.certificate.value and one.certificate.bound == two.certificate.bound
    assert one.certificate.nodes == two.certificate.nodes


def honest(solution, problem=LONG, best=None):
    certificate = solution.certificate
    best = proven(problem).value if best is None else best
    assert certificate.value <= best + 1e-9 <= certificate.bound + 2e-9
    assert problem.value(solution.coef) == pytest.approx(certificate.value, abs=1e-12)
    assert certificate.gap == pytest.approx(certificate.bound - certificate.value)
    last = solution.trace[-1]
    assert (last.note, last.value, last.bound) == ("end", certificate.value, certificate.bound)


def test_the_long_problem_is_proven_by_search():
    best = proven(LONG)
    assert best.nodes > 1000 and best.method == "branch_and_bound"
    assert best.value < LONG.trivial_bound == best.trivial_bound


@pytest.mark.parametrize("max_memory", [1e9, 20_000.0, 3_000.0])
@pytest.mark.parametrize("compiled", [True, False])
def test_alone_and_with_little_memory_it_is_sound(compiled, max_memory):
    if compiled and not available():
        pytest.skip("needs Numba")
    rng = np.random.default_rng(0)
    ends = Counter()
    for number in range(60, 100):
        problem = small_problem(number)
        best = best_value(problem)
        nodes = int(10 ** rng.uniform(1, 4 if compiled else 3))
        arguments = {**NOTHING, "max_nodes": nodes, "max_memory": max_memory, "compiled": compiled}
        solution = Alone(problem, **arguments).run(())
        honest(solution, problem, best)
        ends[solution.certificate.proven] += 1
        if solution.certificate.proven:
            assert solution.certificate.value == pytest.approx(best, abs=1e-9)
    assert ends[True] > (24 if max_memory > 1e4 else 14)


def test_memory_is_kept_to_and_what_is_given_up_is_in_the_bound():
    seen = []

    class Watched(Alone):
        def _settle(self):
            super()._settle()
            seen.append(self.pool.nbytes)

    search = Watched(LONG, **{**NOTHING, "max_nodes": 6000, "max_memory": 30_000.0})
    solution = search.run(())
    honest(solution)
    assert max(seen) <= 2 * 30_000
    assert search.aside > -np.inf and solution.certificate.bound >= search.aside
    assert max(seen) > 30_000


@pytest.mark.parametrize("l0", [0.0, 0.125])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_last_box_is_set_aside_where_it_is_too_thin_to_cut(compiled, l0):
    if compiled and not available():
        pytest.skip("needs Numba")
    # w_1 >= 1, 3 w_2 >= 1 and 2 w_1 - 3 w_2 >= 1 hold together at (1, 1/3) alone, which no float is.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [2.0, -3.0]])
    problem = PreferenceProblem(X, 1.0, l0, np.array([1, 2, 3]), np.zeros(3, dtype=int), np.ones(3))
    best = best_value(problem)
    assert best == 3.0 - 2 * l0
    search = Alone(problem, **{**NOTHING, "compiled": compiled})
    solution = search.run(())
    honest(solution, problem, best)
    # It ends by itself, with nothing left that could be cut, and does not claim what it has not seen.
    assert len(search.pool) == 0 and search.aside > -np.inf
    assert not solution.certificate.proven
    assert solution.certificate.bound == pytest.approx(best)


@pytest.mark.parametrize("random_state", [0, 1])
@pytest.mark.parametrize("problem", [LONG, PRICED], ids=["long", "price"])
def test_the_same_every_time_for_any_number_of_threads(problem, random_state):
    runs = [
        solve_branch_and_bound(problem, time_limit=None, max_nodes=4000, n_jobs=n_jobs, random_state=random_state)
        for n_jobs in (1, 1, 2, 3)
    ]
    for other in runs[1:]:
        same(runs[0], other)
    honest(runs[0], problem)


def test_a_generator_serves_as_random_state():
    one = solve_branch_and_bound(LONG, time_limit=None, max_nodes=500, random_state=7)
    two = solve_branch_and_bound(LONG, time_limit=None, max_nodes=500, random_state=np.random.default_rng(7))
    same(one, two)


@pytest.mark.parametrize("nodes", [0, 1, 10, 100, 1000])
def test_a_limit_of_boxes_is_kept(nodes):
    solution = Alone(LONG, **{**NOTHING, "max_nodes": nodes}).run(())
    honest(solution)
    # Those of the last batch are finished: one box a task at least.
    assert solution.certificate.nodes <= nodes + 2 * module.TASKS
    assert not solution.certificate.proven


def test_bounds_fall_and_values_rise_with_the_boxes():
    ends = [Alone(LONG, **{**NOTHING, "max_nodes": nodes}).run(()).certificate for nodes in (100, 1000, 10_000)]
    assert ends[0].bound > ends[1].bound > ends[2].bound
    assert ends[0].value <= ends[1].value <= ends[2].value


@pytest.mark.parametrize("gap_tol", [0.02, 0.1])
def test_it_stops_at_the_gap_that_was_asked_for(gap_tol):
    solution = solve_branch_and_bound(LONG, time_limit=None, gap_tol=gap_tol, random_state=0)
    honest(solution)
    assert solution.certificate.relative_gap <= gap_tol
    assert solution.certificate.nodes < proven(LONG).nodes


def test_no_time_at_all():
    solution = solve_branch_and_bound(LONG, time_limit=0.0, random_state=0)
    honest(solution)
    assert solution.certificate.bound == LONG.trivial_bound and solution.certificate.nodes == 0


def test_time_runs_out_between_batches(monkeypatch):
    proven(LONG)
    ticks = iter(range(10**9))
    clock = SimpleNamespace(perf_counter=lambda: 0.01 * next(ticks))
    monkeypatch.setattr(module, "time", clock)
    solution = Alone(LONG, **{**NOTHING, "time_limit": 0.15}).run(())
    honest(solution)
    assert 0 < solution.certificate.nodes < 10_000 and not solution.certificate.proven
    assert solution.certificate.seconds >= 0.15


def test_time_runs_out_within_a_batch(monkeypatch):
    # The clock of the threads says that they are not done: they hand their boxes back.
    proven(LONG)
    asked = []

    def impatient(futures, timeout):
        asked.append(timeout)
        return SimpleNamespace(not_done=set(futures))

    monkeypatch.setattr(module, "wait", impatient)
    search = Alone(LONG, **{**NOTHING, "time_limit": 1000.0})
    solution = search.run(())
    honest(solution)
    assert len(asked) == 1 and 0 < asked[0] <= 1000.0
    assert search.stop[0] == 1 and len(search.pool) > 0


def test_without_a_limit_nobody_is_hurried(monkeypatch):
    asked = []
    wait = module.wait
    monkeypatch.setattr(module, "wait", lambda futures, timeout: (asked.append(timeout), wait(futures, timeout))[1])
    Alone(LONG, **{**NOTHING, "max_nodes": 300}).run(())
    assert asked and set(asked) == {None}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("how", ["true", "interrupt"])
def test_a_callback_ends_it(how, count, monkeypatch):
    monkeypatch.setattr(module, "QUIET", -1.0)
    heard = []

    def callback(progress):
        heard.append(progress)
        if len(heard) == count:
            if how == "interrupt":
                raise KeyboardInterrupt
            return True
        return None

    solution = solve_branch_and_bound(LONG, time_limit=None, random_state=0, callback=callback)
    honest(solution)
    assert len(heard) == count
    assert not solution.certificate.proven
    assert solution.certificate.bound >= heard[-1].value


@pytest.mark.parametrize("place", ["_step", "_descend_all", "_settle", "_look_at", "_facets"])
@pytest.mark.parametrize("call", [1, 3])
def test_an_interrupt_anywhere_leaves_an_honest_bound(place, call, monkeypatch):
    calls = []
    original = getattr(_Search, place)

    def interrupted(self, *arguments):
        calls.append(place)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(self, *arguments)

    # The undisturbed search first.
    best = {id(problem): proven(problem).value for problem in (LONG, PRICED)}
    monkeypatch.setattr(_Search, place, interrupted)
    problem = PRICED if place == "_facets" else LONG
    solution = solve_branch_and_bound(problem, time_limit=None, random_state=0)
    honest(solution, problem, best[id(problem)])
    assert len(calls) == call


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_threads_at_work_are_told_before_they_are_waited_for(error, monkeypatch):
    proven(LONG)
    told = []

    class Threads(ThreadPoolExecutor):
        def __exit__(self, *exception):
            told.append(int(search.stop[0]))
            return super().__exit__(*exception)

    def broken(futures, timeout):
        raise error

    monkeypatch.setattr(module, "ThreadPoolExecutor", Threads)
    monkeypatch.setattr(module, "wait", broken)
    search = Alone(LONG, **NOTHING)
    if error is KeyboardInterrupt:
        # The boxes of the batch are lost, the bound that covered them is not.
        honest(search.run(()))
    else:
        with pytest.raises(ZeroDivisionError):
            search.run(())
    assert told == [1]


def test_other_errors_are_not_swallowed():
    def callback(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve_branch_and_bound(LONG, callback=callback)


def test_what_it_tells_on_the_way(monkeypatch):
    monkeypatch.setattr(module, "QUIET", -1.0)
    heard = []
    solution = solve_branch_and_bound(LONG, time_limit=None, random_state=0, callback=lambda p: heard.append(p))
    assert list(solution.trace[:-1]) == heard
    assert solution.trace[0].bound == LONG.trivial_bound
    assert [progress.note for progress in heard[:2]] == ["first answer", "search"]
    for name, sign in (("value", 1), ("bound", -1), ("seconds", 1), ("nodes", 1)):
        assert (sign * np.diff([getattr(progress, name) for progress in solution.trace]) >= 0).all(), name
    assert all(progress.bound >= proven(LONG).value for progress in heard)
    assert len({progress.bound for progress in heard}) > 5


def test_reports_are_rare_unless_there_is_news(monkeypatch):
    monkeypatch.setattr(module, "QUIET", 1e9)
    solution = Alone(LONG, **{**NOTHING, "max_nodes": 3000}).run(())
    assert [progress.note for progress in solution.trace if progress.note == "search"] == []


@pytest.mark.skipif(not available(), reason="needs Numba")
def test_compiling_is_announced():
    notes = []
    solve_branch_and_bound(
        LONG, max_nodes=10, random_state=0, compiled=True, callback=lambda progress: notes.append(progress.note)
    )
    assert any("compiling" in note for note in notes)


def test_weights_to_begin_with_are_never_lost():
    optimum = solve_branch_and_bound(LONG, time_limit=None, random_state=0).coef
    solution = solve_branch_and_bound(LONG, time_limit=None, max_nodes=0, start=[3.0 * optimum], random_state=1)
    assert solution.certificate.value == proven(LONG).value
    assert np.abs(solution.coef).max() == 1.0


def test_an_answer_that_boxes_find_is_climbed_from():
    class Blind(_Search):
        def _first_answer(self, start):
            self.climber.n_lines = 0

    search = Blind(LONG, **NOTHING)
    solution = search.run(())
    assert solution.certificate.proven and solution.certificate.value == pytest.approx(proven(LONG).value)
    assert search.climber.n_lines > 0
    assert "better answer" in {progress.note for progress in solution.trace}


# Charts


def discrete(l0=0.0):
    rng = np.random.default_rng(5)
    y = np.arange(24) < 8
    X = np.where(rng.random((24, 4)) < 0.4 + 0.2 * y[:, None], 1.0, 0.0)
    X[:, 3] = rng.random(24)
    return RankProblem.of(X, y, "dcg", l0=l0)


@pytest.mark.parametrize("problem", [LONG, discrete()], ids=["continuous", "discrete"])
def test_either_kind_of_chart_proves_the_same(problem, monkeypatch):
    values = []
    for kind in chart.KINDS:
        monkeypatch.setattr(module, "KINDS", (kind,))
        solution = solve_branch_and_bound(problem, time_limit=None, random_state=0)
        assert solution.certificate.proven
        assert f"search in a {kind} chart" in {progress.note for progress in solution.trace}
        values.append(solution.certificate.value)
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_the_search_goes_on_in_the_chart_whose_bound_fell_further(monkeypatch):
    monkeypatch.setattr(module, "TRIAL", 60)
    bounds = {}

    class Watched(Alone):
        def _advance(self, threads, pool):
            aside = super()._advance(threads, pool)
            if pool is not self.pool:
                bounds[len(bounds) if pool not in seen else seen.index(pool)] = max(pool.best_key, aside)
                seen.append(pool) if pool not in seen else None
            return aside

    for problem in (LONG, discrete()):
        seen: list[Any] = []
        bounds.clear()
        search = Watched(problem, **{**NOTHING, "max_nodes": 400})
        honest(search.run(()), problem, solve_branch_and_bound(problem, random_state=0).certificate.value)
        assert len(bounds) == 2
        assert search.kind == chart.KINDS[int(bounds[1] < bounds[0])]


def test_with_a_price_the_trial_chooses_the_kind_and_nothing_else():
    problem = discrete(l0=0.1)
    solution = solve_branch_and_bound(problem, time_limit=None, random_state=0)
    assert solution.certificate.proven
    assert not any("chart" in progress.note for progress in solution.trace)
    for w in np.random.default_rng(0).normal(size=(2000, 4)):
        assert problem.value(w / np.abs(w).max()) <= solution.certificate.value + 1e-9


# Supports


@pytest.mark.parametrize("charts", [64, 1])
@pytest.mark.parametrize("compiled", [True, False])
def test_prices_are_exact_with_many_supports_or_few_charts(charts, compiled, monkeypatch):
    if compiled and not available():
        pytest.skip("needs Numba")
    monkeypatch.setattr(chart, "CHARTS", charts)
    for number in range(61, 100, 4):
        problem = small_problem(number)
        assert problem.l0 > 0
        best = best_value(problem)
        solution = Alone(problem, **{**NOTHING, "max_nodes": 2000, "compiled": compiled}).run(())
        honest(solution, problem, best)
        assert exact_value(problem, solution.coef) == pytest.approx(solution.certificate.value)


def test_a_price_too_high_leaves_the_origin():
    problem = small_medium(0, "dcg", l0=100.0)
    solution = solve_branch_and_bound(problem, random_state=0)
    assert not solution.coef.any()
    assert solution.certificate.proven and solution.certificate.value == problem.floor


def test_a_rising_price_drops_coefficients():
    sizes = []
    for l0 in (0.0, 0.05, 0.3, 1.0):
        problem = small_medium(2, "dcg", n=24, m=8, d=4, l0=l0)
        solution = solve_branch_and_bound(problem, time_limit=None, random_state=0)
        assert solution.certificate.proven
        sizes.append(np.count_nonzero(solution.coef))
    assert sizes[0] == 4 and sizes[-1] <= 1 and all(np.diff(sizes) <= 0)


# Poor problems


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("l0", [0.0, 0.1])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, 2.0]], [1]),
        ([[1.0], [2.0]], [1, 1]),
        ([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [1, 0, 1]),
        ([[0.0], [0.0]], [0, 1]),
        ([[3.0, 1.0], [3.0, 2.0], [3.0, 0.0], [3.0, 1.5]], [1, 0, 0, 1]),
        ([[1.0, 5.0], [2.0, 5.0]], [0, 1]),
    ],
    ids=["one row", "no negatives", "one point", "zeros", "a constant column", "two rows"],
)
def test_poor_data_have_a_defined_answer(X, y, l0, compiled):
    if compiled and not available():
        pytest.skip("needs Numba")
    for ranks in ("subrank", "resolved"):
        problem = RankProblem.of(np.array(X), np.array(y, dtype=bool), "dcg", l0=l0, ranks=ranks)
        solution = solve_branch_and_bound(problem, random_state=0, compiled=compiled)
        best = best_value(problem)
        assert solution.certificate.proven
        assert solution.certificate.value == pytest.approx(best)
        assert problem.value(solution.coef) == solution.certificate.value


def test_preferences_of_a_row_over_itself_and_against_one_another():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    better, worse = np.array([0, 1, 0]), np.array([1, 0, 0])
    problem = PreferenceProblem(X, 1e-4, 0.0, better, worse, np.array([1.0, 3.0, 5.0]))
    solution = solve_branch_and_bound(problem, random_state=0)
    assert solution.certificate.proven and solution.certificate.value == 3.0 == best_value(problem)


def test_more_than_two_classes_as_preferences():
    rng = np.random.default_rng(0)
    X, grade = rng.normal(size=(9, 2)), np.arange(9) % 3
    better, worse = np.nonzero(grade[:, None] > grade)
    problem = PreferenceProblem(X, 1e-4, 0.0, better, worse, np.ones(len(better)))
    solution = solve_branch_and_bound(problem, random_state=0)
    assert solution.certificate.proven and solution.certificate.value == best_value(problem) < len(better)


def test_columns_that_do_not_differ_get_no_coefficient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    y = np.array([1, 0, 0, 1, 0, 0, 1, 0], dtype=bool)
    groups = np.repeat([0, 1], 4)
    # Constant within each group, though not over all rows: no order depends on it.
    wide = np.column_stack([X, 5.0 * groups])
    plain = solve_branch_and_bound(RankProblem.of(X, y, "dcg", groups=groups, l0=0.01), random_state=0)
    solution = solve_branch_and_bound(RankProblem.of(wide, y, "dcg", groups=groups, l0=0.01), random_state=0)
    assert solution.certificate.value == pytest.approx(plain.certificate.value)
    assert solution.coef[2] == 0.0
