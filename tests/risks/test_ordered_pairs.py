"""Ordered weighted pairs against the largest over all ways to hand out the weights."""

from __future__ import annotations

import doctest
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.risks import ordered_pairs as module
from shortlist.risks.ordered_pairs import FAMILIES, OrderedPairsRisk, cumulated
from shortlist.risks.pairwise import PairwiseRisk
from shortlist.risks.surrogates import SURROGATES
from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk

ARRAY = np.array([5.0, 2.0, 2.0, 0.5])
KINDS: list[Any] = [*FAMILIES, ARRAY]


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def weights_of(kind: Any, n: int, k: int) -> Any:
    """By rank, from the words of the documentation."""
    if not isinstance(kind, str):
        alpha = np.zeros(n)
        alpha[: min(n, len(kind))] = kind[:n]
    else:
        rank = np.arange(1, n + 1)
        alpha = {"mean": rank > 0, "top": rank <= k, "reciprocal": 1 / rank, "max": rank == 1}[kind].astype(float)
    return alpha / alpha.sum()


def draw(seed: int, n: int | None = None) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40)) if n is None else n
    y, s = rng.integers(0, 2, n), rng.normal(size=n) * rng.choice([0.3, 1.0, 2.0])
    y[:2] = 0, 1
    groups, weights = rng.integers(0, rng.integers(1, 4), n), rng.integers(0, 3, n).astype(float)
    groups[:2], weights[:2] = 0, 1
    return s, y, groups, weights


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_largest_over_all_ways_to_hand_out_the_weights(kind: Any) -> None:
    for seed in range(6):
        s, y, _, _ = draw(seed, 8)
        alpha = np.array(list(permutations(weights_of(kind, int(8 - y.sum()), 3))))
        risk = OrderedPairsRisk.from_labels(y, kind, 3)
        for scores in (s, s.round()):
            losses = np.maximum(1 - scores[y == 1][:, None] + scores[y == 0], 0)
            value, slope = risk.value_and_subgradient(scores)
            assert value == pytest.approx((losses @ alpha.T).max(axis=1).mean(), rel=1e-12)
            for other in (s, -s, scores + 0.1 * np.cos(np.arange(8))):
                assert risk.value(other) >= value + slope @ (other - scores) - 1e-12


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_weights_are_repeated_rows_and_groups_count_by_their_positives(kind: Any) -> None:
    for seed in range(10):
        s, y, groups, weights = draw(seed)
        risk = OrderedPairsRisk.from_labels(y, kind, 3, groups=groups, sample_weight=weights)
        value, slope = risk.value_and_subgradient(s)
        total, slopes, mass = 0.0, np.zeros(len(s)), 0.0
        for g in np.unique(groups):
            rows = np.repeat(np.flatnonzero(groups == g), weights[groups == g].astype(int))
            if 0 < y[rows].sum() < len(rows):
                one = OrderedPairsRisk.from_labels(y[rows], kind, 3).value_and_subgradient(s[rows])
                mass += y[rows].sum()
                total += y[rows].sum() * one[0]
                slopes += y[rows].sum() * np.bincount(rows, one[1], len(s))
        assert value == pytest.approx(total / mass, rel=1e-11)
        np.testing.assert_allclose(slope, slopes / mass, atol=1e-12)


def test_parts_of_rows() -> None:
    # Halves of a row in place of the row: the weights by rank are constant between whole numbers.
    s, y = np.array([0.4, 0.9, -0.3, 0.2]), np.array([1, 0, 0, 0])
    rows = np.repeat(np.arange(4), [1, 2, 2, 2])
    halves = np.where(y == 1, 1.0, 0.5)[rows]
    for kind in KINDS:
        if not isinstance(kind, str) or kind != "max":
            whole, parts = (
                OrderedPairsRisk.from_labels(y, kind, 2),
                OrderedPairsRisk.from_labels(y[rows], kind, 2, sample_weight=halves),
            )
            assert parts.value(s[rows]) == pytest.approx(whole.value(s), rel=1e-12)


def test_the_two_ends() -> None:
    for seed in range(10):
        s, y, groups, weights = draw(seed)
        mean = OrderedPairsRisk.from_labels(y, "mean").value_and_subgradient(s)
        pairs = PairwiseRisk.from_labels(y, "hinge").value_and_subgradient(s)
        for mine, theirs in zip(mean, pairs, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-13)
        worst = OrderedPairsRisk.from_labels(y, "max", groups=groups, sample_weight=weights)
        push = TopRisk.from_labels(y, SURROGATES["hinge"], Maximum(), groups=groups, sample_weight=weights)
        assert worst.value(s) == pytest.approx(push.value(s), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["top", "reciprocal", "array"]))
def test_every_family_lies_between_mean_and_maximum(seed: int, kind: str) -> None:
    s, y, groups, weights = draw(seed)
    low, value, high = (
        OrderedPairsRisk.from_labels(y, which, 3, groups=groups, sample_weight=weights).value(s)
        for which in ("mean", ARRAY if kind == "array" else kind, "max")
    )
    # 'mean' averages over a group's ranks, and each group weighs the same in all.
    assert low - 1e-12 <= value <= high + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(range(len(KINDS))))
def test_order_names_and_levels_do_not_matter(seed: int, which: int) -> None:
    s, y, groups, weights = draw(seed)
    s = (4 * s).round() / 4  # ties
    rng = np.random.default_rng(seed)

    def of(order: Any, names: Any, shift: float) -> tuple[float, Any]:
        risk = OrderedPairsRisk.from_labels(
            y[order], KINDS[which], 3, groups=names[groups[order]], sample_weight=weights[order]
        )
        return risk.value_and_subgradient(s[order] + shift * groups[order])

    order = rng.permutation(len(s))
    value, slope = of(np.arange(len(s)), np.arange(3), 0.0)
    found, gradient = of(order, rng.permutation(3), 16.0)
    assert found == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(gradient, slope[order], atol=1e-12)


def test_harmonic_numbers_by_table_and_by_series(monkeypatch: pytest.MonkeyPatch) -> None:
    t = np.array([0.0, 0.25, 1.0, 7.5, 40.0])
    table = cumulated("reciprocal", most=40.0)(t)
    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    np.testing.assert_allclose(cumulated("reciprocal", most=40.0)(t), table, rtol=1e-13, atol=1e-13)


def test_an_unknown_family() -> None:
    with pytest.raises(ValueError, match="weights must be an array or one of 'mean', 'top', 'reciprocal', 'max'"):
        cumulated("median")
