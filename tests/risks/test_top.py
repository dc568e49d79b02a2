"""The top risk against its definition, written as loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest, TailMean
from shortlist.risks.top import TopRisk

THRESHOLDS = [Maximum(), MeanOfLargest(1), MeanOfLargest(3), TailMean(0.25)]
quick = settings(max_examples=120, deadline=None, derandomize=True)


@st.composite
def ranked_rows(draw, max_weight=3):
    n = draw(st.integers(2, 14))
    scores = draw(arrays(np.float64, n, elements=st.integers(-12, 12).map(lambda k: k / 4)))
    labels = np.array(
        draw(st.permutations([True, False, *draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))]))
    )
    groups = draw(arrays(np.int64, n, elements=st.integers(0, 2)))
    weights = draw(arrays(np.float64, n, elements=st.integers(0, max_weight).map(float)))
    return scores, labels, groups, weights


def definition(scores, labels, groups, weights, loss, threshold):
    """Row by row, group by group; None where nothing can be compared."""
    total, mass = 0.0, 0.0
    for g in sorted(set(groups)):
        negatives, positives = [], []
        for s, positive, group, v in zip(scores, labels, groups, weights, strict=True):
            if group == g:
                (positives if positive else negatives).extend([s] * int(v))
        if not positives or not negatives:
            continue
        negatives.sort(reverse=True)
        if isinstance(threshold, Maximum):
            k = 1
        elif isinstance(threshold, MeanOfLargest):
            k = min(int(threshold.k), len(negatives))
        else:
            k = max(1, int(np.ceil(round(threshold.tau * len(negatives), 9))))
        theta = sum(negatives[:k]) / k
        for s in positives:
            total += float(loss.value(np.array(theta - s)))
            mass += 1
    return total / mass if mass else None


@quick
@given(ranked_rows(), st.sampled_from(THRESHOLDS), st.sampled_from(sorted(SURROGATES)))
def test_value_is_its_definition(rows, threshold, name):
    scores, labels, groups, weights = rows
    loss = surrogate(name)
    expected = definition(scores, labels, groups, weights, loss, threshold)
    if expected is None:
        with pytest.raises(ValueError, match="nothing to rank"):
            TopRisk.from_labels(labels, loss, threshold, groups=groups, sample_weight=weights)
        return
    risk = TopRisk.from_labels(labels, loss, threshold, groups=groups, sample_weight=weights)
    assert risk.value(scores) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert risk.positive_weights.sum() == pytest.approx(1)
    assert len(risk.thresholds(scores)) == risk.n_groups


@quick
@given(ranked_rows(), st.sampled_from(THRESHOLDS))
def test_weight_two_is_the_row_twice_and_weight_zero_none(rows, threshold):
    scores, labels, _, weights = rows
    weights[np.flatnonzero(labels)[0]] = weights[np.flatnonzero(~labels)[0]] = 2
    loss = surrogate("squared_hinge")
    weighted = TopRisk.from_labels(labels, loss, threshold, sample_weight=weights)
    again = np.repeat(np.arange(len(scores)), weights.astype(int))
    repeated = TopRisk.from_labels(labels[again], loss, threshold)
    assert weighted.value(scores) == pytest.approx(repeated.value(scores[again]), rel=1e-12)
    assert not np.isin(np.flatnonzero(weights == 0), np.append(weighted.positives, weighted.negatives)).any()


@quick
@given(ranked_rows(), st.sampled_from(THRESHOLDS))
def test_one_group_is_none_and_names_do_not_matter(rows, threshold):
    scores, labels, groups, _ = rows
    loss = surrogate("logistic")
    plain = TopRisk.from_labels(labels, loss, threshold)
    one = TopRisk.from_labels(labels, loss, threshold, groups=np.full(len(labels), "only"))
    assert one.value(scores) == plain.value(scores)
    order = np.random.default_rng(1).permutation(len(labels))
    try:
        grouped = TopRisk.from_labels(labels, loss, threshold, groups=groups)
    except ValueError:
        return
    names = np.array(["zebra", "ärger", "β"])
    renamed = TopRisk.from_labels(labels[order], loss, threshold, groups=names[groups][order])
    assert renamed.value(scores[order]) == pytest.approx(grouped.value(scores), rel=1e-12)
    assert set(renamed.group_ids) == set(names[grouped.group_ids])


def test_infinite_push_and_top_push_are_one_risk():
    # For a non-decreasing loss the largest mean over the positives is the mean at the largest negative.
    rng = np.random.default_rng(4)
    scores, labels = rng.normal(size=40), rng.random(40) < 0.4
    for loss in SURROGATES.values():
        pairs = [np.mean(loss.value(s - scores[labels])) for s in scores[~labels]]
        risk = TopRisk.from_labels(labels, loss, Maximum())
        assert risk.value(scores) == pytest.approx(max(pairs), rel=1e-12)


def test_a_group_with_one_label_takes_no_part():
    labels = np.array([True, False, True, True, False])
    groups = np.array([5, 5, 7, 7, 9])
    scores = np.array([0.0, 1.0, -50.0, 50.0, 99.0])
    risk = TopRisk.from_labels(labels, surrogate("hinge"), Maximum(), groups=groups)
    np.testing.assert_array_equal(risk.group_ids, [5])
    np.testing.assert_array_equal(risk.positives, [0])
    np.testing.assert_array_equal(risk.negatives, [1])
    assert risk.value(scores) == 2.0


def test_group_numbers_skip_nothing():
    labels = np.array([True, False, True, False, True, False])
    groups = np.array(["c", "c", "a", "x", "b", "b"])
    risk = TopRisk.from_labels(labels, surrogate("hinge"), MeanOfLargest(1), groups=groups)
    assert list(risk.group_ids) == ["b", "c"]
    np.testing.assert_array_equal(risk.positive_groups, [1, 0])
    np.testing.assert_array_equal(risk.negative_groups, [1, 0])
    np.testing.assert_array_equal(risk.caps, [1, 1])


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=repr)
def test_constant_scores_pay_the_loss_at_zero(threshold):
    labels = np.arange(12) % 3 == 0
    for loss in SURROGATES.values():
        risk = TopRisk.from_labels(labels, loss, threshold, groups=np.arange(12) // 6)
        assert risk.value(np.full(12, 3.5)) == pytest.approx(float(loss.value(np.array(0.0))))


def test_a_tie_at_the_top_is_no_win():
    labels = np.array([True, False])
    risk = TopRisk.from_labels(labels, surrogate("exponential"), Maximum())
    assert risk.value(np.array([2.0, 2.0])) == 1.0


@pytest.mark.parametrize(
    ("labels", "groups", "weights"),
    [
        ([True, True], None, None),
        ([False, False], None, None),
        ([True, False], [0, 1], None),
        ([True, False], None, [1, 0]),
        ([True, False], None, [0, 1]),
        ([True], None, None),
    ],
)
def test_nothing_to_rank_is_named(labels, groups, weights):
    with pytest.raises(ValueError, match="no group holds both a positive and a negative"):
        TopRisk.from_labels(
            np.array(labels), surrogate("hinge"), Maximum(), groups=groups, sample_weight=weights
        )


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=repr)
@pytest.mark.parametrize("name", sorted(SURROGATES))
def test_any_feasible_dual_bounds_the_objective(threshold, name):
    """Weak duality, with the conjugate and the caps as the solvers use them."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 3))
    labels, groups = rng.random(30) < 0.4, np.arange(30) % 3
    weights = rng.integers(1, 4, 30).astype(float)
    loss, C = surrogate(name), 4.0
    risk = TopRisk.from_labels(labels, loss, threshold, groups=groups, sample_weight=weights)
    u = C * risk.positive_weights
    lowest = min(
        0.5 * w @ w + C * risk.value(X @ w) for w in rng.normal(size=(200, 3)) * rng.uniform(0, 2, (200, 1))
    )
    for _ in range(30):
        alpha = u * rng.uniform(0, min(loss.dual_upper, 2.0), len(u))
        mass = np.bincount(risk.positive_groups, alpha, risk.n_groups)
        beta = np.zeros(len(risk.negatives))
        for g in range(risk.n_groups):
            rows = np.flatnonzero(risk.negative_groups == g)
            if risk.caps is None:
                share = rng.dirichlet(np.ones(len(rows)))
            else:  # fill to the caps in a random order
                rng.shuffle(rows)
                filled = np.minimum(np.cumsum(risk.caps[rows]), 1)
                share = np.diff(filled, prepend=0.0)
            beta[rows] = mass[g] * share
        w = X[risk.positives].T @ alpha - X[risk.negatives].T @ beta
        assert -0.5 * w @ w - risk.conjugate(alpha, C) <= lowest
    assert risk.conjugate(-u, C) == np.inf


def test_single_precision_scores():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=50), rng.random(50) < 0.5
    for threshold in THRESHOLDS:
        for groups in (None, np.arange(50) % 4):
            risk = TopRisk.from_labels(labels, surrogate("logistic"), threshold, groups=groups)
            assert risk.value(scores.astype(np.float32)) == pytest.approx(risk.value(scores), rel=1e-5)
