"""The programs as arrays: tight ones hold every point of the cube at its own value; what printed ones forbid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem
from shortlist.solvers.exact.programs import build_program
from tests.oracle.exact import best_value
from tests.solvers.exact.box_cases import preferences
from tests.solvers.exact.cases import random_weights, small_medium, small_problem

WRS = small_medium(0, "wrs", n=9, m=4, d=2, ranks="resolved")


def breaches(program, x):
    """By how much an assignment misses rows, bounds and wholeness."""
    lower, upper, _, whole = program.arrays
    row_lower, row_upper = program.row_bounds
    row = program.matrix @ x
    worst = [row_lower - row, row - row_upper, lower - x, x - upper, np.abs(x - np.round(x))[whole]]
    return max(float(part.max(initial=0.0)) for part in worst)


def objective(program, x):
    return float(program.arrays[2] @ x) + program.offset


def optimum(program):
    lower, upper, cost, whole = program.arrays
    rows = LinearConstraint(program.matrix, *program.row_bounds)
    found = milp(-cost, integrality=whole, bounds=Bounds(lower, upper), constraints=rows)
    assert found.status in (0, 2), found.message
    return program.offset - found.fun if found.status == 0 else None


@pytest.mark.parametrize("strengthen", [False, True])
@pytest.mark.parametrize("number", range(36))
def test_tight_programs_hold_every_point_at_its_value(number, strengthen):
    problem = small_problem(number)
    program = build_program(problem, big_m="tight", strengthen=strengthen)
    assert program.valid and program.spread == np.inf
    for w in random_weights(problem.X.shape[1], 10, np.random.default_rng(number)):
        x = program.assignment(w)
        assert breaches(program, x) < 1e-9
        assert objective(program, x) == pytest.approx(problem.value(w))


@pytest.mark.parametrize("number", range(0, 36, 2))
def test_printed_programs_hold_points_that_are_shrunk(number):
    problem = small_problem(number)
    program = build_program(problem, big_m="printed")
    d = problem.X.shape[1]
    spread = np.abs(problem.X[:, None] - problem.X).sum(axis=2).max()
    checked = 0
    for w in random_weights(d, 20, np.random.default_rng(number)):
        x = program.assignment(w)
        scores = problem.X @ x[program.w]
        difference = scores[:, None] - scores
        # Constraints (12) and (13) forbid near-ties, which no shrinking removes.
        near_tie = ((np.abs(difference) > 1e-12) & (np.abs(difference) < problem.margin)).any()
        if program.name == "resolved" and near_tie:
            continue
        checked += 1
        assert breaches(program, x) < 1e-9
        assert np.abs(x[program.w]).max() <= 1.0
        # The definition with the whole margin, at the shrunken point.
        assert objective(program, x) == pytest.approx(
            problem.statistic(scores) - problem.l0 * np.count_nonzero(w), abs=1e-9
        )
    assert checked > 0
    if program.name == "subrank":
        assert program.valid == (spread_of_pairs(problem) <= 1 - problem.margin) and spread >= 0


def spread_of_pairs(problem):
    list_sizes = [
        np.abs(problem.X[list_.positives][:, None] - problem.X[list_.rows]).sum(axis=2).max() for list_ in problem.lists
    ]
    return max(list_sizes)


@pytest.mark.parametrize("number", [0, 1, 4, 5, 8, 12, 17, 26])
def test_small_features_make_the_printed_program_the_definition(number):
    problem = small_problem(number, most_rows=6, most_features=2)
    size = np.abs(problem.X[:, None] - problem.X).sum(axis=2).max()
    scaled = type(problem)(problem.X * (0.9 / max(size, 1.0)), 1e-2, problem.l0, *rest(problem))
    program = build_program(scaled, big_m="printed")
    assert program.valid
    assert optimum(program) == pytest.approx(best_value(scaled), abs=1e-6)


def rest(problem):
    if isinstance(problem, PreferenceProblem):
        return problem.better, problem.worse, problem.weights
    return problem.lists, problem.ranks


@pytest.mark.parametrize("number", range(18))
def test_tight_programs_have_the_definitions_optimum(number):
    problem = small_problem(number, most_rows=6, most_features=2)
    for strengthen in (False, True):
        assert optimum(build_program(problem, big_m="tight", strengthen=strengthen)) == pytest.approx(
            best_value(problem), abs=1e-5
        )


def test_the_pair_program_counts_what_rank_sums_count():
    program = build_program(WRS, "auc", big_m="tight")
    for w in random_weights(2, 20, np.random.default_rng(0)):
        x = program.assignment(w)
        assert breaches(program, x) < 1e-9
        assert objective(program, x) == pytest.approx(WRS.value(w))
    # Of Subranks it is a bound, reached where positives do not tie.
    subrank = RankProblem(WRS.X, WRS.margin, 0.0, WRS.lists, "subrank")
    program = build_program(subrank, "auc", big_m="tight")
    for w in random_weights(2, 20, np.random.default_rng(0)):
        assert objective(program, program.assignment(w)) >= subrank.value(w) - 1e-9


def test_a_list_of_one_label_needs_no_pairs():
    problem = RankProblem.of(np.arange(3.0)[:, None], np.ones(3, bool), "wrs", ranks="resolved")
    for name in ("auc", "resolved"):
        for big_m in ("tight", "printed") if name == "auc" else ("tight",):
            assert optimum(build_program(problem, name, big_m=big_m)) == pytest.approx(1 + 2 + 3)
    alone = RankProblem.of(np.array([[1.0]]), np.array([True]), "dcg", ranks="resolved")
    for big_m in ("tight", "printed"):
        assert optimum(build_program(alone, big_m=big_m)) == pytest.approx(1.0)


# What is printed is another problem


def test_printed_programs_cannot_shrink_what_is_far():
    # In steps of 1 a row that is 9 below another cannot be: the margin has to be met after division by 9.
    X = np.array([[0.0], [9.0], [0.5]])
    problem = RankProblem.of(X, np.array([False, True, True]), "wrs", margin=0.1)
    best = best_value(problem)
    # 0.5 over 0 by 0.1, whatever 9 does: both positives on top, all in order.
    assert best == 5.0
    assert optimum(build_program(problem, big_m="tight")) == pytest.approx(5.0)
    # z = 0 asks w.D <= ... of no upward pair, but 0.5 - 9 has to stay above margin - 1: |w| <= 0.9 / 8.5.
    program = build_program(problem, big_m="printed")
    assert not program.valid
    assert optimum(program) == pytest.approx(3.0 + 1.0)


def test_strengthening_as_printed_forbids_near_ties_and_the_origin():
    # Two different positives within the margin of one another in every direction.
    X = np.array([[0.001], [0.0], [0.5]])
    problem = RankProblem.of(X, np.array([True, True, False]), "wrs", margin=0.01)
    assert optimum(build_program(problem, big_m="printed")) == pytest.approx(best_value(problem))
    strengthened = build_program(problem, big_m="printed", strengthen=True)
    assert optimum(strengthened) is None and not strengthened.valid
    assert optimum(build_program(problem, big_m="tight", strengthen=True)) == pytest.approx(best_value(problem))


def test_the_printed_resolved_program_is_never_a_bound():
    X = np.array([[0.4], [0.0], [0.399]])
    problem = RankProblem.of(X, np.array([True, False, False]), "wrs", margin=0.01, ranks="resolved")
    program = build_program(problem, big_m="printed")
    assert not program.valid
    # The near-tie of 0.4 and 0.399 leaves it no w but those of 0 < |w| too small to tell any rows apart: w = 0.
    assert optimum(program) < best_value(problem) == 2.0


def test_preferences_as_printed_bound_all_rows():
    problem = preferences(0, n=6, q=5)
    assert not build_program(problem, big_m="printed").valid
    small = PreferenceProblem(0.05 * problem.X, 1e-3, 0.0, *rest(problem))
    program = build_program(small, big_m="printed")
    assert program.valid
    assert optimum(program) == pytest.approx(best_value(small))


# Names


def test_names_have_to_fit():
    ranked, pairs = small_medium(0, "dcg", n=6, m=2), preferences(0)
    with pytest.raises(ValueError, match="preferences take program='preferences'"):
        build_program(pairs, "subrank")
    with pytest.raises(ValueError, match="does not fit a problem with ranks='subrank'"):
        build_program(ranked, "resolved")
    with pytest.raises(ValueError, match="does not fit"):
        build_program(ranked, "preferences")
    with pytest.raises(ValueError, match="weights that grow evenly"):
        build_program(ranked, "auc")
    assert build_program(pairs).name == "preferences" and build_program(ranked).name == "subrank"

    class Other(ExactProblem):
        def statistic(self, scores):
            return 0.0

        best_statistic = 0.0

    with pytest.raises(TypeError, match="got Other"):
        build_program(Other(np.eye(2), 1e-4, 0.0))
