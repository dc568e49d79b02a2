"""Theorem 5.1: its counterexample in full, the corrected bound on distributions that are known."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from shortlist.theory import FiniteClass, LinearClass, infinite_push_bound, infinite_push_failure

getcontext().prec = 50


def errors(scores_positive, mass_positive, scores_negative, margin):
    """For each negative, the probability of a positive that does not beat it by the margin (ties beat at 0)."""
    return (scores_positive[:, None] - scores_negative[None, :] < margin).T @ mass_positive


def easy(scores_positive, mass_positive, scores_negative, mass_negative, margin, slack):
    e = errors(scores_positive, mass_positive, scores_negative, margin)
    return mass_negative[e < e.max() - slack].sum()


@pytest.mark.parametrize(("k", "p"), [(2, 0.1), (10, 0.1), (50, 0.02)])
def test_the_printed_theorem_is_false_and_the_corrected_one_is_not(k, p):
    margin, excess, n, m = 1.0, 0.5, 1, 10**6
    tiny = excess * margin / 8
    positive, sure = np.zeros(1), np.ones(1)
    mass = np.append(np.full(k, (1 - p) / k), p)
    # Function j puts negative j at -margin, the others just above; the rare one is above all positives.
    table = np.full((k, k + 1), -margin + tiny)
    np.fill_diagonal(table, -margin)
    table[:, -1] = tiny
    assert np.ptp(table, axis=0).max() <= tiny  # one ball covers the class
    truth = [errors(positive, sure, row, 0.0).max() for row in table]
    event = 0.0
    for drawn in range(k + 1):
        training = [errors(positive, sure, row[drawn : drawn + 1], margin).max() for row in table]
        event += mass[drawn] * any(r > e + excess for r, e in zip(truth, training, strict=True))
    assert event == pytest.approx(1 - p)

    call = {"margin": margin, "functions": FiniteClass(1)}
    share = max(easy(positive, sure, row, mass, margin, excess / 4) for row in table)
    assert share == pytest.approx((1 - p) / k)
    assert infinite_push_failure(excess, m, n, easy_share=share, printed=True, **call) < 0.51 * event
    share = max(easy(positive, sure, row, mass, margin / 2, excess / 2) for row in table)
    assert infinite_push_failure(excess, m, n, easy_share=share, **call) >= event - 1e-12


def discrete(seed):
    """Forty positives and forty negatives of the unit disc with random masses, and directions to score them by."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, 40, 2))
    rows[0, :, 0] += 2.0
    rows /= 1.001 * np.linalg.norm(rows, axis=2).max()
    masses = rng.dirichlet(np.ones(40), size=2)
    turn = np.linspace(-np.pi, np.pi, 61)
    directions = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return rng, rows, masses, directions


def test_how_often_a_single_function_fails():
    rng, rows, masses, _ = discrete(0)
    s, m, n, margin, excess = rows[:, :, 0], 200, 30, 0.02, 0.2
    truth = errors(s[0], masses[0], s[1], 0.0).max()
    share = easy(s[0], masses[0], s[1], masses[1], margin / 2, excess / 2)
    bound = infinite_push_failure(excess, m, n, margin=margin, functions=FiniteClass(1), easy_share=share)
    assert 0.01 < bound < 0.9
    bad = 0
    for _ in range(500):
        positive, negative = (rng.choice(40, size, p=p) for size, p in zip((m, n), masses, strict=True))
        bad += truth > errors(s[0][positive], np.full(m, 1 / m), s[1][negative], margin).max() + excess
    assert bad / 500 <= bound


@pytest.mark.parametrize("functions", [LinearClass(2, norm=1.0), FiniteClass(61)])
def test_all_directions_keep_the_bound(functions):
    rng, rows, masses, directions = discrete(1)
    m, n, margin = 1500, 800, 0.2
    nothing = infinite_push_bound(0.0, m, n, margin=margin, functions=functions)
    assert nothing.error < 0.1 and nothing.share < 0.02
    closest = np.inf
    for _ in range(10):
        positive, negative = (rng.choice(40, size, p=p) for size, p in zip((m, n), masses, strict=True))
        for w in directions:
            s = rows @ w
            # Ties are errors here: no more than the margin in training, no more than 0 in truth.
            training = np.mean(s[0][positive] - s[1][negative].max() <= margin)
            bound = infinite_push_bound(training, m, n, margin=margin, functions=functions)
            e = (s[0][:, None] <= s[1][None, :]).T @ masses[0]
            assert masses[1][e > bound.error + 1e-12].sum() <= bound.share
            closest = min(closest, bound.error - e.max())
    assert closest < 0.2  # the bound says something


