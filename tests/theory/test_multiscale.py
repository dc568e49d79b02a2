"""Rates against slopes of the bounds, the formulas again in decimals, fits of data whose truth is known."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from shortlist.theory import best_multiscale_rate, multiscale_bound, multiscale_covering_bound, multiscale_rate

getcontext().prec = 60


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("s", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_no_epsilon_is_faster(beta, s, printed):
    epsilon, rate = best_multiscale_rate(beta, s, printed=printed)
    assert rate == pytest.approx(beta * epsilon)
    grid = np.linspace(1e-3, 1.0, 2000)
    assert max(multiscale_rate(e, beta, s, printed=printed) for e in grid) <= rate + 1e-12


def test_remark_2():
    """The printed remark has 12 + 7 s where its own formula gives 12 + 5 s, and a rate that belongs to s = 0."""
    for s in (0.0, 0.3, 1.0):
        epsilon, rate = best_multiscale_rate(1.0, s, printed=True)
        assert epsilon == rate == pytest.approx(2 / (12 + 5 * s))
        assert best_multiscale_rate(1.0, s)[1] > rate
    at = 2 / 19
    assert min(at, 1 / 3 - 11 / 6 * at) < 2 / 17 < 1 / 6
    assert best_multiscale_rate(1.0, printed=True)[1] == pytest.approx(1 / 6)
    assert best_multiscale_rate(1.0) == (0.25, 0.25)


@pytest.mark.parametrize("s", [0.2, 1.0])
@pytest.mark.parametrize(("epsilon", "beta"), [(0.1, 1.0), (0.2, 0.3), (0.3, 1.0), (0.45, 0.8), (0.3, 0.9)])
def test_rates_are_slopes(epsilon, beta, s):
    """Of the bounds, printed Theorem 2 included: it is Theorem 3 that loses something."""

    def slope(bound):
        logs = [math.log(bound(10**power)) for power in (80, 90)]
        return (logs[0] - logs[1]) / math.log(10**10)

    def arguments(m):
        C = float(m) ** epsilon / 2
        return {"C": C, "m": m, "label_range": 1.0, "approximation": min(0.5, 0.3 * (2 * C) ** -beta)}

    given = {"scales": [0.5, 1.0], "dimension": 2, "complexity": 1.0, "s": s}
    rate = multiscale_rate(epsilon, beta, s)
    for printed in (False, True):
        found = slope(lambda m, printed=printed: multiscale_covering_bound(**arguments(m), **given, printed=printed))
        assert found == pytest.approx(rate, abs=2e-3)
    free = slope(lambda m: multiscale_bound(**arguments(m)))
    assert free == pytest.approx(multiscale_rate(epsilon, beta), abs=2e-3)
    assert multiscale_rate(epsilon, beta, s, printed=True) <= rate


def test_in_decimals():
    C, m, M, D, failure = Decimal("0.7"), Decimal(4001), Decimal(3), Decimal("0.9"), Decimal("0.1")
    v = [Decimal(1), Decimal(4), Decimal(2)]
    A, t = sum(1 / x for x in v), (2 / failure).ln()
    gamma = m / (2 * C * (m - 1))
    R = M / gamma.sqrt()
    r = R * A.sqrt()
    M1, M2 = (M + 2 * (A * D / gamma).sqrt()) ** 2, (M + 2 * r) ** 2
    spread = M1 * (2 * t / m).sqrt()
    call = {"C": 0.7, "m": 4001, "label_range": 3.0, "approximation": 0.9, "v": [1, 4, 2], "confidence": 0.9}
    expected = 4 * (M + 2 * r) * r * (Decimal(2) / 2000).sqrt() + spread + M2 * (2 * t / m).sqrt() + D
    assert multiscale_bound(**call) == pytest.approx(float(expected), rel=1e-12)

    scales, d, s, K = [Decimal("0.5"), Decimal(1), Decimal(3)], 2, Decimal("0.5"), Decimal("1.5")
    narrow = [(2 * x * x) ** -(d + 1) for x in scales]
    L = 2 * M + 4 * r
    c1 = 8 * M2**2 / m * (K * sum(narrow) + t)
    c2 = 8 * M2**2 / m * K * sum((8 * 3 * L * R / x.sqrt()) ** s for x in v)
    expected = spread + max((2 * c1).sqrt(), (2 * c2) ** (1 / (2 + s))) + D
    call |= {"scales": [0.5, 1, 3], "dimension": 2, "s": 0.5, "complexity": 1.5}
    assert multiscale_covering_bound(**call) == pytest.approx(float(expected), rel=1e-12)

    one = (1 / failure).ln()
    M1, L = (M + 2 * (3 * D / gamma).sqrt()) ** 2, 2 * M + 4 * R
    first = 2 * M2 * ((K * 3 * narrow[0] + one) / m).sqrt()
    second = (4 * 3 * L * R) ** (s / (2 + s)) * (4 * K * 3 * M2**2 / m) ** (1 / (2 + s))
    expected = M1 * (2 * one / m).sqrt() + max(first, second) + D
    assert multiscale_covering_bound(**call, printed=True) == pytest.approx(float(expected), rel=1e-12)


def test_the_maximum_bounds_the_root():
    """x^(2+s) = c1 x^s + c2 has its root below max(sqrt(2 c1), (2 c2)^(1/(2+s)))."""
    rng = np.random.default_rng(0)
    for c1, c2, s in np.exp(rng.normal(size=(50, 3)) * 3):
        x = max(math.sqrt(2 * c1), (2 * c2) ** (1 / (2 + s)))
        assert 1 <= (x**2 / (c1 + c2 * x**-s)) * (1 + 1e-12) < 3


def test_scores_in_the_ball_of_a_sum_space():
    """l equal kernels: the function R/sqrt(l) sum_t K_t(x, .) has norm R and reaches R sqrt(l), not R."""
    count, R = 4, 1.5
    norm = math.sqrt(sum((R / math.sqrt(count)) ** 2 for _ in range(count)))
    reached = sum(R / math.sqrt(count) * 1.0 for _ in range(count))
    assert (norm, reached) == (R, R * math.sqrt(count))
    # The bound knows: four kernels of weight 1 are one kernel of four times the size, not one of the same.
    given = {"label_range": 1.0, "approximation": 0.1}
    assert multiscale_bound(0.1, 1000, v=np.ones(4), **given) > multiscale_bound(0.1, 1000, **given)


def test_how_far_a_centre_may_be():
    """At distance e from its centre the truth moves by 2 L e and the training risk by as much the other way."""
    M, e = 1.0, 1e-6
    # Labels and scores at opposite ends: truth on one kind of pair, training on the other.
    truth = [(-M - (f + e) * 2) ** 2 for f in (0.0, -e)]
    training = [(M - (f + e) * 2) ** 2 for f in (0.0, -e)]
    moved = abs((truth[0] - training[0]) - (truth[1] - training[1]))
    L = 2 * M  # the scores are near 0
    assert moved == pytest.approx(4 * L * e, rel=1e-4)


def gaussians(a, b, scales, v):
    square = ((a[:, None] - b[None, :]) ** 2).sum(axis=2)
    return sum(np.exp(-square / (2 * x * x)) / w for x, w in zip(scales, v, strict=True))


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_fits_keep_the_bound(C):
    """Labels 0 or 1 on a thousand places, with a regression function of the space and of known norm."""
    rng = np.random.default_rng(0)
    scales, v, m = [0.3, 1.5], [1.0, 2.0], 300
    places = rng.uniform(-1, 1, size=(400, 2))
    K = gaussians(places, places, scales, v)
    centre = gaussians(places, places[:1], scales, v)[:, 0]
    f = 0.1 + 0.5 * centre  # the constant costs nothing: pairs do not see it
    norm = 0.5 * math.sqrt(K[0, 0])
    assert f.min() >= 0 and f.max() <= 1
    gamma = m / (2 * C * (m - 1))
    approximation = min(0.5, gamma * norm**2)
    bound = multiscale_bound(C, m, label_range=1.0, approximation=approximation, v=v)
    largest = 0.0
    for _ in range(20):
        rows = rng.integers(400, size=m)
        y = (rng.random(m) < f[rows]).astype(float)
        H = np.eye(m) - 1 / m
        dual = np.linalg.solve(H @ K[np.ix_(rows, rows)] + m / (4 * C) * np.eye(m), H @ y)
        fitted = K[:, rows] @ dual
        # E(f) - E(f*) is twice the variance of the difference from the regression function.
        largest = max(largest, 2 * np.var(fitted - f))
        assert math.sqrt(dual @ K[np.ix_(rows, rows)] @ dual) <= 1 / math.sqrt(gamma)
    assert 0 < largest <= bound


def test_bounds_fall_and_rise():
    base = {"C": 0.5, "m": 1000, "label_range": 1.0, "approximation": 0.1, "v": [1.0, 2.0], "confidence": 0.9}
    extra = {"scales": [0.5, 1.0], "dimension": 3, "complexity": 2.0, "s": 0.5}
    for function, given in (
        (multiscale_bound, {}),
        (multiscale_covering_bound, extra),
        (multiscale_covering_bound, extra | {"printed": True}),
    ):

        def at(function=function, given=given, **changes):
            return function(**{**base, **given, **changes})

        assert at(m=1002) < at() and at(C=0.4) < at() and at(approximation=0.05) < at()
        assert at(label_range=1.1) > at() and at(confidence=0.99) > at()
        assert at(v=[1.0, 3.0]) < at()
        assert at(m=10**18) == pytest.approx(0.1, abs=1e-3)
        assert at(C=1e200, m=10) >= at(C=1e100, m=10) > 1e100
        if given:
            assert at(complexity=3.0) > at() and at(scales=[0.3, 1.0]) > at()
            assert at(scales=[1e-300, 1.0]) == math.inf


def test_without_weights_all_kernels_count_the_same():
    given = {"label_range": 1.0, "approximation": 0.1, "scales": [1.0, 2.0], "dimension": 1, "complexity": 1.0}
    assert multiscale_covering_bound(0.1, 50, **given) == multiscale_covering_bound(0.1, 50, v=[1, 1], **given)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"C": -1.0}, ValueError, "C must be above 0"),
        ({"m": 1}, ValueError, "m must be 2 or more"),
        ({"label_range": 0.0}, ValueError, "label_range must be above 0"),
        ({"approximation": 0.6}, ValueError, "approximation is 0.6, more than label_range.* = 0.5"),
        ({"v": [2.0, 3.0]}, ValueError, "v must hold one weight for each kernel, the smallest of them 1"),
        ({"v": []}, ValueError, "v must hold one weight for each kernel"),
        ({"v": [1.0, np.nan]}, ValueError, "v must be above 0 and finite, got nan"),
        ({"confidence": 1.0}, ValueError, "confidence must be below 1"),
    ],
)
def test_hostile_arguments(changes, error, message):
    call = {"C": 1.0, "m": 10, "label_range": 1.0, "approximation": 0.1, "v": [1.0, 1.0], **changes}
    with pytest.raises(error, match=message):
        multiscale_bound(**call)
    with pytest.raises(error, match=message):
        multiscale_covering_bound(**call, scales=[1.0, 2.0], dimension=1, complexity=1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scales": []}, "scales is empty"),
        ({"scales": [1.0, 0.0]}, "scales must be above 0"),
        ({"v": [1.0]}, "v has 1 weights for 2 scales"),
        ({"dimension": 0}, "dimension must be 1 or more"),
        ({"complexity": 0.0}, "complexity must be above 0"),
        ({"s": 0.0}, "s must be above 0"),
    ],
)
def test_hostile_kernels(changes, message):
    call = {"scales": [1.0, 2.0], "dimension": 1, "complexity": 1.0, **changes}
    with pytest.raises(ValueError, match=message):
        multiscale_covering_bound(1.0, 10, label_range=1.0, approximation=0.1, **call)


@pytest.mark.parametrize(("epsilon", "beta", "s"), [(0, 0.5, 1.0), (0.1, 0, 1.0), (0.1, 1.1, 1.0), (0.1, 1.0, -1.0)])
def test_hostile_rates(epsilon, beta, s):
    with pytest.raises(ValueError, match="must be"):
        multiscale_rate(epsilon, beta, s)
