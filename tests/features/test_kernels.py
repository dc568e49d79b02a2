"""Kernel values against scikit-learn's, brute force and their definitions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from shortlist.features import (
    CallableKernel,
    Gaussians,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Rbf,
    SklearnKernel,
    SumKernel,
    Tanimoto,
)
from shortlist.features.spread import entry_variance

rng = np.random.default_rng(0)
X = rng.normal(size=(7, 4))
Y = rng.normal(size=(5, 4))
BITS = (rng.random((12, 9)) < 0.4).astype(float)
BITS[3] = BITS[8] = 0
ones = np.ones


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Rbf(0.3), pairwise.rbf_kernel(X, Y, gamma=0.3)),
        (Laplacian(0.3), pairwise.laplacian_kernel(X, Y, gamma=0.3)),
        (Polynomial(3, 0.2, 0.5), pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.2, coef0=0.5)),
        (Polynomial(1, 2.0, 0.0), 2 * X @ Y.T),
        (Gaussians(0.7), np.exp(-cdist(X, Y, "sqeuclidean") / (2 * 0.49))),
        (SklearnKernel(gp.Matern(1.3, nu=1.5)), gp.Matern(1.3, nu=1.5)(X, Y)),
        (SumKernel([(Rbf(0.3), 0.5), (Linear(), 2)]), 0.5 * pairwise.rbf_kernel(X, Y, 0.3) + 2 * X @ Y.T),
        (CallableKernel(pairwise.rbf_kernel, {"gamma": 0.3}, of="blocks"), pairwise.rbf_kernel(X, Y, 0.3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_equal_those_of_an_independent_source(kernel: Kernel, expected: np.ndarray) -> None:
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-14)


def test_gaussians_of_several_scales_are_a_weighted_sum() -> None:
    D = cdist(X, Y, "sqeuclidean")
    expected = 3 * np.exp(-D / (2 * 0.5**2)) + np.exp(-D / (2 * 2.0**2))
    np.testing.assert_allclose(Gaussians([0.5, 2], [3, 1])(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(
        SumKernel([(Rbf(1 / (2 * 0.5**2)), 3.0), (Rbf(1 / (2 * 2.0**2)), 1.0)])(X, Y), expected, rtol=1e-12
    )


def test_tanimoto_on_bits_is_the_share_of_common_bits() -> None:
    K = Tanimoto()(BITS, BITS)
    for i, x in enumerate(BITS):
        for j, y in enumerate(BITS):
            either = np.sum((x > 0) | (y > 0))
            assert K[i, j] == pytest.approx(np.sum((x > 0) & (y > 0)) / either if either else 1.0)


def test_tanimoto_on_counts_is_the_formula() -> None:
    counts = np.array([[2.0, 0, 1], [1, 3, 0], [0, 0, 0]])
    K = Tanimoto()(counts, counts)
    assert K[0, 1] == pytest.approx(2 / (5 + 10 - 2))
    assert K[0, 2] == 0
    assert K[2, 2] == 1


def test_tanimoto_refuses_negative_entries() -> None:
    with pytest.raises(ValueError, match="negative entries"):
        Tanimoto()(BITS, -BITS)


@pytest.mark.parametrize(
    "kernel", [Linear(), Rbf(0.3), Gaussians([1, 2]), Laplacian(0.3), Polynomial(2, 0.2), Tanimoto()]
)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_give_the_same_values(kernel: Kernel, kind: type) -> None:
    np.testing.assert_allclose(kernel(kind(BITS), kind(BITS[:4])), kernel(BITS, BITS[:4]), atol=1e-14)


def test_rows_far_from_the_origin_keep_their_distances() -> None:
    """The expanded square alone would be off by 1e-4 here."""
    far = X + 1e6
    np.testing.assert_allclose(Rbf(0.5)(far, far), pairwise.rbf_kernel(X, gamma=0.5), atol=1e-8)


class TestGamma:
    ones = np.ones(7)

    def test_scale_and_auto_are_those_of_svc(self) -> None:
        y = np.arange(7) % 2
        for gamma in ("scale", "auto"):
            expected = SVC(gamma=gamma).fit(X, y)._gamma
            assert Rbf(gamma).resolve(X, self.ones).gamma == pytest.approx(expected, rel=1e-12)
        assert Rbf().resolve(X, self.ones) == Rbf("scale").resolve(X, self.ones)

    def test_of_laplacian_has_the_unit_of_a_length(self) -> None:
        assert Laplacian().resolve(X, self.ones).gamma == pytest.approx(1 / (4 * X.std()))
        assert Laplacian().resolve(10 * X, self.ones).gamma == pytest.approx(1 / (40 * X.std()))

    def test_reaches_the_terms_of_a_sum(self) -> None:
        resolved = SumKernel([(Rbf(), 1.0), (Polynomial(2), 2.0)]).resolve(X, self.ones)
        np.testing.assert_allclose(
            resolved(X, X),
            pairwise.rbf_kernel(X, gamma=1 / (4 * X.var()))
            + 2 * pairwise.polynomial_kernel(X, degree=2, gamma=1 / (4 * X.var())),
        )

    def test_weights_count_as_repetitions_dense_and_sparse(self) -> None:
        w = np.array([2, 0, 1, 3, 1, 0, 1])
        repeated = np.repeat(X, w, axis=0)
        for given in (X, sparse.csr_array(X), X.astype(np.float32)):
            assert entry_variance(given, w.astype(float)) == pytest.approx(repeated.var(), rel=1e-6)

    def test_variance_of_sparse_rows_counts_the_zeros(self) -> None:
        assert entry_variance(sparse.csr_array(BITS), np.ones(12)) == pytest.approx(BITS.var())

    @pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
    def test_is_one_on_constant_data(self, constant: float) -> None:
        assert Rbf().resolve(np.full((7, 4), constant), self.ones).gamma == 1.0

    @pytest.mark.parametrize("size", [1e300, 1e-160])
    def test_out_of_the_range_of_numbers_is_refused(self, size: float) -> None:
        with pytest.raises(ValueError, match="Scale the features"):
            Rbf("scale").resolve(X * size, self.ones)

    def test_unresolved_is_refused(self) -> None:
        with pytest.raises(ValueError, match="resolve"):
            Rbf("scale")(X, Y)


class TestCallable:
    def test_functions_of_blocks_and_of_pairs_are_told_apart(self) -> None:
        functions = {
            "blocks": lambda A, B: (A @ B.T) ** 2,
            "pairs": lambda a, b: float(np.exp(-np.sum((a - b) ** 2))),
        }
        for form, function in functions.items():
            resolved = CallableKernel(function).resolve(X, ones(7))
            assert resolved.of == form
            assert resolved.resolve(X, ones(7)) is resolved
        assert CallableKernel(lambda a, b: np.sum(a[0] * b[0])).resolve(X, ones(7)).of == "pairs"

    def test_pairs_equal_scikit_learns_pairwise_kernels(self) -> None:
        def function(a: np.ndarray, b: np.ndarray, power: float) -> float:
            return float(np.minimum(np.abs(a), np.abs(b)).sum()) ** power

        kernel = CallableKernel(function, {"power": 2.0}).resolve(X, ones(7))
        expected = pairwise.pairwise_kernels(X, Y, metric=function, power=2.0)
        np.testing.assert_allclose(kernel(X, Y), expected)
        np.testing.assert_allclose(kernel(X, X), pairwise.pairwise_kernels(X, metric=function, power=2.0))

    def test_a_single_row_is_enough_to_tell(self) -> None:
        assert CallableKernel(lambda a, b: a @ b.T).resolve(X[:1], ones(1)).of == "blocks"
        assert CallableKernel(lambda a, b: np.dot(a, b)).resolve(X[:1], ones(1)).of == "pairs"

    def test_sparse_rows(self) -> None:
        S = sparse.csr_array(BITS)
        blocks = CallableKernel(lambda a, b: a @ b.T).resolve(S, ones(12))
        pairs = CallableKernel(lambda a, b: a.multiply(b).sum()).resolve(S, ones(12))
        assert (blocks.of, pairs.of) == ("blocks", "pairs")
        for kernel in (blocks, pairs):
            np.testing.assert_allclose(kernel(S, S), BITS @ BITS.T)

    def test_nonsense_is_refused(self) -> None:
        with pytest.raises(TypeError, match="neither a function of two blocks"):
            CallableKernel(lambda a, b: "far").resolve(X, ones(7))
        with pytest.raises(TypeError, match="ZeroDivisionError"):
            CallableKernel(lambda a, b: 1 / 0).resolve(X, ones(7))
        with pytest.raises(ValueError, match="returned shape"):
            CallableKernel(lambda a, b: ones((2, 2)), of="blocks")(X, Y)
        with pytest.raises(TypeError, match="callable"):
            CallableKernel(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'auto', 'blocks' or 'pairs'"):
            CallableKernel(np.dot, of="rows")


def test_scikit_learn_kernels_need_dense_rows_and_are_cloned() -> None:
    inner = gp.RBF(1.0)
    kernel = SklearnKernel(inner)
    inner.length_scale = 5.0
    np.testing.assert_allclose(kernel(X, X), pairwise.rbf_kernel(X, gamma=0.5))
    with pytest.raises(TypeError, match="needs dense rows"):
        kernel(sparse.csr_array(X), sparse.csr_array(X))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Rbf(-1.0), ValueError, "gamma must be a finite number above 0"),
        (lambda: Rbf(0), ValueError, "above 0"),
        (lambda: Rbf(np.nan), ValueError, "above 0"),
        (lambda: Rbf(np.inf), ValueError, "above 0"),
        (lambda: Rbf(True), TypeError, "must be a number"),
        (lambda: Rbf([1.0]), TypeError, "must be a number"),
        (lambda: Laplacian("wide"), ValueError, "'scale', 'auto'"),
        (lambda: Polynomial(0), ValueError, "degree must be 1 or more"),
        (lambda: Polynomial(2.5), TypeError, "fractional power"),
        (lambda: Polynomial(2, coef0=-1), ValueError, "not positive semidefinite"),
        (lambda: Polynomial(2, coef0=np.inf), ValueError, "finite"),
        (lambda: Polynomial(2, coef0="1"), TypeError, "coef0"),
        (lambda: Gaussians([]), ValueError, "scales is empty"),
        (lambda: Gaussians([1.0, -2.0]), ValueError, "each of scales"),
        (lambda: Gaussians("wide"), TypeError, "scales must be numbers"),
        (lambda: Gaussians([1.0], [1.0, 2.0]), ValueError, "2 weights for 1 scales"),
        (lambda: SumKernel([]), ValueError, "at least one kernel"),
        (lambda: SumKernel([(Rbf(), -1.0)]), ValueError, "weight of a kernel"),
        (lambda: SumKernel([("rbf", 1.0)]), TypeError, "made of Kernel objects"),
    ],
)
def test_wrong_parameters_are_named(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()
