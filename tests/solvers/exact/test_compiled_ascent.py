"""The compiled line search by itself; that it agrees with the arrays is shown in ``test_line_search``."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import compiled_ascent, line_search
from shortlist.solvers.exact.compiled_ascent import _crossing

needs_numba = pytest.mark.skipif(not compiled_ascent.available(), reason="needs Numba")
FORMS = ["plain", pytest.param("compiled", marks=needs_numba)]


def crossing(form):
    if form == "plain":
        return _crossing
    compiled_ascent._functions()
    return compiled_ascent._crossing_compiled


def test_both_forms_mean_the_same_by_one():
    assert compiled_ascent.COINCIDE == line_search.COINCIDE


@pytest.mark.parametrize("form", FORMS)
def test_crossings_are_those_of_the_arrays_and_of_a_fine_grid(form):
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 2001)
    met = 0
    for _ in range(200):
        a, b = rng.normal(size=(2, 3))
        breaks, base, slope = line_search.norm_pieces(a, b)
        x, margin = 0.8 * rng.normal(size=3), 0.5
        p, q = x @ a, x @ b
        won = p + grid * (q - p) >= margin * np.abs(np.outer(1 - grid, a) + np.outer(grid, b)).max(axis=1)
        # The first point won is asked for where the beginning is lost, the last one where the end is.
        for rising in [rising for rising, end in ((True, 0), (False, -1)) if not won[end]]:
            found = crossing(form)(p, q - p, breaks, base, slope, margin, rising)
            arrays = line_search._crossing(np.array([p]), np.array([q - p]), breaks, base, slope, margin, rising)
            assert found == pytest.approx(arrays[0])
            if won.any():
                met += 1
                k = np.flatnonzero(won)[0 if rising else -1]
                assert abs(found - grid[k]) <= 1 / 2000 + 1e-12
            elif found >= 0:
                # Too short an interval for the grid to see.
                assert p + found * (q - p) == pytest.approx(margin * np.abs((1 - found) * a + found * b).max())
    assert met > 60


@pytest.mark.parametrize("form", FORMS)
def test_a_difference_that_stays_at_the_margin(form):
    one = np.array([1.0])
    assert crossing(form)(1.0, 0.0, np.array([0.0, 1.0]), one, 0 * one, 1.0, True) == 1.0
    assert crossing(form)(0.5, 0.0, np.array([0.0, 1.0]), one, 0 * one, 1.0, True) == -1.0
