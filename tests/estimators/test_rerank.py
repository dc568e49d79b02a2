"""Reranker: any base below, the second model on top, and never a row of the one kind above one of the other."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shortlist import ExactRanker, Reranker, TopPush
from shortlist.estimators._responses import scores_of
from shortlist.exceptions import NothingToRerankWarning
from shortlist.statistics import statistic_value
from tests.common.estimators import clouds, name_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.NotProvenWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

X, y = clouds(90, 4, seed=1)
NEW, _ = clouds(60, 4, seed=2)
LABELS = np.where(y == 1, "yes", "no")
QUICK: dict[str, Any] = {"max_nodes": 5, "time_limit": None, "random_state": 0}

BASES = [
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, random_state=0),
    MLPClassifier((4,), max_iter=20, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    SVC(),
    GaussianNB(),
    KNeighborsClassifier(5),
    LinearRegression(),
    SVR(),
    DecisionTreeRegressor(max_depth=3, random_state=0),
    FrozenEstimator(LogisticRegression().fit(X, LABELS)),
    TopPush(loss="logistic"),
    ExactRanker(**QUICK),
]
SECONDS = [
    ExactRanker(**QUICK),
    make_pipeline(MinMaxScaler(), ExactRanker(**QUICK)),
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    Ridge(),
]


def exact(**parameters: Any) -> ExactRanker:
    return ExactRanker(**{**QUICK, **parameters})


def assert_joined(model: Reranker, rows: Any, below: Any, above: Any, cut: float) -> None:
    """The list is the second model's order from the cut on, then the base's."""
    joint = model.decision_function(rows)
    is_top = below >= cut
    assert joint[is_top].min(initial=np.inf) > joint[~is_top].max(initial=-np.inf)
    for part, scores in ((is_top, above[is_top]), (~is_top, below[~is_top])):
        own = joint[part]
        assert np.array_equal(np.sign(own[:, None] - own), np.sign(scores[:, None] - scores))
    order = model.rank(rows)
    assert np.array_equal(order, np.argsort(-joint, kind="stable"))
    assert is_top[order[: is_top.sum()]].all()


class TestAnyModel:
    @pytest.mark.parametrize("base", BASES, ids=name_of)
    def test_as_a_base(self, base: Any) -> None:
        model = Reranker(base, exact(), top=30).fit(X, LABELS)
        frozen = isinstance(base, FrozenEstimator)
        alone = base if frozen else clone(base).fit(X, y * 1.0 if is_regressor(base) else LABELS)
        scores = scores_of(alone, X, "yes")
        lowest = np.sort(scores)[-30]
        top = scores >= lowest - 1e-9
        # Ties with the last one are all taken.
        assert model.n_top_ == top.sum() >= 30
        assert model.cut_ == pytest.approx(lowest, abs=1e-9)
        reranked = X[top] @ model.reranker_.coef_[0]
        value = statistic_value(y[top] == 1, reranked, "dcg", margin=1e-4)
        assert model.reranker_.certificate_.value == pytest.approx(value)
        for rows in (X, NEW):
            assert_joined(model, rows, scores_of(alone, rows, "yes"), rows @ model.reranker_.coef_[0], model.cut_)
        assert set(model.predict(NEW)) <= {"no", "yes"}
        assert list(model.classes_) == ["no", "yes"]

    @pytest.mark.parametrize("second", SECONDS, ids=name_of)
    def test_as_the_second(self, second: Any) -> None:
        model = Reranker(LogisticRegression(), second, top=40).fit(X, LABELS)
        base = LogisticRegression().fit(X, LABELS)
        below = base.decision_function(NEW)
        assert_joined(model, NEW, below, scores_of(model.reranker_, NEW, "yes"), model.cut_)
        assert is_regressor(second) or list(model.reranker_.classes_) == ["no", "yes"]

    def test_by_default_an_exact_ranker(self) -> None:
        model = Reranker(LogisticRegression(), top=12).fit(X, y)
        assert isinstance(model.reranker_, ExactRanker)
        assert model.reranker_.statistic == "dcg"
        assert model.reranker_.certificate_.proven
        assert Reranker(LogisticRegression()).get_params(deep=False).keys() == {
            "base", "reranker", "top", "cv", "add_score",
        }  # fmt: skip
        assert Reranker(LogisticRegression()).top == 100

    def test_rows_are_scored_one_by_one_as_together(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=30).fit(X, y)
        together = model.decision_function(NEW)
        alone = np.concatenate([model.decision_function(row[None, :]) for row in NEW])
        assert np.allclose(together, alone, rtol=1e-12, atol=1e-12)
        # The row at the cut stays above it.
        train = model.base_.decision_function(X)
        last = np.flatnonzero(train >= model.cut_)[np.argmin(train[train >= model.cut_])]
        assert model.decision_function(X[last : last + 1])[0] > train[train < model.cut_].max()

    def test_missing_values_where_both_take_them(self) -> None:
        holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
        boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
        model = Reranker(boosting, boosting, top=45).fit(holes, y)
        assert np.isfinite(model.decision_function(holes)).all()
        assert model.__sklearn_tags__().input_tags.allow_nan
        assert not Reranker(boosting, exact()).__sklearn_tags__().input_tags.allow_nan

    def test_a_search_as_a_base_and_as_the_second(self) -> None:
        base = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
        second = GridSearchCV(exact(), {"l0": [0.0, 0.2]}, cv=2, scoring="roc_auc")
        model = Reranker(base, second, top=40).fit(X, LABELS)
        below, above = model.base_.decision_function(NEW), model.reranker_.decision_function(NEW)
        assert_joined(model, NEW, below, above, model.cut_)

    @pytest.mark.parametrize("name", ["base", "reranker"])
    def test_what_gives_no_score_is_refused(self, name: str) -> None:
        parts = {"base": LogisticRegression(), "reranker": exact(), name: MinMaxScaler()}
        with pytest.raises(TypeError, match=rf"{name} must have one of decision_function.* MinMaxScaler\(\) has none"):
            Reranker(**parts).fit(X, y)

    def test_a_base_of_other_labels_is_refused(self) -> None:
        base = FrozenEstimator(LogisticRegression().fit(X, y))
        with pytest.raises(ValueError, match=r"the base knows the labels .*0.*1.* but y holds .*'no'.*'yes'"):
            Reranker(base).fit(X, LABELS)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=4, max_size=20), st.data())
def test_never_a_row_of_the_one_kind_above_one_of_the_other(rows: Any, data: st.DataObject) -> None:
    table = np.array([row[:2] for row in rows], dtype=float)
    labels = np.array([row[2] for row in rows])
    labels[:2] = [False, True]
    top = data.draw(st.one_of(st.integers(1, 25), st.sampled_from([0.1, 0.5, 1.0])))
    base, second = LinearRegression().fit(table, labels), Ridge()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingToRerankWarning)
        model = Reranker(FrozenEstimator(base), second, top=top).fit(table, labels)
    scores = base.predict(table) - 0.5
    wanted = min(top, len(table)) if isinstance(top, int) else int(np.ceil(top * len(table)))
    is_top = scores >= np.sort(scores)[-wanted] - 1e-12
    assert model.n_top_ == is_top.sum()
    joint = model.decision_function(table)
    if model.reranker_ is None:
        assert len(set(labels[is_top])) == 1
        assert np.array_equal(joint, scores)
    else:
        assert joint[is_top].min() > joint[~is_top].max(initial=-np.inf)
        assert np.array_equal(joint[~is_top], scores[~is_top])


class TestTop:
    def test_a_number_or_a_share(self) -> None:
        for top, wanted in ((1, 1), (np.int64(30), 30), (1000, 90), (0.1, 9), (0.101, 10), (1.0, 90)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NothingToRerankWarning)
                assert Reranker(LogisticRegression(), exact(), top=top).fit(X, y).n_top_ == wanted

    def test_all_ties_at_the_cut_are_taken(self) -> None:
        base = DecisionTreeClassifier(max_depth=1, random_state=0)
        model = Reranker(base, exact(), top=2).fit(X, y)
        p = clone(base).fit(X, y).predict_proba(X)[:, 1]
        assert model.n_top_ == np.sum(p == p.max()) > 2
        assert model.reranker_.n_features_in_ == 4

    def test_weights_count_as_rows(self) -> None:
        times = np.random.default_rng(0).integers(0, 3, 90)
        again = np.repeat(np.arange(90), times)
        for top in (20, 0.25):
            weighted = Reranker(LogisticRegression(tol=1e-10), exact(), top=top).fit(X, y, sample_weight=times)
            repeated = Reranker(LogisticRegression(tol=1e-10), exact(), top=top).fit(X[again], y[again])
            assert np.allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-4)
            kept = times > 0
            above = weighted.base_.decision_function(X) >= weighted.cut_
            assert times[above].sum() == repeated.n_top_ >= (20 if top == 20 else np.ceil(0.25 * times.sum()))
            assert weighted.n_top_ == np.sum(above & kept)

    def test_weights_that_the_base_does_not_know(self) -> None:
        with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
            Reranker(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(90))

    def test_chosen_by_cross_validation(self) -> None:
        grid = {"top": [10, 0.5], "base__C": [0.1, 10.0], "reranker__l0": [0.0, 0.3], "add_score": [False, True]}
        search = GridSearchCV(
            Reranker(LogisticRegression(), exact(max_nodes=1)), grid, scoring="average_precision", cv=2,
            error_score="raise",
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingToRerankWarning)
            search.fit(X, y)
        best = search.best_estimator_
        assert len(search.cv_results_["params"]) == 16
        assert search.best_params_["base__C"] == best.base_.C
        assert 0.5 < search.best_score_ <= 1


class TestGroups:
    # The rows 0 and 3 are a group of positives alone, which takes no part.
    groups = np.where(np.isin(np.arange(90), [0, 3]), "only", np.random.default_rng(8).choice(list("uvw"), 90))
    present = groups != "only"

    @pytest.fixture
    def model(self) -> Reranker:
        return Reranker(LogisticRegression(), exact(), top=12).fit(X, y, groups=self.groups)

    def test_each_has_its_top(self, model: Reranker) -> None:
        scores = LogisticRegression().fit(X[self.present], y[self.present]).decision_function(X)
        cuts = {g: np.sort(scores[self.groups == g])[-12] for g in "uvw"}
        n_top = sum(np.sum(scores[self.groups == g] >= cut) for g, cut in cuts.items())
        assert n_top == 36
        assert model.group_cuts_.keys() == cuts.keys()
        assert all(model.group_cuts_[g] == pytest.approx(cut, abs=1e-9) for g, cut in cuts.items())
        assert model.n_top_ == n_top
        # Without groups as many rows in all are ranked again.
        assert np.sum(scores[self.present] >= model.cut_) == n_top

    def test_new_groups_have_tops_of_their_own(self, model: Reranker) -> None:
        groups = np.array([7, 8])[(np.arange(60) > 40).astype(int)]
        joint = model.decision_function(NEW, groups)
        base, second = model.base_.decision_function(NEW), NEW @ model.reranker_.coef_[0]
        order = model.rank(NEW, groups)
        assert list(groups[order]) == sorted(groups)
        for g in (7, 8):
            own = np.flatnonzero(groups == g)
            listed = order[np.isin(order, own)]
            assert set(listed[:12]) == set(own[np.argsort(-base[own])[:12]])
            assert (np.diff(second[listed[:12]]) <= 0).all()
            assert (np.diff(base[listed[12:]]) <= 0).all()
            assert (np.diff(joint[listed]) <= 0).all()

    def test_the_second_ranks_within_groups(self, model: Reranker) -> None:
        scores = X @ model.reranker_.coef_[0]
        base, value = model.base_.decision_function(X), 0.0
        for g, cut in model.group_cuts_.items():
            own = (self.groups == g) & (base >= cut)
            assert set(y[own]) == {0, 1}
            value += statistic_value(y[own] == 1, scores[own], "dcg", margin=1e-4)
        assert model.reranker_.certificate_.value == pytest.approx(value)

    def test_groups_reach_a_base_that_knows_them(self) -> None:
        seen: list[Any] = []

        class Spy(TopPush):
            def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Any:
                seen.append((groups, sample_weight))
                return super().fit(X, y, groups=groups, sample_weight=sample_weight)

        Reranker(make_pipeline(MinMaxScaler(), Spy()), exact(), top=12).fit(X, y, groups=self.groups)
        assert len(seen[0][0]) == self.present.sum()
        assert len(set(zip(seen[0][0], self.groups[self.present], strict=True))) == 3
        assert seen[0][1] is None

    def test_a_model_without_groups_has_one_cut(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=12).fit(X, y)
        assert model.group_cuts_ is None
        with pytest.raises(ValueError, match="fitted without groups and has one cut"):
            model.decision_function(X, self.groups)
        order, joint = model.rank(X, self.groups), model.decision_function(X)
        for g in set(self.groups):
            assert (np.diff(joint[order[self.groups[order] == g]]) <= 0).all()

    def test_no_group_of_both_classes(self) -> None:
        with pytest.raises(ValueError, match="no group holds rows of both classes"):
            Reranker(LogisticRegression()).fit(X, y, groups=y)


def test_a_fit_that_fails_leaves_the_last_one() -> None:
    model = Reranker(LogisticRegression(), exact(), top=30).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((90, 4), np.nan), y)
    assert vars(model) == before


def test_clone_pickle_and_the_seed() -> None:
    model = Reranker(RandomForestClassifier(5, random_state=0), exact(random_state=3), top=0.4, add_score=True)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    assert np.array_equal(one.decision_function(NEW), other.decision_function(NEW))
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.decision_function(NEW), one.decision_function(NEW))
    # The parts given are left as they were.
    assert not hasattr(model.base, "classes_")
    assert not hasattr(model.reranker, "coef_")
