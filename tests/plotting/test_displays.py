"""Displays: what they draw is what the curves say, several share axes, and errors say what to do."""

from __future__ import annotations

import builtins
import re
import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import ExactRanker, metrics, plotting
from shortlist.comparison import compare
from shortlist.plotting import (
    CertificateTraceDisplay,
    ComparisonDisplay,
    CumulativeGainsDisplay,
    PrecisionRecallAtKDisplay,
    ScoreDistributionDisplay,
    TopOverCDisplay,
    TopROCDisplay,
)
from shortlist.plotting._style import COLOURS, MARKERS, apart

LISTS = [PrecisionRecallAtKDisplay, TopROCDisplay, CumulativeGainsDisplay, ScoreDistributionDisplay]
CURVES = LISTS[:3]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return make_classification(400, 6, weights=[0.8], flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def model(data: Any) -> Any:
    return LogisticRegression().fit(*data)


@pytest.mark.parametrize("display", LISTS)
def test_from_estimator_is_from_predictions(display: Any, data: Any, model: Any) -> None:
    X, y = data
    one = display.from_estimator(model, X, y, budget=40)
    two = display.from_predictions(y, model.decision_function(X), budget=40, name="LogisticRegression")
    assert one.name == two.name == "LogisticRegression"
    assert one.ax_.figure is one.figure_
    for a, b in zip(one.ax_.lines, two.ax_.lines, strict=True):
        assert np.array_equal(a.get_xydata(), b.get_xydata())
    one.figure_.canvas.draw()


@pytest.mark.parametrize("display", LISTS)
def test_it_draws_on_given_axes_and_passes_on_arguments(display: Any, data: Any, model: Any) -> None:
    X, y = data
    _, ax = plt.subplots(layout="constrained")
    made = display.from_estimator(model, X, y, ax=ax, budget=None, alpha=0.5)
    assert made.ax_ is ax and made.budget is None
    artist = made.positive_bars_[0] if display is ScoreDistributionDisplay else made.line_
    assert artist.get_alpha() == 0.5
    again = made.plot(name="another")
    assert again is made and again.ax_ is not ax
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        made.plot(ax="here")


@pytest.mark.parametrize("display", CURVES)
def test_several_on_one_axes_differ_in_more_than_colour(display: Any, data: Any, model: Any) -> None:
    X, y = data
    first = display.from_estimator(model, X, y, budget=30, name="first")
    second = display.from_predictions(y, X[:, 0], budget=30, name="second", ax=first.ax_)
    assert first.line_.get_color() == COLOURS[0] and second.line_.get_color() == COLOURS[1]
    markers = {line.get_marker() for line in first.ax_.lines}
    assert {MARKERS[0], MARKERS[1]} <= markers
    words = " ".join(text.get_text() for text in first.ax_.texts)
    assert "first" in words and "second" in words


def test_a_figure_without_room_for_names_gets_a_legend(data: Any, model: Any) -> None:
    X, y = data
    _, ax = plt.subplots()
    TopROCDisplay.from_estimator(model, X, y, ax=ax, name="the model")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["the model"]


def test_precision_and_recall_at_the_budget_are_written_beside_it(data: Any, model: Any) -> None:
    X, y = data
    scores = model.decision_function(X)
    made = PrecisionRecallAtKDisplay.from_estimator(model, X, y, budget=0.1)
    assert made.budget == 40
    words = [text.get_text() for text in made.ax_.texts]
    assert f"{metrics.precision_at_k(y, scores, 40):.2f}" in words
    assert f"{metrics.recall_at_k(y, scores, 40):.2f}" in words
    assert "budget: 40" in words
    assert made.budget_line_.get_xdata()[0] == 40
    assert np.array_equal(made.recall_line_.get_ydata(), made.recall)


def test_groups_weights_and_ties_reach_the_picture() -> None:
    rng = np.random.default_rng(0)
    y, scores = rng.random(80) < 0.3, rng.integers(0, 5, 80)
    groups, weights = np.arange(80) % 4, rng.integers(1, 3, 80)
    made = PrecisionRecallAtKDisplay.from_predictions(
        y, scores, groups=groups, sample_weight=weights, ties="pessimistic", budget=5
    )
    expected = metrics.precision_at_k(y, scores, 5, groups=groups, sample_weight=weights, ties="pessimistic")
    assert made.precision[np.searchsorted(made.k, 5)] == pytest.approx(expected)
    assert "each group" in made.ax_.get_xlabel()
    for display in LISTS[1:]:
        made = display.from_predictions(y, scores, groups=groups, sample_weight=weights, budget=5)
        assert any("of each group" in text.get_text() for text in made.ax_.texts), display


def test_the_other_label_can_be_the_positive_one(data: Any, model: Any) -> None:
    X, y = data
    other = TopROCDisplay.from_estimator(model, X, y, pos_label=0)
    assert np.trapezoid(other.tpr, other.fpr) == pytest.approx(metrics.auc(y, model.decision_function(X)))
    with pytest.raises(ValueError, match="pos_label=7 is no class"):
        TopROCDisplay.from_estimator(model, X, y, pos_label=7)


def test_models_of_every_kind_are_asked_for_scores(data: Any) -> None:
    X, y = data
    regressor = LinearRegression().fit(X, y)
    made = CumulativeGainsDisplay.from_estimator(regressor, X, y)
    assert np.array_equal(made.found, CumulativeGainsDisplay.from_predictions(y, regressor.predict(X)).found)
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert CumulativeGainsDisplay.from_estimator(pipe, X, y).name == "LogisticRegression"
    three = LogisticRegression().fit(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="it knows 3 classes"):
        TopROCDisplay.from_estimator(three, X, y)
    with pytest.raises(ValueError, match="it knows no classes"):
        TopROCDisplay.from_estimator(StandardScaler().fit(X), X, y)


def test_small_axes_have_no_corner(data: Any, model: Any) -> None:
    X, y = data
    made = TopROCDisplay.from_estimator(model, X, y)
    assert made.corner_ is not None and made.corner_.get_ylim()[1] >= 1
    _, ax = plt.subplots(figsize=(2, 2))
    small = TopROCDisplay.from_estimator(model, X, y, ax=ax)
    assert small.corner_ is None
    assert small.point == made.point


def test_a_perfect_and_a_constant_score_can_be_drawn() -> None:
    y = np.arange(30) < 10
    for scores in (y.astype(float), np.zeros(30)):
        for display in LISTS:
            made = display.from_predictions(y, scores, budget=10)
            assert all(np.isfinite(made.ax_.get_xlim())) and all(np.isfinite(made.ax_.get_ylim()))


def test_tall_bars_of_negatives_are_cut_and_it_is_said() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(5000) < 50
    made = ScoreDistributionDisplay.from_predictions(y, 2 * y + rng.normal(size=5000), budget=100, name="model")
    most = made.bins.negatives.max()
    assert -made.ax_.get_ylim()[0] < most
    assert f"negatives (up to {most:,.0f})" in [text.get_text() for text in made.ax_.texts]
    assert "further left" in made.ax_.get_xlabel()
    assert made.line_.get_xdata()[0] == made.bins.threshold


# Over C


def test_a_search_is_drawn_with_its_folds(data: Any) -> None:
    X, y = data
    grid = {"logisticregression__C": [0.01, 1.0], "logisticregression__fit_intercept": [True, False]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        grid,
        scoring=metrics.scorer("positives_at_top"),
        cv=3,
        return_train_score=True,
    ).fit(X, y)
    made = TopOverCDisplay.from_search(search)
    assert made.values.tolist() == [0.01, 1.0]
    for value, figures in zip(made.values, made.held_out, strict=True):
        rows = [i for i, p in enumerate(search.cv_results_["params"]) if p["logisticregression__C"] == value]
        assert figures.mean() == pytest.approx(max(search.cv_results_["mean_test_score"][rows]))
    assert made.best_ == search.best_params_["logisticregression__C"]
    assert made.ax_.get_ylabel() == "positives at top"
    assert made.training_line_ is not None
    with pytest.raises(ValueError, match="names 0 of what the search varied"):
        TopOverCDisplay.from_search(search, param="tau")
    with pytest.raises(ValueError, match="needs a fitted search"):
        TopOverCDisplay.from_search(LogisticRegression())


def test_a_search_with_several_scores_has_to_be_told_which(data: Any) -> None:
    X, y = data
    scoring = {"top": metrics.scorer("pos_at_top"), "auc": "roc_auc"}
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, scoring=scoring, refit="auc", cv=2).fit(X, y)
    assert TopOverCDisplay.from_search(search, metric="auc").ax_.get_ylabel() == "auc"
    with pytest.raises(ValueError, match="pass metric=, one of top, auc"):
        TopOverCDisplay.from_search(search)
    plain = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2).fit(X, y)
    assert TopOverCDisplay.from_search(plain).ax_.get_ylabel() == "score"
    named = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2, scoring="roc_auc").fit(X, y)
    assert TopOverCDisplay.from_search(named).ax_.get_ylabel() == "roc_auc".replace("_", " ")


