"""Where an ascent can begin: finite weights worth something, and those without a mistake if there are any."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import starts
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem
from shortlist.solvers.exact.starts import convex_starts, separating_weights
from tests.solvers.exact.box_cases import preferences
from tests.solvers.exact.cases import small_medium, small_problem


@pytest.mark.parametrize("number", range(45))
def test_starts_are_finite_and_not_the_origin(number):
    problem = small_problem(number)
    for w in convex_starts(problem):
        assert w.shape == (problem.X.shape[1],) and np.isfinite(w).all() and w.any()


def test_two_points_without_scatter():
    X = np.array([[2.0, 1.0], [2.0, 1.0], [0.0, 0.0]])
    problem = RankProblem.of(X, np.array([True, True, False]), "dcg")
    found = list(convex_starts(problem))
    assert all(np.isfinite(w).all() for w in found)
    # The mean difference, summed over the pairs.
    assert found[0].tolist() == [4.0, 2.0]


def test_the_first_are_the_mean_difference_and_linear_discriminants():
    problem = small_medium(0, "dcg", n=60, m=25)
    X, y = problem.X, np.arange(60) < 25
    first, second, *_ = convex_starts(problem)
    mean = X[y].mean(axis=0) - X[~y].mean(axis=0)
    assert first / np.linalg.norm(first) == pytest.approx(mean / np.linalg.norm(mean))
    scatter = sum(np.cov(X[side].T, bias=True) for side in (y, ~y))
    discriminant = np.linalg.solve(scatter, mean)
    assert second / np.linalg.norm(second) == pytest.approx(discriminant / np.linalg.norm(discriminant), abs=1e-3)


def test_preferences_have_moments_too(monkeypatch):
    problem = preferences(0)
    D = problem.X[problem.better] - problem.X[problem.worse]
    for chunk in (starts._CHUNK, 3):
        monkeypatch.setattr(starts, "_CHUNK", chunk)
        mean, scatter = starts._moments(problem)
        assert mean == pytest.approx(problem.weights @ D)
        assert scatter == pytest.approx((D.T * problem.weights) @ D)


def test_lists_are_not_compared_with_one_another():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(20, 2)), rng.random(20) < 0.5, np.arange(20) % 2
    shifted = X + np.array([100.0, 0.0]) * groups[:, None]
    one, two = (starts._moments(RankProblem.of(Z, y, "dcg", groups=groups)) for Z in (X, shifted))
    assert one[0] == pytest.approx(two[0]) and one[1] == pytest.approx(two[1])


def test_a_price_offers_single_columns_that_are_not_constant():
    problem = small_medium(0, "dcg", l0=0.1)
    constant = RankProblem(np.column_stack([problem.X, np.ones(24)]), 1e-4, 0.1, problem.lists, "subrank")
    single = [w.tolist() for w in convex_starts(constant) if np.count_nonzero(w) == 1]
    assert single == [list(sign * row) for row in np.eye(4)[:3] for sign in (1.0, -1.0)]


def test_many_columns_have_no_scatter(monkeypatch):
    problem = small_medium(0, "dcg")
    before = len(list(convex_starts(problem)))
    monkeypatch.setattr(starts, "_LARGEST_SCATTER", 2)
    assert starts._moments(problem)[1] is None
    assert starts._moments(preferences(0))[1] is None
    assert len(list(convex_starts(problem))) == before - len(starts._RIDGES)


def test_equal_rows_and_lists_without_negatives_offer_nothing():
    same = RankProblem.of(np.ones((4, 2)), np.array([True, False, True, False]), "dcg")
    assert list(convex_starts(same)) == []
    alone = RankProblem.of(np.arange(4.0)[:, None], np.ones(4, bool), "dcg")
    assert list(convex_starts(alone)) == [] and separating_weights(alone) is None


def test_weights_without_a_mistake_have_the_largest_gap():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3))
    y = X @ [1.0, -0.5, 0.2] > 0.3
    # Resolved ranks, whose statistic depends on positives against negatives alone.
    problem = RankProblem.of(X, y, "dcg", margin=1e-3, ranks="resolved")
    w = separating_weights(problem)
    assert problem.statistic(X @ w) == problem.best_statistic
    gap = (X[y] @ w).min() - (X[~y] @ w).max()
    assert np.abs(w).max() == pytest.approx(1.0) and gap >= 1e-3
    others = rng.uniform(-1, 1, size=(2000, 3)) @ X.T
    assert gap >= (others[:, y].min(axis=1) - others[:, ~y].max(axis=1)).max() - 1e-9
    # The margin decides whether they count.
    assert separating_weights(RankProblem(X, 2 * gap, 0.0, problem.lists, "subrank")) is None
    found = list(convex_starts(problem))
    assert any(problem.statistic(X @ v) == problem.best_statistic for v in found)


def test_each_list_has_its_own_threshold():
    X = np.array([[1.0], [0.0], [11.0], [10.0]])
    y, groups = np.array([True, False, True, False]), np.array([0, 0, 1, 1])
    assert separating_weights(RankProblem.of(X, y, "dcg", groups=groups)).tolist() == [1.0]
    assert separating_weights(RankProblem.of(X, y, "dcg")) is None


def test_preferences_without_contradiction():
    X = np.random.default_rng(0).normal(size=(8, 2))
    order = np.argsort(X @ [1.0, 0.7])
    problem = PreferenceProblem(X, 1e-6, 0.0, order[1:], order[:-1], np.ones(7))
    assert problem.statistic(X @ separating_weights(problem)) == 7
    assert separating_weights(preferences(0)) is None
    assert any(problem.statistic(X @ w) == 7 for w in convex_starts(problem))


def test_the_linear_program_is_left_out_where_it_is_too_large(monkeypatch):
    problem = small_medium(0, "dcg", n=12, m=3)
    easy = RankProblem(problem.X + 3.0 * (np.arange(12) < 3)[:, None], 1e-4, 0.0, problem.lists, "subrank")
    with_program = len(list(convex_starts(easy)))
    monkeypatch.setattr(starts, "_LARGEST_PROGRAM", 1)
    assert len(list(convex_starts(easy))) == with_program - 1


def test_other_problems_have_no_program():
    class Other(ExactProblem):
        def statistic(self, scores):
            return 0.0

        best_statistic = 0.0

    assert separating_weights(Other(np.eye(2), 1e-4, 0.0)) is None
