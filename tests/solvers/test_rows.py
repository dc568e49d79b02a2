"""Products with a subset of the rows: gathered or through the whole of X, dense or sparse, the same."""

import numpy as np
import pytest
from scipy import sparse

from shortlist.solvers import rows as module
from shortlist.solvers.rows import Rows, nbytes, product, rows_between, transposed, transposed_product


@pytest.fixture(params=["dense", "csr"])
def X(request):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.3)
    return A if request.param == "dense" else sparse.csr_array(A)


@pytest.mark.parametrize("gathered", [True, False])
@pytest.mark.parametrize("index", [np.arange(40), np.arange(0, 40, 3), np.arange(40)[::-1]])
def test_products(monkeypatch, X, index, gathered):
    if not gathered:
        monkeypatch.setattr(module, "GATHER_SHARE", -1.0)
        monkeypatch.setattr(module, "GATHER_BYTES", -1)
    A = X if isinstance(X, np.ndarray) else X.toarray()
    rows, rng = Rows(X, index), np.random.default_rng(1)
    w, v = rng.normal(size=12), rng.normal(size=len(index))
    np.testing.assert_allclose(rows.dot(w), A[index] @ w)
    np.testing.assert_allclose(rows.t_dot(v), A[index].T @ v)
    which = np.array([4, 1, 7])
    np.testing.assert_array_equal(rows.dense(which), A[index[which]])
    assert len(rows) == len(index)
    assert rows.passes == pytest.approx(2 * (len(index) / 40 if gathered or len(index) == 40 else 1.0))


@pytest.mark.parametrize("n_groups", [1, 4])
@pytest.mark.parametrize("width", [12, 400])
def test_weighted_gram_with_weights_of_both_signs(monkeypatch, n_groups, width):
    monkeypatch.setattr(module, "CHUNK_BYTES", 8 * width * 7)
    rng = np.random.default_rng(2)
    A = rng.normal(size=(50, width)) * (rng.random((50, width)) < 0.01)
    which, weights, groups = np.arange(3, 45), rng.normal(size=42), rng.integers(0, n_groups, 42)
    for X in (A, sparse.csr_array(A)):
        sums = np.ones((n_groups, width))
        gram = Rows(X, np.arange(50)).weighted_gram(which, weights, groups, sums)
        np.testing.assert_allclose(gram, (A[which] * weights[:, None]).T @ A[which], atol=1e-12)
        expected = np.ones((n_groups, width))
        np.add.at(expected, groups, weights[:, None] * A[which])
        np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_single_precision_is_never_widened():
    A = np.ones((5, 3), dtype=np.float32)
    for X in (A, sparse.csr_array(A)):
        assert product(X, np.ones(3)).dtype == np.float64
        assert Rows(X, np.arange(3)).take(np.arange(2)).dtype == np.float32
    # 1 + 2^-30 is 1 in single precision: the arithmetic was done there.
    assert product(A, np.array([1 + 2.0**-30, 0, 0]))[0] == 1.0
    assert transposed_product(A, np.array([1 + 2.0**-30, 0, 0, 0, 0]))[0] == 1.0


def test_memory():
    assert nbytes(np.zeros((4, 2))) == 64
    assert nbytes(sparse.csr_array(np.eye(3))) >= 3 * 8


def test_adopted_rows_are_views_that_can_be_let_go(X):
    rng, rows = np.random.default_rng(3), Rows(X, np.arange(5, 15))
    w, v = rng.normal(size=12), rng.normal(size=10)
    scores, total = rows.dot(w), rows.t_dot(v)
    part = rows_between(X, 5, 15)
    if isinstance(X, np.ndarray):
        assert np.shares_memory(part, X)
    else:
        assert np.shares_memory(part.data, X.data)
        assert np.shares_memory(transposed(part).indices, X.indices)
    changes = [
        lambda: rows.let_go(np.float32),  # of another dtype: nothing to adopt will come
        lambda: rows.let_go(np.float64),
        lambda: rows.adopt(part),
        rows.regather,
    ]
    for change in changes:
        change()
        np.testing.assert_allclose(rows.dot(w), scores)
        np.testing.assert_allclose(rows.t_dot(v), total)
    if isinstance(X, np.ndarray):
        assert not np.shares_memory(rows.take(slice(None)), X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
def test_the_transpose_of_every_form(form):
    X = np.random.default_rng(0).normal(size=(7, 4)) * (np.arange(28).reshape(7, 4) % 3 > 0)
    v = np.arange(7.0)
    np.testing.assert_allclose(transposed_product(form(X), v), X.T @ v)
    np.testing.assert_allclose(transposed(form(X)) @ v, X.T @ v)
