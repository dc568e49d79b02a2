"""Examples that the papers work out."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist import metrics
from shortlist.statistics import DCG, PartialAUC, resolved_ranks, subranks


def test_infinite_push_table_1():
    y = [1] * 4 + [0] * 6
    f1 = [9.7, 7.3, 5.2, 4.0, 8.7, 6.3, 3.9, 2.7, 1.1, 0.8]
    f2 = [9.5, 8.1, 7.2, 1.5, 6.3, 5.1, 4.4, 3.1, 2.7, 0.9]
    assert metrics.auc(y, f1) == metrics.auc(y, f2) == pytest.approx(float(Fraction(19, 24)))
    assert metrics.positives_at_top(y, f1) == 1
    assert metrics.positives_at_top(y, f2) == 3


def test_rudin_wang_figure_2():
    positive = np.array([1, 1, 0, 0, 0, 1, 1, 0, 1], dtype=bool)
    scores = np.array([6.2, 6.2, 5.8, 4.6, 3.1, 3.1, 2.3, 1.7, 1.7])
    assert subranks(scores).tolist() == [7, 7, 6, 5, 3, 3, 2, 0, 0]
    assert resolved_ranks(positive, scores).tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]


@pytest.fixture(scope="module")
def theorem_1():
    rng = np.random.default_rng(0)
    sizes, centres, labels = (10, 3000, 3000, 80), (3, 1, 0, -10), (0, 1, 0, 1)
    x = np.concatenate([rng.normal(c, 0.05, n) for c, n in zip(centres, sizes, strict=True)])
    return np.repeat(labels, sizes), x


@pytest.mark.parametrize(
    ("weights", "first_is_better"),
    [
        ("wrs", True),
        (PartialAUC(top=100), True),
        ("dcg", True),
        ("reciprocal_rank", True),
        (DCG(top=100), False),
        (PartialAUC(top=10), False),
    ],
)
def test_rudin_wang_theorem_1_statistics(theorem_1, weights, first_is_better):
    y, x = theorem_1
    for ranks in ("subrank", "resolved"):
        first = metrics.rank_statistic(y, x, weights, ranks=ranks)
        second = metrics.rank_statistic(y, -x, weights, ranks=ranks)
        assert (first > second) is first_is_better


@pytest.mark.parametrize("loss", ["hinge", "exponential"])
def test_rudin_wang_theorem_1_losses(theorem_1, loss):
    y, x = theorem_1
    z = x[y == 1][:, None] - x[y == 0]
    surrogate = {"hinge": lambda v: np.maximum(0, 1 - v), "exponential": lambda v: np.exp(-v)}[loss]
    assert (surrogate(z).sum() < surrogate(-z).sum()) == (loss == "hinge")


def test_rudin_wang_theorem_1_metrics(theorem_1):
    y, x = theorem_1
    assert metrics.auc(y, x) > metrics.auc(y, -x)
    assert metrics.dcg(y, x) > metrics.dcg(y, -x)
    assert metrics.dcg(y, x, k=100) < metrics.dcg(y, -x, k=100)


def test_wrs_is_affine_in_the_auc():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, 80), rng.normal(size=80)
    m, n = y.sum(), (1 - y).sum()
    assert metrics.rank_statistic(y, s, "wrs") == pytest.approx(m * n * metrics.auc(y, s) + m * (m + 1) / 2)


def test_top_push_proposition_1():
    """L_rank <= L_top <= min(n L_rank, 1), with ties counted as errors as the paper does."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        size = int(rng.integers(2, 40))
        y = rng.integers(0, 2, size)
        y[:2] = 0, 1
        s = rng.integers(0, 6, size) + y * rng.integers(0, 8)
        rank_loss = 1 - metrics.auc(y, s, ties="pessimistic")
        top_loss = metrics.infinite_push_loss(y, s)
        assert rank_loss <= top_loss + 1e-12
        assert top_loss <= min((1 - y).sum() * rank_loss, 1) + 1e-12
