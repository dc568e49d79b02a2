"""AutoRanker: the same answer for the same rows in any form, a choice with reasons, and no surprises on odd data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from shortlist import AutoRanker
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.metrics import precision_at_k
from shortlist.selection import candidates as families
from tests.common.estimators import clouds

# Quick families, with two settings each: what is tested here does not depend on which.
FEW = ["logistic regression", "TauFPL"]


@pytest.fixture(autouse=True)
def _short_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, family in families.FAMILIES.items():
        monkeypatch.setitem(families.FAMILIES, name, replace(family, settings=family.settings[:2]))


def quick(budget: Any = 20, **settings: Any) -> AutoRanker:
    return AutoRanker(budget, **({"candidates": FEW, "folds": 3, "rerank": False} | settings))


def rounded(n: int = 120, **more: Any) -> tuple[Any, Any]:
    X, y = clouds(n, **more)
    return np.round(X, 2), y


def same(a: AutoRanker, b: AutoRanker, X: Any) -> bool:
    equal = np.array_equal(a.decision_function(X), b.decision_function(X))
    return equal and a.reason_ == b.reason_ and a.expected_precision_ == b.expected_precision_


class TestSameAnswer:
    def test_again_and_in_any_order(self) -> None:
        X, y = rounded()
        first = quick().fit(X, y)
        assert same(first, quick().fit(X, y), X)
        order = np.random.default_rng(1).permutation(len(y))
        assert same(first, quick().fit(X[order], y[order]), X)
        assert same(first, clone(first).fit(X, y), X)

    def test_weights_are_repetitions(self) -> None:
        X, y = rounded()
        weights = np.random.default_rng(0).integers(0, 3, size=len(y))
        often = np.repeat(np.arange(len(y)), weights)
        one = quick().fit(X, y, sample_weight=weights)
        assert same(one, quick().fit(X[often], y[often]), X)
        assert one.places_ == 20

    def test_groups_in_any_order_and_with_weights(self) -> None:
        X, y = rounded(160)
        groups = np.array([f"query {number}" for number in np.arange(160) // 8])
        first = quick(2).fit(X, y, groups=groups)
        order = np.random.default_rng(1).permutation(len(y))
        assert same(first, quick(2).fit(X[order], y[order], groups=groups[order]), X)
        weights = np.random.default_rng(0).integers(0, 3, size=len(y))
        often = np.repeat(np.arange(len(y)), weights)
        one = quick(2).fit(X, y, groups=groups, sample_weight=weights)
        assert same(one, quick(2).fit(X[often], y[often], groups=groups[often]), X)

    @pytest.mark.filterwarnings("error")
    def test_all_families_once(self) -> None:
        X, y = rounded(90)
        order = np.random.default_rng(1).permutation(len(y))
        first = AutoRanker(10, folds=2).fit(X, y)
        assert same(first, AutoRanker(10, folds=2).fit(X[order], y[order]), X)
        tried = {row["family"] for row in first.leaderboard_ if row["folds"]}
        assert set(families.FAMILIES) <= tried
        assert precision_at_k(y, first.decision_function(X), 10) > 0.8

    def test_dense_and_sparse_give_lists_alike(self) -> None:
        X, y = rounded()
        X = np.where(np.abs(X) > 0.5, X, 0.0)
        held = sparse.csr_array(X)
        dense, thin = (quick(candidates=["logistic regression"]).fit(one, y) for one in (X, held))
        np.testing.assert_allclose(thin.decision_function(X), thin.decision_function(held))
        assert np.corrcoef(dense.decision_function(X), thin.decision_function(X))[0, 1] > 0.9
        assert same(thin, quick(candidates=["logistic regression"]).fit(held.tocsc(), y), held)

    def test_another_seed_is_another_race(self) -> None:
        X, y = rounded()
        one, other = (quick(random_state=seed).fit(X, y) for seed in (0, 1))
        assert one.leaderboard_ != other.leaderboard_


class TestBudget:
    @pytest.mark.parametrize(("budget", "places"), [(20, 20), (0.25, 30), (0.001, 1), (10**6, 120)])
    def test_counts_and_shares(self, budget: Any, places: int) -> None:
        X, y = rounded()
        model = quick(budget).fit(X, y)
        assert model.places_ == places
        words = "rows of 120" if budget >= 1 else "% of the rows"
        assert words in model.reason_

    def test_groups(self) -> None:
        X, y = rounded()
        groups = np.arange(120) // 12
        model = quick(3).fit(X, y, groups=groups)
        assert model.places_ == 3
        assert "3 rows of each group" in model.reason_
        assert quick(0.25).fit(X, y, groups=groups).places_ == 3
        assert model.rank(X, groups)[:12].tolist() == sorted(
            range(12), key=lambda row: -model.decision_function(X)[row]
        )

    def test_weights_count_rows(self) -> None:
        X, y = rounded()
        assert quick(0.25).fit(X, y, sample_weight=np.full(120, 2.0)).places_ == 60


class TestChoice:
    def test_reasons_and_report(self) -> None:
        X, y = rounded()
        model = quick().fit(X, y)
        assert model.best_name_ in model.reason_ and f"{len(tried(model))} models were tried" in model.reason_
        lines = model.report_.splitlines()
        assert lines[0] == model.reason_
        assert len(lines) == 3 + len(model.leaderboard_)
        assert sum(row["status"] == "chosen" for row in model.leaderboard_) == 1
        assert model.race_rows_ == 120 and model.race_folds_ == 6 and model.seconds_ > 0
        chosen = next(row for row in model.leaderboard_ if row["status"] == "chosen")
        assert chosen["model"] == model.best_name_

    def test_never_knowingly_worse_than_regression_and_boosting(self) -> None:
        for seed in range(2):
            X, y = rounded(60, seed=seed, shift=0.7)
            model = AutoRanker(10, candidates=[*families.BASELINES, "TopPush"], folds=2).fit(X, y)
            board = {row["family"]: row for row in model.leaderboard_ if row["status"] in ("chosen", "finalist")}
            chosen = next(row for row in model.leaderboard_ if row["status"] == "chosen")
            for name in families.BASELINES:
                assert chosen["worth"] >= board[name]["worth"] - 1e-12

    def test_the_figure_promised_is_about_what_new_rows_give(self) -> None:
        X, y = clouds(900, seed=3)
        X_new, y_new = X[300:], y[300:]
        model = quick(30).fit(X[:300], y[:300])
        found = precision_at_k(y_new, model.decision_function(X_new), 60)
        assert model.expected_precision_ == pytest.approx(found, abs=0.15)

    def test_one_model_keeps_its_own_cut(self) -> None:
        X, y = clouds(200)
        model = quick(candidates=["logistic regression"]).fit(X, y)
        assert len(model.model_.models) == 1
        np.testing.assert_array_equal(model.predict(X), model.model_.models[0].predict(X))

    def test_a_blend_is_cut_at_even_odds(self) -> None:
        X, y = clouds(300)
        model = quick(candidates=["logistic regression", "gradient boosting"]).fit(X, y)
        mixed = next(row for row in model.leaderboard_ if row["family"] == "blend")
        assert mixed["folds"] == model.race_folds_
        assert 0.2 < model.predict(X).mean() < 0.5

    def test_without_blends_and_reranking(self) -> None:
        X, y = rounded()
        model = AutoRanker(5, candidates=["logistic regression"], folds=2, blend=False, rerank=False).fit(X, y)
        assert {row["family"] for row in model.leaderboard_} == {"logistic regression"}
        second = AutoRanker(5, candidates=["logistic regression"], folds=2).fit(X, y)
        assert {row["family"] for row in second.leaderboard_} == {
            "logistic regression",
            "logistic regression, reranked",
            "blend",
        } - ({"blend"} if "blend" not in {row["family"] for row in second.leaderboard_} else set())

    def test_a_time_limit_that_is_over_at_once(self) -> None:
        X, y = rounded()
        model = AutoRanker(10, time_limit=1e-6).fit(X, y)
        assert "The time ran out" in model.reason_
        assert model.race_folds_ == 2
        assert set(tried_families(model)) - {"blend"} == set(families.BASELINES)
        assert precision_at_k(y, model.decision_function(X), 10) > 0.7

    def test_a_sample_of_the_rows(self) -> None:
        X, y = clouds(700)
        model = quick(max_rows=300).fit(X, y)
        assert model.race_rows_ == pytest.approx(300, abs=1)
        assert model.model_.models[0][-1].n_iter_ is not None


def tried(model: AutoRanker) -> list[dict[str, Any]]:
    return [row for row in model.leaderboard_ if row["folds"]]


def tried_families(model: AutoRanker) -> list[str]:
    return [row["family"] for row in tried(model)]


class TestOddData:
    @pytest.mark.parametrize("n", [2, 4, 10])
    def test_a_handful_of_rows(self, n: int) -> None:
        X = np.arange(n, dtype=float)[:, np.newaxis]
        y = (np.arange(n) >= n / 2).astype(int)
        model = AutoRanker().fit(X, y)
        assert "nothing can be compared, so the simplest was taken" in model.reason_
        assert np.isnan(model.expected_precision_) and model.race_folds_ == 0
        assert model.rank(X)[0] == n - 1
        assert model.report_.splitlines()[-1].endswith("the only one")

    def test_few_of_the_rarer_label(self) -> None:
        X, y = clouds(60)
        y[:] = 0
        y[[3, 20]] = 1
        assert "with 2 rows of the rarer label" in AutoRanker(0.1).fit(X, y).reason_

    def test_few_groups_with_both_labels(self) -> None:
        X, y = clouds(60)
        assert "groups with both labels" in AutoRanker(2).fit(X, y, groups=np.arange(60) // 30).reason_

    def test_one_label(self) -> None:
        X, _ = clouds(20)
        with pytest.raises(ValueError, match="1 class only"):
            AutoRanker().fit(X, np.ones(20))

    def test_groups_of_one_label_each(self) -> None:
        X, y = clouds(20)
        with pytest.raises(ValueError, match="no group holds rows of both classes"):
            AutoRanker().fit(X, y, groups=y)

    def test_features_that_say_nothing(self) -> None:
        y = np.arange(60) % 2
        with pytest.warns(DegenerateOptimumWarning, match="all rows have the same score"):
            model = quick().fit(np.ones((60, 2)), y)
        assert len(set(model.decision_function(np.ones((5, 2))).tolist())) == 1

    def test_copies_of_the_same_rows(self) -> None:
        X, y = clouds(30)
        model = quick(candidates=["logistic regression"]).fit(np.tile(X, (4, 1)), np.tile(y, 4))
        assert model.race_rows_ == 30
        assert "20 rows of 120" in model.reason_

    def test_labels_of_any_kind(self) -> None:
        X, y = clouds(60)
        names = np.where(y == 1, "zu prüfen", "erledigt")
        model = quick(candidates=["logistic regression"]).fit(X, names)
        assert model.classes_.tolist() == ["erledigt", "zu prüfen"]
        assert set(model.predict(X)) == set(names)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
    def test_kinds_of_numbers(self, dtype: Any) -> None:
        X, y = clouds(60)
        assert quick(candidates=["logistic regression"]).fit((10 * X).astype(dtype), y).rank(X).shape == (60,)

    def test_interruption_leaves_the_last_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = rounded()
        model = quick(candidates=["logistic regression"]).fit(X, y)
        before = model.decision_function(X)

        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("shortlist.selection.race.Race._decide", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:60], y[:60])
        np.testing.assert_array_equal(model.decision_function(X), before)


class TestParameters:
    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"budget": 0}, ValueError, "budget"),
            ({"budget": "all"}, TypeError, "budget"),
            ({"folds": 1}, ValueError, "folds"),
            ({"folds": 2.5}, TypeError, "folds"),
            ({"max_rows": 10}, ValueError, "max_rows"),
            ({"blend": "yes"}, TypeError, "blend"),
            ({"rerank": 1}, TypeError, "rerank"),
            ({"time_limit": -1}, ValueError, "time_limit"),
            ({"candidates": ["xgboost"]}, ValueError, "candidates must be some of logistic regression"),
            ({"candidates": []}, ValueError, "candidates"),
        ],
    )
    def test_errors(self, settings: dict[str, Any], error: type[Exception], message: str) -> None:
        X, y = clouds(30)
        with pytest.raises(error, match=message):
            AutoRanker(**settings).fit(X, y)

    def test_one_family_by_its_name(self) -> None:
        X, y = clouds(60)
        model = quick(candidates="TauFPL").fit(X, y)
        assert set(tried_families(model)) == {"TauFPL"}

    def test_before_fit(self) -> None:
        with pytest.raises(NotFittedError):
            AutoRanker().decision_function([[1.0]])
        with pytest.raises((NotFittedError, AttributeError)):
            _ = AutoRanker().report_

    def test_frames_keep_their_names(self) -> None:
        pd = pytest.importorskip("pandas")
        X, y = clouds(60)
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = quick(candidates=["logistic regression"]).fit(frame, y)
        assert model.feature_names_in_.tolist() == list("abcd")
        with pytest.raises(ValueError, match="feature names"):
            model.decision_function(frame[list("dcba")])


def test_better_than_the_base_rate_on_rows_that_it_never_saw() -> None:
    X, y = clouds(400, 6, seed=5)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = quick(0.1).fit(X, y)
    assert precision_at_k(y_new, model.decision_function(X_new), 20) > 2 * y_new.mean()
