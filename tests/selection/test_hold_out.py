"""Closed hold-out formulas equal refitting without the rows, at the same C, to 1e-8."""

from __future__ import annotations

import doctest
import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist import MPRank
from shortlist.features import Rbf, feature_map, spectral
from shortlist.features.spectral import spectral_map
from shortlist.selection import hold_out, leave_group_out, leave_one_out, leave_pair_out
from shortlist.solvers import kernel_spectrum, least_squares_path
from shortlist.solvers.kernel_spectrum import KernelSpectrum
from shortlist.solvers.least_squares_path import Spectrum
from shortlist.solvers.pair_problem import PairProblem
from tests.oracle.least_squares import all_pairs

CS = [0.05, 1.0, 30.0, 1e3]
KERNELS: list[dict[str, Any]] = [
    {},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": 30.0},
    {"kernel": "gaussian", "scales": [0.5, 3.0]},
]


@pytest.mark.parametrize("module", [hold_out, least_squares_path, kernel_spectrum, spectral])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


def draw(m: int, d: int, seed: int = 0, targets: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) + 2
    y = np.sin(2 * X[:, :1]) + rng.normal(size=(m, targets)) + 3
    return X, y[:, 0] if targets == 1 else y


def without(rows: Any, X: Any, y: Any, C: float, kernel: dict[str, Any], **arguments: Any) -> Any:
    """A model fitted on all but some rows."""
    kept = np.setdiff1d(np.arange(len(y)), rows)
    arguments = {name: value[kept] for name, value in arguments.items()}
    return MPRank(C=C, tol=1e-12, **kernel).fit(X[kept], y[kept], **arguments)


class TestPath:
    @pytest.mark.parametrize("groups", [None, np.arange(25) % 3], ids=["one group", "groups"])
    @pytest.mark.parametrize("d", [4, 40])
    def test_every_c_from_one_decomposition(self, d: int, groups: Any) -> None:
        X, y = draw(25, d, targets=2)
        weights = np.random.default_rng(1).integers(0, 3, 25).astype(float)
        for rows in (X, sparse.csr_array(X)):
            spectrum = Spectrum.of(rows, PairProblem.of(y, groups=groups, sample_weight=weights))
            for C, coef in zip(CS, spectrum.coefficients(CS), strict=True):
                assert np.allclose(coef.T, all_pairs(X, y, C, groups, weights)[0], atol=1e-9)

    @pytest.mark.parametrize("d", [4, 40])
    def test_residuals_and_their_matrix(self, d: int) -> None:
        X, y = draw(25, d, targets=2)
        problem = PairProblem.of(y, groups=np.arange(25) % 3)
        spectrum = Spectrum.of(X, problem)
        rho = spectrum.rho([3.0])
        root = spectrum.root[:, None]
        residuals = root * problem.centre(y - X @ spectrum.coefficients(3.0)[0].T)
        R = spectrum.block(float(rho[0]), slice(None), slice(None)) + (0 if spectrum.by_rows else np.eye(25))
        assert np.allclose(R @ (root * problem.y), residuals, atol=1e-10)
        assert np.allclose(spectrum.residuals(rho)[0], residuals, atol=1e-10)
        assert np.allclose(spectrum.diagonal(rho)[0], np.diag(R), atol=1e-12)
        diagonal, each = spectrum.each_row(np.full(25, rho[0]))
        assert np.allclose(diagonal, np.diag(R), atol=1e-12)
        assert np.allclose(each, residuals, atol=1e-10)

    def test_a_matrix_beyond_the_budget_is_refused(self) -> None:
        X, y = draw(25, 4, targets=2)
        with pytest.raises(ValueError, match=r"4 x 4.*max_memory=100.*n_landmarks"):
            Spectrum.of(X, PairProblem.of(y), max_memory=100)

    def test_rows_without_features_have_a_path_of_zeros(self) -> None:
        _, y = draw(5, 4, targets=2)
        for d in (2, 9):
            assert not Spectrum.of(np.zeros((5, d)), PairProblem.of(y)).coefficients(CS).any()


