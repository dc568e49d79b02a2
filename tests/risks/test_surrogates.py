"""Surrogates against numerical derivatives, the definition of the conjugate, and Fenchel and Young."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from shortlist.risks.surrogates import SURROGATES, surrogate

ALL = pytest.mark.parametrize("loss", SURROGATES.values(), ids=str)
quick = settings(max_examples=200, deadline=None, derandomize=True)
REALS = st.floats(-30, 30).map(lambda z: round(z, 6))
GRID = np.linspace(-8, 8, 641)


@ALL
def test_convex_and_non_decreasing(loss):
    values = loss.value(GRID)
    assert (np.diff(values) >= 0).all()
    assert (np.diff(values, 2) >= -1e-10).all()


@ALL
def test_at_least_the_step(loss):
    scale = np.log(2) if loss.name == "logistic" else 1.0
    assert (loss.value(GRID) / scale >= (GRID >= 0)).all()


@ALL
def test_derivatives(loss):
    z = GRID[np.abs(GRID + 1) > 1e-3]
    h = 1e-6
    slope = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(z), slope, rtol=1e-6, atol=1e-7)
    curvature = (loss.derivative(z + h) - loss.derivative(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.second_derivative(z), curvature, rtol=1e-6, atol=1e-7)


def test_at_the_kink_the_right_derivative():
    kink = np.array([-1.0])
    assert surrogate("hinge").derivative(kink) == 1
    assert surrogate("hinge").second_derivative(kink) == 0
    assert surrogate("squared_hinge").derivative(kink) == 0
    assert surrogate("squared_hinge").second_derivative(kink) == 2


@ALL
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.98])
def test_conjugate_is_the_supremum(loss, share):
    a = share if np.isfinite(loss.dual_upper) else 4 * share
    result = minimize_scalar(
        lambda z: float(loss.value(np.array(z)) - a * z),
        bounds=(-60, 60),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert float(loss.conjugate(np.array([a]))[0]) == pytest.approx(-result.fun, abs=1e-6)


@ALL
@quick
@given(z=REALS, share=st.floats(0, 1))
def test_fenchel_young(loss, z, share):
    a = share if np.isfinite(loss.dual_upper) else 10 * share
    z, a = np.array([z]), np.array([a])
    slack = (loss.value(z) + loss.conjugate(a) - a * z)[0]
    assert slack >= -1e-9 * (1 + abs(float(a[0] * z[0])))
    # Equality where a is the slope at z.
    value, slope = loss.value(z), loss.derivative(z)
    equality = (value + loss.conjugate(slope) - slope * z)[0]
    assert equality == pytest.approx(0, abs=1e-9 * (1 + float(np.abs(value * z).max())))


@ALL
def test_conjugate_is_finite_exactly_on_its_domain(loss):
    top = loss.dual_upper
    outside = [-1e-9, -5.0] + ([top + 1e-9, 7.0] if np.isfinite(top) else [])
    inside = [0.0, 0.5, top if np.isfinite(top) else 100.0]
    assert np.isposinf(loss.conjugate(np.array(outside))).all()
    assert np.isfinite(loss.conjugate(np.array(inside))).all()
    assert loss.conjugate(np.array([0.0]))[0] == 0


@ALL
def test_smooth_means_a_continuous_slope(loss):
    jump = np.abs(np.diff(loss.derivative(np.linspace(-1.001, -0.999, 201)))).max()
    assert (jump < 1e-3) == loss.smooth


@ALL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_input_not_changed(loss, dtype):
    z = np.linspace(-3, 3, 13).astype(dtype)
    a = np.linspace(0, 1, 13).astype(dtype)
    z_before, a_before = z.copy(), a.copy()
    for method, argument in (
        (loss.value, z),
        (loss.derivative, z),
        (loss.second_derivative, z),
        (loss.conjugate, a),
    ):
        result = method(argument)
        assert result.dtype == dtype
        assert result.shape == argument.shape
    np.testing.assert_array_equal(z, z_before)
    np.testing.assert_array_equal(a, a_before)


@ALL
@pytest.mark.filterwarnings("error")
def test_extreme_arguments_are_silent_and_defined(loss):
    z = np.array([-1e300, -800.0, 0.0, 800.0])
    for values in (loss.value(z), loss.derivative(z), loss.second_derivative(z)):
        assert not np.isnan(values).any()
        assert (values[:2] == 0).all()
    if loss.name == "logistic":
        assert loss.value(z)[3] == 800
    if loss.name == "exponential":
        assert np.isposinf(loss.value(z)[3])


def test_lookup():
    assert surrogate("hinge") is SURROGATES["hinge"]
    assert repr(surrogate("hinge")) == "surrogate('hinge')"
    for wrong in ("square", None, ["hinge"]):
        with pytest.raises(ValueError, match=r"loss must be one of .*'exponential', 'hinge'"):
            surrogate(wrong)
