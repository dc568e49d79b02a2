"""The negatives' side of the interior point method: the threshold that the positives have to beat.

Both blocks describe their rows to the Newton system in one form.  Row j has the quantity q_j = x_j.w + N_j.b, where b
are the border variables of its group, a curvature D_j and an offset r_j: its multiplier changes by D_j (dq_j + r_j).

``MaximumBlock``, border (t):   s_j = t - x_j.w >= 0, multiplier beta_j, q_j = x_j.w - t.

``CappedBlock``, border (theta, tau, lambda): the mean of the largest,

    theta = min over tau of  tau + sum_j c_j xi_j,   xi_j >= x_j.w - tau,   xi_j >= 0,

with multipliers beta_j and gamma_j = c_j lambda - beta_j of the two constraints and lambda of the equation, which is
the sum of the positives' multipliers at the optimum.  With p_j = xi_j - x_j.w + tau, f_j = p_j / beta_j and
e_j = xi_j / gamma_j, elimination of the slacks leaves D_j = 1 / (f_j + e_j) and

    d beta_j  = D_j ( x_j.dw - d tau + e_j c_j d lambda + r_j)     for a row below its cap, or
    d gamma_j = D_j (-x_j.dw + d tau + f_j c_j d lambda - r_j)     for a row near it.

Both say the same; the one with the smaller of e and f is free of cancellation, and is the one handed on: ``sign`` tells
which, ``pull`` is the coefficient c_j with which a row of the second kind ties w to lambda directly.

Rows may join at any time.  They come with a slack of their own (``MaximumBlock``) or change the equation's residual
(``CappedBlock``): the method is infeasible-start, so a newcomer never moves the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.interior.positives import centred_hinge, longest_step

Array = NDArray[Any]

__all__ = ["CappedBlock", "MaximumBlock", "NegativeBlock", "Newcomers"]

LEAST_LEFT = 0.3  # of a slack or a multiplier that a leap would make negative


@dataclass(frozen=True)
class Newcomers:
    """Negatives that join: scores, groups, weights of their barrier, caps (None without), first multipliers."""

    scores: Array
    groups: Array
    omega: Array
    caps: Array | None = None
    beta: Array | None = None


class NegativeBlock(ABC):
    """State of the working negatives and of the border.

    Attributes
    ----------
    n_border : int
        Border variables a group.
    shifted : tuple of bool
        Which of them live on the scale of the scores, and so move with the origin of the features.
    forcing : float
        Relative residual to which an iterative solver of the Newton system may stop.
    theta : (n_groups,) array
        The thresholds that the positives see.
    coupling : (rows, n_border) array
        ``N``.
    border : (n_groups, n_border, n_border) array
        ``Q0``: second derivatives among the border variables beside those through the rows.
    sign : (rows,) array
        1, or -1 for a row whose quantity is taken with the other sign.
    pull : (rows,) array
        Coefficients of the rows in the coupling of w to the last border variable beside that through the rows.
    leaps : bool
        Whether slacks may lag behind a full step, as a residual that later steps remove.
    """

    leaps: ClassVar[bool] = False

    n_border: ClassVar[int]
    forcing: ClassVar[float]
    shifted: ClassVar[tuple[bool, ...]]
    theta: Array
    coupling: Array
    border: Array
    sign: Array
    pull: Array

    def __init__(self, n_groups: int) -> None:
        self.n_groups = n_groups
        self.scores = np.empty(0)
        self.groups = np.empty(0, dtype=np.intp)
        self.omega = np.empty(0)
        self.beta = np.empty(0)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    @abstractmethod
    def height(self) -> Array:
        """Scores above which an absent negative is missed, a group each."""

    @abstractmethod
    def add(self, new: Newcomers, mu: float, first: bool = False) -> None:
        """Take rows in, near complementarity ``mu``."""

    @abstractmethod
    def threshold(self, step: float = 0.0) -> Array:
        """Thresholds that the working rows' scores demand after a primal step, whatever theta and the slacks say."""

    @abstractmethod
    def useful(self) -> Array:
        """Mask of the rows worth keeping."""

    def by_group(self, values: Array) -> Array:
        """Sums over the rows of each group."""
        if self.n_groups == 1:
            return np.array([values.sum()])
        return np.bincount(self.groups, weights=values, minlength=self.n_groups)

    @property
    @abstractmethod
    def count(self) -> float:
        """Sum of the weights of the barrier's terms."""

    @abstractmethod
    def curvature(self) -> Array:
        """``D``; refreshes ``coupling`` and ``border``."""

    @abstractmethod
    def offsets(self, target: float, corrected: bool, alpha_sums: Array) -> tuple[Array, Array]:
        """``r``, signed, and the right-hand side of the border, for complementarity ``target``."""

    @abstractmethod
    def set_direction(self, dscores: Array, db: Array, y: Array | None) -> tuple[float, float]:
        """Take the direction; return the longest primal and dual steps.

        ``y`` is the solver's own D_j (dq_j + r_j), signed.  An inexact solver's is consistent with dw, so that its
        error falls on the complementarity, where it is harmless, and not on the gradient; without it the difference of
        scores is multiplied by D_j.
        """

    @abstractmethod
    def dtheta(self, db: Array) -> Array:
        """Change of the thresholds."""

    @abstractmethod
    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        """Sum of the products of slacks and multipliers after the steps."""

    @abstractmethod
    def barrier(self, step: float) -> float:
        """Minus the weighted sum of the logarithms of the slacks after a primal step."""

    @abstractmethod
    def residual(self) -> tuple[float, float]:
        """Size of the primal residual, and the penalty that makes the direction one of descent."""

    @abstractmethod
    def advance(self, primal_step: float, dual_step: float) -> None:
        """Move."""

    @abstractmethod
    def keep(self, which: Array) -> None:
        """Drop the other rows."""

    def beta_ahead(self) -> Array:
        """Multipliers at the end of the direction, those that would turn negative at zero."""
        raise TypeError(f"{type(self).__name__} does not leap")

    def leap(self) -> None:
        """Move to the end of the direction, but for slacks and multipliers that would turn negative."""
        raise TypeError(f"{type(self).__name__} does not leap")


