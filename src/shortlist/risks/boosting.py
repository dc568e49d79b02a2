"""The exponential risks of boosting: of labels, in O(n) whatever the number of pairs, and of explicit preferences.

A row k stands at the height ``u_k = sum of v_i exp(s_k - s_i)`` over the rows i of its group that belong above it.  The
risk is the p-norm of the heights,

    L(s) = (sum_k v_k u_k^p)^(1/p) / the same at equal scores,

so that equal scores cost 1.  p = 1 is RankBoost's mean of exp(s_k - s_i) over all pairs, two labels give the P-Norm
Push, and p -> infinity the largest height, the exponential loss of the Infinite Push.

**Cells.** The rows of one group and one label are a cell c.  With A_c = sum of v_i exp(-s_i) and B_c = sum of
v_k exp(p s_k) over its rows, and A_above(c) the sum of A over the higher cells of the group,

    L^p is in proportion to the sum over cells of A_above(c)^p B_c.

All sums are kept as logarithms, each cell with a largest term of its own: no spread of scores overflows.

**Potentials.** log L is convex, and minus its gradient is the potential pi: what a row would pull upwards (as one that
belongs above others) less what it would pull downwards.  Both sides sum to 1.  The edge of a weak ranker h is pi.h, and
Freund's r for p = 1.

**Steps.** Of a ranker with values 0 and 1 let W+ be the weight of the pairs that it orders rightly, W- of those that it
turns round.  For p = 1, and for two labels in one group at any p, log L(s + t h) is least at
t = log(W+ / W-) / (p + 1): its derivative is a positive multiple of W- exp((p+1) t / 2) - W+ exp(-(p+1) t / 2).

References: Freund, Iyer, Schapire, Singer, JMLR 4, 2003; Rudin, JMLR 10, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["BoostingRisk", "ExponentialRisk", "PreferenceRisk", "Weighing"]


class Weighing(Protocol):
    """A risk at some scores."""

    @property
    def log_loss(self) -> float:
        """log L."""

    @property
    def potentials(self) -> Array:
        """Minus the gradient of log L."""

    def step(self, up: Array) -> float | None:
        """The best step along the ranker 1 on ``up``, 0 elsewhere; None where there is no closed form."""


class BoostingRisk(Protocol):
    """What the solver asks of a risk."""

    @property
    def curvature(self) -> float:
        """A bound on the second derivative of log L along a ranker with values in an interval of length 1."""

    def at(self, scores: Array) -> Weighing: ...


@dataclass(frozen=True)
class ExponentialRisk:
    """The p-norm of the heights, over the rows that have to be compared.

    Attributes
    ----------
    rows : (n_used,) int array
        Rows that take part, cell by cell: groups one after the other, labels ascending.
    log_weights : (n_used,) array
    starts : (n_cells,) int array
        First place of each cell in ``rows``.
    first : (n_cells,) int array
        First cell of each cell's group.
    p : float
    n_rows : int
    log_scale : float
        Of the p-norm at equal scores, whose loss is 1.
    """

    rows: Array
    log_weights: Array
    starts: Array
    first: Array
    p: float
    n_rows: int
    log_scale: float

    @classmethod
    def of(
        cls, labels: Array, p: float = 1.0, groups: Array | None = None, sample_weight: Array | None = None
    ) -> ExponentialRisk:
        """The risk of labels, higher ones belonging above; groups of rows of one label take no part.

        >>> risk = ExponentialRisk.of(np.array([1, 0, 0]))
        >>> round(float(np.exp(risk.at(np.array([0.0, 0.0, np.log(3.0)])).log_loss)), 6)
        2.0
        """
        codes = np.zeros(len(labels), dtype=np.intp) if groups is None else groups
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        rows = np.lexsort((labels, codes))
        rows = rows[weights[rows] > 0]
        new_group = np.diff(codes[rows], prepend=-1) != 0
        new_cell = new_group | (np.diff(labels[rows], prepend=-1) != 0)
        cell, group = np.cumsum(new_cell) - 1, np.cumsum(new_group) - 1
        cells_of = np.bincount(group[new_cell])
        used = cells_of[group] > 1
        if not used.any():
            raise ValueError("there is nothing to rank: no group holds rows of both classes with a positive weight")
        rows, cell, group, new_cell = rows[used], cell[used], group[used], new_cell[used]
        starts = np.flatnonzero(new_cell)
        of_cell = group[starts]
        first = np.searchsorted(of_cell, of_cell)
        mass = np.add.reduceat(weights[rows], starts)
        last = np.searchsorted(of_cell, of_cell, side="right") - 1
        lower = last > np.arange(len(starts))
        running = np.cumsum(mass)
        log_scale = _log_sum(p * np.log((running[last] - running)[lower]) + np.log(mass[lower])) / p
        return cls(rows, np.log(weights[rows]), starts, first, float(p), len(labels), float(log_scale))

    @property
    def curvature(self) -> float:
        return self.p + 0.25

    @property
    def closed(self) -> bool:
        """Whether rankers of two values have a best step in closed form."""
        return self.p == 1 or len(self.starts) == 2

    def at(self, scores: Array) -> _Weighed:
        """The risk at given scores, in O(n_used + n_cells log n_cells)."""
        z = scores[self.rows]
        log_a, shares_up = self._pooled(self.log_weights - z)
        log_b, shares_down = self._pooled(self.log_weights + self.p * z)
        above = self.above(log_a)
        terms = self.p * above + log_b
        total = _log_sum(terms)
        pulled_down = np.exp(terms - total)
        has_above = above > -np.inf
        owed = np.full(len(above), -np.inf)
        owed[has_above] = terms[has_above] - total - above[has_above]
        pulled_up = np.exp(log_a + self._below(owed))
        potentials = np.zeros(self.n_rows)
        sizes = self._sizes
        potentials[self.rows] = np.repeat(pulled_up, sizes) * shares_up - np.repeat(pulled_down, sizes) * shares_down
        log_loss = total / self.p - self.log_scale
        return _Weighed(self, log_loss, potentials, log_a, above, pulled_down, shares_up, shares_down)

    @cached_property
    def _sizes(self) -> Array:
        return np.diff(self.starts, append=len(self.rows))

    def _pooled(self, logs: Array) -> tuple[Array, Array]:
        """The logarithm of each cell's sum, and the rows' shares of it."""
        sizes = self._sizes
        largest = np.maximum.reduceat(logs, self.starts)
        terms = np.exp(logs - np.repeat(largest, sizes))
        sums = np.add.reduceat(terms, self.starts)
        return largest + np.log(sums), terms / np.repeat(sums, sizes)

    def above(self, logs: Array) -> Array:
        """For each cell the logarithm of the sum over the higher cells of its group."""
        first = len(logs) - 1 - self._last
        return _before(logs[::-1], first[::-1])[::-1]

    def _below(self, logs: Array) -> Array:
        return _before(logs, self.first)

    @cached_property
    def _last(self) -> Array:
        return np.searchsorted(self.first, self.first, side="right") - 1


@dataclass(frozen=True)
class _Weighed:
    """The risk of labels at some scores: cells' sums, rows' shares."""

    risk: ExponentialRisk
    log_loss: float
    potentials: Array
    log_a: Array
    above: Array
    pulled_down: Array
    shares_up: Array
    shares_down: Array

    def step(self, up: Array) -> float | None:
        if not self.risk.closed:
            return None
        chosen = up[self.risk.rows]
        right, wrong = self._weight(chosen, ~chosen), self._weight(~chosen, chosen)
        return _best_step(right, wrong, self.risk.p)

    def _weight(self, higher: Array, lower: Array) -> float:
        """Weight of the pairs whose upper row is one of ``higher`` and whose lower row is one of ``lower``."""
        starts = self.risk.starts
        with np.errstate(divide="ignore"):
            part = np.log(np.add.reduceat(self.shares_up * higher, starts))
        here = self.above > -np.inf
        share = np.exp(self.risk.above(self.log_a + part)[here] - self.above[here])
        return float((self.pulled_down * np.add.reduceat(self.shares_down * lower, starts))[here] @ share)


def _log_sum(logs: Array) -> float:
    """log of the sum of exp; not SciPy's, which takes longer to look at its arguments than to add them."""
    largest = float(logs.max())
    return largest + float(np.log(np.exp(logs - largest).sum()))


