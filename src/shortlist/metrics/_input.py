"""From what users hand in to what metrics read: checked labels, scores, weights and groups.

Every metric starts with ``read``, so that wrong input meets the same words everywhere.  Rows of weight 0
leave here and are never seen again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Labels", "Sample", "binary_labels", "check_choice", "read", "relevance", "two_labels"]


@dataclass(frozen=True)
class Sample:
    """One evaluation problem, checked.

    Attributes
    ----------
    y, scores : (n,) arrays
    weights : (n,) float array or None
        All positive; None when every one is 1.
    groups : (n,) array of codes 0..n_groups-1, or None for one group
    group_ids : sequence
        The user's id of each code.
    """

    y: Array
    scores: Array
    weights: Array | None
    groups: Array | None
    group_ids: Any

    @property
    def n_groups(self) -> int:
        return len(self.group_ids)


@dataclass(frozen=True)
class Labels:
    """Two labels: which rows are positive, and the numbers that the labels stand for."""

    positive: Array
    low: float
    high: float


def read(y_true: Any, y_score: Any, groups: Any = None, sample_weight: Any = None) -> Sample:
    """Check everything but the meaning of the labels."""
    y = _labels(y_true)
    scores = _numbers("y_score", y_score)
    n = len(y)
    if n == 0:
        raise ValueError("y_true is empty: there are no rows to measure")
    if len(scores) != n:
        raise ValueError(f"y_true has {n} rows and y_score has {len(scores)}; give one score a row")
    weights = None if sample_weight is None else _weights(sample_weight, n)
    ids = None if groups is None else _column("groups", groups)
    if ids is not None and len(ids) != n:
        raise ValueError(f"groups has {len(ids)} rows and y_true has {n}; give one group id a row")
    if weights is not None and not weights.all():
        keep = weights > 0
        if not keep.any():
            raise ValueError("every sample_weight is 0, so no row is left to measure")
        y, scores, weights = y[keep], scores[keep], weights[keep]
        ids = None if ids is None else ids[keep]
    if weights is not None and (weights == 1).all():
        weights = None
    if ids is None:
        return Sample(y, scores, weights, None, ("all rows",))
    names, codes = _factorise(ids)
    if len(names) == 1:
        return Sample(y, scores, weights, None, names)
    return Sample(y, scores, weights, codes, names)


def binary_labels(y: Array, pos_label: Any = None, metric: str = "this metric") -> Labels:
    """The two labels of ``y``, or an error that says what else was found."""
    labels = two_labels(y, pos_label)
    if labels is None:
        seen = np.unique(y)
        raise ValueError(
            f"{metric} needs two labels, but y_true holds {len(seen)} distinct values "
            f"({', '.join(repr(v) for v in seen[:4].tolist())}, ...). Pass pos_label to take one label "
            "against the rest, or use a metric for graded relevance such as ndcg"
        )
    return labels


def two_labels(y: Array, pos_label: Any = None) -> Labels | None:
    """Positive rows where ``y`` has at most two values or ``pos_label`` is named; None where it has more.

    The larger label is the positive one.  A single number is positive when it is above 0.
    """
    if pos_label is not None:
        if np.ndim(pos_label) != 0:
            raise TypeError(f"pos_label must be one label, got {pos_label!r}")
        # An array of text compared with a number is one False, not one a row.
        positive = np.broadcast_to(np.asarray(y == pos_label, dtype=bool), y.shape)
        return Labels(positive, 0.0, 1.0)
    if y.dtype.kind == "b":
        return Labels(y, 0.0, 1.0)
    if y.dtype.kind in "iuf":
        low, high = y.min(), y.max()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"y_true must be finite, but row {int(np.argmin(np.isfinite(y)))} is not")
        if low == high:
            return Labels(np.full(len(y), bool(high > 0)), float(low), float(high))
        positive = y == high
        if np.count_nonzero(positive) + np.count_nonzero(y == low) != len(y):
            return None
        return Labels(positive, float(low), float(high))
    try:
        seen = np.unique(y)
    except TypeError:
        raise TypeError(
            "y_true holds labels that cannot be put in order (missing values, or text beside numbers); "
            "use one type of label, or pass pos_label"
        ) from None
    if len(seen) > 2:
        return None
    if len(seen) == 1:
        raise ValueError(
            f"y_true holds the single label {seen.tolist()[0]!r}: "
            "pass pos_label to say whether it is the positive one"
        )
    return Labels(np.asarray(y == seen[1], dtype=bool), 0.0, 1.0)


def relevance(y: Array, metric: str = "this metric") -> Array:
    """Graded labels as finite floats."""
    if y.dtype.kind not in "iufb":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{metric} needs two labels or numbers as labels, but y_true has dtype {y.dtype} "
                "with more than two values; encode the grades as numbers"
            ) from None
    if not np.isfinite(y).all():
        raise ValueError(f"y_true must be finite, but row {int(np.argmin(np.isfinite(y)))} is not")
    return y.astype(np.float64, copy=False)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of a few words, or a readable error."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def _column(name: str, values: Any) -> Array:
    if not isinstance(values, np.ndarray) and isinstance(values, list | tuple) and values:
        if any(isinstance(v, tuple) for v in values):
            cells = np.empty(len(values), dtype=object)
            cells[:] = values
            return cells
        if any(v is None for v in values):
            values = np.array(values, dtype=object)
    try:
        column = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must hold one value a row, got rows of different lengths") from None
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {column.shape}")
    return column


def _labels(y_true: Any) -> Array:
    """Labels as an array; objects that are all numbers become numbers."""
    y = _column("y_true", y_true)
    if y.dtype.kind == "O":
        plain = np.array(y.tolist())
        if plain.shape == y.shape and plain.dtype.kind in "iufb":
            return plain
    return y


def _numbers(name: str, values: Any) -> Array:
    column = _column(name, values)
    if column.dtype.kind == "O":
        try:
            column = column.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold real numbers, found other objects") from None
    if column.dtype.kind == "b":
        column = column.astype(np.uint8)
    if column.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {column.dtype}")
    if column.dtype == np.float16:
        column = column.astype(np.float32)
    finite = np.isfinite(column)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"{name} must be finite, but row {row} is {column[row]}; "
            "replace missing values, and give rows that were never scored a finite lowest score"
        )
    return column


def _weights(sample_weight: Any, n: int) -> Array:
    weights = _numbers("sample_weight", sample_weight).astype(np.float64, copy=False)
    if len(weights) != n:
        raise ValueError(f"sample_weight has {len(weights)} rows and y_true has {n}; give one weight a row")
    if weights.min() < 0:
        row = int(np.argmin(weights))
        raise ValueError(f"sample_weight must not be negative, but row {row} is {weights[row]}")
    return weights


def _factorise(ids: Array) -> tuple[Any, Array]:
    """Codes 0..G-1 in the narrowest unsigned type, and the id of each code."""
    kind = ids.dtype.kind
    if kind in "iu":
        low, high = int(ids.min()), int(ids.max())
        if high - low < 4 * len(ids) + 1024 and high < 1 << 62:
            shifted = ids.astype(np.int64, copy=False) - low
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            names = np.flatnonzero(present)
            if len(names) < len(present):
                shifted = (np.cumsum(present) - 1)[shifted]
            return names + low, _narrow(shifted, len(names))
    if kind == "f" and np.isnan(ids).any():
        raise ValueError(f"groups must not hold NaN, but row {int(np.argmax(np.isnan(ids)))} does")
    if kind == "O":
        table: dict[Any, int] = {}
        try:
            codes = np.array([table.setdefault(i, len(table)) for i in ids], dtype=np.intp)
        except TypeError as error:
            raise TypeError(f"group ids must be hashable: {error}") from None
        for name in table:
            if name is None or name != name:
                raise ValueError(f"groups must not hold missing ids, found {name!r}")
        return list(table), _narrow(codes, len(table))
    names, codes = np.unique(ids, return_inverse=True)
    return names, _narrow(codes, len(names))


def _narrow(codes: Array, n_groups: int) -> Array:
    return codes.astype(np.uint16 if n_groups <= 1 << 16 else np.uint32, copy=False)
