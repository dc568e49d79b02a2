"""The papers' protocol: random splits, parameters by cross-validation on the training part, paired tests."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.stats import ttest_rel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from benchmarks._common import Array, write_json
from shortlist import AATP, OWPC, SVMMAP, InfinitePush, PatMat, PNormPush, RankBoost, RankSVM, SVMpAUC, TauFPL, TopPush
from shortlist.metrics import average_precision, evaluate, pos_at_top

__all__ = ["DECADES", "METHODS", "Method", "Trials", "earlier", "marks", "run", "save"]

DECADES = tuple(10.0**k for k in range(-3, 4))
FOLDS = 5
ROUNDS = 100  # of boosting, in every paper
REACH = 2  # times that a grid is extended, at either end

Score = tuple[float, float]
Params = tuple[float, ...]


@dataclass(frozen=True)
class Method:
    """A way to rank, and the parameters to choose from.

    Attributes
    ----------
    build : callable
        From the parameters in the order of ``grid`` to an estimator.
    grid : dict of str to tuple of float
        Ascending values.
    extends : tuple of str
        Parameters whose grid grows by a further step while the best value is at its end.
    trials : int, optional
        At most so many: for slow methods.
    choose_as : str, optional
        Take the parameters that this method chose in the trial, instead of cross-validating.
    """

    build: Callable[..., Any]
    grid: Mapping[str, Sequence[float]]
    extends: tuple[str, ...] = ("C",)
    trials: int | None = None
    choose_as: str | None = None


def _svm(C: float, cost: float) -> LinearSVC:
    return LinearSVC(C=C, class_weight={1: cost}, random_state=0, max_iter=2000)


def _aatp(C: float, share: float) -> AATP:
    return AATP(C=C, tau=min(share, 0.999), max_candidates=20)


class TopOfRange(SVMpAUC):
    """SVMpAUC as the TopPush paper has it: tight, rates from 0 to 1/n, which is the problem of the Infinite Push."""

    def fit(self, X: Any, y: Array, **more: Any) -> Self:
        self.max_fpr = 1.0 / int(np.sum(y != 1))
        return super().fit(X, y, **more)


def _push(p: float) -> Method:
    return Method(lambda: PNormPush(p=p, n_estimators=ROUNDS), {}, extends=())


METHODS: dict[str, Method] = {
    "TopPush": Method(lambda C: TopPush(C=C), {"C": DECADES}),
    "TopPush, paper's stop": Method(lambda C: TopPush(C=C, solver="nesterov"), {"C": DECADES}),
    "InfinitePush": Method(lambda C: InfinitePush(C=C), {"C": DECADES}),
    "TauFPL": Method(
        lambda C, tau: TauFPL(C=C, tau=tau),
        {"C": DECADES, "tau": (0.005, 0.02, 0.05, 0.2, 0.5)},
    ),
    "PatMat": Method(lambda C, tau: PatMat(C=C, tau=tau), {"C": DECADES, "tau": (0.005, 0.02, 0.05, 0.2)}),
    "AATP": Method(_aatp, {"C": DECADES, "share": ()}),
    "LR": Method(lambda C: LogisticRegression(solver="liblinear", C=C, max_iter=1000), {"C": DECADES}),
    "cs-SVM": Method(_svm, {"C": DECADES, "cost": DECADES}, extends=("C", "cost")),
    "linear SVM": Method(lambda C: _svm(C, 1.0), {"C": DECADES}),
    "RankSVM": Method(lambda C: RankSVM(C=C), {"C": DECADES}),
    "SVMMAP": Method(lambda C: SVMMAP(C=C, tol=1e-3), {"C": DECADES}),
    "SVMpAUC": Method(lambda C: TopOfRange(C=C), {"C": DECADES}),
    "OWPC": Method(lambda C: OWPC(C=C), {"C": DECADES}),
    "RankBoost": Method(lambda: RankBoost(n_estimators=ROUNDS, weak="linear"), {}, extends=()),
    "RankBoost, stumps": Method(lambda: RankBoost(n_estimators=ROUNDS), {}, extends=()),
    **{f"P-Norm Push, p = {p}": _push(p) for p in (4, 16, 64)},
}


@dataclass
class Trials:
    """Test figures of one method on one set, a list entry a trial."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    chosen: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, found: Mapping[str, float]) -> None:
        for name, value in found.items():
            self.figures.setdefault(name, []).append(float(value))

    def mean(self, name: str) -> float:
        return float(np.mean(self.figures[name]))

    def std(self, name: str) -> float:
        return float(np.std(self.figures[name]))


def scores_of(model: Any, X: Any) -> Array:
    return np.asarray(model.decision_function(X))


