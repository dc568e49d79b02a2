"""Models for the tests of compare: they remember what they were shown, stop half way, or know too much."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Array = NDArray[Any]


def rows(n: int = 120, d: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """Column 0 is the row's number, column 1 tells the labels apart, a third of them positive."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] = np.arange(n)
    X[:, 1] += 1.2 * y
    return X, y


class Column(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores by one column, and notes the rows of each fit and each list of scores."""

    fits: ClassVar[list[dict[str, Any]]] = []
    asked: ClassVar[list[list[int]]] = []

    def __init__(self, at: int = 1, tag: str = "", stop_after: int | None = None) -> None:
        self.at = at
        self.tag = tag
        self.stop_after = stop_after

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        if self.stop_after is not None and len(Column.fits) >= self.stop_after:
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        Column.fits.append(
            {"tag": self.tag, "rows": X[:, 0].astype(int).tolist(), "groups": groups, "weights": sample_weight}
        )
        return self

    def decision_function(self, X: Any) -> Array:
        Column.asked.append(X[:, 0].astype(int).tolist())
        return np.asarray(X[:, self.at], dtype=float)


class Memory(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores by column 1; or knows the labels of the rows that it was fitted to by heart, and nothing of others."""

    def __init__(self, by_heart: bool = False) -> None:
        self.by_heart = by_heart

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        self.known_ = dict(zip(X[:, 0].tolist(), (y == self.classes_[1]).tolist(), strict=True))
        return self

    def decision_function(self, X: Any) -> Array:
        if not self.by_heart:
            return np.asarray(X[:, 1])
        return np.array([2.0 * self.known_.get(row, 0.5) - 1 for row in X[:, 0].tolist()])


class Plain(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Takes neither groups nor weights."""

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Array:
        return np.asarray(self.classes_[(X[:, 1] > 0.5).astype(int)])


class Refusing(Plain):
    """Cannot be fitted."""

    def fit(self, X: Any, y: Any) -> Self:
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "not for me")
