"""Generated sets on which methods for the top of the list and methods for the whole list disagree.

All are reproducible for an integer ``random_state``.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

Array = NDArray[Any]

__all__ = ["make_gaussians", "make_theorem1", "make_top_heavy"]


def _clumps(
    clumps: Sequence[tuple[int, int, tuple[float, ...], float]], rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Normal clumps, each (size, label, mean, standard deviation), one after the other."""
    X = [np.asarray(mean) + std * rng.standard_normal((size, len(mean))) for size, _, mean, std in clumps]
    y = [np.full(size, label) for size, label, _, _ in clumps]
    return np.concatenate(X), np.concatenate(y)


def make_gaussians(n_samples: int | None = 1250, *, random_state: Any = None) -> tuple[Array, Array]:
    """The Gaussians of Rudin and Wang: two large clumps rule the AUC, two small ones the top of the list.

    The population has 6,210 rows in the plane: 3,000 positives around (0, 1) and 3,000 negatives around (0,
    0), each coordinate of variance 0.5; 10 negatives around (10, 1) and 200 positives around (0, -3), each
    coordinate of standard deviation 0.05. ``n_samples`` of them are drawn without replacement.

    Parameters
    ----------
    n_samples : int or None
        Number of rows, at most 6,210; None for the whole population.
    random_state : None, int or RandomState

    Returns
    -------
    X : (n_samples, 2) array
    y : (n_samples,) array of 0 and 1

    References
    ----------
    Rudin, Wang: Direct learning to rank and rerank, AISTATS 2018.

    Examples
    --------
    >>> X, y = make_gaussians(random_state=0)
    >>> X.shape
    (1250, 2)
    """
    rng = check_random_state(random_state)
    X, y = _clumps(
        [
            (3000, 1, (0.0, 1.0), 0.5**0.5),
            (3000, 0, (0.0, 0.0), 0.5**0.5),
            (10, 0, (10.0, 1.0), 0.05),
            (200, 1, (0.0, -3.0), 0.05),
        ],
        rng,
    )
    size = len(y) if n_samples is None else _whole("n_samples", n_samples, 1, len(y))
    rows = rng.permutation(len(y))[:size]
    return X[rows], y[rows]


def make_theorem1(*, std: float = 0.05, random_state: Any = None) -> tuple[Array, Array]:
    """The data of Theorem 1 of Rudin and Wang: one feature, two opposite orders, and measures that disagree.

    10 negatives near 3, 3,000 positives near 1, 3,000 negatives near 0 and 80 positives near -10, in this
    order of rows. By descending x, AUC, partial AUC over 100 negatives, DCG, reciprocal rank and hinge loss
    are better; by ascending x, DCG over the first 100, partial AUC over 10 negatives and the exponential loss
    are.

    Parameters
    ----------
    std : float
        Standard deviation of each clump, there only to avoid ties.
    random_state : None, int or RandomState

    Returns
    -------
    X : (6090, 1) array
    y : (6090,) array of 0 and 1

    Examples
    --------
    >>> X, y = make_theorem1(random_state=0)
    >>> X.shape, int(y.sum())
    ((6090, 1), 3080)
    """
    std = _between("std", std, 0.0, np.inf)
    clumps = [(10, 0, (3.0,), std), (3000, 1, (1.0,), std), (3000, 0, (0.0,), std), (80, 1, (-10.0,), std)]
    return _clumps(clumps, check_random_state(random_state))


