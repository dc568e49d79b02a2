"""Costs of pairs that keep the magnitude of preferences: hinge rank, magnitude preserving, and their kin.

For a pair of rows with D = s_j - s_i and Y = y_j - y_i, and n = 1 or 2 (Cortes, Mohri, Rastogi 2007, (4) to (7)):

    hr    0 where D Y >= 0, else |D|^n
    mp    |D - Y|^n
    hmp   0 where D Y >= 0, else |D - Y|^n
    svr   (|D - Y| - epsilon)_+^n

The risk is their mean over all ordered pairs of a group: the weight of a pair is the product of its rows' weights, and
the divisor is the sum over the groups of the squared weight.  Values and subgradients take O(m log m): a sort of the
residuals r = s - y and prefix sums for `mp` and `svr`, the sums of ``risks.discordance`` for the one-sided costs.

**c_HMP is not convex**: as D tends to 0 from the wrong side it tends to |Y|^n, and at 0 it is 0.  Training uses the
convex closure of each pair's cost, the largest convex function below it.  With Y > 0 and u = -D,

    n = 1:  u_+                 n = 2:  4 Y u_+ + (u - Y)_+^2,   that is 4 Y u up to u = Y, then (u + Y)^2.

*Proof.*  An affine function a u + b lies below the cost iff a u + b <= 0 for u <= 0 and a u + b <= (u + Y)^n for
u > 0.  The first says a >= 0 and b <= 0.  For b = 0 the largest slope that the second allows is the least over v > 0 of
(v + Y)^n / v: 1 for n = 1 (as v grows), 4 Y for n = 2 (at v = Y).  No b < 0 does better at any u up to Y, nor at any u
for n = 1, where the slope is at most 1 for every b.  For n = 2 and u > Y the tangent of (u + Y)^2 at u is below the
cost, its value at 0 being Y^2 - u^2 < 0, and touches it.  The supremum of the affine functions below is the closure.

So the closure of order 1 is `hr`.  And like `hr` the closure is 0 at constant scores: **w = 0 minimises both, whatever
C**, and that is so for the costs as printed.  `one_sided='hinge'` trains `hmp` on (Y - D)_+^n instead, for Y > 0: the
cost itself wherever a pair is misranked, and a price for a difference that is right in sign but too small.

**Equation (7)** as printed, | (D - Y) - epsilon |^n outside of the tube, lacks the inner absolute value: over both
orders of a pair it sums to 2 |D - Y| for n = 1, and jumps at the tube's edge.  SVRank's constraints in section 2.4 are
the cost above.

The one-sided costs are sums over discordant pairs: with z = s for `hr`, z = s + y for the closure's second term
(u - Y = z_i - z_j) and z = s - y for the hinge (Y - D = z_i - z_j).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.discordance import Discordance, distinct_numbers

Array = NDArray[Any]

__all__ = ["COSTS", "MagnitudeRisk", "printed_cost"]

COSTS = ("hr", "mp", "hmp", "svr")


@dataclass(frozen=True)
class MagnitudeRisk:
    """Scores in, mean cost of all pairs out; sees labels, groups and weights, never X.

    Attributes
    ----------
    cost : {'hr', 'mp', 'hmp', 'svr'}
    order : {1, 2}
    epsilon : float
        Half the width of the tube of 'svr'.
    one_sided : {'closure', 'hinge'}
        Convex form of 'hmp'.
    n_rows : int
        Scores expected.
    rows : (m,) int array
        The rows of positive weight, by group, then by label.
    y, weights : (m,) arrays
        Of these rows; y less its mean in the group.
    starts : (n_groups + 1,) int array
        Where each group begins, and the end.
    n_pairs : float
        Weight of all ordered pairs.
    discordance : Discordance
    """

    cost: str
    order: int
    epsilon: float
    one_sided: str
    n_rows: int
    rows: Array
    y: Array
    weights: Array
    starts: Array
    n_pairs: float
    discordance: Discordance

    nonnegative = True

    @classmethod
    def from_labels(
        cls,
        y: Array,
        cost: str = "svr",
        order: int = 1,
        epsilon: float = 0.0,
        *,
        one_sided: str = "closure",
        groups: Array | None = None,
        sample_weight: Array | None = None,
    ) -> MagnitudeRisk:
        """Sort the rows by group and label; rows of weight 0 do not exist.

        Examples
        --------
        >>> risk = MagnitudeRisk.from_labels(np.array([1.0, 2.0, 3.0]), "mp")
        >>> round(risk.value(np.array([2.0, 3.0, 7.0])), 4)
        1.3333
        """
        if cost not in COSTS:
            raise ValueError(f"cost must be one of {', '.join(map(repr, COSTS))}, got {cost!r}")
        if order not in (1, 2):
            raise ValueError(f"order must be 1 or 2, the power of the cost, got {order!r}")
        if one_sided not in ("closure", "hinge"):
            raise ValueError(f"one_sided must be 'closure' or 'hinge', got {one_sided!r}")
        if not (np.isfinite(epsilon) and epsilon >= 0):
            raise ValueError(f"epsilon must be a finite number of at least 0, got {epsilon!r}")
        y = np.asarray(y, dtype=np.float64)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        codes = np.zeros(len(y), dtype=np.intp) if groups is None else np.asarray(groups)
        rows = np.flatnonzero(weights > 0)
        if not len(rows):
            raise ValueError("no row has a positive weight, so there is no pair to learn from")
        rows = rows[np.lexsort((y[rows], codes[rows]))]
        code, w = codes[rows], weights[rows]
        starts = np.append(np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])), len(rows))
        totals = np.add.reduceat(w, starts[:-1])
        discordance = Discordance(distinct_numbers(y[rows], starts), starts)
        return cls(
            cost=cost,
            order=order,
            epsilon=float(epsilon) if cost == "svr" else 0.0,
            one_sided=one_sided,
            n_rows=len(y),
            rows=rows,
            y=_centred(y[rows], w, starts),
            weights=w,
            starts=starts,
            n_pairs=float(totals @ totals),
            discordance=discordance,
        )

    @property
    def smooth(self) -> bool:
        """Whether the risk has a continuous gradient, and so ``hessian``."""
        return self.order == 2 and (self.cost != "hmp" or self.one_sided == "hinge")

    @property
    def vanishes_at_zero(self) -> bool:
        """Whether constant scores cost nothing whatever the labels, so that w = 0 is the optimum for every C."""
        return self.cost == "hr" or (self.cost == "hmp" and self.one_sided == "closure")

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_and_subgradient(scores)[0]

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The risk and one of its subgradients, one number a row."""
        s = np.asarray(scores, dtype=np.float64)[self.rows]
        if self.cost in ("mp", "svr"):
            total, slope = self._two_sided(s - self.y)
        elif self.cost == "hmp" and self.one_sided == "hinge":
            total, slope = self._discordant(s - self.y, self.order)
        elif self.cost == "hr" or self.order == 1:
            total, slope = self._discordant(s, self.order)
        else:
            total, slope = self._closure(s)
        gradient = np.zeros(self.n_rows)
        gradient[self.rows] = slope * (2.0 / self.n_pairs)
        return max(float(total) * 2.0 / self.n_pairs, 0.0), gradient

    def hessian(self, scores: Array) -> Callable[[Array], Array]:
        """Product of a (generalised) Hessian with a vector of one number a row; smooth risks only."""
        if not self.smooth:
            raise ValueError(f"the cost {self.cost!r} of order {self.order} has kinks, so it has no Hessian")
        s, w = np.asarray(scores, dtype=np.float64)[self.rows], self.weights
        if self.cost in ("mp", "svr"):
            r = _centred(s - self.y, w, self.starts)
            order = self.discordance.order(r)
            lower, upper = self._tube(r[order])

            def apply(v: Array) -> Array:
                count, moment = (self._outside(a[order], lower, upper) for a in (w, w * v))
                out = np.empty(len(v))
                out[order] = 2.0 * w[order] * (v[order] * sum(count) - sum(moment))
                return out

        else:
            order = self.discordance.order(s if self.cost == "hr" else s - self.y)
            mass = sum(self.discordance.partners(order, w))

            def apply(v: Array) -> Array:
                return np.asarray(2.0 * w * (v * mass - sum(self.discordance.partners(order, w * v))))

        def product(v: Array) -> Array:
            out = np.zeros(self.n_rows)
            out[self.rows] = apply(_centred(v[self.rows], w, self.starts)) * (2.0 / self.n_pairs)
            return out

        return product

    def minimise_along(self, scores: Array, along: Array, linear: float, quadratic: float) -> float | None:
        """The t with the least ``linear t + quadratic t^2 / 2 + risk(scores + t along)``, if in closed form."""
        if self.order == 1 or self.cost not in ("mp", "svr") or self.epsilon > 0:
            return None
        _, slope = self.value_and_subgradient(scores)
        # The gradient is linear: its change along the way is the curvature times the way.
        _, there = self.value_and_subgradient(scores + along)
        return -(linear + float(slope @ along)) / (quadratic + float((there - slope) @ along))

    def _two_sided(self, r: Array) -> tuple[float, Array]:
        """Half the sum over ordered pairs of (|r_j - r_i| - epsilon)_+^n, and its gradient."""
        w, r = self.weights, _centred(r, self.weights, self.starts)
        if self.order == 2 and self.epsilon == 0:
            mass = np.repeat(np.add.reduceat(w, self.starts[:-1]), np.diff(self.starts))
            slope = 2.0 * w * mass * r
            return float(slope @ r) / 2.0, slope
        order = self.discordance.order(r)
        r, w = r[order], w[order]
        lower, upper = self._tube(r)
        (below, above), (below_r, above_r) = (self._outside(a, lower, upper) for a in (w, w * r))
        # What rows below exceed the tube by, and what rows above do: the same pairs, seen from both ends.
        under = (r - self.epsilon) * below - below_r
        if self.order == 1:
            total, part = w @ under, w * (below - above)
        else:
            over = above_r - (r + self.epsilon) * above
            part = 2.0 * w * (under - over)
            # sum of w (r - eps) under - w r over, the excess split between the two rows of a pair
            total = w @ ((r - self.epsilon) * under) - w @ (r * over)
        slope = np.empty(len(r))
        slope[order] = part
        return float(total), slope

    def _tube(self, r: Array) -> tuple[Array, Array]:
        """For sorted residuals: how many rows lie below each row's tube, and where those above it begin.

        Both as places in the whole array. The second follows from the first by counting, so that rounding cannot make a
        pair count at one of its ends only: that would not be a subgradient.
        """
        lower = _first_not_below(r, r - self.epsilon, self.starts)
        ends = np.repeat(self.starts[1:], np.diff(self.starts))
        upper = np.minimum(np.searchsorted(lower, np.arange(len(r)), side="right"), ends)
        return lower, upper

    def _outside(self, a: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Sums of ``a`` over the rows of the group below, and above, each row's tube."""
        sizes = np.diff(self.starts)
        prefix = np.concatenate([[0.0], np.cumsum(a)])
        below = prefix[lower] - np.repeat(prefix[self.starts[:-1]], sizes)
        return below, np.repeat(prefix[self.starts[1:]], sizes) - prefix[upper]

    def _discordant(self, z: Array, n: int) -> tuple[float, Array]:
        """Sum over discordant pairs of w_i w_j (z_i - z_j)^n: homogeneous, so slope @ z = n * sum."""
        w, z = self.weights, _centred(z, self.weights, self.starts)
        order = self.discordance.order(z)
        if n == 1:
            high, low = self.discordance.partners(order, w)
            slope = w * (high - low)
        else:
            high, low, high_z, low_z = self.discordance.partners(order, w, w * z)
            slope = 2.0 * w * (z * (high + low) - high_z - low_z)
        return float(slope @ z) / n, slope

    def _closure(self, s: Array) -> tuple[float, Array]:
        """The convex closure of 'hmp' of order 2: 4 Y u_+ + (u - Y)_+^2."""
        w, y = self.weights, self.y
        s = _centred(s, w, self.starts)
        high, low, high_y, low_y = self.discordance.partners(self.discordance.order(s), w, w * y)
        slope = 4.0 * w * (high_y + low_y - y * (high + low))
        rest, rest_slope = self._discordant(s + y, 2)
        return float(slope @ s) + rest, slope + rest_slope


def printed_cost(risk: MagnitudeRisk, scores: Array) -> float:
    """Mean over all ordered pairs of the cost as printed: c_HMP with its jump, the others as the risk has them.

    Examples
    --------
    A pair that is tied costs nothing, one that is barely misranked costs the whole difference of the labels; its convex
    closure starts from 0.

    >>> risk = MagnitudeRisk.from_labels(np.array([0.0, 1.0]), "hmp", 2)
    >>> [round(2 * printed_cost(risk, np.array([u, 0.0])), 3) for u in (0.0, 0.001, 1.0)]
    [0.0, 1.002, 4.0]
    >>> [round(2 * risk.value(np.array([u, 0.0])), 3) for u in (0.0, 0.001, 1.0)]
    [0.0, 0.004, 4.0]
    """
    if risk.cost != "hmp":
        return risk.value(scores)
    s, w = np.asarray(scores, dtype=np.float64)[risk.rows], risk.weights
    order = risk.discordance.order(s)
    r = _centred(s - risk.y, w, risk.starts)
    high, _, high_r, _, high_rr, _ = risk.discordance.partners(order, w, w * r, w * r * r)
    if risk.order == 1:
        total = w @ (r * high - high_r)
    else:
        total = w @ (r * r * high - 2.0 * r * high_r + high_rr)
    return float(total) * 2.0 / risk.n_pairs


def _centred(a: Array, weights: Array, starts: Array) -> Array:
    """Less the weighted mean of each group: differences within groups are what counts, and they keep their digits."""
    mass = np.add.reduceat(weights, starts[:-1])
    a = a - np.repeat(a[starts[:-1]], np.diff(starts))
    return np.asarray(a - np.repeat(np.add.reduceat(weights * a, starts[:-1]) / mass, np.diff(starts)))


def _first_not_below(r: Array, at: Array, starts: Array) -> Array:
    """For sorted rows of groups: the first place of each row's group whose ``r`` is not below the row's ``at``."""
    if len(starts) == 2:
        return np.searchsorted(r, at, side="left")
    sizes = np.diff(starts)
    first, last = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes)
    while True:
        open_ = np.flatnonzero(first < last)
        if not len(open_):
            return first
        middle = (first[open_] + last[open_]) // 2
        below = r[middle] < at[open_]
        first[open_] = np.where(below, middle + 1, first[open_])
        last[open_] = np.where(below, last[open_], middle)
