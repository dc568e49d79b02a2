"""Weak rankers: the best of all of them, found by trying each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from shortlist.solvers.weak_rankers import Features, Stumps
from tests.oracle.boosting import rankers_of


def draw(seed: int) -> tuple[Any, Any]:
    """Columns of all kinds, many of their values equal; potentials of sum 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    columns = [
        rng.normal(size=n),
        rng.integers(-2, 3, n),
        rng.integers(0, 2, n),
        np.zeros(n),
        np.full(n, 3.0),
        -rng.random(n) - 1,  # no zero at all
        rng.integers(1, 4, n) * np.where(rng.random(n) < 0.5, 1.0, -1.0),
    ]
    kept = rng.permutation(len(columns))[: rng.integers(1, len(columns) + 1)]
    potentials = rng.normal(size=n)
    return np.column_stack([columns[k] for k in kept]), potentials - potentials.mean()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_best_stump_of_all(seed: int) -> None:
    X, potentials = draw(seed)
    every = [abs(float(potentials @ h)) for *_, h in rankers_of(X, "stump")]
    for data in (X, sparse.csr_array(X), sparse.csc_array(X)):
        found = Stumps(data).best(potentials)
        if max(every, default=0.0) < 1e-10:
            assert found is None
            continue
        assert found is not None
        assert abs(found.edge) == pytest.approx(max(every))
        up = X[:, found.column] > found.threshold
        np.testing.assert_array_equal(found.up, up)
        np.testing.assert_array_equal(found.on(data), up.astype(float))
        assert found.edge == pytest.approx(float(potentials @ up))
        assert np.ptp(found.values - up) == 0  # the stump, up to a constant


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_best_feature_of_all(seed: int) -> None:
    X, potentials = draw(seed)
    every = [abs(float(potentials @ h)) for *_, h in rankers_of(X, "linear")]
    for data in (X, sparse.csr_array(X), sparse.csc_array(X)):
        found = Features(data).best(potentials)
        if max(every, default=0.0) < 1e-10:
            assert found is None
            continue
        assert found is not None
        assert abs(found.edge) == pytest.approx(max(every))
        assert found.up is None
        assert np.isnan(found.threshold)
        assert np.ptp(found.values) == pytest.approx(1.0)
        assert np.ptp(found.on(data) - found.values) == pytest.approx(0.0, abs=1e-12)
        assert found.edge == pytest.approx(float(potentials @ found.values))


def test_dense_and_sparse_choose_the_same_among_equals() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = rng.integers(-1, 2, (8, 4)).astype(float)
        X[:, 3] = X[:, 0]  # twins: the first column is taken
        potentials = np.repeat([0.25, -0.25], 4)
        dense, thin = (Stumps(data).best(potentials) for data in (X, sparse.csr_array(X)))
        shuffled = Stumps(X[::-1]).best(potentials[::-1])
        if dense is None:
            assert thin is shuffled is None
            continue
        assert (dense.column, dense.threshold) == (thin.column, thin.threshold) == (shuffled.column, shuffled.threshold)
        assert dense.column < 3


def test_thresholds_lie_between_the_values() -> None:
    near = np.nextafter(1.0, 2.0)
    for low, high in ((1.0, near), (-1e307, 1e307), (0.0, 5e-324)):
        for container in (np.asarray, sparse.csr_array):
            found = Stumps(container(np.array([[low], [high]]))).best(np.array([-1.0, 1.0]))
            assert found is not None
            assert low <= found.threshold < high


def test_single_precision_stays() -> None:
    X = np.array([[0.1], [0.2], [0.4]], dtype=np.float32)
    found = Stumps(X).best(np.array([-1.0, 0.0, 1.0]))
    assert found is not None
    assert found.threshold == np.float32(found.threshold)
    linear = Features(X).best(np.array([-1.0, 0.0, 1.0]))
    assert linear is not None
    assert linear.edge == pytest.approx(1.0)


@pytest.mark.parametrize("family", [Features, Stumps])
def test_nothing_to_choose(family: Any) -> None:
    for X in (np.zeros((3, 2)), np.ones((3, 1)), sparse.csr_array((3, 2)), np.eye(3)):
        assert family(X).best(np.zeros(3)) is None
