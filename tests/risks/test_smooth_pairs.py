"""Smoothed ordered pairs: derivatives by differences, the limit, and planes that lie below the risk."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

from shortlist.risks import smooth_pairs as module
from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.smooth_pairs import SmoothedPairs, mended

KINDS: list[Any] = ["reciprocal", "mean", "top", np.array([5.0, 2.0, 2.0, 0.5])]


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def draw(seed: int, kind: Any, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y, weights = rng.integers(0, 2, n), rng.integers(0, 3, n).astype(float)
    y[:2], weights[:2] = (0, 1), 1
    return OrderedPairsRisk.from_labels(y, kind, 3, sample_weight=weights), 0.6 * rng.normal(size=n)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("width", [0.3, 0.01])
def test_the_gradient_is_that_of_the_value(kind: Any, width: float) -> None:
    for seed in range(4):
        risk, s = draw(seed, kind)
        d, step = np.random.default_rng(seed).normal(size=len(s)), 1e-4 * width
        gradient = SmoothedPairs(risk, width).value_and_subgradient(s)[1]
        above, below = (SmoothedPairs(risk, width).value_and_subgradient(s + e * d)[0] for e in (step, -step))
        assert (above - below) / (2 * step) == pytest.approx(gradient @ d, rel=1e-5, abs=1e-7)


def test_the_hessian_is_that_of_the_gradient_where_the_grid_is_fine() -> None:
    for seed in range(4):
        risk, s = draw(seed, "reciprocal", 200)
        d, step = np.random.default_rng(seed).normal(size=len(s)), 1e-5
        product = SmoothedPairs(risk, 0.5).hessian(s)(d)
        above, below = (SmoothedPairs(risk, 0.5).value_and_subgradient(s + e * d)[1] for e in (step, -step))
        slope = (above - below) / (2 * step)
        assert np.abs(product - slope).max() < 0.1 * np.abs(slope).max()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_hessian_is_symmetric_and_never_negative(kind: Any) -> None:
    for width in (0.3, 0.03):
        risk, s = draw(0, kind)
        product = SmoothedPairs(risk, width).hessian(s)
        H = np.array([product(e) for e in np.eye(len(s))])
        scale = np.abs(H).max() + 0.01
        np.testing.assert_allclose(H, H.T, atol=1e-9 * scale)
        np.testing.assert_allclose(H.sum(axis=0), 0, atol=1e-8 * scale)
        assert np.linalg.eigvalsh(H).min() > -1e-9 * scale
        assert (SmoothedPairs(risk, width).row_curvature(s) >= np.diag(H) - 1e-9 * scale).all()


def test_many_rows_and_a_small_width_give_the_risk() -> None:
    risk, s = draw(1, "reciprocal", 3000)
    assert SmoothedPairs(risk, 1e-4).value_and_subgradient(s)[0] == pytest.approx(risk.value(s), rel=3e-3)
    risk, s = draw(1, "mean", 100)
    assert SmoothedPairs(risk, 1e-4).value_and_subgradient(s)[0] == pytest.approx(risk.value(s), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_mended_slopes_are_planes_below_the_risk(kind: Any) -> None:
    for seed in range(10):
        risk, s = draw(seed, kind)
        rng = np.random.default_rng(seed)
        exact = risk.value_and_subgradient(s)[1]
        slopes = [
            exact,
            SmoothedPairs(risk, 0.1).value_and_subgradient(s)[1],
            exact + 0.1 * rng.normal(size=len(s)),
            -exact,
            np.zeros(len(s)),
        ]
        for slope in slopes:
            plane, height = mended(risk, slope)
            for other in (s, -s, 3 * rng.normal(size=len(s)), np.zeros(len(s))):
                assert risk.value(other) >= plane @ other + height - 1e-12
        # A true subgradient needs no mending and touches.
        plane, height = mended(risk, exact)
        np.testing.assert_allclose(plane, exact, atol=1e-12)
        assert plane @ s + height == pytest.approx(risk.value(s), abs=1e-12)


def test_nobody_pays_where_all_is_in_order() -> None:
    risk = OrderedPairsRisk.from_labels(np.array([1, 1, 0, 0]))
    value, slope = SmoothedPairs(risk, 0.01).value_and_subgradient(np.array([5.0, 4.0, 0.0, -1.0]))
    assert value == 0
    assert not slope.any()


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    risk = OrderedPairsRisk.from_labels(np.array([1, 0, 0]))
    with pytest.raises(OverflowError, match="too far apart"):
        SmoothedPairs(risk, 1e-6).value_and_subgradient(np.array([0.0, 1e3, 0.0]))
    two = OrderedPairsRisk.from_labels(np.array([1, 0, 1, 0]), groups=np.array([0, 0, 1, 1]))
    with pytest.raises(ValueError, match="one list, got 2 groups"):
        SmoothedPairs(two, 0.1)
    with pytest.raises(ValueError, match="one list, got 2 groups"):
        mended(two, np.zeros(4))
    monkeypatch.setattr(module, "MOST_RANKS", 1)
    with pytest.raises(ValueError, match="room for 1 ranks, got 2"):
        SmoothedPairs(risk, 0.1)
