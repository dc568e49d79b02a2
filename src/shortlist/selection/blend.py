"""Several fitted models as one: the mean of their log-odds, each put on that scale by held-out scores.

A model's score s becomes slope * s + offset, fitted by logistic regression of the labels on the scores of rows that
the model had not seen (Platt).  The slope is never negative, so that no model is turned round.  A forest whose trees
all agree gives a probability of 0 or 1, log-odds without bound; they count as one beyond the largest that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from shortlist.estimators._responses import scores_of

Array = NDArray[Any]

__all__ = ["Blended", "Scale", "mean_log_odds"]

# Log-odds of a probability of 1; one of 0 is raised to the smallest number that there is.
SURE = -float(np.log(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Scale:
    """Log-odds from scores; those of a certainty count as ``low`` or ``high``."""

    slope: float
    offset: float
    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of(cls, scores: Array, labels: Array, weights: Array | None = None) -> Scale:
        """From held-out scores.

        >>> scale = Scale.of(np.array([-2.0, -1.0, 1.0, 2.0, 0.5, -0.5]), np.array([0, 0, 1, 1, 0, 1]))
        >>> scale.slope > 0
        True
        """
        scores = np.asarray(scores, dtype=np.float64)
        bounded = scores[~_certain(scores)]
        low, high = (bounded.min() - 1, bounded.max() + 1) if len(bounded) else (-1.0, 1.0)
        scores = _within(scores, float(low), float(high))
        centre, spread = float(scores.mean()), float(scores.std())
        if spread <= 1e-12 * np.abs(scores).max(initial=0.0):
            return cls(0.0, 0.0)
        model = LogisticRegression(C=100.0).fit(((scores - centre) / spread)[:, np.newaxis], labels, weights)
        slope = max(float(model.coef_[0, 0]), 0.0) / spread
        return cls(slope, float(model.intercept_[0]) - slope * centre, float(low), float(high))

    def __call__(self, scores: Array) -> Array:
        return self.slope * _within(np.asarray(scores, dtype=np.float64), self.low, self.high) + self.offset


def _certain(scores: Array) -> Array:
    return np.abs(np.abs(scores) - SURE) < 1e-9


def _within(scores: Array, low: float, high: float) -> Array:
    return np.where(_certain(scores), np.clip(scores, low, high), scores)


def mean_log_odds(scores: Sequence[Array], scales: Sequence[Scale]) -> Array:
    """The blend's score."""
    return np.asarray(sum(scale(s) for scale, s in zip(scales, scores, strict=True)) / len(scales))


@dataclass(frozen=True)
class Blended:
    """Fitted models and the scales of their scores; one model alone is a blend of one."""

    models: list[Any]
    scales: list[Scale]
    positive: Any

    def decision_function(self, X: Any) -> Array:
        return mean_log_odds([scores_of(model, X, self.positive) for model in self.models], self.scales)
