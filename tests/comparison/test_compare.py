"""compare: the same splits for all, selection within the training rows, figures that can be computed by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import AutoRanker, TopPush, compare
from shortlist.comparison import DEFAULT_METRICS, default_models
from shortlist.metrics import auc, average_precision, precision_at_k
from tests.comparison.models import Column, Memory, Plain, Refusing, rows


@pytest.fixture(autouse=True)
def _forget() -> None:
    Column.fits.clear()
    Column.asked.clear()


class TestSplits:
    def test_all_models_see_the_same(self) -> None:
        X, y = rows()
        result = compare([Column(tag="a"), Column(tag="b")], X, y, budget=12, cv=4, repeats=2)
        fits = {tag: [set(one["rows"]) for one in Column.fits if one["tag"] == tag] for tag in "ab"}
        assert fits["a"] == fits["b"]
        assert len(fits["a"]) == result.settings["splits"] == 8
        asked = [set(one) for one in Column.asked]
        assert asked[0::2] == asked[1::2]
        for train, test in zip(fits["a"], asked[0::2], strict=True):
            assert train | test == set(range(120)) and not train & test
        for repeat in (asked[0:8:2], asked[8:16:2]):
            assert sorted(row for test in repeat for row in test) == list(range(120))
        assert asked[0:8:2] != asked[8:16:2]
        # Stratified: a third everywhere.
        assert {int(y[list(test)].sum()) for test in asked} == {10}

    def test_the_figures_are_those_of_the_test_rows(self) -> None:
        X, y = rows(n=150)
        X = X[:, 1:]
        result = compare({"lr": LogisticRegression()}, X, y, budget=0.1, cv=3, repeats=2, random_state=7)
        expected = []
        for repeat in range(2):
            for train, test in StratifiedKFold(3, shuffle=True, random_state=7 + repeat).split(X, y):
                scores = LogisticRegression().fit(X[train], y[train]).decision_function(X[test])
                expected.append((precision_at_k(y[test], scores, 5), average_precision(y[test], scores)))
        assert result.settings["places"] == [5] * 6
        np.testing.assert_allclose(result.scores()["lr"], [one[0] for one in expected])
        np.testing.assert_allclose(result.scores("average_precision")["lr"], [one[1] for one in expected])

    def test_a_splitter_a_list_and_masks(self) -> None:
        X, y = rows()
        kind = StratifiedKFold(3)
        lists = list(kind.split(X, y))
        masks = [(np.isin(np.arange(120), train), np.isin(np.arange(120), test)) for train, test in lists]
        found = [compare([Plain()], X, y, cv=cv).runs for cv in (kind, lists, masks)]
        assert all([run.figures for run in one["Plain"]] == [run.figures for run in found[0]["Plain"]] for one in found)

    @pytest.mark.parametrize(
        ("cv", "message"),
        [
            (([0, 1, 2], [2, 3]), "row numbers|tests on rows"),
            ([([0, 1, 2, 3], [3, 4, 5, 6])], "tests on rows that it trains on"),
            ([([0, 1], [999, 1000])], "row numbers from 0 to 119"),
            ([([0.5, 1.5], [3, 4])], "row numbers"),
            ([([0, 1, 3], [2, 4, 5])], "one label only"),
            ([], "no splits"),
            (60, "at least 60 rows of the rarer label"),
        ],
    )
    def test_splits_that_prove_nothing(self, cv: Any, message: str) -> None:
        X, y = rows()
        with pytest.raises((ValueError, TypeError), match=message):
            compare([Plain()], X, y, cv=[cv] if isinstance(cv, tuple) else cv)

    def test_what_cv_may_be(self) -> None:
        X, y = rows()
        with pytest.raises(TypeError, match="number of folds, a splitter or a list"):
            compare([Plain()], X, y, cv=None)


class TestSelection:
    def test_a_setting_that_learns_by_heart_is_not_chosen(self) -> None:
        X, y = rows()
        result = compare({"m": (Memory(), {"by_heart": [True, False]})}, X, y, budget=12, cv=3, repeats=1)
        assert [run.chosen for run in result.runs["m"]] == [{"by_heart": False}] * 3

    def test_it_looks_at_training_rows_alone(self) -> None:
        X, y = rows()
        compare({"c": (Column(), {"at": [1, 2, 3]})}, X, y, budget=12, cv=3, repeats=1)
        # Nine fits within, then the one that counts.
        assert len(Column.fits) == 3 * (9 + 1)
        for start in range(0, 30, 10):
            whole = set(Column.fits[start + 9]["rows"])
            inner = [set(one["rows"]) for one in Column.fits[start : start + 9]]
            assert all(part < whole for part in inner)
            asked = [set(one) for one in Column.asked[start : start + 9]]
            assert all(part < whole for part in asked)
            assert not whole & set(Column.asked[start + 9])

    def test_the_best_setting_is_taken_even_where_less_is_better(self) -> None:
        X, y = rows()
        grid = {"at": [2, 1, 3]}
        result = compare({"c": (Column(), grid)}, X, y, metrics=["p_norm_loss", "auc"], cv=3, repeats=1)
        assert [run.chosen for run in result.runs["c"]] == [{"at": 1}] * 3
        assert result.losses == ["p_norm_loss"]

    def test_steps_of_pipelines_and_searches_of_their_own(self) -> None:
        X, y = rows()
        pipe = Pipeline([("scale", StandardScaler()), ("lr", LogisticRegression())])
        search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)
        result = compare(
            {"pipe": (pipe, {"lr__C": [1.0, 2.0]}), "search": search, "none": LogisticRegression()},
            X,
            y,
            cv=3,
            repeats=1,
        )
        assert all(set(run.chosen) == {"C"} for name in ("pipe", "search") for run in result.runs[name])
        assert all(run.chosen == {} for run in result.runs["none"])

    def test_a_measure_of_the_users_own_does_not_choose(self) -> None:
        X, y = rows()

        def worst(labels: Any, scores: Any) -> float:
            return -precision_at_k(labels, scores, 4)

        result = compare({"c": (Column(), {"at": [1, 2]})}, X, y, metrics={"worst": worst}, cv=3, repeats=1)
        assert [run.chosen for run in result.runs["c"]] == [{"at": 1}] * 3
        assert result.title() == "worst"

    def test_with_too_few_rows_to_choose_by_the_first_is_taken(self) -> None:
        X, y = rows(30)
        y = np.zeros(30, dtype=int)
        y[[0, 15]] = 1
        halves = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
        result = compare({"c": (Column(), {"at": [2, 1]})}, X, y, cv=halves)
        assert [run.chosen for run in result.runs["c"]] == [{"at": 2}] * 2

    def test_auto_ranker_says_what_it_took(self) -> None:
        X, y = rows(60)
        auto = AutoRanker(0.2, candidates=["logistic regression"], folds=2, rerank=False)
        result = compare([auto], X[:, 1:], y, cv=2, repeats=1)
        assert all(run.chosen["model"].startswith("logistic regression") for run in result.runs["AutoRanker"])


class TestKindsOfModels:
    def test_regressors_classifiers_and_predictions_alone(self) -> None:
        X, y = rows()
        X = X[:, 1:]
        labels = np.where(y == 1, "yes", "no")
        models = {"ls": LinearRegression(), "lr": LogisticRegression(), "nb": GaussianNB()}
        result = compare(models, X, labels, cv=3, repeats=1, metrics=["auc"])
        splits = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
        expected = [auc(y[test], LinearRegression().fit(X[train], y[train]).predict(X[test])) for train, test in splits]
        np.testing.assert_allclose(result.scores()["ls"], expected)
        assert min(values.mean() for values in result.scores().values()) > 0.6
        assert result.settings["positive_label"] == "yes"
        assert compare([Plain()], rows()[0], labels, cv=3, repeats=1, metrics=["auc"]).scores()["Plain"].mean() > 0.6

    def test_names(self) -> None:
        X, y = rows(60)
        models = [
            Column(),
            Column(2),
            ("mine", Column()),
            (Column(), {"at": [1]}),
            make_pipeline(SelectKBest(k=2), Plain()),
        ]
        result = compare(models, X, y, cv=2, repeats=1)
        assert result.names == ["Column", "Column (2)", "mine", "Column (3)", "Plain"]
        assert compare(Column(), X, y, cv=2, repeats=1).names == ["Column"]

    def test_frames_sparse_rows_and_lists(self) -> None:
        pd = pytest.importorskip("pandas")
        X, y = rows(60)
        X = np.round(X[:, 1:], 3)
        frame = pd.DataFrame(X, columns=list("abc"))
        kinds = [X, frame, sparse.csr_array(X), sparse.coo_array(X), X.tolist()]
        labels = [y, pd.Series(y), y, y, y.tolist()]
        found = [compare([LogisticRegression()], one, l, cv=2, repeats=1) for one, l in zip(kinds, labels, strict=True)]
        for one in found:
            assert one.settings["columns"] == 3
            np.testing.assert_allclose(
                one.scores("auc")["LogisticRegression"], found[0].scores("auc")["LogisticRegression"]
            )

    @pytest.mark.parametrize("kind", ["dense", "sparse"])
    def test_the_default_line_up(self, kind: str) -> None:
        X, y = rows(60)
        X = X[:, 1:] if kind == "dense" else sparse.csr_array(np.where(np.abs(X[:, 1:]) > 0.5, X[:, 1:], 0))
        models = default_models(X)
        assert [*models] == [
            "TopPush",
            "InfinitePush",
            "RankSVM",
            "logistic regression",
            "gradient boosting",
            "gradient boosting, reranked",
        ]
        # The whole line-up on one split; the search within is that of any grid.
        few = {name: one[0] if isinstance(one, tuple) else one for name, one in models.items()}
        split = [(np.arange(40), np.arange(40, 60))]
        result = compare(few, X, y, budget=6, cv=split)
        proofs = {place.model: place.proof for place in result.leaderboard()}
        assert all(proofs[name].startswith("gap at most") for name in ("TopPush", "InfinitePush", "RankSVM"))
        assert proofs["logistic regression"] == proofs["gradient boosting"] == "none"

    def test_default_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shortlist.comparison.entrants.default_models", lambda X, seed: {"only": Plain()})
        X, y = rows(60)
        assert compare("default", X, y, cv=2, repeats=1).names == ["only"]


class TestGroupsAndWeights:
    def test_groups_stay_whole_and_reach_the_models_that_know_them(self) -> None:
        X, y = rows(120)
        groups = np.array([f"q{number}" for number in np.arange(120) // 6])
        result = compare([Column(), Plain()], X, y, groups=groups, budget=2, cv=4, repeats=1)
        assert result.settings["groups"] == 20
        assert result.settings["places"] == [2] * 4
        for one, asked in zip(Column.fits, Column.asked, strict=True):
            assert not set(groups[one["rows"]]) & set(groups[asked])
            assert len(set(one["groups"].tolist())) == len(set(groups[one["rows"]]))
        expected = []
        for asked in Column.asked:
            own = [
                precision_at_k(y[m], X[m, 1], 2)
                for m in (np.array(asked)[groups[asked] == g] for g in set(groups[asked]))
            ]
            expected.append(np.mean(own))
        np.testing.assert_allclose(result.scores()["Column"], expected)

    def test_selection_within_keeps_groups_whole_too(self) -> None:
        X, y = rows(120)
        groups = np.arange(120) // 6
        compare({"c": (Column(), {"at": [1, 2]})}, X, y, groups=groups, budget=0.3, cv=3, repeats=1)
        for one, asked in zip(Column.fits, Column.asked, strict=True):
            assert not set(groups[one["rows"]]) & set(groups[asked])

    def test_rows_that_belong_together_in_one_list(self) -> None:
        X, y = rows(120)
        patients = np.arange(120) // 5
        compare([Column()], X, y, cv=GroupKFold(3).split(X, y, patients))
        for one, asked in zip(Column.fits, Column.asked, strict=True):
            assert not set(patients[one["rows"]]) & set(patients[asked])
            assert one["groups"] is None

    def test_weights_are_those_of_fits_and_metrics(self) -> None:
        X, y = rows(120)
        weights = 1.0 + np.arange(120) % 4
        result = compare([Column()], X, y, sample_weight=weights, budget=20, cv=3, repeats=1, metrics=["auc"])
        for one in Column.fits:
            np.testing.assert_array_equal(one["weights"], weights[one["rows"]])
        expected = [auc(y[asked], X[asked, 1], sample_weight=weights[asked]) for asked in Column.asked]
        np.testing.assert_allclose(result.scores()["Column"], expected)
        shares = [weights[asked].sum() / weights.sum() for asked in Column.asked]
        assert result.settings["places"] == [round(20 * share) for share in shares]

    def test_a_model_that_takes_no_weights_is_named(self) -> None:
        X, y = rows(60)
        with pytest.raises(ValueError, match=r"'mine' failed on split 0: Plain takes no sample_weight"):
            compare({"mine": Plain()}, X, y, sample_weight=np.ones(60) * 2, cv=2)

    def test_a_third_label_without_weight(self) -> None:
        X, y = rows(60)
        y[3] = 2
        with pytest.raises(ValueError, match="third label"):
            compare([Column()], X, y, sample_weight=np.where(y == 2, 0.0, 1.0), cv=2)


class TestArguments:
    def test_defaults(self) -> None:
        X, y = rows()
        result = compare([Column()], X, y)
        assert result.settings["splits"] == 10
        assert result.metrics == list(DEFAULT_METRICS)
        assert result.settings["budget_in_words"] == "100 rows of 120"
        assert json.loads(json.dumps(result.settings)) == result.settings

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"models": "all"}, "models must be 'default'"),
            ({"models": {}}, "models is empty"),
            ({"models": [LogisticRegression]}, "must be an estimator"),
            ({"models": {"a": 3}}, "'a' must be an estimator"),
            ({"models": [StandardScaler()]}, "gives no score"),
            ({"budget": 0}, "budget"),
            ({"budget": "many"}, "budget"),
            ({"metrics": []}, "metrics is empty"),
            ({"metrics": ["precision"]}, "known are precision_at_budget"),
            ({"metrics": 3}, "list of names or a dict"),
            ({"metrics": {"a": "auc"}}, "must be a function"),
            ({"test": "z"}, "test must be one of 't', 'wilcoxon'"),
            ({"level": 0.7}, "level"),
            ({"baseline": "other"}, "baseline must be one of the models Column"),
            ({"random_state": None}, "random_state must be a whole number"),
            ({"random_state": True}, "random_state must be a whole number"),
            ({"repeats": 0}, "repeats"),
            ({"groups": [1, 2]}, "groups"),
            ({"y": np.arange(120)}, "y|target"),
            ({"y": np.zeros(120)}, "1 class only"),
            ({"y": np.zeros(3)}, "inconsistent"),
        ],
    )
    def test_errors_say_what_to_do(self, arguments: dict[str, Any], message: str) -> None:
        X, y = rows()
        given = {"models": [Column()], "X": X, "y": y} | arguments
        with pytest.raises((ValueError, TypeError), match=message):
            compare(given.pop("models"), given.pop("X"), given.pop("y"), **given)

    def test_one_metric_by_its_name(self) -> None:
        X, y = rows(60)
        assert compare([Column()], X, y, metrics="auc", cv=2, repeats=1).metrics == ["auc"]

    def test_the_model_that_fails_is_named(self) -> None:
        X, y = rows(60)
        with pytest.raises(ValueError, match=r"'bad' failed on split 0: .*not for me"):
            compare({"bad": Refusing()}, X, y, cv=2)
        with pytest.raises(ValueError, match=r"'TopPush' failed on split 0: .*NaN"):
            compare([TopPush()], np.where(X > 1e9, X, np.nan), y, cv=2)

    def test_progress(self) -> None:
        X, y = rows(60)
        told: list[tuple[str, int, int, int]] = []
        compare({"a": Column(), "b": Column()}, X, y, cv=2, repeats=1, callback=lambda *one: told.append(one))
        assert told == [("a", 1, 4, 0), ("b", 2, 4, 0), ("a", 3, 4, 1), ("b", 4, 4, 1)]

    def test_the_same_again(self) -> None:
        X, y = rows(60)
        models = {"nb": GaussianNB(), "lr": (LogisticRegression(), {"C": [0.1, 1.0]})}
        first, second = (compare(models, X, y, cv=2, repeats=2, random_state=3) for _ in range(2))
        assert [run.figures for runs in first.runs.values() for run in runs] == [
            run.figures for runs in second.runs.values() for run in runs
        ]
        assert first.settings == second.settings
