"""The quantile threshold: its root, derivatives and dual."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.risks.quantile import PatMatRisk, SmoothedHinge, inverse, quantile_violation
from shortlist.risks.surrogates import SURROGATES, Hinge, Surrogate, surrogate

LOSSES = sorted(SURROGATES)
SMOOTH = [name for name in LOSSES if name != "hinge"]


def problem(seed, loss, tau=0.2, theta=1.0, n=30, n_groups=3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    groups = rng.integers(n_groups, size=n)
    y[:n_groups], groups[:n_groups] = True, np.arange(n_groups)
    y[n_groups : 2 * n_groups], groups[n_groups : 2 * n_groups] = False, np.arange(n_groups)
    weights = rng.integers(1, 4, size=n).astype(float)
    risk = PatMatRisk.from_labels(y, surrogate(loss), tau, theta=theta, groups=groups, sample_weight=weights)
    return risk, rng


@pytest.mark.parametrize("loss", [*LOSSES, "smoothed_hinge"])
@pytest.mark.parametrize("tau", [1e-6, 0.05, 0.9, 3.0])
@pytest.mark.parametrize("theta", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
def test_the_constraint_is_active_at_the_threshold(loss, tau, theta, scale):
    risk, rng = problem(1, "hinge" if loss == "smoothed_hinge" else loss, tau, theta)
    if loss == "smoothed_hinge":
        risk = risk.with_surrogate(SmoothedHinge(0.1))
    scores = scale * rng.standard_normal(30)
    for start in (None, np.full(3, -1e4), np.full(3, 1e4)):
        t = risk.thresholds(scores, start)
        z = theta * (scores[risk.top.negatives] - t[risk.top.negative_groups])
        level = np.bincount(risk.top.negative_groups, weights=risk.shares * risk.surrogate.value(z))
        # A score of size s carries an error of eps * s, the loss its slope times that.
        np.testing.assert_allclose(level, tau, rtol=1e-9, atol=1e-14 * (1 + theta * scale) * (1 + tau))


def test_the_surrogate_bounds_the_share_of_negatives_above():
    for loss in LOSSES:
        risk, rng = problem(2, loss, tau=0.3)
        scores = 10 * rng.standard_normal(30)
        over = scores[risk.top.negatives] >= risk.thresholds(scores)[risk.top.negative_groups]
        share = np.bincount(risk.top.negative_groups, weights=risk.shares * over)
        assert np.all(share <= 0.3 / float(surrogate(loss).value(np.zeros(1))[0]) + 1e-12)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("theta", [0.5, 2.0])
def test_derivatives_agree_with_differences(loss, theta):
    risk, rng = problem(3, loss, theta=theta)
    scores, v = rng.standard_normal(30), rng.standard_normal(30)
    point = risk.at(scores)
    assert point.value == pytest.approx(risk.value(scores), rel=1e-12)
    h = 1e-6
    slope = (risk.value(scores + h * v) - risk.value(scores - h * v)) / (2 * h)
    assert float(point.gradient @ v) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    bend = (risk.at(scores + h * v).gradient - risk.at(scores - h * v).gradient) / (2 * h)
    np.testing.assert_allclose(risk.hessian_product(point, v), bend, rtol=1e-4, atol=1e-6)
    # The same Hessian as a scatter: h_k (v_k - mean_g(k))^2.
    top = risk.top
    mean = np.bincount(top.negative_groups, weights=point.pull * v[top.negatives])
    scatter = point.curvature[top.positives] @ (v[top.positives] - mean[top.positive_groups]) ** 2
    scatter += point.curvature[top.negatives] @ (v[top.negatives] - mean[top.negative_groups]) ** 2
    assert float(v @ risk.hessian_product(point, v)) == pytest.approx(float(scatter), rel=1e-10)


def test_the_smoothed_hinge_is_a_loss_of_its_own():
    loss = SmoothedHinge(0.25)
    z = np.linspace(-2, 2, 4001)
    hinge = Hinge().value(z)
    value, slope = loss.value(z), loss.derivative(z)
    assert np.all(value <= hinge + 1e-15)
    assert np.all(value >= hinge - 0.125 - 1e-15)
    np.testing.assert_allclose(np.gradient(value, z)[1:-1], slope[1:-1], atol=3e-3)
    assert set(np.unique(loss.second_derivative(z))) == {0.0, 4.0}
    np.testing.assert_allclose(loss.conjugate(slope), slope * z - value, atol=1e-14)
    assert np.isinf(loss.conjugate(np.array([-0.1, 1.1]))).all()


@pytest.mark.parametrize("loss", [*(SURROGATES.values()), SmoothedHinge(0.3)], ids=lambda s: s.name)
@pytest.mark.parametrize("y", [1e-9, 0.1, 1.0, 50.0])
def test_inverse(loss, y):
    z = inverse(loss, np.array([y]))
    np.testing.assert_allclose(loss.value(z), y, rtol=1e-6)


def test_an_unknown_loss_is_named():
    class Odd(Hinge):
        name = "odd"

    risk, _ = problem(0, "hinge")
    odd: Surrogate = Odd()
    with pytest.raises(ValueError, match="'odd' has no inverse"):
        inverse(odd, np.ones(1))
    with pytest.raises(ValueError, match="'odd' has no multipliers"):
        risk.with_surrogate(odd).multipliers(np.ones(len(risk.shares)))


def random_dual(risk, rng, C, spread):
    """Any alpha, beta >= 0 with equal sums in each group."""
    top = risk.top
    u = C * top.positive_weights
    alpha = u * np.minimum(rng.random(len(u)) * spread, risk.surrogate.dual_upper)
    alpha[rng.random(len(u)) < 0.3] = 0
    raw = rng.random(len(risk.shares)) ** 3
    total = np.bincount(top.positive_groups, weights=alpha, minlength=risk.n_groups)
    beta = raw * (total / np.bincount(top.negative_groups, weights=raw))[top.negative_groups]
    return alpha, beta


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(LOSSES),
    st.sampled_from([0.01, 0.3, 2.0]),
    st.sampled_from([0.3, 1.0, 5.0]),
    st.sampled_from([0.1, 10.0]),
)
def test_weak_duality(seed, loss, tau, theta, C):
    """No dual point lies above any primal point."""
    risk, rng = problem(seed, loss, tau, theta)
    X = rng.standard_normal((30, 4))
    alpha, beta = random_dual(risk, rng, C, spread=2.0)
    v = X[risk.top.positives].T @ alpha - X[risk.top.negatives].T @ beta
    bound = -float(v @ v) / 2 - risk.conjugate(alpha, beta, C)
    for w in (np.zeros(4), v, rng.standard_normal(4)):
        primal = float(w @ w) / 2 + C * risk.value(X @ w)
        assert bound <= primal + 1e-9 * abs(primal)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(LOSSES), st.sampled_from([0.02, 0.5]), st.sampled_from([0.5, 4.0])
)
def test_the_multiplier_is_the_best_one(seed, loss, tau, theta):
    risk, rng = problem(seed, loss, tau, theta)
    _, beta = random_dual(risk, rng, 3.0, 1.0)
    nu = risk.multipliers(beta)

    def paid(nu):
        weight = nu[risk.top.negative_groups] * risk.shares
        inside = np.divide(beta, weight * theta, out=np.zeros_like(beta), where=weight > 0)
        cost = np.where(weight > 0, weight * risk.surrogate.conjugate(inside), 0)
        return tau * nu + np.bincount(risk.top.negative_groups, weights=cost)

    best = paid(nu * (1 + 1e-12))
    for factor in (0.8, 0.99, 1.01, 1.5):
        assert np.all(best <= paid(nu * factor) + 1e-9 * np.abs(best))


def test_fenchel_holds_with_equality_at_the_point():
    for loss in SMOOTH:
        risk, rng = problem(5, loss, tau=0.1, theta=2.0)
        scores, C = 2 * rng.standard_normal(30), 4.0
        point = risk.at(scores)
        alpha, beta = -C * point.gradient[risk.top.positives], C * point.gradient[risk.top.negatives]
        # sum of s_k dual_k  =  risk + conjugate
        assert float(-C * point.gradient @ scores) == pytest.approx(
            -C * point.value - risk.conjugate(alpha, beta, C), rel=1e-10
        )


def test_dual_points_outside_the_domain_cost_infinity():
    risk, _ = problem(6, "logistic")
    alpha, beta = np.zeros(len(risk.top.positives)), np.zeros(len(risk.shares))
    assert risk.conjugate(alpha, beta, 1.0) == 0.0
    assert np.isinf(risk.conjugate(alpha, beta - 1, 1.0))
    assert np.isinf(risk.conjugate(alpha + 2, beta, 1.0))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_parameters(bad):
    y = np.array([True, False])
    with pytest.raises(ValueError, match="tau must be a positive number"):
        PatMatRisk.from_labels(y, surrogate("hinge"), bad)
    with pytest.raises(ValueError, match="theta must be a positive number"):
        PatMatRisk.from_labels(y, surrogate("hinge"), 0.1, theta=bad)


def test_quantile_violation():
    # Four rows, tau = 1/2: both the second and the third row are the quantile, the others are not.
    above, at = np.array([0, 0.25, 0.5, 0.75]), np.array([0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(quantile_violation(above, at, 0.5), [0.25, 0, 0, 0.25])
    assert quantile_violation(0.1 + 0.2, 0.4, 0.3) == 0  # 0.30000000000000004 is 0.3
