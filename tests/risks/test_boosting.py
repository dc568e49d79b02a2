"""The exponential risks against their definition: values, potentials, best steps, curvature, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize_scalar

from shortlist.risks.boosting import ExponentialRisk, PreferenceRisk
from tests.oracle.boosting import definition, of_preferences


def problem(seed: int) -> tuple[Any, ...]:
    """Scores, labels, groups, weights (some 0) and p."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    y = rng.integers(0, rng.integers(2, 5), n)
    groups = rng.integers(0, rng.integers(1, 4), n)
    weight = rng.integers(0, 4, n) + rng.random(n) * (rng.random() < 0.5)
    y[:2], groups[:2], weight[:2] = (0, 1), 0, 1.0  # something to rank
    return rng.normal(size=n) * 3, y, groups, weight, float(rng.choice([1.0, 2.0, 3.5, 8.0])), rng


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_value_and_potentials_are_the_definitions(seed: int) -> None:
    s, y, groups, weight, p, _ = problem(seed)
    found = ExponentialRisk.of(y, p, groups, weight).at(s)
    assert np.exp(found.log_loss) == pytest.approx(definition(s, y, p, groups, weight), rel=1e-10)
    slope = approx_fprime(s, lambda x: np.log(definition(x, y, p, groups, weight)), 1e-6)
    np.testing.assert_allclose(found.potentials, -slope, atol=2e-4)
    assert found.potentials.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(found.potentials).sum() <= 2 + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_closed_step_is_the_best_one(seed: int) -> None:
    s, y, groups, weight, p, rng = problem(seed)
    if rng.random() < 0.5:
        y, groups = (y > 0).astype(int), np.zeros(len(y), dtype=int)  # two cells: closed at any p
    risk = ExponentialRisk.of(y, p, groups, weight)
    up = rng.random(len(s)) < 0.5
    step = risk.at(s).step(up)
    assert (step is not None) == risk.closed == (p == 1 or len(risk.starts) == 2)
    if step is None or not np.isfinite(step):
        return
    log_loss = lambda t: risk.at(s + t * up).log_loss  # noqa: E731
    found = minimize_scalar(log_loss, bounds=(step - 5, step + 5), method="bounded", options={"xatol": 1e-10})
    assert log_loss(step) <= found.fun + 1e-12
    assert np.log(definition(s + step * up, y, p, groups, weight)) == pytest.approx(log_loss(step), abs=1e-9)


def test_a_ranker_without_a_mistake_has_no_best_step() -> None:
    risk = ExponentialRisk.of(np.array([0, 1, 0, 1]))
    at = risk.at(np.zeros(4))
    assert at.step(np.array([False, True, False, True])) == np.inf
    assert at.step(np.array([True, False, True, False])) == -np.inf
    assert at.step(np.ones(4, dtype=bool)) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_second_derivative_is_bounded(seed: int) -> None:
    s, y, groups, weight, p, rng = problem(seed)
    risk = ExponentialRisk.of(y, p, groups, weight)
    h = rng.random(len(s)) if rng.random() < 0.5 else (rng.random(len(s)) < 0.5).astype(float)
    before, here, after = (risk.at(s + t * h).log_loss for t in (-1e-3, 0.0, 1e-3))
    assert -1e-6 <= (before - 2 * here + after) / 1e-6 <= risk.curvature + 1e-3


def test_p_1_counts_pairs_and_large_p_the_highest_negative() -> None:
    rng = np.random.default_rng(0)
    s, y = rng.normal(size=20), (np.arange(20) % 3 == 0).astype(int)
    pairs = np.exp(s[y == 0][:, None] - s[y == 1])
    assert np.exp(ExponentialRisk.of(y).at(s).log_loss) == pytest.approx(pairs.mean())
    losses = [np.exp(ExponentialRisk.of(y, p).at(s).log_loss) for p in (1.0, 2.0, 8.0, 64.0, 1e3, 1e5)]
    assert np.all(np.diff(losses) > 0)  # a p-norm of means does not fall with p
    assert losses[-1] == pytest.approx(pairs.mean(axis=1).max(), rel=1e-3)  # the exponential Infinite Push
    # 1 - AUC, ties half, lies below every one of them.
    wrong = (pairs > 1).mean() + (pairs == 1).mean() / 2
    assert wrong <= losses[0]


