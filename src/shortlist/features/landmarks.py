"""Which rows stand for all: distinct rows, and a seeded uniform sample of them.

Every row gets a 64-bit key, a hash of the seed and of the row's non-zero entries.  Equal keys are equal rows,
and the m smallest keys are a uniform sample of m distinct rows.  So the sample depends on the seed and on the
set of distinct rows alone: not on their order, on how often a row is repeated, on weights (above 0), on dense
or sparse storage, or on single or double precision of the same values.

The key is the sum, modulo 2^64, of a mixed word for each non-zero entry (column, value); the mixing function
is that of splitmix64 (Steele, Lea, Flood 2014).  One pass over X in blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.features.matrices import Array, Matrix, is_sparse

__all__ = ["distinct_rows", "row_keys", "seed_of"]

_BLOCK_ENTRIES = 2**20


def seed_of(random_state: Any) -> int:
    """A 63-bit seed from ``None`` (NumPy's global state), an int, a ``RandomState`` or a ``Generator``."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**63 - 1, dtype=np.int64))


def distinct_rows(X: Matrix, present: Array, seed: int) -> tuple[Array, Array]:
    """First occurrences of the distinct rows among ``present``, in random order, and who represents whom.

    Returns
    -------
    first : int array
        Row numbers; a prefix of length m is a uniform sample of m distinct rows.
    representative : int array
        For each row of ``X`` its place in ``first``, -1 for rows that are not present.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    >>> first, representative = distinct_rows(X, np.arange(3), seed=0)
    >>> sorted(first.tolist()), bool(representative[0] == representative[2])
    ([0, 1], True)
    """
    keys = row_keys(X, seed)[present]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    representative = np.full(X.shape[0], -1, dtype=np.intp)
    representative[present] = inverse
    return present[first], representative


def row_keys(X: Matrix, seed: int) -> Array:
    """A 64-bit hash of each row of a dense or CSR matrix."""
    n_rows, n_columns = X.shape
    columns = _mix(np.arange(1, n_columns + 1, dtype=np.uint64) + np.uint64(seed))
    keys = np.empty(n_rows, dtype=np.uint64)
    per_row = max(1, X.nnz // n_rows if is_sparse(X) else n_columns)
    step = max(1, _BLOCK_ENTRIES // per_row)
    for start in range(0, n_rows, step):
        block = slice(start, start + step)
        keys[block] = _sparse_sums(X[block], columns) if is_sparse(X) else _dense_sums(X[block], columns)
    return _mix(keys + _mix(np.full(1, seed, dtype=np.uint64)))


def _dense_sums(block: Matrix, columns: Array) -> Array:
    values = np.ascontiguousarray(block, dtype=np.float64)
    words = _mix(values.view(np.uint64) ^ columns)
    words[values == 0] = 0
    total: Array = words.sum(axis=1, dtype=np.uint64)
    return total


def _sparse_sums(block: Matrix, columns: Array) -> Array:
    block = block.astype(np.float64)
    block.sum_duplicates()
    words = _mix(block.data.view(np.uint64) ^ columns[block.indices])
    words[block.data == 0] = 0
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words, dtype=np.uint64)])
    total: Array = running[block.indptr[1:]] - running[block.indptr[:-1]]
    return total


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: a bijection of 64-bit words that looks random."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
