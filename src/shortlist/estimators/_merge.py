"""Repeated rows of small data become weights, in an order that does not depend on the order they came in.

A weight of 2 and a row that is there twice then are one and the same problem to the last bit, not only up
to the solver's tolerance, and so are two orders of the same rows.  On large data both still agree to the
tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._validation import TrainingRows
from shortlist.features.landmarks import row_keys

Array = NDArray[Any]

__all__ = ["MOST_ROWS", "merge_repeats", "spread"]

MOST_ROWS = 2000


def merge_repeats(Z: Any, rows: TrainingRows) -> tuple[Any, TrainingRows, Array]:
    """Distinct rows of positive weight, and for each given row its place among them (-1 for weight 0).

    Rows are the same when features, label and group are.  Without repeats only the order changes.
    """
    n_rows = Z.shape[0]
    weights = np.ones(n_rows) if rows.weights is None else rows.weights
    present = np.flatnonzero(weights > 0)
    codes = rows.is_positive.astype(np.uint64)
    if rows.groups is not None:
        codes += 2 * rows.groups.astype(np.uint64)
    keys = row_keys(rows.X, 0) + codes * np.uint64(0x9E3779B97F4A7C15)
    _, first, inverse = np.unique(keys[present], return_index=True, return_inverse=True)
    kept = present[first]
    places = np.full(n_rows, -1, dtype=np.intp)
    places[present] = inverse
    merged = replace(
        rows,
        X=rows.X[kept],
        is_positive=rows.is_positive[kept],
        groups=None if rows.groups is None else rows.groups[kept],
        weights=np.bincount(inverse, weights=weights[present]),
        origin=kept,
        labels=None if rows.labels is None else rows.labels[kept],
    )
    return Z[kept], merged, places


def spread(dual: Array, places: Array, weights: Array | None) -> Array:
    """Dual variables of the given rows: each repeat bears its share of the weight."""
    weights = np.ones(len(places)) if weights is None else weights
    out = np.zeros(len(places))
    present = places >= 0
    total = np.bincount(places[present], weights=weights[present], minlength=len(dual))
    out[present] = (dual / total)[places[present]] * weights[present]
    return out
