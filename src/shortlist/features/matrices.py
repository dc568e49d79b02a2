"""What this room takes for a matrix: a dense array, or a SciPy sparse matrix or array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
Matrix = Any

__all__ = ["Array", "Matrix", "dense", "is_sparse"]


def is_sparse(X: Matrix) -> bool:
    """Whether X is one of SciPy's sparse matrices or arrays."""
    return bool(sparse.issparse(X))


def dense(X: Matrix) -> Array:
    """X as a dense array of double precision; no copy where it is one."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
