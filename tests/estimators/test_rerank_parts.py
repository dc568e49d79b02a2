"""The small parts of the reranker: the cut, the joint score, and what is asked of any model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from shortlist import ExactRanker, TopPush
from shortlist.estimators._blend import Blend, cut_at
from shortlist.estimators._responses import fit_arguments, scores_of

whole = st.integers(-20, 20)


class TestCut:
    @settings(max_examples=150)
    @given(st.lists(st.tuples(whole, st.integers(0, 3)), min_size=1, max_size=12), st.integers(1, 15))
    def test_the_rows_from_the_cut_on_weigh_enough_and_no_score_is_too_much(self, rows: Any, top: int) -> None:
        scores, weights = np.array(rows, dtype=float).T
        assume(weights.any())
        top = min(top, int(weights.sum()))
        cut = cut_at(scores, weights, top)
        above = scores >= cut
        assert weights[above].sum() >= top
        lowest = scores[above].min()
        assert weights[scores > lowest].sum() < top
        assert cut < lowest
        assert lowest - cut <= 1e-12

    def test_a_share_that_rounding_spoils(self) -> None:
        scores, weights = np.arange(10.0), np.full(10, 0.1)
        assert cut_at(scores, weights, 0.1 + 0.1 + 0.1) == pytest.approx(7.0)

    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    def test_rounding_of_the_scores_own_precision(self, kind: Any) -> None:
        scores = np.array([1000, 1, 0.5], dtype=kind)
        cut = cut_at(scores, np.ones(3), 2)
        assert 1 - 1000 * 65 * np.finfo(kind).eps < cut < 1 - 1000 * np.finfo(kind).eps

    def test_below_zero_there_is_room(self) -> None:
        assert cut_at(np.zeros(3), np.ones(3), 2) < 0


@st.composite
def two_scores(draw: Any) -> tuple[Any, Any, Any, float]:
    """Base scores, which of them are at the top, the second model's scores of those, and the cut."""
    base = np.array(draw(st.lists(whole, min_size=2, max_size=12)), dtype=float) * draw(st.sampled_from([1e-3, 1, 1e3]))
    base += draw(st.sampled_from([-5.0, 0.0, 5.0]))
    cut = cut_at(base, np.ones(len(base)), draw(st.integers(1, len(base))))
    is_top = base >= cut
    n = int(is_top.sum())
    seconds = np.array(draw(st.lists(whole, min_size=n, max_size=n)), dtype=float)
    return base, is_top, seconds * draw(st.sampled_from([1e-3, 1, 1e3])), cut


class TestBlend:
    @settings(max_examples=200)
    @given(two_scores(), st.data())
    def test_the_cut_and_both_orders_are_respected(self, given_: Any, data: st.DataObject) -> None:
        base, is_top, seconds, cut = given_
        # Learned from some of the rows: the others are new.
        size = data.draw(st.integers(1, len(seconds)))
        blend = Blend.of(base, seconds[:size])
        joint = blend(base, is_top, seconds, np.full(len(base), cut))
        assert np.isfinite(joint).all()
        assert np.array_equal(joint[~is_top], base[~is_top])
        assert joint[is_top].min() >= cut
        assert joint[is_top].min() > joint[~is_top].max(initial=-np.inf)
        above = joint[is_top]
        assert np.array_equal(np.sign(above[:, None] - above), np.sign(seconds[:, None] - seconds))
        if cut >= 0:
            assert (above > 0).all()
        else:
            assert np.array_equal(above > 0, seconds > 0)

    @settings(max_examples=50)
    @given(two_scores())
    def test_each_row_for_itself(self, given_: Any) -> None:
        base, is_top, seconds, cut = given_
        blend, cuts = Blend.of(base, seconds), np.full(len(base), cut)
        joint = blend(base, is_top, seconds, cuts)
        place = np.cumsum(is_top) - 1
        for row in range(len(base)):
            own = seconds[place[row] : place[row] + 1] if is_top[row] else seconds[:0]
            alone = blend(base[row : row + 1], is_top[row : row + 1], own, cuts[row : row + 1])
            assert alone[0] == joint[row]

    def test_a_cut_for_each_row(self) -> None:
        blend = Blend(unit=1.0, low=0.0, scale=1.0)
        both = blend(np.array([3.0, -1.0]), np.array([True, True]), np.array([-1.0, -1.0]), np.array([2.0, -2.0]))
        assert both.tolist() == [2.5, -1.0]

    def test_constant_scores_have_a_unit(self) -> None:
        assert Blend.of(np.zeros(3), np.zeros(2)) == Blend(unit=1.0, low=0.0, scale=1.0)
        assert Blend.of(np.full(3, 5.0), np.full(2, 7.0)) == Blend(unit=5.0, low=7.0, scale=1.0)


X = np.random.default_rng(0).normal(size=(30, 3))
y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")


