"""Thresholds against sorting, repetition of rows, and the linear program that defines them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from shortlist.risks.thresholds import Maximum, MeanOfLargest, TailMean, capped_mean

EIGHTHS = st.integers(-40, 40).map(lambda k: k / 8)
quick = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def scores_and_weights(draw):
    n = draw(st.integers(1, 10))
    scores = draw(arrays(np.float64, n, elements=EIGHTHS))
    weights = draw(arrays(np.float64, n, elements=st.integers(1, 4).map(float)))
    return scores, weights


def by_linear_program(scores, caps):
    result = linprog(
        -scores, A_eq=np.ones((1, len(scores))), b_eq=[1.0], bounds=[(0, c) for c in caps], method="highs"
    )
    assert result.success
    return -result.fun


def by_repetition(scores, weights, k):
    rows = np.sort(np.repeat(scores, weights.astype(int)))[::-1]
    return rows[: min(k, len(rows))].mean()


@quick
@given(scores_and_weights(), st.integers(1, 12))
def test_mean_of_largest_is_the_mean_of_repeated_rows(data, k):
    scores, weights = data
    assert MeanOfLargest(k).value(scores, weights) == pytest.approx(
        by_repetition(scores, weights, k), abs=1e-12
    )


@quick
@given(scores_and_weights(), st.integers(1, 40))
def test_tail_mean_counts_the_ceiling_of_the_share(data, forty):
    scores, weights = data
    tau = forty / 40
    k = -((-Fraction(forty, 40) * int(weights.sum())) // 1)  # the ceiling, in exact arithmetic
    assert TailMean(tau).value(scores, weights) == pytest.approx(
        by_repetition(scores, weights, int(k)), abs=1e-12
    )


def test_a_product_that_binary_rounds_up_counts_as_whole():
    assert 0.07 * 100 > 7
    np.testing.assert_array_equal(TailMean(0.07).caps(np.ones(100)), np.full(100, 1 / 7))


@quick
@given(scores_and_weights(), st.data())
def test_capped_mean_is_its_linear_program(data, draw):
    scores, _ = data
    caps = draw.draw(arrays(np.float64, len(scores), elements=st.integers(1, 16).map(lambda k: k / 8)))
    assume(caps.sum() >= 1)
    assert capped_mean(scores, caps) == pytest.approx(by_linear_program(scores, caps), abs=1e-9)


@quick
@given(scores_and_weights())
def test_the_family_is_ordered_and_meets_at_its_ends(data):
    scores, weights = data
    top = Maximum().value(scores, weights)
    assert top == scores.max()
    assert MeanOfLargest(1).value(scores, weights) == pytest.approx(top)
    values = [MeanOfLargest(k).value(scores, weights) for k in (1, 2, 3, 100)]
    assert all(a >= b - 1e-12 for a, b in pairwise(values))
    assert values[-1] == pytest.approx(np.average(scores, weights=weights))
    assert TailMean(1.0).value(scores, weights) == pytest.approx(values[-1])
    assert TailMean(1e-9).value(scores, weights) == pytest.approx(top)


@quick
@given(scores_and_weights(), EIGHTHS, st.integers(1, 4))
def test_shift_scale_and_order(data, shift, k):
    scores, weights = data
    order = np.random.default_rng(0).permutation(len(scores))
    for threshold in (Maximum(), MeanOfLargest(k), TailMean(0.3)):
        value = threshold.value(scores, weights)
        assert threshold.value(2 * scores + shift, weights) == pytest.approx(2 * value + shift, abs=1e-12)
        assert threshold.value(scores[order], weights[order]) == pytest.approx(value, abs=1e-12)


def test_a_fractional_k_shares_the_last_score():
    assert MeanOfLargest(1.5).value(np.array([3.0, 0.0, 9.0]), np.ones(3)) == pytest.approx((9 + 1.5) / 1.5)


def test_caps():
    weights = np.array([1.0, 3.0])
    assert Maximum().caps(weights) is None
    np.testing.assert_array_equal(MeanOfLargest(2).caps(weights), [0.5, 1.5])
    np.testing.assert_array_equal(MeanOfLargest(9).caps(weights), [0.25, 0.75])
    np.testing.assert_array_equal(TailMean(0.5).caps(weights), [0.5, 1.5])


def test_caps_that_cannot_hold_a_mean_are_refused():
    with pytest.raises(ValueError, match="sum to less than 1"):
        capped_mean(np.array([1.0, 2.0]), np.array([0.4, 0.5]))


def test_single_precision_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1000).astype(np.float32)
    expected = np.sort(scores.astype(float))[::-1][:37].mean()
    assert MeanOfLargest(37).value(scores, np.ones(1000)) == pytest.approx(expected, rel=1e-6)