class MaximumBlock(NegativeBlock):
    """Every working negative stays below t."""

    n_border = 1
    forcing = 1.5e-2
    shifted = (True,)
    leaps = True

    def __init__(self, theta: Array) -> None:
        super().__init__(len(theta))
        self.theta = theta
        self.slack = np.empty(0)
        self.border = np.zeros((self.n_groups, 1, 1))

    @property
    def count(self) -> float:
        return float(self.omega.sum())

    @property
    def height(self) -> Array:
        return self.theta

    def add(self, new: Newcomers, mu: float, first: bool = False) -> None:
        room = self.theta[new.groups] - new.scores
        # A row above t gets a slack of its own, on the scale of the worst violation and of the slacks there are; the
        # difference is a residual that the next full step removes.
        worst = np.zeros(self.n_groups)
        np.maximum.at(worst, new.groups, -room)
        if first:
            size = np.bincount(new.groups, minlength=self.n_groups)
            mean = np.bincount(new.groups, weights=np.abs(room), minlength=self.n_groups) / np.maximum(
                size, 1
            )
            typical = 0.05 * mean + 1e-300
        else:
            typical = np.full(self.n_groups, 0.1 * float(np.median(self.slack)))
        slack = np.maximum(room, np.maximum(0.1 * worst, typical)[new.groups])
        beta = new.omega * mu / slack
        if new.beta is not None:
            beta = np.maximum(beta, new.beta)
        self.scores = np.concatenate([self.scores, new.scores])
        self.groups = np.concatenate([self.groups, new.groups])
        self.omega = np.concatenate([self.omega, new.omega])
        self.slack = np.concatenate([self.slack, slack])
        self.beta = np.concatenate([self.beta, beta])
        self._uniform()
        self._ds = self._dbeta = np.zeros(len(self))

    def threshold(self, step: float = 0.0) -> Array:
        scores = self.scores + step * self._dscores if step else self.scores
        if self.n_groups == 1:
            return np.asarray(scores.max(keepdims=True))
        demanded = np.full(self.n_groups, -np.inf)
        np.maximum.at(demanded, self.groups, scores)
        return demanded

    def useful(self) -> Array:
        active = self.beta > self.beta.mean()
        keep = self.beta >= 1e-3 * self.beta.mean()
        if active.any():
            keep |= self.slack <= 2 * np.median(self.slack[active])
        # Every group keeps its best row at least: the threshold must stay defined.
        order = np.lexsort((-self.scores, self.groups))
        keep[order[np.searchsorted(self.groups[order], np.arange(self.n_groups))]] = True
        return np.asarray(keep)

    def _uniform(self) -> None:
        n = len(self)
        self.coupling = np.full((n, 1), -1.0)
        self.sign, self.pull = np.broadcast_to(1.0, n), np.broadcast_to(0.0, n)  # these take no memory

    def curvature(self) -> Array:
        self._D = self.beta / self.slack
        self._gap = self.theta[self.groups] - self.scores - self.slack
        return self._D

    def offsets(self, target: float, corrected: bool, alpha_sums: Array) -> tuple[Array, Array]:
        products = target * self.omega
        if corrected:
            products = products - self._ds * self._dbeta
        self._r = products / self.beta - self.slack - self._gap
        return self._r, (self.by_group(self.beta) - alpha_sums)[:, None]

    def set_direction(self, dscores: Array, db: Array, y: Array | None) -> tuple[float, float]:
        self._dscores, self._dtheta = dscores, db[:, 0]
        dq = dscores - self._dtheta[self.groups]
        self._ds = self._gap - dq
        self._dbeta = self._D * (dq + self._r) if y is None else y
        return longest_step(self.slack, self._ds), longest_step(self.beta, self._dbeta)

    def dtheta(self, db: Array) -> Array:
        return db[:, 0]

    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        return float(np.dot(self.slack + primal_step * self._ds, self.beta + dual_step * self._dbeta))

    def barrier(self, step: float) -> float:
        return -float(np.dot(self.omega, np.log(self.slack + step * self._ds)))

    def residual(self) -> tuple[float, float]:
        return float(np.abs(self._gap).sum()), float(np.max(np.maximum(self.beta, self.beta + self._dbeta)))

    def advance(self, primal_step: float, dual_step: float) -> None:
        self.scores = self.scores + primal_step * self._dscores
        self.theta = self.theta + primal_step * self._dtheta
        self.slack = self.slack + primal_step * self._ds
        self.beta = self.beta + dual_step * self._dbeta

    def beta_ahead(self) -> Array:
        return np.maximum(self.beta + self._dbeta, 0)

    def leap(self) -> None:
        self.scores = self.scores + self._dscores
        self.theta = self.theta + self._dtheta
        self.slack = np.maximum(self.slack + self._ds, LEAST_LEFT * self.slack)
        self.beta = np.maximum(self.beta + self._dbeta, LEAST_LEFT * self.beta)

    def keep(self, which: Array) -> None:
        for name in ("scores", "groups", "omega", "slack", "beta", "_ds", "_dbeta"):
            setattr(self, name, getattr(self, name)[which])
        self._uniform()


