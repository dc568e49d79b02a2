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

__all__ = ["MOST_ROWS", "distinct", "merge_repeats", "spread"]

MOST_ROWS = 2000


def merge_repeats(Z: Any, rows: TrainingRows) -> tuple[Any, TrainingRows, Array]:
    """Distinct rows of positive weight, and for each given row its place among them (-1 for weight 0).

    Rows are the same when features, label and group are.  Without repeats only the order changes.
    """
    kept, weights, places = distinct(rows.X, rows.is_positive.astype(np.uint64), rows.groups, rows.weights)
    merged = replace(
        rows,
        X=rows.X[kept],
        is_positive=rows.is_positive[kept],
        groups=None if rows.groups is None else rows.groups[kept],
        weights=weights,
        origin=kept,
        labels=None if rows.labels is None else rows.labels[kept],
    )
    return Z[kept], merged, places


def distinct(X: Any, codes: Array, groups: Array | None, weights: Array | None) -> tuple[Array, Array, Array]:
    """One row of each kind (equal features, code and group), the kinds' weights, each row's kind (-1 for weight 0)."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    present = np.flatnonzero(weights > 0)
    if groups is not None:
        codes = codes + 2 * groups.astype(np.uint64)
    keys = row_keys(X, 0) + codes * np.uint64(0x9E3779B97F4A7C15)
    _, first, inverse = np.unique(keys[present], return_index=True, return_inverse=True)
    places = np.full(len(weights), -1, dtype=np.intp)
    places[present] = inverse
    return present[first], np.bincount(inverse, weights=weights[present]), places


def spread(dual: Array, places: Array, weights: Array | None) -> Array:
    """Dual variables of the given rows: each repeat bears its share of the weight."""
    weights = np.ones(len(places)) if weights is None else weights
    out = np.zeros(len(places))
    present = places >= 0
    total = np.bincount(places[present], weights=weights[present], minlength=len(dual))
    out[present] = (dual / total)[places[present]] * weights[present]
    return out
