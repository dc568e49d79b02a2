"""The loops, run as plain Python, say what the arrays say; compiled they say the same."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import bounds, compiled, kernels
from tests.solvers.exact.box_cases import PLAIN, PROBLEMS, chart_and_twins, look, random_box

FORMS = ["plain", pytest.param("compiled", marks=pytest.mark.skipif(not compiled.available(), reason="needs Numba"))]


def functions(form):
    return PLAIN if form == "plain" else compiled.functions()


def boxes(problem, count, seed):
    form, chart, twins = chart_and_twins(problem)
    rng = np.random.default_rng(seed)
    return form, chart, twins, [random_box(len(chart.support), rng) for _ in range(count)]


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_boxes_are_seen_as_the_arrays_see_them(name, which):
    form, chart, _, some = boxes(PROBLEMS[name], 8, 0)
    for c, r in some:
        seen = look(functions(which), form, chart, c, r)
        expected = bounds.intervals(chart.arrays, c[None], r[None])
        assert seen.lost_below == pytest.approx(expected.lost_below[0], rel=1e-12)
        assert seen.index[: seen.T].tolist() == np.flatnonzero(expected.undecided[0]).tolist()
        assert seen.A.tolist() == np.bincount(form.lists.pos[expected.lost[0]], minlength=len(seen.A)).tolist()
        assert seen.L.tolist() == np.bincount(form.lists.neg[expected.lost[0]], minlength=len(seen.L)).tolist()
        centre, width = c @ chart.arrays.D, r @ np.abs(chart.arrays.D)
        assert seen.v[: seen.T] == pytest.approx(centre[expected.undecided[0]], abs=1e-12)
        assert seen.h[: seen.T] == pytest.approx(width[expected.undecided[0]], abs=1e-12)


@pytest.mark.parametrize("which", FORMS)
def test_margins_are_those_of_the_arrays(which):
    _, chart, _, some = boxes(PROBLEMS["dcg, wide margin"], 30, 1)
    for arrays in (chart.arrays, chart.arrays._replace(least=-0.1, most=0.1)):
        for c, r in some:
            low, high = functions(which)["margins"](arrays.M, arrays.least, arrays.most, arrays.slack, c, r)
            expected = bounds.margins(arrays, c[None], r[None])
            assert (low, high) == pytest.approx((expected[0][0], expected[1][0]), rel=1e-12)
            # The margin counts in units of the largest coefficient, which the box bounds from both sides.
            sizes = np.abs(np.random.default_rng(0).uniform(c - r, c + r, (50, len(c))) @ arrays.M.T).max(axis=1)
            assert (arrays.least * sizes > low).all() and (arrays.most * sizes < high).all()


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_places_and_what_they_earn(name, which):
    form, _, _, _ = boxes(PROBLEMS[name], 0, 0)
    lists, made = form.lists, functions(which)
    rng = np.random.default_rng(2)
    m, N = np.diff(lists.pos_start), np.diff(lists.neg_start)
    for _ in range(15):
        lost = rng.random(len(form.D)) < rng.random()
        A, L = np.bincount(lists.pos[lost], minlength=m.sum()), np.bincount(lists.neg[lost], minlength=N.sum())
        B = np.concatenate([rng.integers(0, size, size=size) for size in m])
        places = np.zeros(m.sum(), dtype=np.int64)
        hist_a, hist_l = np.zeros(m.sum() + N.sum() + 3, dtype=np.int64), np.zeros(m.sum() + 3, dtype=np.int64)
        made["path_places"](lists, A, L, places, hist_a, hist_l)
        expected = bounds.path_places(lists, A[None], L[None])
        assert places.tolist() == expected[0].tolist()
        assert made["earned"](lists, places) == pytest.approx(bounds.earned(lists, expected)[0])
        made["twin_places"](lists, A, B, places, hist_a)
        expected = np.maximum(expected, bounds.twin_places(lists, A[None], B[None]))
        assert places.tolist() == expected[0].tolist()


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", ["dcg, whole numbers", "dcg, three lists", "partial"])
def test_twins_are_counted_as_in_arrays(name, which):
    form, chart, twins, some = boxes(PROBLEMS[name], 20, 3)
    counted = 0
    for c, r in some:
        low = bounds.margins(chart.arrays, c[None], r[None])[0]
        B = np.full(form.lists.pos_start[-1], 99)
        functions(which)["count_twins"](chart.arrays.twins, twins.first, twins.second, c, r, low[0], B)
        expected = bounds.count_twins(chart.arrays, twins, c[None], r[None], low, len(B))
        assert B.tolist() == expected[0].tolist()
        counted += B.sum()
    assert counted > 20


def test_the_loops_are_in_the_order_in_which_they_call_one_another():
    for module, names in compiled.ORDER:
        assert all(callable(getattr(module, name)) for name in names)
    assert compiled.ORDER[0][0] is kernels
