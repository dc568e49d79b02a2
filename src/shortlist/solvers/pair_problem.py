"""All pairs by their rows: a least-squares problem over pairs as one over rows with a free level in each group.

For residuals r = s - y, weights a and groups g with the sums A_g,

    mean over ordered pairs  =  sum_g sum_{i,j in g} a_i a_j (r_i - r_j)^2 / sum_g A_g^2
                             =  sum_i u_i (r_i - mean_g(r))^2,      u_i = 2 A_g a_i / sum_h A_h^2,

where mean_g weighs by a (or by u, which is the same within a group).  For one group of m rows without weights u = 2 / m
and the mean is twice the variance of the residuals: m^2 pairs cost O(m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

__all__ = ["PairProblem"]


@dataclass(frozen=True)
class PairProblem:
    """Targets and row weights of an all-pairs least-squares problem.

    Attributes
    ----------
    y : (m, T) array
        Targets, each less the mean of its group: levels do not matter, and small numbers round less.
    u : (m,) array
        Weights of the rows' squared deviations, sum 2 where no group is larger than another.
    groups : (m,) int array or None
        Numbers 0, 1, ... of the groups; None for one group.
    totals : (n_groups,) array
        Sums of u; 1 where a group weighs nothing.
    """

    y: Array
    u: Array
    groups: Array | None
    totals: Array

    @classmethod
    def of(cls, y: Array, *, groups: Array | None = None, sample_weight: Array | None = None) -> PairProblem:
        """From the targets (m, T), group numbers and weights.

        >>> PairProblem.of(np.array([[1.0], [3.0]])).risk(np.array([[0.0], [1.0]]))
        0.5
        """
        m = len(y)
        a = np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if groups is None:
            u = 2 * a / a.sum()
            totals = np.full(1, u.sum())
        else:
            sums = np.bincount(groups, weights=a)
            u = 2 * sums[groups] * a / (sums @ sums)
            totals = np.bincount(groups, weights=u)
        shell = cls(np.empty((m, 0)), u, groups, np.where(totals > 0, totals, 1.0))
        # Any row's target is taken off before the mean, which may round: so a constant target becomes 0 itself.
        origin = np.zeros((len(totals), y.shape[1]))
        origin[slice(None) if groups is None else groups] = y[:1] if groups is None else y
        return cls(shell.centre(y - shell.spread(origin)), u, groups, shell.totals)

    @property
    def is_uniform(self) -> bool:
        """Whether there is one group and all rows weigh the same."""
        return self.groups is None and bool((self.u == self.u[0]).all())

    def sums(self, values: Any, rows: slice = slice(None)) -> Array:
        """``sum_i u_i v_i`` of each group over some of the rows, shape (n_groups, columns)."""
        u = self.u[rows]
        if self.groups is None:
            return np.asarray((values.T @ u)[None, :])
        place = (u, (self.groups[rows], np.arange(len(u))))
        total = sparse.csr_array(place, shape=(len(self.totals), len(u))) @ values
        return np.asarray(total.toarray() if hasattr(total, "toarray") else total)

    def spread(self, means: Array, rows: slice = slice(None)) -> Array:
        """The row of ``means`` that belongs to each of some rows; one row for all where there is one group."""
        return means if self.groups is None else np.asarray(means[self.groups[rows]])

    def centre(self, values: Array) -> Array:
        """Values (m, T) less the mean of their group."""
        return np.asarray(values - self.spread(self.sums(values) / self.totals[:, None]))

    def risk(self, scores: Array) -> float:
        """Mean over ordered pairs of ((s_i - s_j) - (y_i - y_j))^2, summed over the targets."""
        return float(self.u @ (self.centre(scores - self.y) ** 2).sum(axis=1))
