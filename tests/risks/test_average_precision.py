"""Average precision's structural risk against all orders of the rows."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.metrics import average_precision
from shortlist.risks import average_precision as module
from shortlist.risks.average_precision import AveragePrecisionRisk, best_places
from shortlist.risks.lists import Lists
from tests.oracle.listwise import listwise_value


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def draw(seed: int, n: int | None = None) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40)) if n is None else n
    y, s = rng.integers(0, 2, n), rng.normal(size=n) * rng.choice([0.02, 0.3, 2.0])
    y[:2] = 0, 1
    groups, weights = rng.integers(0, rng.integers(1, 4), n), rng.integers(0, 3, n).astype(float)
    groups[:2], weights[:2] = 0, 1
    return s, y, groups, weights


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_the_worst_of_all_orders(n: int) -> None:
    for seed in range(8):
        s, y, _, _ = draw(seed, n)
        for scores in (s, s.round(), (4 * s).round() / 4):
            risk = AveragePrecisionRisk.from_labels(y)
            value, slope = risk.value_and_subgradient(scores)
            assert value == pytest.approx(listwise_value(scores, y, "average_precision"), rel=1e-12, abs=1e-14)
            for other in (s, -s, scores + 0.1 * np.cos(np.arange(n))):
                assert risk.value(other) >= value + slope @ (other - scores) - 1e-12


def by_places(above: Any, below: Any) -> Any:
    """Gain of every place of every negative, summed as the docstring defines it."""
    m, n = len(above), len(below)
    gains = np.zeros((n, m + 1))
    for j in range(1, n + 1):
        for i in range(m + 1):
            gains[j - 1, i] = sum(
                k / ((k + j - 1) * (k + j)) / m + 2 / (m * n) * (below[j - 1] - above[k - 1])
                for k in range(i + 1, m + 1)
            )
    return gains


def test_each_negative_goes_to_its_best_place() -> None:
    for seed in range(10):
        s, y, _, _ = draw(seed, 40)
        above, below = -np.sort(-s[y == 1]), -np.sort(-s[y == 0])
        place = best_places(above, below, Lists.from_labels(y))
        gains = by_places(above, below)
        np.testing.assert_allclose(gains[np.arange(len(below)), place], gains.max(axis=1), atol=1e-13)
        assert (np.diff(place) >= 0).all()


def test_groups_are_averaged_and_incomplete_ones_do_not_count() -> None:
    for seed in range(10):
        s, y, groups, weights = draw(seed)
        risk = AveragePrecisionRisk.from_labels(y, groups=groups, sample_weight=weights)
        value, slope = risk.value_and_subgradient(s)
        values, slopes = [], np.zeros(len(s))
        for g in np.unique(groups):
            rows = np.repeat(np.flatnonzero(groups == g), weights[groups == g].astype(int))
            if 0 < y[rows].sum() < len(rows):
                one = AveragePrecisionRisk.from_labels(y[rows]).value_and_subgradient(s[rows])
                values.append(one[0])
                slopes += np.bincount(rows, one[1], len(s))
        assert value == pytest.approx(np.mean(values), rel=1e-12)
        np.testing.assert_allclose(slope, slopes / len(values), atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_order_names_and_levels_do_not_matter(seed: int) -> None:
    s, y, groups, weights = draw(seed)
    s = (8 * s).round() / 8  # ties
    rng = np.random.default_rng(seed)
    value, slope = AveragePrecisionRisk.from_labels(y, groups=groups, sample_weight=weights).value_and_subgradient(s)
    order, names = rng.permutation(len(s)), rng.permutation(3)
    other = AveragePrecisionRisk.from_labels(y[order], groups=names[groups[order]], sample_weight=weights[order])
    found, gradient = other.value_and_subgradient(s[order] + 16.0 * groups[order])
    assert found == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(gradient, slope[order], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-4, 4)), min_size=2, max_size=30))
def test_it_bounds_one_minus_average_precision(rows: Any) -> None:
    y, s = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    y[:2] = 0, 1
    risk = AveragePrecisionRisk.from_labels(y).value(s / 4)
    assert risk >= 1 - average_precision(y, s, ties="pessimistic") - 1e-12
    assert risk >= -1e-12


def test_far_apart_in_the_right_order_costs_nothing_and_in_the_wrong_one_the_distance() -> None:
    y = np.array([1, 1, 0, 0, 0])
    risk = AveragePrecisionRisk.from_labels(y)
    assert risk.value(10.0 * y) == 0
    last = 1 - (1 / 4 + 2 / 5) / 2
    assert risk.value(-10.0 * y) == pytest.approx(last + 20)
