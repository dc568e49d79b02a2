"""Each metric against its definition, over every order that tied rows can take."""

import numpy as np
import pytest

from shortlist import metrics
from tests.metrics import oracle

TIES = ("average", "pessimistic", "optimistic")

ORDER_METRICS = {
    "auc": (metrics.auc, {}, oracle.auc, 1),
    "partial_auc low": (metrics.partial_auc, {"max_fpr": 0.4}, oracle.partial_auc(0.0, 0.4), 1),
    "partial_auc mid": (
        metrics.partial_auc,
        {"min_fpr": 0.3, "max_fpr": 0.85},
        oracle.partial_auc(0.3, 0.85),
        1,
    ),
    "positives_at_top": (metrics.positives_at_top, {}, oracle.positives_at_top, 1),
    "pos_at_top": (metrics.pos_at_top, {}, oracle.pos_at_top, 1),
    "infinite_push_loss": (metrics.infinite_push_loss, {}, oracle.infinite_push_loss, -1),
    "precision_at_k": (metrics.precision_at_k, {"k": 3}, oracle.precision_at_k(3), 1),
    "precision_at_20": (metrics.precision_at_k, {"k": 20}, oracle.precision_at_k(20), 1),
    "recall_at_k": (metrics.recall_at_k, {"k": 2}, oracle.recall_at_k(2), 1),
    "winner_takes_all": (metrics.winner_takes_all, {}, oracle.winner_takes_all, 1),
    "reciprocal_rank": (metrics.reciprocal_rank, {}, oracle.reciprocal_rank, 1),
    "average_precision": (metrics.average_precision, {}, oracle.average_precision, 1),
    "dcg": (metrics.dcg, {}, oracle.dcg(), 1),
    "dcg_at_k": (metrics.dcg, {"k": 3}, oracle.dcg(3), 1),
    "ndcg": (metrics.ndcg, {}, oracle.ndcg(), 1),
    "ndcg_at_k": (metrics.ndcg, {"k": 2}, oracle.ndcg(2), 1),
    "ndcg own discount": (
        metrics.ndcg,
        {"discounts": lambda r: 1 / r},
        oracle.ndcg(discount=lambda r: 1 / r),
        1,
    ),
    "dcg array discount": (
        metrics.dcg,
        {"discounts": [3.0, 2.0, 0.5]},
        oracle.dcg(discount=lambda r: [3.0, 2.0, 0.5, 0, 0, 0, 0, 0][r - 1]),
        1,
    ),
    "enrichment_factor": (metrics.enrichment_factor, {"fraction": 0.3}, oracle.enrichment_factor(0.3), 1),
    "bedroc": (metrics.bedroc, {"alpha": 5.0}, oracle.bedroc(5.0), 1),
    "bedroc 20": (metrics.bedroc, {}, oracle.bedroc(20.0), 1),
    "pairwise_misranking": (metrics.pairwise_misranking, {}, oracle.misranking, -1),
    "ranking_error": (metrics.ranking_error, {}, oracle.ranking_error, -1),
    "kendall_tau": (metrics.kendall_tau, {}, oracle.kendall_tau, 1),
    "spearman_rho": (metrics.spearman_rho, {}, oracle.spearman_rho, 1),
}

GRADED_METRICS = ["dcg", "dcg_at_k", "ndcg", "ndcg_at_k", "ndcg own discount", "dcg array discount"]
GRADED_METRICS += ["pairwise_misranking", "ranking_error", "kendall_tau", "spearman_rho"]


def two_label_cases():
    rng = np.random.default_rng(7)
    cases = [([1, 0, 1, 0, 0], [2, 2, 2, 2, 2]), ([0, 1], [1, 1]), ([1, 0], [2, 1]), ([1, 0], [1, 2])]
    for n in (3, 4, 5, 6, 6, 7, 7):
        y = rng.integers(0, 2, n)
        y[:2] = 0, 1
        cases.append((y.tolist(), rng.integers(0, 3, n).tolist()))
    cases.append(([1, 0, 1, 0, 0, 1, 1], rng.normal(size=7).tolist()))
    return cases


def graded_cases():
    rng = np.random.default_rng(8)
    cases = [([0, 1, 2, 3, 1], [1, 1, 1, 1, 1])]
    for n in (3, 5, 6, 6):
        y = rng.integers(0, 4, n)
        y[:3] = 0, 1, 3
        cases.append((y.tolist(), rng.integers(0, 3, n).tolist()))
    cases.append(([1, 0, 2, 0, 3, 1, 1], rng.normal(size=7).tolist()))
    return cases


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ORDER_METRICS)
def test_two_labels_over_all_orders(name, ties):
    metric, options, definition, sign = ORDER_METRICS[name]
    for y, s in two_label_cases():
        expected = oracle.over_orders(definition, y, s, ties, sign)
        assert metric(y, s, ties=ties, **options) == pytest.approx(expected, abs=1e-12), (y, s)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", GRADED_METRICS)
