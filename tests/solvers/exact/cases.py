"""Random exact problems, small enough for exhaustion: every statistic, both ranks, preferences, prices, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem, on_the_cube
from shortlist.statistics import DCG, GivenWeights, PartialAUC, Power, RankWeights

Array = NDArray[Any]

# Convex by place (wrs, dcg, power, reciprocal rank) and not (the cuts, the user's own).
STATISTICS = ("wrs", "dcg", "reciprocal_rank", "winner_takes_all", "power", "dcg@3", "partial", "given")
FEATURES = ("lattice", "dyadic", "normal", "duplicates", "lattice duplicates")
MARGINS = (1e-4, 2.0**-13, 0.5, 1.0)


def weights_of(name: str, n: int, rng: np.random.Generator) -> RankWeights | str:
    if name == "power":
        return Power(2.5)
    if name == "dcg@3":
        return DCG(top=3)
    if name == "partial":
        return PartialAUC(top=4)
    if name == "given":
        return GivenWeights(np.sort(rng.integers(0, 6, size=n)).astype(float))
    return name


def features(kind: str, n: int, d: int, rng: np.random.Generator) -> Array:
    if "lattice" in kind:
        X = rng.integers(0, int(rng.integers(2, 5)), size=(n, d)).astype(float)
    elif kind == "dyadic":
        X = rng.integers(-16, 17, size=(n, d)) / 8
    else:
        X = rng.normal(size=(n, d))
    return X[rng.integers(0, n, size=n)] if "duplicates" in kind else X


def small_problem(number: int, *, most_rows: int = 10, most_features: int = 3) -> ExactProblem:
    """Problem ``number`` of a fixed sequence in which kinds take turns."""
    rng = np.random.default_rng(number)
    n, d = int(rng.integers(3, most_rows + 1)), int(rng.integers(1, most_features + 1))
    X = features(FEATURES[number % 5], n, d, rng)
    margin = float(rng.choice(MARGINS))
    l0 = float(rng.choice([0.125, 0.5])) if number % 2 else 0.0
    if number % 9 == 8:
        q = int(rng.integers(1, 15))
        better, worse = rng.integers(0, n, size=(2, q))
        return PreferenceProblem(X, margin, l0, better, worse, rng.choice([0.5, 1.0, 2.0], size=q))
    y = np.zeros(n, dtype=bool)
    y[rng.permutation(n)[: rng.integers(1, n)]] = True
    name = STATISTICS[number // 2 % 8]
    groups = rng.integers(0, 2, size=n) if number % 7 == 3 and name != "given" else None
    ranks = "resolved" if number // 16 % 2 else "subrank"
    return RankProblem.of(X, y, weights_of(name, n, rng), groups=groups, margin=margin, l0=l0, ranks=ranks)


def random_weights(d: int, count: int, rng: np.random.Generator) -> list[Array]:
    """Points of the cube: directions, and points with some coefficients at zero or at small whole numbers."""
    W = rng.normal(size=(count, d))
    W[::3] = rng.integers(-2, 3, size=W[::3].shape)
    W[1::3] *= rng.random(size=W[1::3].shape) < 0.7
    return [on_the_cube(w) for w in W]


def small_medium(
    seed: int, statistic: RankWeights | str, *, n: int = 24, m: int = 6, d: int = 3, margin: float = 1e-4,
    l0: float = 0.0, ranks: Any = "subrank", n_groups: int = 1, whole: bool = False,
) -> RankProblem:  # fmt: skip
    """Labelled rows that no weights put in order; ``whole`` numbers make ties."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) < m
    X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
    X = np.round(2 * X) if whole else X
    groups = np.arange(n) % n_groups if n_groups > 1 else None
    return RankProblem.of(X, y, statistic, groups=groups, margin=margin, l0=l0, ranks=ranks)
