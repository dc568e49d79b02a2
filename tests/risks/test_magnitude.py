"""Magnitude costs against their definitions over all pairs, written naively."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shortlist.risks.discordance import Discordance, distinct_numbers
from shortlist.risks.magnitude import COSTS, MagnitudeRisk, printed_cost

KINDS = [(cost, order, "closure") for cost, order in product(COSTS, (1, 2))]
KINDS += [("hmp", order, "hinge") for order in (1, 2)]


def closure_of_hmp(D, Y, n):
    """Closed form of the convex closure of one pair's cost."""
    u = -D * np.sign(Y)
    if n == 1:
        return max(u, 0.0) if Y else 0.0
    if u <= 0 or Y == 0:
        return 0.0
    return 4 * abs(Y) * u if u <= abs(Y) else (u + abs(Y)) ** 2


def printed(D, Y, cost, n, epsilon):
    """Equations (4) to (7), the last with the absolute value that it lacks."""
    if cost == "hr":
        return 0.0 if D * Y >= 0 else abs(D) ** n
    if cost == "mp":
        return abs(D - Y) ** n
    if cost == "hmp":
        return 0.0 if D * Y >= 0 else abs(D - Y) ** n
    return max(abs(D - Y) - epsilon, 0.0) ** n


def trained(D, Y, cost, n, epsilon, one_sided):
    if cost == "hmp" and one_sided == "closure":
        return closure_of_hmp(D, Y, n)
    if cost == "hmp":
        return max(abs(Y) - D * np.sign(Y), 0.0) ** n if Y else 0.0
    return printed(D, Y, cost, n, epsilon)


def mean_over_pairs(of_pair, s, y, groups, weights):
    total = mass = 0.0
    for i, j in product(range(len(y)), repeat=2):
        if groups[i] == groups[j]:
            total += weights[i] * weights[j] * of_pair(s[j] - s[i], y[j] - y[i])
            mass += weights[i] * weights[j]
    return total / mass


def data(seed, m=12, *, ties=False, n_groups=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, m).astype(float) if ties else 3 * rng.normal(size=m)
    s = rng.integers(0, 4, m).astype(float) if ties else rng.normal(size=m)
    return y, s, rng.integers(0, n_groups, m), rng.integers(0, 3, m).astype(float)


def risk_of(y, kind, groups=None, weights=None, epsilon=0.5):
    cost, order, one_sided = kind
    return MagnitudeRisk.from_labels(
        y, cost, order, epsilon, one_sided=one_sided, groups=groups, sample_weight=weights
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_the_value_is_the_mean_over_all_pairs(kind, ties, n_groups):
    cost, order, one_sided = kind
    for seed in range(5):
        y, s, groups, weights = data(seed, ties=ties, n_groups=n_groups)
        expected = mean_over_pairs(
            lambda D, Y: trained(D, Y, cost, order, 0.5, one_sided), s, y, groups, weights
        )
        risk = risk_of(y, kind, groups, weights)
        assert risk.value(s) == pytest.approx(expected, rel=1e-12, abs=1e-13)
        # Rows compete within groups: scores and labels may be shifted in each.
        shifted = risk_of(y + 5.0 * groups, kind, groups, weights).value(s - 7.0 * groups)
        if n_groups == 1 or cost in ("mp", "svr", "hr", "hmp"):
            assert shifted == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("ties", [False, True])
def test_the_subgradient_is_one(kind, ties):
    """A plane of the subgradient touches the risk and lies below it everywhere else."""
    for seed in range(10):
        y, s, groups, weights = data(seed, ties=ties)
        risk = risk_of(y, kind, groups, weights)
        value, slope = risk.value_and_subgradient(s)
        assert not slope[weights == 0].any()
        for other in (np.zeros_like(s), y, -y, s + np.random.default_rng(seed).normal(size=len(s))):
            assert value + slope @ (other - s) <= risk.value(other) + 1e-12
        for group in range(2):
            assert slope[groups == group].sum() == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_away_from_kinks_the_subgradient_is_the_gradient(kind):
    y, s, groups, weights = data(7)
    risk = risk_of(y, kind, groups, weights)
    _, slope = risk.value_and_subgradient(s)
    for k, unit in enumerate(np.eye(len(s))):
        numeric = (risk.value(s + 1e-6 * unit) - risk.value(s - 1e-6 * unit)) / 2e-6
        assert slope[k] == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[1] == 2], ids=str)
