"""Sentences, certificates in words and what a list of figures is worth, against counts by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist.report import evaluation_report
from shortlist.report._charts import forest, places_chart
from shortlist.report._figures import Scored, measure, side_by_side, wilson
from shortlist.report._model import certificate_in_words, settings_of
from shortlist.report._repeat import versions
from shortlist.report._svg import Axis, Drawing, mark, nice_ticks
from shortlist.report._text import as_json, column, number, spell
from shortlist.solvers.exact.outcome import ExactCertificate
from shortlist.solvers.solution import Certificate


def scored(y: Any, s: Any, k: Any, groups: Any = None, weights: Any = None) -> Scored:
    return Scored.of(y, s, k, groups, weights, None)


# Two lists


def test_two_lists_are_compared_by_the_rows_that_only_one_takes() -> None:
    y = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 0])
    ours, theirs = np.arange(10)[::-1], np.array([9, 1, 2, 8, 7, 3, 0, 4, 5, 6])
    gap = side_by_side(scored(y, ours, 4), theirs)
    # First four: rows 0 1 2 3 here, rows 0 3 4 9 there; of those apart 1 2 against 4 9.
    assert (gap.hits, gap.only_first, gap.only_second) == (2, 2, 0)
    assert gap.p == pytest.approx(stats.fisher_exact(np.array([[2, 0], [0, 2]])).pvalue)
    same = side_by_side(scored(y, ours, 4), ours)
    assert (same.hits, same.p) == (0, 1.0)


def test_with_groups_the_differences_of_groups_are_tested() -> None:
    rng = np.random.default_rng(0)
    y, groups = rng.random(120) < 0.4, np.arange(120) // 10
    ours, theirs = y + rng.normal(size=120), rng.normal(size=120)
    gap = side_by_side(scored(y, ours, 3, groups), theirs)

    def first(s: Any, g: int) -> float:
        return float(y[groups == g][np.argsort(-s[groups == g])[:3]].mean())

    each = [first(ours, g) - first(theirs, g) for g in range(12)]
    assert gap.hits == pytest.approx(3 * np.mean(each))
    assert gap.p == pytest.approx(stats.ttest_1samp(each, 0).pvalue)
    assert side_by_side(scored(y, ours, 3, groups), ours).p == 1.0
    found = measure("x", scored(y, ours, 3, groups))
    assert found.low < found.precision < found.high


def test_no_difference_and_a_difference_that_luck_explains_are_said_so() -> None:
    y = np.arange(40) % 4 == 0
    s = np.arange(40.0)
    assert (
        "The list and twin find the same number"
        in evaluation_report(y, s, budget=8, name="the list", others={"twin": s * 2}).summary
    )
    near = np.where(np.isin(np.arange(40), [24, 28]), 100, s)
    close = evaluation_report(y, s, budget=8, name="ours", others={"theirs": near})
    assert "luck alone could do that" in close.summary and "these rows do not prove it better" in close.summary
    worse = evaluation_report(y, -y.astype(float) - s / 100, budget=8, name="ours", others={"theirs": y + s / 100})
    assert "Theirs finds 8 more than ours (8 that ours misses, less 0 that only ours has)" in worse.summary


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(0.3, 50)
    expected = stats.binomtest(15, 50).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high))
    heavy = measure("x", scored([1, 0, 1, 0], [4, 3, 2, 1], 3, weights=[1, 1, 5, 1]))
    light = measure("x", scored([1, 0, 1, 0], [4, 3, 2, 1], 3))
    assert heavy.high - heavy.low > light.high - light.low  # few rows carry the weight


def test_a_list_without_positives_has_no_lift() -> None:
    found = measure("x", scored([False] * 6, np.arange(6), 2))
    assert found.hits == 0 and math.isnan(found.lift) and math.isnan(found.recall)
    one = measure("x", scored([1, 0, 1], [3, 2, 1], 1, groups=["a", "a", "a"]))
    assert one.hits == 1


# Certificates


def test_certificates_become_sentences() -> None:
    class Ranker:
        certificate_: Any = Certificate.of(2.0, 1.9, tolerance=0.1, n_iter=1, n_passes=3, seconds=0.5)

    words, pairs = certificate_in_words(Ranker())
    assert "is as good as its method can make it" in words and "at most 5 % is left, after 1 iteration" in words
    assert ("asked for", "10 %") in pairs
    Ranker.certificate_ = Certificate.of(2.0, 1.0, tolerance=0.1, n_iter=3, n_passes=3, seconds=0.5)
    assert "50 % is left where 10 % was asked for" in certificate_in_words(Ranker())[0]
    proof = {"nodes": 7, "seconds": 1.0, "method": "branch_and_bound", "trivial_bound": 9.0}
    Ranker.certificate_ = ExactCertificate.of(4.0, 4.0, **proof)
    assert "is proven optimal: its weights earn 4 " in certificate_in_words(Ranker())[0]
    Ranker.certificate_ = ExactCertificate.of(4.0, 5.0, **proof)
    words, pairs = certificate_in_words(Ranker())
    assert "is not proven optimal" in words and "leaves 25 % open" in words
    assert ("a list without a mistake", "9") in pairs


def test_a_blend_tells_of_each_of_its_models() -> None:
    class Blend:
        models = (LogisticRegression(), LogisticRegression())

    class Auto:
        model_ = Blend()

    assert certificate_in_words(Auto())[0].count("carries no certificate") == 2


def test_settings_say_how_a_model_is_made() -> None:
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1.0]}, cv=2)
    told = dict(settings_of(search.fit(X, y)))
    assert told["model"] == "sklearn.GridSearchCV" and told["ranked by"] == "LogisticRegression"
    assert told["chosen by the search"] == "logisticregression__C = 1.0"
    assert told["C"] == "1.0"
    assert dict(settings_of(search.best_estimator_))["steps"] == "StandardScaler → LogisticRegression"
    assert {"python", "numpy", "scikit-learn"} <= set(versions())


# Text and drawings


def test_values_become_short_text() -> None:
    assert [spell(value) for value in (None, float("nan"), True, np.int64(7), 2.5, "x" * 100)] == [
        "–", "–", "yes", "7", "2.5", "x" * 79 + "…"
    ]  # fmt: skip
    assert number(math.inf) == "∞" and number(-math.inf) == "\N{MINUS SIGN}∞"
    assert column([1e9, 2.5]) == ["1,000,000,000", "2.5"] and column([None, np.float32(0.5)]) == ["–", "0.5000"]
    assert as_json({"a": [np.nan, np.arange(2), True, None]}) == '{"a": [null, [0, 1], true, null]}'


def test_drawings_hold_their_points() -> None:
    axis = Axis(1, 100, 0, 10, log=True)
    assert axis.at([0.1, 1, 10, 1000]).tolist() == [0, 0, 5, 10]
    assert Axis(2, 2, 3, 4).at(2) == 3
    drawing = Drawing(Axis(0, 1, 0, 400), Axis(0, 1, 100, 0), 100, "words")
    drawing.curve(np.linspace(0, 1, 5000), np.linspace(0, 1, 5000), "c0")
    assert drawing.parts[0].count(",") <= 301
    assert len({mark(i, 0, 0).split()[0] + mark(i, 0, 0).split("class")[0] for i in range(6)}) == 6
    assert nice_ticks(1, 1) == [1]


def test_a_long_list_shows_its_first_places_and_says_so() -> None:
    drawn = places_chart("model", np.ones(900, dtype=bool), 900, "fraud")
    assert drawn.count("<rect") == 400 and "400 of 400 are fraud, the first 400 of 900 places" in drawn
    few = places_chart("model", np.zeros(3, dtype=bool), 10, "fraud")
    assert few.count("<rect") == 3


def test_a_forest_without_intervals_is_drawn() -> None:
    from shortlist.comparison import Place

    nan = float("nan")
    drawn = forest([Place("A", 0.5, nan, nan, nan, None, "best", 1.0, "none")], {"A": np.array([0.5, nan])}, "AUC")
    assert drawn.count('class="split"') == 1 and "nan" not in drawn
