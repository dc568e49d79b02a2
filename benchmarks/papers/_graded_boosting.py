"""RankBoost on all pairs of a list of grades, as the magnitude paper compares with it: thresholds on single features.

A round weighs each pair that y orders by exp(score of the worse - score of the better), takes the threshold h in {0, 1}
with the largest |r|, r = sum of the pairs' weights times h(better) - h(worse), and adds log((1 + r) / (1 - r)) / 2
times h to the score.  A few hundred rows: pairs are a square matrix here, which the package itself never makes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks._common import Array

__all__ = ["boosted_scores"]

THRESHOLDS = 9  # of a feature, at quantiles where it has more values


def boosted_scores(X: Array, y: Array, X_new: Array, rounds: Sequence[int]) -> dict[int, Array]:
    """Scores of new rows after so many rounds.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> boosted_scores(X, X[:, 0], X, [2])[2].argsort().tolist()
    [0, 1, 2]
    """
    features, cuts = _thresholds(X)
    H = (X[:, features] >= cuts).astype(np.float64)
    better = y[:, None] > y
    scores, new, found = np.zeros(len(y)), np.zeros(len(X_new)), {}
    for k in range(1, max(rounds) + 1):
        D = np.where(better, np.exp(scores - scores[:, None]), 0.0)
        D /= max(D.sum(), np.finfo(float).tiny)
        r = (D.sum(axis=1) - D.sum(axis=0)) @ H
        best = int(np.argmax(np.abs(r)))
        alpha = 0.5 * np.log((1 + r[best] + 1e-6) / (1 - r[best] + 1e-6))
        scores += alpha * H[:, best]
        new += alpha * (X_new[:, features[best]] >= cuts[best])
        if k in rounds:
            found[k] = new.copy()
    return found


def _thresholds(X: Array) -> tuple[Array, Array]:
    """A feature and a value that some rows reach and others do not."""
    features, cuts = [], []
    for f, column in enumerate(X.T):
        values = np.unique(column)[1:]
        if len(values) > THRESHOLDS:
            values = values[np.linspace(0, len(values) - 1, THRESHOLDS).astype(int)]
        features += [f] * len(values)
        cuts += values.tolist()
    if not cuts:
        return np.zeros(1, dtype=np.intp), np.array([np.inf])
    return np.array(features), np.array(cuts)
