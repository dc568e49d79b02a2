"""The smallest tau whose optimum ranks something."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["smallest_tau"]


def smallest_tau(total: float, is_degenerate: Callable[[float], bool]) -> float:
    """The smallest ``tau = k / total``, k = 1, 2, ..., for which ``is_degenerate(tau)`` is false; 1 if
    there is none.

    A larger k caps the negatives' weights lower, so the set of points that they average to shrinks: a tau
    that is not degenerate is followed by no degenerate one.  Hence a search that doubles k until it passes,
    then halves the interval: about 2 log2(k) tests.

    Parameters
    ----------
    total : float
        Number, or weight, of the negatives.
    is_degenerate : callable
        Whether w = 0 is optimal at a tau.

    Examples
    --------
    >>> smallest_tau(100, lambda tau: tau < 0.065)
    0.07
    """
    last = max(1, int(np.ceil(total)))

    def tau_of(k: int) -> float:
        return min(1.0, k / total)

    low, high = 0, 1  # low is degenerate, or 0
    while is_degenerate(tau_of(high)):
        if high == last:
            return 1.0
        low, high = high, min(2 * high, last)
    while high - low > 1:
        middle = (low + high) // 2
        if is_degenerate(tau_of(middle)):
            low = middle
        else:
            high = middle
    return tau_of(high)
