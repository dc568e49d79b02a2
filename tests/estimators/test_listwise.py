"""OWPC, SVMpAUC and SVMMAP: the textbook problems, what ties them to their neighbours, metamorphic twins, words."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from shortlist import OWPC, SVMMAP, InfinitePush, RankSVM, SVMpAUC, TopPushK, certify
from shortlist.estimators import listwise
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning
from shortlist.metrics import average_precision, partial_auc
from tests.common.estimators import clouds, name_of
from tests.oracle.listwise import listwise_optimum

MODELS: list[Any] = [
    OWPC(C=20.0),
    OWPC(C=20.0, weights="top", k=3),
    SVMpAUC(C=20.0, max_fpr=0.3),
    SVMpAUC(C=20.0, min_fpr=0.1, max_fpr=0.5, tight=False),
    SVMMAP(C=20.0),
]


def test_examples() -> None:
    assert doctest.testmod(listwise).failed == 0


def small(seed: int, groups: bool) -> tuple[Any, Any, Any]:
    """Overlapping rows in numbers that allow for all orders; two groups are 3 + 4 and 2 + 4."""
    rng = np.random.default_rng(seed)
    y = np.array([1, 1, 1, 0, 0, 0, 0] + [1, 1, 0, 0, 0, 0] * groups)
    X = rng.normal(size=(len(y), 3))
    X[y == 1] += 0.4
    return X, y, np.repeat([5, 2], [7, 6]) if groups else None


@pytest.mark.parametrize("groups", [False, True], ids=["one group", "groups"])
class TestThePapersProblems:
    """Every constraint listed, a general solver: within 1e-6."""

    def check(self, model: Any, seed: int, groups: bool, measure: str, **options: Any) -> None:
        X, y, query = small(seed, groups)
        value, w = listwise_optimum(X, y, model.C, measure, groups=query, **options)
        model.set_params(tol=1e-8).fit(X, y, groups=query)
        assert model.certificate_.converged
        assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(model.coef_[0], w, atol=1e-3)

    @pytest.mark.parametrize("alpha", [[4.0, 2.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]], ids=str)
    def test_ordered_weights(self, alpha: list[float], groups: bool) -> None:
        shares = list(np.array(alpha) / sum(alpha))
        for seed in range(3):
            self.check(OWPC(C=5.0, weights=alpha), seed, groups, "ordered_pairs", alpha=shares)

    def test_reciprocal_weights(self, groups: bool) -> None:
        alpha = list(1 / np.arange(1, 5) / (1 + 1 / 2 + 1 / 3 + 1 / 4))
        self.check(OWPC(C=5.0), 4, groups, "ordered_pairs", alpha=alpha)

    @pytest.mark.parametrize("tight", [False, True])
    @pytest.mark.parametrize("part", [(0, 2), (1, 3), (2, 4)])
    def test_partial_auc(self, part: tuple[int, int], tight: bool, groups: bool) -> None:
        first, last = part
        model = SVMpAUC(C=5.0, min_fpr=first / 4, max_fpr=last / 4, tight=tight)
        for seed in range(2):
            self.check(model, seed, groups, "partial_auc", first=first, last=last, tight=tight)

    def test_average_precision(self, groups: bool) -> None:
        for seed in range(4):
            self.check(SVMMAP(C=5.0), seed, groups, "average_precision")


class TestNeighbours:
    def both(self, one: Any, other: Any, **keywords: Any) -> None:
        X, y = clouds(90)
        for model in (one, other):
            model.set_params(tol=1e-7).fit(X, y, **keywords)
            assert model.certificate_.converged
        assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=5e-3)

    @pytest.mark.parametrize("solver", ["auto", "bundle"])
    @pytest.mark.parametrize(
        "model",
        [OWPC(weights="max"), OWPC(weights="top", k=1), OWPC(weights=[2.0, 0.0]), SVMpAUC(max_fpr=0.01)],
        ids=name_of,
    )
    def test_the_worst_alone_is_the_infinite_push(self, model: Any, solver: str) -> None:
        self.both(clone(model).set_params(C=20.0, solver=solver), InfinitePush(C=20.0))
        groups = np.arange(90) // 30
        self.both(clone(model).set_params(C=20.0, solver=solver), InfinitePush(C=20.0), groups=groups)

    @pytest.mark.parametrize("model", [OWPC(weights="mean"), SVMpAUC(max_fpr=1), SVMpAUC(max_fpr=1, tight=False)])
    def test_all_pairs_alike_are_rank_svm(self, model: Any) -> None:
        weights = np.arange(90) % 3 + 0.5
        self.both(model.set_params(C=20.0), RankSVM(C=20.0), sample_weight=weights)

    def test_a_count_and_a_share(self) -> None:
        self.both(OWPC(C=20.0, weights="top", k=6), SVMpAUC(C=20.0, max_fpr=0.1))  # 60 negatives

    def test_the_mean_of_the_losses_over_the_loss_of_the_mean(self) -> None:
        X, y = clouds(90)
        losses = OWPC(C=20.0, weights="top", k=6).fit(X, y)
        mean = TopPushK(C=20.0, k=6, loss="hinge").fit(X, y)
        assert losses.certificate_.primal >= mean.certificate_.bound

    def test_risks_bound_the_measures(self) -> None:
        X, y = clouds(90)
        for model, loss in (
            (SVMMAP(C=20.0), lambda s: 1 - average_precision(y, s)),
            (SVMpAUC(C=20.0, min_fpr=0.1, max_fpr=0.4), lambda s: 1 - partial_auc(y, s, min_fpr=0.1, max_fpr=0.4)),
        ):
            model.fit(X, y)
            w = model.coef_[0]
            assert (model.certificate_.primal - w @ w / 2) / 20.0 >= loss(X @ w) > 0


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
class TestTwins:
    """The same problem said in another way."""

    def fit(self, estimator: Any, X: Any, y: Any, tol: float = 1e-6, **keywords: Any) -> Any:
        model = clone(estimator).set_params(tol=tol).fit(X, y, **keywords)
        assert model.certificate_.converged
        return model

    def test_weights_are_repeated_rows(self, estimator: Any) -> None:
        X, y = clouds()
        groups, weights = np.arange(120) % 4 // 2, np.arange(120) % 4 % 3
        rows = np.repeat(np.arange(120), weights)
        one = self.fit(estimator, X, y, groups=groups, sample_weight=weights.astype(float))
        other = self.fit(estimator, X[rows], y[rows], groups=groups[rows])
        assert np.array_equal(one.coef_, other.coef_)
        assert one.thresholds_ == pytest.approx(other.thresholds_)

    def test_large_data_whose_rows_are_not_merged(self, estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = clouds()
        weights = np.arange(120) % 4 % 3
        rows = np.random.default_rng(0).permutation(np.repeat(np.arange(120), weights))
        merged = self.fit(estimator, X, y, sample_weight=weights)
        monkeypatch.setattr("shortlist.estimators._base.MOST_ROWS", 0)
        for X_, y_, keywords in ((X, y, {"sample_weight": weights}), (X[rows], y[rows], {})):
            model = self.fit(estimator, X_, y_, **keywords)
            assert model.certificate_.primal == pytest.approx(merged.certificate_.primal, rel=3e-6)

    def test_row_order_and_names(self, estimator: Any) -> None:
        X, y = clouds()
        groups = np.arange(120) % 4 // 2
        order = np.random.default_rng(0).permutation(120)
        one = self.fit(estimator, X, y, groups=groups)
        labels, names = np.array(["no", "yes"])[y], np.array(["b", "a"])[groups]
        other = self.fit(estimator, X[order], labels[order], groups=names[order])
        assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-6)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=5e-3)
        assert other.thresholds_.keys() == {"a", "b"}

    def test_sparse_and_single_precision(self, estimator: Any) -> None:
        X, y = clouds()
        X = np.where(np.abs(X) > 0.4, X, 0.0)
        dense = self.fit(estimator, X, y)
        thin = self.fit(estimator, sparse.csr_array(X), y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=5e-3)
        single = self.fit(estimator, X.astype(np.float32), y, tol=1e-4)
        assert single.coef_.dtype == np.float32
        assert single.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-4)

    def test_one_group_and_groups_without_both_labels(self, estimator: Any) -> None:
        X, y = clouds()
        one = self.fit(estimator, X, y)
        assert np.array_equal(self.fit(estimator, X, y, groups=["all"] * 120).coef_, one.coef_)
        more, labels = np.vstack([X, X[:5] + 9]), np.append(y, np.ones(5, dtype=int))
        model = self.fit(estimator, more, labels, groups=[0] * 120 + [1] * 5)
        assert np.array_equal(model.coef_, one.coef_)
        assert model.thresholds_.keys() == {0}
        assert model.support_.max() < 120

    def test_the_dual_gives_the_coefficients(self, estimator: Any) -> None:
        X, y = clouds()
        model = self.fit(estimator, X, y, tol=1e-8)
        np.testing.assert_allclose(model.dual_coef_[0] @ X[model.support_], model.coef_[0], atol=2e-3)
        sign = np.where(y[model.support_] == 1, 1, -1)
        assert (sign * model.dual_coef_[0] > 0).all()

    def test_warm_starts_begin_where_the_last_fit_ended(self, estimator: Any) -> None:
        X, y = clouds()
        model = clone(estimator).set_params(warm_start=True, tol=1e-5).fit(X, y)
        cold, primal = model.n_iter_, model.certificate_.primal
        model.fit(X, y)
        assert model.certificate_.converged
        assert model.n_iter_ <= cold
        assert model.certificate_.primal == pytest.approx(primal, rel=1e-4)

    def test_kernels(self, estimator: Any) -> None:
        X, y = clouds(60)
        model = self.fit(estimator, X, y)
        linear = self.fit(clone(estimator).set_params(kernel="linear"), X, y)
        assert linear.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-6)
        ring = np.abs(X[:, 0]) > 1
        curved = self.fit(clone(estimator).set_params(kernel="rbf", gamma=1.0), X, ring, tol=1e-4)
        assert average_precision(ring, curved.decision_function(X)) > 0.9


class TestWhatIsSaid:
    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (OWPC(weights="best"), "weights must be one of 'mean', 'top', 'reciprocal', 'max'"),
            (OWPC(weights=[]), r"one number for each rank, got an array of shape \(0,\)"),
            (OWPC(weights=[[1.0]]), "one number for each rank"),
            (OWPC(weights=[0.0, 0.0]), "the first of them above 0"),
            (OWPC(weights=[1.0, -1.0]), "not negative"),
            (OWPC(weights=[1.0, np.nan]), "finite"),
            (OWPC(weights=[3.0, 1.0, 2.0]), "must not increase, got 2 after 1 at rank 3"),
            (OWPC(weights="top", k=0), "it is how many negatives"),
            (SVMpAUC(min_fpr=0.1, max_fpr=0.1), "min_fpr must be below max_fpr, got 0.1 and 0.1"),
            (SVMpAUC(max_fpr=1.5), "max_fpr must be a finite number above 0 and at most 1"),
            (SVMpAUC(min_fpr=-0.5), "min_fpr must be"),
            (SVMpAUC(tight="yes"), "tight must be"),
            (SVMMAP(C=0), "C must be"),
            (SVMMAP(solver="newton"), "solver must be one of"),
        ],
        ids=str,
    )
    def test_parameters(self, model: Any, words: str) -> None:
        X, y = clouds(30)
        with pytest.raises((TypeError, ValueError), match=words):
            model.fit(X, y)

    def test_weights_that_are_no_numbers(self) -> None:
        X, y = clouds(30)
        with pytest.raises(TypeError, match="or an array of weights by rank, got <object"):
            OWPC(weights=object()).fit(X, y)

    def test_average_precision_counts_whole_rows(self) -> None:
        X, y = clouds(30)
        with pytest.raises(ValueError, match=r"whole numbers for SVMMAP, got 0\.5 in row 0"):
            SVMMAP().fit(X, y, sample_weight=np.full(30, 0.5))
        with pytest.raises(ValueError, match="as many rows: at most 1e"):
            SVMMAP().fit(X, y, sample_weight=np.full(30, 1e9))

    @pytest.mark.parametrize("estimator", MODELS, ids=name_of)
    def test_nothing_to_learn(self, estimator: Any) -> None:
        X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 2, axis=0)
        y = np.arange(40) % 2
        with pytest.warns(DegenerateOptimumWarning, match="a risk that looks at more of the list".capitalize()):
            model = clone(estimator).fit(X, y)
        assert model.certificate_.converged
        assert not model.coef_.any()

    def test_where_the_bundle_is_slow_smoothed_risks_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = clouds(900)
        bundle = OWPC(C=100.0, solver="bundle").fit(X, y)
        monkeypatch.setattr("shortlist.estimators._ordered.MANY_STEPS", 2)
        monkeypatch.setattr("shortlist.solvers.annealed.NARROWEST", 0.02)
        model = OWPC(C=100.0).fit(X, y)  # the bundle does what the two widths leave
        assert model.certificate_.converged
        assert model.certificate_.primal == pytest.approx(bundle.certificate_.primal, rel=2e-4)
        assert certify(model, X, y).converged
        # Where less is asked for the smoothed risks are enough: no planes, and the dual variables are the proof.
        rough = OWPC(C=100.0, tol=5e-3).fit(X, y)
        assert rough.bound_points_.shape == (0, 4)
        again = certify(rough, X, y)
        assert again.bound == pytest.approx(rough.certificate_.bound, rel=1e-9)
        rough.dual_coef_ = rough.dual_coef_ * np.linspace(0.5, 1.5, rough.dual_coef_.shape[1])
        assert certify(rough, X, y).bound < again.bound

    def test_an_early_stop(self) -> None:
        X, y = clouds()
        with pytest.warns(ConvergenceWarning):
            model = OWPC(C=1e4, max_iter=2).fit(X, y)
        assert model.n_iter_ == 2
        assert not model.certificate_.converged

    def test_planes_of_an_earlier_fit_are_gone(self) -> None:
        X, y = clouds(60)
        model = OWPC().fit(X, y)
        assert len(model.bound_weights_) == len(model.bound_points_) > 0
        model.set_params(weights="max").fit(X, y)
        assert model.bound_points_.shape == (0, 4)
        assert len(model.bound_weights_) == 0
