"""``certify`` on all pairs: it agrees with honest models, exposes dishonest ones, and its losses are right."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import shortlist.certification_pairwise as module
from shortlist import GradedRankSVM, RankSVM, certify
from shortlist.risks.pairwise import PairwiseRisk
from tests.common.estimators import name_of

LOSSES = ["hinge", "squared_hinge", "logistic"]
MODELS: list[Any] = [
    *(RankSVM(C=20.0, loss=loss) for loss in LOSSES),
    RankSVM(C=20.0, loss="logistic", solver="bundle"),
    RankSVM(C=20.0, loss="logistic", positive={0: 1, 1: -1}),
    RankSVM(C=5.0, kernel="rbf"),
    RankSVM(C=20.0, solver="gradient_projection", max_iter=5000),
    *(GradedRankSVM(C=20.0, loss=loss, gap_power=1) for loss in LOSSES),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
GRADES = np.digitize(X[:, 0] + RNG.normal(size=50), [-0.5, 0.5])
GROUPS, WEIGHTS = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50).astype(float)


def labels(estimator: Any) -> Any:
    return GRADES if isinstance(estimator, GradedRankSVM) else GRADES > 1


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
@pytest.mark.parametrize("extra", [{}, {"groups": GROUPS, "sample_weight": WEIGHTS}], ids=["plain", "grouped"])
def test_it_agrees_with_the_fit(estimator: Any, extra: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 5)
    y = labels(estimator)
    model = clone(estimator).fit(X, y, **extra)
    own, again = model.certificate_, certify(model, X, y, **extra)
    assert again.primal == pytest.approx(own.primal, rel=1e-10)
    assert again.bound == pytest.approx(own.bound, rel=1e-7)
    assert again.converged
    assert again.n_iter == 0


@pytest.mark.parametrize("estimator", [model for model in MODELS if model.solver == "auto"], ids=name_of)
def test_lies_open_a_gap_and_the_bound_holds_whatever_the_model_says(estimator: Any) -> None:
    y = labels(estimator)
    model = clone(estimator).set_params(tol=1e-8).fit(X, y)
    optimum = model.certificate_.primal
    rng = np.random.default_rng(1)
    for attribute, wrong in (
        ("coef_", -model.coef_),
        ("coef_", 2 * model.coef_),
        ("bound_points_", -model.bound_points_),
        ("bound_points_", model.bound_points_ + rng.normal(size=model.bound_points_.shape)),
        ("bound_weights_", 0.5 * model.bound_weights_),
        ("bound_weights_", -model.bound_weights_),
    ):
        lying = copy.copy(model)
        setattr(lying, attribute, wrong)
        certificate = certify(lying, X, y)
        assert certificate.bound <= optimum * (1 + 1e-9)
        assert certificate.relative_gap > 1e-6
    assert not certify(model, X, -y.astype(int) if estimator in MODELS[-3:] else ~y).converged


@pytest.mark.parametrize("few", [2, 7, 64])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_losses_written_anew_are_the_same(few: int, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 4, 60).astype(float) if seed % 2 else rng.normal(size=60)
        s = rng.integers(0, 4, 60).astype(float) if seed % 3 == 0 else 10.0 ** (seed % 4 - 1) * rng.normal(size=60)
        groups, weights = rng.integers(0, 2, 60), rng.integers(0, 3, 60).astype(float)
        power = seed // 2 % 3
        risk = PairwiseRisk.from_labels(y, loss, power, groups=groups, sample_weight=weights)
        members = [np.flatnonzero((groups == g) & (weights > 0)) for g in range(2)]
        value, slope = module._risk(SimpleNamespace(loss=loss, power=power), s, y, members, weights)
        ours, gradient = risk.value_and_subgradient(s)
        assert value == pytest.approx(ours, rel=1e-11, abs=1e-14)
        np.testing.assert_allclose(slope, gradient, atol=1e-13)


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0, 1e4])
def test_sums_of_exponentials_over_many_rows(size: float) -> None:
    """Two ways to sum the logistic loss, cells of polynomials and running exponentials, and the sum itself."""
    rng = np.random.default_rng(0)
    x, p, z, q = size * rng.normal(size=300), rng.random(300), size * rng.normal(size=400) + 1, rng.random(400)
    z[:5] = x[:5]
    value, steep, pull = module._across("logistic", x, p, z, q)
    u, share = x[:, None] - z, p[:, None] * q
    slope = 0.5 + 0.5 * np.tanh(u / 2)
    assert value == pytest.approx((share * np.logaddexp(0, u)).sum(), rel=1e-13)
    np.testing.assert_allclose(steep, (share * slope).sum(axis=1), rtol=0, atol=1e-12 * q.sum())
    np.testing.assert_allclose(pull, (share * slope).sum(axis=0), rtol=0, atol=1e-12 * p.sum())
    risk = PairwiseRisk.from_labels(np.repeat([0, 1], [300, 400]), "logistic", sample_weight=np.append(p, q))
    ours, gradient = risk.value_and_subgradient(np.append(x, z))
    assert ours == pytest.approx(value / share.sum(), rel=1e-13)
    np.testing.assert_allclose(gradient, np.append(steep, -pull) / share.sum(), atol=1e-15)


def test_rows_that_do_not_match() -> None:
    model = RankSVM().fit(X, GRADES > 1)
    with pytest.raises(ValueError, match="certify needs what fit was given"):
        certify(model, X, GRADES[1:] > 1)


def test_it_shares_no_mathematics_with_the_solvers() -> None:
    text = Path(module.__file__).read_text()
    lines = [line for line in text.splitlines() if line.startswith(("from shortlist", "import shortlist"))]
    assert lines == ["from shortlist.solvers.solution import Certificate"]
