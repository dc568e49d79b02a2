"""The two small matrices of a least-squares problem over pairs, whichever side is smaller.

With the rows centred within their groups and scaled by the root of their weight, z~_i = sqrt(u_i) (z_i - mean_g(z)),

    columns   G = Z~' Z~   (d x d),   b = Z~' y~        O(m d^2)
    rows      K = Z~ Z~'   (m x m)                      O(m^2 d)

Rows are read in blocks, in their own precision, and summed in double.  Dense rows are centred before they are
multiplied, so that columns with large means lose nothing; sparse rows stay sparse where they are thin, and are
corrected afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["BLOCK_BYTES", "blocks", "column_gram", "group_means", "is_sparse", "row_gram", "scores_and_gradient"]

BLOCK_BYTES = 2**20


def is_sparse(Z: Any) -> bool:
    return bool(sparse.issparse(Z))


def blocks(Z: Any) -> Iterator[tuple[slice, Any]]:
    """Rows of a dense, CSR or streamed matrix, a block at a time."""
    m, d = Z.shape
    step = max(64, BLOCK_BYTES // (Z.dtype.itemsize * max(d, 1)))
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        yield rows, Z[rows]


def group_means(Z: Any, problem: PairProblem) -> Array:
    """Weighted mean of the rows of each group, (n_groups, d)."""
    total = np.zeros((len(problem.totals), Z.shape[1]))
    if is_sparse(Z):
        total += problem.sums(Z)
    else:
        for rows, block in blocks(Z):
            total += problem.sums(block, rows)
    return total / problem.totals[:, None]


def column_gram(Z: Any, problem: PairProblem) -> tuple[Array, Array]:
    """``G`` (d, d) and ``b`` (d, T); one pass, two where dense rows come in several groups."""
    if is_sparse(Z) and _is_thin(Z):
        return _sparse_column_gram(Z, problem)
    d = Z.shape[1]
    G, b = np.zeros((d, d)), np.zeros((d, problem.y.shape[1]))
    uniform = problem.is_uniform
    # One product for the targets and the sums of the rows: the rows are read once less.
    targets = np.hstack([problem.y, np.ones((len(problem.y), 1))])
    # Any centre near the mean will do: what it misses is put right at the end. One group is centred by its first rows.
    near = None if problem.groups is None else group_means(Z, problem)
    missed = np.zeros((len(problem.totals), d))
    for rows, block in blocks(Z):
        block = block.toarray() if is_sparse(block) else block
        if near is None:
            near = block.mean(axis=0, keepdims=True, dtype=np.float64)
        B = block - problem.spread(near, rows).astype(block.dtype, copy=False)
        if uniform:
            G += B.T @ B
            seen = B.T @ targets[rows].astype(B.dtype, copy=False)
            b += seen[:, :-1]
            missed[0] += seen[:, -1]
            continue
        missed += problem.sums(B, rows)
        b += B.T @ (problem.u[rows, None] * problem.y[rows]).astype(B.dtype, copy=False)
        B *= np.sqrt(problem.u[rows, None]).astype(B.dtype, copy=False)
        G += B.T @ B
    if uniform:
        G *= problem.u[0]
        b *= problem.u[0]
        missed *= problem.u[0]
    G -= missed.T @ (missed / problem.totals[:, None])
    return G, b


def _is_thin(Z: Any) -> bool:
    """Whether the product of sparse matrices beats that of dense blocks."""
    return bool(100 * (Z.nnz / max(Z.shape[0], 1)) ** 2 < Z.shape[1] ** 2)


def _sparse_column_gram(Z: Any, problem: PairProblem) -> tuple[Array, Array]:
    Z = sparse.csr_array(Z).astype(np.float64, copy=False)
    sums = problem.sums(Z)
    weighted = sparse.diags_array(problem.u) @ Z
    G = np.asarray((Z.T @ weighted).toarray())
    G -= sums.T @ (sums / problem.totals[:, None])
    return G, np.asarray(weighted.T @ problem.y)


def row_gram(Z: Any, problem: PairProblem) -> Array:
    """``K`` (m, m): blocks of columns for dense rows, one sparse product for sparse ones."""
    m, d = Z.shape
    root = np.sqrt(problem.u)
    if is_sparse(Z):
        K = np.asarray((Z @ Z.T).toarray(), dtype=np.float64)
        K = problem.centre(problem.centre(K).T)
        K *= root[:, None]
        K *= root
        return K
    means = group_means(Z, problem).astype(Z.dtype, copy=False)
    K = np.zeros((m, m))
    step = max(64, 8 * BLOCK_BYTES // (Z.dtype.itemsize * max(m, 1)))
    for first in range(0, d, step):
        columns = slice(first, first + step)
        B = Z[:, columns] - problem.spread(means[:, columns])
        B *= root[:, None].astype(B.dtype, copy=False)
        K += B @ B.T
    return K


def scores_and_gradient(Z: Any, problem: PairProblem, W: Array, C: float) -> tuple[Array, Array]:
    """Scores ``Z W`` (m, T) and the gradient of 1/2 ||W||^2 + C * risk, (d, T).

    One group needs one reading of the rows, several need two.
    """
    m, d = Z.shape
    scores = np.empty((m, W.shape[1]))
    own = W.astype(Z.dtype, copy=False)
    if is_sparse(Z):
        scores[:] = Z @ own
        pull = problem.u[:, None] * problem.centre(scores - problem.y)
        return scores, W + 2 * C * np.asarray(Z.T @ pull.astype(Z.dtype, copy=False))
    # sum_i u_i (r_i - mean) z_i = sum_i u_i r_i (z_i - mean(z)): the mean residual is only known at the end.
    pulled = np.zeros((d, W.shape[1] + 1))
    if problem.groups is None:
        near, level = None, np.zeros(W.shape[1])
        for rows, block in blocks(Z):
            if near is None:
                near = block.mean(axis=0, dtype=np.float64).astype(block.dtype)
            B = block - near
            scores[rows] = B @ own
            pull = problem.u[rows, None] * np.hstack([scores[rows] - problem.y[rows], np.ones((len(B), 1))])
            pulled += B.T @ pull.astype(B.dtype, copy=False)
            level += pull[:, :-1].sum(axis=0)
            scores[rows] += near @ own
        return scores, W + 2 * C * (pulled[:, :-1] - np.outer(pulled[:, -1], level / problem.totals[0]))
    for rows, block in blocks(Z):
        scores[rows] = block @ own
    pull = problem.u[:, None] * problem.centre(scores - problem.y)
    for rows, block in blocks(Z):
        pulled[:, :-1] += block.T @ pull[rows].astype(block.dtype, copy=False)
    return scores, W + 2 * C * pulled[:, :-1]
