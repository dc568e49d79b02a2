"""The mean loss over preferences against its definition over all pairs."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.metrics import auc
from shortlist.risks import logistic_pairs, pairwise, preferences
from shortlist.risks.pairwise import PairwiseRisk

LOSSES: dict[str, Any] = {
    "hinge": lambda u: (max(1 + u, 0.0), float(u > -1), 0.0),
    "squared_hinge": lambda u: (max(1 + u, 0.0) ** 2, 2 * max(1 + u, 0.0), 2.0 * (u > -1)),
    "logistic": lambda u: (np.logaddexp(0, u), 0.5 + 0.5 * np.tanh(u / 2), 0.25 / np.cosh(u / 2) ** 2),
}


@pytest.mark.parametrize("module", [pairwise, preferences, logistic_pairs])
def test_examples(module: Any) -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def by_pairs(loss: str, power: int, s: Any, y: Any, groups: Any, weights: Any) -> tuple[float, Any, Any]:
    """Value, gradient and Hessian, pair by pair."""
    n = len(s)
    value, total, slope, hessian = 0.0, 0.0, np.zeros(n), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if groups[i] == groups[j] and y[i] < y[j]:
                omega = weights[i] * weights[j] * (y[j] - y[i]) ** power
                worth, first, second = LOSSES[loss](s[i] - s[j])
                total += omega
                value += omega * worth
                slope[[i, j]] += omega * np.array([first, -first])
                hessian[np.ix_([i, j], [i, j])] += omega * second * np.array([[1, -1], [-1, 1]])
    return value / total, slope / total, hessian / total


def draw(seed: int, labels: str) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    y = {"two": rng.integers(0, 2, n), "five": rng.integers(0, 5, n), "real": rng.normal(size=n)}[labels].astype(float)
    y[:2] = 0, 1
    groups, weights = rng.integers(0, rng.integers(1, 4), n), rng.integers(0, 3, n).astype(float)
    groups[:2], weights[:2] = 0, 1
    return 2 * rng.normal(size=n), y, groups, weights


@pytest.mark.parametrize("labels", ["two", "five", "real"])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_definition(loss: str, power: int, labels: str) -> None:
    for seed in range(8):
        s, y, groups, weights = draw(seed, labels)
        risk = PairwiseRisk.from_labels(y, loss, power, groups=groups, sample_weight=weights)
        value, slope, hessian = by_pairs(loss, power, s, y, groups, weights)
        found, gradient = risk.value_and_subgradient(s)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, atol=1e-13)
        if risk.smooth:
            v = np.sin(np.arange(len(s)))
            np.testing.assert_allclose(risk.hessian(s)(v), hessian @ v, atol=1e-12)
            np.testing.assert_allclose(risk.row_curvature(s), np.diag(hessian), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_ties_of_scores_give_a_subgradient(loss: str) -> None:
    # Whole scores: many pairs are ahead by exactly the margin.
    for seed in range(20):
        s, y, groups, weights = draw(seed, "five")
        risk = PairwiseRisk.from_labels(y, loss, groups=groups, sample_weight=weights)
        value, slope = risk.value_and_subgradient(s.round())
        assert value == pytest.approx(by_pairs(loss, 0, s.round(), y, groups, weights)[0], rel=1e-12)
        for other in (s, -s, s.round() + 0.1 * np.cos(np.arange(len(s)))):
            assert risk.value(other) >= value + slope @ (other - s.round()) - 1e-12


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-4, 4)), min_size=2, max_size=30),
    st.sampled_from(list(LOSSES)),
)
def test_it_bounds_one_minus_auc(rows: Any, loss: str) -> None:
    y, s = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    y[:2] = 0, 1
    assert PairwiseRisk.from_labels(y, loss).value(s) >= 1 - auc(y, s) - 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(LOSSES)), st.integers(0, 2))
def test_order_levels_and_units_do_not_matter(seed: int, loss: str, power: int) -> None:
    s, y, groups, weights = draw(seed, "five")
    rng = np.random.default_rng(seed)
    risk = PairwiseRisk.from_labels(y, loss, power, groups=groups, sample_weight=weights)
    value, slope = risk.value_and_subgradient(s)
    order, names = rng.permutation(len(s)), rng.permutation(3)
    other = PairwiseRisk.from_labels(
        7 + 1e200 * y[order], loss, power, groups=names[groups[order]], sample_weight=3 * weights[order]
    )
    found, gradient = other.value_and_subgradient(s[order] + 10.0 * groups[order])
    assert found == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(gradient, slope[order], atol=1e-12)


def test_shares_of_rows() -> None:
    risk = PairwiseRisk.from_labels(np.array([0, 1, 1, 1]), groups=np.array([0, 0, 0, 1]))
    np.testing.assert_allclose(risk.row_weights, [0.5, 0.25, 0.25, 0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": "cubic"}, "loss must be one of"),
        ({"power": 3}, "power must be 0, 1 or 2"),
        ({"groups": np.array([0, 0, 1])}, "nothing to rank"),
        ({"sample_weight": np.array([1.0, 1.0, 0.0])}, "nothing to rank"),
    ],
)
def test_errors(arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PairwiseRisk.from_labels(np.array([1, 1, 2]), **arguments)


def test_nothing_to_rank_may_be_allowed() -> None:
    risk = PairwiseRisk.from_labels(np.ones(3), needs_pairs=False)
    assert risk.value(np.arange(3.0)) == 0
    with pytest.raises(ValueError, match="has no Hessian"):
        PairwiseRisk.from_labels(np.array([0, 1]), "hinge").hessian(np.zeros(2))


@pytest.mark.parametrize("labels", ["two", "five", "real"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0, 1e5, 1e9])
def test_logistic_cells(labels: str, size: float) -> None:
    """Enough rows for cells, scores that fill one cell or leave most of them empty: to the last digits."""
    rng = np.random.default_rng(0)
    n = 400
    y = {"two": rng.integers(0, 2, n), "five": rng.integers(0, 5, n), "real": rng.normal(size=n)}[labels].astype(float)
    groups, weights, v = rng.integers(0, 2, n), rng.random(n), rng.normal(size=n)
    s = size * (rng.normal(size=n) + (y > np.median(y)))
    s[:20] = s[0]
    risk = PairwiseRisk.from_labels(y, "logistic", 1, groups=groups, sample_weight=weights)
    behind = (groups[:, None] == groups) & (y[:, None] < y)
    share = np.where(behind, weights[:, None] * weights * (y - y[:, None]), 0.0)
    share /= share.sum()
    u = s[:, None] - s
    slope = 0.5 + 0.5 * np.tanh(u / 2)
    first, second = share * slope, share * slope * (0.5 - 0.5 * np.tanh(u / 2))
    value, gradient = risk.value_and_subgradient(s)
    rounding = 1e-13 * (share.sum(axis=0) + share.sum(axis=1))
    assert value == pytest.approx((share * np.logaddexp(0, u)).sum(), rel=1e-13)
    assert np.all(np.abs(gradient - first.sum(axis=1) + first.sum(axis=0)) <= rounding)
    diagonal = second.sum(axis=1) + second.sum(axis=0)
    assert np.all(np.abs(risk.row_curvature(s) - diagonal) <= rounding)
    assert np.all(np.abs(risk.hessian(s)(v) - (diagonal * v - second @ v - second.T @ v)) <= 4 * rounding)


def test_halves_too_small_for_cells_are_summed_by_pairs() -> None:
    y = np.repeat([0.0, 1.0], [3, 200])
    risk = PairwiseRisk.from_labels(y, "logistic")
    assert isinstance(risk.pairs, logistic_pairs.LogisticPairs)
    s = np.linspace(-5, 5, 203)
    halves, = risk.pairs.weighed(s, 0)
    assert halves.cells is None
    assert halves.pairs.nnz == 600
    assert risk.value(s) == pytest.approx(np.logaddexp(0, s[:3, None] - s[3:]).mean(), rel=1e-14)
