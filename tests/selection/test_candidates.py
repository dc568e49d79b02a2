"""What there is to choose from fits dense and sparse rows of any width, the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.estimators._responses import scores_of
from shortlist.selection import candidates
from shortlist.selection.candidates import BASELINES, FAMILIES, Densify, families_for
from tests.common.estimators import clouds


def test_the_baselines_are_there_and_the_simplest_comes_first() -> None:
    assert set(BASELINES) <= set(FAMILIES)
    assert next(iter(FAMILIES)) == "logistic regression"
    for family in FAMILIES.values():
        named = [tuple(sorted(one.items())) for one in family.settings]
        assert len(set(named)) == len(named) > 0


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_every_family_ranks(name: str, kind: Any) -> None:
    X, y = clouds(80)
    X = kind(np.where(np.abs(X) > 0.3, X, 0.0))
    family = families_for([name], X)[0]
    settings = family.settings[-1]
    first, second = (scores_of(family.make(X, 0, **settings).fit(X, y), X, 1) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first[y == 1].mean() > first[y == 0].mean()


def test_sparse_rows_are_not_ranked_column_by_column() -> None:
    X = sparse.csr_array(np.eye(5))
    for family in families_for(FAMILIES, X):
        assert all(one.get("scale") != "ranks" for one in family.settings)
    assert any(one.get("scale") == "ranks" for one in families_for(["TopPush"], np.eye(5))[0].settings)


def test_kernels_are_for_some_thousand_rows() -> None:
    names = [family.name for family in families_for(FAMILIES, np.zeros((candidates.MOST_KERNEL_ROWS + 1, 1)))]
    assert names == [name for name in FAMILIES if "kernel" not in name]


def test_wide_sparse_rows_are_narrowed_for_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_ENTRIES", 100)
    monkeypatch.setattr(candidates, "MOST_COLUMNS", 3)
    X, y = clouds(60, 6)
    S = sparse.csr_array(X)
    model = candidates.boosting(S).fit(S, y)
    assert model["rank"].n_features_in_ == 3
    assert candidates.boosting(X).fit(X, y).n_features_in_ == 6


def test_dense() -> None:
    X = np.eye(3)
    made = Densify().fit(sparse.csr_array(X))
    np.testing.assert_array_equal(made.transform(sparse.csr_array(X)), X)
    np.testing.assert_array_equal(made.transform(X), X)
