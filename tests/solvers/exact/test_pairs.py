"""The pair form says what the problem says: every value can be had from its pairs, lists and discounts."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import pairs as pairs_module
from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import ExactProblem, RankProblem
from shortlist.statistics import DCG
from tests.solvers.exact.cases import random_weights, small_medium, small_problem


def from_pairs(form: PairForm, won, beaten_by=None):
    """The bound that the pair form states, at a point: sum of disc(q + u_(q)), or by twins where that is lower."""
    lists, total = form.lists, 0.0
    for l in range(len(lists.pos_start) - 1):
        own = range(lists.pos_start[l], lists.pos_start[l + 1])
        missed = [int((~won[lists.pos == i]).sum()) for i in own]
        places = np.arange(1, len(missed) + 1) + np.sort(missed)
        if beaten_by is not None:
            places = np.maximum(places, np.sort([1 + u + beaten_by[i] for i, u in zip(own, missed, strict=True)]))
        total += lists.disc[lists.place_start[l] + places].sum()
    return total


@pytest.mark.parametrize("number", range(60))
def test_the_pairs_tell_the_value_of_a_point(number):
    problem = small_problem(number)
    form = PairForm.of(problem)
    exact = not isinstance(problem, RankProblem) or problem.ranks == "resolved"
    for w in random_weights(problem.X.shape[1], 12, np.random.default_rng(number)):
        value = problem.statistic(problem.X @ w)
        if any(np.abs(np.abs(D @ w) - problem.margin).min(initial=1.0) < 1e-9 for D in (form.D, form.twins)):
            # Rounding decides, and it differs between differences of scores and scores of differences.
            continue
        won = form.D @ w >= problem.margin
        if exact:
            assert from_pairs(form, won) == pytest.approx(value)
            continue
        assert from_pairs(form, won) >= value - 1e-9
        ahead = form.twins @ w
        beaten_by = np.bincount(form.twin_first[ahead < problem.margin], minlength=form.lists.pos_start[-1])
        beaten_by += np.bincount(form.twin_second[-ahead < problem.margin], minlength=form.lists.pos_start[-1])
        # With the twins counted nothing is left to chance.
        assert from_pairs(form, won, beaten_by) == pytest.approx(value)


def test_steps_down_are_all_there_the_cheapest_first():
    form = PairForm.of(small_medium(0, "dcg", n=12, m=5, n_groups=2))
    lists = form.lists
    assert np.all(np.diff(lists.unit_price) >= 0)
    found = set(zip(lists.unit_list.tolist(), lists.unit_place.tolist(), strict=True))
    assert found == {(l, p) for l in (0, 1) for p in range(1, 6)}
    base = lists.place_start[lists.unit_list] + lists.unit_place
    assert lists.unit_price == pytest.approx(lists.disc[base] - lists.disc[base + 1])


def test_among_equal_prices_the_lowest_places_come_first():
    assert PairForm.of(small_medium(0, "wrs", n=8)).lists.unit_place.tolist() == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("statistic", "n_groups", "convex"),
    [("dcg", 1, True), ("wrs", 1, True), ("dcg", 2, False), ("winner_takes_all", 1, True), (DCG(top=4), 1, False),
     (np.arange(12.0) ** 0.5, 1, False)],
)  # fmt: skip
def test_convexity_is_seen(statistic, n_groups, convex):
    assert PairForm.of(small_medium(0, statistic, n=12, m=4, n_groups=n_groups)).lists.convex is convex


def test_rounding_grows_with_the_features():
    problem = small_medium(0, "dcg")
    large = RankProblem(problem.X * 1e6, problem.margin, 0.0, problem.lists, "subrank")
    assert PairForm.of(large).rounding == pytest.approx(1e6 * PairForm.of(problem).rounding)
    # Generous: a score is off by less.
    w = np.array([0.3, -1.0, 0.7])
    exact = np.array([sum(map(float, row * w)) for row in problem.X])
    assert np.abs(problem.X @ w - exact).max() < PairForm.of(problem).rounding < 1e-9


def test_equal_positives_are_seen():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    y = np.array([True, True, False])
    assert PairForm.of(RankProblem.of(X, y, "dcg")).has_equal_twins is True
    assert PairForm.of(RankProblem.of(X, y, "dcg", ranks="resolved")).has_equal_twins is False
    assert PairForm.of(RankProblem.of(X, ~y, "dcg")).has_equal_twins is False


def test_too_many_twins_are_left_out(monkeypatch):
    problem = small_medium(0, "dcg", m=8)
    assert len(PairForm.of(problem).twins) == 8 * 7 // 2
    monkeypatch.setattr(pairs_module, "TWIN_NUMBERS", 90)
    form = PairForm.of(problem)
    assert form.twins.shape == (0, 3) and len(form.twin_first) == 0


def test_lists_without_negatives_and_problems_without_pairs():
    X = np.array([[1.0], [2.0]])
    form = PairForm.of(RankProblem.of(X, np.array([True, True]), "wrs"))
    assert form.D.shape == (0, 1) and form.lists.neg_start.tolist() == [0, 0]
    assert from_pairs(form, np.zeros(0, bool)) == 3.0


def test_other_problems_are_refused():
    class Other(ExactProblem):
        def statistic(self, scores):
            return 0.0

        best_statistic = 0.0

    with pytest.raises(TypeError, match="RankProblem and PreferenceProblem, got Other"):
        PairForm.of(Other(np.eye(2), 1e-4, 0.0))