def choose(method: Method, X: Any, y: Array, by: str, seed: int) -> Params:
    """The parameters with the best mean over the folds; ties go to the other measure, then to the smaller value.

    ``by`` is "pos_at_top" or "average_precision".
    """
    n_folds = min(FOLDS, int(np.sum(y == 1)), int(np.sum(y != 1)))
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    folds = [(X[train], y[train], X[valid], y[valid]) for train, valid in splits]
    known: dict[Params, Score] = {}

    def score(params: Params) -> Score:
        if params not in known:
            found = []
            for X_train, y_train, X_valid, y_valid in folds:
                s = scores_of(method.build(*params).fit(X_train, y_train), X_valid)
                found.append((pos_at_top(y_valid, s), average_precision(y_valid, s)))
            top, precision = np.mean(found, axis=0)
            known[params] = (top, precision) if by == "pos_at_top" else (precision, top)
        return known[params]

    grid = {name: sorted(values) for name, values in method.grid.items()}
    if not method.extends and all(len(values) == 1 for values in grid.values()):
        return tuple(values[0] for values in grid.values())
    lengths = {name: len(values) for name, values in grid.items()}
    while True:
        best = max(itertools.product(*grid.values()), key=lambda params: (*score(params), *(-p for p in params)))
        grown = False
        for name, value in zip(grid, best, strict=True):
            values = grid[name]
            if name not in method.extends or known[best][0] == 0 or len(values) >= lengths[name] + 2 * REACH:
                continue
            if value == values[0]:
                values.insert(0, values[0] ** 2 / values[1])
                grown = True
            elif value == values[-1]:
                values.append(values[-1] ** 2 / values[-2])
                grown = True
        if not grown:
            return best


def run(
    methods: Mapping[str, Method],
    X: Any,
    y: Array,
    *,
    trials: int,
    train_size: float,
    by: str,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Trials]:
    """All trials on one set.  A trial's split and folds are the same for every method."""
    results = {name: Trials() for name in methods}
    splits = StratifiedShuffleSplit(trials, train_size=train_size, random_state=0)
    for trial, (train, test) in enumerate(splits.split(np.zeros(len(y)), y)):
        picked: dict[str, Params] = {}
        for name, method in methods.items():
            if method.trials is not None and trial >= method.trials:
                continue
            start = time.perf_counter()
            if method.choose_as is None:
                picked[name] = choose(method, X[train], y[train], by, seed=trial)
            else:
                picked[name] = picked[method.choose_as]
            model = method.build(*picked[name]).fit(X[train], y[train])
            found = evaluate(y[test], scores_of(model, X[test]))
            keys = ("positives_at_top", "pos_at_top", "average_precision", "ndcg", "dcg", "auc")
            results[name].add({key: found[key] for key in keys})
            results[name].chosen.append(dict(zip(method.grid, picked[name], strict=True)))
            results[name].seconds += time.perf_counter() - start
        report(f"trial {trial + 1} of {trials}")
    return {name: found for name, found in results.items() if found.figures}


def marks(ours: Trials, other: Trials, name: str, level: float = 0.9) -> str:
    """● where ``ours`` is better, ○ where it is worse, by the paired t-test of the TopPush paper."""
    n = min(len(ours.figures[name]), len(other.figures[name]))
    a, b = np.array(ours.figures[name][:n]), np.array(other.figures[name][:n])
    if n < 3 or np.ptp(a - b) == 0:
        return ""
    if float(ttest_rel(a, b).pvalue) >= 1 - level:
        return ""
    return "●" if a.mean() > b.mean() else "○"


def earlier(path: Path | None, name: str) -> dict[str, Trials]:
    """What the file of results has of a set; trials of one number have the same split, however many there are."""
    if path is None or not path.exists():
        return {}
    methods = json.loads(path.read_text()).get("sets", {}).get(name, {}).get("methods", {})
    return {key: Trials(old["figures"], old["chosen"], old["seconds"]) for key, old in methods.items()}


def save(path: Path | None, head: dict[str, Any], name: str, settings: Any, found: dict[str, Trials]) -> None:
    """Put one set's figures into the file, beside those of other sets, and of methods that are not run again."""
    if path is None:
        return
    stored = json.loads(path.read_text()) if path.exists() else {}
    sets = stored.get("sets", {})
    before = sets.get(name, {"settings": {}, "methods": {}})
    grids = {**before["settings"].get("grids", {}), **settings["grids"]}
    methods = {
        key: {"seconds": round(t.seconds, 2), "chosen": t.chosen, "figures": t.figures} for key, t in found.items()
    }
    sets[name] = {
        "settings": {**settings, "grids": grids},
        "methods": {**before["methods"], **methods},
    }
    write_json(path, {**head, "sets": sets})