class TestRows:
    @pytest.mark.parametrize("kernel", KERNELS, ids=str)
    @pytest.mark.parametrize("d", [3, 30])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equal_refitting(self, d: int, kernel: dict[str, Any], weighted: bool) -> None:
        X, y = draw(20, d)
        weights = np.random.default_rng(2).integers(0, 4, 20).astype(float) if weighted else np.ones(20)
        found = leave_one_out(X, y, CS, sample_weight=weights if weighted else None, **kernel)
        assert found.predictions is not None
        for C, predictions, error in zip(CS, found.predictions, found.errors, strict=True):
            refitted = np.array(
                [without([i], X, y, C, kernel, sample_weight=weights).predict(X[i : i + 1])[0] for i in range(20)]
            )
            assert np.allclose(predictions, refitted, atol=1e-8)
            assert error == pytest.approx(np.average((refitted - y) ** 2, weights=weights), rel=1e-8)
        assert found.best_C == CS[int(np.argmin(found.errors))]

    def test_several_targets(self) -> None:
        X, y = draw(20, 3, targets=2)
        both = leave_one_out(X, y, CS)
        assert both.predictions is not None and both.predictions.shape == (4, 20, 2)
        single = [leave_one_out(X, column, CS) for column in y.T]
        assert np.allclose(both.errors, single[0].errors + single[1].errors)

    def test_two_rows(self) -> None:
        found = leave_one_out(np.array([[0.0], [1.0]]), [1.0, 3.0], 1.0)
        assert found.predictions is not None
        assert np.allclose(found.predictions, [[3.0, 1.0]])


class TestPairs:
    @pytest.mark.parametrize("kernel", KERNELS, ids=str)
    @pytest.mark.parametrize("d", [3, 30])
    def test_equal_refitting(self, d: int, kernel: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hold_out, "BLOCK_ENTRIES", 16)
        X, y = draw(13, d, targets=2)
        found = leave_pair_out(X, y, CS[1:3], **kernel)
        for C, error in zip(CS[1:3], found.errors, strict=True):
            costs = []
            for i, j in itertools.combinations(range(13), 2):
                off = without([i, j], X, y, C, kernel).predict(X[[i, j]]) - y[[i, j]]
                costs.append(((off[0] - off[1]) ** 2).sum())
            assert error == pytest.approx(np.mean(costs), rel=1e-8)

    def test_three_rows_are_the_fewest(self) -> None:
        X, y = np.arange(3.0)[:, None], np.array([1.0, 2.0, 4.0])
        # One row is left: every score is its target.
        assert leave_pair_out(X, y, 1.0).errors[0] == pytest.approx((1 + 4 + 9) / 3)
        with pytest.raises(ValueError, match="at least 3 rows"):
            leave_pair_out(X[:2], y[:2], 1.0)

    @pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
    @pytest.mark.parametrize("d", [3, 30])
    def test_the_formula_of_the_paper(self, d: int, kernel: dict[str, Any]) -> None:
        """Proposition 2, entry by entry with the dense matrices of its section; exact when given the true h'-bar."""
        X, y = draw(14, d)
        m, C = 14, 2.0
        share = 4 * C / m  # C' = 2 C_paper / m, C_paper = 2 C
        K, H = Rbf(kernel["gamma"])(X, X) if kernel else X @ X.T, np.eye(m) - 1 / m
        U = share * K @ H @ np.linalg.inv(np.eye(m) + share * H @ K @ H)
        h = U @ (y - y.mean())
        approximate = []
        for i, j in itertools.combinations(range(m), 2):
            kept = np.setdiff1d(np.arange(m), [i, j])

            def V(a: int, b: int, U: Any = U, kept: Any = kept) -> float:
                return float(U[a, b] - U[a, kept].sum() / (m - 2))

            def cost(mean: float, i: int = i, j: int = j, V: Any = V) -> float:
                left, right = 1 - V(i, i) - V(i, j), 1 - V(j, i) - V(j, j)
                determinant = (1 - V(j, j)) * (1 - V(i, i)) - V(i, j) * V(j, i)
                shift = left * (V(j, j) + V(j, i)) - right * (V(i, i) + V(i, j))
                numerator = left * (h[j] - y[j]) - right * (h[i] - y[i]) - shift * (mean - y.mean())
                return float(numerator / determinant) ** 2

            # h' leaves the two rows out and keeps m in the mean: C (m - 2) / m on the others.
            model = MPRank(C=C * (m - 2) / m, **kernel).fit(X[kept], y[kept])
            scores = model.predict(X) - model.intercept_
            true = (scores[j] - y[j] - scores[i] + y[i]) ** 2
            assert cost(scores.mean()) == pytest.approx(true, rel=1e-8)
            approximate.append(cost(h.mean()))
        found = leave_pair_out(X, y, C, method="paper", **kernel)
        assert found.errors[0] == pytest.approx(np.mean(approximate), rel=1e-8)

    def test_the_approximation_is_close_for_many_rows(self) -> None:
        X, y = draw(300, 4)
        exact, paper = (leave_pair_out(X, y, [0.1, 10.0], method=method) for method in ("exact", "paper"))
        assert np.allclose(exact.errors, paper.errors, rtol=0.01)
        assert not np.allclose(exact.errors, paper.errors, rtol=1e-6)


