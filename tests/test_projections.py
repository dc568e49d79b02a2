"""Projections against a conic solver, against their optimality conditions, and on hostile input."""

from __future__ import annotations

from time import perf_counter

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shortlist.projections import box_simplex_pair, capped_simplex_pair, l1_inf_ball, simplex_pair

# Steps of 1/8 on purpose: ties, zeros and active limits are then common.
EIGHTHS = st.integers(-40, 40).map(lambda k: k / 8)
VECTORS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=EIGHTHS))
MATRICES = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=EIGHTHS)
)
quick = settings(max_examples=150, deadline=None, derandomize=True)


def solve(objective, constraints):
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


def oracle_pair(a0, b0, *, upper_a=None, upper_b=None, caps=None):
    a, b = cp.Variable(len(a0)), cp.Variable(len(b0))
    constraints = [a >= 0, b >= 0, cp.sum(a) == cp.sum(b)]
    if upper_a is not None:
        constraints.append(a <= upper_a)
    if upper_b is not None:
        constraints.append(b <= upper_b)
    if caps is not None:
        constraints.append(b <= caps * cp.sum(b))
    solve(0.5 * cp.sum_squares(a - a0) + 0.5 * cp.sum_squares(b - b0), constraints)
    return a.value, b.value


def is_projection(point, projected, vertices, tol=1e-9):
    """<point - projected, v - projected> <= 0 for all feasible v: what characterises a projection."""
    gap = max(float(np.vdot(point - projected, v - projected)) for v in vertices)
    assert gap <= tol * (1 + float(np.abs(point).max()) ** 2) * point.size


@pytest.mark.parametrize("seed", range(12))
def test_pairs_agree_with_a_conic_solver(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 15, 2)
    a0, b0 = rng.normal(size=m) * 3, rng.normal(size=n) * 3
    if seed % 3 == 0:
        a0, b0 = a0.round(), b0.round()
    upper_a, upper_b = rng.uniform(0, 2, m), rng.uniform(0, 2, n)
    caps = rng.uniform(1 / n, 2, n) if seed % 2 else np.full(n, 1 / rng.integers(1, n + 1))
    for ours, theirs in [
        (simplex_pair(a0, b0), oracle_pair(a0, b0)),
        (box_simplex_pair(a0, b0), oracle_pair(a0, b0)),
        (box_simplex_pair(a0, b0, upper_a=upper_a), oracle_pair(a0, b0, upper_a=upper_a)),
        (
            box_simplex_pair(a0, b0, upper_a=upper_a, upper_b=upper_b),
            oracle_pair(a0, b0, upper_a=upper_a, upper_b=upper_b),
        ),
        (capped_simplex_pair(a0, b0, caps), oracle_pair(a0, b0, caps=caps)),
        (
            capped_simplex_pair(a0, b0, caps, upper_a=upper_a),
            oracle_pair(a0, b0, upper_a=upper_a, caps=caps),
        ),
    ]:
        np.testing.assert_allclose(ours[0], theirs[0], atol=2e-5)
        np.testing.assert_allclose(ours[1], theirs[1], atol=2e-5)


@quick
@given(VECTORS, VECTORS, st.integers(0, 5))
def test_simplex_pair_satisfies_its_optimality_conditions(a0, b0, seed):
    a, b = simplex_pair(a0, b0, seed=seed)
    assert (a >= 0).all()
    assert (b >= 0).all()
    assert a.sum() == pytest.approx(b.sum(), abs=1e-12)
    # The rays of the cone are the pairs of unit vectors; 0 and twice the point are feasible too.
    point, projected = np.append(a0, b0), np.append(a, b)
    m, n = len(a0), len(b0)
    rays = [np.eye(m + n)[i] + np.eye(m + n)[m + j] + projected for i in range(m) for j in range(n)]
    is_projection(point, projected, [*rays, 0 * projected, 2 * projected])


@quick
@given(VECTORS, VECTORS, st.data())
def test_capped_pair_satisfies_its_optimality_conditions(a0, b0, data):
    n = len(b0)
    k = data.draw(st.integers(1, n))
    a, b = capped_simplex_pair(a0, b0, 1 / k)
    s = a.sum()
    assert min(a.min(), b.min()) >= 0
    assert s == pytest.approx(b.sum(), abs=1e-11)
    assert (b <= s / k + 1e-11).all()
    # Rays: one unit vector in a, k equal shares in b.  The worst of them takes the k largest residuals.
    rest_a, rest_b = a0 - a, b0 - b
    worst = rest_a.max() + np.sort(rest_b)[::-1][:k].mean()
    assert worst <= 1e-9
    assert np.dot(rest_a, a) + np.dot(rest_b, b) == pytest.approx(0, abs=1e-8)


