"""Reranker: rows scored unseen, the base's score as a feature, starts, containers, and tops with nothing to learn."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, LeaveOneGroupOut, PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from shortlist import ExactRanker, Reranker
from shortlist.exceptions import NothingToRerankWarning
from shortlist.solvers.exact.branch_and_bound import _Search
from shortlist.statistics import statistic_value
from tests.common.estimators import clouds

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.NotProvenWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
]

X, y = clouds(90, 4, seed=1)
NEW, _ = clouds(60, 4, seed=2)
PART = np.arange(90) // 7 % 3


def exact(**parameters: Any) -> ExactRanker:
    return ExactRanker(**{"max_nodes": 5, "time_limit": None, "random_state": 0, **parameters})


class TestUnseen:
    # Knows its training rows by heart: all positives, and they alone, are at its top.
    by_heart = DecisionTreeClassifier(random_state=0)

    def test_what_the_base_knows_by_heart_has_nothing_to_rerank(self) -> None:
        with pytest.warns(NothingToRerankWarning, match=r"the 30 rows .* are all positives.*larger top, or cv=5"):
            Reranker(self.by_heart, exact(), top=20).fit(X, y)
        assert Reranker(self.by_heart, exact(), top=20, cv=3).fit(X, y).reranker_ is not None

    @pytest.mark.parametrize("base", [LogisticRegression(), LinearRegression()])
    def test_the_top_is_that_of_bases_that_have_not_seen_it(self, base: Any) -> None:
        splitter = KFold(4, shuffle=True, random_state=0)
        method = "decision_function" if hasattr(base, "decision_function") else "predict"
        scores = cross_val_predict(base, X, y, cv=splitter, method=method) - 0.5 * (method == "predict")
        for cv in (splitter, list(splitter.split(X)), splitter.split(X)):
            model = Reranker(base, exact(), top=25, cv=cv).fit(X, y)
            top = scores >= np.sort(scores)[-25]
            assert model.n_top_ == 25
            assert model.cut_ == pytest.approx(np.sort(scores)[-25], abs=1e-9)
            value = statistic_value(y[top] == 1, X[top] @ model.reranker_.coef_[0], "dcg", margin=1e-4)
            assert model.reranker_.certificate_.value == pytest.approx(value)
            # New rows are scored by a base that knows all rows.
            assert np.array_equal(model.base_.coef_, clone(base).fit(X, y).coef_)

    def test_groups_stay_together(self) -> None:
        groups = np.random.default_rng(8).integers(0, 4, 90)
        by_number = Reranker(LogisticRegression(), exact(), top=8, cv=4).fit(X, y, groups=groups)
        by_splitter = Reranker(LogisticRegression(), exact(), top=8, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
        assert by_number.group_cuts_ == by_splitter.group_cuts_
        assert np.array_equal(by_number.decision_function(NEW), by_splitter.decision_function(NEW))

    def test_rows_of_weight_zero_are_in_no_part(self) -> None:
        weight = (np.arange(90) > 8).astype(float)
        cv = PredefinedSplit(np.where(weight > 0, PART, -1))
        model = Reranker(LogisticRegression(), exact(), top=25, cv=cv).fit(X, y, sample_weight=weight)
        without = Reranker(LogisticRegression(), exact(), top=25, cv=PredefinedSplit(PART[9:]))
        assert model.cut_ == pytest.approx(without.fit(X[9:], y[9:]).cut_, abs=1e-6)
        # A part that holds such rows alone is no part.
        alone = PredefinedSplit(np.where(weight > 0, PART, 3))
        again = Reranker(LogisticRegression(), exact(), top=25, cv=alone).fit(X, y, sample_weight=weight)
        assert again.cut_ == pytest.approx(model.cut_, abs=1e-6)

    def test_every_row_has_to_be_in_a_part(self) -> None:
        cv = PredefinedSplit(np.where(np.arange(90) == 7, -1, PART))
        with pytest.raises(ValueError, match="cv leaves row 7 out of every test part"):
            Reranker(LogisticRegression(), exact(), cv=cv).fit(X, y)


class TestTheScoreAsAFeature:
    @pytest.mark.parametrize(
        "base", [RandomForestClassifier(5, max_depth=2, random_state=0), LogisticRegression(), SVC()], ids=repr
    )
    @pytest.mark.parametrize("statistic", ["dcg", "auc", "reciprocal_rank"])
    def test_on_its_training_rows_it_is_not_worse_than_the_base(self, base: Any, statistic: str) -> None:
        second = exact(statistic=statistic, margin=1e-9, time_limit=1e-9)
        model = Reranker(base, second, top=40, add_score=True).fit(X, y)
        assert model.reranker_.n_features_in_ == 5
        base_scores = clone(base).fit(X, y)
        method = getattr(base_scores, "decision_function", None) or (lambda X: base_scores.predict_proba(X)[:, 1])
        top = method(X) >= np.sort(method(X))[-40]
        before = statistic_value(y[top] == 1, method(X[top]), statistic)
        assert model.reranker_.certificate_.value >= before - 1e-9

    def test_sparse_rows_stay_sparse_and_frames_frames(self) -> None:
        kept = np.where(np.abs(X) > 0.3, X, 0)
        plain = Reranker(LogisticRegression(), exact(), top=30, add_score=True).fit(kept, y)
        names = list("abcd")
        for form in (
            sparse.csr_array(kept),
            sparse.csc_array(kept),
            pd.DataFrame(kept, columns=names),
            pd.DataFrame(kept),
            pl.DataFrame(kept, schema=names),
        ):
            model = clone(plain).fit(form, y)
            assert model.n_top_ == 30
            assert np.allclose(model.decision_function(form), plain.decision_function(kept), atol=1e-5)

    def test_the_new_column_is_named(self) -> None:
        for names, last in (
            (["a", "b", "base_score", "d"], "base_score_"),
            ([3, 5, 7, 9], None),
            ([("a", 1), ("b", 1), ("c", 1), ("d", 1)], None),
        ):
            seen: list[Any] = []

            class Spy(LogisticRegression):
                def fit(self, X: Any, y: Any, sample_weight: Any = None, seen: Any = seen) -> Any:
                    seen.append(list(X.columns))
                    return super().fit(np.asarray(X), y)

                def decision_function(self, X: Any) -> Any:
                    return super().decision_function(np.asarray(X))

            frame = pd.DataFrame(X)
            frame.columns = pd.Index(names, tupleize_cols=False)
            Reranker(Spy(), Spy(), top=30, add_score=True).fit(frame, y)
            assert seen[0] == names
            assert seen[1][:4] == names
            assert len(set(seen[1])) == 5
            assert last is None or seen[1][4] == last
            assert list(frame.columns) == names

    def test_tied_scores_at_the_top_make_no_feature(self) -> None:
        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        model = Reranker(stump, exact(), top=2, add_score=True).fit(X, y)
        plain = Reranker(stump, exact(), top=2).fit(X, y)
        assert model.reranker_.certificate_.trivial_bound == plain.reranker_.certificate_.trivial_bound
        assert np.isfinite(model.decision_function(NEW)).all()

    def test_the_score_is_measured_from_the_groups_own_cut(self) -> None:
        groups = np.random.default_rng(8).integers(0, 3, 90)
        model = Reranker(FrozenEstimator(LogisticRegression().fit(X, y)), exact(), top=10, add_score=True)
        moved = X + np.array([2.0, 0, 0, 0]) * (groups == 1)[:, None]
        fits = [clone(model).fit(rows, y, groups=groups) for rows in (X, moved)]
        for g in (0, 1, 2):
            order = [fit.rank(rows, groups) for fit, rows in zip(fits, (X, moved), strict=True)]
            own = [listed[groups[listed] == g] for listed in order]
            assert np.array_equal(own[0][10:], own[1][10:])


class TestStarts:
    @pytest.mark.parametrize("base", [LogisticRegression(), LinearRegression(), SVC(kernel="linear")], ids=repr)
    def test_a_linear_base_is_where_the_search_begins(self, base: Any) -> None:
        model = Reranker(base, exact(time_limit=1e-9), top=40).fit(X, y)
        coef = np.ravel(model.base_.coef_)
        assert np.allclose(model.reranker_.coef_[0], coef / np.abs(coef).max())
        assert np.array_equal(model.rank(X), np.argsort(-(X @ coef), kind="stable"))

    def test_a_start_that_is_given_goes_before(self) -> None:
        start = np.array([0.0, 1.0, 0.0, 0.0])
        model = Reranker(LogisticRegression(), exact(time_limit=1e-9, start=start), top=40).fit(X, y)
        assert np.array_equal(model.reranker_.coef_[0], start)

    def test_an_interrupt_keeps_the_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        prepare = _Search._prepare

        def interrupted(search: _Search) -> None:
            signal.raise_signal(signal.SIGINT)
            prepare(search)

        monkeypatch.setattr(_Search, "_prepare", interrupted)
        model = Reranker(LogisticRegression(), exact(), top=40).fit(X, y)
        assert model.reranker_.certificate_.value > 0
        assert model.rank(NEW).shape == (60,)


class TestNothingToRerank:
    @pytest.mark.parametrize(("share", "shift"), [("positives", 9.0), ("negatives", -9.0)])
    def test_the_base_order_stays(self, share: str, shift: float) -> None:
        base = FrozenEstimator(LogisticRegression().fit(X, y))
        moved = X + shift * np.outer(y, np.sign(base.coef_[0]))
        with pytest.warns(NothingToRerankWarning, match=f"the 5 rows .* are all {share}, so nothing can be learned"):
            model = Reranker(base, exact(), top=5).fit(moved, y)
        assert model.reranker_ is None
        assert model.n_top_ == 5
        assert np.array_equal(model.decision_function(NEW), base.decision_function(NEW))
        assert np.array_equal(model.predict(NEW), base.predict(NEW))
        assert np.array_equal(model.rank(NEW), np.argsort(-base.decision_function(NEW), kind="stable"))

    def test_one_class_in_each_group(self) -> None:
        groups = np.arange(90) // 45
        shift = np.where(groups == 0, y, 1 - y) * 9.0
        base = FrozenEstimator(LogisticRegression().fit(X, y))
        moved = X + np.outer(shift, np.sign(base.coef_[0]))
        with pytest.warns(NothingToRerankWarning, match="are all rows of one class in each group"):
            model = Reranker(base, exact(), top=5).fit(moved, y, groups=groups)
        assert model.reranker_ is None
        assert model.group_cuts_.keys() == {0, 1}

    def test_the_warning_names_the_users_line(self) -> None:
        base = FrozenEstimator(LogisticRegression().fit(X, y))
        with pytest.warns(NothingToRerankWarning) as caught:
            Reranker(base, exact(), top=1).fit(X, y)
        assert caught[0].filename == __file__


class TestPredictions:
    def test_above_a_positive_cut_all_are_positive(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=10).fit(X, y)
        assert model.cut_ > 0
        base = model.base_.decision_function(NEW)
        assert np.array_equal(model.predict(NEW), (base > 0).astype(int))

    def test_above_a_negative_cut_the_second_decides(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=80).fit(X, y)
        assert model.cut_ < 0
        base, second = model.base_.decision_function(NEW), model.reranker_.decision_function(NEW)
        assert np.array_equal(model.predict(NEW) == 1, np.where(base >= model.cut_, second > 0, base > 0))

    def test_no_new_row_reaches_the_cut(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=10).fit(X, y)
        low = NEW[model.base_.decision_function(NEW) < model.cut_]
        assert np.array_equal(model.decision_function(low), model.base_.decision_function(low))


class TestContainers:
    def test_frames_with_columns_that_only_pipelines_can_read(self) -> None:
        words = np.where(X[:, 3] > 0, "red", "blue")
        for frame in (
            pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": words}),
            pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": words}),
        ):
            columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["word"]), remainder="passthrough")
            base = make_pipeline(columns, LogisticRegression())
            for add_score in (False, True):
                second = make_pipeline(clone(columns), exact())
                model = Reranker(base, second, top=30, add_score=add_score).fit(frame, y)
                assert model.reranker_[-1].n_features_in_ == 4 + add_score
                assert list(model.feature_names_in_) == ["a", "b", "word"]
                assert sorted(model.rank(frame)) == list(range(90))

    def test_single_precision(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=30).fit(X.astype(np.float32), y)
        double = Reranker(LogisticRegression(), exact(), top=30).fit(X.astype(np.float32).astype(float), y)
        assert model.reranker_.coef_.dtype == np.float32
        assert model.n_top_ == double.n_top_ == 30
        # New rows in double precision, or in single: the same rows are above the cut.
        single, wide = model.decision_function(X.astype(np.float32)), model.decision_function(X)
        assert np.allclose(single, wide, atol=1e-3)

    @pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
    def test_sparse_rows(self, container: Any) -> None:
        kept = np.where(np.abs(X) > 0.3, X, 0)
        dense = Reranker(KNeighborsClassifier(7), exact(), top=30).fit(kept, y)
        model = clone(dense).fit(container(kept), y)
        assert np.array_equal(model.rank(container(kept)), dense.rank(kept))

    def test_lists(self) -> None:
        model = Reranker(LogisticRegression(), exact(), top=30).fit(X.tolist(), y.tolist())
        assert sorted(model.rank(NEW.tolist())) == list(range(60))
