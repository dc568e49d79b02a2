"""Infeasible-start primal-dual interior point steps for the top family on a working set of negatives.

    minimise over w, b:   1/2 ||w||^2 + sum_i u_i l(theta(b) - x_i.w)   subject to the block of negatives,

Mehrotra's predictor and corrector with one factorisation a step.  Primal and dual steps differ; the primal one is
halved until the merit function (objective, barrier and an exact penalty on the residual of the newcomers) does not
rise.  Should the corrected direction fail that test, the plain Newton direction, which is one of descent, is taken.

Where a direction is dear, because conjugate gradients over rows find it, and thousands of negatives are active, one
slack near zero would cut every step short, though the direction's end is a far better pair than any point on the way.
There the method leaps: one direction a step, at full length, while each slack and each multiplier is held back on its
own.  What the slacks then lack is a residual like that of newcomers.  A leap counts if it narrows the gap between
primal and dual value; if not, the careful step along the same direction is taken.

The positives are all there, the negatives are those that the caller has added so far; the caller reads ``bound`` (the
dual value, valid for the whole problem) and ``primal`` (the objective on the working set alone) after each step.

References
----------
Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. SIAM J. Optim. 2(4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.top import TopRisk
from shortlist.solvers.interior.choice import choose_system
from shortlist.solvers.interior.negatives import CappedBlock, MaximumBlock, NegativeBlock, Newcomers
from shortlist.solvers.interior.newton_system import NewtonSystem
from shortlist.solvers.interior.positives import positive_block
from shortlist.solvers.rows import Rows, transposed_product

Array = NDArray[Any]

__all__ = ["InteriorPoint", "feasible_beta"]

TO_BOUNDARY = 0.99
LEAP_TARGET = 0.1  # of the complementarity: what a leap aims at
LEAP_GAIN = 0.9  # of the gap: what a leap may leave
SHORT_STEP = 0.2  # a step below this is blamed on an inexact solution of the Newton system


def feasible_beta(beta: Array, lam: Array, groups: Array, caps: Array | None) -> Array:
    """Scale multipliers so that each group sums to ``lam`` and none exceeds its cap; the dual then is feasible."""
    n_groups = len(lam)
    if caps is None:
        sums = np.bincount(groups, weights=beta, minlength=n_groups)
        scaled = beta * (lam / np.maximum(sums, 1e-300))[groups]
    else:
        limit = caps * lam[groups]
        scaled = np.minimum(beta, limit)
        for _ in range(60):
            sums = np.bincount(groups, weights=scaled, minlength=n_groups)
            missing = lam - sums
            if np.all(np.abs(missing) <= 1e-15 * np.maximum(lam, 1e-300)):
                break
            over = missing < 0
            room = np.bincount(groups, weights=limit - scaled, minlength=n_groups)
            # Down: scale all.  Up: close the same share of every row's room, which cannot overshoot.
            shrink = np.where(over, lam / np.maximum(sums, 1e-300), 1.0)[groups]
            grow = np.where(over, 0.0, np.minimum(missing / np.maximum(room, 1e-300), 1.0))[groups]
            scaled = scaled * shrink + (limit - scaled) * grow
    return np.asarray(scaled)


class InteriorPoint:
    """State and steps; see the module.

    Attributes
    ----------
    w : (d,) array
    scores : (m,) array
        Of the positives.
    members : int array
        Positions, among the risk's negatives, of the working rows.
    bound : float
        Largest dual value so far; ``alpha``, and ``beta`` of ``bound_members``, attain it.
    stalled : bool
        No step along the last directions lowered the merit function.
    """

    def __init__(
        self,
        X: Any,
        risk: TopRisk,
        C: float,
        positives: Rows,
        negatives: Rows,
        w: Array,
        theta: Array,
        mu: float,
    ) -> None:
        self.X, self.risk, self.C = X, risk, C
        self.rows, self.negative_rows = positives, negatives
        self.groups = risk.positive_groups
        self.u = C * risk.positive_weights
        self.w = w
        self.members = np.empty(0, dtype=np.intp)
        self.scores = positives.dot(w)
        z = theta[self.groups] - self.scores
        omega = risk.positive_weights * len(self.u)
        self.positive = positive_block(risk.surrogate, self.u, omega, z, mu)
        lam = self._sum(self.positive.alpha())
        self.block: NegativeBlock = (
            MaximumBlock(theta) if risk.caps is None else CappedBlock(theta, np.maximum(lam, 1e-8 * C))
        )
        self.caps: Array | None = None
        if risk.caps is not None:
            # Caps that sum to one (the mean of all) leave no interior; they get a hair of room, which the certificate,
            # computed from the caps themselves, does not.
            total = np.bincount(risk.negative_groups, weights=risk.caps, minlength=risk.n_groups)
            self.caps = risk.caps * np.where(total < 1 + 1e-9, 1 + 1e-9, 1.0)[risk.negative_groups]
        self.bound, self.alpha, self.beta = -np.inf, np.zeros_like(z), np.empty(0)
        self.bound_members = self.members
        self.stalled = False
        self.system: NewtonSystem | None = None

    def _sum(self, alpha: Array) -> Array:
        if self.risk.n_groups == 1:
            return np.array([alpha.sum()])
        return np.bincount(self.groups, weights=alpha, minlength=self.risk.n_groups)

    def mu(self) -> float:
        """Mean complementarity."""
        pairs = self.positive.count + self.block.count
        return (self.positive.complementarity() + self.block.complementarity()) / max(pairs, 1e-300)

    @property
    def sparse(self) -> bool:
        """Whether a working row costs only its own entries."""
        return self.system is not None and not self.system.dense

    # -- the working set ---------------------------------------------------------------------------------------

    def add(
        self, which: Array, scores: Array, mu: float, *, first: bool = False, beta: Array | None = None
    ) -> None:
        """Let negatives ``which`` (positions among the risk's negatives) with these scores join."""
        risk = self.risk
        caps = None if self.caps is None else self.caps[which]
        new = Newcomers(scores, risk.negative_groups[which], risk.negative_weights[which], caps, beta)
        self.block.add(new, mu, first)
        if first:
            # The block has settled its thresholds.
            z = self.block.theta[self.groups] - self.scores
            omega = risk.positive_weights * len(self.u)
            self.positive = positive_block(risk.surrogate, self.u, omega, z, mu)
        self.members = np.concatenate([self.members, which])
        form = choose_system(self.rows, self.groups, self.block, len(self.members))
        if type(form) is not type(self.system):
            if self.system is not None:
                self.rows.regather()
            self.system = form
        self._take_rows()

    def keep(self, which: Array) -> None:
        """Drop all but these of the working negatives."""
        self.members = self.members[which]
        self.block.keep(which)
        self._take_rows()

    def _take_rows(self) -> None:
        assert self.system is not None
        self.system.take_negatives(self.negative_rows, self.members)

    @property
    def working_rows(self) -> Any:
        """The features of the working negatives."""
        assert self.system is not None
        return self.system.rows

    def sharpen(self) -> None:
        """Ask more of an iterative solver of the Newton system."""
        assert self.system is not None
        self.system.forcing = max(0.1 * self.system.forcing, 1e-12)

    # -- steps -------------------------------------------------------------------------------------------------

    def refresh_bound(self) -> tuple[float, float]:
        """Objective and dual value of the current state."""
        alpha = self.positive.alpha()
        self.pulled = self.rows.t_dot(alpha)
        self.alpha_sums = self._sum(alpha)
        beta = self.block.beta
        self.pushed = transposed_product(self.working_rows, beta)
        if self.caps is None and self.risk.n_groups == 1:
            # All multipliers are scaled alike, and with them their sum of rows.
            share = float(self.alpha_sums[0]) / max(float(beta.sum()), 1e-300)
            dual = self._keep_dual(alpha, share * beta, self.pulled - share * self.pushed)
        else:
            dual = self._offer_dual(alpha, self.pulled, self.alpha_sums, beta)
        primal = self._objective(self.w, self.scores, self.block.threshold())
        self._gap = primal - dual
        return primal, dual

    def _offer_dual(self, alpha: Array, pulled: Array, lam: Array, beta: Array) -> float:
        """The dual value of these multipliers, made feasible."""
        caps = None if self.risk.caps is None else self.risk.caps[self.members]
        beta = feasible_beta(beta, lam, self.block.groups, caps)
        return self._keep_dual(alpha, beta, pulled - transposed_product(self.working_rows, beta))

    def _keep_dual(self, alpha: Array, beta: Array, v: Array) -> float:
        """The dual value of feasible multipliers whose rows sum to v; kept if it is the best."""
        dual = -0.5 * float(v @ v) - self.risk.conjugate(alpha, self.C)
        if dual > self.bound:
            self.bound, self.alpha, self.beta, self.bound_members = dual, alpha, beta, self.members
        return dual

    def _objective(self, w: Array, scores: Array, thresholds: Array) -> float:
        """Of the working set."""
        z = thresholds[self.groups] - scores
        return 0.5 * float(w @ w) + float(np.dot(self.u, self.risk.surrogate.value(z)))

    def step(self, enough: float) -> None:
        """One step; call ``refresh_bound`` before.

        A gap below ``enough`` is of no use to the caller: the complementarity is not driven further down than that
        takes, for multipliers are differences of scores times curvatures, and these would drown in rounding.
        """
        assert self.system is not None
        positive, block = self.positive, self.block
        self.system.update(positive.curvature(), block.curvature())
        self.gradient = self.pulled - self.pushed - self.w
        mu, count = self.mu(), max(positive.count + block.count, 1e-300)
        least = min(enough / count, mu)
        if self.system.leaps and positive.leaps and block.leaps:
            target = max(LEAP_TARGET * mu, least, min(mu, self.system.lag * self._gap / count))
            self._direction(target, corrected=False)
            if self._leap():
                return
            ap, ad, fell = self._careful(target, 40)
        else:
            target = max(self._predict(mu, count), least)
            self._direction(target, corrected=True)
            ap, ad, fell = self._careful(target, 4)
            if not fell:
                self._direction(target, corrected=False)
                ap, ad, fell = self._careful(target, 40)
        self.stalled |= not fell
        if min(ap, ad) < SHORT_STEP:
            self.sharpen()
        self.w = self.w + ap * self._dw
        self.scores = self.scores + ap * self._dscores
        positive.advance(ap, ad)
        block.advance(ap, ad)

    def _predict(self, mu: float, count: float) -> float:
        """The complementarity to aim at, from what the direction towards none would reach."""
        self._direction(0.0, corrected=False)
        ap, ad = (min(1.0, x) for x in self._reach)
        after = (self.positive.complementarity(ap, ad) + self.block.complementarity(ap, ad)) / count
        return min(max(after / mu, 0.0) ** 3, 1.0) * mu if mu > 0 else 0.0

    def _careful(self, target: float, trials: int) -> tuple[float, float, bool]:
        """Primal and dual steps that keep all slacks and multipliers positive; whether the merit function allows it."""
        ap, ad = (min(1.0, TO_BOUNDARY * x) for x in self._reach)
        ap, fell = self._search(ap, target, trials)
        return ap, ad, fell

    def _leap(self) -> bool:
        """Go to the end of the direction, if the gap between primal and dual value is smaller there."""
        positive, block = self.positive, self.block
        w, scores = self.w + self._dw, self.scores + self._dscores
        alpha = positive.alpha(1.0)
        end = self._objective(w, scores, block.threshold(1.0))
        dual = self._offer_dual(alpha, self.rows.t_dot(alpha), self._sum(alpha), block.beta_ahead())
        if not end - dual <= LEAP_GAIN * self._gap:
            return False
        self.w, self.scores = w, scores
        positive.advance(1.0, 1.0)
        block.leap()
        return True

    def _direction(self, target: float, corrected: bool) -> None:
        assert self.system is not None
        positive, block = self.positive, self.block
        r_pos = positive.offsets(target, corrected)
        r_neg, r_b = block.offsets(target, corrected, self.alpha_sums)
        dw, db, y = self.system.solve(self.gradient, r_b, r_pos, r_neg)
        self._dw = dw
        primal, dual = block.set_direction(np.asarray(self.working_rows @ dw), db, y)
        # A smooth surrogate has no boundary to run into: the predictor can do without its scores.
        if target > 0 or positive.count > 0:
            self._dscores = self.rows.dot(dw)
            reach = positive.set_direction(block.dtheta(db)[self.groups] - self._dscores)
            primal, dual = min(primal, reach[0]), min(dual, reach[1])
        self._reach = primal, dual

    def _search(self, longest: float, target: float, trials: int) -> tuple[float, bool]:
        """Halve the step until the merit function does not rise."""
        mu = max(target, 1e-300)
        residual, penalty = self.block.residual()
        ww, wd, dd = (float(a @ b) for a, b in ((self.w, self.w), (self.w, self._dw), (self._dw, self._dw)))

        def merit(a: float) -> float:
            quadratic = 0.5 * (ww + 2 * a * wd + a * a * dd)
            return (
                quadratic
                + self.positive.merit(a, mu)
                + mu * self.block.barrier(a)
                + 1.1 * penalty * (1 - a) * residual
            )

        start, a = merit(0.0), longest
        for _ in range(trials):
            if merit(a) <= start + 1e-11 * abs(start):
                return a, True
            a *= 0.5
        return 0.0, False
