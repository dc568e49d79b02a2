"""The search below a box: no good point is lost, whatever the effort; plain Python and compiled agree."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import compiled, descent
from shortlist.solvers.exact.descent import Effort, longest_cut
from shortlist.solvers.exact.problem import RankProblem
from tests.solvers.exact.box_cases import PLAIN, PROBLEMS, chart_and_twins, look, loop_bound, random_box
from tests.solvers.exact.cases import random_weights

needs_numba = pytest.mark.skipif(not compiled.available(), reason="needs Numba")
FORMS = ["plain", pytest.param("compiled", marks=needs_numba)]
EFFORT = Effort(prune=-np.inf, keep_below=-np.inf, budget=40, levels=4, period=2, most_packed=4000, glance=2)


def functions(form):
    return PLAIN if form == "plain" else compiled.functions()


def run(made, problem, effort, C=None, R=None, bounds=None, stop=0, seed=0):
    form, chart, twins = chart_and_twins(problem, seed)
    C, R = chart.facets() if C is None else (C, R)
    bounds = np.full(len(C), np.inf) if bounds is None else bounds
    ages, flag = np.full(len(C), 100, dtype=np.int64), np.array([stop], dtype=np.uint8)
    return made["descend"](form.lists, chart.arrays, twins, effort, problem.margin, C, R, bounds, ages, flag)


def holds_everything(problem, result, prune, seed=0, points=80):
    """Each point better than ``prune`` is in a box that is left, under a bound, or under ``aside``."""
    _, chart, _ = chart_and_twins(problem, seed)
    C, R, bound, _, _, aside, _, _ = result
    met = 0
    for u in random_weights(len(chart.support), points, np.random.default_rng(1)):
        if not u.any():
            continue
        truth = problem.statistic(problem.X @ chart.point(u))
        if truth > prune + 1e-9:
            met += 1
            inside = (np.abs(u - C) <= R + 1e-12).all(axis=1)
            assert max(bound[inside].max(initial=-np.inf), aside) >= truth - 1e-9
    return met


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_good_point_is_lost(name, which):
    problem = PROBLEMS[name]
    small = EFFORT if which == "compiled" else EFFORT._replace(budget=6, levels=3, most_packed=0)
    for prune in (-np.inf, 0.7 * problem.best_statistic):
        result = run(functions(which), problem, small._replace(prune=prune))
        met = holds_everything(problem, result, prune)
        assert met > 40 or prune > 0
        C, R, bound, _, nodes, aside, value, u = result
        assert (bound > prune).all() and nodes > len(C) // 2
        # With one feature a facet is a point, and cannot be cut.
        assert aside == -np.inf or problem.X.shape[1] == 1
        assert (np.abs(C) + R <= 1 + 1e-12).all()
        if value > -np.inf:
            _, chart, _ = chart_and_twins(problem)
            assert value >= problem.statistic(problem.X @ chart.point(u)) - 1e-9


@needs_numba
@pytest.mark.parametrize(
    "change",
    [{}, {"budget": 3}, {"levels": 1}, {"levels": 8, "budget": 200}, {"period": 1}, {"period": 99}, {"glance": 1},
     {"most_packed": 5}, {"keep_below": 2.0}, {"prune": 1.9}],
    ids=str,
)  # fmt: skip
def test_efforts_of_all_kinds_and_plain_python_agree(change):
    problem = PROBLEMS["dcg"]
    effort = EFFORT._replace(budget=12, levels=3)._replace(**change)
    one = run(compiled.functions(), problem, effort)
    holds_everything(problem, one, effort.prune)
    if effort.budget <= 12:
        two = run(PLAIN, problem, effort)
        for mine, its in zip(one, two, strict=True):
            assert np.asarray(mine) == pytest.approx(np.asarray(its), abs=1e-12)


def test_more_effort_means_better_bounds():
    problem = PROBLEMS["dcg"]
    made = functions("compiled" if compiled.available() else "plain")
    shallow, deep = (run(made, problem, EFFORT._replace(levels=k, budget=60)) for k in (1, 5))
    assert deep[2].max() < shallow[2].max()
    assert deep[4] > shallow[4]


def test_boxes_below_the_level_of_the_heap_go_back_unopened():
    problem = PROBLEMS["dcg"]
    result = run(PLAIN, problem, EFFORT._replace(keep_below=99.0, levels=3, budget=30, most_packed=0))
    # The tasks themselves are opened; their children go back at once.
    assert len(result[0]) == 2 * len(chart_and_twins(problem)[1].facets()[0])


def test_asked_to_stop_it_opens_no_more():
    problem = PROBLEMS["dcg"]
    C, _, bound, _, nodes, *_ = result = run(PLAIN, problem, EFFORT._replace(most_packed=0), stop=1)
    facets = len(chart_and_twins(problem)[1].facets()[0])
    assert nodes == facets and len(C) == 2 * facets
    assert (bound <= problem.best_statistic + 1e-9).all()
    holds_everything(problem, result, -np.inf)


def test_a_bound_inherits_its_parents():
    problem = PROBLEMS["dcg"]
    _, chart, _ = chart_and_twins(problem)
    C, R = chart.facets()
    bound = run(PLAIN, problem, EFFORT._replace(levels=1, most_packed=0), C, R, np.full(len(C), 1.25))[2]
    assert (bound <= 1.25).all() and (bound == 1.25).any()


@pytest.mark.parametrize("which", FORMS)
def test_thin_boxes_are_set_aside(which):
    problem = PROBLEMS["dcg"]
    form, chart, twins = chart_and_twins(problem)
    rng = np.random.default_rng(3)
    C = np.array([random_box(3, rng)[0] for _ in range(5)])
    R = np.full_like(C, 1e-10)
    made = functions(which)
    expected = [loop_bound(made, form, chart, twins, c, r, pack=True) for c, r in zip(C, R, strict=True)]
    out, _, _, _, nodes, aside, value, u = run(made, problem, EFFORT, C, R)
    assert len(out) == 0 and nodes == 5
    assert aside == pytest.approx(max(expected))
    # They have been looked at, too.
    assert value == pytest.approx(problem.statistic(problem.X @ chart.point(u)))
    pruned = run(made, problem, EFFORT._replace(prune=aside), C, R)
    assert pruned[5] == -np.inf


def test_few_numbers_make_a_shallow_descent(monkeypatch):
    monkeypatch.setattr(descent, "LEVEL_NUMBERS", 1)
    problem = PROBLEMS["dcg, whole numbers"]
    C, R, *_ = result = run(PLAIN, problem, EFFORT._replace(budget=100, levels=6, most_packed=0))
    # Two levels below the facets, of half-width 1.
    assert (R.max(axis=1) >= 0.25 - 1e-12).all() and len(C) == 4 * 4
    holds_everything(problem, result, -np.inf)


def test_a_child_sees_what_a_first_look_at_it_would():
    problem = PROBLEMS["dcg"]
    form, chart, _ = chart_and_twins(problem)
    rng = np.random.default_rng(4)
    arrays, P = chart.arrays, len(form.D)
    for _ in range(20):
        c, r = random_box(3, rng, smallest=0.4)
        parent = look(PLAIN, form, chart, c, r)
        j = int(rng.choice(np.flatnonzero(r)))
        half = rng.choice([-0.5, 0.5]) * r[j]
        below, narrow = c.copy(), r.copy()
        below[j] += half
        narrow[j] = abs(half)
        expected = look(PLAIN, form, chart, below, narrow)
        low, high = PLAIN["margins"](arrays.M, arrays.least, arrays.most, arrays.slack, below, narrow)
        index, v, h = np.empty(P, dtype=np.int32), np.empty(P), np.empty(P)
        A, L = parent.A.copy(), parent.L.copy()
        T = PLAIN["look_below"](
            form.lists, arrays.D, j, half, low, high, parent.T, parent.index, parent.v, parent.h, index, v, h, A, L
        )
        assert T == expected.T and index[:T].tolist() == expected.index[:T].tolist()
        assert v[:T] == pytest.approx(expected.v[:T]) and h[:T] == pytest.approx(expected.h[:T])
        assert A.tolist() == expected.A.tolist() and L.tolist() == expected.L.tolist()


@pytest.mark.parametrize("which", FORMS)
def test_the_cut_is_where_it_decides_most(which):
    cut = functions(which)["longest_cut"]
    D = np.array([[1.0, 1.0, 9.0], [3.0, -3.0, 0.0], [9.0, 9.0, 9.0]])
    index = np.array([0, 1, 7], dtype=np.int32)
    assert cut(D, index, 2, np.array([1.0, 1.0, 0.0])) == 1
    assert cut(D, index, 2, np.array([1.0, 0.2, 0.0])) == 0
    # Where no pair is undecided the widest side, so that none is forgotten.
    assert cut(D, index, 0, np.array([0.5, 0.7, 0.1])) == 1


def test_a_coordinate_that_no_pair_feels_is_cut_in_the_end():
    D = np.array([[1.0], [0.0]])
    r, index = np.array([1.0, 1.0]), np.zeros(1, dtype=np.int32)
    cuts = []
    for _ in range(20):
        cuts.append(longest_cut(D, index, 1, r))
        r[cuts[-1]] /= 2
    assert 1 in cuts


@pytest.mark.parametrize("name", ["dcg", "preferences", "dcg, resolved"])
def test_centres_are_scored(name):
    problem = PROBLEMS[name]
    form, chart, _ = chart_and_twins(problem)
    rng = np.random.default_rng(5)
    for _ in range(20):
        c, r = random_box(len(chart.support), rng)
        seen = look(PLAIN, form, chart, c, r)
        said = PLAIN["centre_value"](
            form.lists, chart.arrays.M, problem.margin, c, seen.index, seen.v, seen.T, seen.A, seen.L,
            seen.places, seen.hist_a, seen.hist_l,
        )  # fmt: skip
        assert said == pytest.approx(problem.statistic(problem.X @ chart.point(c)))


def test_a_bound_is_looked_into_only_while_it_may_live():
    problem = PROBLEMS["dcg"]
    doubled = RankProblem.of(problem.X[[0, 0, 1, 1, 2, *range(5, 13)]], np.arange(13) < 5, "dcg")
    form, chart, twins = chart_and_twins(doubled)
    c, r = chart.facets()[0][0], 0.3 * chart.facets()[1][0]
    full = loop_bound(PLAIN, form, chart, twins, c, r, pack=True)
    path = loop_bound(PLAIN, form, chart, twins._replace(ask=False), c, r, pack=False)
    assert full < path
    # Hopeless already: neither twins nor conflicts are asked.
    assert loop_bound(PLAIN, form, chart, twins, c, r, pack=True, prune=path) == path
    assert loop_bound(PLAIN, form, chart, twins, c, r, pack=True, parent=0.5) == 0.5
