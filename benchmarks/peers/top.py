"""TopPush beside its peers on the same data in the same run.

    python -m benchmarks.peers.top [--sets w8a nslkdd] [--C 1 100 10000] [--cap 20]
    python -m benchmarks.peers.top --losses

Every method minimises 1/2 ||w||^2 + C * risk with a risk that is a mean.  For n rows that is
``LogisticRegression(solver="liblinear", C=C/n)`` and ``LinearSVC(C=C/n)``, whose own C multiplies a sum.
``nesterov`` is the paper's algorithm, run until its objective is within 1e-4 of TopPush's, or for ``--cap``
seconds.  The timed methods take turns, so that noise hits all alike; seconds are those of the whole ``fit``,
input checks included.  Positives at top are fractions, means over stratified splits into 2/3 for training
and 1/3 for test.

``--losses`` prints the certificates of all four surrogates.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from benchmarks._common import (
    RESULTS,
    SIX,
    Array,
    describe,
    load_scaled,
    mark,
    number,
    table,
    threads,
    versions,
    write_json,
)
from shortlist import InfinitePush, TopPush
from shortlist.metrics import pos_at_top
from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk
from shortlist.solvers.reference.nesterov import solve_nesterov

METHODS = ("TopPush", "InfinitePush", "nesterov", "LIBLINEAR LR", "LinearSVC")
LONG = 10.0  # seconds; a run longer than this is not repeated
LARGE = 4000  # rows from which the aims hold
SLACK = 1e-4  # of the objective that nesterov has to reach


@dataclass
class Fit:
    """One fit: coefficients, and what was spent on them."""

    coef: Array
    seconds: float
    passes: float | None = None
    gap: float | None = None
    objective: float | None = None
    bound: float | None = None
    reached: bool = True


@dataclass
class Measured:
    """One method at one C on one set."""

    seconds: list[float] = field(default_factory=list)
    last: Fit | None = None
    train: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)


def nesterov(X: Any, y: Array, C: float, best: Fit, cap: float) -> Fit:
    """The paper's algorithm to TopPush's objective; its gap is to the bound that TopPush proved."""
    risk = TopRisk.from_labels(y == 1, surrogate("squared_hinge"), Maximum())
    start, lowest = time.perf_counter(), [np.inf]

    def watch(_: int, primal: float, __: float) -> bool:
        lowest[0] = min(lowest[0], primal)
        return time.perf_counter() - start > cap

    assert best.objective is not None
    assert best.bound is not None
    target = best.objective * (1 + SLACK)
    solution = solve_nesterov(X, risk, C, stop="paper", tol=0.0, target=target, max_iter=10**9, callback=watch)
    seconds = time.perf_counter() - start
    reached = lowest[0] <= target
    gap = (lowest[0] - best.bound) / lowest[0]
    return Fit(solution.coef, seconds, solution.certificate.n_passes, gap, lowest[0], None, reached)


def fit(method: str, X: Any, y: Array, C: float, best: Fit | None, cap: float) -> Fit:
    """Fit one method."""
    if method == "nesterov":
        assert best is not None
        return nesterov(X, y, C, best, cap)
    models = {
        "TopPush": TopPush(C=C),
        "InfinitePush": InfinitePush(C=C),
        "LIBLINEAR LR": LogisticRegression(solver="liblinear", C=C / len(y), max_iter=1000),
        "LinearSVC": LinearSVC(C=C / len(y), max_iter=100_000, random_state=0),
    }
    model = models[method]
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    proof = getattr(model, "certificate_", None)
    if proof is None:
        return Fit(model.coef_[0], seconds)
    return Fit(model.coef_[0], seconds, proof.n_passes, proof.relative_gap, proof.primal, proof.bound)


def time_all(X: Any, y: Array, C: float, repeats: int, cap: float) -> dict[str, Measured]:
    """Medians, the methods by turns."""
    measured = {method: Measured() for method in METHODS}
    for turn in range(repeats):
        for method, record in measured.items():
            if turn and record.seconds[0] > LONG:
                continue
            record.last = fit(method, X, y, C, measured["TopPush"].last, cap)
            record.seconds.append(record.last.seconds)
    return measured


def rank_held_out(X: Any, y: Array, C: float, splits: int, cap: float, measured: dict[str, Measured]) -> None:
    """Positives at top in training and test; nesterov, which is slow, on the first split only."""
    folds = StratifiedShuffleSplit(splits, test_size=1 / 3, random_state=0).split(np.zeros(len(y)), y)
    for turn, (train, test) in enumerate(folds):
        best = None
        X_train, X_test = X[train], X[test]
        for method, record in measured.items():
            if method == "nesterov" and turn:
                continue
            done = fit(method, X_train, y[train], C, best, cap)
            best = best or done
            record.train.append(pos_at_top(y[train], X_train @ done.coef))
            record.test.append(pos_at_top(y[test], X_test @ done.coef))


def row(name: str, C: float, method: str, record: Measured) -> dict[str, Any]:
    last = record.last
    assert last is not None
    return {
        "set": name,
        "C": C,
        "method": method,
        "seconds": median(record.seconds),
        "repeats": len(record.seconds),
        "reached": last.reached,
        "passes": last.passes,
        "relative_gap": last.gap,
        "objective": last.objective,
        "train": float(np.mean(record.train)) if record.train else None,
        "test": float(np.mean(record.test)) if record.test else None,
    }


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, print row by row, and sum up."""
    print("| set | C | method | seconds | repeats | passes | relative gap | train | test |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|", flush=True)
    results = []
    for name in options.sets:
        X, y = load_scaled(name)
        for C in options.C:
            measured = time_all(X, y, C, options.repeats, options.cap)
            rank_held_out(X, y, C, options.splits, min(options.cap, 10.0), measured)
            for method, record in measured.items():
                found = row(name, C, method, record)
                results.append({**found, "rows": len(y)})
                seconds = number(found["seconds"]) if found["reached"] else f">{options.cap:g}"
                gap = "-" if found["relative_gap"] is None else f"{found['relative_gap']:.0e}"
                cells = [name, f"{C:g}", method, seconds, found["repeats"], number(found["passes"]), gap]
                cells += [number(found["train"]), number(found["test"])]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return {"results": results, **sum_up(results, options.cap)}


