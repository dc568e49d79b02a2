"""Quantile thresholds: positives must beat the score that only a share ``tau`` of the rows exceeds.

A quantile is not convex in the scores.  Pat&Mat (Grill and Pevny 2016) replaces it by its convex surrogate:
in each group the threshold t is the number at which the mean surrogate loss of the negatives is exactly tau,

    sum_j p_j l(theta (s_j - t)) = tau,      p_j = v_j / sum(v) over the group's negatives, theta > 0.

As l is at least the step 1[z >= 0] (``logistic``: log 2 times it), at most a share tau (tau / log 2) of the
negatives reaches t.  The left side falls from infinity to 0 as t grows, for each of the surrogates, so that t
exists and is unique for every tau > 0.  {(s, t): sum_j p_j l(theta (s_j - t)) <= tau} is convex, hence t(s)
is a convex function, and so is the risk

    risk(s) = sum_i a_i l(t_g(i)(s) - s_i),    sum_i a_i = 1.

Derivatives follow from the implicit function theorem.  With D = sum_j p_j l'(theta (s_j - t)) in each group,

    dt/ds_j = b_j = p_j l'(theta (s_j - t)) / D,        sum_j b_j = 1,
    d2t = sum_j (theta p_j l''(theta (s_j - t)) / D) (ds_j - b.ds)^2,

so the Hessian of the risk is one weighted scatter about the threshold, with a weight for each row:

    d2risk = sum_k h_k (ds_k - b_g(k).ds)^2,    h_i = a_i l''(t - s_i),    h_j = lambda_g theta p_j l''_j / D,

lambda_g = sum of a_i l'(t - s_i) in the group.  Dual of 1/2 ||w||^2 + C risk(X w), with u = C a:

    maximise  -1/2 ||w||^2 - sum_i u_i l*(alpha_i / u_i) - sum_g nu_g tau
              - sum_j nu_g p_j l*(beta_j / (nu_g p_j theta)),
    w = sum_i alpha_i x_i - sum_j beta_j x_j,    alpha, beta, nu >= 0,    sum(beta in g) = sum(alpha in g).

Scores 9 (positive), 3, 1, 0, 0: the squared hinge at t = 3 counts one negative of four, a share of 0.25.

>>> import numpy as np
>>> from shortlist.risks.surrogates import surrogate
>>> y = np.array([True, False, False, False, False])
>>> risk = PatMatRisk.from_labels(y, surrogate("squared_hinge"), tau=0.25)
>>> float(risk.thresholds(np.array([9.0, 3.0, 1.0, 0.0, 0.0]))[0])
3.0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.surrogates import Surrogate
from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk

Array = NDArray[Any]

__all__ = ["PatMatPoint", "PatMatRisk", "SmoothedHinge", "inverse", "quantile_violation"]


class SmoothedHinge(Surrogate):
    """The hinge, rounded on ``[-1, -1 + width]``: ``max over a in [0, 1] of a (1 + z) - width a^2 / 2``.

    It lies below the hinge by at most ``width / 2``, and its slopes are dual variables of the hinge.
    """

    name = "smoothed_hinge"
    dual_upper = 1.0

    def __init__(self, width: float) -> None:
        self.width = width

    def value(self, z: Array) -> Array:
        a = self.derivative(z)
        return a * (1 + z - self.width / 2 * a)

    def derivative(self, z: Array) -> Array:
        return np.clip((1 + z) / self.width, 0, 1)

    def second_derivative(self, z: Array) -> Array:
        return ((z >= -1) & (z <= self.width - 1)).astype(z.dtype) / self.width

    def conjugate(self, a: Array) -> Array:
        return np.where((a >= 0) & (a <= 1), a * (self.width / 2 * a - 1), np.inf)


def inverse(loss: Surrogate, y: Array) -> Array:
    """The ``z`` with ``l(z) = y``, for y > 0.

    >>> from shortlist.risks.surrogates import surrogate
    >>> float(inverse(surrogate("squared_hinge"), np.array(4.0)))
    1.0
    """
    match loss.name:
        case "squared_hinge":
            return np.sqrt(y) - 1
        case "hinge":
            return y - 1
        case "logistic":  # log(e^y - 1), without overflow for large y and without cancellation for small
            return y + np.log(-np.expm1(-y))
        case "exponential":
            return np.log(y)
        case "smoothed_hinge":
            width = loss.width if isinstance(loss, SmoothedHinge) else 0.0
            return np.where(y <= width / 2, np.sqrt(2 * width * y), y + width / 2) - 1
    raise ValueError(f"loss {loss.name!r} has no inverse here: use one of the four surrogates")


@dataclass(frozen=True)
class PatMatPoint:
    """The risk about one score vector: value, gradient, and all that its Hessian needs.

    Attributes
    ----------
    value : float
    thresholds : (n_groups,) array
    gradient : (n_rows,) array
        Derivative by the scores.  ``-C * gradient`` holds the dual variables: alpha_i, and -beta_j.
    pull : (n,) array
        ``b_j``, the derivative of the threshold by the negatives' scores.
    curvature : (n_rows,) array
        ``h``, the weights of the scatter.
    """

    value: float
    thresholds: Array
    gradient: Array
    pull: Array
    curvature: Array


@dataclass(frozen=True)
class PatMatRisk:
    """Scores in, Pat&Mat's risk out; see the module for its definition, derivatives and dual.

    Attributes
    ----------
    top : TopRisk
        The rows that take part, their weights and groups.
    tau : float
        Share of the negatives that may reach the threshold, as the surrogate counts it.
    theta : float
        Scale of the scores inside the constraint (the paper's beta).
    shares : (n,) array
        ``p_j``: the negatives' weights, summing to 1 in each group.
    """

    top: TopRisk
    tau: float
    theta: float
    shares: Array

    @property
    def surrogate(self) -> Surrogate:
        return self.top.surrogate

    @property
    def n_groups(self) -> int:
        return self.top.n_groups

    @classmethod
    def from_labels(
        cls,
        is_positive: Array,
        surrogate: Surrogate,
        tau: float,
        *,
        theta: float = 1.0,
        groups: Array | None = None,
        sample_weight: Array | None = None,
    ) -> PatMatRisk:
        """Sort rows as ``TopRisk.from_labels`` does.

        Raises
        ------
        ValueError
            When tau or theta is not a positive number, or no group holds both a positive and a negative.
        """
        for name, number in (("tau", tau), ("theta", theta)):
            if not (np.isfinite(number) and number > 0):
                raise ValueError(f"{name} must be a positive number, got {number!r}")
        top = TopRisk.from_labels(
            is_positive, surrogate, Maximum(), groups=groups, sample_weight=sample_weight
        )
        v = top.negative_weights
        total = np.bincount(top.negative_groups, weights=v, minlength=top.n_groups)
        return cls(top=top, tau=float(tau), theta=float(theta), shares=v / total[top.negative_groups])

    def with_surrogate(self, loss: Surrogate) -> PatMatRisk:
        """The same rows under another loss."""
        return replace(self, top=replace(self.top, surrogate=loss))

    def _sum(self, v: Array) -> Array:
        """Sums over the negatives of each group."""
        return np.bincount(self.top.negative_groups, weights=v, minlength=self.n_groups)

    def _largest(self, v: Array) -> Array:
        out = np.full(self.n_groups, -np.inf)
        np.maximum.at(out, self.top.negative_groups, v)
        return out

    def thresholds(self, scores: Array, start: Array | None = None) -> Array:
        """The threshold of each group, to rounding; ``start`` is a guess that saves steps.

        Newton's method on a convex decreasing function: left of the root it climbs without overshooting, and
        a step from the right lands on the left.  Bounds keep it near: the root is at least
        ``mean(s) - l^-1(tau) / theta`` (Jensen), at least ``s_j - l^-1(tau / p_j) / theta`` for each j (one
        term of the sum), and at most ``max(s) - l^-1(tau) / theta``.
        """
        loss, theta, tau, p = self.surrogate, self.theta, self.tau, self.shares
        group = self.top.negative_groups
        s = np.asarray(scores[self.top.negatives], dtype=np.float64)
        if loss.name == "exponential":
            largest = self._largest(s)
            return largest + np.log(self._sum(p * np.exp(theta * (s - largest[group]))) / tau) / theta
        z = float(inverse(loss, np.asarray(tau)))
        upper = self._largest(s) - z / theta
        lower = np.maximum(self._sum(p * s) - z / theta, self._largest(s - inverse(loss, tau / p) / theta))
        lower = np.minimum(lower, upper)
        t = np.clip(lower if start is None else start, lower, upper)
        rounding = 1e-12 / theta + 1e-14 * float(np.abs(s).max())
        for _ in range(200):
            inside = theta * (s - t[group])
            slope = theta * self._sum(p * loss.derivative(inside))
            excess = self._sum(p * loss.value(inside)) - tau
            step = np.where(slope > 0, excess / np.where(slope > 0, slope, 1), lower - t)
            before, t = t, np.clip(t + step, lower, upper)
            if np.all(np.abs(t - before) <= rounding):
                break
        return t

    def value(self, scores: Array, thresholds: Array | None = None) -> float:
        """The risk of the scores of all rows."""
        t = self.thresholds(scores) if thresholds is None else thresholds
        z = t[self.top.positive_groups] - scores[self.top.positives]
        return float(np.dot(self.top.positive_weights, self.surrogate.value(z)))

    def at(self, scores: Array, start: Array | None = None) -> PatMatPoint:
        """Value, gradient and curvature about ``scores``; the loss must be smooth for the last."""
        top, loss, theta, p = self.top, self.surrogate, self.theta, self.shares
        t = self.thresholds(scores, start)
        z = t[top.positive_groups] - scores[top.positives]
        alpha = top.positive_weights * loss.derivative(z)
        total = np.bincount(top.positive_groups, weights=alpha, minlength=self.n_groups)
        inside = theta * (scores[top.negatives] - t[top.negative_groups])
        slopes = p * loss.derivative(inside)
        slope = self._sum(slopes)[top.negative_groups]
        pull = slopes / slope
        gradient = np.zeros(len(scores))
        gradient[top.positives] = -alpha
        gradient[top.negatives] = total[top.negative_groups] * pull
        curvature = np.zeros(len(scores))
        curvature[top.positives] = top.positive_weights * loss.second_derivative(z)
        bend = theta * p * loss.second_derivative(inside) / slope
        curvature[top.negatives] = total[top.negative_groups] * bend
        value = float(np.dot(top.positive_weights, loss.value(z)))
        return PatMatPoint(value, t, gradient, pull, curvature)

    def hessian_product(self, point: PatMatPoint, v: Array) -> Array:
        """Hessian of the risk by the scores, times ``v``; O(n)."""
        top, h = self.top, point.curvature
        mean = self._sum(point.pull * v[top.negatives])
        out = np.zeros(len(v))
        positive = h[top.positives] * (v[top.positives] - mean[top.positive_groups])
        negative = h[top.negatives] * (v[top.negatives] - mean[top.negative_groups])
        total = np.bincount(top.positive_groups, weights=positive, minlength=self.n_groups)
        total += self._sum(negative)
        out[top.positives] = positive
        out[top.negatives] = negative - point.pull * total[top.negative_groups]
        return out

    def multipliers(self, beta: Array) -> Array:
        """The ``nu`` of each group that makes the dual's value largest for given ``beta``.

        It solves sum_j p_j l(z_j) = tau with z_j the point where l'(z_j) = beta_j / (nu p_j theta).
        """
        p, theta, tau = self.shares, self.theta, self.tau
        match self.surrogate.name:
            case "squared_hinge":
                return np.sqrt(self._sum(np.square(beta) / p) / tau) / (2 * theta)
            case "exponential":
                return self._sum(beta) / (theta * tau)
            case "hinge":
                return np.maximum(self._largest(beta / (p * theta)), 0)
            case "logistic":
                return self._logistic_multipliers(beta / (p * theta))
        raise ValueError(f"loss {self.surrogate.name!r} has no multipliers: use one of the four surrogates")

    def _logistic_multipliers(self, q: Array) -> Array:
        """``1 / kappa`` with -sum_j p_j log(1 - kappa q_j) = tau: Newton within a bracket."""
        group, p, tau = self.top.negative_groups, self.shares, self.tau
        q = np.maximum(q, 0)
        # One term of the sum reaches tau alone at the upper end, which is a hair before its pole.
        with np.errstate(divide="ignore"):
            upper = -self._largest(-np.minimum(-np.expm1(-tau / p), 1 - 1e-15) / q)
        low, high = np.zeros(self.n_groups), np.where(np.isfinite(upper), upper, 1.0)
        kappa = high.copy()
        for _ in range(100):
            x = kappa[group] * q
            excess = self._sum(-p * np.log1p(-x)) - tau
            low, high = np.where(excess <= 0, kappa, low), np.where(excess >= 0, kappa, high)
            step = kappa - excess / np.maximum(self._sum(p * q / (1 - x)), np.finfo(float).tiny)
            inside = (step > low) & (step < high)
            before, kappa = kappa, np.where(inside, step, (low + high) / 2)
            if np.all(np.abs(kappa - before) <= 1e-14 * kappa):
                break
        return np.where(self._sum(q) > 0, 1 / kappa, 0.0)

    def conjugate(self, alpha: Array, beta: Array, C: float) -> float:
        """What the dual pays beside 1/2 ||w||^2, at the best ``nu``; ``inf`` outside the dual's domain.

        For any alpha, beta >= 0 of equal sums in each group, ``-1/2 ||X+' alpha - X-' beta||^2`` minus this
        is a lower bound of the objective.
        """
        if np.any(beta < 0):
            return float(np.inf)
        nu = self.multipliers(beta)
        weight = nu[self.top.negative_groups] * self.shares
        active = weight > 0
        # The multiplier keeps each slope within the conjugate's domain; what exceeds it is rounding.
        slope = np.minimum(beta[active] / (weight[active] * self.theta), self.surrogate.dual_upper)
        paid = self.top.conjugate(alpha, C) + self.tau * float(nu.sum())
        return paid + float(np.dot(weight[active], self.surrogate.conjugate(slope)))


def quantile_violation(above: Array | float, at_or_above: Array | float, tau: float) -> Array:
    """How far a score is from being a (1 - tau) quantile, from the shares of rows above, and at or above it.

    0 exactly where ``above <= tau <= at_or_above``.

    >>> quantile_violation(np.array([0.1, 0.3]), np.array([0.2, 0.4]), tau=0.2)
    array([0. , 0.1])
    """
    # Shares are sums of weights: one part in 10^12 is rounding, not a row.
    slack = 1e-12
    miss = np.maximum(np.maximum(np.asarray(above) - tau, tau - np.asarray(at_or_above)), 0)
    return np.where(miss <= slack, 0, miss)