@quick
@given(VECTORS, VECTORS)
def test_limits_that_do_not_bind_change_nothing(a0, b0):
    plain = simplex_pair(a0, b0)
    for other in (
        box_simplex_pair(a0, b0, upper_a=1e3, upper_b=1e3),
        capped_simplex_pair(a0, b0, 1.0),
        capped_simplex_pair(a0, b0, 1.0, upper_a=1e3),
    ):
        np.testing.assert_allclose(other[0], plain[0], atol=1e-11)
        np.testing.assert_allclose(other[1], plain[1], atol=1e-11)


@quick
@given(VECTORS, VECTORS)
def test_a_second_projection_moves_nothing(a0, b0):
    upper, cap = np.full(len(a0), 0.75), np.full(len(b0), max(0.4, 1 / len(b0)))
    for project in (
        simplex_pair,
        lambda a, b: box_simplex_pair(a, b, upper_a=upper),
        lambda a, b: capped_simplex_pair(a, b, cap, upper_a=upper),
    ):
        once = project(a0, b0)
        twice = project(*once)
        np.testing.assert_allclose(twice[0], once[0], atol=1e-11)
        np.testing.assert_allclose(twice[1], once[1], atol=1e-11)


def test_the_root_need_not_be_unique():
    # max(a0) <= -max(b0): rho vanishes on an interval, where the printed algorithm divides 0 by 0.
    for a, b in (
        simplex_pair([-3.0, -1.0], [-2.0, -0.5]),
        capped_simplex_pair([-3.0, -1.0], [-2.0, -0.5], 0.5),
    ):
        assert not a.any()
        assert not b.any()


def test_a_pivot_that_is_active_is_counted():
    # The smallest input on which Algorithm 2 as printed loses the pivot's own share.
    for seed in range(10):
        np.testing.assert_allclose(simplex_pair([1.0], [0.0], seed=seed), [[0.5], [0.5]])


