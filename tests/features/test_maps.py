"""Feature maps: exact on all rows, Nystroem on landmarks, and the metamorphic twins."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise

from shortlist.features import ApproximationWarning, KernelMap, LinearMap, Rbf, feature_map, maps

rng = np.random.default_rng(0)
X = np.round(np.abs(rng.normal(size=(40, 5))) * (rng.random((40, 5)) < 0.6), 2)
NEW = np.round(np.abs(rng.normal(size=(9, 5))), 2)


def minimum(a: np.ndarray, b: np.ndarray) -> float:
    """A function of pairs that can be pickled."""
    return float(np.minimum(a, b).sum())


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "scales": {"kernel": "gaussian", "scales": [0.5, 2.0]},
    "laplacian": {"kernel": "laplacian"},
    "poly": {"kernel": "poly", "degree": 2},
    "tanimoto": {"kernel": "tanimoto"},
    "sum": {"kernel": [("rbf", 0.5), ("linear", 1.0), "tanimoto"]},
    "blocks": {"kernel": pairwise.polynomial_kernel, "kernel_params": {"degree": 2}},
    "pairs": {"kernel": minimum},
    "process": {"kernel": gp.RBF(1.5) + gp.ConstantKernel(0.5)},
}
SPARSE = [name for name in KERNELS if name not in ("process", "pairs")]
every_kernel = pytest.mark.parametrize("name", KERNELS)


def gram(Z: np.ndarray, V: np.ndarray | None = None) -> np.ndarray:
    return Z @ (Z if V is None else V).T


@every_kernel
def test_products_are_kernel_values(name: str) -> None:
    mapped = feature_map(**KERNELS[name])
    Z = mapped.fit_transform(X)
    K = mapped.kernel_(X, X)
    np.testing.assert_allclose(gram(Z), K, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(mapped.transform(X), Z, atol=1e-7)
    np.testing.assert_allclose(gram(mapped.transform(NEW), Z), mapped.kernel_(NEW, X), rtol=1e-9, atol=1e-9)
    assert mapped.is_exact_
    assert not mapped.is_linear
    assert Z.shape == (40, mapped.n_components_)
    assert len(set(mapped.landmarks_)) == len(mapped.landmarks_) == mapped.n_components_
    assert Z.dtype == np.float64


@every_kernel
def test_lengths_of_new_rows_never_exceed_the_kernels(name: str) -> None:
    """Z is a projection onto the span of the training rows."""
    mapped = feature_map(**KERNELS[name]).fit(X[:10])
    Z = mapped.transform(NEW)
    assert (np.square(Z).sum(axis=1) <= np.diagonal(mapped.kernel_(NEW, NEW)) * (1 + 1e-9)).all()


@every_kernel
def test_pickle(name: str) -> None:
    mapped = feature_map(**KERNELS[name]).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(mapped)).transform(NEW), mapped.transform(NEW))
    assert "n_landmarks=None" in repr(mapped)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_equals_dense_and_stays_sparse(name: str, kind: type) -> None:
    dense = feature_map(**KERNELS[name]).fit(X)
    thin = feature_map(**KERNELS[name])
    Z = thin.fit_transform(kind(X))
    assert sparse.issparse(thin.basis_)
    np.testing.assert_allclose(gram(Z), gram(dense.transform(X)), atol=1e-10)
    expected = gram(dense.transform(NEW))
    for mapped, rows in ((thin, kind(NEW)), (thin, NEW), (dense, kind(NEW))):
        np.testing.assert_allclose(gram(mapped.transform(rows)), expected, atol=1e-9)


def test_duplicate_entries_of_sparse_rows() -> None:
    split = sparse.csr_array((np.array([1.0, 2, 4]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    Z = feature_map("rbf").fit_transform(split)
    np.testing.assert_allclose(gram(Z), gram(feature_map("rbf").fit_transform(split.toarray())), atol=1e-14)
    assert split.nnz == 3


@every_kernel
def test_single_precision_in_single_precision_out(name: str) -> None:
    double = feature_map(**KERNELS[name]).fit(X)
    single = feature_map(**KERNELS[name])
    Z = single.fit_transform(X.astype(np.float32))
    assert Z.dtype == np.float32
    assert single.transform(NEW.astype(np.float32)).dtype == np.float32
    K = double.kernel_(X, X)
    np.testing.assert_allclose(gram(Z), K, rtol=1e-5, atol=1e-5 * K.max())


@every_kernel
@pytest.mark.parametrize("n_landmarks", [None, 12])
def test_weights_equal_repetition_and_zero_equals_absence(name: str, n_landmarks: int | None) -> None:
    w = rng.integers(0, 3, size=40)
    settings_ = {**KERNELS[name], "n_landmarks": n_landmarks, "random_state": 3}
    weighted = feature_map(**settings_).fit(X, sample_weight=w)
    repeated = feature_map(**settings_).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(
        gram(weighted.transform(NEW)), gram(repeated.transform(NEW)), rtol=1e-6, atol=1e-9
    )
    assert (w[weighted.landmarks_] > 0).all()
    np.testing.assert_allclose(
        feature_map(**settings_).fit_transform(X, sample_weight=w), weighted.transform(X), atol=1e-7
    )


@every_kernel
def test_order_of_rows_does_not_matter(name: str) -> None:
    order = rng.permutation(40)
    for n_landmarks in (None, 12):
        settings_ = {**KERNELS[name], "n_landmarks": n_landmarks, "random_state": 3}
        first = feature_map(**settings_).fit(X)
        second = feature_map(**settings_).fit(X[order])
        np.testing.assert_allclose(
            gram(first.transform(NEW)), gram(second.transform(NEW)), rtol=1e-6, atol=1e-9
        )


class TestNystroem:
    def test_all_landmarks_are_exact(self) -> None:
        exact = feature_map("rbf").fit_transform(X)
        for n_landmarks in (40, 1000, "all"):
            mapped = feature_map("rbf", n_landmarks=n_landmarks, random_state=0)
            assert mapped.fit(X).is_exact_
            np.testing.assert_allclose(gram(mapped.transform(X)), gram(exact), atol=1e-10)

    def test_is_exact_on_the_landmarks_and_a_projection_elsewhere(self) -> None:
        mapped = feature_map("rbf", gamma=0.4, n_landmarks=12, random_state=0)
        Z = mapped.fit_transform(X)
        K = pairwise.rbf_kernel(X, gamma=0.4)
        assert not mapped.is_exact_
        assert Z.shape == (40, 12)
        np.testing.assert_allclose(gram(Z, Z[mapped.landmarks_]), K[:, mapped.landmarks_], atol=1e-9)
        assert np.linalg.eigvalsh(K - gram(Z)).min() > -1e-9

    def test_equals_scikit_learns_on_the_same_landmarks(self) -> None:
        mapped = feature_map("rbf", gamma=0.4, n_landmarks=12, random_state=0).fit(X)
        theirs = Nystroem(gamma=0.4, n_components=12).fit(X[mapped.landmarks_])
        np.testing.assert_allclose(gram(mapped.transform(NEW)), gram(theirs.transform(NEW)), atol=1e-8)

    def test_seed(self) -> None:
        first, again, other = (
            feature_map("rbf", n_landmarks=12, random_state=seed).fit(X).landmarks_ for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, again)
        assert set(first) != set(other)

    def test_landmarks_are_distinct_rows(self) -> None:
        twice = np.repeat(X[:10], 4, axis=0)
        mapped = feature_map("rbf", n_landmarks=8, random_state=0).fit(twice)
        assert len(np.unique(twice[mapped.landmarks_], axis=0)) == 8
        assert feature_map("rbf").fit(twice).n_components_ == len(np.unique(X[:10], axis=0))

    def test_beyond_the_limit_a_warning_says_so(self, monkeypatch) -> None:
        monkeypatch.setattr(maps, "EXACT_LIMIT", 20)
        monkeypatch.setattr(maps, "AUTO_LANDMARKS", 15)
        with pytest.warns(ApproximationWarning, match=r"15 landmarks because X has \d\d distinct rows"):
            assert feature_map("rbf").fit(X).n_components_ == 15
        repeated = np.repeat(X[:20], 3, axis=0)
        assert feature_map("rbf").fit(repeated).is_exact_
        assert feature_map("rbf", n_landmarks="all").fit(X).is_exact_

    def test_more_landmarks_come_closer(self) -> None:
        K = pairwise.rbf_kernel(X, gamma=0.4)
        errors = [
            np.abs(
                K - gram(feature_map("rbf", gamma=0.4, n_landmarks=m, random_state=0).fit_transform(X))
            ).max()
            for m in (2, 10, 30)
        ]
        assert errors[0] > errors[1] > errors[2]


class TestPrecomputed:
    K = pairwise.rbf_kernel(X, gamma=0.4)
    new = pairwise.rbf_kernel(NEW, X, gamma=0.4)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
    def test_equals_the_named_kernel(self, kind) -> None:
        named = feature_map("rbf", gamma=0.4).fit(X)
        given_ = feature_map("precomputed")
        Z = given_.fit_transform(kind(self.K))
        assert given_.is_precomputed
        np.testing.assert_allclose(gram(Z), self.K, atol=1e-12)
        np.testing.assert_allclose(gram(given_.transform(kind(self.new)), Z), self.new, atol=1e-9)
        np.testing.assert_allclose(
            gram(given_.transform(kind(self.new))), gram(named.transform(NEW)), atol=1e-9
        )

    def test_weights_and_landmarks(self) -> None:
        w = np.arange(40) % 2
        mapped = feature_map("precomputed", n_landmarks=7, random_state=0)
        Z = mapped.fit_transform(self.K, sample_weight=w)
        assert Z.shape == (40, 7)
        assert (w[mapped.landmarks_] == 1).all()
        np.testing.assert_allclose(gram(Z, Z[mapped.landmarks_]), self.K[:, mapped.landmarks_], atol=1e-9)
        exact = feature_map("precomputed").fit(self.K, sample_weight=w)
        twin = feature_map("rbf", gamma=0.4).fit(X[w == 1])
        np.testing.assert_allclose(gram(exact.transform(self.new)), gram(twin.transform(NEW)), atol=1e-8)

    def test_pickle_and_repr(self) -> None:
        mapped = feature_map("precomputed").fit(self.K.astype(np.float32))
        assert pickle.loads(pickle.dumps(mapped)).transform(self.new.astype(np.float32)).dtype == np.float32
        assert repr(mapped) == "PrecomputedMap(n_landmarks=None)"

    @pytest.mark.parametrize(
        ("K", "words"),
        [
            (np.ones((3, 2)), "square matrix"),
            (np.array([[1.0, 0.5], [0.1, 1.0]]), "not symmetric"),
            (np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue"),
            (np.array([[1.0, np.inf], [np.inf, 1.0]]), "not finite"),
        ],
    )
    def test_wrong_matrices(self, K: np.ndarray, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            feature_map("precomputed").fit(K)


class TestLinear:
    @pytest.mark.parametrize("kernel", [None, "linear"])
    @pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_array, sparse.csc_array])
    def test_is_x_itself(self, kernel, kind) -> None:
        given_ = kind(X)
        mapped = feature_map(kernel)
        assert mapped.fit_transform(given_) is given_
        assert mapped.transform(given_) is given_
        assert mapped.is_linear
        assert not mapped.is_precomputed
        assert mapped.n_components_ == 5
        assert mapped.landmarks_ is None
        assert pickle.loads(pickle.dumps(mapped)).n_features_in_ == 5
        assert repr(mapped) == "LinearMap()"

    def test_products_equal_those_of_the_linear_kernel(self) -> None:
        Z = feature_map([("linear", 1.0)]).fit_transform(X)
        assert Z.shape == (40, 5)
        np.testing.assert_allclose(gram(Z), X @ X.T, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 10),
    d=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["rbf", "laplacian", "poly", "tanimoto", "gaussian"]),
    gamma=st.floats(1e-3, 10),
)
def test_every_named_kernel_is_positive_semidefinite_and_reproduced(n, d, seed, name, gamma) -> None:
    """Counts with many ties, zero rows and duplicates."""
    counts = np.random.default_rng(seed).integers(0, 3, size=(n, d)).astype(float)
    given_ = {"scales": [gamma, 3.0]} if name == "gaussian" else {"gamma": gamma}
    mapped = feature_map(name, **given_)
    Z = mapped.fit_transform(counts)
    K = mapped.kernel_(counts, counts)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * K.max()
    np.testing.assert_allclose(gram(Z), K, atol=1e-10 * K.max())
    assert Z.shape[1] <= len(np.unique(counts, axis=0))


def test_blocks_do_not_change_the_result(monkeypatch) -> None:
    mapped = feature_map("rbf").fit(X)
    whole = mapped.transform(X)
    monkeypatch.setattr(maps, "_BLOCK_VALUES", 100)
    np.testing.assert_allclose(mapped.transform(X), whole, atol=1e-9)
    assert mapped.transform(X[:0]).shape == (0, mapped.n_components_)


def test_memory_of_transform_is_bounded(monkeypatch) -> None:
    """60,000 x 200 kernel values would be 96 MB at once."""
    monkeypatch.setattr(maps, "_BLOCK_VALUES", 2**16)
    rows = rng.normal(size=(60_000, 3))
    mapped = feature_map("rbf", n_landmarks=200, random_state=0).fit(rows)
    mapped.mixing_ = mapped.mixing_[:, :2]
    mapped.n_components_ = 2
    tracemalloc.start()
    mapped.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


def test_fit_does_not_change_x() -> None:
    for given_ in (X.copy(), sparse.csr_array(X)):
        before = given_.copy()
        for name in SPARSE:
            feature_map(**KERNELS[name]).fit(given_).transform(given_)
        assert abs(given_ - before).max() == 0


@pytest.mark.parametrize("rows", [np.ones((1, 1)), np.zeros((3, 2)), np.ones((4, 2))])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly", "tanimoto"])
def test_one_row_zero_columns_constant_columns(rows: np.ndarray, name: str) -> None:
    mapped = feature_map(name)
    Z = mapped.fit_transform(rows)
    assert Z.shape == (len(rows), 1)
    np.testing.assert_allclose(gram(Z), mapped.kernel_(rows, rows), atol=1e-12)


@pytest.mark.parametrize("mapped", [LinearMap(), KernelMap(Rbf())])
class TestWrongShapes:
    def test_not_fitted(self, mapped) -> None:
        with pytest.raises(NotFittedError, match="call fit"):
            type(mapped)(*([Rbf()] if isinstance(mapped, KernelMap) else [])).transform(X)

    def test_fit(self, mapped) -> None:
        for wrong, words in (
            (np.ones(3), "2-d"),
            ([[1.0]], "got list"),
            (np.ones((0, 2)), "at least one row"),
            (np.ones((2, 0)), "at least one row and one column"),
        ):
            with pytest.raises(ValueError, match=words):
                mapped.fit(wrong)

    def test_weights(self, mapped) -> None:
        with pytest.raises(ValueError, match="one number for each of the 40 rows"):
            mapped.fit(X, sample_weight=np.ones(3))
        with pytest.raises(ValueError, match="every row has weight 0"):
            mapped.fit(X, sample_weight=np.zeros(40))

    def test_transform(self, mapped) -> None:
        mapped.fit(X)
        with pytest.raises(ValueError, match="X has 3 columns, but the map was fitted on 5"):
            mapped.transform(NEW[:, :3])
        with pytest.raises(ValueError, match="2-d"):
            mapped.transform(NEW[0])


def test_values_out_of_range() -> None:
    with pytest.raises(ValueError, match="not finite"):
        feature_map("poly", gamma=1.0).fit(X * 1e300)
    mapped = feature_map("poly", gamma=1.0).fit(X)
    with pytest.raises(ValueError, match="rows 0 to 8 are not finite"):
        mapped.transform(NEW * 1e300)


def test_asymmetric_and_indefinite_functions_are_refused() -> None:
    with pytest.raises(ValueError, match="not symmetric"):
        feature_map(lambda a, b: a[:, :1] + 2 * b[:, 0]).fit(X)
    with pytest.raises(ValueError, match="smallest eigenvalue"):
        feature_map(lambda a, b: -pairwise.euclidean_distances(a, b)).fit(X)
