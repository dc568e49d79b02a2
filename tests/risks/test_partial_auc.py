"""The partial AUC's structural and tight risks against all orders of the rows."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.metrics import partial_auc
from shortlist.risks import partial_auc as module
from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.pairwise import PairwiseRisk
from shortlist.risks.partial_auc import PartialAUCRisk
from tests.oracle.listwise import listwise_value


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def draw(seed: int, n: int | None = None) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40)) if n is None else n
    y, s = rng.integers(0, 2, n), rng.normal(size=n) * rng.choice([0.3, 1.0, 2.0])
    y[:2] = 0, 1
    groups, weights = rng.integers(0, rng.integers(1, 4), n), rng.integers(0, 3, n).astype(float)
    groups[:2], weights[:2] = 0, 1
    return s, y, groups, weights


def ranges(n: int) -> list[tuple[int, int]]:
    return [(a, b) for b in range(1, n + 1) for a in range(b)]


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("n", [2, 4, 6, 7])
def test_the_worst_of_all_orders(n: int, tight: bool) -> None:
    for seed in range(4):
        s, y, _, _ = draw(seed, n)
        negatives = int(n - y.sum())
        for scores in (s, s.round()):
            for first, last in ranges(negatives):
                risk = PartialAUCRisk.from_labels(y, first / negatives, last / negatives, tight=tight)
                value, slope = risk.value_and_subgradient(scores)
                right = listwise_value(scores, y, "partial_auc", first=first, last=last, tight=tight)
                assert value == pytest.approx(right, rel=1e-12, abs=1e-13)
                for other in (s, -s, scores + 0.1 * np.cos(np.arange(n))):
                    assert risk.value(other) >= value + slope @ (other - scores) - 1e-12


@pytest.mark.parametrize("tight", [False, True])
def test_weights_are_repeated_rows_and_groups_count_by_their_positives(tight: bool) -> None:
    for seed in range(20):
        s, y, groups, weights = draw(seed)
        low, high = sorted(np.random.default_rng(seed).random(2))
        risk = PartialAUCRisk.from_labels(y, low, high, tight=tight, groups=groups, sample_weight=weights)
        value, slope = risk.value_and_subgradient(s)
        total, slopes, mass = 0.0, np.zeros(len(s)), 0.0
        for g in np.unique(groups):
            rows = np.repeat(np.flatnonzero(groups == g), weights[groups == g].astype(int))
            if 0 < y[rows].sum() < len(rows):
                one = PartialAUCRisk.from_labels(y[rows], low, high, tight=tight).value_and_subgradient(s[rows])
                mass += y[rows].sum()
                total += y[rows].sum() * one[0]
                slopes += y[rows].sum() * np.bincount(rows, one[1], len(s))
        assert value == pytest.approx(total / mass, rel=1e-10)
        np.testing.assert_allclose(slope, slopes / mass, atol=1e-12)


@pytest.mark.parametrize("tight", [False, True])
def test_a_range_that_ends_inside_of_a_row_is_one_of_parts_of_rows(tight: bool) -> None:
    # 3 negatives cut into 10 parts each: a tenth of a rank is a rank.
    s, y = np.array([0.3, -0.2, 0.9, 0.1, -0.5]), np.array([1, 1, 0, 0, 0])
    rows = np.repeat(np.arange(5), np.where(y == 1, 1, 10))
    for low, high in [(0.0, 0.5), (0.1, 0.4), (0.3, 0.9), (0.5, 1.0)]:
        value = PartialAUCRisk.from_labels(y, low, high, tight=tight).value(s)
        assert value == pytest.approx(PartialAUCRisk.from_labels(y[rows], low, high, tight=tight).value(s[rows]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.9), st.floats(0.01, 1))
def test_structural_over_tight_over_the_loss(seed: int, low: float, width: float) -> None:
    s, y, _, _ = draw(seed)
    high = min(low + width, 1.0)
    tight, loose = (PartialAUCRisk.from_labels(y, low, high, tight=which).value(s) for which in (True, False))
    assert loose >= tight - 1e-12
    loss = 1 - partial_auc(y, s, min_fpr=low, max_fpr=high, ties="pessimistic")
    assert tight >= loss - 1e-9


def test_from_zero_the_tight_risk_is_a_mean_of_hinges() -> None:
    for seed in range(10):
        s, y, groups, weights = draw(seed)
        keywords = {"groups": groups, "sample_weight": weights}
        whole = PartialAUCRisk.from_labels(y, **keywords)
        pairs = OrderedPairsRisk.from_labels(y, "mean", **keywords)
        for mine, theirs in zip(whole.value_and_subgradient(s), pairs.value_and_subgradient(s), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)
        negatives = int(len(y) - y.sum())
        for k in range(1, negatives + 1):
            top = OrderedPairsRisk.from_labels(y, "top", k).value(s)
            assert PartialAUCRisk.from_labels(y, 0, k / negatives).value(s) == pytest.approx(top, rel=1e-12)
        for tight in (True, False):
            full = PartialAUCRisk.from_labels(y, tight=tight).value(s)
            assert full == pytest.approx(PairwiseRisk.from_labels(y, "hinge").value(s), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_order_names_and_levels_do_not_matter(seed: int, tight: bool) -> None:
    s, y, groups, weights = draw(seed)
    s = (4 * s).round() / 4  # ties
    rng = np.random.default_rng(seed)
    low, high = sorted(rng.random(2))

    def of(order: Any, names: Any, shift: float) -> tuple[float, Any]:
        risk = PartialAUCRisk.from_labels(
            y[order], low, high, tight=tight, groups=names[groups[order]], sample_weight=weights[order]
        )
        return risk.value_and_subgradient(s[order] + shift * groups[order])

    order = rng.permutation(len(s))
    value, slope = of(np.arange(len(s)), np.arange(3), 0.0)
    found, gradient = of(order, rng.permutation(3), 16.0)
    assert found == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(gradient, slope[order], atol=1e-12)
