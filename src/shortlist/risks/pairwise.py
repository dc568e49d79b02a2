"""Mean surrogate loss over pairs of rows of which one is better: RankSVM and its kin.

    risk(s) = sum over pairs with y_i < y_j of one group  omega_ij l(s_i - s_j)  /  sum of omega_ij,
    omega_ij = a_i a_j (y_j - y_i)^p,

with row weights a and the power p of the preference's magnitude: 0, every pair alike; 1, by the difference of the
labels; 2, by its square.  Two labels without weights: the mean over the m n pairs of a positive and a negative, whose
step loss is 1 - AUC.

With sums over the active pairs of ``risks.preferences``, T_i[f] = sum_j omega_ij f_j / a_i and T_i = T_i[1],

    hinge           slope  a_i T_i  of the worse row,  - a_j T_j  of the better one,
    squared hinge   slope  2 a_i ((1 + z_i) T_i - T_i[z]),   - 2 a_j ((1 - z_j) T_j + T_j[z]),
                    Hessian  v -> 2 a (v T - T[v]).

The logistic loss log(1 + e^z) has the same with its value, slope or curvature as a further weight of a pair
(``risks.logistic_pairs``), and all pairs are active.

A power of a difference is a sum of products of powers: p + 1 prefix sums each in place of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.discordance import distinct_numbers
from shortlist.risks.logistic_pairs import KernelHalves, LogisticPairs
from shortlist.risks.preferences import Halves, Preferences

Array = NDArray[Any]

__all__ = ["LOSSES", "PairwiseRisk"]

LOSSES = ("squared_hinge", "hinge", "logistic")


@dataclass(frozen=True)
class PairwiseRisk:
    """Scores in, mean loss of all preferences out; sees labels, groups and weights, never X.

    Attributes
    ----------
    loss : {'squared_hinge', 'hinge', 'logistic'}
    power : {0, 1, 2}
        Of the labels' difference, as a pair's weight.
    n_rows : int
        Scores expected.
    rows : (m,) int array
        The rows of positive weight, by group, then by label.
    y, weights : (m,) arrays
        Of these rows; y less the least of the group, and the largest of these is 1.
    starts : (n_groups + 1,) int array
        Where each group begins, and the end.
    pairs : Preferences
    total : float
        Weight of all pairs.
    """

    loss: str
    power: int
    n_rows: int
    rows: Array
    y: Array
    weights: Array
    starts: Array
    pairs: Preferences
    total: float

    nonnegative = True

    @classmethod
    def from_labels(
        cls,
        y: Array,
        loss: str = "squared_hinge",
        power: int = 0,
        *,
        groups: Array | None = None,
        sample_weight: Array | None = None,
        needs_pairs: bool = True,
    ) -> PairwiseRisk:
        """Sort the rows by group and label; rows of weight 0 do not exist.

        Where no rows of a group differ in their label there is nothing to rank: an error, or with ``needs_pairs=False``
        a risk that is 0 everywhere.

        Raises
        ------
        ValueError
            For a loss or a power that there is not; where there is nothing to rank.

        Examples
        --------
        Of four pairs one is misplaced by 1, which costs 2, and one is tied, which costs 1.

        >>> risk = PairwiseRisk.from_labels(np.array([0, 0, 1, 1]), "hinge")
        >>> risk.value(np.array([2.0, 0.0, 1.0, 2.0]))
        0.75
        """
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {loss!r}")
        if power not in (0, 1, 2):
            raise ValueError(f"power must be 0, 1 or 2, the power of the labels' difference, got {power!r}")
        y = np.asarray(y, dtype=np.float64)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        codes = np.zeros(len(y), dtype=np.intp) if groups is None else np.asarray(groups)
        rows = np.flatnonzero(weights > 0)
        rows = rows[np.lexsort((y[rows], codes[rows]))]
        code, a = codes[rows], weights[rows]
        differs = (code[1:] == code[:-1]) & (y[rows][1:] != y[rows][:-1])
        if not len(rows) or (needs_pairs and not differs.any()):
            raise ValueError(
                "no group holds two rows of positive weight with different labels, so there is nothing to rank"
            )
        starts = np.append(np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])), len(rows))
        gaps = y[rows] - np.repeat(y[rows][starts[:-1]], np.diff(starts))
        risk = cls(
            loss=loss,
            power=int(power),
            n_rows=len(y),
            rows=rows,
            # Only ratios of gaps matter: with the largest 1 no power of them overflows.
            y=gaps / max(float(gaps.max()), float(np.finfo(np.float64).tiny)),
            weights=a,
            starts=starts,
            pairs=(LogisticPairs if loss == "logistic" else Preferences)(distinct_numbers(y[rows], starts), starts),
            total=1.0,
        )
        total = sum(float(a[h.low] @ risk._partners(h, np.ones(len(rows)))[0]) for h in risk.pairs.all_pairs())
        return replace(risk, total=total if total > 0 else 1.0)

    @property
    def row_weights(self) -> Array:
        """The share of each row in the pairs, sum 1."""
        return self._spread(self.pairs.all_pairs()) / 2

    def row_curvature(self, scores: Array) -> Array:
        """The diagonal of the Hessian; smooth losses only."""
        return self._second * self._spread(self._curved(self._centred(np.asarray(scores, dtype=np.float64)[self.rows])))

    def _curved(self, z: Array) -> Sequence[Halves | KernelHalves]:
        """The halves whose pairs weigh the second derivative of the loss."""
        return self.pairs.weighed(z, 2) if isinstance(self.pairs, LogisticPairs) else self.pairs.active(z)

    def _spread(self, halves: Sequence[Halves | KernelHalves]) -> Array:
        """Weight of the pairs that each row is in."""
        total, ones = np.zeros(len(self.rows)), np.ones(len(self.rows))
        for h in halves:
            over, under = self._partners(h, ones)
            total[h.low] += self.weights[h.low] * over
            total[h.high] += self.weights[h.high] * under
        out = np.zeros(self.n_rows)
        out[self.rows] = total / self.total
        return out

    @property
    def _second(self) -> float:
        """The second derivative of the loss over the weight that the halves give a pair."""
        return 1.0 if self.loss == "logistic" else 2.0

    @property
    def smooth(self) -> bool:
        """Whether the risk has a continuous gradient, and so ``hessian``."""
        return self.loss != "hinge"

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_and_subgradient(scores)[0]

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The risk and one of its subgradients, one number a row."""
        z, a = self._centred(np.asarray(scores, dtype=np.float64)[self.rows]), self.weights
        value, slope, ones = 0.0, np.zeros(len(z)), np.ones(len(z))
        if isinstance(self.pairs, LogisticPairs):
            value, slope = self._logistic(self.pairs, z)
            return self._shared(value, slope)
        for h in self.pairs.active(z):
            low, high = a[h.low], a[h.high]
            over, under = self._partners(h, ones)
            if self.loss == "hinge":
                up, down = low * over, high * under
                value += float(up @ (1.0 + z[h.low])) - float(down @ z[h.high])
            else:
                over_z, under_z = self._partners(h, z)
                up = 2.0 * low * ((1.0 + z[h.low]) * over - over_z)
                down = 2.0 * high * ((1.0 - z[h.high]) * under + under_z)
                value += 0.5 * (float(up @ (1.0 + z[h.low])) - float(down @ z[h.high]))
            slope[h.low] += up
            slope[h.high] -= down
        return self._shared(value, slope)

    def _logistic(self, pairs: LogisticPairs, z: Array) -> tuple[float, Array]:
        """Sum over the pairs and its slope."""
        value, slope, ones = 0.0, np.zeros(len(z)), np.ones(len(z))
        for worth, steep in zip(pairs.weighed(z, 0), pairs.weighed(z, 1), strict=True):
            value += float(self.weights[worth.low] @ self._partners(worth, ones)[0])
            over, under = self._partners(steep, ones)
            slope[steep.low] += self.weights[steep.low] * over
            slope[steep.high] -= self.weights[steep.high] * under
        return value, slope

    def _shared(self, value: float, slope: Array) -> tuple[float, Array]:
        """A sum over pairs and its slope, as a mean."""
        gradient = np.zeros(self.n_rows)
        gradient[self.rows] = slope / self.total
        return max(value / self.total, 0.0), gradient

    def hessian(self, scores: Array) -> Callable[[Array], Array]:
        """Product of a (generalised) Hessian with a vector of one number a row; smooth losses only."""
        if not self.smooth:
            raise ValueError(f"the loss {self.loss!r} has kinks, so it has no Hessian")
        z = self._centred(np.asarray(scores, dtype=np.float64)[self.rows])
        curved, ones = self._curved(z), np.ones(len(z))
        mass = [self._partners(h, ones) for h in curved]
        scale = self.weights * self._second / self.total

        def product(v: Array) -> Array:
            v = v[self.rows]
            pulled = np.zeros(len(v))
            for h, (over, under) in zip(curved, mass, strict=True):
                over_v, under_v = self._partners(h, v)
                pulled[h.low] += v[h.low] * over - over_v
                pulled[h.high] += v[h.high] * under - under_v
            out = np.zeros(self.n_rows)
            out[self.rows] = scale * pulled
            return out

        return product

    def _partners(self, h: Halves | KernelHalves, f: Array) -> tuple[Array, Array]:
        """T[f] of the lower and of the higher rows: sums over the partners of their weight, the gap's power and f."""
        a, y = self.weights, self.y
        low, high = a[h.low] * f[h.low], a[h.high] * f[h.high]
        if self.power == 0:
            return h.sums(low, high)
        y_low, y_high = y[h.low], y[h.high]
        over, under = np.zeros(len(low)), np.zeros(len(high))
        for k in range(self.power + 1):
            n, rest = comb(self.power, k), self.power - k
            above, below = h.sums(low * (-y_low) ** k, high * y_high**k)
            over += n * (-y_low) ** rest * above
            under += n * y_high**rest * below
        return over, under

    def _centred(self, z: Array) -> Array:
        """Less a mean of each group: differences within groups are what counts, and they keep their digits."""
        if len(self.starts) == 2:
            return np.asarray(z - z.mean())
        sizes = np.diff(self.starts)
        return np.asarray(z - np.repeat(np.add.reduceat(z, self.starts[:-1]) / sizes, sizes))
