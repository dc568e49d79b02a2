"""Where to cut a score so that ordered classes come out: the cuts that get most rows right.

With P_c(b) the weight of class c among the b lowest distinct scores, cuts b_1 <= ... <= b_(k-1) get

    const + sum over c of [P_(c-1)(b_c) - P_c(b_c)]

right: a sum of one function a cut under an order, so dynamic programming finds the best in O(n k) after the sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._validation import TrainingRows

Array = NDArray[Any]

__all__ = ["best_cuts", "group_cuts"]

# Scores nearer than this, relative to the largest, are one score: no cut may hang on rounding.
SAME = 1e-10


def best_cuts(scores: Array, labels: Array, n_classes: int, weights: Array | None = None) -> Array:
    """The ascending cuts; a row of score s is of the class whose number is the number of cuts below s.

    Among equally good ones the highest are taken.  Each lies in the middle between two scores, or beyond them all.

    >>> best_cuts(np.array([3.0, 1.0, 2.0, 0.0]), np.array([1, 0, 1, 0]), 2)
    array([1.5])
    """
    order = np.argsort(scores, kind="stable")
    s, labels = scores[order].astype(np.float64), labels[order]
    weights = np.ones(len(s)) if weights is None else weights[order]
    near = SAME * max(float(np.abs(s).max()), float(np.finfo(np.float64).tiny))
    first = np.concatenate([[0], np.flatnonzero(np.diff(s) > near) + 1])
    ends = np.append(first, len(s))
    per_class = np.zeros((len(s) + 1, n_classes))
    per_class[np.arange(1, len(s) + 1), labels] = weights
    below = np.cumsum(per_class, axis=0)[ends]
    beyond = max(float(s[-1] - s[0]) / len(first), 2 * near, float(np.finfo(np.float64).tiny))
    middles = (s[first[1:] - 1] + s[first[1:]]) / 2
    places = np.concatenate([[s[0] - beyond], middles, [s[-1] + beyond]])
    gains = below[:, :-1] - below[:, 1:]
    best = np.zeros(len(ends))
    prefixes = []
    for c in range(n_classes - 1):
        best = best + gains[:, c]
        top = np.maximum.accumulate(best)
        # The last place up to each that attains the largest so far.
        prefixes.append(np.maximum.accumulate(np.where(best == top, np.arange(len(ends)), 0)))
        best = top
    cuts = np.empty(n_classes - 1)
    at = len(ends) - 1
    for c in range(n_classes - 2, -1, -1):
        at = int(prefixes[c][at])
        cuts[c] = places[at]
    return cuts


def group_cuts(scores: Array, rows: TrainingRows) -> tuple[Array, Array, Array]:
    """For each group that holds both labels its number, its best cut, and its share of the positives' weight."""
    weights = np.ones(len(scores)) if rows.weights is None else rows.weights
    codes = np.zeros(len(scores), dtype=np.intp) if rows.groups is None else rows.groups
    present = np.flatnonzero(weights > 0)
    present = present[np.argsort(codes[present], kind="stable")]
    groups, cuts, shares = [], [], []
    for members in np.split(present, np.flatnonzero(np.diff(codes[present])) + 1):
        positive = rows.is_positive[members]
        if positive.any() and not positive.all():
            groups.append(int(codes[members[0]]))
            cuts.append(float(best_cuts(scores[members], positive.astype(np.intp), 2, weights[members])[0]))
            shares.append(float(weights[members] @ positive))
    return np.array(groups), np.array(cuts), np.array(shares) / sum(shares)
