"""The array bounds: never below what a box holds, exact at a point, and the search one level down loses nothing."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import bounds
from shortlist.solvers.exact.bounds import centre_values, descend_arrays, path_bounds, path_places
from shortlist.solvers.exact.descent import Effort, Twins
from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from tests.solvers.exact.box_cases import PROBLEMS, best_inside, chart_and_twins, random_box
from tests.solvers.exact.cases import random_weights, small_medium

EFFORT = Effort(prune=-np.inf, keep_below=-np.inf, budget=200, levels=10, period=2, most_packed=4000, glance=8)


def some_boxes(s, count, seed):
    rng = np.random.default_rng(seed)
    C, R = zip(*(random_box(s, rng) for _ in range(count)), strict=True)
    return np.array(C), np.array(R)


def descend(form, chart, twins, effort, problem, C, R, parent=None, stop=0):
    parent = np.full(len(C), np.inf) if parent is None else parent
    ages = np.zeros(len(C), dtype=np.int64)
    return descend_arrays(
        form.lists, chart.arrays, twins, effort, problem.margin, C, R, parent, ages, np.array([stop], dtype=np.uint8)
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_inside_a_box_beats_its_bound(name):
    problem = PROBLEMS[name]
    form, chart, twins = chart_and_twins(problem)
    C, R = some_boxes(len(chart.support), 25, 0)
    bound, seen = path_bounds(form.lists, chart.arrays, twins, C, R)
    rng = np.random.default_rng(1)
    found = [best_inside(problem, chart, c, r, rng, tries=12) for c, r in zip(C, R, strict=True)]
    assert (bound >= np.array(found) - 1e-9).all()
    assert (bound <= problem.best_statistic + 1e-9).all()
    # Some boxes decide something: the bound is not the trivial one everywhere.
    assert (bound < problem.best_statistic - 1e-9).any() and seen.lost.any()
    assert not (seen.lost & seen.undecided).any()


@pytest.mark.parametrize("name", PROBLEMS)
def test_decided_pairs_stay_decided(name):
    problem = PROBLEMS[name]
    form, chart, twins = chart_and_twins(problem, seed=3)
    C, R = some_boxes(len(chart.support), 20, 4)
    _, seen = path_bounds(form.lists, chart.arrays, twins, C, R)
    rng = np.random.default_rng(5)
    for c, r, lost, undecided in zip(C, R, seen.lost, seen.undecided, strict=True):
        for u in c + r * rng.uniform(-1, 1, size=(20, len(c))):
            won = form.D @ chart.point(u) >= problem.margin
            assert not won[lost].any()
            assert won[~lost & ~undecided].all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_at_a_point_the_bound_is_the_statistic(name):
    problem = PROBLEMS[name]
    form, chart, twins = chart_and_twins(problem)
    rng = np.random.default_rng(6)
    C = np.array([random_box(len(chart.support), rng)[0] for _ in range(30)])
    bound, _ = path_bounds(form.lists, chart.arrays, twins, C, np.zeros_like(C))
    truth = [problem.statistic(problem.X @ chart.point(u)) for u in C]
    assert bound == pytest.approx(truth)


def test_equal_rows_are_why_twins_are_asked(monkeypatch):
    problem = PROBLEMS["dcg"]
    doubled = RankProblem.of(problem.X[[0, 0, 1, 1, 2, *range(5, 13)]], np.arange(13) < 5, "dcg", margin=problem.margin)
    form, chart, asked = chart_and_twins(doubled)
    assert form.has_equal_twins
    unasked = Twins(asked.first, asked.second, False)
    C, R = some_boxes(3, 60, 7)
    with_twins, seen = path_bounds(form.lists, chart.arrays, asked, C, R)
    few, _ = path_bounds(form.lists, chart.arrays, unasked, C, R)
    monkeypatch.setattr(bounds, "FEW", -1)
    without, _ = path_bounds(form.lists, chart.arrays, unasked, C, R)
    assert (with_twins <= without).all() and (with_twins < without - 1e-6).any()
    # Where few pairs are undecided they are asked all the same.
    chosen = seen.undecided.sum(axis=1) <= 8
    assert chosen.any() and np.array_equal(few, np.where(chosen, with_twins, without))


@pytest.mark.parametrize("name", PROBLEMS)
def test_centres_are_worth_what_the_path_says(name):
    problem = PROBLEMS[name]
    form, chart, _ = chart_and_twins(problem)
    rng = np.random.default_rng(8)
    C = np.array([random_box(len(chart.support), rng)[0] for _ in range(20)])
    said = centre_values(form.lists, chart.arrays, problem.margin, C)
    truth = np.array([problem.statistic(problem.X @ chart.point(u)) for u in C])
    assert (said >= truth - 1e-9).all()
    if isinstance(problem, PreferenceProblem) or problem.ranks == "resolved":
        assert said == pytest.approx(truth)


def test_places_are_the_best_that_any_order_allows():
    # Every order of 3 positives and 3 negatives, and every set of pairs that it loses, against the places.
    rng = np.random.default_rng(9)
    lists = PairForm.of(small_medium(0, "dcg", n=6, m=3)).lists
    for _ in range(400):
        scores = rng.permutation(6)
        lost = scores[lists.pos] < scores[3 + lists.neg]
        known = lost & (rng.random(9) < 0.6)
        A, L = np.bincount(lists.pos[known], minlength=3), np.bincount(lists.neg[known], minlength=3)
        places = path_places(lists, A[None], L[None])[0]
        truth = np.sort(6 - scores[:3])
        assert (places <= truth).all()
        if known.sum() == lost.sum():
            assert (places == truth).all()


@pytest.mark.parametrize("numbers", [bounds.NUMBERS, 100])
@pytest.mark.parametrize("name", ["dcg", "dcg, three lists", "winner", "preferences"])
def test_one_level_down_no_good_point_is_lost(name, numbers, monkeypatch):
    monkeypatch.setattr(bounds, "NUMBERS", numbers)
    problem = PROBLEMS[name]
    form, chart, twins = chart_and_twins(problem)
    C, R = chart.facets()
    prune = 0.8 * problem.best_statistic
    points = [u for u in random_weights(len(chart.support), 150, np.random.default_rng(0)) if u.any()]
    aside = -np.inf
    for _ in range(4):
        C, R, bound, ages, nodes, more, value, u = descend(
            form, chart, twins, EFFORT._replace(prune=prune), problem, C, R
        )
        aside = max(aside, more)
        assert (ages == 0).all() and nodes > 0
        assert (bound > prune).all()
        if value > -np.inf:
            assert value >= problem.statistic(problem.X @ chart.point(u)) - 1e-9
        for point in points:
            truth = problem.statistic(problem.X @ chart.point(point))
            if truth > prune:
                inside = (np.abs(point - C) <= R + 1e-12).all(axis=1)
                assert inside.any() and bound[inside].max() >= truth - 1e-9
    assert aside == -np.inf


def test_a_bound_is_never_above_its_parents():
    problem = PROBLEMS["dcg"]
    form, chart, twins = chart_and_twins(problem)
    C, R = chart.facets()
    parent = np.linspace(1.0, 1.5, len(C))
    _, _, bound, *_ = descend(form, chart, twins, EFFORT, problem, C, R, parent)
    assert set(np.round(bound, 12)) <= set(np.round(parent, 12))


def test_thin_boxes_are_set_aside_with_their_bound():
    problem = PROBLEMS["dcg"]
    form, chart, twins = chart_and_twins(problem)
    C, R = some_boxes(3, 8, 2)
    R[:4] = 0.0
    own, _ = path_bounds(form.lists, chart.arrays, twins, C, R)
    out, _, _, _, _, aside, _, _ = descend(form, chart, twins, EFFORT, problem, C, R)
    assert len(out) == 2 * 4
    assert aside == pytest.approx(own[:4].max())


def test_asked_to_stop_it_hands_the_boxes_back():
    problem = PROBLEMS["dcg"]
    form, chart, twins = chart_and_twins(problem)
    C, R = chart.facets()
    parent = np.arange(len(C), dtype=float)
    c, r, bound, _, nodes, aside, value, _ = descend(form, chart, twins, EFFORT, problem, C, R, parent, stop=1)
    assert np.array_equal(c, C) and np.array_equal(r, R) and np.array_equal(bound, parent)
    assert nodes == 0 and aside == value == -np.inf


def test_every_coordinate_is_cut_in_the_end():
    # The second column differs in no pair: a box must not be cut for ever in the first alone.
    X = np.column_stack([np.arange(4.0), np.ones(4)])
    problem = RankProblem.of(X, np.array([True, False, True, False]), "dcg")
    form, chart, twins = chart_and_twins(problem)
    C, R = chart.facets()
    for _ in range(24):
        C, R, *_ = descend(form, chart, twins, EFFORT, problem, C[:4], R[:4])
    assert (R.max(axis=0) < 0.2).all()
