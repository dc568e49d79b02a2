"""What a loader returns, and the check that it is the data set that was meant."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from shortlist.datasets.fetch import DataError

Array = NDArray[Any]

__all__ = ["DataWarning", "Expected", "fingerprint", "make_bunch"]


class DataWarning(UserWarning):
    """A data set has the published size, but not the values that Shortlist's results were made with."""


@dataclass(frozen=True)
class Expected:
    """Rows, columns and rows of class 1 of a set; a fingerprint of its values where one is kept."""

    n_rows: int
    n_features: int
    n_positive: int | None = None
    fingerprint: str | None = None


def fingerprint(X: Array, y: Array) -> str:
    """SHA-256 of the sorted digests of the rows with their labels: the same in any order of the rows.

    >>> import numpy as np
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])
    >>> fingerprint(X, y) == fingerprint(X[::-1], y[::-1])
    True
    """
    rows = np.column_stack([X, y]).astype("<f8") + 0.0  # adding zero turns -0 into 0
    return hashlib.sha256(
        b"".join(sorted(hashlib.sha256(row.tobytes()).digest() for row in rows))
    ).hexdigest()


def make_bunch(
    name: str,
    data: Any,
    target: Array,
    *,
    expected: Expected,
    description: str,
    source: str,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] = ("0", "1"),
    split: Array | None = None,
    groups: Array | None = None,
    **more: Any,
) -> Bunch:
    """Check a set against its published size, and wrap it up as scikit-learn's loaders do.

    Raises
    ------
    DataError
        When rows, columns or positives differ from the published numbers.
    """
    found = (*data.shape, int(np.sum(target == 1)))
    wanted = (expected.n_rows, expected.n_features, expected.n_positive)
    labels = ("rows", "columns", "rows of class 1")
    for label, is_, should in zip(labels, found, wanted, strict=True):
        if should is not None and is_ != should:
            raise DataError(
                f"{name} from {source} has {is_:,} {label}, but {should:,} are published: the file is "
                "damaged or another one. Delete it and fetch it again"
            )
    if (
        expected.fingerprint
        and not sparse.issparse(data)
        and fingerprint(data, target) != expected.fingerprint
    ):
        warnings.warn(
            f"{name} from {source} has the published size, but other values than the copy that Shortlist's "
            "published results were made with: expect small differences",
            DataWarning,
            stacklevel=3,
        )
    return Bunch(
        data=data,
        target=target,
        feature_names=list(feature_names) if feature_names is not None else None,
        target_names=list(target_names),
        groups=groups,
        split=split,
        DESCR=description,
        source=source,
        **more,
    )
