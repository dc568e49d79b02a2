"""Covering numbers against covers that are built, and the norm of fits against its bound."""

import math

import numpy as np
import pytest

from shortlist import InfinitePush, TopPush
from shortlist.theory import FiniteClass, LinearClass, norm_bound


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.01, 2.0, 3.7, 10.0])
def test_intervals_cover_a_line_exactly(ratio):
    distance = 0.25
    functions = LinearClass(1, norm=ratio * distance / 2.0, radius=2.0)
    count = round(math.exp(functions.log_covering(distance)))
    width = ratio * distance  # |w x| in [-width, width]; each centre covers 2 distance
    assert (count - 1) * 2 * distance < 2 * width <= count * 2 * distance + 1e-12


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("distance", [0.3, 0.7, 0.95])
def test_a_greedy_net_is_no_larger(dimension, distance):
    """Centres taken while any point is left uncovered are more than the distance apart: the case the bound is about."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, dimension))
    points *= (rng.random(3000) ** (1 / dimension) / np.linalg.norm(points, axis=1))[:, None]
    left, centres = points, 0
    while len(left):
        left = left[np.linalg.norm(left - left[0], axis=1) > distance]
        centres += 1
    bound = LinearClass(dimension, norm=1.0).log_covering(distance)
    assert math.log(centres) <= bound
    # No cover has fewer than volumes ask for; the bound is not far from that.
    assert bound <= dimension * math.log(3 / distance)


def test_covering_numbers_fall_with_the_distance_and_rise_with_the_class():
    distances = np.geomspace(1e-3, 10, 50)
    values = [LinearClass(3, 2.0, 0.5).log_covering(x) for x in distances]
    assert (np.diff(values) <= 0).all() and values[-1] == 0
    assert LinearClass(4, 2.0, 0.5).log_covering(0.1) > LinearClass(3, 2.0, 0.5).log_covering(0.1)
    assert LinearClass(3, 2.0, 0.6).log_covering(0.1) > LinearClass(3, 2.0, 0.5).log_covering(0.1)
    # Only the product of norm and radius counts.
    assert LinearClass(3, 1.0, 1.0).log_covering(0.1) == LinearClass(3, 2.0, 0.5).log_covering(0.1)
    assert LinearClass(3, 0.0).log_covering(1e-9) == 0
    assert LinearClass(1, 1e300, 1e300).log_covering(1.0) == math.inf


def test_the_printed_covering_number_is_never_smaller_where_a_net_is_needed():
    for e in np.linspace(0.01, 0.999, 50):
        assert LinearClass(5, norm=1.0).log_covering(e) <= 5 * math.log(9 / e)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_fits_have_the_norm_that_is_claimed(C):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3 == 0
    X = rng.uniform(-1, 1, size=(300, 3)) + np.where(y, 2.0, 0.0)[:, None]
    for model, at_zero in (
        (TopPush(C=C), 1.0),
        (TopPush(C=C, loss="logistic"), math.log(2)),
        (InfinitePush(C=C), 1.0),
    ):
        assert 0 < np.linalg.norm(model.fit(X, y).coef_) <= norm_bound(C, loss_at_zero=at_zero)


def test_the_norm_is_nearly_attained():
    """Hinge, one positive and one negative 1/sqrt(C) apart: w = sqrt(C), against sqrt(2 C)."""
    C = 2.0
    X, y = np.array([[0.0], [1.0 / math.sqrt(C)]]), np.array([0, 1])
    w = InfinitePush(C=C, tol=1e-10).fit(X, y).coef_.item()
    assert w == pytest.approx(math.sqrt(C), rel=1e-4)
    assert w <= norm_bound(C) <= 1.001 * math.sqrt(2) * w


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FiniteClass(0), ValueError, "size must be 1 or more, got 0"),
        (lambda: FiniteClass(2.0), TypeError, "size must be a whole number"),
        (lambda: FiniteClass(2).log_covering(0.0), ValueError, "distance must be above 0"),
        (lambda: LinearClass(0, 1.0), ValueError, "dimension must be 1 or more"),
        (lambda: LinearClass(True, 1.0), TypeError, "dimension must be a whole number"),
        (lambda: LinearClass(2, -1.0), ValueError, "norm must be at least 0 and finite, got -1"),
        (lambda: LinearClass(2, math.nan), ValueError, "norm must be at least 0 and finite, got nan"),
        (lambda: LinearClass(2, 1.0, math.inf), ValueError, "radius must be at least 0 and finite, got inf"),
        (lambda: LinearClass(2, "1"), TypeError, "norm must be a number, got '1'"),
        (lambda: LinearClass(2, 1.0).log_covering(-1.0), ValueError, "distance must be above 0 and finite, got -1"),
        (lambda: norm_bound(0.0), ValueError, "C must be above 0"),
        (lambda: norm_bound(1.0, loss_at_zero=0.0), ValueError, "loss_at_zero must be above 0"),
    ],
)
def test_hostile_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
