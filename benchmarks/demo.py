"""A first look: ``make demo`` trains, ranks and prints a leaderboard in a few seconds.

    python -m benchmarks.demo

All figures are of held-out rows: means over random halves.  Every method chooses its parameters on its
training half alone, by cross-validated average precision, from a grid of the same four C.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from shortlist import ExactRanker, InfinitePush, Reranker, TauFPL, TopPush, metrics
from shortlist.datasets import make_gaussians, make_theorem1, make_top_heavy
from shortlist.report import Report, evaluation_report, write_report

Array = NDArray[Any]

SPLITS = 3
FOLDS = 3
GRID_C = [0.1, 1.0, 10.0, 100.0]
REPORT = Path("build/demo-report.html")

METHODS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "TopPush": (TopPush(), {"C": GRID_C}),
    "Infinite Push": (InfinitePush(), {"C": GRID_C}),
    "TauFPL": (TauFPL(), {"C": GRID_C, "tau": [0.02, 0.1]}),
    "logistic regression": (LogisticRegression(max_iter=1000), {"C": GRID_C}),
    "linear SVM": (LinearSVC(), {"C": GRID_C}),
}


@dataclass(frozen=True)
class Task:
    """Rows to rank, and what the user would act on."""

    title: str
    X: Array
    y: Array
    groups: Array | None
    k: int
    remark: str


@dataclass(frozen=True)
class Result:
    """One method on one half: parameters chosen, figures on the other half, the fit's own evidence."""

    chosen: str
    figures: tuple[float, float, float, float]
    seconds: float
    certificate: Any
    ranks: bool


def tasks() -> Iterator[Task]:
    X, y = load_breast_cancer(return_X_y=True)
    yield Task(
        "Breast cancer: 569 tumours, which to treat first (malignant is the positive)",
        X,
        (y == 0).astype(int),
        None,
        100,
        "Small and nearly separable: the methods are within a few rows of each other.",
    )
    X, y = load_digits(return_X_y=True)
    yield Task(
        "Digits: 1,797 images, the eights on top",
        X,
        (y == 8).astype(int),
        None,
        50,
        "Some 900 rows to learn 64 weights: the single best negative is a noisy threshold, and what leans\n"
        "  on all rows, logistic regression, has the better average precision and AUC.",
    )
    X, y, groups = make_top_heavy(100, (20, 60), noise=0.2, random_state=0)
    yield Task(
        "Generated: 100 queries, decoys that look like the best rows (figures are means over queries)",
        X,
        y,
        groups,
        3,
        "Shortlist's methods are told the queries; the other two have no way to be. Where the optimum under\n"
        "  the single best negative is w = 0, TopPush and the Infinite Push say so; TauFPL is the remedy.",
    )


def fit(model: Any, X: Array, y: Array, groups: Array | None) -> Any:
    """Fit, with the groups where the estimator knows them."""
    knows_groups = type(model).__module__.startswith("shortlist")
    with warnings.catch_warnings():
        # Optima of w = 0 are common on the grid; they score as a random order does and lose.
        warnings.simplefilter("ignore")
        return model.fit(X, y, groups=groups) if knows_groups else model.fit(X, y)


def choose(model: Any, grid: dict[str, list[float]], X: Array, y: Array, groups: Array | None) -> Any:
    """The model with the parameters of the best cross-validated average precision."""
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    parts = list(folds.split(X, y, np.arange(len(y)) if groups is None else groups))
    best, best_score = model, -np.inf
    for values in product(*grid.values()):
        candidate = clone(model).set_params(**dict(zip(grid, values, strict=True)))
        scores = []
        for train, test in parts:
            fitted = fit(clone(candidate), X[train], y[train], None if groups is None else groups[train])
            s = fitted.decision_function(X[test])
            g = None if groups is None else groups[test]
            scores.append(metrics.average_precision(y[test], s, groups=g))
        if np.mean(scores) > best_score:
            best, best_score = candidate, float(np.mean(scores))
    return best


def halves(task: Task) -> Iterator[tuple[Array, Array]]:
    """Random halves: of the rows, or of the queries."""
    kind = StratifiedShuffleSplit if task.groups is None else GroupShuffleSplit
    yield from kind(SPLITS, test_size=0.5, random_state=0).split(task.X, task.y, task.groups)


def run(task: Task, name: str) -> list[Result]:
    model, grid = METHODS[name]
    results = []
    for train, test in halves(task):
        scaler = MinMaxScaler().fit(task.X[train])
        X, X_test, y = scaler.transform(task.X[train]), scaler.transform(task.X[test]), task.y
        groups = None if task.groups is None else task.groups[train]
        best = choose(model, grid, X, y[train], groups)
        began = time.perf_counter()
        fitted = fit(clone(best), X, y[train], groups)
        seconds = time.perf_counter() - began
        s = fitted.decision_function(X_test)
        among = {"groups": None if task.groups is None else task.groups[test]}
        figures = (
            metrics.pos_at_top(y[test], s, **among),
            metrics.precision_at_k(y[test], s, k=task.k, **among),
            metrics.average_precision(y[test], s, **among),
            metrics.auc(y[test], s, **among),
        )
        chosen = ", ".join(f"{name}={getattr(best, name):g}" for name in grid)
        results.append(
            Result(chosen, figures, seconds, getattr(fitted, "certificate_", None), bool(np.any(fitted.coef_)))
        )
    return results


