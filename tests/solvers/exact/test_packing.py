"""Conflict packing: what it calls a conflict is one, no two pairs are left over, and no order beats the bound."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from shortlist.solvers.exact import compiled, packing
from shortlist.solvers.exact.packing import BLOCK, SINGLE
from shortlist.solvers.exact.pairs import PairForm
from shortlist.statistics import DCG
from tests.solvers.exact.box_cases import PLAIN, PROBLEMS, best_inside, chart_and_twins, look, loop_bound, random_box
from tests.solvers.exact.cases import small_medium

needs_numba = pytest.mark.skipif(not compiled.available(), reason="needs Numba")
FORMS = ["plain", pytest.param("compiled", marks=needs_numba)]


def functions(form):
    return PLAIN if form == "plain" else compiled.functions()


def found_conflicts(made, form, chart, c, r):
    seen = look(made, form, chart, c, r)
    first, second = np.empty(seen.T // 2, dtype=np.int64), np.empty(seen.T // 2, dtype=np.int64)
    T = made["conflicts"](chart.arrays.D, seen.index, seen.v, seen.h, seen.T, r, seen.lost_below, first, second)
    return seen, list(zip(first[:T].tolist(), second[:T].tolist(), strict=True))


def most_of_both(D, p, q, c, r):
    """The largest value in the box of the smaller of two differences: a linear program."""
    s = len(c)
    A = np.column_stack([-D[:, [p, q]].T, np.ones(2)])
    box = [(a, b) for a, b in zip(c - r, c + r, strict=True)]
    return -linprog(np.append(np.zeros(s), -1.0), A_ub=A, b_ub=np.zeros(2), bounds=[*box, (None, None)]).fun


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", ["dcg", "dcg, four features", "dcg, wide margin", "dcg, three lists", "preferences"])
def test_a_conflict_is_one_and_each_pair_is_in_one_at_most(name, which):
    form, chart, _ = chart_and_twins(PROBLEMS[name])
    rng = np.random.default_rng(0)
    total = 0
    for _ in range(12):
        c, r = random_box(len(chart.support), rng, smallest=0.6)
        seen, found = found_conflicts(functions(which), form, chart, c, r)
        used = [t for conflict in found for t in conflict]
        assert len(used) == len(set(used)) and all(0 <= t < seen.T for t in used)
        for t, t2 in found:
            assert most_of_both(chart.arrays.D, seen.index[t], seen.index[t2], c, r) < seen.lost_below
        total += len(found)
    assert total > 20


@pytest.mark.parametrize("which", FORMS)
def test_no_two_pairs_that_are_left_over_conflict_by_its_own_test(which):
    form, chart, _ = chart_and_twins(PROBLEMS["dcg"])
    rng = np.random.default_rng(1)
    tested = 0
    for _ in range(12):
        c, r = random_box(3, rng, smallest=0.6)
        seen, found = found_conflicts(functions(which), form, chart, c, r)
        used = {t for conflict in found for t in conflict}
        left = [t for t in range(seen.T) if t not in used and seen.h[t] > 1e-12]
        for t, t2 in combinations(left, 2):
            a = [(seen.v[k] - seen.lost_below) / seen.h[k] for k in (t, t2)]
            x = [r * chart.arrays.D[:, seen.index[k]] / seen.h[k] for k in (t, t2)]
            assert sum(a) + np.abs(x[0] + x[1]).sum() > -2 * SINGLE * 5
            tested += 1
    assert tested > 100


@needs_numba
@pytest.mark.parametrize("name", PROBLEMS)
def test_compiled_and_plain_find_the_same(name):
    form, chart, _ = chart_and_twins(PROBLEMS[name])
    rng = np.random.default_rng(2)
    for _ in range(4):
        c, r = random_box(len(chart.support), rng, smallest=0.6)
        one = found_conflicts(PLAIN, form, chart, c, r)[1]
        assert one == found_conflicts(compiled.functions(), form, chart, c, r)[1]


def test_sums_of_a_block_are_what_they_say():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 2 * BLOCK)).astype(np.float32)
    a = rng.normal(size=2 * BLOCK).astype(np.float32)
    reach = np.empty(BLOCK, dtype=np.float32)
    count = packing.count_below(a, x, 5, 9, reach, np.float32(3.0))
    expected = a[9 : 9 + BLOCK] + np.abs(x[:, 9 : 9 + BLOCK] + x[:, [5]]).sum(axis=0)
    assert reach == pytest.approx(expected, abs=1e-5)
    assert count == (reach < 3.0).sum() > 0


def test_pairs_without_width_are_left_alone():
    form, chart, _ = chart_and_twins(PROBLEMS["dcg"])
    c, r = random_box(3, np.random.default_rng(4))
    seen = look(PLAIN, form, chart, c, r)
    none = np.empty(seen.T, dtype=np.int64)
    assert packing.conflicts(
        chart.arrays.D, seen.index, seen.v, np.zeros(seen.T), seen.T, r, seen.lost_below, none, none
    ) == 0  # fmt: skip


# The price of conflicts: orders instead of boxes


LISTS = {
    "dcg": ("dcg", 1),
    "rank sum": ("wrs", 1),
    "reciprocal rank": ("reciprocal_rank", 1),
    "winner": ("winner_takes_all", 1),
    "dcg of two places": (DCG(top=2), 1),
    "one's own": (np.array([0.0, 0, 1, 1, 2, 5, 5]), 1),
    "dcg, two lists": ("dcg", 2),
}


def orders(lists):
    """Lost pairs and value of every order of the rows (of all lists' rows together), positives apart."""
    m, N = lists.pos_start[-1], lists.neg_start[-1]
    lost, values = [], []
    for scores in {tuple(order) for order in permutations(range(m + N))}:
        scores = np.array(scores)
        beaten = scores[lists.pos] < scores[m + lists.neg]
        missed = np.bincount(lists.pos[beaten], minlength=m)
        value = 0.0
        for l in range(len(lists.pos_start) - 1):
            own = missed[lists.pos_start[l] : lists.pos_start[l + 1]]
            value += lists.disc[lists.place_start[l] + np.arange(1, len(own) + 1) + np.sort(own)].sum()
        lost.append(beaten)
        values.append(value)
    # Orders that lose the same pairs are one.
    unique, at = np.unique(np.array(lost), axis=0, return_index=True)
    return unique, np.array(values)[at]


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("name", LISTS)
def test_no_order_that_loses_what_must_be_lost_beats_the_bound(name, which):
    statistic, n_groups = LISTS[name]
    n, m = (8, 4) if n_groups == 2 else (7, 3)
    lists = PairForm.of(small_medium(0, statistic, n=n, m=m, n_groups=n_groups)).lists
    lost, values = orders(lists)
    made, rng, P = functions(which), np.random.default_rng(5), len(lists.pos)
    sharp = 0
    for _ in range(60 if which == "plain" else 250):
        # An order that exists: a part of what it loses is known, and so are conflicts one side of which it loses.
        truth = lost[rng.integers(len(lost))]
        known = truth & (rng.random(P) < 0.4)
        rest = rng.permutation(np.flatnonzero(~known))
        conflicts = [(p, q) for p, q in zip(rest[::2], rest[1::2], strict=False) if truth[p] or truth[q]]
        conflicts = conflicts[: rng.integers(0, 4)]
        undecided = np.flatnonzero(~known)
        position = {int(p): t for t, p in enumerate(undecided)}
        first = np.array([position[int(p)] for p, _ in conflicts], dtype=np.int64)
        second = np.array([position[int(q)] for _, q in conflicts], dtype=np.int64)
        sizes = int(lists.pos_start[-1]), int(lists.neg_start[-1])
        A, L = np.bincount(lists.pos[known], minlength=sizes[0]), np.bincount(lists.neg[known], minlength=sizes[1])
        scratch = [np.zeros(size, dtype=np.int64) for size in (sizes[0], sum(sizes) + 3, sizes[0] + 3)]
        pos, neg = (side[undecided].astype(np.int64) for side in (lists.pos, lists.neg))
        bound = made["packed_bound"](lists, A, L, pos, neg, first, second, len(conflicts), *scratch)
        possible = lost[:, known].all(axis=1)
        for p, q in conflicts:
            possible &= lost[:, p] | lost[:, q]
        best = values[possible].max()
        assert bound >= best - 1e-9
        sharp += bound <= best + 1e-9
    # And it is no idle bound.
    assert sharp > 10


@pytest.mark.parametrize("view", ["path", "negatives"])
def test_each_view_by_itself_is_a_bound_and_counts_further_losses(view):
    lists = PairForm.of(small_medium(0, "dcg", n=7, m=3)).lists
    lost, values = orders(lists)
    rng = np.random.default_rng(6)
    for _ in range(120):
        truth = lost[rng.integers(len(lost))]
        known = truth & (rng.random(12) < 0.5)
        A, L = np.bincount(lists.pos[known], minlength=3), np.bincount(lists.neg[known], minlength=4)
        bounds = []
        for more in range(int(truth.sum() - known.sum()) + 1):
            enough = lost[:, known].all(axis=1) & (lost.sum(axis=1) >= known.sum() + more)
            if view == "path":
                scratch = [np.zeros(size, dtype=np.int64) for size in (3, 10, 6)]
                bounds.append(packing.by_path(lists, A, L, int(known.sum()) + more, *scratch))
            else:
                bounds.append(packing.by_negatives(lists, L, np.full(4, 99), more))
            assert bounds[-1] >= values[enough].max() - 1e-9
        assert np.all(np.diff(bounds) <= 1e-12)


# Both together, in boxes


@needs_numba
@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_inside_a_box_beats_the_packed_bound(name):
    problem = PROBLEMS[name]
    form, chart, twins = chart_and_twins(problem)
    rng = np.random.default_rng(7)
    gained = 0
    for _ in range(20):
        c, r = random_box(len(chart.support), rng, smallest=0.3)
        packed = loop_bound(compiled.functions(), form, chart, twins, c, r, pack=True)
        path = loop_bound(compiled.functions(), form, chart, twins, c, r, pack=False)
        assert packed <= path
        assert packed >= best_inside(problem, chart, c, r, rng, tries=10) - 1e-9
        gained += packed < path - 1e-9
    assert gained > 0 or name in NO_GAIN


# One further loss may cost nothing there, or one feature leaves no conflict.
NO_GAIN = {"winner", "dcg of three places", "partial", "one's own", "preferences, one feature"}