@pytest.mark.parametrize(("m", "n", "balls"), [(2000, 300, 1), (50, 100_000, 40)])
def test_in_decimals(m, n, balls):
    e, g, share = Decimal("0.15"), Decimal("0.4"), Decimal("0.97")
    call = {"margin": float(g), "functions": FiniteClass(balls), "easy_share": float(share)}
    corrected = balls * (n * (-m * e * e / 2).exp() + share**n)
    printed = balls * (2 * n * (-m * e * e / 8).exp() + share**n)
    for value, expected in (
        (infinite_push_failure(float(e), m, n, **call), corrected),
        (infinite_push_failure(float(e), m, n, printed=True, **call), printed),
    ):
        assert value == pytest.approx(float(min(expected, Decimal(1))), rel=1e-11)


def test_which_radius_is_asked_for():
    class Asked(FiniteClass):
        def log_covering(self, distance):
            distances.append(distance)
            return 0.0

    distances = []
    for printed in (False, True):
        infinite_push_failure(0.5, 10, 10, margin=0.8, functions=Asked(1), easy_share=0.5, printed=printed)
    infinite_push_bound(0.5, 10, 10, margin=0.8, functions=Asked(1))
    assert distances == [0.2, 0.05, 0.2]


def test_the_computable_bound_splits_the_failure_in_two():
    m, n, functions = 3000, 700, LinearClass(3, norm=2.0)
    bound = infinite_push_bound(0.0, m, n, margin=0.3, functions=functions, confidence=0.9)
    log_balls = functions.log_covering(0.075)
    assert math.exp(log_balls + math.log(n) - 2 * m * bound.error**2) == pytest.approx(0.05)
    assert math.exp(log_balls + n * math.log1p(-bound.share)) == pytest.approx(0.05)


@pytest.mark.parametrize("printed", [False, True])
def test_failures_fall_and_rise(printed):
    base = {"excess": 0.3 if printed else 0.15, "m": 3000, "n": 2000, "margin": 0.5, "norm": 1.0, "easy_share": 0.97}

    def at(**changes):
        a = {**base, **changes}
        functions = LinearClass(2, a.pop("norm"))
        return infinite_push_failure(a.pop("excess"), a.pop("m"), a.pop("n"), functions=functions, printed=printed, **a)

    assert 0 < at() < 1
    assert at(m=4000) < at() and at(excess=base["excess"] + 0.01) < at() and at(margin=0.6) < at()
    assert at(norm=1.5) > at() and at(easy_share=0.98) > at()
    assert at(n=3000, m=10**6) < at(m=10**6)
    assert at(m=10**9, easy_share=0.0) == 0 and at(easy_share=1.0) == 1
    assert at(norm=1e300) == 1


def test_bounds_fall_and_rise():
    base = {"training_error": 0.2, "m": 3000, "n": 2000, "margin": 0.5, "norm": 1.0, "confidence": 0.9}

    def at(**changes):
        a = {**base, **changes}
        functions = LinearClass(2, a.pop("norm"))
        return infinite_push_bound(a.pop("training_error"), a.pop("m"), a.pop("n"), functions=functions, **a)

    assert at(m=4000).error < at().error and at(m=4000).share == at().share
    assert at(n=4000).share < at().share and at(n=4000).error > at().error
    assert at(margin=0.6).error < at().error and at(margin=0.6).share < at().share
    assert at(norm=1.5).error > at().error and at(norm=1.5).share > at().share
    assert at(confidence=0.99).error > at().error and at(confidence=0.99).share > at().share
    assert at(training_error=1.0).error == 1 == at(m=1).error
    assert at(m=10**15).error == pytest.approx(0.2, abs=1e-6)
    assert at(n=10**15).share < 1e-13


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"excess": 0.0}, ValueError, "excess must be above 0 and at most 1, got 0"),
        ({"excess": 1.5}, ValueError, "excess must be above 0 and at most 1"),
        ({"m": 0}, ValueError, "m must be 1 or more"),
        ({"n": 1.5}, TypeError, "n must be a whole number"),
        ({"margin": 0.0}, ValueError, "margin must be above 0"),
        ({"easy_share": 1.1}, ValueError, "easy_share must be at least 0 and at most 1, got 1.1"),
    ],
)
def test_hostile_arguments(changes, error, message):
    call = {"excess": 0.1, "m": 5, "n": 5, "margin": 0.1, "functions": FiniteClass(1), "easy_share": 0.5, **changes}
    with pytest.raises(error, match=message):
        infinite_push_failure(**call)
    if "excess" not in changes and "easy_share" not in changes:
        del call["excess"], call["easy_share"]
        with pytest.raises(error, match=message):
            infinite_push_bound(0.1, **call)


def test_hostile_training_error():
    with pytest.raises(ValueError, match="training_error must be at least 0 and at most 1, got 2"):
        infinite_push_bound(2, 5, 5, margin=0.1, functions=FiniteClass(1))
