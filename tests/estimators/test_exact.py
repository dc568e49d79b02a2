"""ExactRanker: the statistic that it maximises, in every form it can be asked for, and what a fit leaves."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from shortlist import ExactRanker
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.metrics import rank_statistic
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from shortlist.statistics import (
    DCG,
    GivenWeights,
    PartialAUC,
    Power,
    ReciprocalRank,
    WilcoxonRankSum,
    WinnerTakesAll,
    rank_weights,
    statistic_value,
)
from tests.common.estimators import clouds
from tests.oracle.exact import best_value, exact_value

pytestmark = pytest.mark.filterwarnings("ignore::shortlist.exceptions.NotProvenWarning")

STATISTICS: list[Any] = [
    "dcg",
    "auc",
    "winner_takes_all",
    "reciprocal_rank",
    DCG(top=3),
    PartialAUC(top=4),
    PartialAUC(theta=2),
    Power(3),
    np.sqrt(np.arange(9)),
    [0, 0, 1, 1, 1, 2, 2, 2, 5],
]


def small(seed: int, n: int = 9, d: int = 2) -> tuple[Any, Any]:
    """Whole numbers with repeats, three positives, no perfect order."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, (n, d)).astype(float), np.isin(np.arange(n), [1, 4, 5]).astype(int)


X, y = clouds(30, 3, seed=1)


