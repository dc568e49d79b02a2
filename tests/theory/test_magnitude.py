"""Stability of magnitude-preserving fits: worst cases that attain it, the formula again in decimals, fresh rows."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from shortlist.theory import magnitude_bound, magnitude_stability, residual_bound

getcontext().prec = 50


def pairs_mean(a, order=2):
    """Mean over all ordered pairs of |a_i - a_j|^order."""
    return np.mean(np.abs(a[:, None] - a[None, :]) ** order)


def fit_absolute(x, y, C):
    def objective(w):
        return w * w / 2 + C * pairs_mean(w * x - y, 1)

    return minimize_scalar(objective, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10}).x


def fit_squared(X, y, C):
    """1/2 ||w||^2 + 2 C var(Xw - y), where it is flat."""
    m = len(y)
    A, b = X - X.mean(0), y - y.mean()
    return np.linalg.solve(np.eye(X.shape[1]) + 4 * C / m * A.T @ A, 4 * C / m * A.T @ b)


@pytest.mark.parametrize("m", [2, 3, 5, 20])
def test_replacing_a_row_attains_the_bound_and_breaks_the_printed_one(m):
    x = np.append(-np.ones(m - 1), 1.0)
    C = 0.7
    up, down = (fit_absolute(x, np.append(np.zeros(m - 1), label), C) for label in (50.0, -50.0))
    # The pair of a row at 1, whose label is out of reach, and a row at -1.
    change = abs(abs(2 * up - 50) - abs(2 * down - 50))
    assert change == pytest.approx(magnitude_stability(C, m, radius=1.0, order=1), rel=1e-5)
    printed = magnitude_stability(C, m, radius=1.0, order=1, printed=True)
    assert (change > 1.3 * printed) == (m > 2)


def test_removing_a_row_respects_the_printed_bound():
    m, C = 6, 0.7
    x, y = np.append(-np.ones(m - 1), 1.0), np.append(np.zeros(m - 1), 50.0)
    whole = fit_absolute(x, y, C)
    # The paper keeps 1/m^2 when a row is removed.
    without = fit_absolute(x[:-1], y[:-1], C * (m - 1) ** 2 / m**2)
    assert 2 * abs(whole - without) <= magnitude_stability(C, m, radius=1.0, order=1, printed=True)


@pytest.mark.parametrize("m", [3, 10, 40])
def test_squared_costs_are_as_stable_as_claimed(m):
    rng = np.random.default_rng(m)
    C = 0.3
    M = residual_bound(C, radius=1.0, label_bound=1.0)
    largest = 0.0
    for _ in range(30):
        X = rng.normal(size=(m, 2))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = rng.choice([-1.0, 1.0], m)
        w = fit_squared(X, y, C)
        assert np.abs(X @ w - y).max() <= M
        y[0] = -y[0]
        v = fit_squared(X, y, C)
        # Over all rows of the circle and labels of either sign: differences X' - X of length up to 2.
        for gap in (2.0, 0.0, -2.0):
            turn = np.linspace(0, np.pi, 50)
            directions = 2 * np.column_stack([np.cos(turn), np.sin(turn)])
            largest = max(largest, np.abs((directions @ w - gap) ** 2 - (directions @ v - gap) ** 2).max())
    beta = magnitude_stability(C, m, radius=1.0, residual=M)
    assert 0.005 * beta < largest <= beta


def test_pairs_of_a_row_with_itself_cost_nothing_and_bias_the_mean():
    """Two rows, labels 0 or 1, w = 0: the expected training risk is half the risk, m/(m - 1) of it is the risk."""
    labels = [(a, b) for a in (0.0, 1.0) for b in (0.0, 1.0)]
    risk = np.mean([(a - b) ** 2 for a, b in labels])
    training = np.mean([pairs_mean(np.array(pair)) for pair in labels])
    assert training == risk / 2
    assert magnitude_stability(1e-12, 2, radius=1.0, printed=True) < 1e-9  # so (56) says they are equal
    bound = magnitude_bound(training, 1e-12, 2, radius=1.0, residual=1.0, confidence=1e-9)
    assert bound == pytest.approx(risk, abs=1e-3)


def test_in_decimals():
    C, m, M, r, risk = (Decimal(x) for x in ("0.3", "5000", "1.4", "0.9", "0.21"))
    failure = Decimal("0.05")
    for order in (1, 2):
        s, B = (1, 2 * M) if order == 1 else (4 * M, 4 * M * M)
        beta = 16 * C * s * s * r * r * (m - 1) / m**2
        expected = risk * m / (m - 1) + 2 * beta + (m * beta + B) * (-2 * failure.ln() / m).sqrt()
        call = {"radius": float(r), "residual": float(M), "order": order}
        value = magnitude_bound(float(risk), float(C), int(m), **call)
        assert value == pytest.approx(float(expected), rel=1e-13)
        # (65) and (66), with the paper's C.
        c, root = 2 * C, (2 / m * (2 / failure).ln()).sqrt()
        paper = {
            1: risk + 8 * r * r * c / m + 2 * (2 * r * r * c + M) * root,
            2: risk + 128 * r * r * c * M * M / m + 4 * M * M * (16 * r * r * c + 1) * root,
        }
        printed = magnitude_bound(float(risk), float(C), int(m), printed=True, **call)
        assert printed == pytest.approx(float(paper[order]), rel=1e-13)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("printed", [False, True])
def test_more_rows_less_doubt(order, printed):
    base = {"C": 0.5, "m": 100, "radius": 1.0, "residual": 1.0, "confidence": 0.9}

    def at(**changes):
        return magnitude_bound(0.3, order=order, printed=printed, **{**base, **changes})

    assert at(m=101) < at() and at(C=0.4) < at()
    assert at(radius=0.9) < at() and at(residual=0.9) < at()
    assert at(confidence=0.99) > at()
    assert at(m=10**14) == pytest.approx(0.3, abs=1e-4)
    assert at(radius=0.0, m=10**14) == pytest.approx(0.3, abs=1e-5)


def test_fresh_pairs_cost_no_more():
    """Rows on [-1, 1], y = x + noise within 1/2: the truth is known, and the bound is not the trivial one."""
    rng = np.random.default_rng(0)
    m, C, far = 3000, 0.01, 0
    M = residual_bound(C, radius=1.0, label_bound=1.5)
    for _ in range(40):
        x = rng.uniform(-1, 1, m)
        y = x + rng.uniform(-0.5, 0.5, m)
        w = fit_squared(x[:, None], y, C).item()
        risk = 2 * ((1 - w) ** 2 / 3 + 1 / 12)
        training = 2 * np.var(w * x - y)
        bound = magnitude_bound(training, C, m, radius=1.0, residual=M)
        assert risk <= bound < 4 * M * M / 2
        far += risk > training
    assert far > 5  # without the excess it would not hold


def test_residuals_stay_within_their_bound():
    rng = np.random.default_rng(1)
    for C in (0.01, 1.0, 100.0):
        X = rng.normal(size=(30, 3))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = np.sign(X[:, 0])
        w = fit_squared(X, y, C)
        assert np.abs(X @ w - y).max() <= residual_bound(C, radius=1.0, label_bound=1.0)
        x = X[:, 0]
        v = fit_absolute(x, y, C)
        assert np.abs(x * v - y).max() <= residual_bound(C, radius=1.0, label_bound=1.0, order=1)
    assert residual_bound(5.0, radius=1.0, label_bound=2.0, cost="hr") == 2.0


def test_costs():
    base = {"radius": 1.0, "residual": 0.5}
    assert magnitude_stability(1.0, 10, cost="svr", **base) == magnitude_stability(1.0, 10, **base)
    # At equal scores the printed cost "hmp" jumps: a change of score of 1e-9 changes it by 1.
    hmp = [0.0 if d * 1.0 >= 0 else abs(d - 1.0) for d in (0.0, -1e-9)]
    assert hmp[1] - hmp[0] >= 1
    with pytest.raises(ValueError, match="'hmp' jumps at equal scores"):
        magnitude_stability(1.0, 10, cost="hmp", **base)
    assert magnitude_stability(1.0, 10, cost="hmp", printed=True, **base) > 0


def test_large_numbers_stay_numbers():
    assert magnitude_bound(1.0, 1e300, 10, radius=1e300, residual=1e300) == np.inf
    assert residual_bound(1e300, radius=1e300, label_bound=1.0) == np.inf


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"C": 0.0}, ValueError, "C must be above 0"),
        ({"C": np.nan}, ValueError, "C must be above 0 and finite, got nan"),
        ({"m": 1}, ValueError, "m must be 2 or more, got 1"),
        ({"m": 10.0}, TypeError, "m must be a whole number, got 10.0"),
        ({"radius": -1.0}, ValueError, "radius must be at least 0"),
        ({"residual": 0.0}, ValueError, "residual must be above 0"),
        ({"order": 3}, ValueError, "order must be 1 or 2, got 3"),
        ({"order": True}, ValueError, "order must be 1 or 2, got True"),
        ({"cost": "mse"}, ValueError, "cost must be one of mp, svr, hr, hmp, got 'mse'"),
        ({"confidence": 1.0}, ValueError, "confidence must be below 1"),
        ({"confidence": 0.0}, ValueError, "confidence must be above 0 and at most 1, got 0"),
        ({"confidence": 95}, ValueError, "confidence must be above 0 and at most 1, got 95"),
        ({"training_risk": -0.1}, ValueError, "training_risk must be at least 0"),
        ({"training_risk": 4.1}, ValueError, "no pair can cost more than .* = 4"),
    ],
)
def test_hostile_arguments(changes, error, message):
    call = {"training_risk": 0.1, "C": 1.0, "m": 10, "radius": 1.0, "residual": 1.0, **changes}
    with pytest.raises(error, match=message):
        magnitude_bound(call.pop("training_risk"), call.pop("C"), call.pop("m"), **call)
