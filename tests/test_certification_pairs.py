"""``certify`` on rankers of real relevance: it agrees with honest models and exposes dishonest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import shortlist.certification_pairs as module
from shortlist import LSRRank, MLSRRank, MPRank, certify
from tests.common.estimators import name_of
from tests.oracle.least_squares import all_pairs

MODELS: list[Any] = [
    MPRank(C=5.0),
    MPRank(C=5.0, solver="dual"),
    MPRank(C=5.0, solver="iterative"),
    MPRank(kernel="rbf"),
    LSRRank(lam=0.1),
    MLSRRank(),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
Y = np.column_stack([X[:, 0] + RNG.normal(size=50), X[:, 1] ** 2])
GROUPS, WEIGHTS = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50).astype(float)


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one group", "groups"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_it_agrees_with_the_fit(estimator: Any, groups: Any, weights: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 7)
    for y in (Y[:, 0], Y):
        model = clone(estimator).fit(X, y, groups=groups, sample_weight=weights)
        own, again = model.certificate_, certify(model, X, y, groups=groups, sample_weight=weights)
        assert again.primal == pytest.approx(own.primal, rel=1e-9)
        assert again.bound == pytest.approx(own.bound, rel=1e-7)
        assert again.converged
        assert again.n_iter == 0


def test_the_bound_is_below_the_minimum_whatever_the_model_says() -> None:
    model = MPRank(C=5.0).fit(X, Y, groups=GROUPS)
    _, least = all_pairs(X, Y, 5.0, GROUPS)
    assert certify(model, X, Y, groups=GROUPS).bound == pytest.approx(least)
    rng = np.random.default_rng(1)
    for _ in range(20):
        model.dual_coef_ = model.dual_coef_ + 0.1 * rng.normal(size=model.dual_coef_.shape)
        assert certify(model, X, Y, groups=GROUPS).bound <= least


def test_lies_open_a_gap() -> None:
    model = MPRank(C=5.0).fit(sparse.csr_array(X), Y)
    assert certify(model, sparse.csr_array(X), Y).converged
    model.coef_ = 1.1 * model.coef_
    assert not certify(model, X, Y).converged
    model = MPRank(C=5.0).fit(X, Y)
    model.dual_coef_ = 1.1 * model.dual_coef_
    assert not certify(model, X, Y).converged
    assert not certify(MPRank(C=5.0).fit(X, Y), X + 0.1 * X**2, Y).converged


def test_other_data_are_refused() -> None:
    model = MPRank().fit(X, Y)
    for arguments in ((X[:-1], Y), (X, Y[:, 0]), (X[:10], Y[:10])):
        with pytest.raises(ValueError, match="certify needs what fit was given"):
            certify(model, *arguments)
    with pytest.raises(ValueError, match="certify needs what fit was given"):
        certify(model, X, Y, groups=GROUPS[:-1])


def test_costs_without_separate_code_say_so() -> None:
    model = MPRank().fit(X, Y)
    object.__setattr__(model.objective_, "cost", "svr")
    with pytest.raises(ValueError, match="no certificate by separate code for the cost 'svr'"):
        certify(model, X, Y)