def test_the_signature() -> None:
    parameters = inspect.signature(ExactRanker).parameters
    promised = {
        "statistic": "dcg",
        "l0": 0.0,
        "margin": 1e-4,
        "method": "auto",
        "formulation": "subrank",
        "pairs": None,
        "time_limit": 60.0,
        "gap_tol": 0.0,
        "n_starts": None,
        "random_state": None,
    }
    assert {name: parameters[name].default for name in promised} == promised
    positional = [name for name, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert positional == ["statistic"]
    assert ExactRanker().get_params().keys() == parameters.keys()


class TestTheStatistic:
    @pytest.mark.parametrize("formulation", ["subrank", "resolved"])
    @pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
    def test_is_really_maximised(self, statistic: Any, formulation: str) -> None:
        data, labels = small(0)
        model = ExactRanker(statistic, formulation=formulation, margin=0.01, random_state=0).fit(data, labels)
        problem = RankProblem.of(data, labels == 1, statistic, margin=0.01, ranks=formulation)
        certificate = model.certificate_
        assert certificate.proven
        assert certificate.value == pytest.approx(best_value(problem))
        assert certificate.value == pytest.approx(exact_value(problem, model.coef_[0]))

    @pytest.mark.parametrize(
        ("name", "weights"),
        [
            ("dcg", DCG()),
            ("auc", WilcoxonRankSum()),
            ("wrs", WilcoxonRankSum()),
            ("winner_takes_all", WinnerTakesAll()),
            ("reciprocal_rank", ReciprocalRank()),
            (DCG(), DCG().array(30)),
            (Power(2), GivenWeights(np.arange(1, 31) ** 2)),
        ],
        ids=repr,
    )
    def test_by_name_object_or_array_is_the_same_fit(self, name: Any, weights: Any) -> None:
        one = ExactRanker(name, max_nodes=50, random_state=0).fit(X, y)
        other = ExactRanker(weights, max_nodes=50, random_state=0).fit(X, y)
        assert np.array_equal(one.coef_, other.coef_)
        assert one.certificate_.bound == other.certificate_.bound

    def test_the_value_is_that_of_the_scores(self) -> None:
        model = ExactRanker("dcg", max_nodes=20, random_state=0).fit(X, y)
        value = model.certificate_.value
        scores = model.decision_function(X)
        assert statistic_value(y == 1, scores, "dcg", margin=1e-4) == pytest.approx(value)
        assert rank_statistic(y, scores, DCG()) == pytest.approx(value)

    def test_weights_that_decrease_are_refused(self) -> None:
        with pytest.raises(ValueError, match="statistic: rank weights must not decrease"):
            ExactRanker(np.arange(30)[::-1]).fit(X, y)
        with pytest.raises(ValueError, match="there are 20 rank weights for a list of 30 rows"):
            ExactRanker(np.arange(20)).fit(X, y)

    def test_groups_are_summed(self) -> None:
        groups = np.array(["u", "v", "w"])[np.arange(30) // 10]
        model = ExactRanker("reciprocal_rank", random_state=0).fit(X, y, groups=groups)
        scores = model.decision_function(X)
        values = [
            statistic_value(y[groups == g] == 1, scores[groups == g], "reciprocal_rank", margin=1e-4) for g in "uvw"
        ]
        assert model.certificate_.proven
        assert model.certificate_.value == pytest.approx(sum(values))
        # One shift a group changes nothing inside groups.
        moved = X + 10 * (groups == "v")[:, None]
        shifted = ExactRanker("reciprocal_rank", random_state=0).fit(moved, y, groups=groups)
        assert shifted.certificate_.value == pytest.approx(model.certificate_.value)
        array = ExactRanker(rank_weights("reciprocal_rank").array(10), random_state=0).fit(X, y, groups=groups)
        assert array.certificate_.value == model.certificate_.value

    def test_the_margin_counts(self) -> None:
        data, labels = np.array([[0.0], [0.3], [1.0]]), np.array([0, 1, 0])
        assert ExactRanker("auc", margin=0.3).fit(data, labels).certificate_.value == 2
        for scale in (1.0, 1e-6):
            with pytest.warns(DegenerateOptimumWarning, match=r"earns no more than w = 0.*margin 0\.8"):
                model = ExactRanker("auc", margin=0.8).fit(data * scale, labels)
            assert model.certificate_.value == 1
            assert model.certificate_.proven

    @pytest.mark.parametrize("method", ["auto", "mip"])
    def test_the_price_of_coefficients(self, method: str) -> None:
        data, labels = small(3)
        plain = ExactRanker("auc", random_state=0, method=method).fit(data, labels)
        for l0 in (0.5, 2.0, 20.0):
            model = ExactRanker("auc", l0=l0, random_state=0, method=method)
            if l0 == 20.0:
                with pytest.warns(DegenerateOptimumWarning, match="l0=20"):
                    model.fit(data, labels)
            else:
                model.fit(data, labels)
            problem = RankProblem.of(data, labels == 1, "auc", l0=l0)
            assert model.certificate_.value == pytest.approx(best_value(problem))
            assert model.certificate_.value <= plain.certificate_.value
        assert not model.coef_.any()
        assert not model.predict(data).any()


class TestPairs:
    data, labels = small(7)
    given = ((1, 0), (1, 2), (4, 3), (5, 6), (8, 7), (0, 8))

    def forms(self) -> list[Any]:
        matrix = np.zeros((9, 9))
        for i, k in self.given:
            matrix[i, k] = 1
        return [
            list(self.given),
            np.array(self.given),
            matrix,
            matrix.astype(bool),
            sparse.csr_array(matrix),
            pd.DataFrame(list(self.given), columns=["better", "worse"]),
        ]

    def test_every_form_is_the_same_problem(self) -> None:
        better, worse = np.array(self.given).T
        best = best_value(PreferenceProblem(self.data, 1e-4, 0.0, better, worse, np.ones(6)))
        coefs = []
        for form in self.forms():
            model = ExactRanker(pairs=form, random_state=0).fit(self.data)
            assert model.certificate_.proven
            assert model.certificate_.value == best
            scores = self.data @ model.coef_[0]
            assert np.sum(scores[better] - scores[worse] >= 1e-4) == best
            coefs.append(model.coef_)
        assert all(np.array_equal(coefs[0], coef) for coef in coefs)

    @pytest.mark.parametrize("method", ["branch_and_bound", "mip", "ascent"])
    def test_weights_of_pairs_and_of_rows(self, method: str) -> None:
        rng = np.random.default_rng(3)
        matrix = np.triu(rng.integers(0, 3, (9, 9)), 1).astype(float)
        weight = rng.integers(0, 3, 9) / 2
        model = ExactRanker(pairs=matrix, random_state=0, method=method).fit(self.data, sample_weight=weight)
        total = matrix * weight[:, None] * weight
        better, worse = np.nonzero(total)
        problem = PreferenceProblem(self.data, 1e-4, 0.0, better, worse, total[better, worse])
        assert model.certificate_.value == pytest.approx(best_value(problem))
        assert model.certificate_.trivial_bound == pytest.approx(total.sum())

    def test_without_labels_there_are_scores_only(self) -> None:
        model = ExactRanker(pairs=self.given, random_state=0).fit(self.data)
        assert not hasattr(model, "classes_")
        assert len(model.cuts_) == 0
        assert np.array_equal(model.decision_function(self.data), self.data @ model.coef_[0])
        assert sorted(model.rank(self.data)) == list(range(9))
        with pytest.raises(ValueError, match="no labels to predict: fit was given pairs alone"):
            model.predict(self.data)

    def test_with_labels_these_say_where_to_cut(self) -> None:
        model = ExactRanker(pairs=self.given, random_state=0).fit(self.data, np.where(self.labels, "hit", "miss"))
        bare = ExactRanker(pairs=self.given, random_state=0).fit(self.data)
        assert np.array_equal(model.coef_, bare.coef_)
        assert list(model.classes_) == ["hit", "miss"]
        assert set(model.predict(self.data)) <= {"hit", "miss"}

    def test_two_classes_are_the_auc_without_ties(self) -> None:
        model = ExactRanker(pairs="classes", random_state=0).fit(X, y)
        twin = ExactRanker("auc", formulation="resolved", random_state=0).fit(X, y)
        m = y.sum()
        assert twin.certificate_.value == model.certificate_.value + m * (m + 1) / 2

    def test_several_ordered_classes(self) -> None:
        names = np.array(["a: bad", "b: fair", "c: good"])
        grades = (self.data[:, 0] + 0.5 * self.data[:, 1] > np.array([[1.4], [3.1]])).sum(axis=0)
        assert set(grades) == {0, 1, 2}
        model = ExactRanker(pairs="classes", random_state=0).fit(self.data, names[grades])
        n_pairs = sum(a > b for a in grades for b in grades)
        assert model.certificate_.value == model.certificate_.trivial_bound == n_pairs
        assert list(model.classes_) == list(names)
        assert model.cuts_.shape == (2,)
        assert np.array_equal(model.predict(self.data), names[grades])
        assert np.array_equal(model.decision_function(self.data) > 0, grades == 2)
        assert model.score(self.data, names[grades]) == 1
        graded = model.rank(self.data)
        assert (np.diff(grades[graded]) <= 0).all()

    def test_classes_of_groups(self) -> None:
        groups = np.arange(9) % 2
        model = ExactRanker(pairs="classes", random_state=0).fit(self.data, self.labels, groups=groups)
        assert model.certificate_.trivial_bound == sum(
            self.labels[i] > self.labels[k] for i in range(9) for k in range(9) if groups[i] == groups[k]
        )

    def test_three_classes_without_pairs_name_the_way_out(self) -> None:
        with pytest.raises(ValueError, match="pairs='classes'"):
            ExactRanker().fit(X, np.arange(30) % 3)
        with pytest.raises(ValueError, match="requires y"):
            ExactRanker(pairs="classes").fit(X)


class TestTwins:
    """The same rows in another form are the same search."""

    settings = ({}, {"statistic": "auc", "l0": 0.5}, {"formulation": "resolved"}, {"pairs": "classes"})
    whole = np.round(X)
    groups = np.random.default_rng(4).integers(0, 2, 30)

    @pytest.fixture(params=settings, ids=repr)
    def model(self, request: pytest.FixtureRequest) -> ExactRanker:
        return ExactRanker(**request.param, max_nodes=20, time_limit=None, random_state=0)

    @pytest.mark.parametrize("grouped", [False, True])
    def test_rows_in_another_order(self, model: ExactRanker, grouped: bool) -> None:
        groups = self.groups if grouped else np.zeros(30)
        plain = clone(model).fit(self.whole, y, groups=groups)
        order = np.random.default_rng(0).permutation(30)
        moved = clone(model).fit(self.whole[order], y[order], groups=groups[order])
        assert np.array_equal(plain.coef_, moved.coef_)
        assert plain.certificate_.bound == moved.certificate_.bound
        assert np.allclose(plain.intercept_, moved.intercept_)

    def test_weights_and_repetition(self, model: ExactRanker) -> None:
        times = np.random.default_rng(1).integers(0, 4, 30)
        weighted = clone(model).fit(self.whole, y, sample_weight=times)
        repeated = clone(model).fit(np.repeat(self.whole, times, axis=0), np.repeat(y, times))
        assert np.array_equal(weighted.coef_, repeated.coef_)
        assert weighted.certificate_.value == repeated.certificate_.value
        assert weighted.certificate_.bound == repeated.certificate_.bound
        assert np.allclose(weighted.cuts_, repeated.cuts_)

    def test_the_same_seed_the_same_search_on_any_number_of_threads(self, model: ExactRanker) -> None:
        fits = [clone(model).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 1, 2, -1)]
        for other in fits[1:]:
            assert np.array_equal(fits[0].coef_, other.coef_)
            assert fits[0].certificate_.bound == other.certificate_.bound
            assert fits[0].certificate_.nodes == other.certificate_.nodes

    def test_sparse_rows_and_frames(self, model: ExactRanker) -> None:
        plain = clone(model).fit(self.whole, y)
        for form in (sparse.csr_array(self.whole), sparse.csc_matrix(self.whole), pd.DataFrame(self.whole)):
            twin = clone(model).fit(form, y)
            assert np.array_equal(plain.coef_, twin.coef_)
            assert np.allclose(twin.decision_function(form), plain.decision_function(self.whole))

    def test_single_precision(self, model: ExactRanker) -> None:
        single = clone(model).fit(self.whole.astype(np.float32), y)
        assert single.coef_.dtype == single.intercept_.dtype == np.float32
        assert np.abs(single.coef_).max() == 1
        # The certificate speaks of the coefficients as they were rounded.
        w = single.coef_[0].astype(float)
        scores = self.whole @ w
        margin = {"margin": 1e-4} if single.formulation == "subrank" else {}
        if single.pairs is None and margin:
            value = statistic_value(y == 1, scores, single.statistic, **margin) - single.l0 * np.count_nonzero(w)
            assert single.certificate_.value == pytest.approx(value)
        assert single.certificate_.bound >= single.certificate_.value
        assert single.certificate_.trivial_bound == clone(model).fit(self.whole, y).certificate_.trivial_bound


class TestWhatAFitLeaves:
    model = ExactRanker(max_nodes=200, random_state=0).fit(X, y)

    def test_coefficients_on_the_cube_and_a_cut(self) -> None:
        model = self.model
        assert model.coef_.shape == (1, 3)
        assert np.abs(model.coef_).max() == 1
        assert model.cuts_.shape == model.intercept_.shape == (1,)
        assert model.intercept_[0] == -model.cuts_[0]
        assert np.allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
        scores = X @ model.coef_[0]
        tries = [np.mean((scores > t) == y) for t in np.append(scores, -np.inf)]
        assert model.score(X, y) == max(tries)

    def test_clone_and_pickle(self) -> None:
        again = pickle.loads(pickle.dumps(self.model))
        assert again.certificate_ == self.model.certificate_
        assert np.array_equal(again.rank(X), self.model.rank(X))
        fresh = clone(ExactRanker(DCG(top=5), pairs=[(0, 1)], start=[1.0, 0.0, 0.0]))
        assert fresh.statistic == DCG(top=5)
        assert fresh.pairs == [(0, 1)]

    def test_chosen_by_cross_validation(self) -> None:
        grid = {"statistic": ["dcg", DCG(top=5), "auc"], "l0": [0.0, 0.2]}
        search = GridSearchCV(
            ExactRanker(max_nodes=5, random_state=0), grid, scoring="roc_auc", cv=2, error_score="raise"
        )
        assert search.fit(X, y).best_params_.keys() == grid.keys()
        assert 0.5 < search.best_score_ <= 1
