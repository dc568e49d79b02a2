"""When do a list and its reverse change places?  The example of Rudin and Wang (2018), Theorem 1, in closed form.

A list of clumps, the top one first, is given by the clumps' sizes and labels; rows of a clump stand next to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shortlist.theory._input import number, whole

Array = NDArray[Any]

__all__ = ["clump_losses", "clump_statistics"]


def clump_statistics(sizes: Sequence[int], positive: Sequence[bool], weights: ArrayLike) -> tuple[float, float]:
    """A rank statistic of the list and of its reverse.

    The statistic is the sum, over the positives, of the weight a_l of their rank l, the top having rank n.  So a clump
    is worth the sum of the weights of a run of ranks: two look-ups in their running sum.  The list is preferred to
    its reverse exactly when the first number is the larger.  For the rank sum, a_l = l, and four clumps of a
    negatives, b positives, c negatives and d positives that is when b c > a b + a d + c d.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows, from the top.
    positive : sequence of bool
        Labels.
    weights : (n,) array
        a_1, ..., a_n, the top last, as :meth:`shortlist.statistics.RankWeights.array` gives them.

    Examples
    --------
    The theorem's data.  The rank sum prefers the list, DCG over the first 100 its reverse:

    >>> import numpy as np
    >>> from shortlist.theory import clump_statistics
    >>> sizes, positive = [10, 3000, 3000, 80], [False, True, False, True]
    >>> ranks = np.arange(1, 6091)
    >>> clump_statistics(sizes, positive, ranks)
    (13744740.0, 5015540.0)
    >>> dcg = np.where(ranks > 5990, 1 / np.log2(6092 - ranks), 0.0)
    >>> np.round(clump_statistics(sizes, positive, dcg), 2).tolist()
    [16.4, 17.87]
    """
    counts, labels = _clumps(sizes, positive)
    a = np.asarray(weights, dtype=np.float64)
    if a.shape != (counts.sum(),):
        raise ValueError(f"weights must hold one number for each of the {counts.sum()} rows, got shape {a.shape}")
    if not np.isfinite(a).all():
        raise ValueError("weights must be finite")
    running = np.append(0.0, np.cumsum(a))
    above = np.append(0, np.cumsum(counts))
    n = len(a)
    listed = running[n - above[:-1]] - running[n - above[1:]]
    turned = running[above[1:]] - running[above[:-1]]
    return float(listed[labels].sum()), float(turned[labels].sum())


def clump_losses(
    sizes: Sequence[int],
    positive: Sequence[bool],
    positions: Sequence[float],
    loss: Callable[[Array], Array],
) -> tuple[float, float]:
    """The mean pairwise loss of the list and of its reverse, when the scores are positions on a line.

    The mean over positives i and negatives j of l(s_j - s_i), with s the positions, and with s their negatives.  A loss
    prefers the order in which it is smaller.

    Examples
    --------
    The hinge prefers the list; the exponential its reverse, because of 80 positives that lie 10 below 3,000 negatives:

    >>> import numpy as np
    >>> from shortlist.theory import clump_losses
    >>> data = [10, 3000, 3000, 80], [False, True, False, True], [3.0, 1.0, 0.0, -10.0]
    >>> np.round(clump_losses(*data, lambda z: np.maximum(0, 1 + z)), 3).tolist()
    [0.296, 1.942]
    >>> listed, turned = clump_losses(*data, np.exp)
    >>> bool(listed > turned)
    True
    """
    counts, labels = _clumps(sizes, positive)
    s = np.array([number("positions", x, low=-np.inf) for x in positions])
    if len(s) != len(counts):
        raise ValueError(f"positions must hold one number for each of the {len(counts)} clumps, got {len(s)}")
    if not labels.any() or labels.all():
        raise ValueError("a pairwise loss needs positives and negatives: one of the two has no clump")
    z = s[~labels][None, :] - s[labels][:, None]
    mass = counts[labels][:, None] * counts[~labels][None, :] / (counts[labels].sum() * counts[~labels].sum())
    return float((mass * loss(z)).sum()), float((mass * loss(-z)).sum())


def _clumps(sizes: Sequence[int], positive: Sequence[bool]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    counts = np.array([whole("sizes", size, 1) for size in sizes], dtype=np.int64)
    labels = np.asarray(positive)
    if labels.dtype != bool or labels.shape != counts.shape or not len(counts):
        raise ValueError("sizes and positive must be of equal length, not empty, and positive must hold booleans")
    return counts, labels
