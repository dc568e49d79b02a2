"""Paired tests of two rankers on the same splits, and the correction for many of them.

The training rows of two splits overlap, so their figures are not independent, and the plain t-test finds differences
where there are none.  Nadeau and Bengio's correction widens the variance of the mean of J differences with deviation s
from s^2 / J to

    s^2 * (1 / J + n_test / n_train),

which makes the test keep its level in practice (it is a heuristic, not a theorem: no unbiased estimate of this variance
exists).  The interval of a mean uses the same.

References
----------
C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning, 2003.
S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 1979.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[Any]

__all__ = ["corrected_interval", "corrected_t_test", "holm", "signed_rank_test"]


def _deviation(values: Array, ratio: float) -> float:
    """Standard error of the mean of values from overlapping splits."""
    return float(np.sqrt((1 / len(values) + ratio) * values.var(ddof=1)))


def corrected_t_test(differences: ArrayLike, ratio: float) -> float:
    """Two-sided p-value that the mean difference is 0.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        One ranker's figure less the other's, a split each.
    ratio : float
        Test rows for each training row of a split: 0.25 in five folds.

    Returns
    -------
    float
        1 for fewer than two splits. Differences that are all equal, and not 0, leave nothing to estimate a deviation
        from: then the sign test's 2 / 2^J.

    Examples
    --------
    >>> round(corrected_t_test([0.1, 0.3, 0.2, 0.25, 0.15], 0.25), 3)
    0.02
    >>> round(corrected_t_test([0.1, 0.3, 0.2, 0.25, 0.15], 0.0), 3)  # the plain test is bolder
    0.005
    """
    values = np.asarray(differences, dtype=np.float64)
    n = len(values)
    mean = float(values.mean()) if n else 0.0
    if n < 2 or mean == 0:
        return 1.0
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return float(min(1.0, 2.0 ** (1 - n)))
    return float(2 * stats.t.sf(abs(mean) / _deviation(values, ratio), n - 1))


def corrected_interval(values: ArrayLike, ratio: float, level: float = 0.95) -> tuple[float, float]:
    """Interval for the mean figure, by the same variance.

    >>> low, high = corrected_interval([0.5, 0.6, 0.7], 0.5)
    >>> round(low, 2), round(high, 2)
    (0.21, 0.99)
    """
    values = np.asarray(values, dtype=np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(stats.t.ppf(0.5 + level / 2, len(values) - 1)) * _deviation(values, ratio)
    return mean - half, mean + half


def signed_rank_test(differences: ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed ranks; differences of 0 share their ranks between the signs.

    It takes the splits for independent, which those of one cross-validation are not: its p-values are too small.

    >>> round(signed_rank_test([0.1, 0.3, 0.2, 0.25, 0.15]), 4)
    0.0625
    """
    values = np.round(np.asarray(differences, dtype=np.float64), 12)
    if len(values) < 2 or not values.any():
        return 1.0
    return float(stats.wilcoxon(values, zero_method="zsplit", method="auto").pvalue)


def holm(p_values: ArrayLike) -> Array:
    """p-values corrected for their number: where one stays at or below 0.05, so does the chance of any error at all.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    corrected = np.empty_like(p)
    corrected[order] = stepped
    return corrected
