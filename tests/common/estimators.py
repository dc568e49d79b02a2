"""The estimators that every common test runs through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist import (
    AATP,
    OWPC,
    SVMMAP,
    AutoRanker,
    ExactRanker,
    GradedRankSVM,
    InfinitePush,
    LSRRank,
    MagnitudeRanker,
    MLSRRank,
    MPRank,
    OnlineMPRank,
    PatMat,
    PNormPush,
    RankBoost,
    RankSVM,
    Reranker,
    SGDRank,
    SparseInfinitePush,
    SVMpAUC,
    SVRank,
    TauFPL,
    TopPush,
    TopPushK,
)
from shortlist.selection import MLSRRankCV, MPRankCV

Array = NDArray[Any]

DEFAULTS = [TopPush(), InfinitePush(), TopPushK(), TauFPL(), PatMat(), AATP(), SparseInfinitePush()]
VARIANTS = [
    TopPush(loss="logistic"),
    TopPush(loss="exponential"),
    TopPush(kernel="rbf"),
    TauFPL(tau="auto"),
    TauFPL(tau=0.2, loss="hinge"),
    PatMat(loss="logistic", tau=0.2),
]
TOP = DEFAULTS + VARIANTS

# Bounded by nodes, not by time: the same answer on every machine.
LIMITS: dict[str, Any] = {"time_limit": None, "max_nodes": 20, "random_state": 0}
EXACT = [
    ExactRanker(**LIMITS),
    ExactRanker("auc", l0=0.5, formulation="resolved", **LIMITS),
    ExactRanker(pairs="classes", **LIMITS),
]
RERANKERS = [
    Reranker(TopPush(), ExactRanker(**LIMITS), top=50),
    Reranker(TopPush(), ExactRanker(**LIMITS), top=0.5, add_score=True),
]
PAIRWISE = [
    RankSVM(),
    RankSVM(loss="squared_hinge"),
    RankSVM(loss="squared_hinge", kernel="rbf"),
    RankSVM(loss="squared_hinge", positive=[0]),
    RankSVM(loss="logistic"),
    RankSVM(solver="gradient_projection"),
]
BOOSTING = [
    RankBoost(n_estimators=20),
    RankBoost(n_estimators=20, weak="linear"),
    PNormPush(n_estimators=20),
    PNormPush(p=2.0, n_estimators=20, weak="stump"),
]
# Not made of a threshold a group: cuts between classes, one for all.
CUT = (ExactRanker, RankBoost, PNormPush)
LISTWISE = [OWPC(), SVMpAUC(), SVMMAP()]
ALL = TOP + EXACT + RERANKERS + PAIRWISE + BOOSTING + LISTWISE
# The score of a regressor is on the scale of y: they have hostile inputs and neighbours of their own.
REGRESSORS = [
    MPRank(),
    MPRank(C=100.0, kernel="rbf"),
    MPRank(solver="iterative"),
    LSRRank(),
    MLSRRank(),
    OnlineMPRank(),
    OnlineMPRank(C=100.0, kernel="rbf"),
    SGDRank(random_state=0),
    MPRankCV(),
    MPRankCV([10.0, 100.0], kernels=[None, "rbf"]),
    MLSRRankCV(scales=(0.5, 4.0), vs=(1.0,), lams=(0.1, 0.001)),
    SVRank(),
    SVRank(C=10.0, order=2, kernel="rbf"),
    MagnitudeRanker(),
    MagnitudeRanker(cost="hmp", one_sided="hinge"),
    MagnitudeRanker(cost="hmp", order=2),
    GradedRankSVM(),
    GradedRankSVM(C=10.0, loss="squared_hinge", gap_power=1, kernel="rbf"),
    GradedRankSVM(C=10.0, loss="logistic", positive=True),
]
# scikit-learn expects a column of scores a class of a classifier for several.
# AutoRanker with one family, so that a check takes a tenth of a second: what it chooses is tested elsewhere.
AUTO = [AutoRanker(0.2, candidates=["logistic regression"], folds=2, rerank=False)]
CHECKED = [*(estimator for estimator in ALL if estimator.get_params().get("pairs") is None), *AUTO]
# One of each kind.
PLAIN = [*DEFAULTS, EXACT[0], RERANKERS[0], PAIRWISE[0], LISTWISE[0], BOOSTING[0], BOOSTING[2]]


def grid_of(estimator: Any) -> dict[str, list[Any]]:
    """A parameter to search over."""
    known = estimator.get_params()
    grids: dict[str, list[Any]] = {"C": [1.0, 100.0], "l0": [0.0, 0.1], "top": [10, 0.5], "n_estimators": [5, 20]}
    return next({name: values} for name, values in grids.items() if name in known)


def objective_of(model: Any) -> float:
    """What the fit says of its objective."""
    certificate = (model.reranker_ if isinstance(model, Reranker) else model).certificate_
    return float(certificate.value if hasattr(certificate, "value") else certificate.primal)


def learnt(model: Any) -> Array:
    """The weights of the features; of stumps, which have none, their importances."""
    model = getattr(model, "reranker_", model)
    return np.asarray(model.coef_ if hasattr(model, "coef_") else model.feature_importances_)


def precisely(estimator: Any, tol: float) -> Any:
    """The same with a finer tolerance, where it has one."""
    return estimator.set_params(tol=tol) if "tol" in estimator.get_params() else estimator


def name_of(estimator: Any) -> str:
    return repr(estimator).replace("\n", "")


def clouds(n: int = 120, d: int = 4, *, seed: int = 0, shift: float = 1.5) -> tuple[Array, Array]:
    """Two Gaussian clouds, a third of the rows positive, not separable."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, d))
    X[y == 1, :2] += shift
    return X, y