def test_a_model_is_fitted_over_the_grid(data: Any) -> None:
    X, y = data
    splits = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    weights = np.ones(400)
    made = TopOverCDisplay.from_estimator(
        LogisticRegression(), X, y, values=[1.0, 0.01], cv=splits, metric="auc", sample_weight=weights
    )
    train, test = splits[1]
    fitted = LogisticRegression(C=0.01).fit(X[train], y[train])
    assert made.values.tolist() == [0.01, 1.0]
    assert made.held_out[0, 1] == pytest.approx(metrics.auc(y[test], fitted.decision_function(X[test])))
    assert made.training[0, 1] == pytest.approx(metrics.auc(y[train], fitted.decision_function(X[train])))
    loss = TopOverCDisplay.from_estimator(
        LogisticRegression(), X, y, values=[1.0], cv=2, metric="infinite_push_loss", groups=np.arange(400) // 50
    )
    assert not loss.more_is_better and loss.best_ == 1.0
    with pytest.raises(ValueError, match="metric must be one of"):
        TopOverCDisplay.from_estimator(LogisticRegression(), X, y, metric="luck")
    with pytest.raises(ValueError, match="names 0 parameters of LinearRegression"):
        TopOverCDisplay.from_estimator(LinearRegression(), X, y)


def test_a_path_with_undefined_folds_ignores_them() -> None:
    made = TopOverCDisplay(values=[0.0, 1.0], held_out=[[np.nan, 1.0], [np.nan, np.nan]]).plot()
    assert made.best_ == 0.0
    assert made.ax_.get_xscale() == "linear"
    with pytest.raises(ValueError, match="held_out must have a row for each"):
        TopOverCDisplay(values=[1.0], held_out=[1.0])


