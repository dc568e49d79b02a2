"""Lemma 1 and Theorem 3: the counterexample, the corrected bounds on distributions that are known."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from shortlist.theory import FiniteClass, LinearClass, top_push_bound, top_push_delta

getcontext().prec = 50


def squared_hinge(z):
    return np.maximum(0.0, 1.0 + z) ** 2


def test_the_printed_lemma_is_false():
    """All negatives at 0, all positives at 1, w = 1/2: every sample is the same, so probability plays no part."""
    m, n, w = 3, 10**5, 0.5
    delta = top_push_delta(m, n, functions=LinearClass(1, norm=w), printed=True)
    negative, positive = np.zeros(n), np.ones(m)
    h = np.mean(squared_hinge(w * 0.0 - w * positive[:, None]), axis=1)
    loss = np.mean(squared_hinge(w * negative.max() - w * positive))
    assert np.mean(h >= delta) == 1.0 and loss == 0.25
    # What the proof shows holds: the share is at most that of the positives less than 1 above all negatives.
    assert np.mean(h > delta) <= np.mean(w * positive <= w * negative.max() + 1.0)


@pytest.mark.parametrize("norm", [0.1, 0.5, 2.0])
def test_constants_that_the_proof_takes_for_others(norm):
    """The loss's range for one positive, and the norm of a difference of rows of the unit ball."""
    x = np.array([[-1.0], [1.0]])
    z = norm * (x - (-1.0))  # the positive at -1, negatives at -1 and 1
    assert np.ptp(squared_hinge(z)) == pytest.approx(4 * norm * (1 + norm))
    assert np.ptp(squared_hinge(z)) > 2 * norm and np.abs(np.diff(x, axis=0)).max() == 2
    # Seen over the whole class, a standard deviation is half of that range, and below 2 G norm.
    assert squared_hinge(z).std() <= 2 * 2 * (1 + 2 * norm) * norm


def discrete(seed, shift=1.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, 40, 2))
    rows[0, :, 0] += shift
    rows /= 1.001 * np.linalg.norm(rows, axis=2).max()
    masses = rng.dirichlet(np.ones(40), size=2)
    turn = np.linspace(-np.pi, np.pi, 61)
    return rng, rows, masses, np.stack([np.cos(turn), np.sin(turn)], axis=1)


def above(s, mass):
    """For each positive, the probability of a negative at its score or higher."""
    return (s[1][None, :] >= s[0][:, None]) @ mass


@pytest.mark.parametrize("functions", [LinearClass(2, norm=1.0), LinearClass(10**6, norm=1.0), FiniteClass(61)])
def test_positives_above_all_have_few_negatives_above_them(functions):
    """In two dimensions; the class of a million features gets the bound that does not count them."""
    rng, rows, masses, directions = discrete(0, 4.0)
    m, n, margin = 300, 5000, 0.3
    delta = top_push_delta(m, n, functions=functions, margin=margin)
    assert delta < 0.3
    seen = 0
    for _ in range(20):
        positive, negative = (rng.choice(40, size, p=p) for size, p in zip((m, n), masses, strict=True))
        for w in directions:
            s = rows @ w
            clear = s[0][positive] > s[1][negative].max() + margin
            assert (above(s, masses[1])[positive[clear]] <= delta).all()
            seen += clear.sum()
    assert seen > 100


def test_rare_negatives_do_break_a_smaller_delta():
    """One function: a negative of mass q is missed by n others with probability (1 - q)^n; delta is that q."""
    n, confidence = 50, 0.9
    q = top_push_delta(1, n, functions=FiniteClass(1), confidence=confidence)
    assert (1 - q) ** n == pytest.approx(1 - confidence)


@pytest.mark.parametrize("functions", [LinearClass(2, norm=1.0), FiniteClass(61)])
def test_all_directions_keep_the_bound(functions):
    rng, rows, masses, directions = discrete(1, 4.0)
    m, n, margin = 2000, 2000, 0.2
    closest = np.inf
    for _ in range(10):
        positive, negative = (rng.choice(40, size, p=p) for size, p in zip((m, n), masses, strict=True))
        for w in directions:
            s = rows @ w
            training = np.mean(s[0][positive] <= s[1][negative].max() + margin)
            bound = top_push_bound(training, m, n, functions=functions, margin=margin)
            truth = masses[0][above(s, masses[1]) > bound.delta].sum()
            assert truth <= bound.error + 1e-12
            closest = min(closest, bound.error)
    assert bound.delta < 0.02 and closest < 0.4  # it says something


def test_a_loss_may_stand_for_the_share():
    """l does not decrease: who does not beat the negatives by the margin pays at least l(-margin)."""
    z = np.random.default_rng(0).normal(size=1000) * 2
    for margin in (0.1, 0.5, 0.9):
        assert np.mean(z >= -margin) <= squared_hinge(z).mean() / squared_hinge(-margin)


