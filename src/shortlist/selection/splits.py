"""The splits that all models share: repeated, stratified, whole groups together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from shortlist.estimators._validation import check_count

Array = NDArray[Any]
Split = tuple[Array, Array]

__all__ = ["Split", "digest", "make_splits"]


def make_splits(cv: Any, repeats: int, labels: Array, codes: Array | None, seed: int) -> list[Split]:
    """Training and test rows of every split.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        A number of folds: stratified by label, and with groups each group whole in one fold. A splitter is asked as it
        is, and an iterable taken as it is.
    repeats : int
        How often the folds of a number are drawn anew.
    labels : (n_rows,) int array
    codes : (n_rows,) int array or None
        Groups.
    seed : int
    """
    rows = np.zeros(len(labels))
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        check_count("cv", cv, least=2)
        check_count("repeats", repeats)
        kind = StratifiedKFold if codes is None else StratifiedGroupKFold
        largest = int(np.bincount(labels).min() if codes is None else len(np.unique(codes)))
        if cv > largest:
            of = "rows of the rarer label" if codes is None else "groups"
            raise ValueError(f"cv={cv} folds need at least {cv} {of}, got {largest}; ask for fewer folds")
        splits: Iterable[Any] = (
            split
            for repeat in range(repeats)
            for split in kind(int(cv), shuffle=True, random_state=(seed + repeat) % 2**32).split(rows, labels, codes)
        )
    elif hasattr(cv, "split") and not isinstance(cv, str):
        splits = cv.split(rows, labels, codes)
    else:
        try:
            splits = [(train, test) for train, test in cv]
        except (TypeError, ValueError):
            raise TypeError(
                f"cv must be a number of folds, a splitter or a list of (train, test) row numbers, got {cv!r}"
            ) from None
    made = [(_rows(train, len(labels)), _rows(test, len(labels))) for train, test in splits]
    if not made:
        raise ValueError("cv gives no splits")
    for number, (train, test) in enumerate(made):
        if len(np.intersect1d(train, test)):
            raise ValueError(f"split {number} tests on rows that it trains on: keep the two apart")
        for name, part in (("training", train), ("test", test)):
            if len(set(labels[part].tolist())) < 2:
                raise ValueError(
                    f"the {name} rows of split {number} hold one label only; stratify, or ask for fewer folds"
                )
    return made


def _rows(part: Any, n_rows: int) -> Array:
    """Row numbers, from these or from a mask."""
    rows = np.asarray(part)
    if rows.dtype == bool and len(rows) == n_rows:
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < n_rows):
        raise ValueError(f"cv must give row numbers from 0 to {n_rows - 1}, got {part!r}")
    return rows


def digest(*parts: Any) -> str:
    """A fingerprint of arrays (sparse ones too) and of what has a faithful ``repr``.

    >>> digest(np.arange(3), "a") == digest(np.array([0, 1, 2]), "a")
    True
    """
    whole = hashlib.sha256()
    for part in parts:
        arrays = [part.data, part.indices, part.indptr] if hasattr(part, "indptr") else [part]
        for array in arrays:
            if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
                whole.update(f"{array.dtype.kind}{array.shape}".encode())
                whole.update(np.ascontiguousarray(array).tobytes())
            elif isinstance(array, np.ndarray):
                whole.update(repr(array.tolist()).encode())
            else:
                whole.update(repr(array).encode())
    return whole.hexdigest()
