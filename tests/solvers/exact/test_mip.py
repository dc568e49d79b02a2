"""HiGHS on the programs: scored again whatever it says, its bound used only where it is one, every way to end."""

from __future__ import annotations

import signal
import threading

import highspy
import numpy as np
import pytest

from shortlist.solvers.exact import mip
from shortlist.solvers.exact.mip import TOLERANCE, solve_mip
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from tests.oracle.exact import best_value, exact_value
from tests.solvers.exact.box_cases import preferences
from tests.solvers.exact.cases import small_medium, small_problem

SMALL = small_medium(1, "dcg", n=10, m=3, d=2)
# Some hundred nodes: the search says something on the way.
LONGER = small_medium(3, "dcg", n=22, m=3, d=3)
LONGER_BEST = best_value(LONGER)
WRS = small_medium(2, "wrs", n=10, m=4, d=2, ranks="resolved")


def with_features(problem, X, margin):
    return RankProblem(X, margin, problem.l0, problem.lists, problem.ranks)


@pytest.mark.parametrize("strengthen", [False, True])
@pytest.mark.parametrize(
    ("problem", "program"),
    [
        (SMALL, "subrank"),
        (small_medium(2, "dcg", n=8, m=3, d=2, ranks="resolved"), "resolved"),
        (WRS, "auc"),
        (preferences(0, n=6, q=9), "preferences"),
    ],
    ids=["subrank", "resolved", "auc", "preferences"],
)
def test_all_four_programs_prove_the_best(problem, program, strengthen):
    certificate = solve_mip(problem, program=program, big_m="tight", strengthen=strengthen).certificate
    assert certificate.proven
    assert certificate.value == pytest.approx(best_value(problem), abs=1e-9)
    assert certificate.method == f"mip {program}, tight big-M, to {TOLERANCE:g}"
    assert certificate.trivial_bound == problem.trivial_bound and certificate.seconds > 0


def test_printed_programs_are_scored_by_the_definition_and_bound_nothing_they_do_not():
    printed = solve_mip(SMALL).certificate
    assert "printed big-M" in printed.method and "its bound is not one for the definition" in printed.method
    assert printed.bound == printed.trivial_bound or printed.proven
    assert printed.bound >= best_value(SMALL) - 1e-9 >= printed.value - 2e-9


@pytest.mark.parametrize("number", range(0, 40, 2))
def test_no_printed_program_excludes_the_best_answer(number):
    problem = small_problem(number, most_rows=6)
    for strengthen in (False, True):
        solution = solve_mip(problem, strengthen=strengthen)
        best = best_value(problem)
        assert solution.certificate.value <= best + 1e-9
        assert solution.certificate.bound >= best - 1e-9
        assert problem.value(solution.coef) == solution.certificate.value
        assert np.abs(solution.coef).max() in (0.0, 1.0)


def test_a_printed_bound_is_used_where_the_features_are_small():
    small = with_features(SMALL, SMALL.X / np.abs(SMALL.X).max() / 5, 1e-3)
    certificate = solve_mip(small).certificate
    assert certificate.proven and "not one" not in certificate.method
    assert certificate.value == pytest.approx(best_value(small))


def test_an_infeasible_program_leaves_the_origin_and_the_trivial_bound():
    X = np.array([[0.001], [0.0], [0.5]])
    problem = RankProblem.of(X, np.array([True, True, False]), "wrs", margin=0.01)
    solution = solve_mip(problem, strengthen=True)
    assert solution.trace[-1].note == "Infeasible"
    assert solution.certificate.bound == problem.trivial_bound and not solution.certificate.proven
    assert solution.certificate.value == problem.floor and not solution.coef.any()


def test_a_status_is_not_believed(monkeypatch):
    # The weights come back with their signs turned, and the status says "Optimal" all the same.
    monkeypatch.setattr(mip._Run, "_weights", lambda self, x: -x[self.program.w])
    monkeypatch.setattr(mip, "_widest_gap", lambda program, x, w: w)
    solution = solve_mip(SMALL, big_m="tight")
    assert solution.trace[-1].note == "Optimal"
    assert SMALL.value(solution.coef) == solution.certificate.value < best_value(SMALL)
    assert not solution.certificate.proven
    assert solution.certificate.bound == pytest.approx(best_value(SMALL), rel=2 * TOLERANCE)


def test_of_equal_answers_the_one_with_room_to_spare():
    for number in (46, 106, 121, 196, 208):
        problem = small_problem(number, most_rows=7)
        solution = solve_mip(problem, big_m="tight")
        assert exact_value(problem, solution.coef) == pytest.approx(solution.certificate.value)


def test_a_price_is_paid_for_coefficients_that_are_used():
    problem = small_medium(4, "dcg", n=10, m=3, d=3, l0=0.1)
    solution = solve_mip(problem, big_m="tight")
    assert solution.certificate.proven
    assert solution.certificate.value == pytest.approx(best_value(problem))
    assert np.count_nonzero(solution.coef) < 3
    dear = small_medium(4, "dcg", n=10, m=3, d=3, l0=9.0)
    assert not solve_mip(dear, big_m="tight").coef.any()


# A start