class TestGroups:
    @pytest.mark.parametrize("d", [2, 30])
    @pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
    def test_equal_refitting(self, d: int, kernel: dict[str, Any]) -> None:
        rng = np.random.default_rng(3)
        X, y = draw(24, d)
        groups = np.array(list("abcd"))[rng.integers(0, 4, 24)]
        weights = rng.integers(0, 3, 24).astype(float)
        found = leave_group_out(X, y, groups, CS, sample_weight=weights, **kernel)
        assert found.predictions is not None
        for C, predictions, error in zip(CS, found.predictions, found.errors, strict=True):
            total, pairs = 0.0, 0.0
            for name in "abcd":
                rows = np.flatnonzero((groups == name) & (weights > 0))
                model = without(np.flatnonzero(groups == name), X, y, C, kernel, groups=groups, sample_weight=weights)
                scores, a = model.predict(X[rows]), weights[rows]
                r = scores - y[rows]
                assert np.allclose(scores - np.average(r, weights=a), predictions[rows], atol=1e-8)
                total += float(a @ (r[:, None] - r) ** 2 @ a)
                pairs += a.sum() ** 2
            assert error == pytest.approx(total / pairs, rel=1e-8)
        assert np.array_equal(np.isnan(found.predictions[0]), weights == 0)


class TestKernels:
    """One decomposition of the kernel matrix for features, path and errors."""

    def test_the_same_as_features_first(self) -> None:
        X, y = draw(30, 3, targets=2)
        features, Z, values, vectors = spectral_map(feature_map("rbf", gamma=0.5), X)
        problem = PairProblem.of(y)
        one, other = KernelSpectrum.of(Z, values, vectors, problem), Spectrum.of(Z, problem)
        rho = one.rho(CS)
        assert np.allclose(one.coefficients(CS), other.coefficients(CS), atol=1e-7)
        assert np.allclose(one.residuals(rho), other.residuals(rho), atol=1e-9)
        assert np.allclose(one.diagonal(rho), other.diagonal(rho), atol=1e-9)
        R, same = (made.block(0.1, slice(None), slice(None)) for made in (one, other))
        assert np.allclose(R, same + (0 if other.by_rows else np.eye(30)), atol=1e-9)
        assert np.allclose(features.transform(X), Z, atol=1e-7)

    def test_repeated_rows_and_a_linear_kernel_have_fewer_features_than_rows(self) -> None:
        X, y = draw(30, 3)
        X[15:] = X[:15]
        assert spectral_map(feature_map([("linear", 1.0)]), X)[1].shape == (30, 3)
        found = leave_one_out(X, y, CS, kernel=[("linear", 1.0)])
        assert np.allclose(found.errors, leave_one_out(X, y, CS).errors)
        rows = sparse.csr_array(np.where(X > 2, X, 0))
        dense = leave_one_out(rows.toarray(), y, CS, kernel="rbf", gamma=1.0)
        assert np.allclose(leave_one_out(rows, y, CS, kernel="rbf", gamma=1.0).errors, dense.errors)

    @pytest.mark.parametrize(
        ("kernel", "words"),
        [
            (lambda A, B: A @ B.T - 100.0, "not positive semidefinite"),
            (lambda A, B: A @ (B[:, ::-1] * [1, 2, 3]).T, "not symmetric"),
            (lambda A, B: np.full((len(A), len(B)), np.inf), "not finite"),
        ],
    )
    def test_what_is_no_kernel_is_refused(self, kernel: Any, words: str) -> None:
        X, y = draw(30, 3)
        with pytest.raises(ValueError, match=words):
            leave_one_out(X, y, kernel=kernel)

    def test_a_kernel_of_zeros(self) -> None:
        X, y = draw(10, 3)
        found = leave_one_out(X, y, 1.0, kernel=lambda A, B: np.zeros((len(A), len(B))))
        others = [np.delete(y, i).mean() for i in range(10)]
        assert found.predictions is not None
        assert np.allclose(found.predictions[0], others)


class TestRefused:
    @pytest.mark.parametrize(
        ("C", "error", "words"),
        [
            ([], ValueError, "non-empty"),
            ([[1.0]], ValueError, "non-empty sequence"),
            ([1.0, -2.0], ValueError, "above 0, got -2"),
            (["a"], TypeError, "numbers above 0"),
        ],
    )
    def test_grids(self, C: Any, error: Any, words: str) -> None:
        X, y = draw(10, 2)
        with pytest.raises(error, match=words):
            leave_one_out(X, y, C)

    def test_arguments(self) -> None:
        X, y = draw(10, 2)
        with pytest.raises(TypeError, match="'width'; the kernel is set by kernel, gamma"):
            leave_one_out(X, y, width=3)
        with pytest.raises(ValueError, match="method must be one of 'exact', 'paper'"):
            leave_pair_out(X, y, method="approximate")
        with pytest.raises(ValueError, match=r"needs groups.*leave_one_out"):
            leave_group_out(X, y, None)
        with pytest.raises(ValueError, match="two groups"):
            leave_group_out(X, y, np.zeros(10))
