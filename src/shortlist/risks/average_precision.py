"""Average precision as a convex risk: structural SVM's, with its loss-augmented inference.

With m positives and n negatives in a group, an ordering pi has r_k negatives above its k-th positive, and

    AP(pi) = 1/m sum_k k / (k + r_k),
    risk(s) = max over pi of  1 - AP(pi) - 2 / (m n) * sum over pairs (i, j) with j above i of (s_i - s_j),

for the features 1 / (m n) sum_ij (+-1)(x_i - x_j) of Yue, Finley, Radlinski, Joachims (2007).  Several groups: the mean
of their risks.  The risk is at least 1 - AP of the scores themselves.

Inference.  Positives among themselves, and negatives among themselves, stand by descending score: any other order costs
the same in AP and gains nothing.  An ordering is then a number for each negative: place_j = i says that it stands below
the first i positives and above the rest.  As 1 - k / (k + r) = sum over j <= r of k / ((k + j - 1)(k + j)), the j-th
negative adds, whatever the others do,

    G_j(i) = sum over k > i of D(k, j),     D(k, j) = 1/m k / ((k + j - 1)(k + j)) + 2 / (m n) (s_(j) - s_(k)).

D falls with j for every k.  So where a smaller suffix is better for one negative, it is so for the next: the best
places do not decrease, all are compatible, and the greedy choice is exact.  And since

    k / ((k + j - 1)(k + j)) = j / (k + j) - (j - 1) / (k + j - 1),

G_j(i) comes from harmonic numbers and sums of scores in O(1).

Cost.  The best place of the middle negative splits the rest: those before it look no lower, those behind it no higher.
Level by level, all groups at once, that takes O((m + n) log n) after the sorts; the search of each negative through all
positives would take O(m n).

Weights of rows have no meaning here unless they are whole numbers: the precision at a positive counts rows.  Such a row
takes part as often as it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.lists import Lists, descending, shared_among_ties

Array = NDArray[Any]

__all__ = ["AveragePrecisionRisk", "best_places"]


@dataclass(frozen=True)
class AveragePrecisionRisk:
    """Scores in, risk out; sees labels, groups and weights, never X.

    Attributes
    ----------
    n_rows : int
        Scores expected.
    rows : (k,) int array
        The row of each place in the lists; as often as the row weighs.
    lists : Lists
        Of these.
    """

    n_rows: int
    rows: Array
    lists: Lists

    nonnegative = True

    @classmethod
    def from_labels(
        cls, is_positive: Array, *, groups: Array | None = None, sample_weight: Array | None = None
    ) -> AveragePrecisionRisk:
        """The risk of labelled rows, with whole numbers as weights.

        Examples
        --------
        At equal scores the worst order has the only positive last.

        >>> risk = AveragePrecisionRisk.from_labels(np.array([1, 0, 0]))
        >>> round(risk.value(np.zeros(3)), 4), risk.value(np.array([1.0, 0.0, 0.0]))
        (0.6667, 0.0)
        """
        is_positive = np.asarray(is_positive, dtype=bool)
        n_rows = len(is_positive)
        if sample_weight is None:
            rows = np.arange(n_rows)
        else:
            rows = np.repeat(np.arange(n_rows), np.asarray(sample_weight).astype(np.intp))
        lists = Lists.from_labels(is_positive[rows], groups=None if groups is None else np.asarray(groups)[rows])
        return cls(n_rows, rows, lists)

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_and_subgradient(scores)[0]

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The risk and one subgradient, the same for any order of tied rows."""
        lists = self.lists
        s = np.asarray(scores, dtype=np.float64)[self.rows]
        above, below = s[lists.positives], s[lists.negatives]
        orders = (
            descending(above, lists.positive_starts, lists.positive_groups),
            descending(below, lists.negative_starts, lists.negative_groups),
        )
        above, below = above[orders[0]], below[orders[1]]
        place = best_places(above, below, lists)
        m, n = np.diff(lists.positive_starts), np.diff(lists.negative_starts)
        # Negatives above each positive: those of the group whose place is at most its number.
        first = lists.positive_starts[lists.negative_groups]
        gained = np.bincount(first + place, minlength=len(above) + 1)
        full = np.bincount(lists.negative_groups[place == m[lists.negative_groups]], minlength=lists.n_groups)
        gained[lists.positive_starts[1:]] -= full  # below all positives of their group
        passed = np.cumsum(gained[:-1])
        counted = passed - np.concatenate([[0], passed])[lists.positive_starts[:-1]][lists.positive_groups]
        k = np.arange(len(above)) - lists.positive_starts[lists.positive_groups] + 1
        precision = k / (k + counted)
        pair = 2.0 / (m * n * lists.n_groups)
        loss = float(np.mean(1.0 - np.add.reduceat(precision, lists.positive_starts[:-1]) / m))
        up = -pair[lists.positive_groups] * counted
        down = pair[lists.negative_groups] * (m[lists.negative_groups] - place)
        value = loss + float(up @ above + down @ below)
        # Tied rows that change places give another worst ordering: the mean over all of them has no row order in it.
        slopes = np.empty(len(above)), np.empty(len(below))
        slopes[0][orders[0]] = shared_among_ties(up, above, lists.positive_weights, lists.positive_starts)
        slopes[1][orders[1]] = shared_among_ties(down, below, lists.negative_weights, lists.negative_starts)
        return value, np.bincount(self.rows, lists.spread(*slopes), self.n_rows)


