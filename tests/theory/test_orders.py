"""A list of clumps and its reverse: closed forms against every row and every pair."""

import numpy as np
import pytest

from shortlist.statistics import DCG, PartialAUC, ReciprocalRank, WilcoxonRankSum, WinnerTakesAll
from shortlist.theory import clump_losses, clump_statistics

SIZES, POSITIVE = [10, 3000, 3000, 80], [False, True, False, True]
POSITIONS = [3.0, 1.0, 0.0, -10.0]


def hinge(z):
    return np.maximum(0.0, 1.0 + z)


@pytest.mark.parametrize("seed", range(5))
def test_clumps_row_by_row(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 4).tolist()
    positive = [bool(x) for x in rng.permutation([True, True, False, False])]
    labels = np.repeat(positive, sizes)
    n = len(labels)
    a = np.sort(rng.random(n))
    expected = [sum(a[n - 1 - place] for place in range(n) if order[place]) for order in (labels, labels[::-1])]
    np.testing.assert_allclose(clump_statistics(sizes, positive, a), expected, rtol=1e-12)

    positions = rng.normal(size=4)
    s = np.repeat(positions, sizes)
    for loss in (hinge, np.exp):
        expected = [
            np.mean([loss(t[j] - t[i]) for i in np.flatnonzero(labels) for j in np.flatnonzero(~labels)])
            for t in (s, -s)
        ]
        np.testing.assert_allclose(clump_losses(sizes, positive, positions.tolist(), loss), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "listed"),
    [
        (WilcoxonRankSum(), True),
        (PartialAUC(top=100), True),
        (DCG(), True),
        (ReciprocalRank(), True),
        (DCG(top=100), False),
        (PartialAUC(top=10), False),
        (WinnerTakesAll(), False),
    ],
)
def test_theorem_1(weights, listed):
    values = clump_statistics(SIZES, POSITIVE, weights.array(sum(SIZES)))
    assert (values[0] > values[1]) == listed and values[0] != values[1]


@pytest.mark.parametrize(("loss", "listed"), [(hinge, True), (np.exp, False), (lambda z: hinge(z) ** 2, True)])
def test_theorem_1_for_losses(loss, listed):
    values = clump_losses(SIZES, POSITIVE, POSITIONS, loss)
    assert (values[0] < values[1]) == listed


def test_when_the_rank_sum_changes_sides():
    """b c against a b + a d + c d, over all small lists."""
    seen = set()
    for a, b, c, d in np.ndindex(3, 4, 4, 3):
        a, b, c, d = a + 1, b + 1, c + 1, d + 1
        listed, turned = clump_statistics([a, b, c, d], POSITIVE, np.arange(1, a + b + c + d + 1))
        sign = np.sign(b * c - (a * b + a * d + c * d))
        assert np.sign(listed - turned) == sign
        seen.add(int(sign))
    assert seen == {-1, 0, 1}


def test_the_distance_that_turns_the_exponential_loss():
    """The theorem needs its 80 positives far away: near by, the exponential loss agrees with the hinge."""
    listed, turned = clump_losses(SIZES, POSITIVE, [3.0, 1.0, 0.0, -1.0], np.exp)
    assert listed < turned


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 0], [True, False], [0, 1]), ValueError, "sizes must be 1 or more, got 0"),
        (([1, 1.5], [True, False], [0, 1]), TypeError, "sizes must be a whole number"),
        (([], [], []), ValueError, "not empty"),
        (([1, 1], [True], [0, 1]), ValueError, "of equal length"),
        (([1, 1], [1, 0], [0, 1]), ValueError, "positive must hold booleans"),
        (([1, 1], [True, False], [0, 1, 2]), ValueError, "one number for each of the 2 rows"),
        (([1, 1], [True, False], [0, np.inf]), ValueError, "weights must be finite"),
    ],
)
def test_hostile_statistics(arguments, error, message):
    with pytest.raises(error, match=message):
        clump_statistics(*arguments)


@pytest.mark.parametrize(
    ("positive", "positions", "message"),
    [
        ([True, False], [0.0], "positions must hold one number for each of the 2 clumps, got 1"),
        ([True, False], [0.0, np.nan], "positions must be at least -inf and finite, got nan"),
        ([True, True], [0.0, 1.0], "needs positives and negatives"),
        ([False, False], [0.0, 1.0], "needs positives and negatives"),
    ],
)
def test_hostile_losses(positive, positions, message):
    with pytest.raises(ValueError, match=message):
        clump_losses([1, 2], positive, positions, np.exp)