def test_equal_scores_cost_1_whatever_the_data() -> None:
    for seed in range(20):
        _, y, groups, weight, p, _ = problem(seed)
        assert ExponentialRisk.of(y, p, groups, weight).at(np.full(len(y), 7.0)).log_loss == pytest.approx(0, abs=1e-12)


def test_scores_far_apart_do_not_overflow() -> None:
    y = np.array([0, 1, 0, 1])
    for p in (1.0, 64.0):
        found = ExponentialRisk.of(y, p).at(np.array([1e4, -1e4, -1e4, 1e4]))
        # u of the first negative: (e^20000 + 1) / 2; of the p-th powers the mean is over two negatives.
        assert found.log_loss == pytest.approx(2e4 - np.log(2) - np.log(2) / p)
        np.testing.assert_allclose(found.potentials, [-1, 1, 0, 0])
    far = ExponentialRisk.of(y).at(np.array([-1e4, 1e4, -1e4, 1e4]))
    assert far.log_loss == pytest.approx(-2e4)


def test_weights_are_repetitions_and_groups_of_one_label_nothing() -> None:
    s, y, groups = np.array([0.3, 1.0, -0.5, 0.1, 4.0]), np.array([0, 1, 0, 1, 1]), np.array([0, 0, 1, 1, 2])
    weight = np.array([2.0, 1.0, 1.0, 3.0, 5.0])
    rows = np.repeat(np.arange(5), weight.astype(int))
    weighted = ExponentialRisk.of(y, 3.0, groups, weight).at(s)
    repeated = ExponentialRisk.of(y[rows], 3.0, groups[rows]).at(s[rows])
    assert weighted.log_loss == pytest.approx(repeated.log_loss)
    np.testing.assert_allclose(weighted.potentials, np.bincount(rows, repeated.potentials))
    assert weighted.potentials[4] == 0
    with pytest.raises(ValueError, match="nothing to rank"):
        ExponentialRisk.of(y, groups=np.arange(5))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_preferences_are_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_pairs = 6, 8
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n_pairs)])
    weight, s = rng.random(n_pairs) + 0.1, rng.normal(size=n) * 2
    found = PreferenceRisk.of(pairs[:, 0], pairs[:, 1], weight, n).at(s)
    assert np.exp(found.log_loss) == pytest.approx(of_preferences(s, pairs, weight))
    slope = approx_fprime(s, lambda x: np.log(of_preferences(x, pairs, weight)), 1e-6)
    np.testing.assert_allclose(found.potentials, -slope, atol=1e-4)
    up = rng.random(n) < 0.5
    step = found.step(up)
    if np.isfinite(step):
        least = minimize_scalar(lambda t: of_preferences(s + t * up, pairs, weight), bracket=(step - 1, step + 1))
        assert of_preferences(s + step * up, pairs, weight) <= least.fun + 1e-9


def test_two_labels_by_pairs_are_two_labels() -> None:
    rng = np.random.default_rng(3)
    s, y = rng.normal(size=9), np.arange(9) % 2
    better, worse = (part.ravel() for part in np.meshgrid(np.flatnonzero(y == 1), np.flatnonzero(y == 0)))
    by_labels, by_pairs = ExponentialRisk.of(y).at(s), PreferenceRisk.of(better, worse, np.ones(20), 9).at(s)
    assert by_labels.log_loss == pytest.approx(by_pairs.log_loss)
    np.testing.assert_allclose(by_labels.potentials, by_pairs.potentials, atol=1e-12)
    up = rng.random(9) < 0.5
    assert by_labels.step(up) == pytest.approx(by_pairs.step(up))