def best_places(above: Array, below: Array, lists: Lists) -> Array:
    """For each negative the number of positives that stand above it in the worst ordering.

    ``above`` and ``below`` are the scores of positives and negatives, descending inside of each group.

    >>> lists = Lists.from_labels(np.array([1, 1, 0, 0]))
    >>> best_places(np.array([2.0, 0.0]), np.array([1.0, -5.0]), lists)
    array([1, 2])
    """
    m, n = np.diff(lists.positive_starts), np.diff(lists.negative_starts)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int((m + n).max()) + 1))])
    below_sums = np.concatenate([[0.0], np.cumsum(above)])  # of positives; suffixes are differences
    place = np.zeros(len(below), dtype=np.intp)
    # Open stretches of negatives, and the places that are left to them.
    first, last = lists.negative_starts[:-1].copy(), lists.negative_starts[1:].copy()
    low, high = np.zeros(len(m), dtype=np.intp), m.astype(np.intp)
    group = np.arange(len(m))
    while len(first):
        middle = (first + last) // 2
        sizes = high - low + 1
        begins = np.cumsum(sizes) - sizes
        of = np.repeat(np.arange(len(first)), sizes)
        i = np.arange(int(sizes.sum())) - begins[of] + low[of]
        g, j = group[of], (middle - lists.negative_starts[group] + 1)[of]
        ranks = j * (harmonic[m[g] + j] - harmonic[i + j]) - (j - 1) * (harmonic[m[g] + j - 1] - harmonic[i + j - 1])
        ends = lists.positive_starts[g + 1]
        scores = (m[g] - i) * below[middle][of] - (below_sums[ends] - below_sums[lists.positive_starts[g] + i])
        gain = ranks / m[g] + 2.0 / (m[g] * n[g]) * scores
        best = np.maximum.reduceat(gain, begins)
        hits = np.flatnonzero(gain == best[of])
        found = i[hits[np.searchsorted(of[hits], np.arange(len(first)))]]
        place[middle] = found
        first, last = np.concatenate([first, middle + 1]), np.concatenate([middle, last])
        low, high = np.concatenate([low, found]), np.concatenate([found, high])
        group = np.concatenate([group, group])
        settled = low == high
        for start, end, value in zip(first[settled], last[settled], low[settled], strict=True):
            place[start:end] = value
        going = ~settled & (first < last)
        first, last, low, high, group = first[going], last[going], low[going], high[going], group[going]
    return place
