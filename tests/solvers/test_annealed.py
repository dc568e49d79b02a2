"""Ordered pairs by smoothed risks of falling width: the bundle's optimum, and a bound from its dual variables."""

from __future__ import annotations

import doctest
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.smooth_pairs import mended
from shortlist.solvers import annealed as module
from shortlist.solvers.annealed import solve_annealed
from shortlist.solvers.bundle import solve_bundle


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def draw(n: int = 600, d: int = 4) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + X[:, 1] + rng.normal(size=n) > 1.5, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32], ids=["dense", "sparse", "single"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_reaches_the_bundles_optimum(form: Any, weighted: bool) -> None:
    X, y, weights = draw()
    risk = OrderedPairsRisk.from_labels(y, sample_weight=weights if weighted else None)
    exact = solve_bundle(X, risk, 10.0, tol=1e-6).certificate
    seen: list[tuple[int, float, float]] = []
    solution = solve_annealed(form(X), risk, 10.0, tol=1e-3, callback=lambda *line: seen.append(line))
    found = solution.certificate
    assert found.converged
    assert found.bound <= exact.primal * (1 + 1e-9)
    assert found.primal >= exact.bound * (1 - 1e-9)
    assert seen[-1][1:] == (found.primal, found.bound)
    assert all(a[2] <= b[2] and a[1] >= b[1] for a, b in pairwise(seen))
    w = solution.coef.astype(float)
    assert found.primal == pytest.approx(w @ w / 2 + 10 * risk.value(X @ w), rel=1e-5)
    # The dual variables are the proof.
    plane, height = mended(risk, -solution.dual / 10)
    assert 10 * height - 50 * np.sum((X.T @ plane) ** 2) == pytest.approx(found.bound, rel=1e-5)


def test_a_warm_start_and_few_steps() -> None:
    X, y, _ = draw()
    risk = OrderedPairsRisk.from_labels(y)
    solution = solve_annealed(X, risk, 10.0, max_iter=2)
    assert solution.certificate.n_iter == 2
    again = solve_annealed(X, risk, 10.0, tol=1e-3, start=solution)
    assert again.certificate.converged


def test_an_optimum_of_zero() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(300, 2)), 2, axis=0)
    solution = solve_annealed(X, OrderedPairsRisk.from_labels(np.arange(600) % 2), 10.0, tol=1e-3)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(10, rel=1e-3)


def test_scores_too_far_apart_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = draw()
    monkeypatch.setattr("shortlist.risks.smooth_pairs.MOST_NODES", 500)
    solution = solve_annealed(X, OrderedPairsRisk.from_labels(y), 10.0, tol=1e-6)
    assert not solution.certificate.converged
    assert 0 < solution.certificate.bound < solution.certificate.primal