@pytest.mark.parametrize("big_m", ["tight", "printed"])
def test_a_start_is_handed_over_and_never_lost(big_m):
    best = solve_mip(SMALL, big_m="tight")
    heard = []
    solution = solve_mip(SMALL, big_m=big_m, start=4.0 * best.coef, callback=lambda p: heard.append(p))
    assert heard[0].value == best.certificate.value
    assert solution.certificate.value == best.certificate.value
    stopped = solve_mip(SMALL, big_m=big_m, start=best.coef, callback=lambda p: True)
    assert stopped.certificate.value == best.certificate.value


def test_highs_accepts_the_start(monkeypatch):
    given = []
    original = mip._hand_over
    monkeypatch.setattr(mip, "_hand_over", lambda highs, x: (given.append(x), original(highs, x)))
    best = solve_mip(SMALL, big_m="tight")
    assert given == []
    solve_mip(SMALL, big_m="tight", start=best.coef)
    program = mip.build_program(SMALL, big_m="tight")
    [x] = given
    assert float(program.arrays[2] @ x) + program.offset == pytest.approx(best.certificate.value)


# Ends


def test_no_time_at_all_is_honest():
    certificate = solve_mip(LONGER, big_m="tight", time_limit=0.0).certificate
    assert certificate.value >= LONGER.floor and certificate.bound <= LONGER.trivial_bound
    assert not certificate.proven
    assert solve_mip(SMALL, big_m="tight", time_limit=None).certificate.proven


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_a_callback_ends_it(count, monkeypatch):
    # Once even before HiGHS has begun, whose dual bound then reads 0.
    monkeypatch.setattr(mip, "SILENCE", 0.0)
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) >= count

    solution = solve_mip(LONGER, big_m="tight", callback=callback)
    certificate = solution.certificate
    assert solution.trace[-1].note == "interrupted"
    assert not certificate.proven
    assert certificate.value <= LONGER_BEST <= certificate.bound
    assert heard[0].note == "program built" and heard[0].bound == LONGER.trivial_bound


def test_what_it_tells_on_the_way(monkeypatch):
    monkeypatch.setattr(mip, "SILENCE", 0.0)
    heard = []
    solution = solve_mip(LONGER, big_m="tight", time_limit=None, callback=lambda p: heard.append(p))
    assert solution.certificate.proven and len(heard) > 3
    for name, sign in (("value", 1), ("bound", -1), ("seconds", 1), ("nodes", 1)):
        assert (sign * np.diff([getattr(p, name) for p in heard]) >= 0).all(), name
        assert (sign * np.diff([getattr(p, name) for p in solution.trace]) >= 0).all(), name
    assert solution.trace[-1].note == "Optimal"
    assert solution.certificate.nodes == solution.trace[-1].nodes


def test_an_error_of_the_callback_comes_out_as_it_is(monkeypatch):
    monkeypatch.setattr(mip, "SILENCE", 0.0)
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        solve_mip(LONGER, big_m="tight", callback=callback)
    assert len(calls) == 2


def test_an_interrupt_from_the_keyboard_keeps_the_answer(monkeypatch):
    monkeypatch.setattr(mip, "SILENCE", 0.0)
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    solution = solve_mip(LONGER, big_m="tight", callback=callback)
    assert solution.trace[-1].note == "interrupted" and not solution.certificate.proven
    assert signal.getsignal(signal.SIGINT) is before


def test_beside_the_main_thread_signals_are_left_alone():
    out = []
    thread = threading.Thread(target=lambda: out.append(solve_mip(SMALL, big_m="tight").certificate))
    thread.start()
    thread.join()
    assert out[0].proven


def test_a_gap_may_be_left():
    certificate = solve_mip(LONGER, big_m="tight", gap_tol=0.5, time_limit=None).certificate
    assert certificate.relative_gap <= 0.5 + 1e-5
    assert certificate.bound >= LONGER_BEST


def test_the_same_for_a_seed():
    one, two = (solve_mip(SMALL, big_m="tight", random_state=3) for _ in range(2))
    assert one.coef.tolist() == two.coef.tolist() and one.certificate.nodes == two.certificate.nodes


# Input


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="big_m must be 'printed' or 'tight', got 'huge'"):
        solve_mip(SMALL, big_m="huge")
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="time_limit must be a number of seconds or None"):
            solve_mip(SMALL, time_limit=wrong)


def test_a_program_that_highs_refuses(monkeypatch):
    monkeypatch.setattr(highspy.Highs, "passModel", lambda self, model: highspy.HighsStatus.kError)
    with pytest.raises(ValueError, match="HiGHS refuses the program"):
        solve_mip(SMALL)


def test_poor_data():
    same = RankProblem.of(np.ones((4, 2)), np.array([True, False, True, False]), "dcg")
    for problem in (
        same,
        RankProblem.of(np.array([[1.0]]), np.array([True]), "dcg"),
        RankProblem.of(np.arange(3.0)[:, None], np.ones(3, bool), "wrs"),
        PreferenceProblem(np.eye(2), 1e-4, 0.0, np.array([0]), np.array([0]), np.ones(1)),
    ):
        for big_m in ("tight", "printed"):
            certificate = solve_mip(problem, big_m=big_m).certificate
            assert certificate.value <= best_value(problem) <= certificate.bound + 1e-9
        assert solve_mip(problem, big_m="tight").certificate.value == best_value(problem)
