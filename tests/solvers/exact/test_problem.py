"""The problems say what their docstrings define."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact.problem import PreferenceProblem, RankedList, RankProblem, on_the_cube
from shortlist.statistics import GivenWeights, statistic_value


def test_points_are_put_on_the_cube():
    assert on_the_cube(np.array([0.5, -2.0, 0.0])).tolist() == [0.25, -1.0, 0.0]
    assert on_the_cube(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert on_the_cube(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("ranks", ["subrank", "resolved"])
@pytest.mark.parametrize("name", ["wrs", "dcg", "winner_takes_all", "reciprocal_rank"])
def test_the_statistic_is_that_of_the_statistics_module(name, ranks):
    rng = np.random.default_rng(0)
    y = rng.random(30) < 0.4
    X = rng.integers(0, 3, size=(30, 2)).astype(float)
    problem = RankProblem.of(X, y, name, margin=0.5, ranks=ranks)
    # Whole scores: half a unit ahead is ahead.
    scores = rng.integers(0, 12, size=30).astype(float)
    expected = statistic_value(y, scores, name, ranks=ranks)
    assert problem.statistic(scores) == pytest.approx(expected)


def test_resolved_ranks_ask_the_margin_of_negatives_alone():
    X = np.array([[1.0], [0.99], [0.5]])
    problem = RankProblem.of(X, np.array([True, True, False]), "wrs", margin=0.495, ranks="resolved")
    # The first beats the negative; the second (0.49 ahead) does not, and stands below it.
    assert problem.value(np.array([1.0])) == 3 + 1
    subrank = RankProblem.of(X, np.array([True, True, False]), "wrs", margin=0.495)
    assert subrank.value(np.array([1.0])) == 2 + 1


def test_groups_without_a_positive_take_no_part():
    X = np.arange(6.0)[:, None]
    y = np.array([True, False, False, False, True, True])
    problem = RankProblem.of(X, y, "wrs", groups=np.array([0, 0, 1, 1, 2, 2]))
    assert [list_.rows.tolist() for list_ in problem.lists] == [[0, 1], [4, 5]]
    # The list of two positives earns by their own order.
    assert problem.value(np.array([1.0])) == 1 + (2 + 1)
    assert problem.best_statistic == 2 + (2 + 1)


def test_lists_know_their_rows_and_discounts():
    list_ = RankedList(np.array([4, 1]), np.array([0]), np.array([1.0, 2.0, 5.0]))
    assert list_.rows.tolist() == [4, 1, 0]
    assert list_.discounts.tolist() == [5.0, 2.0, 1.0]


def test_the_trivial_bound_pays_for_one_coefficient_or_stays_at_the_origin():
    X = np.array([[1.0], [0.0]])
    y = np.array([True, False])
    assert RankProblem.of(X, y, "wrs", l0=0.25).trivial_bound == 1.75
    dear = RankProblem.of(X, y, "wrs", l0=9.0)
    assert dear.trivial_bound == dear.floor == 1.0
    assert dear.value(np.array([1.0])) == 2 - 9


def test_preferences_count_by_weight_and_by_the_margin():
    X = np.array([[3.0], [2.0], [1.0]])
    problem = PreferenceProblem(X, 1.5, 0.5, np.array([0, 1, 2]), np.array([2, 2, 0]), np.array([2.0, 4.0, 8.0]))
    assert problem.value(np.array([1.0])) == 2.0 - 0.5
    assert problem.value(np.array([-1.0])) == 8.0 - 0.5
    assert problem.best_statistic == 14.0
    assert problem.floor == 0.0


def test_the_users_own_weights():
    X = np.array([[1.0], [0.0], [2.0]])
    problem = RankProblem.of(X, np.array([True, False, True]), GivenWeights([0, 5, 5]))
    assert problem.value(np.array([1.0])) == 10.0
    assert problem.value(np.array([-1.0])) == 5.0