def test_in_decimals():
    m, n, rho, d = 400, 30_000, Decimal("1.7"), 5
    t = Decimal(20).ln() + Decimal(m).ln()
    functions = LinearClass(d, norm=0.85, radius=2.0)
    G = 2 * (1 + 2 * rho)
    root = Decimal(n).sqrt()
    lemma = 4 * G * (rho + 1) / root + 5 * rho * t / (3 * n) + 2 * G * rho * (2 * t / n).sqrt()
    assert top_push_delta(m, n, functions=functions, printed=True) == pytest.approx(float(lemma), rel=1e-13)
    g = Decimal("0.6")
    free = 4 * rho / (g * root) + (t / (2 * n)).sqrt()
    assert top_push_delta(m, n, functions=LinearClass(10**7, 0.85, 2.0), margin=0.6) == pytest.approx(float(free))
    net = 1 - (-(t + d * (1 + 8 * rho / g).ln()) / n).exp()
    assert top_push_delta(m, n, functions=functions, margin=0.6) == pytest.approx(float(net), rel=1e-11)

    t = Decimal(40).ln()
    bound = top_push_bound(0.1, m, n, functions=functions, margin=0.6)
    N = d * (1 + 16 * rho / g).ln()
    assert bound.error == pytest.approx(0.1 + float(((t + N) / (2 * m)).sqrt()), rel=1e-13)
    assert bound.delta == pytest.approx(1 - math.exp(-(float(t + N) + math.log(m)) / n), rel=1e-11)

    m = 10**6
    theorem = G * rho / Decimal(m).sqrt() + ((2 * t + 2 * d * (9 * rho).ln() + d * Decimal(m).ln()) / m).sqrt()
    printed = top_push_bound(0.1, m, n, functions=functions, printed=True)
    assert printed.error == pytest.approx(0.1 + float(theorem), rel=1e-13)
    assert printed.delta == min(1, top_push_delta(m, n, functions=functions, confidence=0.975, printed=True))


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("dimension", [3, 10**6])
def test_delta_falls_and_rises(printed, dimension):
    base = {"m": 100, "n": 10**6, "norm": 1.0, "confidence": 0.9}

    def at(**changes):
        a = {**base, **changes}
        functions = LinearClass(dimension, a.pop("norm"))
        return top_push_delta(a.pop("m"), a.pop("n"), functions=functions, printed=printed, **a)

    assert at(n=2 * 10**6) < at() < at(m=200)
    assert at() < at(norm=1.5) and at() < at(confidence=0.95)
    assert at(n=10**16) < 1e-5
    assert printed or at(margin=1.1) < at() <= 1


@pytest.mark.parametrize("printed", [False, True])
def test_bounds_fall_and_rise(printed):
    base = {"training_error": 0.2, "m": 10**5, "n": 10**5, "norm": 0.5, "confidence": 0.9}

    def at(**changes):
        a = {**base, **changes}
        functions = LinearClass(3, a.pop("norm"))
        call = a.pop("training_error"), a.pop("m"), a.pop("n")
        return top_push_bound(*call, functions=functions, printed=printed, **a)

    assert 0.2 < at().error < 0.4 and at().delta < 0.3
    assert at(m=2 * 10**5).error < at().error and at(n=2 * 10**5).delta < at().delta
    assert at(n=2 * 10**5).error == at().error
    assert at(norm=0.6).error > at().error and at(norm=0.6).delta > at().delta
    assert at(confidence=0.99).error > at().error and at(confidence=0.99).delta > at().delta
    assert at(training_error=1.0).error == 1 == at(n=1).delta if printed else at(training_error=1.0).error == 1
    assert at(m=10**15).error == pytest.approx(0.2, abs=1e-5)


def test_the_corrected_bound_is_the_smaller_one():
    for d in (1, 10, 100):
        functions = LinearClass(d, norm=1.0)
        ours = top_push_bound(0.0, 10**5, 10**5, functions=functions)
        theirs = top_push_bound(0.0, 10**5, 10**5, functions=functions, printed=True)
        assert ours.error < theirs.error and ours.delta < theirs.delta


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"m": 0}, ValueError, "m must be 1 or more"),
        ({"m": 11, "printed": True}, ValueError, "m must be 12 or more, got 11"),
        ({"n": -5}, ValueError, "n must be 1 or more"),
        ({"margin": np.inf}, ValueError, "margin must be above 0 and finite"),
        ({"margin": 0.5, "printed": True}, ValueError, "margin must be 1 for the printed lemma, got 0.5"),
        ({"training_error": 1.2}, ValueError, "training_error must be at least 0 and at most 1, got 1.2"),
        ({"training_error": -1.2, "printed": True}, ValueError, "training_error must be at least 0 and finite"),
        ({"functions": FiniteClass(3), "printed": True}, TypeError, "must be a LinearClass for the printed formula"),
        ({"functions": LinearClass(2, 0.1), "printed": True}, ValueError, r"norm \* radius must be 1/9 or more"),
        ({"confidence": "high"}, TypeError, "confidence must be a number, got 'high'"),
    ],
)
def test_hostile_arguments(changes, error, message):
    call = {"training_error": 0.1, "m": 20, "n": 5, "functions": LinearClass(2, 1.0), **changes}
    with pytest.raises(error, match=message):
        top_push_bound(**call)
