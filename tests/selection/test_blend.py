"""Several models as one: Platt's scale, and the mean of log-odds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from shortlist.selection.blend import Blended, Scale, mean_log_odds


def noisy(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(int)
    return 3 + 0.2 * (labels + rng.normal(size=n)), labels


class TestScale:
    def test_it_fits_the_labels_on_the_scores(self) -> None:
        scores, labels = noisy()
        scale = Scale.of(scores, labels)
        centre, spread = scores.mean(), scores.std()

        def loss(p: np.ndarray) -> float:
            z = p[0] * (scores - centre) / spread + p[1]
            return float(100 * np.sum(np.logaddexp(0, z) - labels * z) + p[0] ** 2 / 2)

        best = minimize(loss, [0.0, 0.0]).x
        assert scale.slope == pytest.approx(best[0] / spread, rel=1e-3)
        assert scale(scores).mean() == pytest.approx(best[1], abs=1e-3)

    def test_units_and_origin_of_the_scores_do_not_matter(self) -> None:
        scores, labels = noisy()
        one, other = Scale.of(scores, labels), Scale.of(1e6 * scores - 50, labels)
        np.testing.assert_allclose(one(scores), other(1e6 * scores - 50), rtol=1e-6)

    def test_weights_are_repetitions(self) -> None:
        scores, labels = noisy(100)
        weights = np.arange(100) % 3
        one = Scale.of(scores[weights > 0], labels[weights > 0], weights[weights > 0].astype(float))
        other = Scale.of(np.repeat(scores, weights), np.repeat(labels, weights))
        np.testing.assert_allclose(one(scores), other(scores), rtol=2e-2)

    def test_no_model_is_turned_round(self) -> None:
        scores, labels = noisy()
        assert Scale.of(-scores, labels).slope == 0.0

    def test_a_constant_score_says_nothing(self) -> None:
        assert Scale.of(np.full(10, 1e9), np.arange(10) % 2) == Scale(0.0, 0.0)
        assert Scale.of(np.zeros(10), np.arange(10) % 2) == Scale(0.0, 0.0)


class TestCertainty:
    """A forest whose trees all agree gives a probability of 0 or 1."""

    def test_it_does_not_flatten_the_rest(self) -> None:
        rng = np.random.default_rng(0)
        labels = (np.arange(400) % 4 == 0).astype(int)
        p = np.clip(0.3 * labels + 0.25 * rng.random(400) - 0.1, 0.0, 1.0)
        assert (p == 0).any()
        tiny = np.finfo(float).tiny
        log_odds = np.log(np.maximum(p, tiny)) - np.log(np.maximum(1 - p, tiny))
        scale = Scale.of(log_odds, labels)
        inner = log_odds[p > 0]
        assert scale.low == inner.min() - 1
        np.testing.assert_allclose(scale(log_odds)[p == 0], scale.slope * scale.low + scale.offset)
        assert np.ptp(scale(inner)) > 2
        np.testing.assert_allclose(scale(inner), scale.slope * inner + scale.offset)

    def test_new_rows_may_be_certain_too(self) -> None:
        scores, labels = noisy()
        scale = Scale.of(scores, labels)
        most = -np.log(np.finfo(float).tiny)
        np.testing.assert_allclose(
            scale(np.array([most, -most])), scale(np.array([scores.max() + 1, scores.min() - 1]))
        )

    def test_all_certain(self) -> None:
        most = -np.log(np.finfo(float).tiny)
        scale = Scale.of(np.where(np.arange(20) % 2, most, -most), np.arange(20) % 2)
        assert scale(np.array([most]))[0] > 1 > -1 > scale(np.array([-most]))[0]

    def test_a_single_model_keeps_its_scores(self) -> None:
        np.testing.assert_array_equal(Scale(1.0, 0.0)(np.array([-708.4, 708.4, 1e9])), [-708.4, 708.4, 1e9])


def test_the_mean() -> None:
    scores = [np.array([1.0, 2.0]), np.array([0.0, 10.0])]
    np.testing.assert_allclose(mean_log_odds(scores, [Scale(2.0, 1.0), Scale(0.5, 0.0)]), [1.5, 5.0])


def test_blended_models() -> None:
    scores, labels = noisy()
    X = scores[:, np.newaxis]
    models = [LogisticRegression().fit(X, labels), LogisticRegression(C=1e-4).fit(X, labels)]
    blend = Blended(models, [Scale(1.0, 0.0), Scale(2.0, 1.0)], 1)
    a, b = (model.decision_function(X) for model in models)
    np.testing.assert_allclose(blend.decision_function(X), (a + 2 * b + 1) / 2)
