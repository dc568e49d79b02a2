"""Rank statistics against their double sums."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_a_cut_beyond_the_list_or_between_two_places():
    np.testing.assert_array_equal(PartialAUC(top=9).array(4), WilcoxonRankSum().array(4))
    np.testing.assert_array_equal(DCG(top=4).array(4), DCG().array(4))
    np.testing.assert_array_equal(PartialAUC(theta=4).array(4), np.zeros(4))
    np.testing.assert_array_equal(DCG(top=1).array(4), WinnerTakesAll().array(4))
    np.testing.assert_array_equal(Power(1).array(4), WilcoxonRankSum().array(4))
    np.testing.assert_array_equal(DCG(top=1.5).array(4) > 0, [False, False, True, True])


def test_dcg_is_in_bits():
    """Three rows, the positives in the places 1 and 3: 1 / log2(2) + 1 / log2(4)."""
    assert statistic_value([1, 0, 1], [3.0, 2.0, 1.0], DCG()) == pytest.approx(1.5)


def test_the_mean_reciprocal_rank_of_one_positive_a_list():
    places = [1, 4, 2]
    values = [statistic_value(np.arange(5) == p - 1, -np.arange(5.0), "reciprocal_rank") for p in places]
    assert np.mean(values) == pytest.approx(np.mean([1 / p for p in places]))


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


class TestFigure2:
    """Rudin and Wang, section 2.6."""

    positive = np.array([1, 1, 0, 0, 0, 1, 1, 0, 1], dtype=bool)
    scores = np.array([6.2, 6.2, 5.8, 4.6, 3.1, 3.1, 2.3, 1.7, 1.7])

    def test_the_ranks(self):
        assert subranks(self.scores).tolist() == [7, 7, 6, 5, 3, 3, 2, 0, 0]
        assert resolved_ranks(self.positive, self.scores).tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]

    @pytest.mark.parametrize("name", FAMILIES)
    def test_the_statistics_that_they_give(self, name):
        weights, formula = FAMILIES[name]
        for ranks, own in (("subrank", [7, 7, 3, 2, 0]), ("resolved", [8, 7, 3, 2, 0])):
            expected = sum(formula(1 + r, 9) for r in own)
            assert statistic_value(self.positive, self.scores, weights, ranks=ranks) == pytest.approx(expected)

    def test_ties_counted_as_won_would_make_a_constant_score_the_best(self):
        """Section 2.6: the rank of Clemencon and Vayatis, and why it is not used."""

        def counted(scores):
            return (scores[:, None] >= scores).sum(axis=1)[self.positive].sum()

        assert counted(np.zeros(9)) == 45 > counted(self.scores)
        assert statistic_value(self.positive, np.zeros(9), "wrs") == 5
        assert statistic_value(self.positive, self.scores, "wrs") == 24


class TestTheorem1:
    """Statistics and convex stand-ins that prefer one list or its reverse.

    10 negatives near 3, 3,000 positives near 1, 3,000 negatives near 0, 80 positives near -10; and upside down.
    """

    labels = np.repeat([0, 1, 0, 1], [10, 3000, 3000, 80])
    # Spread a little, so that there are no ties.
    x = np.repeat([3.0, 1.0, 0.0, -10.0], [10, 3000, 3000, 80]) + np.linspace(0.05, -0.05, 6090)

    def preferred(self, weights):
        first, second = (statistic_value(self.labels == 1, s, weights) for s in (self.x, -self.x))
        assert first != second
        return 1 if first > second else 2

    def test_what_prefers_which(self):
        long, short = ["wrs", PartialAUC(top=100), "dcg", "reciprocal_rank"], [DCG(top=100), PartialAUC(top=10)]
        assert [self.preferred(weights) for weights in long] == [1] * 4
        assert [self.preferred(weights) for weights in short] == [2] * 2

    def test_the_convex_stand_ins_disagree_too(self):
        positives, negatives = np.array([1.0, -10.0]), np.array([3.0, 0.0])
        gaps, times = positives[:, None] - negatives, np.outer([3000, 80], [10, 3000])
        hinge = [(times * np.maximum(0, 1 - sign * gaps)).sum() for sign in (1, -1)]
        exponential = [(times * np.exp(-sign * gaps)).sum() for sign in (1, -1)]
        assert hinge[0] < hinge[1]
        assert exponential[0] > exponential[1]

    def test_the_wrs_by_hand(self):
        """Each positive's rank is one more than the rows below it."""
        first = sum(range(1, 81)) + sum(range(3081, 6081))
        second = sum(range(6011, 6091)) + sum(range(11, 3011))
        assert statistic_value(self.labels == 1, self.x, "wrs") == first
        assert statistic_value(self.labels == 1, -self.x, "wrs") == second


small = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=7)


@settings(max_examples=100)
@given(small)
def test_resolved_ranks_are_the_worst_order_of_the_ties(rows):
    s, positive = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    n = len(rows)
    # Of all ranks 0..n-1 that agree with the scores, those that put the positives lowest.
    ways = [
        way for way in permutations(range(n)) if all(way[i] < way[k] for i in range(n) for k in range(n) if s[i] < s[k])
    ]
    lowest = min(sum(np.array(way)[positive]) for way in ways)
    found = resolved_ranks(positive, s)
    assert tuple(found) in ways
    assert found[positive].sum() == lowest
    for weights in (DCG(), Power(2), ReciprocalRank()):
        values = [weights.at(1 + np.array(way)[positive], n).sum() for way in ways]
        assert statistic_value(positive, s, weights, ranks="resolved") == pytest.approx(min(values))


@settings(max_examples=100)
@given(small, st.lists(st.integers(0, 5), min_size=7, max_size=7), st.sampled_from([0.0, 1.0, 2.5]))
def test_any_array_that_does_not_decrease(rows, steps, margin):
    s, positive = np.array([float(row[0]) for row in rows]), np.array([row[1] for row in rows])
    n = len(rows)
    a = np.cumsum(steps)[:n]
    gap = s[:, None] - s
    beaten = (gap >= margin if margin else gap > 0).sum(axis=1)
    assert statistic_value(positive, s, a, margin=margin) == sum(a[beaten[i]] for i in range(n) if positive[i])
    # No order is better than all positives on top, none worse than a constant score; the scale of scores is free.
    value = statistic_value(positive, s, a)
    assert a[0] * positive.sum() == statistic_value(positive, np.zeros(n), a) <= value <= a[n - positive.sum() :].sum()
    assert statistic_value(positive, 3 * s + 1, a) == value
    assert statistic_value(positive, s, a, ranks="resolved") >= value


def test_integer_and_unsigned_scores():
    assert subranks(np.array([2, 0, 1], dtype=np.uint8), margin=1).tolist() == [2, 0, 1]
    assert subranks(np.array([100, -100], dtype=np.int8), margin=1).tolist() == [1, 0]
    assert statistic_value([1, 0, 1], [True, False, True], "wrs") == 4
