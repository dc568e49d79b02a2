"""Splits that all models share, and fingerprints of data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import ShuffleSplit

from shortlist.selection.splits import digest, make_splits

LABELS = (np.arange(60) % 4 == 0).astype(int)
CODES = np.arange(60) // 6


def test_folds_are_stratified_and_drawn_anew() -> None:
    splits = make_splits(5, 2, LABELS, None, 0)
    assert len(splits) == 10
    for half in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([test for _, test in half])) == list(range(60))
        assert {int(LABELS[test].sum()) for _, test in half} == {3}
    assert not np.array_equal(splits[0][1], splits[5][1])
    again = make_splits(5, 2, LABELS, None, 0)
    assert all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in zip(splits, again, strict=True))
    assert not np.array_equal(splits[0][1], make_splits(5, 2, LABELS, None, 1)[0][1])


def test_groups_stay_whole() -> None:
    for train, test in make_splits(3, 2, LABELS, CODES, 0):
        assert not set(CODES[train]) & set(CODES[test])
    with pytest.raises(ValueError, match="at least 11 groups, got 10"):
        make_splits(11, 1, LABELS, CODES, 0)


def test_too_many_folds() -> None:
    with pytest.raises(ValueError, match="at least 16 rows of the rarer label, got 15"):
        make_splits(16, 1, LABELS, None, 0)


@pytest.mark.parametrize(
    ("cv", "error"), [(1, ValueError), (True, TypeError), (2.5, TypeError), ("5", TypeError), ([1, 2], TypeError)]
)
def test_what_cv_may_not_be(cv: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make_splits(cv, 1, LABELS, None, 0)


def test_a_splitter_is_asked_as_it_is() -> None:
    kind = ShuffleSplit(3, test_size=0.3, random_state=0)
    expected = list(kind.split(np.zeros(60)))
    found = make_splits(kind, 7, LABELS, None, 5)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(found, expected, strict=True))


class TestDigest:
    def test_the_same_for_the_same(self) -> None:
        X = np.arange(12.0).reshape(4, 3)
        assert digest(X) == digest(X.copy()) == digest(np.asfortranarray(X))
        S = sparse.csr_array(X)
        assert digest(S) == digest(S.copy())
        assert digest(["a", 1]) == digest(["a", 1])

    def test_another_for_anything_else(self) -> None:
        X = np.arange(12.0).reshape(4, 3)
        others: list[Any] = [
            X.T,
            X + 1e-12,
            X.astype(int),
            X.reshape(3, 4),
            X.astype(object),
            sparse.csr_array(X),
            None,
        ]
        found = [digest(one) for one in [X, *others]]
        assert len(set(found)) == len(found)
        assert digest(np.array(["a", "b"])) != digest(np.array(["a", "c"]))