def line(name: str, results: list[Result]) -> str:
    """A row of the leaderboard."""
    figures = np.mean([result.figures for result in results], axis=0)
    seconds = np.mean([result.seconds for result in results])
    certificates = [result.certificate for result in results]
    if any(c is None for c in certificates):
        proof = f"{'none':>7} {'':>6}"
    else:
        gap = max(c.relative_gap for c in certificates)
        passes = np.mean([c.n_passes for c in certificates])
        proof = f"{gap:7.0e} {passes:6.0f}"
    numbers = "{:7.3f} {:8.3f} {:7.3f} {:7.3f}".format(*figures)
    idle = sum(not result.ranks for result in results)
    note = f"  (w = 0 in {idle} of {len(results)} halves)" if idle else ""
    return f"  {name:<20} {numbers}  {proof} {seconds:8.3f}   {results[0].chosen}{note}"


def main() -> None:
    began = time.perf_counter()
    print(
        f"Held-out figures, means of {SPLITS} random halves. C (and tau) are chosen on the training half by "
        f"{FOLDS}-fold\naverage precision; 'chosen' shows the first half's.\n"
        "  at top   share of positives above every negative\n"
        "  gap      proven distance from the optimum, relative, the worst of the halves\n"
        "  passes   products of the training matrix with a vector\n"
        "  seconds  one fit\n"
    )
    # On rows as few as these a second BLAS thread costs more than it brings.
    with threadpool_limits(1):
        for task in tasks():
            leaderboard(task)
        rerank()
        report, model = held_out_report()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    write_report(REPORT, report, overwrite=True)
    print("A certificate in full (TauFPL on half of breast cancer):")
    print(f"  {model.certificate_}")
    print(f"The other half as a page to show others: {REPORT}")
    print(f"  {report.summary}")
    print(f"\nDone in {time.perf_counter() - began:.1f} s. Next: README.md, then docs/choosing.md.")


def held_out_report() -> tuple[Report, Any]:
    """Half of the tumours ranked by what the other half taught, as a report; and the model."""
    data = load_breast_cancer()
    X, y = data.data, np.where(data.target == 0, "malignant", "benign")
    train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=0).split(X, y))
    scaler = MinMaxScaler().fit(X[train])
    model, rival = TauFPL(C=10.0, tau=0.05), LogisticRegression(C=10.0, max_iter=1000)
    ours, theirs = (m.fit(scaler.transform(X[train]), y[train]) for m in (model, rival))
    report = evaluation_report(
        y[test],
        ours.decision_function(scaler.transform(X[test])),
        budget=100,
        pos_label="malignant",
        name="TauFPL",
        others={"logistic regression": theirs.decision_function(scaler.transform(X[test]))},
        table=dict(zip(data.feature_names, X[test].T, strict=True)),
        ids=test,
        model=ours,
        noun="tumours",
        positive="malignant",
        title="Which tumours to treat first",
        data="the breast cancer data that scikit-learn carries; one random half to learn from, this page on the other",
        command="make demo",
    )
    return report, ours


def leaderboard(task: Task) -> None:
    print(task.title)
    print(
        f"  {'':<20} {'at top':>7} {f'prec@{task.k}':>8} {'avg pr':>7} {'AUC':>7}  "
        f"{'gap':>7} {'passes':>6} {'seconds':>8}   chosen"
    )
    rows = [(name, run(task, name)) for name in METHODS]
    rows.sort(key=lambda row: -float(np.mean([result.figures[0] for result in row[1]])))
    for name, results in rows:
        print(line(name, results), flush=True)
    print(f"  {task.remark}\n")


def rerank() -> None:
    """The top of a list ordered again, with a proof."""
    top, k = 100, 10
    print(f"The top {top} of logistic regression, ranked again by the best weights there are for the DCG")
    print(f"  {'':<22} {'train DCG':>17} {f'held-out prec@{k}':>21}   proof")
    print(f"  {'':<22} {'before':>8} {'after':>8} {'before':>12} {'after':>8}")
    data = {"Gaussians (2 columns)": make_gaussians, "one column, outliers": make_theorem1}
    for name, make in data.items():
        X, y = make(random_state=0)
        train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=0).split(X, y))
        scaler = MinMaxScaler().fit(X[train])
        X, base = scaler.transform(X), LogisticRegression()
        exact = ExactRanker("dcg", time_limit=5, random_state=0)
        models = base.fit(X[train], y[train]), Reranker(base, exact, top=top).fit(X[train], y[train])
        scores = [model.decision_function(X) for model in models]
        dcg = [metrics.dcg(y[train], s[train]) for s in scores]
        hits = [metrics.precision_at_k(y[test], s[test], k=k) for s in scores]
        found = models[1].reranker_.certificate_
        proof = "none is better" if found.proven else f"none is better by {100 * found.relative_gap:.2g} %"
        cells = f"{dcg[0]:>8.2f} {dcg[1]:>8.2f} {hits[0]:>12.2f} {hits[1]:>8.2f}"
        print(f"  {name:<22} {cells}   {proof} ({found.seconds:.1f} s)", flush=True)
    print("  Where the base is sound little is left to gain; where a few rows mislead it, the top turns over.\n")


if __name__ == "__main__":
    main()
