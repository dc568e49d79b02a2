"""Families of supports: unfolded to the end they are all supports, once each, and no bound is below its members."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.support import Families, Family
from tests.oracle.exact import exact_value
from tests.solvers.exact.cases import random_weights, small_medium, small_problem


def families_of(problem, l0, features=None):
    features = np.arange(problem.X.shape[1]) if features is None else np.array(features, dtype=int)
    return Families(PairForm.of(problem), features, problem.margin, l0)


def unfolded(families):
    out = []
    while len(families):
        family = families.unfold()
        if family is not None:
            out.append(family)
    return out


def test_all_supports_once_each():
    found = unfolded(families_of(small_medium(0, "dcg", d=4), 0.1))
    assert all(family.settled for family in found)
    supports = [tuple(sorted(family.within)) for family in found]
    assert len(supports) == len(set(supports)) == 15
    assert set(supports) == {s for size in range(1, 5) for s in combinations(range(4), size)}


def test_without_a_price_one_support_holds_the_rest():
    families = families_of(small_medium(0, "dcg", d=4), 0.0, [0, 3])
    found = unfolded(families)
    assert [family.within for family in found] == [(0, 3)]
    assert families.best_key == -np.inf


def test_no_feature_that_differs_no_family():
    families = families_of(small_medium(0, "dcg"), 0.1, [])
    assert len(families) == 0 and families.best_key == -np.inf


@pytest.mark.parametrize("number", [k for k in range(60) if k % 2])
def test_no_support_is_better_than_its_family(number):
    problem = small_problem(number)
    d = problem.X.shape[1]
    families = families_of(problem, problem.l0)
    values = {}
    for w in [w for w in random_weights(d, 60, np.random.default_rng(number)) if w.any()]:
        key = tuple(np.flatnonzero(w).tolist())
        values[key] = max(values.get(key, -np.inf), exact_value(problem, w))
    waiting, last = [], np.inf
    while len(families):
        assert families.best_key <= last + 1e-12
        last = families.best_key
        # The supports that still wait are no better than the best key.
        hidden = [value for support, value in values.items() if support not in waiting]
        assert max(hidden, default=-np.inf) <= families.best_key + 1e-9
        family = families.unfold()
        if family is not None:
            own = tuple(sorted(family.within))
            waiting.append(own)
            assert values.get(own, -np.inf) <= family.bound - problem.l0 * len(own) + 1e-9


def test_the_cube_bound_sees_pairs_that_no_weights_win():
    problem = small_medium(0, "wrs", margin=0.8)
    small = type(problem)(problem.X * [1.0, 0.01, 0.01], 0.8, 0.0, problem.lists, "subrank")
    bounds = {family.within: family.bound for family in unfolded(families_of(small, 0.01))}
    # In the second and third column no difference reaches the margin: all negatives stand above all positives.
    assert bounds[1, 2] == bounds[1,] == pytest.approx(6 * 7 / 2)
    assert bounds[0,] > bounds[1, 2]


def test_a_family_is_settled_when_one_support_is_left():
    assert Family((0, 1), (1, 0), 3.0).settled
    assert not Family((0,), (0, 1), 3.0).settled