def sum_up(results: list[dict[str, Any]], cap: float) -> dict[str, Any]:
    """Ratios, and whether the aims are met on the large sets."""
    by_case: dict[tuple[str, float], dict[str, dict[str, Any]]] = {}
    for result in results:
        by_case.setdefault((result["set"], result["C"]), {})[result["method"]] = result
    ratios, failed = [], {"LIBLINEAR": [], "nesterov": []}
    for (name, C), found in by_case.items():
        ours, paper = found["TopPush"], found["nesterov"]
        to_peer = ours["seconds"] / found["LIBLINEAR LR"]["seconds"]
        to_paper = paper["seconds"] / ours["seconds"]
        if ours["rows"] >= LARGE:
            if to_peer > 3:
                failed["LIBLINEAR"].append(f"{name} C={C:g} ({to_peer:.1f}x)")
            if to_paper < 10:
                failed["nesterov"].append(f"{name} C={C:g} ({to_paper:.1f}x)")
        ratios.append(
            {"set": name, "C": C, "rows": ours["rows"], "TopPush/LIBLINEAR": to_peer,
             "nesterov/TopPush": to_paper, "nesterov_reached": paper["reached"]}
        )  # fmt: skip
    print()
    shown = [
        [r["set"], r["rows"], f"{r['C']:g}", number(r["TopPush/LIBLINEAR"]),
         ("" if r["nesterov_reached"] else ">") + number(r["nesterov/TopPush"])]
        for r in ratios
    ]  # fmt: skip
    print(table(["set", "rows", "C", "TopPush/LIBLINEAR", "nesterov/TopPush"], shown))
    aims = {"LIBLINEAR": "TopPush within 3x of LIBLINEAR", "nesterov": "TopPush 10x faster than nesterov"}
    print()
    for key, aim in aims.items():
        where = "; not on " + ", ".join(failed[key]) if failed[key] else ""
        print(f"{mark(not failed[key])}: {aim} for n >= {LARGE}{where}")
    return {"ratios": ratios, "failed": failed, "cap": cap}


def certificates(options: argparse.Namespace) -> dict[str, Any]:
    """Relative gaps of all surrogates, at the default tolerance and at 1e-8."""
    results, worst = [], True
    print("| set | C | loss | tol | relative gap | steps | passes | seconds | |")
    print("|---|--:|---|--:|--:|--:|--:|--:|---|", flush=True)
    for name in options.sets:
        X, y = load_scaled(name)
        tolerances = (1e-4, 1e-8) if len(y) <= 5000 else (1e-4,)
        for C in options.C:
            for loss in SURROGATES:
                for tol in tolerances:
                    start = time.perf_counter()
                    proof = TopPush(C=C, loss=loss, tol=tol).fit(X, y).certificate_
                    seconds = time.perf_counter() - start
                    worst &= proof.converged
                    results.append(
                        {"set": name, "C": C, "loss": loss, "tol": tol, "relative_gap": proof.relative_gap,
                         "n_iter": proof.n_iter, "passes": proof.n_passes, "seconds": seconds,
                         "converged": proof.converged}
                    )  # fmt: skip
                    cells = [name, f"{C:g}", loss, f"{tol:.0e}", f"{proof.relative_gap:.1e}", proof.n_iter]
                    cells += [number(proof.n_passes), number(seconds), mark(proof.converged)]
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"\n{mark(worst)}: every surrogate proves its tolerance on every set")
    return {"results": results, "passed": worst}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SIX))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0, 10_000.0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--splits", type=int, default=3, help="splits into training and test rows")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds granted to nesterov")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, for every method")
    parser.add_argument("--losses", action="store_true", help="print the certificates of all surrogates")
    parser.add_argument("--quick", action="store_true", help="small generated data, once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.repeats, options.splits, options.cap = ["made"], 1, 1, 1.0
    head = versions(threads=options.threads, repeats=options.repeats, splits=options.splits)
    print(describe(head) + "\n")
    with threads(options.threads):
        report = {**head, **(certificates if options.losses else compare)(options)}
    default = None if options.quick else RESULTS / ("losses.json" if options.losses else "peers_top.json")
    write_json(options.json or default, report)
    return report


if __name__ == "__main__":
    main()
