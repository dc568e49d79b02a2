"""``certify`` on the listwise risks: it agrees with honest models, exposes dishonest ones, and its risks are right."""

from __future__ import annotations

import copy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import shortlist.certification_lists as module
from shortlist import OWPC, SVMMAP, SVMpAUC, certify
from shortlist.estimators._listwise import ListObjective
from shortlist.risks.average_precision import AveragePrecisionRisk
from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.partial_auc import PartialAUCRisk
from tests.common.estimators import clouds, name_of

MODELS: list[Any] = [
    OWPC(C=20.0),
    OWPC(C=20.0, weights="mean"),
    OWPC(C=20.0, weights="top", k=3),
    OWPC(C=20.0, weights=[3.0, 2.0, 1.0]),
    OWPC(C=20.0, weights="max", solver="bundle"),
    OWPC(C=5.0, kernel="rbf"),
    SVMpAUC(C=20.0),
    SVMpAUC(C=20.0, min_fpr=0.1, max_fpr=0.5, tight=False),
    SVMMAP(C=20.0),
]
X, Y = clouds(60)
RNG = np.random.default_rng(0)
GROUPS, WEIGHTS = RNG.integers(0, 3, 60), RNG.integers(0, 3, 60).astype(float)


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["one group", "groups"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_it_agrees_with_the_fit(estimator: Any, groups: Any, weights: Any) -> None:
    model = clone(estimator).fit(X, Y, groups=groups, sample_weight=weights)
    own, again = model.certificate_, certify(model, X, Y, groups=groups, sample_weight=weights)
    assert again.primal == pytest.approx(own.primal, rel=1e-9)
    assert again.bound == pytest.approx(own.bound, rel=1e-5)
    assert again.relative_gap <= 1.1e-4
    assert again.n_iter == 0


@pytest.mark.parametrize("weights", ["max", "top"])
def test_the_worst_alone_is_certified_with_the_top_family(weights: str) -> None:
    model = OWPC(C=20.0, weights=weights, k=1).fit(X, Y)
    assert certify(model, X, Y).converged
    model.coef_ = -model.coef_
    assert not certify(model, X, Y).converged


@pytest.mark.parametrize("estimator", MODELS, ids=name_of)
def test_lies_open_a_gap_and_the_bound_holds_whatever_the_model_says(estimator: Any) -> None:
    model = clone(estimator).set_params(tol=1e-7).fit(X, Y)
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
    assert not certify(model, X, 1 - Y).converged


def test_single_precision_and_sparse() -> None:
    more, labels = clouds(300)
    kept = np.where(np.abs(more) > 0.3, more, 0).astype(np.float32)
    for estimator in (OWPC(C=20.0), SVMpAUC(C=20.0), SVMMAP(C=20.0)):
        model = estimator.fit(sparse.csr_array(kept), labels)
        assert certify(model, sparse.csc_array(kept), labels).relative_gap <= 2e-4


def test_it_wants_what_fit_was_given() -> None:
    model = OWPC().fit(X, Y)
    with pytest.raises(ValueError, match="X has 60 rows, y 59"):
        certify(model, X, Y[:-1])
    with pytest.raises(ValueError, match="no group holds rows of both classes"):
        certify(model, X, np.ones(60))


@pytest.mark.parametrize("cells", [3, 50, 1 << 20])
def test_the_risks_written_anew_are_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CELLS", cells)
    problems = [ListObjective(1.0, "average_precision")]
    problems += [ListObjective(1.0, "ordered_pairs", w, 3.0) for w in ("mean", "top", "max", "reciprocal", [2.0, 1.0])]
    ranges = [(0.0, 0.3), (0.2, 0.45), (0.0, 1.0)]
    problems += [
        ListObjective(1.0, "partial_auc", min_fpr=low, max_fpr=high, tight=tight)
        for (low, high), tight in product(ranges, [True, False])
    ]
    for seed, problem in product(range(4), problems):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=50)
        y, groups, weights = rng.integers(0, 2, 50), rng.integers(0, 2, 50), rng.integers(1, 3, 50).astype(float)
        keywords: dict[str, Any] = {"groups": groups, "sample_weight": weights}
        if problem.measure == "average_precision":
            risk: Any = AveragePrecisionRisk.from_labels(y, **keywords)
        elif problem.measure == "ordered_pairs":
            risk = OrderedPairsRisk.from_labels(y, problem.weights, problem.k, **keywords)
        else:
            risk = PartialAUCRisk.from_labels(y, problem.min_fpr, problem.max_fpr, tight=problem.tight, **keywords)
        members = [np.flatnonzero(groups == g) for g in range(2)]
        split = [(rows[y[rows] == 1], rows[y[rows] == 0]) for rows in members]
        value, slope = module._risk(problem, s, split, weights)
        ours, gradient = risk.value_and_subgradient(s)
        assert value == pytest.approx(ours, rel=1e-11, abs=1e-14)
        np.testing.assert_allclose(slope, gradient, atol=1e-13)


def test_it_shares_no_mathematics_with_the_solvers() -> None:
    text = Path(module.__file__).read_text()
    lines = [line for line in text.splitlines() if line.startswith(("from shortlist", "import shortlist"))]
    assert lines == ["from shortlist.solvers.solution import Certificate"]