def test_the_hessian_is_the_derivative_of_the_gradient(kind):
    y, s, groups, weights = data(8)
    risk = risk_of(y, kind, groups, weights)
    if not risk.smooth:
        with pytest.raises(ValueError, match="kinks"):
            risk.hessian(s)
        return
    v = np.random.default_rng(0).normal(size=len(s))
    ahead, behind = (risk.value_and_subgradient(s + h * v)[1] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(risk.hessian(s)(v), (ahead - behind) / 2e-6, atol=1e-7)


def test_the_closure_of_hmp_is_the_largest_convex_function_below():
    """The closure of one pair's printed cost, found as the supremum of affine functions below it on a fine grid."""
    D = np.linspace(-8, 4, 601)
    slopes = np.linspace(-20, 1, 2101)
    for Y, n in product((0.5, 1.0, 2.0), (1, 2)):
        cost = np.array([printed(d, Y, "hmp", n, 0.0) for d in D])
        # The largest intercept that keeps each slope below; beyond the grid the cost grows faster than any slope >= -1.
        allowed = slopes[slopes >= (-1 if n == 1 else -np.inf)]
        intercepts = (cost[None, :] - allowed[:, None] * D[None, :]).min(axis=1)
        valid = allowed <= 0  # a positive slope passes 0 somewhere to the right
        hull = (allowed[valid, None] * D + intercepts[valid, None]).max(axis=0)
        expected = np.array([closure_of_hmp(d, Y, n) for d in D])
        inside = D > -4
        np.testing.assert_allclose(hull[inside], expected[inside], atol=0.03)
        assert np.all(expected <= cost + 1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_hmp_as_printed_jumps_where_scores_tie(order):
    for seed in range(5):
        y, s, groups, weights = data(seed, ties=seed % 2 == 0)
        risk = risk_of(y, ("hmp", order, "closure"), groups, weights)
        expected = mean_over_pairs(lambda D, Y: printed(D, Y, "hmp", order, 0.0), s, y, groups, weights)
        assert printed_cost(risk, s) == pytest.approx(expected, rel=1e-12)
        assert risk.value(s) <= expected + 1e-12
    two = MagnitudeRisk.from_labels(np.array([0.0, 3.0]), "hmp", order)
    assert printed_cost(two, np.zeros(2)) == 0
    assert printed_cost(two, np.array([1e-9, 0.0])) == pytest.approx(3**order / 2)
    other = MagnitudeRisk.from_labels(np.array([0.0, 3.0]), "mp", order)
    assert printed_cost(other, np.zeros(2)) == other.value(np.zeros(2))


def test_equation_7_as_printed_is_another_function():
    """| t - eps | over both orders of a pair is 2 |t|, not 2 (|t| - eps): it jumps at the edge of the tube."""
    t, eps = 1.0, 0.5
    as_printed = abs(t - eps) + abs(-t - eps)
    risk = MagnitudeRisk.from_labels(np.array([0.0, 0.0]), "svr", 1, eps)
    assert as_printed == 2 * t
    assert 4 * risk.value(np.array([0.0, t])) == pytest.approx(2 * (t - eps))


def test_constant_scores_cost_nothing_under_the_one_sided_costs():
    y, _, groups, weights = data(3)
    for kind in KINDS:
        risk = risk_of(y, kind, groups, weights)
        value, slope = risk.value_and_subgradient(np.full(len(y), 3.7))
        assert risk.vanishes_at_zero == (value == 0)
        assert risk.vanishes_at_zero == (not slope.any())


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_weights_are_repetition_and_order_does_not_matter(kind):
    y, s, groups, weights = data(4, ties=True)
    times = weights.astype(int)
    weighted = risk_of(y, kind, groups, weights)
    repeated = risk_of(np.repeat(y, times), kind, np.repeat(groups, times))
    value, slope = weighted.value_and_subgradient(s)
    again, long_slope = repeated.value_and_subgradient(np.repeat(s, times))
    assert value == pytest.approx(again, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(slope, np.bincount(np.repeat(np.arange(len(y)), times), long_slope, len(y)), atol=1e-13)
    mixed = np.random.default_rng(1).permutation(len(y))
    shuffled = risk_of(y[mixed], kind, groups[mixed], weights[mixed]).value_and_subgradient(s[mixed])
    assert shuffled[0] == pytest.approx(value, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(shuffled[1], slope[mixed], atol=1e-13)


def test_mp_of_order_two_is_twice_the_variance():
    y, s, _, _ = data(5)
    assert MagnitudeRisk.from_labels(y, "mp", 2).value(s) == pytest.approx(2 * np.var(s - y))
    tube = MagnitudeRisk.from_labels(y, "svr", 2, 1e-13)
    assert tube.value(s) == pytest.approx(2 * np.var(s - y))


def test_large_offsets_keep_their_digits():
    y, s, _, _ = data(6)
    for kind in KINDS:
        near, far = risk_of(y, kind), risk_of(y + 1e6, kind)
        assert far.value(s + 1e6) == pytest.approx(near.value(s), rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": "mse"}, "cost must be one of 'hr', 'mp', 'hmp', 'svr'"),
        ({"order": 3}, "order must be 1 or 2"),
        ({"one_sided": "none"}, "one_sided must be"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": np.nan}, "epsilon must be"),
        ({"sample_weight": np.zeros(3)}, "no row has a positive weight"),
    ],
)
def test_what_makes_no_risk_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MagnitudeRisk.from_labels(np.arange(3.0), **arguments)


class TestDiscordance:
    def test_against_all_pairs(self):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            sizes = rng.integers(1, 9, size=rng.integers(1, 4))
            starts = np.concatenate([[0], np.cumsum(sizes)])
            y = np.concatenate([np.sort(rng.integers(0, 5, size)) for size in sizes])
            z, a, b = rng.integers(0, 5, len(y)), rng.random(len(y)), rng.random(len(y))
            group = np.repeat(np.arange(len(sizes)), sizes)
            pairs = Discordance(distinct_numbers(y, starts), starts)
            found = pairs.partners(pairs.order(z), a, b)
            P = (group[:, None] == group) & (y[None, :] > y[:, None]) & (z[None, :] < z[:, None])
            for sums, expected in zip(found, [P @ a, P.T @ a, P @ b, P.T @ b], strict=True):
                np.testing.assert_allclose(sums, expected, atol=1e-12)

    def test_equal_labels_have_no_pairs(self):
        starts = np.array([0, 4])
        pairs = Discordance(distinct_numbers(np.ones(4), starts), starts)
        assert not np.any(pairs.partners(pairs.order(np.arange(4.0)), np.ones(4)))

    def test_it_counts_the_inversions_of_many_rows(self):
        n = 3000
        y = np.arange(n)
        pairs = Discordance(y, np.array([0, n]))
        high, low = pairs.partners(pairs.order(-y.astype(float)), np.ones(n))
        np.testing.assert_array_equal(high, n - 1 - y)
        np.testing.assert_array_equal(low, y)


def test_the_minimum_along_a_line_where_it_has_a_closed_form():
    y, s, groups, weights = data(9)
    along = np.random.default_rng(0).normal(size=len(s))
    for kind in KINDS:
        risk = risk_of(y, kind, groups, weights, epsilon=0.5)
        t = risk.minimise_along(s, along, 0.3, 0.1)
        assert (t is not None) == (kind[:2] == ("mp", 2))
        if t is not None:
            around = [0.3 * u + 0.05 * u * u + risk.value(s + u * along) for u in (t - 1e-3, t, t + 1e-3)]
            assert around[1] < min(around[0], around[2])
