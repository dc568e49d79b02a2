"""Rounds against an exhaustive search, the loss that never rises, and what the certificate says."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from shortlist.risks.boosting import ExponentialRisk, PreferenceRisk
from shortlist.solvers.boosting import DONE, BoostingPath, best_step, boost
from shortlist.solvers.weak_rankers import Features, Stumps
from tests.oracle.boosting import boosted, definition, of_preferences, rankers_of

FAMILIES: dict[str, Any] = {"stump": Stumps, "linear": Features}


def clouds(n: int = 24, d: int = 3, *, labels: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, labels, n)
    return rng.normal(size=(n, d)).round(1) + 0.7 * y[:, None], y


def scores_of(path: BoostingPath, X: Any, weak: str, rounds: int | None = None) -> Any:
    s = np.zeros(len(X))
    for step in path.rounds[:rounds]:
        column = X[:, step["feature"]]
        h = column > step["threshold"] if weak == "stump" else (column - column.min()) / np.ptp(column)
        s += step["weight"] * h
    return s


@pytest.mark.parametrize("weak", ["stump", "linear"])
@pytest.mark.parametrize(("p", "labels"), [(1.0, 2), (1.0, 3), (4.0, 2), (4.0, 3)])
def test_every_round_is_the_steepest_and_its_step_the_best(weak: str, p: float, labels: int) -> None:
    X, y = clouds(labels=labels, seed=1)
    family = FAMILIES[weak](X)
    path = boost(ExponentialRisk.of(y, p), family, len(y), n_rounds=6)
    loss = lambda s: definition(s, y, p)  # noqa: E731
    losses = boosted(loss, X, weak, 6, family.longest)
    np.testing.assert_allclose(path.rounds["loss"], losses, rtol=1e-6)


def test_preferences_round_by_round() -> None:
    X, _ = clouds()
    rng = np.random.default_rng(0)
    pairs, weight = np.array([rng.choice(24, 2, replace=False) for _ in range(40)]), rng.random(40) + 0.1
    path = boost(PreferenceRisk.of(*pairs.T, weight, 24), Stumps(X), 24, n_rounds=6)
    losses = boosted(lambda s: of_preferences(s, pairs, weight), X, "stump", 6, Stumps.longest)
    np.testing.assert_allclose(path.rounds["loss"], losses, rtol=1e-6)


@pytest.mark.parametrize("weak", ["stump", "linear"])
def test_the_loss_never_rises_whatever_the_rate(weak: str) -> None:
    for seed, rate, p in ((0, 1.0, 1.0), (1, 0.3, 4.0), (2, 0.1, 1.0), (3, 1.0, 64.0)):
        X, y = clouds(seed=seed)
        path = boost(ExponentialRisk.of(y, p), FAMILIES[weak](X), len(y), n_rounds=40, learning_rate=rate)
        assert np.all(np.diff(path.log_losses) <= 1e-12)
        assert np.exp(path.log_losses[-1]) == pytest.approx(definition(scores_of(path, X, weak), y, p))


def test_a_line_search_is_scipys() -> None:
    X, y = clouds(seed=4)
    risk, rng = ExponentialRisk.of(y, 8.0), np.random.default_rng(0)
    family = Features(X)
    for scale in (0.0, 1.0, 5.0):
        s = scale * rng.normal(size=len(y))
        now = risk.at(s)
        choice = family.best(now.potentials)
        assert choice is not None
        step = best_step(risk, s, now, choice, family.longest)
        log_loss = lambda t, s=s, h=choice.values: np.log(definition(s + t * h, y, 8.0))  # noqa: E731
        found = minimize_scalar(log_loss, bracket=(0.0, step), options={"xtol": 1e-12})
        assert np.sign(step) == np.sign(choice.edge)
        assert log_loss(step) == pytest.approx(found.fun, abs=1e-9)


@pytest.mark.parametrize("weak", ["stump", "linear"])
def test_no_answer_of_the_same_size_is_below_the_bound(weak: str) -> None:
    X, y = clouds(12, 2, seed=5)
    every = np.column_stack([h for *_, h in rankers_of(X, weak)])
    up, low = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    path = boost(ExponentialRisk.of(y), FAMILIES[weak](X), len(y), n_rounds=30)
    for rounds in (1, 5, len(path.rounds)):
        certificate = path.certificate(rounds)
        assert certificate.bound <= certificate.value
        assert certificate.value == pytest.approx(path.rounds["loss"][rounds - 1])
        w = cp.Variable(every.shape[1])
        s = every @ w
        differences = cp.hstack([s[j] - s[i] for i in up for j in low])
        size = [cp.norm1(w) <= certificate.total_weight]
        problem = cp.Problem(cp.Minimize(cp.log_sum_exp(differences) - np.log(len(up) * len(low))), size)
        best = float(np.exp(problem.solve(solver=cp.CLARABEL)))
        # The optimum among these lies between the two sides, and the model is one of these.
        assert certificate.bound <= best * (1 + 1e-6)
        assert best <= certificate.value * (1 + 1e-6)


def test_the_bound_closes_as_rounds_go_on() -> None:
    X, y = clouds(60, 6, seed=6)
    path = boost(ExponentialRisk.of(y), Features(X), len(y), n_rounds=400)
    assert len(path.rounds) < 400  # no edge is left
    early, last = path.certificate(5), path.certificate(len(path.rounds))
    assert early.relative_gap > 1e-3 > 1e-8 > last.relative_gap
    assert last.largest_edge < 1e-10  # an optimum over all weights, whatever their size
    assert str(last).startswith("loss 0.")


def test_the_size_counts_a_ranker_once() -> None:
    X, y = clouds(60, 6, seed=6)
    path = boost(ExponentialRisk.of(y), Features(X), len(y), n_rounds=50)
    for rounds in (3, 50):
        one = np.bincount(path.rounds["feature"][:rounds], path.rounds["weight"][:rounds])
        assert path.weights[rounds] == pytest.approx(np.abs(one).sum())
    assert path.weights[50] < np.abs(path.rounds["weight"]).sum()  # some steps went back


def test_it_ends_where_nothing_is_left_to_do() -> None:
    y = np.array([0, 0, 1, 1])
    path = boost(ExponentialRisk.of(y), Stumps(np.arange(4.0)[:, None]), 4, n_rounds=1000)
    assert len(path.rounds) < 1000
    assert path.log_losses[-1] < DONE
    assert np.all(np.abs(path.rounds["weight"]) <= Stumps.longest)
    flat = boost(ExponentialRisk.of(y), Stumps(np.ones((4, 1))), 4, n_rounds=10)
    assert len(flat.rounds) == 0
    assert flat.certificate(0).gap == 0
    assert flat.certificate(0).value == 1
    separable = boost(ExponentialRisk.of(y), Features(np.arange(4.0)[:, None]), 4, n_rounds=30)
    assert separable.log_losses[-1] < DONE
    assert np.isfinite(separable.rounds["weight"]).all()


def test_a_watch_may_end_it() -> None:
    X, y = clouds()
    seen: list[int] = []

    def watch(n_round: int, choice: Any, step: float, loss: float) -> bool:
        seen.append(n_round)
        return n_round == 3

    assert len(boost(ExponentialRisk.of(y), Stumps(X), len(y), n_rounds=10, watch=watch).rounds) == 3
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("weak", ["stump", "linear"])
def test_metamorphic_twins(weak: str) -> None:
    rng = np.random.default_rng(7)
    X, y = clouds(40, seed=7)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    groups = rng.integers(0, 3, 40)
    family = FAMILIES[weak]

    def losses(X: Any, y: Any, groups: Any, p: float, weight: Any = None) -> Any:
        return boost(ExponentialRisk.of(y, p, groups, weight), family(X), len(y), n_rounds=15).log_losses

    for p in (1.0, 3.0):
        plain = losses(X, y, groups, p)
        order = rng.permutation(40)
        np.testing.assert_allclose(losses(X[order], y[order], groups[order], p), plain, atol=1e-9)
        np.testing.assert_allclose(losses(sparse.csr_array(X), y, groups, p), plain, atol=1e-9)
        weight = rng.integers(1, 3, 40)
        again = np.repeat(np.arange(40), weight)
        weighed = losses(X, y, groups, p, weight.astype(float))
        np.testing.assert_allclose(losses(X[again], y[again], groups[again], p), weighed, atol=1e-9)
        np.testing.assert_allclose(losses(X, y, np.zeros(40, dtype=int), p), losses(X, y, None, p), atol=1e-12)
        np.testing.assert_allclose(losses(X.astype(np.float32), y, groups, p), plain, atol=1e-4)
