"""A chart reaches every direction, keeps every difference of scores, and is better shaped than the axes."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact.chart import KINDS, Atlas, make_chart
from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import RankProblem, on_the_cube
from tests.solvers.exact.cases import small_medium


def chart_of(problem, support=None, w=None, kind="whitened"):
    d = problem.X.shape[1]
    support = np.arange(d) if support is None else np.array(support)
    w = np.random.default_rng(1).normal(size=d) if w is None else w
    form = PairForm.of(problem)
    return form, make_chart(form, problem.margin, support, w, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("support", [(0,), (2,), (0, 2), (0, 1, 2, 3)])
def test_differences_of_scores_are_those_of_the_point(support, kind):
    problem = small_medium(0, "dcg", d=4)
    form, chart = chart_of(problem, support, kind=kind)
    s = len(support)
    rng = np.random.default_rng(0)
    for u in rng.uniform(-1, 1, size=(20, s)):
        w = chart.point(u)
        assert np.abs(w).max() == 1.0
        assert set(np.flatnonzero(w)) <= set(support)
        size = np.abs(chart.arrays.M @ u).max()
        assert u @ chart.arrays.D == pytest.approx(size * form.D @ w, abs=1e-12)
        assert u @ chart.arrays.twins == pytest.approx(size * form.twins @ w, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_direction_is_reached_from_a_facet(kind):
    problem = small_medium(0, "dcg", d=4)
    _, chart = chart_of(problem, kind=kind)
    centre, radius = chart.facets()
    assert centre.shape == (8, 4)
    for w in np.random.default_rng(0).normal(size=(50, 4)):
        u = on_the_cube(np.linalg.solve(chart.arrays.M, w))
        inside = (np.abs(u - centre) <= radius + 1e-12).all(axis=1)
        assert inside.any()
        assert chart.point(u) == pytest.approx(on_the_cube(w))


def test_the_margin_is_told_with_its_rounding():
    problem = small_medium(0, "dcg", margin=0.5)
    form, chart = chart_of(problem)
    assert chart.arrays.least == 0.5 - form.rounding and chart.arrays.most == 0.5 + form.rounding
    assert chart.arrays.slack == form.rounding


def test_the_incumbent_is_the_first_axis():
    w = np.array([0.2, -1.0, 0.4])
    _, chart = chart_of(small_medium(0, "dcg"), w=w)
    assert chart.point(np.array([1.0, 0.0, 0.0])) == pytest.approx(w)


def test_the_pairs_that_are_near_spread_evenly():
    rng = np.random.default_rng(0)
    problem = small_medium(0, "dcg", n=80, m=30, d=4)
    stretched = RankProblem(problem.X * [1.0, 30.0, 1.0, 0.1], problem.margin, 0.0, problem.lists, "subrank")
    form, chart = chart_of(stretched, w=rng.normal(size=4))
    lengths = np.abs(chart.arrays.D[1:]).mean(axis=1)
    assert lengths.max() / lengths.min() < 5 < np.abs(form.D).mean(axis=0).max() / np.abs(form.D).mean(axis=0).min()


@pytest.mark.parametrize("X", [np.ones((4, 3)), np.zeros((4, 1)), np.array([[1.0, 2], [3, 4], [1, 2], [3, 4]])])
@pytest.mark.parametrize("w", ["origin", "first"])
@pytest.mark.parametrize("kind", KINDS)
def test_poor_data_still_make_a_chart(X, w, kind):
    d = X.shape[1]
    y = np.array([True, True, False, False])
    problem = RankProblem.of(X, y, "dcg")
    start = np.zeros(d) if w == "origin" else np.eye(d)[0]
    _, chart = chart_of(problem, w=start, kind=kind)
    assert np.isfinite(chart.arrays.M).all()
    assert np.linalg.matrix_rank(chart.arrays.M) == d


@pytest.mark.parametrize("kind", KINDS)
def test_no_pairs_at_all(kind):
    problem = RankProblem.of(np.random.default_rng(0).normal(size=(3, 2)), np.ones(3, bool), "dcg")
    _, chart = chart_of(problem, w=np.zeros(2), kind=kind)
    assert chart.arrays.D.shape == (2, 0)
    assert np.linalg.matrix_rank(chart.arrays.M) == 2


def test_scaled_axes_stay_axes():
    problem = small_medium(0, "dcg", n=80, m=30, d=4)
    stretched = RankProblem(problem.X * [1.0, 30.0, 1.0, 0.1], problem.margin, 0.0, problem.lists, "subrank")
    form, chart = chart_of(stretched, kind="scaled")
    M = chart.arrays.M
    assert M.max() == 1.0 and (np.diag(M) > 0).all() and not (M - np.diag(np.diag(M))).any()
    lengths = np.abs(chart.arrays.D).mean(axis=1)
    assert lengths.max() / lengths.min() < 40 < np.abs(form.D).mean(axis=0).max() / np.abs(form.D).mean(axis=0).min()


def test_an_atlas_makes_what_it_forgot_again(monkeypatch):
    monkeypatch.setattr("shortlist.solvers.exact.chart.CHARTS", 1)
    problem = small_medium(0, "dcg", d=4)
    form = PairForm.of(problem)
    atlas = Atlas(form, problem.margin, np.ones(4))
    numbers = [atlas.add(np.array([0, 2]), "whitened"), atlas.add(np.arange(4), "scaled")]
    assert numbers == [0, 1]
    first = atlas[0]
    assert atlas[0] is first
    assert len(atlas[1].support) == 4
    again = atlas[0]
    assert again is not first
    assert np.array_equal(again.arrays.M, first.arrays.M) and np.array_equal(again.support, first.support)
