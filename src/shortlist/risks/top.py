"""The top family: mean over the positives of ``l(threshold - score)``.

    risk(s) = sum_i a_i l(theta_g(i) - s_i),    sum_i a_i = 1,

over the positives i, with theta_g the threshold of the negatives in their group (see ``thresholds``).  Its dual, for
the objective 1/2 ||w||^2 + C risk(X w) and u_i = C a_i, is

    maximise  -1/2 ||w||^2 - sum_i u_i l*(alpha_i / u_i),    w = sum_i alpha_i x_i - sum_j beta_j x_j,
    alpha, beta >= 0,   sum(beta in g) = sum(alpha in g) =: lambda_g,   beta_j <= cap_j lambda_g.

Rows compete only inside their group.  A group that lacks positives or negatives has nothing to compare: its rows
take no part, and the mean runs over the positives that remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.surrogates import Surrogate
from shortlist.risks.thresholds import Threshold, capped_mean

Array = NDArray[Any]

__all__ = ["TopRisk"]


@dataclass(frozen=True)
class TopRisk:
    """Scores in, risk out; sees labels, groups and weights, never X.

    Attributes
    ----------
    surrogate, threshold
        The two objects the family is made of.
    positives, negatives : int arrays
        Row numbers that take part, ascending.
    positive_weights : (m,) array
        ``a_i``, sum 1.
    negative_weights : (n,) array
        ``v_j`` > 0, as given.
    positive_groups, negative_groups : int arrays
        Group number 0..n_groups-1 of each.
    group_ids : array
        The user's id of each group number.
    caps : (n,) array or None
        Upper limits ``cap_j``; ``None`` for the maximum.
    """

    surrogate: Surrogate
    threshold: Threshold
    positives: Array
    negatives: Array
    positive_weights: Array
    negative_weights: Array
    positive_groups: Array
    negative_groups: Array
    group_ids: Array
    caps: Array | None

    @property
    def n_groups(self) -> int:
        return len(self.group_ids)

    @classmethod
    def from_labels(
        cls,
        is_positive: Array,
        surrogate: Surrogate,
        threshold: Threshold,
        *,
        groups: Array | None = None,
        sample_weight: Array | None = None,
    ) -> TopRisk:
        """Sort rows into positives and negatives of groups; rows of weight 0 do not exist.

        Raises
        ------
        ValueError
            When no group holds both a positive and a negative.
        """
        is_positive = np.asarray(is_positive, dtype=bool)
        n_rows = len(is_positive)
        # Constants are views of one number: they take no memory.
        ones, zeros = np.broadcast_to(1.0, n_rows), np.broadcast_to(np.intp(0), n_rows)
        weights = ones if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if groups is None:
            ids, group = np.zeros(1, dtype=np.intp), zeros
        else:
            ids, group = np.unique(np.asarray(groups), return_inverse=True)
        present = weights > 0
        has_both = np.ones(len(ids), dtype=bool)
        for side in (is_positive, ~is_positive):
            has_both &= np.bincount(group[present & side], minlength=len(ids)) > 0
        if not has_both.any():
            raise ValueError(
                "no group holds both a positive and a negative row of positive weight, so there is nothing to rank"
            )
        number = np.cumsum(has_both) - 1
        takes_part = present & has_both[group]
        positives = np.flatnonzero(takes_part & is_positive)
        negatives = np.flatnonzero(takes_part & ~is_positive)
        one = len(ids) == 1
        negative_weights = ones[: len(negatives)] if sample_weight is None else weights[negatives]
        negative_groups = zeros[: len(negatives)] if one else number[group[negatives]]
        a = weights[positives]
        return cls(
            surrogate=surrogate,
            threshold=threshold,
            positives=positives,
            negatives=negatives,
            positive_weights=a / a.sum(),
            negative_weights=negative_weights,
            positive_groups=zeros[: len(positives)] if one else number[group[positives]],
            negative_groups=negative_groups,
            group_ids=ids[has_both],
            caps=_caps(threshold, negative_weights, negative_groups),
        )

    def thresholds(self, scores: Array) -> Array:
        """The threshold of each group, from the scores of all rows."""
        return self.thresholds_of(scores[self.negatives])

    def thresholds_of(self, s: Array) -> Array:
        """The threshold of each group, from the scores of the negatives alone."""
        if self.caps is None and self.n_groups == 1:
            return np.asarray(s.max(keepdims=True))
        if self.caps is None:
            largest = np.full(self.n_groups, -np.inf, dtype=s.dtype)
            np.maximum.at(largest, self.negative_groups, s)
            return largest
        if self.n_groups == 1:
            return np.array([capped_mean(s, self.caps)])
        order = np.argsort(self.negative_groups, kind="stable")
        bounds = np.searchsorted(self.negative_groups[order], np.arange(1, self.n_groups))
        return np.array([capped_mean(s[rows], self.caps[rows]) for rows in np.split(order, bounds)])

    def value(self, scores: Array) -> float:
        """The risk of the scores of all rows."""
        return self.value_of(scores[self.positives], scores[self.negatives])

    def value_of(self, positive_scores: Array, negative_scores: Array) -> float:
        """The risk, from the scores of positives and negatives apart."""
        theta = self.thresholds_of(negative_scores)
        z = (theta if self.n_groups == 1 else theta[self.positive_groups]) - positive_scores
        return float(np.dot(self.positive_weights, self.surrogate.value(z)))

    def conjugate(self, alpha: Array, C: float) -> float:
        """``sum_i u_i l*(alpha_i / u_i)`` with u = C a: what the dual pays beside 1/2 ||w||^2."""
        u = C * self.positive_weights
        return float(np.dot(u, self.surrogate.conjugate(alpha / u)))


def _caps(threshold: Threshold, weights: Array, groups: Array) -> Array | None:
    if threshold.caps(weights[:1]) is None:
        return None
    caps = np.empty_like(weights)
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        caps[rows] = threshold.caps(weights[rows])
    return caps
