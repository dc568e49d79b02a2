"""Least squares over all pairs: against every pair written out, on every road, with the gap closed."""

from __future__ import annotations

import doctest
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.features import feature_map
from shortlist.features.streamed import StreamedFeatures
from shortlist.solvers import gram, least_squares, pair_problem
from shortlist.solvers.gram import column_gram, row_gram
from shortlist.solvers.least_squares import choose_side, solve_least_squares
from shortlist.solvers.pair_problem import PairProblem
from tests.oracle.least_squares import all_pairs


@pytest.mark.parametrize("module", [gram, least_squares, pair_problem])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


def draw(m: int, d: int, seed: int, *, targets: int = 2, share: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    Z = (rng.normal(size=(m, d)) + 3) * (rng.random((m, d)) < share)
    return Z, rng.normal(size=(m, targets))


GROUPS = {"one group": None, "groups": [0, 1, 2, 0, 1, 0, 0, 1, 2, 1, 1, 0]}
WEIGHTS = {"no weights": None, "weights": [0.5, 2, 0, 1, 1, 3, 0.1, 1, 1, 0, 1, 2]}


class TestAllPairs:
    @pytest.mark.parametrize("solver", ["auto", "primal", "dual", "iterative"])
    @pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
    @pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
    @pytest.mark.parametrize("d", [5, 20])
    def test_equals_the_pairs_written_out(self, d: int, groups: Any, weights: Any, solver: str) -> None:
        groups = None if groups is None else np.array(groups)
        weights = None if weights is None else np.array(weights)
        for seed, (C, thin) in enumerate([(0.3, False), (0.3, True), (1e4, False), (1e4, True)]):
            Z, y = draw(12, d, seed, share=0.4 if thin else 1.0)
            W, value = all_pairs(Z, y, C, groups, weights)
            problem = PairProblem.of(y, groups=groups, sample_weight=weights)
            rows = sparse.csr_array(Z) if thin else Z
            found = solve_least_squares(rows, problem, C, solver=solver, tol=1e-13)
            certificate = found.solution.certificate
            assert certificate.converged
            assert certificate.primal == pytest.approx(value, rel=1e-10)
            assert np.allclose(found.solution.coef.T, W, atol=1e-6 if solver == "iterative" else 1e-9)
            # The weights are those that the dual variables span: levels of groups cancel.
            assert np.allclose(found.solution.dual @ Z, found.solution.coef, atol=1e-5)

    def test_the_bound_holds_for_any_weights(self) -> None:
        Z, y = draw(15, 6, 0)
        problem = PairProblem.of(y)
        _, least = all_pairs(Z, y, 3.0)
        rng = np.random.default_rng(0)
        for _ in range(20):
            W = rng.normal(size=(6, 2))
            scores, gradient = gram.scores_and_gradient(Z, problem, W, 3.0)
            primal = 0.5 * (W**2).sum() + 3.0 * problem.risk(scores)
            assert primal - 0.5 * (gradient**2).sum() <= least <= primal
            nudge = rng.normal(size=W.shape) * 1e-6
            moved = 0.5 * ((W + nudge) ** 2).sum() + 3.0 * problem.risk(Z @ (W + nudge))
            assert moved - primal == pytest.approx((gradient * nudge).sum(), rel=1e-3)

    def test_the_risk_is_the_mean_over_pairs(self) -> None:
        _, y = draw(9, 1, 3)
        scores = np.random.default_rng(4).normal(size=y.shape)
        r = scores - y
        assert PairProblem.of(y).risk(scores) == pytest.approx(((r[:, None] - r[None]) ** 2).mean(axis=(0, 1)).sum())


class TestGram:
    @pytest.mark.parametrize("groups", [None, np.arange(400) % 7], ids=["one group", "groups"])
    @pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
    def test_both_sides_by_blocks(self, groups: Any, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gram, "BLOCK_BYTES", 2**13)
        Z, y = draw(400, 30, 1, share=share)
        Z += 1000 * (share == 1.0)
        problem = PairProblem.of(y, groups=groups, sample_weight=np.random.default_rng(0).random(400))
        centred = np.sqrt(problem.u)[:, None] * problem.centre(Z)
        rows = Z if share == 1.0 else sparse.csr_array(Z)
        G, b = column_gram(rows, problem)
        assert np.allclose(G, centred.T @ centred, atol=1e-10)
        assert np.allclose(b, centred.T @ (np.sqrt(problem.u)[:, None] * problem.y), atol=1e-10)
        assert np.allclose(row_gram(rows, problem), centred @ centred.T, atol=1e-10)

    def test_streamed_rows_are_the_same_problem(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gram, "BLOCK_BYTES", 2**12)
        X, y = draw(300, 3, 2)
        features = feature_map("rbf", gamma=0.2, n_landmarks=20, random_state=0).fit(X)
        for groups in (None, np.arange(300) % 4):
            problem = PairProblem.of(y, groups=groups)
            streamed = solve_least_squares(StreamedFeatures(features, X), problem, 10.0)
            whole = solve_least_squares(features.transform(X), problem, 10.0)
            assert np.allclose(streamed.solution.coef, whole.solution.coef, atol=1e-9)
            assert streamed.solution.certificate.converged


class TestRoads:
    def test_side_by_shape_and_memory(self) -> None:
        tall, wide = np.zeros((50, 4)), np.zeros((4, 50))
        assert choose_side(tall, 1e9) == "primal"
        assert choose_side(wide, 1e9) == "dual"
        assert choose_side(wide, 8 * 15) == "iterative"
        thin = sparse.eye_array(20000, 30000, format="csr")
        assert choose_side(thin, 1e12) == "iterative"

    @pytest.mark.parametrize(("solver", "side"), [("primal", "30 x 30"), ("dual", "40 x 40")])
    def test_a_matrix_beyond_the_budget_is_refused(self, solver: str, side: str) -> None:
        Z, y = draw(40, 30, 0)
        with pytest.raises(ValueError, match=f"{side}.*max_memory=100.*solver='iterative'"):
            solve_least_squares(Z, PairProblem.of(y), 1.0, solver=solver, max_memory=100.0)

    def test_a_constant_target_is_zero_exactly(self) -> None:
        Z, _ = draw(20, 3, 0)
        for solver in ("primal", "dual", "iterative"):
            for groups in (None, np.arange(20) % 3):
                y = np.full((20, 1), 0.1) if groups is None else 0.1 + groups[:, None] / 3
                found = solve_least_squares(Z, PairProblem.of(y, groups=groups), 5.0, solver=solver)
                assert not found.solution.coef.any()
                assert found.solution.certificate.converged

    @pytest.mark.parametrize("solver", ["primal", "dual"])
    def test_a_singular_matrix_has_its_answer(self, solver: str) -> None:
        Z, y = draw(30, 4, 0)
        # At a C like this the penalty only says: share equally between equal columns.
        single = np.linalg.lstsq(Z - Z.mean(axis=0), y - y.mean(axis=0), rcond=None)[0]
        found = solve_least_squares(np.hstack([Z, Z, Z]), PairProblem.of(y), 1e16, solver=solver, tol=1.0)
        assert np.allclose(found.solution.coef.T, np.tile(single / 3, (3, 1)), atol=1e-6)

    def test_what_rounding_made_indefinite_is_left_out(self) -> None:
        solve = least_squares._solver(np.diag([1.0, -1e-9]), 1e-10)
        assert np.allclose(solve(np.array([[2.0], [0.0]])), [[2.0], [0.0]])

    def test_single_precision_is_improved_until_it_is_certified(self) -> None:
        rng = np.random.default_rng(0)
        Z = (rng.normal(size=(200, 10)) + 100).astype(np.float32)
        y = Z @ rng.normal(size=(10, 1)) + rng.normal(size=(200, 1))
        problem = PairProblem.of(y.astype(np.float64))
        found = solve_least_squares(Z, problem, 10.0, tol=1e-5)
        assert found.solution.coef.dtype == np.float32
        assert found.solution.certificate.converged
        W, value = all_pairs(Z.astype(np.float64), y.astype(np.float64), 10.0)
        assert found.solution.certificate.primal == pytest.approx(value, rel=1e-4)
        assert np.allclose(found.solution.coef.T, W, atol=1e-3)

    def test_conjugate_gradients_say_where_they_are(self) -> None:
        Z, y = draw(60, 20, 0)
        Z *= np.logspace(0, 2, 20)
        seen: list[tuple[int, float, float]] = []
        problem = PairProblem.of(y)
        cold = solve_least_squares(
            Z, problem, 100.0, solver="iterative", tol=1e-8, callback=lambda *step: seen.append(step)
        )
        assert cold.solution.certificate.converged
        assert all(primal >= cold.solution.certificate.bound - 1e-9 for _, primal, _ in seen)
        assert all(earlier[1] >= later[1] - 1e-9 for earlier, later in pairwise(seen))
        stopped = solve_least_squares(Z, problem, 100.0, solver="iterative", tol=1e-8, max_iter=2)
        assert not stopped.solution.certificate.converged
        warm = solve_least_squares(Z, problem, 101.0, solver="iterative", tol=1e-8, start=cold.solution.coef.T)
        assert warm.solution.certificate.converged
        assert warm.solution.certificate.n_iter < cold.solution.certificate.n_iter