def test_grades_over_all_orders(name, ties):
    metric, options, definition, sign = ORDER_METRICS[name]
    for y, s in graded_cases():
        expected = oracle.over_orders(definition, y, s, ties, sign)
        assert metric(y, s, ties=ties, **options) == pytest.approx(expected, abs=1e-12), (y, s)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("p", [1, 2, 3.5, 16])
def test_p_norm_loss_averages_inside_the_root(p, ties):
    for y, s in two_label_cases():
        expected = oracle.over_orders(oracle.p_norm_power(p), y, s, ties, -1) ** (1 / p)
        assert metrics.p_norm_loss(y, s, p=p, ties=ties) == pytest.approx(expected, abs=1e-12)


def test_p_norm_loss_lies_between_its_ends():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 200), rng.integers(0, 50, 200)
    losses = [metrics.p_norm_loss(y, s, p=p, ties="pessimistic") for p in (1, 2, 8, 64, 500)]
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(1 - metrics.auc(y, s, ties="pessimistic"))
    assert losses[-1] == pytest.approx(metrics.infinite_push_loss(y, s), rel=0.02)


@pytest.mark.parametrize("p", [1, 2, 3.5, 0.5])
def test_p_norm_loss_of_a_long_tie_is_a_closed_sum(p):
    y = np.r_[np.ones(6000), np.zeros(3)]
    expected = np.mean((np.arange(6001) / 6000) ** p) ** (1 / p)
    assert metrics.p_norm_loss(y, np.zeros(6003), p=p) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("gains", ["exp2", lambda y: y**2 + 1.0])
def test_gains(gains):
    gain = (lambda y: 2**y - 1) if gains == "exp2" else gains
    for y, s in two_label_cases() + graded_cases():
        for metric, definition in ((metrics.dcg, oracle.dcg), (metrics.ndcg, oracle.ndcg)):
            expected = oracle.over_orders(definition(3, gain=gain), y, s, "average")
            assert metric(y, s, k=3, gains=gains) == pytest.approx(expected, abs=1e-12)


def test_a_gain_that_falls_with_the_label_is_served():
    y, s = [0, 1, 1, 0], [4.0, 3.0, 3.0, 1.0]
    expected = oracle.over_orders(oracle.ndcg(gain=lambda v: 1.0 - v), y, s, "average")
    assert metrics.ndcg(y, s, gains=lambda v: 1.0 - v) == pytest.approx(expected)


def test_differences_are_their_double_sums():
    rng = np.random.default_rng(3)
    for y in (rng.integers(0, 2, 30), rng.integers(0, 5, 30), rng.normal(size=30)):
        s = rng.normal(size=30) * 3
        assert metrics.mean_squared_difference(y, s) == pytest.approx(oracle.mean_squared_difference(y, s))
        assert metrics.mean_absolute_difference(y, s) == pytest.approx(oracle.mean_absolute_difference(y, s))


def test_pearson_is_the_correlation_and_zero_for_a_constant_score():
    rng = np.random.default_rng(4)
    y, s = rng.normal(size=50), rng.normal(size=50)
    assert metrics.pearson(y, s) == pytest.approx(np.corrcoef(y, s)[0, 1])
    assert metrics.pearson(y, np.full(50, 0.1)) == 0.0


@pytest.mark.parametrize("name", ["auc", "pairwise_misranking", "winner_takes_all", "kendall_tau"])
def test_a_constant_score_earns_what_a_random_order_earns(name):
    y = [1, 1, 0, 0, 0]
    rng = np.random.default_rng(0)
    drawn = [getattr(metrics, name)(y, rng.permutation(5)) for _ in range(2000)]
    assert getattr(metrics, name)(y, np.zeros(5)) == pytest.approx(np.mean(drawn), abs=0.05)


def test_at_the_top_is_strict_by_default():
    y, s = [1, 1, 0, 0], [2.0, 1.0, 1.0, 0.0]
    assert metrics.positives_at_top(y, s) == 1
    assert metrics.positives_at_top(y, [0.0] * 4) == metrics.pos_at_top(y, [0.0] * 4) == 0
    assert metrics.infinite_push_loss(y, [0.0] * 4) == 1
