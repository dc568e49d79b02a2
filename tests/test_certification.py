"""``certify`` agrees with honest models and exposes dishonest ones."""

from __future__ import annotations

import ast
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

import shortlist.certification as module
from shortlist import AATP, InfinitePush, PatMat, SparseInfinitePush, TauFPL, TopPush, TopPushK, certify
from shortlist.risks.surrogates import SURROGATES
from tests.common.estimators import name_of

pytestmark = pytest.mark.filterwarnings("ignore::shortlist.exceptions.QuantileWarning")

LOSSES = ["squared_hinge", "hinge", "logistic", "exponential"]
MODELS: list[Any] = [
    *[TopPush(C=10.0, loss=loss) for loss in LOSSES],
    *[TauFPL(C=10.0, tau=0.1, loss=loss) for loss in LOSSES],
    *[PatMat(C=10.0, tau=0.1, loss=loss, theta=0.7) for loss in LOSSES],
    TopPushK(C=10.0, k=3.5),
    InfinitePush(C=10.0),
    SparseInfinitePush(C=100.0),
    TopPush(C=10.0, kernel="rbf"),
]
ONE_LIST: list[Any] = [
    AATP(C=10.0, tau=0.5, max_candidates=20),
    AATP(C=10.0, tau=0.5, max_candidates=20, weighting="rows"),
    TopPush(C=10.0, solver="nesterov", tol=1e-9),
    InfinitePush(C=1.0, solver="gradient_projection"),
]


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    rng = np.random.default_rng(0)
    return X, y, rng.integers(0, 3, len(y)), rng.integers(0, 3, len(y)).astype(float)


def agree(model: Any, X: Any, y: Any, **arguments: Any) -> None:
    own, again = model.certificate_, certify(model, X, y, **arguments)
    assert again.primal == pytest.approx(own.primal, rel=1e-8)
    assert again.bound == pytest.approx(own.bound, rel=1e-7)
    assert again.relative_gap <= own.relative_gap + 1e-7
    assert again.tolerance == model.tol
    assert again.n_iter == 0


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_with_the_solvers(estimator: Any, grouped: bool, weighted: bool, data: Any) -> None:
    X, y, groups, weight = data
    arguments = {"groups": groups if grouped else None, "sample_weight": weight if weighted else None}
    agree(clone(estimator).fit(X, y, **arguments), X, y, **arguments)


@pytest.mark.parametrize("estimator", ONE_LIST, ids=name_of)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_on_one_list(estimator: Any, weighted: bool, data: Any) -> None:
    X, y, _, weight = data
    arguments = {"sample_weight": weight if weighted else None}
    agree(clone(estimator).fit(X, y, **arguments), X, y, **arguments)


@pytest.mark.parametrize("estimator", [*MODELS, *ONE_LIST[:2]], ids=name_of)
def test_wrong_coefficients_or_duals_open_the_gap(estimator: Any, data: Any) -> None:
    X, y, *_ = data
    model = clone(estimator).fit(X, y)
    assert certify(model, X, y).relative_gap <= 1e-3
    for attribute, wrong in (
        ("coef_", -model.coef_),
        ("coef_", 3 * model.coef_ + 0.1),
        ("dual_coef_", -model.dual_coef_),
        ("dual_coef_", np.random.default_rng(0).permutation(model.dual_coef_[0])[np.newaxis]),
    ):
        lying = copy.copy(model)
        setattr(lying, attribute, wrong)
        certificate = certify(lying, X, y)
        assert certificate.relative_gap > 0.01
        assert certificate.bound <= model.certificate_.primal * (1 + 1e-9)


def test_other_data_open_the_gap(data: Any) -> None:
    X, y, *_ = data
    model = TopPush(C=10.0).fit(X, y)
    assert not certify(model, X[::-1], y[::-1]).converged
    assert not certify(model, X, 1 - y).converged


def test_the_bound_holds_whatever_the_dual(data: Any) -> None:
    X, y, groups, weight = data
    rng = np.random.default_rng(1)
    for estimator in MODELS:
        model = clone(estimator).set_params(tol=1e-8).fit(X, y, groups=groups, sample_weight=weight)
        optimum = model.certificate_.primal
        for _ in range(3):
            model.dual_coef_ = model.dual_coef_ * rng.exponential(size=model.dual_coef_.shape)
            assert certify(model, X, y, groups=groups, sample_weight=weight).bound <= optimum * (1 + 1e-9)
        model.dual_coef_ = np.zeros_like(model.dual_coef_)
        assert certify(model, X, y, groups=groups, sample_weight=weight).bound <= optimum * (1 + 1e-9)


def test_single_precision_and_sparse(data: Any) -> None:
    from scipy import sparse

    X, y, *_ = data
    model = TopPush(C=10.0).fit(sparse.csr_array(X.astype(np.float32)), y)
    assert certify(model, sparse.csc_array(X.astype(np.float32)), y).relative_gap <= 2e-4


def test_what_fit_was_not_given_is_refused(data: Any) -> None:
    X, y, *_ = data
    with pytest.raises(NotFittedError):
        certify(TopPush(), X, y)
    model = TopPush(C=10.0).fit(X, y)
    with pytest.raises(ValueError, match="rows"):
        certify(model, X, y[:-1])
    with pytest.raises(ValueError, match="fitted on at least"):
        certify(model, X[:40], y[:40])
    with pytest.raises(ValueError, match="no group holds rows of both classes"):
        certify(model, X, y, groups=y)
    with pytest.raises(ValueError, match="needs what fit was given"):
        certify(AATP(max_candidates=2, tau=0.5).fit(X, y), X, y[:-1])
    model.objective_ = type(model.objective_)("l2", 1.0, "hinge", "median")
    with pytest.raises(ValueError, match="no certificate for the threshold 'median'"):
        certify(model, X, y)


@pytest.mark.parametrize("name", LOSSES)
def test_the_losses_written_anew_are_the_same(name: str) -> None:
    z = np.linspace(-3, 3, 24)  # without the kink at -1
    ours, theirs = module._LOSSES[name], SURROGATES[name]
    assert np.allclose(ours.value(z), theirs.value(z))
    assert np.allclose(ours.slope(z), theirs.derivative(z))
    a = np.linspace(0, min(ours.upper, 4), 25)
    assert np.allclose(ours.conjugate(a), theirs.conjugate(a))
    assert ours.upper == theirs.dual_upper


def test_it_shares_no_mathematics_with_the_solvers() -> None:
    """Of the package its files know one another and the record of a certificate, wherever they import."""
    room = Path(module.__file__).parent
    files = {path.stem: ast.parse(path.read_text()) for path in room.glob("certification*.py")}
    allowed = {"shortlist.solvers.solution"} | {f"shortlist.{name}" for name in files}
    for name, tree in files.items():
        nodes = list(ast.walk(tree))
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), name
        known = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        known |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        assert {one for one in known if one.partition(".")[0] == "shortlist"} <= allowed, name
