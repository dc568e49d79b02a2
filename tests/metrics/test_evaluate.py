"""One call for all metrics: the same numbers as the single functions."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from shortlist import metrics
from shortlist.metrics import _ranking, magnitude
from shortlist.metrics.scorers import METRICS

TWO_LABELS = set(METRICS) | {"dcg_at_k", "ndcg_at_k"}
GRADED = {"dcg", "ndcg", "dcg_at_k", "ndcg_at_k", "pairwise_misranking", "ranking_error", "kendall_tau"}
GRADED |= {"spearman_rho", "pearson", "mean_squared_difference", "mean_absolute_difference"}
PARAMETERS = {
    "k": 7,
    "min_fpr": 0.05,
    "max_fpr": 0.4,
    "p": 3.0,
    "fraction": 0.2,
    "alpha": 8.0,
    "weights": "dcg",
    "gains": "exp2",
    "discounts": lambda r: 1 / r,
}
NEEDS = {
    "partial_auc": ("min_fpr", "max_fpr"),
    "p_norm_loss": ("p",),
    "precision_at_k": ("k",),
    "recall_at_k": ("k",),
    "enrichment_factor": ("fraction",),
    "bedroc": ("alpha",),
    "rank_statistic": ("weights",),
    "dcg": ("gains", "discounts"),
    "ndcg": ("gains", "discounts"),
    "dcg_at_k": ("gains", "discounts", "k"),
    "ndcg_at_k": ("gains", "discounts", "k"),
}
STRICT = {"positives_at_top", "pos_at_top", "infinite_push_loss"}
NO_ORDER = {"mean_squared_difference", "mean_absolute_difference", "pearson", "rank_statistic"}


def single(name, y, s, ties, **shared):
    metric = METRICS[name.removesuffix("_at_k") if name.startswith(("dcg", "ndcg")) else name][0]
    own = {parameter: PARAMETERS[parameter] for parameter in NEEDS.get(name, ())}
    if name not in STRICT | NO_ORDER:
        own["ties"] = ties
    return metric(y, s, **own, **shared)


@pytest.mark.parametrize("part", [16000, 50])
@pytest.mark.parametrize("ties", ["average", "pessimistic", "optimistic"])
@pytest.mark.parametrize("kind", ["two", "shifted", "text", "grades"])
@pytest.mark.parametrize("distinct", [True, False])
def test_equals_the_single_functions(kind, distinct, ties, part, monkeypatch):
    for module in (_ranking, magnitude):
        monkeypatch.setattr(module, "PART", part)
    rng = np.random.default_rng(5)
    n = 300
    y = rng.integers(0, 4 if kind == "grades" else 2, n)
    y = {"shifted": y * 2 + 1, "text": np.array(["no", "yes", "?", "?"])[y]}.get(kind, y)
    s = rng.normal(size=n) if distinct else rng.integers(0, 9, n) / 2
    groups = rng.choice(["a", "b", "c", "d", "large"], n, p=[0.05, 0.1, 0.1, 0.15, 0.6])
    whole, part_weight = rng.integers(0, 3, n), rng.random(n) + 0.2
    for g in (None, groups):
        for w in (None, whole, part_weight):
            shared = {"groups": g, "sample_weight": w}
            result = metrics.evaluate(y, s, ties=ties, **PARAMETERS, **shared)
            expected = set(GRADED if kind == "grades" else TWO_LABELS)
            if w is part_weight:
                expected -= {"rank_statistic"}
            assert set(result) == expected
            for name, value in result.items():
                assert value == pytest.approx(single(name, y, s, ties, **shared), rel=1e-10, abs=1e-12), name


def test_values_are_plain_floats():
    assert {type(v) for v in metrics.evaluate([0, 1], [0.0, 1.0]).values()} == {float}


def test_real_labels_below_zero_have_no_gain():
    y = np.array([-1.5, 0.2, 2.0, 0.7])
    result = metrics.evaluate(y, y)
    assert "dcg" not in result
    assert result["kendall_tau"] == result["spearman_rho"] == pytest.approx(1.0)
    assert "dcg" in metrics.evaluate(y, y, gains=np.exp)


def test_undefined_metrics_are_named_once():
    with pytest.warns(UndefinedMetricWarning, match=r"auc, .*kendall_tau") as caught:
        result = metrics.evaluate([0, 0, 0], [1.0, 2.0, 3.0])
    assert len(caught) == 1
    assert np.isnan(result["auc"])
    assert result["precision_at_k"] == 0
    assert metrics.evaluate([0, 0], [1.0, 2.0], empty="one")["auc"] == 1
    with pytest.raises(ValueError, match="undefined in 1 of 1 groups"):
        metrics.evaluate([1, 1], [1.0, 2.0], empty="error")


def test_large_offsets_cost_no_digits():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 500)
    s = np.round(rng.normal(size=500), 3)
    groups = rng.integers(0, 5, 500)
    for g in (None, groups):
        near, far = metrics.evaluate(y, s, groups=g), metrics.evaluate(y, s + 1e8, groups=g)
        for name in ("mean_squared_difference", "mean_absolute_difference", "pearson"):
            assert far[name] == pytest.approx(near[name], rel=1e-6)


def test_one_row_and_one_label():
    result = metrics.evaluate([1], [0.3], empty="zero")
    assert result["average_precision"] == 1
    assert result["mean_absolute_difference"] == result["mean_squared_difference"] == 0
