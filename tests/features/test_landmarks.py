"""Row keys: the same sample of distinct rows whatever the order, the storage and the repetitions."""

import numpy as np
import pytest
from scipy import sparse

from shortlist.features import landmarks
from shortlist.features.landmarks import distinct_rows, row_keys, seed_of

rng = np.random.default_rng(1)
X = np.round(rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.5), 1).astype(np.float32)
everyone = np.arange(200)


def test_keys_agree_on_storage_precision_and_signed_zero() -> None:
    keys = row_keys(X, 5)
    signed = X.copy()
    signed[signed == 0] = -0.0
    explicit = sparse.csr_array(X)
    explicit.data[:3] = 0
    other = X.copy()
    other[explicit.nonzero()] = explicit.data[explicit.data != 0]
    for same in (X.astype(float), np.asfortranarray(X), sparse.csr_array(X), sparse.csr_matrix(X), signed):
        np.testing.assert_array_equal(row_keys(same, 5), keys)
    np.testing.assert_array_equal(row_keys(explicit, 5), row_keys(explicit.toarray(), 5))


def test_duplicate_entries_of_a_sparse_row_are_summed() -> None:
    split = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    np.testing.assert_array_equal(row_keys(split, 0), row_keys(np.array([[0.0, 3.0, 0.0]]), 0))


def test_keys_do_not_depend_on_blocks(monkeypatch) -> None:
    expected = row_keys(X, 5)
    monkeypatch.setattr(landmarks, "_BLOCK_ENTRIES", 20)
    np.testing.assert_array_equal(row_keys(X, 5), expected)
    np.testing.assert_array_equal(row_keys(sparse.csr_array(X), 5), expected)


def test_equal_keys_are_equal_rows() -> None:
    first, representative = distinct_rows(X, everyone, 0)
    distinct = np.unique(X, axis=0)
    assert len(first) == len(distinct)
    np.testing.assert_array_equal(X[first][representative], X)
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0], [0.0, 3.0]])
    assert len(np.unique(row_keys(swapped, 0))) == 4


def test_sample_does_not_depend_on_order_or_repetition() -> None:
    first, _ = distinct_rows(X, everyone, 7)
    order = rng.permutation(np.repeat(everyone, rng.integers(1, 4, size=200)))
    again, _ = distinct_rows(X[order], np.arange(len(order)), 7)
    np.testing.assert_array_equal(X[order][again], X[first])
    other, _ = distinct_rows(X, everyone, 8)
    assert not np.array_equal(X[first], X[other])


def test_absent_rows_are_never_drawn() -> None:
    present = np.arange(0, 200, 3)
    first, representative = distinct_rows(X, present, 0)
    assert set(first) <= set(present)
    assert (representative[np.setdiff1d(everyone, present)] == -1).all()
    assert (representative[present] >= 0).all()


def test_sample_is_uniform() -> None:
    """Each of ten rows is the first in a tenth of 2,000 seeds, within five standard deviations."""
    rows = np.arange(10.0)[:, None]
    counts = np.bincount([distinct_rows(rows, np.arange(10), s)[0][0] for s in range(2000)], minlength=10)
    assert np.abs(counts - 200).max() < 5 * np.sqrt(2000 * 0.1 * 0.9)


def test_seeds() -> None:
    assert seed_of(3) == seed_of(np.random.RandomState(3))
    assert seed_of(np.random.default_rng(3)) == seed_of(np.random.default_rng(3))
    assert seed_of(3) != seed_of(4)
    assert isinstance(seed_of(None), int)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        seed_of("three")
