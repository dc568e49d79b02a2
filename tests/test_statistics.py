"""Rank statistics against their double sums."""

import numpy as np
import pytest

from shortlist import metrics
from shortlist.statistics import (
    DCG,
    GivenWeights,
    PartialAUC,
    Power,
    ReciprocalRank,
    WilcoxonRankSum,
    WinnerTakesAll,
    rank_weights,
    resolved_ranks,
    statistic_value,
    subranks,
)

FAMILIES = {
    "wrs": (WilcoxonRankSum(), lambda l, n: l),
    "theta": (PartialAUC(theta=4), lambda l, n: l * (l > 4)),
    "top": (PartialAUC(top=3), lambda l, n: l * (l > n - 3)),
    "wta": (WinnerTakesAll(), lambda l, n: l == n),
    "rr": (ReciprocalRank(), lambda l, n: 1 / (n - l + 1)),
    "dcg": (DCG(), lambda l, n: 1 / np.log2(n - l + 2)),
    "dcg@3": (DCG(top=3), lambda l, n: (l > n - 3) / np.log2(n - l + 2)),
    "power": (Power(2.5), lambda l, n: l**2.5),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_weights(name):
    weights, formula = FAMILIES[name]
    a = weights.array(8)
    np.testing.assert_allclose(a, [formula(l, 8) for l in range(1, 9)])
    assert (np.diff(a) >= 0).all()
    lengths = np.array([5, 6, 8])
    np.testing.assert_allclose(
        weights.at(np.array([5, 2, 8]), lengths),
        [formula(l, n) for l, n in zip((5, 2, 8), lengths, strict=True)],
    )


def test_names_and_arrays():
    assert rank_weights("auc") == rank_weights("wrs") == WilcoxonRankSum()
    assert rank_weights("dcg") == DCG()
    weights = rank_weights([0, 1, 1, 5])
    assert isinstance(weights, GivenWeights)
    assert "GivenWeights" in repr(weights)
    assert rank_weights(weights) is weights
    np.testing.assert_array_equal(weights.array(4), [0, 1, 1, 5])
    with pytest.raises(ValueError, match="read-only"):
        weights.values[0] = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_weights("ndcg"), "weights must be one of"),
        (lambda: rank_weights([3, 2, 1]), "must not decrease .* a_1 = 3.0 > a_2 = 2.0; if yours are ordered"),
        (lambda: rank_weights([-1, 2]), "a_1 = -1"),
        (lambda: rank_weights([0, np.nan]), "finite"),
        (lambda: rank_weights([[1, 2]]), "one-dimensional"),
        (lambda: rank_weights([]), "non-empty"),
        (lambda: rank_weights(object()), "must be numbers"),
        (lambda: rank_weights([1, 2]).array(3), "2 rank weights for a list of 3 rows"),
        (lambda: PartialAUC(), "exactly one"),
        (lambda: PartialAUC(theta=1, top=2), "exactly one"),
        (lambda: PartialAUC(top=0), "top must be positive"),
        (lambda: DCG(top=-1), "top must be positive"),
        (lambda: Power(0), "p must be a positive"),
        (lambda: subranks([1.0, np.nan]), "finite, but row 1"),
        (lambda: subranks(["a"]), "real number a row"),
        (lambda: subranks([1.0], margin=-1), "margin"),
        (lambda: resolved_ranks([True], [1.0, 2.0]), "there are 2 scores"),
        (lambda: statistic_value([True], [1.0], "wrs", ranks="mid"), "ranks must be"),
        (lambda: statistic_value([True], [1.0], "wrs", ranks="resolved", margin=1), "leave margin=0"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.3, 1.0])
def test_subranks_are_the_count_as_written(margin):
    rng = np.random.default_rng(0)
    s = rng.integers(0, 40, 60) * 0.1
    gap = s[:, None] - s
    beaten = gap >= margin if margin else gap > 0
    np.testing.assert_array_equal(subranks(s, margin), beaten.sum(1))


def test_resolved_ranks_are_a_permutation_that_counts_ties_against_positives():
    rng = np.random.default_rng(1)
    s, positive = rng.integers(0, 5, 40), rng.random(40) < 0.5
    r = resolved_ranks(positive, s)
    assert sorted(r) == list(range(40))
    assert (r >= subranks(s)).all()
    for i in range(40):
        for k in range(40):
            if s[i] > s[k] or (s[i] == s[k] and positive[k] and not positive[i]):
                assert r[i] > r[k]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("ranks", "margin"), [("subrank", 0.0), ("subrank", 0.2), ("resolved", 0.0)])
def test_the_metric_is_the_statistic(name, ranks, margin):
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 2, 70), rng.integers(0, 20, 70) * 0.1
    groups, w = rng.integers(0, 4, 70), rng.integers(0, 3, 70)
    weights, formula = FAMILIES[name]
    r = subranks(s, margin) if ranks == "subrank" else resolved_ranks(y == 1, s)
    expected = sum(formula(1 + r[i], 70) for i in np.flatnonzero(y))
    options = {"ranks": ranks, "margin": margin}
    assert statistic_value(y == 1, s, weights, **options) == pytest.approx(expected)
    assert metrics.rank_statistic(y, s, weights, **options) == pytest.approx(expected)
    rows = np.repeat(np.arange(70), w)
    values = []
    for g in np.unique(groups[rows]):
        of = rows[groups[rows] == g]
        values.append(statistic_value(y[of] == 1, s[of], weights, **options))
    found = metrics.rank_statistic(y, s, weights, groups=groups, sample_weight=w, **options)
    assert found == pytest.approx(np.mean(values))


def test_integer_and_unsigned_scores():
    assert subranks(np.array([2, 0, 1], dtype=np.uint8), margin=1).tolist() == [2, 0, 1]
    assert subranks(np.array([100, -100], dtype=np.int8), margin=1).tolist() == [1, 0]
    assert statistic_value([1, 0, 1], [True, False, True], "wrs") == 4
