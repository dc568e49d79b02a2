"""The top family against an independent solver, and what each estimator adds to the common behaviour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import shortlist
from shortlist import AATP, InfinitePush, PatMat, SparseInfinitePush, TauFPL, TopPush, TopPushK
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning, QuantileWarning
from tests.common.estimators import clouds, name_of
from tests.oracle.top import top_optimum

X, y = clouds(80, 5, seed=3, shift=2.0)
rng = np.random.default_rng(4)
GROUPS, WEIGHT = rng.integers(0, 3, 80), rng.integers(0, 3, 80).astype(float)

LOSSES = ["squared_hinge", "hinge", "logistic", "exponential"]
CASES: list[tuple[Any, str, tuple[Any, ...]]] = [
    *[(TopPush(loss=loss), loss, ("max",)) for loss in LOSSES],
    (InfinitePush(), "hinge", ("max",)),
    (TopPushK(k=4), "squared_hinge", ("k", 4)),
    (TauFPL(tau=0.15), "squared_hinge", ("tau", 0.15)),
    (TauFPL(tau=0.15, loss="logistic"), "logistic", ("tau", 0.15)),
]


@pytest.mark.parametrize(("estimator", "loss", "threshold"), CASES, ids=lambda v: name_of(v)[:40])
@pytest.mark.parametrize(
    "arguments", [{}, {"groups": GROUPS}, {"sample_weight": WEIGHT}], ids=lambda v: str(list(v))
)
def test_the_optimum(estimator: Any, loss: str, threshold: Any, arguments: Any) -> None:
    model = clone(estimator).set_params(C=5.0, tol=1e-8).fit(X, y, **arguments)
    w, optimum = top_optimum(X, y, 5.0, loss, threshold, **arguments)
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-6)
    assert model.certificate_.bound <= optimum * (1 + 1e-6)
    assert np.allclose(model.coef_[0], w, atol=2e-3)


@pytest.mark.parametrize(
    ("estimator", "twin"),
    [
        (TopPush(solver="nesterov", tol=1e-10, max_iter=20_000), TopPush()),
        (InfinitePush(solver="gradient_projection"), InfinitePush()),
        (InfinitePush(), TopPush(loss="hinge")),
        (TopPushK(k=1), TopPush()),
        (TauFPL(tau=1e-9), TopPush()),
        (TopPush(solver="working_set"), TopPush(kernel="linear")),
    ],
    ids=name_of,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_ways_to_one_optimum(estimator: Any, twin: Any) -> None:
    a = clone(estimator).set_params(C=3.0).fit(X, y).certificate_.primal
    b = clone(twin).set_params(C=3.0, tol=1e-7).fit(X, y).certificate_.primal
    assert a == pytest.approx(b, rel=2e-4)


def test_what_a_fit_leaves() -> None:
    model = TopPush(C=5.0).fit(X, y)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    scores = X @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-scores[y == 0].max())
    assert model.thresholds_ == {None: pytest.approx(scores[y == 0].max())}
    assert np.allclose(model.decision_function(X), scores + model.intercept_[0])
    assert not model.predict(X)[y == 0].any()
    assert model.predict(X)[y == 1].any()
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert list(model.n_support_) == [np.sum(y[model.support_] == 0), np.sum(y[model.support_] == 1)]
    assert np.all(np.sign(model.dual_coef_[0]) == np.where(y[model.support_] == 1, 1, -1))
    assert np.allclose(X[model.support_].T @ model.dual_coef_[0], model.coef_[0], atol=0.05)
    assert model.n_iter_ == model.certificate_.n_iter > 0
    assert model.objective_.threshold == "max"


def test_more_rows_than_are_merged() -> None:
    many_X, many_y = clouds(2500, 4, shift=2.5)
    model = TopPush(C=5.0, tol=1e-6).fit(many_X, many_y)
    weighted = TopPush(C=5.0, tol=1e-6).fit(many_X[:1200], many_y[:1200], sample_weight=np.full(1200, 2.0))
    repeated = TopPush(C=5.0, tol=1e-6).fit(np.tile(many_X[:1200], (2, 1)), np.tile(many_y[:1200], 2))
    assert model.certificate_.converged
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)
    assert np.array_equal(model.rank(many_X), np.argsort(-model.decision_function(many_X), kind="stable"))


def test_weights_are_repetitions_to_the_last_bit() -> None:
    order = np.random.default_rng(0).permutation(80)
    whole = WEIGHT.astype(int)
    weighted = TopPush().fit(X[order], y[order], sample_weight=WEIGHT[order])
    repeated = TopPush().fit(np.repeat(X, whole, axis=0), np.repeat(y, whole))
    assert np.array_equal(weighted.coef_, repeated.coef_)
    assert np.isclose(weighted.dual_coef_.sum(), 0, atol=1e-9)
    assert np.isclose(repeated.dual_coef_.sum(), 0, atol=1e-9)
    assert np.isin(weighted.support_, np.flatnonzero(WEIGHT[order])).all()


class TestRank:
    model = TopPush(C=5.0).fit(X, y)

    def test_best_first(self) -> None:
        scores = self.model.decision_function(X)
        assert np.all(np.diff(scores[self.model.rank(X)]) <= 0)

    def test_groups_in_order_of_appearance(self) -> None:
        groups = ["b", "a", "c", "a", "b", "b"]
        order = self.model.rank(X[:6], groups=groups)
        assert [groups[row] for row in order] == ["b", "b", "b", "a", "a", "c"]
        scores = self.model.decision_function(X[:6])[order]
        assert scores[0] >= scores[1] >= scores[2]
        assert scores[3] >= scores[4]

    def test_ties_keep_their_order(self) -> None:
        assert list(self.model.rank(np.zeros((4, 5)))) == [0, 1, 2, 3]
        assert list(self.model.rank(np.zeros((4, 5)), groups=[1, 0, 1, 0])) == [0, 2, 1, 3]


class TestTau:
    def test_a_given_tau_is_kept(self) -> None:
        assert TauFPL(tau=0.3).fit(X, y).tau_ == 0.3

    def test_auto_is_the_smallest_that_ranks(self) -> None:
        noisy_X, noisy_y = clouds(120, 3, seed=1, shift=0.7)
        with pytest.warns(DegenerateOptimumWarning, match="tau='auto'"):
            TopPush().fit(noisy_X, noisy_y)
        model = TauFPL(tau="auto").fit(noisy_X, noisy_y)
        n = int((noisy_y == 0).sum())
        count = round(model.tau_ * n)
        assert 1 < count < n
        assert model.coef_.any()
        with pytest.warns(DegenerateOptimumWarning):
            TauFPL(tau=(count - 1) / n).fit(noisy_X, noisy_y)

    def test_auto_where_nothing_is_degenerate(self) -> None:
        assert TauFPL(tau="auto").fit(X + 10 * y[:, None], y).tau_ == pytest.approx(1 / np.sum(y == 0))

    def test_auto_where_no_tau_helps(self) -> None:
        with pytest.warns(DegenerateOptimumWarning):
            assert TauFPL(tau="auto").fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1]).tau_ == 1.0


class TestWarnings:
    def test_no_convergence(self) -> None:
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            model = TopPush(max_iter=1, tol=1e-12).fit(X, y)
        assert not model.certificate_.converged

    def test_sparse_infinite_push_says_what_to_try(self) -> None:
        with pytest.warns(DegenerateOptimumWarning, match="larger C"):
            SparseInfinitePush(C=1e-3).fit(X, y)

    def test_equal_means_are_degenerate_for_patmat(self) -> None:
        rows = np.array([[1.0], [-1.0], [2.0], [-2.0]])
        with pytest.warns(DegenerateOptimumWarning, match="same mean"):
            PatMat().fit(rows, [1, 1, 0, 0])

    def test_a_quantile_out_of_reach(self) -> None:
        with pytest.warns(QuantileWarning, match="max_candidates=None"):
            model = AATP(tau=0.01, C=100.0).fit(X, y)
        assert not model.quantile_satisfied_
        assert model.violation_ > 0


class TestAATP:
    def test_the_threshold_is_the_score_of_a_row(self) -> None:
        model = AATP(C=10.0, tau=1 / 3, max_candidates=None).fit(X, y)
        scores = X @ model.coef_[0]
        assert model.exhaustive_
        assert model.quantile_satisfied_
        assert model.intercept_[0] == pytest.approx(-scores[model.threshold_row_])
        assert np.mean(scores > scores[model.threshold_row_] + 1e-12) <= 1 / 3

    @pytest.mark.filterwarnings("ignore::shortlist.exceptions.QuantileWarning")
    def test_few_candidates_are_not_all(self) -> None:
        assert not AATP(C=10.0, tau=1 / 3, max_candidates=5).fit(X, y).exhaustive_

    def test_groups_are_refused(self) -> None:
        with pytest.raises(ValueError, match="knows no groups"):
            AATP().fit(X, y, groups=GROUPS)

    def test_tau_of_one_is_no_quantile(self) -> None:
        with pytest.raises(ValueError, match="tau"):
            AATP(tau=1.0).fit(X, y)
        with pytest.raises(ValueError, match="max_candidates"):
            AATP(max_candidates=0).fit(X, y)


def test_sparsity_grows_as_C_shrinks() -> None:
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(80, 30))])
    few, many = (np.count_nonzero(SparseInfinitePush(C=C).fit(wide, y).coef_) for C in (3.0, 1000.0))
    assert 0 < few < many <= 35


def test_kernels_reach_what_lines_cannot() -> None:
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.vstack([0.2 * ring[::3], ring])
    labels = np.repeat([1, 0], [20, 60])
    with pytest.warns(DegenerateOptimumWarning):
        TopPush(C=100.0).fit(rows, labels)
    model = TopPush(C=100.0, kernel="rbf", gamma=1.0).fit(rows, labels)
    assert model.predict(rows).tolist() == labels.tolist()


def test_the_public_names() -> None:
    assert set(shortlist.__all__) >= {
        "AATP", "InfinitePush", "PatMat", "SparseInfinitePush", "TauFPL", "TopPush", "TopPushK", "certify",
    }  # fmt: skip
    for name in shortlist.__all__:
        text = getattr(shortlist, name).__doc__
        assert "Examples" in text
        assert not [line for line in text.splitlines() if line.strip().startswith("{")], name