# The search


def test_the_trace_is_that_of_the_exact_search() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2)).round(1)
    y = X[:, 0] + rng.normal(0, 0.3, 30) > 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = ExactRanker("dcg", max_nodes=20, n_starts=1, time_limit=None, random_state=0).fit(X, y)
    made = CertificateTraceDisplay.from_estimator(make_pipeline("passthrough", ranker))
    assert np.array_equal(made.line_.get_ydata(), ranker.trace_["value"])
    assert made.relative_gap == pytest.approx(ranker.certificate_.relative_gap, abs=1e-9)
    assert made.name == "ExactRanker"


@pytest.mark.parametrize(("bound", "words"), [([np.inf, 9, 4], "proven optimal"), ([np.inf, np.inf, 5], "25 % open")])
def test_a_trace_says_what_is_left_open(bound: list[float], words: str) -> None:
    made = CertificateTraceDisplay.from_trace(
        {"seconds": [0.0, 0.1, 9.0], "value": [-np.inf, 3.0, 4.0], "bound": bound}
    )
    assert any(words in text.get_text() for text in made.ax_.texts)
    assert np.isfinite(made.bound_line_.get_ydata()).all() and np.isfinite(made.line_.get_ydata()).all()
    assert made.ax_.get_xscale() == "log"


def test_a_trace_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="keeps no trace"):
        CertificateTraceDisplay.from_estimator(LogisticRegression().fit([[0], [1]], [0, 1]))
    with pytest.raises(ValueError, match="lacks the column 'bound'"):
        CertificateTraceDisplay.from_trace({"seconds": [1], "value": [1]})
    with pytest.raises(ValueError, match="columns of one length"):
        CertificateTraceDisplay(seconds=[1, 2], value=[1], bound=[1])


# The comparison


def test_the_forest_is_the_leaderboard(data: Any) -> None:
    X, y = data
    result = compare(
        {"good": LogisticRegression(), "bad": LogisticRegression(C=1e-9, fit_intercept=False)}, X, y, budget=40, cv=3
    )
    made = ComparisonDisplay.from_comparison(result, metric="auc", linewidth=5)
    board = result.leaderboard("auc")
    assert [text.get_text() for text in made.ax_.get_yticklabels()] == [place.model for place in board]
    assert made.line_.get_xdata()[0] == board[0].mean
    assert any(line.get_linewidth() == 5 for line in made.ax_.lines)
    assert "AUC" in made.ax_.get_xlabel()
    made.plot(name="with a title").figure_.canvas.draw()
    with pytest.raises(ValueError, match="was not measured"):
        ComparisonDisplay.from_comparison(result, metric="luck")
    with pytest.raises(ValueError, match="board is empty"):
        ComparisonDisplay(board=[], splits={}, title="")


# The house


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=re.escape("pip install 'shortlist[plot]'")):
        TopROCDisplay.from_predictions([1, 0], [2, 1])


def test_names_are_moved_apart_and_stay_within() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        wanted = rng.uniform(-20, 220, n).tolist()
        placed = apart(wanted, 11, 200)
        assert np.argsort(placed).tolist() == np.argsort(wanted).tolist()
        assert min(placed) >= 0 and (n == 1 or np.diff(np.sort(placed)).min() >= 11 - 1e-9 or max(placed) >= 200 - 11)
    assert apart([], 11, 200) == []


def test_every_display_is_exported() -> None:
    assert all(hasattr(plotting, name) for name in plotting.__all__)
    assert len(plotting.__all__) == 7
