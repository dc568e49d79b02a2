"""Sums of discounts over stretches of places, short and long, against adding them up."""

import math

import numpy as np
import pytest

from shortlist.metrics._discounts import (
    CustomDiscount,
    ExponentialDiscount,
    HarmonicDiscount,
    LogDiscount,
)

DISCOUNTS = {
    "log": LogDiscount(),
    "harmonic": HarmonicDiscount(),
    "custom": CustomDiscount(lambda r: 1 / np.sqrt(r)),
    "exponential": ExponentialDiscount(5.0, np.array(300_000.0)),
}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", DISCOUNTS)
def test_between_is_the_sum(name, many):
    d = DISCOUNTS[name]
    lo = np.array([0, 0, 0, 1, 5, 500, 999, 4000, 4095, 5000, 5000, 20_000, 100_000, 100_000, 250_000])
    width = np.array([1, 2, 5000, 1, 3, 40, 1, 200, 2, 4, 5, 21, 99, 100_000, 1])
    expected = [math.fsum(d.at(np.arange(a + 1.0, a + w + 1.0))) for a, w in zip(lo, width, strict=True)]
    copies = 400 if many else 1
    a, b = np.tile(lo.astype(float), copies), np.tile((lo + width).astype(float), copies)
    np.testing.assert_allclose(d.between(a, b), np.tile(expected, copies), rtol=1e-11)


@pytest.mark.parametrize("name", ["log", "harmonic"])
def test_cut_at_k_and_continuation(name):
    d = DISCOUNTS[name]
    lo, hi = np.array([0.0, 3.0, 9.0, 7.0]), np.array([5.0, 20.0, 12.0, 8.0])
    cut = d.between(lo, hi, 8)
    np.testing.assert_allclose(
        cut, [d.at(np.arange(a + 1, min(b, 8) + 1)).sum() for a, b in zip(lo, hi, strict=True)]
    )
    x = np.linspace(0, 60, 601)
    sums = d.between(np.zeros(601), x)
    assert (np.diff(sums) > 0).all()
    np.testing.assert_allclose(sums[::10], np.concatenate([[0], np.cumsum(d.at(np.arange(1.0, 61)))]))