@pytest.mark.parametrize("shape", ["sorted", "reversed", "constant", "two values"])
def test_no_shape_of_input_is_quadratic(shape):
    n = 200_000
    x = {
        "sorted": np.arange(n, dtype=float),
        "reversed": np.arange(n, dtype=float)[::-1],
        "constant": np.ones(n),
        "two values": np.arange(n) % 2.0,
    }[shape]
    start = perf_counter()
    a, b = simplex_pair(x, x - 1)
    assert perf_counter() - start < 2  # quadratic would take minutes
    assert a.sum() == pytest.approx(b.sum(), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_projections_scale(scale):
    rng = np.random.default_rng(5)
    a0, b0, A0 = rng.normal(size=9), rng.normal(size=7), rng.normal(size=(5, 4))
    for project in (simplex_pair, box_simplex_pair, lambda a, b: capped_simplex_pair(a, b, 0.3)):
        expected, got = project(a0, b0), project(scale * a0, scale * b0)
        for e, g in zip(expected, got, strict=True):
            np.testing.assert_allclose(g / scale, e, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(l1_inf_ball(scale * A0, scale) / scale, l1_inf_ball(A0, 1.0), atol=1e-12)


def test_the_seed_decides_nothing_but_rounding():
    rng = np.random.default_rng(2)
    a0, b0 = rng.normal(size=1000), rng.normal(size=800)
    first = simplex_pair(a0, b0)
    np.testing.assert_array_equal(first[0], simplex_pair(a0, b0)[0])
    for seed in range(1, 4):
        np.testing.assert_allclose(simplex_pair(a0, b0, seed=seed)[0], first[0], atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_and_input_are_kept(dtype):
    rng = np.random.default_rng(1)
    a0, b0, A0 = (rng.normal(size=s).astype(dtype) for s in (50, 60, (7, 8)))
    before = [x.copy() for x in (a0, b0, A0)]
    results = [
        *simplex_pair(a0, b0),
        *box_simplex_pair(a0, b0, upper_a=0.5, upper_b=0.25),
        *capped_simplex_pair(a0, b0, 0.1, upper_a=0.5),
        l1_inf_ball(A0, 2.0),
    ]
    assert {x.dtype for x in results} == {np.dtype(dtype)}
    for x, y in zip((a0, b0, A0), before, strict=True):
        np.testing.assert_array_equal(x, y)
    in_double = simplex_pair(a0.astype(float), b0.astype(float))
    np.testing.assert_allclose(results[0], in_double[0], atol=1e-5)


def test_integers_and_lists_become_float64():
    a, _ = simplex_pair([3, 1], np.array([1, 0]))
    assert a.dtype == np.float64
    assert l1_inf_ball([[1, 2]], 1).dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda: simplex_pair([], [1.0]),
        lambda: simplex_pair([1.0], [np.nan]),
        lambda: simplex_pair([[1.0]], [1.0]),
        lambda: simplex_pair([np.inf], [1.0]),
        lambda: box_simplex_pair([1.0], [1.0], upper_a=-1.0),
        lambda: box_simplex_pair([1.0], [1.0], upper_b=np.inf),
        lambda: capped_simplex_pair([1.0], [1.0, 2.0], 0.1),
        lambda: capped_simplex_pair([1.0], [1.0, 2.0], [1.0, 0.0]),
        lambda: l1_inf_ball([1.0], 1.0),
        lambda: l1_inf_ball([[np.nan]], 1.0),
        lambda: l1_inf_ball(np.zeros((0, 3)), 1.0),
        lambda: l1_inf_ball([[1.0]], -1.0),
        lambda: l1_inf_ball([[1.0]], np.nan),
    ],
)
def test_wrong_input_is_named(call):
    with pytest.raises(ValueError, match=r"must be"):
        call()


def test_empty_boxes_and_a_single_cap():
    for a, b in (
        box_simplex_pair([3.0, 4.0], [1.0], upper_a=0.0),
        box_simplex_pair([3.0, 4.0], [1.0], upper_b=0.0),
        capped_simplex_pair([3.0, 4.0], [1.0], 1.0, upper_a=0.0),
    ):
        assert not a.any()
        assert not b.any()
    # cap = 1/n: b is constant, whatever b0.
    _, b = capped_simplex_pair([5.0, 1.0], [3.0, 0.0, -1.0], 1 / 3)
    np.testing.assert_allclose(b, np.full(3, b[0]), atol=1e-12)
    # The sum stops in a gap of the limits: neither half has a free entry there, and the derivative jumps.
    a, b = capped_simplex_pair([10.0, -10.0], [10.0, -50.0], 1.0, upper_a=1.0)
    np.testing.assert_allclose(np.append(a, b), [1, 0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_l1_inf_ball_agrees_with_a_conic_solver(seed):
    rng = np.random.default_rng(100 + seed)
    m, n = rng.integers(1, 9, 2)
    A0 = rng.normal(size=(m, n))
    if seed % 3 == 0:
        A0 = A0.round()
    radius = rng.uniform(0.05, 1) * max(np.maximum(A0, 0).max(axis=0).sum(), 0.1)
    A = cp.Variable((m, n))
    solve(cp.sum_squares(A - A0), [A >= 0, cp.sum(cp.max(A, axis=0)) <= radius])
    np.testing.assert_allclose(l1_inf_ball(A0, radius), A.value, atol=1e-4)


@quick
@given(MATRICES, st.integers(1, 60).map(lambda k: k / 8))
def test_l1_inf_ball_satisfies_its_optimality_conditions(A0, radius):
    A = l1_inf_ball(A0, radius)
    height = A.max(axis=0)
    assert (A >= 0).all()
    assert height.sum() <= radius * (1 + 1e-12)
    rest = A0 - A
    # The linear form <rest, .> is largest over the set at A: all of the radius in the best column.
    best = max(float(np.maximum(rest, 0).sum(axis=0).max()), 0.0) * radius
    assert best == pytest.approx(float(np.vdot(rest, A)), abs=1e-9 * (1 + best))


def test_l1_inf_ball_inside_at_zero_and_for_non_positive_targets():
    A0 = np.array([[1.0, -2.0], [0.5, 0.25]])
    np.testing.assert_array_equal(l1_inf_ball(A0, 1.25), np.maximum(A0, 0))
    assert not l1_inf_ball(A0, 0.0).any()
    assert not l1_inf_ball(-np.abs(A0), 1.0).any()


def test_clipping_negative_entries_last_is_not_the_projection():
    A0 = np.array([[2.0, 2.0], [-2.0, 0.0]])
    exact = l1_inf_ball(A0, 2.0)
    clipped_last = np.maximum(np.sign(A0) * l1_inf_ball(np.abs(A0), 2.0), 0)
    assert clipped_last.max(axis=0).sum() <= 2 + 1e-12
    assert np.linalg.norm(exact - A0) < np.linalg.norm(clipped_last - A0) - 1e-2
