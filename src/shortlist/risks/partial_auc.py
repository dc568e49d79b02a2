"""The partial AUC as a convex risk: errors in a range of false-positive rates, structural and tight.

With the negatives of the group in descending order, u the rank (u in (0, N], so that u / N is the false-positive rate),
s(u) the score at that rank, and the range from A = min_fpr N to B = max_fpr N,

    risk(s) = sum_i a_i / (B - A) * max over t of  integral from 0 to t of  ([A < u <= B] + s(u) - s_i) du.

This is structural SVM's risk (Narasimhan and Agarwal 2013).  *Derivation.*  An ordering pi says for each positive i how
many negatives stand above it, r_i, and any numbers 0 <= r_i <= N belong to some ordering.  The loss counts those at the
ranks of the range; the features charge s_i - s_j for every negative j above i.  Of r_i negatives above i the highest
cost least, the same for all i.  So the worst ordering is a best t = r_i for each positive alone.

* **structural**: t runs over the whole list, up to N;
* **tight**: t runs up to B.  The partial AUC is the AUC against the B highest negatives, so the risk is built on these
  alone, and the positives that stand below more than these are not charged for it.  tight <= structural, equal where
  max_fpr = 1; and both are at least the loss itself, the share of misranked pairs within the range.

With min_fpr = 0 "tight" is the mean of the hinges [1 - s_i + s_(k)]_+ over the B highest negatives: ordered weighted
pairs of the family "top".  On [0, 1] both are the mean of all hinges.

The best t.  Let p be the number of negatives above s_i and q that above s_i - 1.  The integrand falls with u inside of
each of the parts u <= A, A < u <= B, B < u.  So

    p >= B:        t = p  ("tight": B)
    A <= p < B:    t = min(q, B)
    p < A:         t = p or t = min(max(q, A), B), whichever gives more: to reach the range costs more than 0.

Cost.  O((m + n) log n): a sort, two searches, sums.  Where A or B falls inside of a negative, that row takes part with
the share of its weight that is inside of the range, as if it were two rows; the papers assume whole numbers.

Scale.  The papers divide the loss by m n (max_fpr - min_fpr) and the features by m n.  Their C is ours times
(max_fpr - min_fpr)^-2: here a pair's margin is 1, whatever the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.lists import Lists, count_above, descending, shared_among_ties

Array = NDArray[Any]

__all__ = ["PartialAUCRisk"]


@dataclass(frozen=True)
class PartialAUCRisk:
    """Scores in, risk out; sees labels, groups and weights, never X.

    Attributes
    ----------
    lists : Lists
    tight : bool
    first, last : (n_groups,) arrays
        The ranks A and B where the range begins and ends.
    """

    lists: Lists
    tight: bool
    first: Array
    last: Array

    nonnegative = True

    @property
    def n_rows(self) -> int:
        return self.lists.n_rows

    @classmethod
    def from_labels(
        cls,
        is_positive: Array,
        min_fpr: float = 0.0,
        max_fpr: float = 1.0,
        *,
        tight: bool = True,
        groups: Array | None = None,
        sample_weight: Array | None = None,
    ) -> PartialAUCRisk:
        """The risk of labelled rows.

        Examples
        --------
        The second half of the range holds the negative at 0. To get there the structural risk pays for the one at 3.

        >>> y, s = np.array([1, 0, 0]), np.array([2.0, 3.0, 0.0])
        >>> [PartialAUCRisk.from_labels(y, *fpr).value(s) for fpr in ((0.0, 0.5), (0.0, 1.0), (0.5, 1.0))]
        [2.0, 1.0, 1.0]
        """
        lists = Lists.from_labels(is_positive, groups=groups, sample_weight=sample_weight)
        total = np.add.reduceat(lists.negative_weights, lists.negative_starts[:-1])
        return cls(lists, tight, min_fpr * total, max_fpr * total)

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_and_subgradient(scores)[0]

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The risk and one subgradient, the same for any order of tied rows."""
        lists = self.lists
        s = np.asarray(scores, dtype=np.float64)
        above, below, starts = s[lists.positives], s[lists.negatives], lists.negative_starts
        order = descending(below, starts, lists.negative_groups)
        ranked, weight = below[order], lists.negative_weights[order]
        group = lists.positive_groups
        ends = np.cumsum(weight)
        knots = np.append(0.0, ends)
        base = np.concatenate([[0.0], ends])[starts[:-1]]  # ranks run through all groups, one after the other
        moment = np.cumsum(weight * ranked)

        def integral(t: Array) -> Array:
            """Of the scores up to a rank of its group, less that at the group's beginning."""
            return np.asarray(np.interp(t, knots, np.append(0.0, moment)) - start_moment)

        start_moment = np.concatenate([[0.0], moment])[starts[:-1]][group]
        first, last = (base + self.first)[group], (base + self.last)[group]
        p, q = (knots[starts[group] + count_above(level, ranked, starts, group)] for level in (above, above - 1.0))
        inside = np.clip(q, first, last)
        at = np.where(p >= last, last if self.tight else p, inside)

        def gain(t: Array) -> Array:
            return np.asarray(np.clip(t, first, last) - first + integral(t) - (t - base[group]) * above)

        value = gain(at)
        early = np.flatnonzero(p < first)
        if len(early):
            stay = gain(p)
            better = early[stay[early] > value[early]]
            at[better], value[better] = p[better], stay[better]
        a = lists.positive_weights / (self.last - self.first)[group]
        slope = np.empty(len(ranked))
        slope[order] = shared_among_ties(_covered(at, a, ends, weight, lists), ranked, weight, starts)
        return float(a @ value), lists.spread(-a * (at - base[group]), slope)


def _covered(at: Array, a: Array, ends: Array, weight: Array, lists: Lists) -> Array:
    """For each negative by rank: the sum of a times the share of it that lies before the ranks ``at``."""
    starts, group = lists.negative_starts, lists.positive_groups
    # The negative that each rank falls in; a rank at its end belongs to it.
    place = np.clip(np.searchsorted(ends, at, side="left"), starts[group], starts[group + 1] - 1)
    part = np.clip(at - (ends[place] - weight[place]), 0.0, weight[place])
    cut, reached = (np.bincount(place, x, len(ends)) for x in (a * part, a))
    # Those that reach beyond a negative of their group.
    beyond = np.concatenate([np.cumsum(reached[::-1])[::-1], [0.0]])
    return np.asarray(cut + weight * (beyond[1:] - beyond[starts[1:]][lists.negative_groups]))
