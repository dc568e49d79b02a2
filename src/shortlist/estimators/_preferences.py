"""Preferences between rows: from a matrix, from a list of pairs, from ordered classes.

Each comes out as (better, worse, weight) arrays, a pair once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Pairs = tuple[Array, Array, Array]

__all__ = ["class_pairs", "given_pairs", "weighted", "within_groups"]


def given_pairs(pairs: Any, n_rows: int) -> Pairs:
    """From an (n_rows, n_rows) matrix, entry (i, k) the weight of "i above k", or from row-number pairs (i, k).

    >>> better, worse, weight = given_pairs([(0, 2), (1, 2), (0, 2)], 3)
    >>> better.tolist(), worse.tolist(), weight.tolist()
    ([0, 1], [2, 2], [2.0, 1.0])
    """
    wanted = f"pairs must be a matrix of shape ({n_rows}, {n_rows}) or row-number pairs (i, k)"
    if hasattr(pairs, "tocoo"):
        matrix = pairs.tocoo()
        if matrix.shape != (n_rows, n_rows):
            raise ValueError(f"{wanted}, got a sparse matrix of shape {matrix.shape}")
        better, worse, weight = matrix.row, matrix.col, matrix.data
    else:
        array = np.asarray(pairs)
        if array.dtype.kind not in "iufb":
            raise TypeError(f"{wanted} or 'classes', got {pairs!r}")
        # A list of two pairs of two rows is a list, an array of that shape a matrix.
        if array.shape == (n_rows, n_rows) and not (n_rows == 2 and isinstance(pairs, list | tuple)):
            better, worse = np.nonzero(array)
            weight = array[better, worse]
        elif array.ndim == 2 and array.shape[1] == 2:
            better, worse, weight = *_row_numbers(array, n_rows).T, np.ones(len(array))
        else:
            raise ValueError(f"{wanted}, got the shape {array.shape}")
    weight = weight.astype(np.float64)
    if not np.isfinite(weight).all() or weight.min(initial=0.0) < 0:
        worst = weight[~np.isfinite(weight) | (weight < 0)][0]
        raise ValueError(f"pairs must hold finite weights of at least 0, got {worst:g}; turn the pair round instead")
    itself = np.flatnonzero((better == worse) & (weight > 0))
    if len(itself):
        raise ValueError(f"pairs asks row {int(better[itself[0]])} to stand above itself; leave that out")
    kept = weight > 0
    codes, places = np.unique(better[kept] * np.int64(n_rows) + worse[kept], return_inverse=True)
    return codes // n_rows, codes % n_rows, np.bincount(places, weights=weight[kept], minlength=len(codes))


def _row_numbers(array: Array, n_rows: int) -> Array:
    rows = array.astype(np.int64)
    wrong = np.flatnonzero(((rows != array) | (rows < 0) | (rows >= n_rows)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"pairs must hold row numbers from 0 to {n_rows - 1}, got {array[wrong[0]].tolist()} in place {wrong[0]}"
        )
    return rows


def class_pairs(labels: Array, groups: Array | None, limit: float) -> Pairs:
    """Every pair of rows of one group with different labels: the larger label should stand above.

    >>> better, worse, weight = class_pairs(np.array([0, 2, 1]), None, 1e9)
    >>> list(zip(better.tolist(), worse.tolist()))
    [(1, 0), (2, 0), (1, 2)]
    """
    codes = np.zeros(len(labels), dtype=np.intp) if groups is None else groups
    parts: list[tuple[Array, Array]] = []
    n_pairs = 0
    for group in np.unique(codes):
        rows = np.flatnonzero(codes == group)
        for label in np.unique(labels[rows]):
            low, high = rows[labels[rows] == label], rows[labels[rows] > label]
            n_pairs += len(low) * len(high)
            if 32 * n_pairs > limit:
                raise ValueError(
                    f"pairs='classes' makes {n_pairs:,} pairs or more, beyond max_memory={limit:g} bytes: fit "
                    "fewer rows (a Reranker picks the ones that matter), or raise max_memory"
                )
            parts.append((np.tile(high, len(low)), np.repeat(low, len(high))))
    better, worse = (np.concatenate(side) for side in zip(*parts, strict=True))
    return better, worse, np.ones(len(better))


def within_groups(pairs: Pairs, groups: Array | None) -> Pairs:
    """The pairs, none of which may join two groups."""
    if groups is not None:
        better, worse, _ = pairs
        across = np.flatnonzero(groups[better] != groups[worse])
        if len(across):
            i, k = int(better[across[0]]), int(worse[across[0]])
            raise ValueError(
                f"pairs asks row {i} to stand above row {k} of another group; rows compete only within their group, "
                "so leave out such pairs, or the groups"
            )
    return pairs


def weighted(pairs: Pairs, weights: Array | None) -> Pairs:
    """Pairs of rows that are there several times: each copy of the one with each of the other."""
    better, worse, weight = pairs
    if weights is None:
        return pairs
    weight = weight * weights[better] * weights[worse]
    kept = weight > 0
    return better[kept], worse[kept], weight[kept]
