"""The exhaustive oracle against other ways to be dumb: fine grids, hand-made answers, plain loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from tests.oracle.exact import best_value, exact_value
from tests.solvers.exact.cases import random_weights, small_problem


def by_loops(problem, w):
    """The definition with one loop a word, in fractions."""
    scores = [sum(Fraction(float(x)) * Fraction(float(c)) for x, c in zip(row, w, strict=True)) for row in problem.X]
    margin = Fraction(float(problem.margin))
    total = -problem.l0 * sum(c != 0 for c in w)
    if isinstance(problem, PreferenceProblem):
        for i, k, weight in zip(problem.better, problem.worse, problem.weights, strict=True):
            total += weight * (scores[i] - scores[k] >= margin)
        return total
    for list_ in problem.lists:
        n = len(list_.rows)
        if problem.ranks == "subrank":
            for i in list_.positives:
                total += list_.a[sum(scores[i] - scores[k] >= margin for k in list_.rows)]
            continue
        # Best first, positives stand one below the other; a negative stands above a positive that does not beat it.
        for q, i in enumerate(sorted(list_.positives, key=lambda i: -scores[i])):
            unbeaten = sum(scores[i] - scores[k] < margin for k in list_.negatives)
            total += list_.a[n - 1 - q - unbeaten]
    return total


def grid(d, steps):
    """Points of the cube's surface with coordinates in steps of 1 / steps."""
    axis = [Fraction(k, steps) for k in range(-steps, steps + 1)]
    return [w for w in product(axis, repeat=d) if max(abs(c) for c in w) == 1]


@pytest.mark.parametrize("number", range(40))
def test_values_are_the_definition(number):
    problem = small_problem(number)
    for w in random_weights(problem.X.shape[1], 8, np.random.default_rng(number)):
        assert exact_value(problem, w) == pytest.approx(by_loops(problem, w), abs=1e-12)
        # Scores in floating point agree, unless a difference is the margin itself.
        differences = (problem.X @ w)[:, None] - problem.X @ w
        if np.abs(differences - problem.margin).min() > 1e-9:
            assert problem.value(w) == pytest.approx(exact_value(problem, w), abs=1e-12)


@pytest.mark.parametrize("number", range(60))
def test_no_point_of_a_grid_beats_the_oracle(number):
    problem = small_problem(number, most_rows=6)
    d = problem.X.shape[1]
    points = [*grid(d, {1: 1, 2: 24, 3: 4}[d]), [Fraction(0)] * d]
    found = max(by_loops(problem, w) for w in points)
    assert found <= best_value(problem) + 1e-12


def test_grids_reach_the_oracle_where_the_data_are_whole_numbers():
    reached, cases = 0, 0
    for number in range(60):
        problem = small_problem(number, most_rows=6, most_features=2)
        if number % 5 in (0, 4) and problem.margin in (0.5, 1.0):
            # Vertices of such a problem are fractions with small denominators: multiples of 1/60 hold most.
            cases += 1
            points = [*grid(problem.X.shape[1], 60), [Fraction(0)] * problem.X.shape[1]]
            reached += abs(max(by_loops(problem, w) for w in points) - best_value(problem)) < 1e-12
    assert cases >= 8
    assert reached == cases


def test_an_answer_at_a_single_point_is_seen():
    # Positive at (1, 1): against (0, 1) and (1, 0) it needs w_1 >= 1 and w_2 >= 1, which is one corner.
    X = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    problem = RankProblem.of(X, np.array([True, False, False]), "winner_takes_all", margin=1.0)
    assert best_value(problem) == 1.0 == exact_value(problem, np.array([1.0, 1.0]))
    assert exact_value(problem, np.array([1.0, np.nextafter(1.0, 0.0)])) == 0.0


def test_a_price_makes_the_origin_or_one_coefficient_best():
    X = np.array([[1.0, 0.5], [0.0, 0.0]])
    y = np.array([True, False])
    for l0, best in ((0.0, 2.0), (0.75, 1.25), (3.0, 1.0)):
        assert best_value(RankProblem.of(X, y, "wrs", l0=l0)) == best


def test_wide_numbers_are_not_squeezed_into_64_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 2))
    y = np.array([True, True, False, False, False])
    scaled = RankProblem.of(X * 1e6, y, "dcg", margin=100.0)
    assert best_value(scaled) == pytest.approx(best_value(RankProblem.of(X, y, "dcg", margin=1e-4)))


def test_four_features_are_too_many():
    with pytest.raises(ValueError, match="at most 3 features, got 4"):
        best_value(RankProblem.of(np.eye(4), np.array([True, False, True, False]), "dcg"))
