"""The estimators that every common test runs through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist import AATP, InfinitePush, PatMat, SparseInfinitePush, TauFPL, TopPush, TopPushK

Array = NDArray[Any]

DEFAULTS = [TopPush(), InfinitePush(), TopPushK(), TauFPL(), PatMat(), AATP(), SparseInfinitePush()]
VARIANTS = [
    TopPush(loss="logistic"),
    TopPush(loss="exponential"),
    TopPush(kernel="rbf"),
    TauFPL(tau="auto"),
    TauFPL(tau=0.2, loss="hinge"),
    PatMat(loss="logistic", tau=0.2),
]
ALL = DEFAULTS + VARIANTS


def name_of(estimator: Any) -> str:
    return repr(estimator).replace("\n", "")


def clouds(n: int = 120, d: int = 4, *, seed: int = 0, shift: float = 1.5) -> tuple[Array, Array]:
    """Two Gaussian clouds, a third of the rows positive, not separable."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, d))
    X[y == 1, :2] += shift
    return X, y