class CappedBlock(NegativeBlock):
    """The positives see the mean of the largest scores of the working negatives."""

    n_border = 3
    forcing = 1e-4
    shifted = (True, True, False)
    ROWS: ClassVar[tuple[str, ...]] = ("scores", "groups", "omega", "caps", "beta", "gamma", "xi", "p")

    def __init__(self, tau: Array, lam: Array) -> None:
        super().__init__(len(tau))
        self.tau, self.lam = tau, lam
        self.theta = tau.copy()
        self.caps = self.xi = self.p = self.gamma = np.empty(0)

    @property
    def count(self) -> float:
        return 2.0 * float(self.omega.sum())

    @property
    def height(self) -> Array:
        return self.tau

    def add(self, new: Newcomers, mu: float, first: bool = False) -> None:
        assert new.caps is not None
        beta, gamma, p, xi = centred_hinge(
            new.caps * self.lam[new.groups], new.omega * mu, new.scores - self.tau[new.groups]
        )
        joining = (new.scores, new.groups, new.omega, new.caps, beta, gamma, xi, p)
        for name, values in zip(self.ROWS, joining, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), values]))
        if first:
            self.theta = self.tau + self.by_group(self.caps * self.xi)
        self._dp = self._dxi = self._dbeta = self._dgamma = np.zeros(len(self))

    def threshold(self, step: float = 0.0) -> Array:
        scores, tau = self.scores, self.tau
        if step:
            scores, tau = scores + step * self._dscores, tau + step * self._dborder[:, 1]
        return np.asarray(tau + self.by_group(self.caps * np.maximum(scores - tau[self.groups], 0)))

    def useful(self) -> Array:
        # The caps must sum to more than one whatever leaves: all stay.
        return np.ones(len(self), dtype=bool)

    def curvature(self) -> Array:
        c = self.caps
        self._f = f = self.p / self.beta
        self._e = e = self.xi / self.gamma
        self._D = 1.0 / (f + e)
        near = e > f
        self.sign, self.pull = np.where(near, -1.0, 1.0), np.where(near, c, 0.0)
        least = np.minimum(e, f) * c
        self.coupling = np.stack([np.zeros(len(self)), -self.sign, least], axis=1)
        border = np.zeros((self.n_groups, 3, 3))
        border[:, 0, 2] = border[:, 2, 0] = -1.0
        border[:, 1, 2] = border[:, 2, 1] = 1.0 - self.by_group(self.pull)
        border[:, 2, 2] = -self.by_group(c * least)
        self.border = border
        self._gap = self.theta - self.tau - self.by_group(self.caps * self.xi)
        return self._D

    def offsets(self, target: float, corrected: bool, alpha_sums: Array) -> tuple[Array, Array]:
        mp = mx = target * self.omega
        if corrected:
            mp, mx = mp - self._dp * self._dbeta, mx - self._dxi * self._dgamma
        self._step_xi = mx / self.gamma - self.xi
        r = mp / self.beta - self.p - self._step_xi
        self._r = self.sign * r
        rhs = np.empty((self.n_groups, 3))
        rhs[:, 0] = self.lam - alpha_sums
        rhs[:, 1] = self.by_group(self.beta) - self.lam
        rhs[:, 2] = self._gap - self.by_group(self.caps * self._step_xi + self.pull * r)
        return self._r, rhs

    def set_direction(self, dscores: Array, db: Array, y: Array | None) -> tuple[float, float]:
        g = self.groups
        self._dscores, self._dborder = dscores, db
        dlam = self.caps * db[g, 2]
        dy = dscores - db[g, 1]
        if y is None:
            y = self._D * (self.sign * dy + np.minimum(self._e, self._f) * dlam + self._r)
        below = self.sign > 0
        self._dbeta = np.where(below, y, dlam - y)
        self._dgamma = np.where(below, dlam - y, y)
        self._dxi = self._step_xi - self._e * self._dgamma
        self._dp = self._dxi - dy
        primal = min(longest_step(self.p, self._dp), longest_step(self.xi, self._dxi))
        dual = min(longest_step(self.beta, self._dbeta), longest_step(self.gamma, self._dgamma))
        return primal, min(dual, longest_step(self.lam, db[:, 2]))

    def dtheta(self, db: Array) -> Array:
        return db[:, 0]

    def complementarity(self, primal_step: float = 0.0, dual_step: float = 0.0) -> float:
        p, xi = self.p + primal_step * self._dp, self.xi + primal_step * self._dxi
        beta, gamma = self.beta + dual_step * self._dbeta, self.gamma + dual_step * self._dgamma
        return float(np.dot(p, beta) + np.dot(xi, gamma))

    def barrier(self, step: float) -> float:
        p, xi = self.p + step * self._dp, self.xi + step * self._dxi
        return -float(np.dot(self.omega, np.log(p) + np.log(xi)))

    def residual(self) -> tuple[float, float]:
        return float(np.abs(self._gap).sum()), float(np.max(self.lam + np.maximum(self._dborder[:, 2], 0)))

    def advance(self, primal_step: float, dual_step: float) -> None:
        self.scores = self.scores + primal_step * self._dscores
        self.theta = self.theta + primal_step * self._dborder[:, 0]
        self.tau = self.tau + primal_step * self._dborder[:, 1]
        self.lam = self.lam + dual_step * self._dborder[:, 2]
        self.xi = self.xi + primal_step * self._dxi
        self.p = self.p + primal_step * self._dp
        self.beta = self.beta + dual_step * self._dbeta
        self.gamma = self.gamma + dual_step * self._dgamma

    def keep(self, which: Array) -> None:
        for name in (*self.ROWS, "_dp", "_dxi", "_dbeta", "_dgamma"):
            setattr(self, name, getattr(self, name)[which])
