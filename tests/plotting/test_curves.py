"""Curves against the definitions: the metrics of the house at every k, scikit-learn's ROC, counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from shortlist import metrics
from shortlist.plotting.curves import (
    POINTS,
    corners,
    cumulative_gains,
    histogram,
    lengths,
    precision_recall_at,
    roc,
    thinned,
)


def rows(seed: int = 0, n: int = 60, grid: int = 9) -> tuple[Any, Any, Any, Any]:
    """Labels, scores with ties, weights (some 0) and groups."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    scores = np.round(y + rng.normal(size=n), 1) if grid == 0 else rng.integers(0, grid, n) / 2
    return y, scores, rng.integers(0, 4, n).astype(float), np.repeat(["b", "a", "c"], n // 3)


@pytest.mark.parametrize("ties", ["average", "pessimistic", "optimistic"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_precision_and_recall_are_those_of_the_metrics(ties: str, weighted: bool, grouped: bool) -> None:
    y, scores, weights, groups = rows()
    extra: dict[str, Any] = {"sample_weight": weights if weighted else None, "groups": groups if grouped else None}
    found = corners(y, scores, extra["groups"], extra["sample_weight"], ties=ties)
    k = np.array([1.0, 2.0, 3.5, 7.0, 19.0, 40.0])
    precision, recall = precision_recall_at(found, k)
    for at, p, r in zip(k, precision, recall, strict=True):
        assert p == pytest.approx(metrics.precision_at_k(y, scores, at, ties=ties, **extra))
        assert r == pytest.approx(metrics.recall_at_k(y, scores, at, ties=ties, **extra))


def test_the_roc_curve_is_scikit_learns() -> None:
    y, scores, weights, _ = rows(3)
    x, t, _ = roc_curve(y, scores, sample_weight=weights)
    fpr, tpr = roc(corners(y, scores, sample_weight=weights))
    at = np.linspace(0, 1, 101)
    assert np.interp(at, fpr, tpr) == pytest.approx(np.interp(at, x, t))
    assert np.trapezoid(tpr, fpr) == pytest.approx(metrics.auc(y, scores, sample_weight=weights))


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic"])
def test_the_area_under_the_curve_follows_the_ties(ties: str) -> None:
    y, scores, _, _ = rows(4)
    fpr, tpr = roc(corners(y, scores, ties=ties))
    assert np.trapezoid(tpr, fpr) == pytest.approx(metrics.auc(y, scores, ties=ties))


def test_with_groups_the_curves_are_means() -> None:
    y, scores, weights, groups = rows(5, n=90)
    found = corners(y, scores, groups, weights)
    fpr, tpr = roc(found)
    assert np.trapezoid(tpr, fpr) == pytest.approx(metrics.auc(y, scores, groups=groups, sample_weight=weights))
    share, gained = cumulative_gains(found)
    parts = [cumulative_gains(corners(y[groups == g], scores[groups == g], None, weights[groups == g])) for g in "abc"]
    assert gained == pytest.approx(np.mean([np.interp(share, *part) for part in parts], axis=0))
    assert found.base == pytest.approx(
        np.mean([np.average(y[groups == g], weights=weights[groups == g]) for g in "abc"])
    )
    assert found.largest == max(weights[groups == g].sum() for g in "abc")


def test_many_groups_with_many_rates_give_a_bounded_curve() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 8000)
    y = rng.random(8000) < 0.2
    fpr, tpr = roc(corners(y, y + rng.normal(size=8000), groups))
    assert len(fpr) <= 2 * POINTS
    assert fpr[0] == 0 and fpr[-1] == tpr[-1] == 1
    assert (np.diff(fpr) >= 0).all() and (np.diff(tpr) >= -1e-12).all()


def test_groups_without_a_label_take_no_part() -> None:
    y, s, g = [1, 0, 1, 0, 0], [2, 1, 1, 2, 1], [0, 0, 1, 1, 2]
    found = corners(y, s, g)
    assert roc(found)[1].max() == 1
    _, recall = precision_recall_at(found, np.array([1.0]))
    assert recall[0] == metrics.recall_at_k(y, s, 1, groups=g) == 0.5
    with pytest.raises(ValueError, match="both labels"):
        roc(corners([0, 0], [1.0, 2.0]))
    with pytest.raises(ValueError, match="need positives"):
        cumulative_gains(corners([0, 0], [1.0, 2.0]))
    assert np.isnan(precision_recall_at(corners([0, 0], [1.0, 2.0]), np.array([1.0]))[1]).all()


def test_order_repetition_and_weights_agree() -> None:
    y, scores, weights, groups = rows(6)
    order = np.random.default_rng(1).permutation(len(y))
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    k = np.arange(1.0, 30.0)
    whole = precision_recall_at(corners(y, scores, groups, weights), k)
    for other in (
        corners(y[order], scores[order], groups[order], weights[order]),
        corners(y[twice], scores[twice], groups[twice]),
    ):
        assert np.allclose(precision_recall_at(other, k), whole)


def test_lengths_hold_the_budget_and_stay_few() -> None:
    assert 250.5 in lengths(1e6, also=250.5)
    assert len(lengths(1e6, also=250.5)) <= POINTS + 1
    assert lengths(0.3).tolist() == [1.0]


def test_thinning_keeps_the_curve() -> None:
    x = np.linspace(0, 1, 5)
    assert thinned(x, 2 * x)[0].tolist() == [0, 1]
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(50_000)), np.sort(rng.random(50_000))
    x[0], x[-1] = 0, 1
    few = thinned(x, y)
    assert len(few[0]) <= 4 * POINTS + 2
    at = np.geomspace(1e-3, 1, 200)
    assert np.abs(np.interp(at, *few) - np.interp(at, x, y)).max() < 2e-3
    assert len(thinned(np.zeros(3), np.arange(3.0))[0]) == 2


def test_bins_hold_every_row_once_and_none_lies_on_both_sides() -> None:
    y, scores, weights, _ = rows(7, grid=0)
    found = corners(y, scores, sample_weight=weights)
    bins = histogram(found, budget=10, bins=12, zoom=3)
    inside = float(bins.positives.sum() + bins.negatives.sum())
    assert inside + bins.above + bins.below == pytest.approx(weights.sum())
    assert np.abs(bins.edges - bins.threshold).min() < 1e-12
    acted_on = bins.edges[:-1] >= bins.threshold - 1e-9
    above = float((bins.positives + bins.negatives)[acted_on].sum()) + bins.above
    assert above == weights[scores >= bins.threshold].sum() >= 10


def test_a_constant_score_and_a_score_far_out_have_bins_too() -> None:
    flat = histogram(corners([1, 0, 0], [2.0, 2.0, 2.0]), budget=1)
    assert flat.positives.sum() == 1 and flat.negatives.sum() == 2 and flat.threshold == 2
    far = np.concatenate([[1e9], np.linspace(1, 0, 100)])
    bins = histogram(corners(np.arange(101) < 20, far), budget=10)
    assert bins.above == 1 and bins.edges[-1] < 3


def test_input_is_checked_in_the_words_of_the_metrics() -> None:
    with pytest.raises(ValueError, match="ties must be one of"):
        corners([0, 1], [1, 2], ties="none")
    with pytest.raises(ValueError, match="y_score must be finite"):
        corners([0, 1], [1, np.nan])
    with pytest.raises(ValueError, match="a plot needs two labels"):
        corners([0, 1, 2], [1, 2, 3])
    assert corners(["no", "yes"], [1, 2]).label == "yes"
    assert corners(["no", "yes"], [1, 2], pos_label="no").label == "no"