def make_top_heavy(
    n_groups: int = 50,
    rows_per_group: int | tuple[int, int] = (20, 60),
    n_features: int = 20,
    *,
    positives: float = 0.1,
    noise: float = 0.5,
    heterogeneity: float = 1.0,
    decoys: float = 0.02,
    density: float | None = None,
    random_state: Any = None,
) -> tuple[Any, Array, Array]:
    """Groups (queries) whose top is contested: few positives, and decoys that look like the best of them.

    In each group q every row has features z, standard normal, and a utility z.w + noise * e with one hidden w
    for all groups and w = 0 on the last feature. The share ``positives`` of the rows with the highest utility
    are positive, at least one; at least one row is negative. A share ``decoys`` of the rows are negatives
    that copy a positive of their group, half as large again, and differ by 3 in the last feature: for the AUC
    they hardly count, at the top they are all that counts. Last, the group's own random offset,
    ``heterogeneity`` times a standard normal vector, is added to all its rows (with ``density``, to the
    entries that are kept): it changes no order inside a group of dense rows, and spoils any comparison
    between groups.

    Parameters
    ----------
    n_groups : int
    rows_per_group : int or (int, int)
        Rows of each group, at least 2; a pair means uniform between the two, both included.
    n_features : int
        At least 2.
    positives : float
        Share of positives, in (0, 1).
    noise : float
        Standard deviation of the noise, relative to that of the noiseless utility.
    heterogeneity : float
        Size of the groups' offsets.
    decoys : float
        Share of decoys, in [0, 1); they never replace a positive or the last ordinary negative.
    density : float, optional
        Makes X sparse: each entry is kept with this probability, in (0, 1].
    random_state : None, int or RandomState

    Returns
    -------
    X : (n, n_features) array, or CSR array when ``density`` is given
    y : (n,) array of 0 and 1
    groups : (n,) array
        Number of each row's group, from 0; the rows are sorted by it.

    Examples
    --------
    >>> X, y, groups = make_top_heavy(3, 10, n_features=4, random_state=0)
    >>> X.shape, y.reshape(3, 10).sum(axis=1).tolist()
    ((30, 4), [1, 1, 1])
    """
    rng = check_random_state(random_state)
    n_groups = _whole("n_groups", n_groups, 1)
    n_features = _whole("n_features", n_features, 2)
    positives = _between("positives", positives, 0.0, 1.0)
    noise = _between("noise", noise, 0.0, np.inf, closed=True)
    heterogeneity = _between("heterogeneity", heterogeneity, 0.0, np.inf, closed=True)
    decoys = _between("decoys", decoys, 0.0, 1.0, closed=True)
    keep = 1.0 if density is None else _between("density", density, 0.0, np.nextafter(1.0, 2.0))
    low, high = rows_per_group if isinstance(rows_per_group, tuple) else (rows_per_group, rows_per_group)
    low = _whole("rows_per_group", low, 2)
    high = _whole("rows_per_group", high, low)

    w = rng.standard_normal(n_features)
    w[-1] = 0.0
    w /= np.linalg.norm(w)
    blocks, labels = [], []
    for size in rng.randint(low, high + 1, size=n_groups):
        mask = rng.random_sample((size, n_features)) < keep
        Z = rng.standard_normal((size, n_features)) * mask
        utility = Z @ w + noise * np.sqrt(keep) * rng.standard_normal(size)
        order = np.argsort(-utility)
        m = int(np.clip(np.ceil(positives * size), 1, size - 1))
        y = np.zeros(size, dtype=np.int64)
        y[order[:m]] = 1
        n_decoys = min(round(decoys * size), size - m - 1)
        disguised = rng.permutation(order[m:])[:n_decoys]
        models = rng.choice(order[:m], size=n_decoys)
        Z[disguised], mask[disguised] = 1.5 * Z[models], mask[models]
        Z[disguised, -1] += 3.0
        mask[disguised, -1] = True
        blocks.append(Z + heterogeneity * rng.standard_normal(n_features) * mask)
        labels.append(y)
    groups = np.repeat(np.arange(n_groups), [len(y) for y in labels])
    X = np.concatenate(blocks)
    return (X if density is None else sparse.csr_array(X)), np.concatenate(labels), groups


def _whole(name: str, value: object, low: int, high: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        limits = f"{low} or more" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {limits}, got {value}")
    return number


def _between(name: str, value: object, low: float, high: float, *, closed: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not (low < number < high or (closed and number == low)):
        raise ValueError(
            f"{name} must be {'at least' if closed else 'above'} {low:g} and below {high:g}, got {value}"
        )
    return number
