"""The factor Z Z' = K, and the refusal of matrices that have none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.features.factor import factor


def check(K: np.ndarray, rank: int | None = None, rtol: float = 1e-12) -> None:
    f = factor(K)
    size = max(float(np.abs(K).max()), 1e-300)
    assert np.abs(f.Z @ f.Z.T - K).max() <= rtol * size * len(K)
    assert np.abs(K[:, f.rows] @ f.mixing - f.Z).max() <= 1e-6 * np.sqrt(size)
    assert f.mixing.shape == (len(f.rows), f.Z.shape[1])
    if rank is not None:
        assert f.Z.shape[1] == rank


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 12), rank=st.integers(1, 12), seed=st.integers(0, 10**6), size=st.floats(-6, 6))
def test_any_positive_semidefinite_matrix_is_reproduced_at_its_rank(n, rank, seed, size) -> None:
    A = np.random.default_rng(seed).normal(size=(n, rank)) * 10**size
    f = factor(A @ A.T)
    # A pivot of the size of rounding may pass for one more dimension; it holds nothing but rounding.
    assert np.sum((f.Z**2).sum(axis=0) > 1e-12 * 10 ** (2 * size)) <= min(n, rank)
    np.testing.assert_allclose(f.Z @ f.Z.T, A @ A.T, atol=1e-10 * 10 ** (2 * size))


def test_rank_is_relative_to_each_row() -> None:
    """A row a million times shorter than another is not rounding."""
    check(np.diag([1e12, 1.0, 1e-12]), rank=3)


def test_duplicates_and_zero_rows_add_nothing() -> None:
    A = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    f = factor(A @ A.T)
    assert f.Z.shape == (4, 2)
    assert set(f.rows) <= {0, 2, 3}
    np.testing.assert_array_equal(f.Z[1], 0)
    np.testing.assert_allclose(f.Z[0], f.Z[2])


def test_zero_matrix_has_one_zero_feature() -> None:
    f = factor(np.zeros((3, 3)))
    assert f.Z.shape == (3, 1)
    assert not f.Z.any()
    assert not f.mixing.any()


def test_noise_below_zero_is_clipped() -> None:
    """Rank one, with rounding noise large enough to break a Cholesky factorisation."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(30, 1))
    noise = rng.normal(size=(30, 30)) * 1e-10
    K = a @ a.T + noise + noise.T
    f = factor(K)
    assert len(f.rows) == 30
    assert f.Z.shape[1] < 30
    np.testing.assert_allclose(f.Z @ f.Z.T, K, atol=1e-8)
    np.testing.assert_allclose(K @ f.mixing, f.Z, atol=1e-8)


@pytest.mark.parametrize(
    ("K", "smallest"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "-1 "),
        ([[0.0, 1.0], [1.0, 0.0]], "-1 "),
        ([[-2.0]], "-2 "),
        ([[1.0, 0.0], [0.0, -0.5]], "-0.5 "),
    ],
)
def test_indefinite_matrices_are_refused_with_the_smallest_eigenvalue(K, smallest) -> None:
    with pytest.raises(ValueError, match=f"smallest eigenvalue of its matrix on .* is {smallest}"):
        factor(np.array(K))


def test_how_much_below_zero_is_the_callers_choice() -> None:
    K = np.diag([1.0, 1.0, -1e-6])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        factor(K)
    assert factor(K, indefinite=1e-4).Z.shape == (3, 2)


def test_tolerance_leaves_small_rests_out() -> None:
    A = np.array([[1.0, 0.0], [1.0, 1e-3]])
    assert factor(A @ A.T).Z.shape[1] == 2
    assert factor(A @ A.T, tolerance=1e-5).Z.shape[1] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        factor(np.array([[bad]]))
