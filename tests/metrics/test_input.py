"""Wrong input: an error that says what, where and what to do, or a defined answer."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from shortlist import metrics
from shortlist.metrics.scorers import METRICS

ALL = {name: pair[0] for name, pair in METRICS.items()}
Y, S = [1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]
BINARY = {
    "auc", "partial_auc", "positives_at_top", "pos_at_top", "infinite_push_loss", "p_norm_loss",
    "precision_at_k", "recall_at_k", "winner_takes_all", "reciprocal_rank", "average_precision",
    "enrichment_factor", "bedroc", "rank_statistic",
}  # fmt: skip


@pytest.mark.parametrize("name", [*ALL, "evaluate"])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([], []), ValueError, "y_true is empty"),
        ((Y, S[:3]), ValueError, "y_true has 4 rows and y_score has 3"),
        ((Y, [1, np.nan, 2, 3]), ValueError, "y_score must be finite, but row 1 is nan"),
        ((Y, [1, 2, 3, -np.inf]), ValueError, "row 3 is -inf"),
        ((Y, [1, 2, 3, None]), (TypeError, ValueError), "y_score"),
        ((Y, list("abcd")), TypeError, "y_score must hold real numbers"),
        ((Y, np.array(list("abcd"), dtype=object)), TypeError, "found other objects"),
        ((Y, [1j, 2, 3, 4]), TypeError, "y_score must hold real numbers, got dtype complex128"),
        ((Y, [[1], [2], [3], [4]]), ValueError, r"one-dimensional, got shape \(4, 1\)"),
        (([1, 0, np.nan, 1], S), ValueError, "y_true must be finite, but row 2"),
        (([1, 0, None, 1], S), TypeError, "missing values"),
        ((["a", "a", "a", "a"], S), (ValueError, TypeError), "single label 'a'"),
        (([[1], [0, 1], [1], [0]], S), ValueError, "rows of different lengths"),
    ],
)
def test_rows(name, arguments, error, message):
    metric = metrics.evaluate if name == "evaluate" else ALL[name]
    with pytest.raises(error, match=message):
        metric(*arguments)


@pytest.mark.parametrize("name", [*ALL, "evaluate"])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sample_weight": [1, 1, -1, 1]}, ValueError, "must not be negative, but row 2"),
        ({"sample_weight": [1, 1]}, ValueError, "sample_weight has 2 rows and y_true has 4"),
        ({"sample_weight": [0, 0, 0, 0]}, ValueError, "every sample_weight is 0"),
        ({"sample_weight": [1, np.nan, 1, 1]}, ValueError, "sample_weight must be finite"),
        ({"groups": [1, 1]}, ValueError, "groups has 2 rows"),
        ({"groups": [1.0, np.nan, 1, 1]}, ValueError, "groups must not hold NaN, but row 1"),
        ({"groups": ["a", None, "a", "b"]}, ValueError, "missing ids"),
        ({"groups": np.array([[], {}, [], []], dtype=object)}, TypeError, "hashable"),
        ({"empty": "ignore"}, ValueError, "empty must be one of 'skip'"),
    ],
)
def test_options(name, options, error, message):
    metric = metrics.evaluate if name == "evaluate" else ALL[name]
    with pytest.raises(error, match=message):
        metric(Y, S, **options)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_two_labels_are_needed(name):
    with pytest.raises(ValueError, match=r"needs two labels, but y_true holds 3 .*pos_label"):
        ALL[name]([0, 1, 2], S[:3])
    with pytest.raises(ValueError, match="needs two labels"):
        ALL[name](["a", "b", "c"], S[:3])
    assert np.isfinite(ALL[name]([0, 1, 2], S[:3], pos_label=1))


@pytest.mark.parametrize("name", sorted(set(ALL) - BINARY))
def test_text_grades_must_be_encoded(name):
    with pytest.raises((TypeError, ValueError), match=r"encode the grades|needs two labels"):
        ALL[name](["a", "b", "c"], S[:3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.auc(Y, S, ties="random"), "ties must be one of"),
        (lambda: metrics.precision_at_k(Y, S, k=0), "k must be a positive number"),
        (lambda: metrics.ndcg(Y, S, k=True), "k must be a positive number"),
        (lambda: metrics.partial_auc(Y, S, min_fpr=0.5, max_fpr=0.5), "min_fpr < max_fpr"),
        (lambda: metrics.p_norm_loss(Y, S, p=np.inf), "use infinite_push_loss"),
        (lambda: metrics.enrichment_factor(Y, S, fraction=0), "fraction"),
        (lambda: metrics.bedroc(Y, S, alpha=-1), "alpha must be positive"),
        (lambda: metrics.dcg(Y, S, gains="square"), "gains must be"),
        (lambda: metrics.dcg([0, 1, -2], S[:3]), "not negative"),
        (lambda: metrics.dcg([0, 1, 2], S[:3], gains=lambda y: 1.0), "gains returned shape"),
        (lambda: metrics.dcg(Y, S, discounts="linear"), 'discounts must be "log2"'),
        (lambda: metrics.dcg(Y, S, discounts=[[1.0]]), "discounts must be one-dimensional"),
        (lambda: metrics.dcg(Y, S, discounts=[1.0, -1.0]), "finite and not negative"),
        (lambda: metrics.dcg(Y, S, discounts=lambda r: r[:1]), "discounts returned shape"),
        (lambda: metrics.dcg(Y, S, discounts=lambda r: 1 / r, sample_weight=[1e9] * 4), "at most"),
        (lambda: metrics.rank_statistic(Y, S, "mrr"), "weights must be one of"),
        (lambda: metrics.rank_statistic(Y, S, [1, 2]), "2 rank weights for a list of 4 rows"),
        (lambda: metrics.rank_statistic(Y, S, ranks="middle"), "ranks must be one of"),
        (lambda: metrics.rank_statistic(Y, S, margin=-1), "margin must be"),
        (lambda: metrics.rank_statistic(Y, S, margin=1, ranks="resolved"), "leave margin=0"),
        (lambda: metrics.rank_statistic(Y, S, sample_weight=[0.5] * 4), "whole numbers"),
        (lambda: metrics.rank_statistic(Y, S, margin=1, sample_weight=[0.5] * 4), "whole numbers"),
        (lambda: metrics.scorer("accuracy"), "metric must be one of"),
        (lambda: metrics.auc(["a", "b"], S[:2], pos_label=["a"]), "pos_label must be one label"),
    ],
)
def test_parameters(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_huge_weights_are_sums_not_lists():
    """Masses of 10^9 rows are summed in closed form."""
    y, s, w = [1, 0, 1, 0, 1], [3.0, 2.0, 2.0, 1.0, 1.0], np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    for name in ("auc", "average_precision", "p_norm_loss", "ndcg", "bedroc"):
        assert ALL[name](y, s, sample_weight=w * 1e7) == pytest.approx(
            ALL[name](y, s, sample_weight=w * 1e9), abs=0.03
        )
    assert metrics.dcg(y, s, discounts=[1.0, 0.5], sample_weight=w * 1e9) == pytest.approx(1.5)
    assert 0 < metrics.reciprocal_rank([1, 0], [1, 1], sample_weight=[1e7, 1e9]) < 1


@pytest.mark.parametrize("name", sorted(set(ALL)))
def test_groups_that_lack_a_label(name):
    y = [1, 0, 1, 0, 0, 1, 1]
    s = [4.0, 3.0, 2.0, 3.0, 2.0, 1.0, 0.0]
    groups = ["both", "both", "both", "negative", "negative", "positive", "positive"]
    both, negative, positive = slice(0, 3), slice(3, 5), slice(5, 7)
    metric = ALL[name]
    alone = metric(y[both], s[both])
    defined = [alone]
    for part in (negative, positive):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            value = metric(y[part], s[part])
        if np.isnan(value):
            assert metric(y[part], s[part], empty="zero") == 0
            assert metric(y[part], s[part], empty="one") == 1
            with pytest.warns(UndefinedMetricWarning, match=name):
                metric(y[part], s[part])
        else:
            defined.append(value)
    assert metric(y, s, groups=groups) == pytest.approx(np.mean(defined))
    zeros = defined + [0.0] * (3 - len(defined))
    assert metric(y, s, groups=groups, empty="zero") == pytest.approx(np.mean(zeros))
    if len(defined) < 3:
        with pytest.raises(ValueError, match=rf"{name} is undefined in {3 - len(defined)} of 3 groups"):
            metric(y, s, groups=groups, empty="error")


def test_a_single_number_is_positive_above_zero():
    assert metrics.precision_at_k([1, 1], [1, 2]) == 1
    assert metrics.precision_at_k([0, 0], [1, 2]) == metrics.precision_at_k([-1, -1], [1, 2]) == 0
    assert metrics.dcg([-1, -1], [1, 2]) == 0
    assert metrics.dcg([2.0], [1.0]) == 2
    assert metrics.precision_at_k(["a", "a"], [1, 2], pos_label="b") == 0


def test_number_objects_are_numbers_and_one_group_is_none():
    assert metrics.pearson(np.array([1.0, 2, 4], dtype=object), [1, 2, 4]) == pytest.approx(1)
    assert metrics.evaluate(Y, S, groups=["a"] * 4) == metrics.evaluate(Y, S)
    labels = np.array(["x", 1, None, "x"], dtype=object)
    assert metrics.auc(labels, S, pos_label="x") == metrics.auc([1, 0, 0, 1], S)


def test_a_mixed_tie_of_total_weight_one_is_the_limit():
    def precision(total):
        w = [2.5, total * 0.4, total * 0.6]
        return metrics.average_precision([0, 1, 0], [2, 1, 1], sample_weight=w)

    assert precision(1.0) == pytest.approx((precision(1 - 1e-4) + precision(1 + 1e-4)) / 2, abs=1e-6)


def test_frames_and_series_are_columns():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for series in (pandas.Series, polars.Series):
        assert metrics.auc(series(Y), series(S), groups=series(["a", "a", "a", "a"])) == metrics.auc(Y, S)
