"""All pairs one by one, by dense least squares: what no solver of the package does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def all_pairs(Z: Array, y: Array, C: float, groups: Any = None, weights: Any = None) -> tuple[Array, float]:
    """The minimiser (d, T) of 1/2 ||W||^2 + C * mean over ordered pairs of groups, and the minimum."""
    m, d = Z.shape
    groups = np.zeros(m) if groups is None else np.asarray(groups)
    weights = np.ones(m) if weights is None else np.asarray(weights)
    i, j = np.nonzero(groups[:, None] == groups[None, :])
    share = weights[i] * weights[j]
    root = np.sqrt(C * share / share.sum())[:, None]
    A = np.vstack([np.eye(d) / np.sqrt(2), root * (Z[i] - Z[j])])
    b = np.vstack([np.zeros((d, y.shape[1])), root * (y[i] - y[j])])
    W = np.linalg.lstsq(A, b, rcond=None)[0]
    return W, float(((A @ W - b) ** 2).sum())


def block_system(kernels: list[Array], v: list[float], lam: float, y: Array) -> Array:
    """Equation (7) of Zhou et al. (2016), as printed: the coefficients alpha^t of each kernel, (l, m)."""
    m, size = len(y), len(kernels)
    D = m * np.eye(m) - np.ones((m, m))
    A = np.block(
        [
            [(m * lam * v[t] * np.eye(m) if t == s else 0) + 2 / m * D @ kernels[s] for s in range(size)]
            for t in range(size)
        ]
    )
    return np.linalg.solve(A, np.tile(2 / m * D @ y, size)).reshape(size, m)