class Fixed(ClassifierMixin, BaseEstimator):
    """Gives out what it holds."""

    def __init__(self, probabilities: Any = None, scores: Any = None) -> None:
        self.probabilities, self.scores = probabilities, scores
        width = 2 if probabilities is None else probabilities.shape[1]
        self.classes_ = np.array(["no", "yes", "perhaps"])[:width]
        if scores is not None:
            self.decision_function = lambda X: scores

    def fit(self, X: Any, y: Any) -> Fixed:
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.probabilities


class Straight(RegressorMixin, BaseEstimator):
    """A regressor of the first column."""

    def fit(self, X: Any, y: Any) -> Straight:
        return self

    def predict(self, X: Any) -> Any:
        return X[:, :1]


class Voter(ClassifierMixin, BaseEstimator):
    """A classifier that has labels only."""

    def fit(self, X: Any, y: Any) -> Voter:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(X[:, 0] > 0).astype(int)]


class TestScores:
    def test_a_decision_function_as_it_is(self) -> None:
        model = LogisticRegression().fit(X, y)
        assert np.array_equal(scores_of(model, X, "yes"), model.decision_function(X))

    @pytest.mark.parametrize("model", [GaussianNB(), RandomForestClassifier(5, random_state=0), KNeighborsClassifier()])
    def test_log_odds_of_probabilities(self, model: Any) -> None:
        model.fit(X, y)
        scores, p = scores_of(model, X, "yes"), model.predict_proba(X)[:, 1]
        assert np.array_equal(np.sign(scores), np.sign(p - 0.5))
        inside = (p > 0) & (p < 1)
        assert np.allclose(scores[inside], np.log(p[inside] / (1 - p[inside])))
        assert np.isfinite(scores).all()
        assert np.array_equal(scores_of(model, X, "no"), -scores)

    def test_probabilities_near_one_keep_their_order(self) -> None:
        small = np.array([1e-20, 1e-25, 0.0, 1e-30])
        model = Fixed(np.column_stack([small, 1 - small]))
        assert np.argsort(-scores_of(model, X, "yes")).tolist() == [2, 3, 1, 0]

    def test_single_precision_stays(self) -> None:
        p = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
        scores = scores_of(Fixed(p), X, "yes")
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_predictions_of_a_regressor_less_one_half(self) -> None:
        model = LinearRegression().fit(X, y == "yes")
        assert np.array_equal(scores_of(model, X, "yes"), model.predict(X) - 0.5)
        assert np.array_equal(scores_of(Straight(), X, "yes"), X[:, 0] - 0.5)

    def test_labels_where_there_is_nothing_else(self) -> None:
        model = Voter().fit(X, y)
        assert np.array_equal(scores_of(model, X, "yes"), np.where(X[:, 0] > 0, 0.5, -0.5))

    def test_whole_numbers_become_real_ones(self) -> None:
        assert scores_of(Fixed(scores=np.array([2, 1])), X, "yes").dtype == np.float64

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (Fixed(scores=np.ones((4, 3))), r"Fixed must give one score a row, but gave an array of shape \(4, 3\)"),
            (Fixed(np.ones((4, 3))), r"shape \(4, 3\)"),
            (Fixed(scores=np.array([0.0, np.nan])), "Fixed gave row 1 the score nan"),
            (Fixed(scores=np.array([np.inf, 0.0])), "row 0 the score inf"),
        ],
    )
    def test_refused_with_a_reason(self, model: Any, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            scores_of(model, X, "yes")


class TestFitArguments:
    groups, weights = np.array([0, 1]), np.array([1.0, 2.0])

    def test_groups_where_known_weights_always(self) -> None:
        assert fit_arguments(TopPush(), None, None) == {}
        both = fit_arguments(ExactRanker(), self.groups, self.weights)
        assert both == {"groups": self.groups, "sample_weight": self.weights}
        assert fit_arguments(LogisticRegression(), self.groups, self.weights) == {"sample_weight": self.weights}

    def test_the_last_step_of_a_pipeline(self) -> None:
        inner = make_pipeline(MinMaxScaler(), TopPush())
        assert fit_arguments(inner, self.groups, self.weights) == {
            "toppush__groups": self.groups,
            "toppush__sample_weight": self.weights,
        }
        nested = make_pipeline(MinMaxScaler(), inner)
        assert fit_arguments(nested, None, self.weights) == {"pipeline__toppush__sample_weight": self.weights}

    def test_a_frozen_model_takes_nothing(self) -> None:
        assert fit_arguments(FrozenEstimator(KNeighborsClassifier().fit(X, y)), self.groups, self.weights) == {}

    def test_weights_that_a_model_does_not_know(self) -> None:
        with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight; leave the weights out"):
            fit_arguments(make_pipeline(MinMaxScaler(), KNeighborsClassifier()), None, self.weights)
