"""Agreement with scikit-learn and SciPy where the definitions agree on ties."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from shortlist import metrics


def sample(seed, n=200, ties=False, labels=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, labels, n)
    s = rng.integers(0, 15, n) / 7 if ties else rng.normal(size=n)
    return y, s, rng.random(n) + 0.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", [False, True])
def test_roc(seed, ties):
    y, s, w = sample(seed, ties=ties)
    assert metrics.auc(y, s) == pytest.approx(sk.roc_auc_score(y, s), rel=1e-12)
    assert metrics.auc(y, s, sample_weight=w) == pytest.approx(
        sk.roc_auc_score(y, s, sample_weight=w), rel=1e-12
    )
    assert metrics.partial_auc(y, s, max_fpr=1.0) == pytest.approx(metrics.auc(y, s), rel=1e-12)


@pytest.mark.parametrize("max_fpr", [0.05, 0.2, 0.5, 1.0])
def test_partial_auc_without_ties(max_fpr):
    y, s, _ = sample(4)
    value = metrics.partial_auc(y, s, max_fpr=max_fpr, standardized=True)
    assert value == pytest.approx(sk.roc_auc_score(y, s, max_fpr=max_fpr), rel=1e-12)


def test_partial_auc_over_adjacent_ranges_adds_up():
    y, s, w = sample(5, ties=True)
    for weights in (None, w):
        parts = [
            (hi - lo) * metrics.partial_auc(y, s, min_fpr=lo, max_fpr=hi, sample_weight=weights)
            for lo, hi in ((0, 0.13), (0.13, 0.6), (0.6, 1))
        ]
        assert sum(parts) == pytest.approx(metrics.auc(y, s, sample_weight=weights), rel=1e-12)


def test_average_precision_without_ties():
    y, s, _ = sample(6)
    assert metrics.average_precision(y, s) == pytest.approx(sk.average_precision_score(y, s), rel=1e-12)


@pytest.mark.parametrize("k", [None, 5, 50, 500])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("labels", [2, 4])
def test_dcg_and_ndcg_ties_included(k, ties, labels):
    y, s, _ = sample(7, ties=ties, labels=labels)
    assert metrics.dcg(y, s, k=k) == pytest.approx(sk.dcg_score([y], [s], k=k), rel=1e-12)
    assert metrics.ndcg(y, s, k=k) == pytest.approx(sk.ndcg_score([y], [s], k=k), rel=1e-12)


def test_correlations():
    y, s, _ = sample(8, labels=6)
    assert metrics.pearson(y, s) == pytest.approx(stats.pearsonr(y, s).statistic)
    assert metrics.spearman_rho(y, s) == pytest.approx(stats.spearmanr(y, s).statistic)
    assert metrics.spearman_rho(y > 2, s) == pytest.approx(stats.spearmanr(y > 2, s).statistic)
    rng = np.random.default_rng(0)
    real = rng.normal(size=200)
    assert metrics.kendall_tau(real, s) == pytest.approx(stats.kendalltau(real, s).statistic)


def test_long_lists_leave_the_table_of_discounts():
    n = 20_000
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, n), rng.normal(size=n)
    assert metrics.ndcg(y, s) == pytest.approx(sk.ndcg_score([y], [s]), rel=1e-12)
    assert metrics.dcg(np.ones(n), np.zeros(n)) == pytest.approx(
        (1 / np.log2(np.arange(2, n + 2))).sum(), rel=1e-13
    )
