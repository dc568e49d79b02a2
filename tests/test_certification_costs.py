"""``certify`` on the magnitude costs: it agrees with honest models, exposes dishonest ones, and its costs are right."""

from __future__ import annotations

import copy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import shortlist.certification_costs as module
from shortlist import MagnitudeRanker, SVRank, certify
from shortlist.estimators._regression import PairObjective
from shortlist.risks.magnitude import MagnitudeRisk
from tests.common.estimators import name_of

MODELS: list[Any] = [
    SVRank(C=20.0),
    SVRank(C=20.0, order=2),
    SVRank(C=20.0, order=2, solver="bundle"),
    SVRank(C=5.0, kernel="rbf"),
    MagnitudeRanker(C=20.0),
    MagnitudeRanker(C=20.0, order=2),
    MagnitudeRanker(C=20.0, cost="hmp", one_sided="hinge"),
    MagnitudeRanker(C=20.0, cost="hmp", one_sided="hinge", order=2),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
Y = X[:, 0] + RNG.normal(size=50)
GROUPS, WEIGHTS = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50).astype(float)


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one group", "groups"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_it_agrees_with_the_fit(estimator: Any, groups: Any, weights: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 5)
    model = clone(estimator).fit(X, Y, groups=groups, sample_weight=weights)
    own, again = model.certificate_, certify(model, X, Y, groups=groups, sample_weight=weights)
    assert again.primal == pytest.approx(own.primal, rel=1e-9)
    assert again.bound == pytest.approx(own.bound, rel=1e-7)
    assert again.converged
    assert again.n_iter == 0


@pytest.mark.parametrize("cost", ["hr", "hmp"])
def test_an_optimum_of_zero_is_certified_too(cost: str) -> None:
    with pytest.warns(UserWarning, match="equal scores cost nothing"):
        model = MagnitudeRanker(cost=cost, order=2).fit(X, Y)
    assert certify(model, X, Y).primal == certify(model, X, Y).bound == 0
    model.coef_ = np.ones((1, 4))
    assert certify(model, X, Y).relative_gap == 1


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
def test_lies_open_a_gap_and_the_bound_holds_whatever_the_model_says(estimator: Any) -> None:
    model = clone(estimator).set_params(tol=1e-8).fit(X, Y)
    optimum = model.certificate_.primal
    rng = np.random.default_rng(1)
    alone = np.eye(len(model.bound_weights_))[0] * 3 - 0.1
    for attribute, wrong in (
        ("coef_", -model.coef_),
        ("coef_", 2 * model.coef_),
        ("bound_points_", -model.bound_points_),
        ("bound_points_", model.bound_points_ + rng.normal(size=model.bound_points_.shape)),
        ("bound_weights_", 0.5 * model.bound_weights_),
        ("bound_weights_", alone),
    ):
        lying = copy.copy(model)
        setattr(lying, attribute, wrong)
        certificate = certify(lying, X, Y)
        assert certificate.bound <= optimum * (1 + 1e-9)
        if wrong is not alone:  # one good plane can be nearly as good as all
            assert certificate.relative_gap > 1e-6
    assert not certify(model, X, -Y).converged


def test_single_precision_and_sparse() -> None:
    kept = np.where(np.abs(X) > 0.3, X, 0).astype(np.float32)
    for estimator in (SVRank(C=20.0), SVRank(C=20.0, order=2)):
        model = estimator.fit(sparse.csr_array(kept), Y)
        assert certify(model, sparse.csc_array(kept), Y).relative_gap <= 2e-4


@pytest.mark.parametrize("few", [2, 7, 64])
def test_the_costs_written_anew_are_the_same(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    kinds = [*product(["hr", "mp", "hmp", "svr"], [1, 2], ["closure"]), ("hmp", 1, "hinge"), ("hmp", 2, "hinge")]
    for seed, (cost, order, one_sided) in product(range(4), kinds):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 4, 40).astype(float) if seed % 2 else rng.normal(size=40)
        s = rng.integers(0, 4, 40).astype(float) if seed > 1 else rng.normal(size=40)
        groups, weights = rng.integers(0, 2, 40), rng.integers(1, 3, 40).astype(float)
        risk = MagnitudeRisk.from_labels(
            y, cost, order, 0.3, one_sided=one_sided, groups=groups, sample_weight=weights
        )
        members = [np.flatnonzero(groups == g) for g in range(2)]
        problem = PairObjective(1.0, cost, order, 0.3, one_sided)
        value, slope = module._risk(problem, s, y, members, weights)
        ours, gradient = risk.value_and_subgradient(s)
        assert value == pytest.approx(ours, rel=1e-11, abs=1e-14)
        np.testing.assert_allclose(slope, gradient, atol=1e-13)


def test_it_shares_no_mathematics_with_the_solvers() -> None:
    text = Path(module.__file__).read_text()
    lines = [line for line in text.splitlines() if line.startswith(("from shortlist", "import shortlist"))]
    assert lines == ["from shortlist.solvers.solution import Certificate"]
