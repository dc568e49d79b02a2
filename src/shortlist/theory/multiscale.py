"""Learning rates of least-squares ranking with several kernels: MLSRRank (Zhou, Chen, Lan and Pan 2016).

Throughout, labels lie in an interval of length ``label_range`` (the paper's M), and f minimises 1/2 ||f||^2 + C risk(f)
with the kernel sum_t K_t / v_t, where K_t is a Gaussian and risk the mean over all m^2 ordered pairs of
((f(x_i) - f(x_j)) - (y_i - y_j))^2.  The paper's lambda is 1/(2C), and its gamma, for the mean over pairs of different
rows, m/(2 C (m - 1)).  As K(x, x) = A = sum_t 1/v_t, no score exceeds sqrt(A) ||f||.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shortlist.theory._input import failure_of, number, whole

__all__ = ["best_multiscale_rate", "multiscale_bound", "multiscale_covering_bound", "multiscale_rate"]


def multiscale_rate(epsilon: float, beta: float, s: float = 0.0, *, printed: bool = False) -> float:
    """The power of 1/m with which the excess risk falls, if lambda = 1/(2C) = m^-epsilon.

    Of the four terms of Theorem 2 the slowest counts::

        min( beta epsilon,  1/2 - (1 - beta) epsilon,  1/2 - epsilon,  1/(2 + s) - epsilon )

    *Derivation.*  Up to constants: the approximation error is lambda^beta.  The loss of the regularised truth is
    at most lambda^(beta - 1), and its mean deviates by that over sqrt(m).  On the ball of radius R = lambda^(-1/2) the
    loss M2 is at most 1/lambda, and the Lipschitz constant L is R; the deviation over the ball is the larger of
    M2 / sqrt(m) and (L R)^(s/(2 + s)) (M2^2/m)^(1/(2 + s)) = m^(epsilon - 1/(2 + s)).

    Parameters
    ----------
    epsilon : float
        Positive.  A rate that is not positive is no rate: C grows too fast.
    beta : float
        Approximation: the regularised excess risk D(lambda) is at most a constant times lambda^beta, 0 < beta <= 1.
    s : float
        log N <= constant * distance^-s for the unit ball of the kernel's space.  Any s > 0 will do for a Gaussian;
        :func:`multiscale_bound` shows that s = 0 may be put in.
    printed : bool
        Theorem 3: the last term is 1/(2 + s) - epsilon (8 + 3s)/(4 + 2s).

    Notes
    -----
    The printed last term takes M2^2 for lambda^-4 and L R for lambda^(-3/2), while the third takes M2 for 1/lambda.
    As (8 + 3s)/(4 + 2s) is 3/2 or more, the printed rate is true but slower than what Theorem 2 gives.

    References
    ----------
    Zhou, Chen, Lan and Pan (2016), Theorems 2 and 3.

    Examples
    --------
    >>> from shortlist.theory import multiscale_rate
    >>> multiscale_rate(0.25, 1.0)
    0.25
    >>> multiscale_rate(0.25, 1.0, printed=True)
    0.0
    """
    epsilon = number("epsilon", epsilon, above=0.0)
    beta = number("beta", beta, above=0.0, high=1.0)
    s = number("s", s)
    steepness = (8.0 + 3.0 * s) / (4.0 + 2.0 * s) if printed else 1.0
    return min(beta * epsilon, 0.5 - (1.0 - beta) * epsilon, 0.5 - epsilon, 1.0 / (2.0 + s) - steepness * epsilon)


def best_multiscale_rate(beta: float, s: float = 0.0, *, printed: bool = False) -> tuple[float, float]:
    """The epsilon with the fastest rate, and that rate.

    The first term rises with epsilon and the last falls; where they meet neither of the others is smaller.  So
    epsilon = 1 / ((2 + s)(beta + 1)), and C should grow like m^epsilon.

    Notes
    -----
    Remark 2 has epsilon = 2/(12 + 7s) for beta = 1 and the rate m^(-1/6) for s = 1.  From the printed formula follow
    2/(12 + 5s) and, for s = 1, m^(-2/17); 1/6 is its limit for s = 0.  The corrected formula gives m^(-1/4) there.

    Examples
    --------
    >>> from shortlist.theory import best_multiscale_rate
    >>> best_multiscale_rate(1.0)
    (0.25, 0.25)
    >>> round(1 / best_multiscale_rate(1.0, printed=True)[1], 6)
    6.0
    """
    beta, s = number("beta", beta, above=0.0, high=1.0), number("s", s)
    steepness = (8.0 + 3.0 * s) / (4.0 + 2.0 * s) if printed else 1.0
    epsilon = 1.0 / ((2.0 + s) * (beta + steepness))
    return epsilon, multiscale_rate(epsilon, beta, s, printed=printed)


def multiscale_bound(
    C: float,
    m: int,
    *,
    label_range: float,
    approximation: float,
    v: ArrayLike = (1.0,),
    confidence: float = 0.95,
) -> float:
    """With the given confidence, the excess risk of the fit is at most this: every constant is known.

    With A = sum 1/v_t, gamma = m/(2C(m - 1)), R = label_range/sqrt(gamma), the largest score r = R sqrt(A) in the ball,
    k the whole part of m/2, t = log(2/(1 - confidence)), and the losses M2 = (label_range + 2 r)^2 and
    M1 = (label_range + 2 sqrt(A approximation/gamma))^2::

        excess  <=  4 (label_range + 2 r) r sqrt(2/k) + (M1 + M2) sqrt(2 t/m) + approximation

    *Derivation.*  The paper's decomposition (Proposition 1) and its Proposition 2 give the terms in M1 and
    ``approximation``.  What remains is the largest deviation over the ball of radius R, where the fit lies because
    gamma ||f||^2 <= risk(0) <= label_range^2.  It changes by 2 M2/m with one row (McDiarmid).  Its
    expectation needs no covering number.  The mean over pairs is an average, over orders of the rows, of means over k
    pairs without a common row; so random signs may be put before k independent losses (factor 2), which are
    2 (label_range + 2r)-Lipschitz in f(x) - f(x') (contraction).  Left is R/k E||sum_i s_i (K_x_i - K_x'_i)||
    <= R sqrt(2A/k), as ||K_x - K_x'||^2 <= 2A for Gaussians, which are positive.

    Parameters
    ----------
    C : float
        Of Shortlist: 1/(2 lambda).
    m : int
        Number of training rows, 2 or more.
    label_range : float
        Largest label minus smallest that can occur.
    approximation : float
        D(gamma), the least of E(f) - E(f*) + gamma ||f||^2, or anything larger.  f = 0 shows that it is at most
        label_range^2/2; if the regression function has norm b, it is at most gamma b^2.
    v : sequence of float
        The kernels' weights v_t, of which the smallest is 1.
    confidence : float
        Between 0 and 1.

    Examples
    --------
    Ratings from 0 to 1, four kernels, a million rows, a regression function of norm 1/2, so that D(gamma) is at most
    1/4 gamma, little more than 1/(8C):

    >>> from shortlist.theory import multiscale_bound
    >>> round(multiscale_bound(1.0, 10**6, label_range=1.0, approximation=0.12501, v=[1, 1, 2, 2]), 3)
    0.355

    A constant score has an excess of label_range^2/2 = 0.5 at most.  With C = 50 the theory says less than that:

    >>> round(multiscale_bound(50.0, 10**6, label_range=1.0, approximation=0.00251, v=[1, 1, 2, 2]), 3)
    8.412
    """
    C, m, span = number("C", C, above=0.0), whole("m", m, 2), number("label_range", label_range, above=0.0)
    mass = float((1.0 / _weights(v)).sum())
    t = math.log(2.0 / failure_of(confidence))
    gamma = m / (2.0 * C * (m - 1))
    error = _approximation(approximation, span)
    r = span * math.sqrt(mass / gamma)
    in_ball = (span + 2.0 * r) * (span + 2.0 * r)
    expected = 4.0 * (span + 2.0 * r) * r * math.sqrt(2.0 / (m // 2))
    return expected + in_ball * math.sqrt(2.0 * t / m) + _spread(error, gamma, span, mass, m, t) + error


def multiscale_covering_bound(
    C: float,
    m: int,
    *,
    label_range: float,
    approximation: float,
    scales: Sequence[float],
    dimension: int,
    complexity: float,
    v: ArrayLike | None = None,
    s: float = 1.0,
    confidence: float = 0.95,
    printed: bool = False,
) -> float:
    """Theorem 2: the same excess risk by covering numbers, with the constants corrected.

    It supposes log N <= complexity (distance^-s + mu^(-2(d+1))) for the unit ball of a Gaussian exp(-|x - x'|^2/mu^2)
    in d dimensions.  The paper quotes this with a constant that it does not name, so the result is a bound as far as
    ``complexity`` is known; :func:`multiscale_bound` does without.  In the notation there, with
    L = 2 label_range + 4 r, l kernels and R_t = R/sqrt(v_t)::

        excess  <=  M1 sqrt(2t/m) + max(sqrt(2 c1), (2 c2)^(1/(2+s))) + approximation
        c1 = 8 M2^2/m (complexity sum_t mu_t^(-2(d+1)) + t),     c2 = 8 M2^2/m complexity sum_t (8 l L R_t)^s

    Parameters
    ----------
    C, m, label_range, approximation, v, confidence
        As in :func:`multiscale_bound`.  ``v`` defaults to ones.
    scales : sequence of float
        Shortlist's: Gaussians exp(-|x - x'|^2 / (2 scale^2)), so mu = sqrt(2) scale.
    dimension : int
        Of the rows.
    complexity, s : float
        The constant and the power of the covering numbers.
    printed : bool
        Theorem 2 as displayed, its "+" read as the comma between the two numbers of the maximum.

    Notes
    -----
    Slips.  The kernel lacks the square.  A centre at distance e moves the truth by 2 L e and the training
    risk by as much, so the radius must be epsilon/(8L), not epsilon/(4L) (Appendix D).  From exp(-m epsilon^2/(8 M2^2))
    the step to (11) goes on with 2 M2^2 (Appendix E), and with the wrong sign of log(2/delta).  Half of delta each
    makes log(2/delta) of both log(1/delta).  Scores in the ball reach sqrt(A) R, not kappa R: for l equal kernels the
    printed L lacks a sqrt(l).  (12) has a product, and Theorem 2 a sum, where the proof has a maximum.

    Examples
    --------
    >>> from shortlist.theory import multiscale_covering_bound
    >>> given = dict(label_range=1.0, approximation=0.25, scales=[0.5, 2.0], dimension=3, complexity=1.0)
    >>> round(multiscale_covering_bound(0.25, 10**6, **given), 3)
    0.821
    >>> round(multiscale_covering_bound(0.25, 10**6, **given, printed=True), 3)
    0.52
    """
    C, m, span = number("C", C, above=0.0), whole("m", m, 2), number("label_range", label_range, above=0.0)
    mu = math.sqrt(2.0) * np.array([number("scales", x, above=0.0) for x in scales])
    if not len(mu):
        raise ValueError("scales is empty: give one scale for each kernel")
    weights = np.ones(len(mu)) if v is None else _weights(v)
    if len(weights) != len(mu):
        raise ValueError(f"v has {len(weights)} weights for {len(mu)} scales: give one for each kernel")
    d, s = whole("dimension", dimension, 1), number("s", s, above=0.0)
    constant = number("complexity", complexity, above=0.0)
    failure = failure_of(confidence)
    error = _approximation(approximation, span)
    gamma, mass, count = m / (2.0 * C * (m - 1)), float((1.0 / weights).sum()), len(mu)
    ball = span / math.sqrt(gamma)
    largest = span + 2.0 * ball * math.sqrt(mass)
    in_ball = largest * largest
    t = -math.log(failure) if printed else math.log(2.0 / failure)
    with np.errstate(over="ignore"):
        narrow = np.power(mu, -2.0 * (d + 1))
        if printed:
            slope = 2.0 * span + 4.0 * ball
            first = 2.0 * in_ball * math.sqrt((constant * count * float(narrow.max()) + t) / m)
            second = float(np.power(4.0 * count * slope * ball, s / (2.0 + s)))
            second *= float(np.power(4.0 * constant * count * in_ball * in_ball / m, 1.0 / (2.0 + s)))
            return _spread(error, gamma, span, count, m, t) + max(first, second) + error
        slope = 2.0 * span + 4.0 * ball * math.sqrt(mass)
        each = np.power(8.0 * count * slope * ball / np.sqrt(weights), s)
        c1 = 8.0 * in_ball * in_ball / m * (constant * float(narrow.sum()) + t)
        c2 = 8.0 * in_ball * in_ball / m * constant * float(each.sum())
        deviation = max(math.sqrt(2.0 * c1), float(np.power(2.0 * c2, 1.0 / (2.0 + s))))
    return _spread(error, gamma, span, mass, m, t) + deviation + error


def _spread(error: float, gamma: float, span: float, mass: float, m: int, t: float) -> float:
    """Proposition 2: how far the training risk of the regularised truth can be above its risk."""
    largest = span + 2.0 * math.sqrt(mass * error / gamma)
    return largest * largest * math.sqrt(2.0 * t / m)


def _approximation(value: object, span: float) -> float:
    error, most = number("approximation", value), span * span / 2.0
    if error > most:
        raise ValueError(
            f"approximation is {error:g}, more than label_range^2/2 = {most:g}, which f = 0 attains; give that instead"
        )
    return error


def _weights(v: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.array([number("v", x, above=0.0) for x in np.ravel(np.asarray(v, dtype=object))])
    if not len(weights) or weights.min() != 1.0:
        raise ValueError("v must hold one weight for each kernel, the smallest of them 1: scale C instead")
    return weights
