"""``positive=``: which coefficients must not be negative, or not positive, in the forms in which a user says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["check_signs", "signs_of"]

_FORMS = (
    "True, a mask of booleans, a list of columns (numbers or names), or a dictionary of columns with 1 (not negative) "
    "or -1 (not positive)"
)


def check_signs(positive: Any, kernel: Any) -> None:
    """What can be said before the columns are known."""
    if not isinstance(positive, bool | np.bool_) and (isinstance(positive, str) or not hasattr(positive, "__iter__")):
        raise TypeError(f"positive must be False, {_FORMS}; got {positive!r}")
    if kernel is not None and kernel != "linear" and positive is not False:
        raise ValueError("positive= is for coefficients of columns, and a kernel's features are not: leave one out")


def signs_of(positive: Any, n_features: int, names: Any = None) -> Array | None:
    """1, -1 or 0 for each column; None where none has a given sign.

    >>> signs_of({"age": 1, 2: -1}, 3, ["age", "size", "price"])
    array([ 1,  0, -1])
    >>> signs_of([False, True], 2), signs_of([0], 2), signs_of(True, 2)
    (array([0, 1]), array([1, 0]), array([1, 1]))
    """
    if isinstance(positive, bool | np.bool_):
        return np.ones(n_features, dtype=np.intp) if positive else None
    entries = list(positive.items() if isinstance(positive, Mapping) else positive)
    if not isinstance(positive, Mapping):
        if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
            if len(entries) != n_features:
                raise ValueError(f"positive is a mask of {len(entries)} entries, X has {n_features} columns")
            entries = list(np.flatnonzero(entries))
        entries = [(column, 1) for column in entries]
    signs = np.zeros(n_features, dtype=np.intp)
    for column, sign in entries:
        if isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise ValueError(f"positive: a sign must be 1, -1 or 0, got {sign!r} for the column {column!r}")
        signs[_place(column, n_features, names)] = sign
    return signs if signs.any() else None


def _place(column: Any, n_features: int, names: Any) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -n_features <= column < n_features:
            raise ValueError(f"positive names the column {column}, X has {n_features} columns")
        return int(column)
    known = [] if names is None else list(names)
    if column not in known:
        has = "X came without names" if names is None else f"X has {', '.join(map(str, known[:10]))}"
        raise ValueError(f"positive names the column {column!r}, and {has}")
    return known.index(column)