def _best_step(right: float, wrong: float, p: float = 1.0) -> float:
    with np.errstate(divide="ignore"):
        return float((np.log(right) - np.log(wrong)) / (p + 1)) if right or wrong else 0.0


def _before(logs: Array, first: Array) -> Array:
    """log of the sum of exp over the earlier entries of each one's run; runs are told by their first place.

    >>> np.exp(_before(np.log([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 0, 3]))).round(6)
    array([0., 1., 3., 0.])
    """
    places = np.arange(len(logs))
    out = np.full(len(logs), -np.inf)
    inside = places > first
    out[inside] = logs[places[inside] - 1]
    reach = 1
    while (far := places - reach >= first + 1).any():  # sums over 1, 2, 4, ... earlier entries
        more = out.copy()
        more[far] = np.logaddexp(out[far], out[places[far] - reach])
        out, reach = more, 2 * reach
    return out


@dataclass(frozen=True)
class PreferenceRisk:
    """The mean of exp(s_worse - s_better) over explicit pairs; O(pairs) at each look.

    Attributes
    ----------
    better, worse : (n_pairs,) int arrays
    log_weights : (n_pairs,) array
        Of sum 1 before the logarithm.
    n_rows : int
    """

    better: Array
    worse: Array
    log_weights: Array
    n_rows: int

    @classmethod
    def of(cls, better: Array, worse: Array, weight: Array, n_rows: int) -> PreferenceRisk:
        """
        >>> risk = PreferenceRisk.of(np.array([1]), np.array([0]), np.ones(1), 2)
        >>> risk.at(np.array([0.0, 2.0])).log_loss
        -2.0
        """
        return cls(better, worse, np.log(weight / weight.sum()), n_rows)

    @property
    def curvature(self) -> float:
        return 1.0

    def at(self, scores: Array) -> _WeighedPairs:
        terms = self.log_weights + scores[self.worse] - scores[self.better]
        log_loss = _log_sum(terms)
        shares = np.exp(terms - log_loss)
        potentials = np.bincount(self.better, shares, self.n_rows) - np.bincount(self.worse, shares, self.n_rows)
        return _WeighedPairs(self, log_loss, potentials, shares)


@dataclass(frozen=True)
class _WeighedPairs:
    """The risk of preferences at some scores."""

    risk: PreferenceRisk
    log_loss: float
    potentials: Array
    shares: Array

    def step(self, up: Array) -> float | None:
        better, worse = up[self.risk.better], up[self.risk.worse]
        return _best_step(float(self.shares @ (better & ~worse)), float(self.shares @ (worse & ~better)))
