"""Tables 2 to 4 of "The Infinite Push" (Agarwal, SDM 2011), beside what Shortlist finds.

    python -m benchmarks.papers.infinite_push [--sets ionosphere spambase screening] [--trials 10]

The paper's protocol: ten random splits that keep the share of positives; ionosphere trains on 2/3, spambase on
5 %, the screening sets on 10 %; C from {0.1 ... 1000} by five-fold cross-validation on the training part by the
mean of average precision; means over the trials of AUC, the number of positives at the top, average precision and
DCG (logarithm to base 2, labels as gains).  Features are scaled to [0, 1].

The paper's screening data (five targets) are not public.  The stand-in is other data of the same form: fingerprints
of 1,021 bits, three targets with 47 or 50 actives each, 1,892 presumed inactives, and the other targets' actives as
further inactives.  It is read from the folder that SHORTLIST_DATA names.

RankBoost and the P-Norm Push take features as weak rankers and 100 rounds, as in the paper: nothing is chosen.  SVMMAP
stops at a relative gap of 1e-3.  TopPush, TauFPL, PatMat, OWPC, LR and the linear SVM are not in the paper's tables.

"InfinitePush, as printed" is the paper's gradient projection with the paper's stop: 1,000 steps, the first step
size chosen with C.  It is slow, so that by default it gets a part of its grids; ``--full`` gives
it the paper's.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks._common import RESULTS, Array, describe, load_scaled, make_noisy, table, threads, versions
from benchmarks.papers._protocol import METHODS, Method, Trials, earlier, marks, run, save
from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk
from shortlist.solvers.reference.gradient_projection import solve_gradient_projection

SETS = ("ionosphere", "spambase", "screening")
TRAIN = {"ionosphere": 2 / 3, "spambase": 0.05, "screening": 0.1, "made": 0.5}
TARGETS = ("cdk2", "cox2", "fxa")
ACTIVES = 50
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FIRST_STEPS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
STEPS = 1000
BOOSTING = ("RankBoost", *(f"P-Norm Push, p = {p}" for p in (4, 16, 64)))
USED = ("InfinitePush", "RankSVM", "SVMMAP", *BOOSTING, "TopPush", "TauFPL", "PatMat", "OWPC", "LR", "linear SVM")
PRINTED = "InfinitePush, as printed"
MEASURES = {
    "AUC": "auc",
    "Positives at top": "positives_at_top",
    "Average precision": "average_precision",
    "DCG": "dcg",
}

PAPER: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "ionosphere": {
        "RankSVM": (0.9271, 12.1, 0.9330, 16.6200),
        "SVMMAP": (0.9207, 16.5, 0.9357, 16.7940),
        "RankBoost": (0.9052, 10.7, 0.9086, 16.4462),
        "P-Norm Push, p = 4": (0.8789, 6.7, 0.8849, 16.2743),
        "P-Norm Push, p = 16": (0.9070, 13.9, 0.9218, 16.6527),
        "P-Norm Push, p = 64": (0.8917, 9.9, 0.9064, 16.4970),
        "InfinitePush": (0.9237, 14.7, 0.9328, 16.6336),
    },
    "spambase": {
        "RankSVM": (0.9418, 22.2, 0.9010, 189.6650),
        "SVMMAP": (0.9319, 48.6, 0.8957, 189.6074),
        "RankBoost": (0.9194, 12.5, 0.8714, 188.2330),
        "P-Norm Push, p = 4": (0.8024, 5.0, 0.6905, 180.4931),
        "P-Norm Push, p = 16": (0.8293, 24.1, 0.7707, 185.4531),
        "P-Norm Push, p = 64": (0.8490, 31.4, 0.8143, 187.3132),
        "InfinitePush": (0.9388, 49.9, 0.9028, 189.8070),
    },
    "screening": {
        "RankSVM": (0.8881, 6.00, 0.4708, 6.4877),
        "SVMMAP": (0.8852, 5.80, 0.4778, 6.5580),
        "RankBoost": (0.8753, 3.31, 0.3714, 5.9695),
        "P-Norm Push, p = 4": (0.8525, 3.16, 0.3178, 5.5329),
        "P-Norm Push, p = 16": (0.8786, 3.89, 0.4005, 6.1465),
        "P-Norm Push, p = 64": (0.8805, 3.96, 0.3997, 6.1685),
        "InfinitePush": (0.8991, 6.34, 0.4910, 6.6052),
    },
}


class Printed:
    """The paper's gradient projection: a fixed number of steps, however far from the optimum."""

    def __init__(self, C: float, eta0: float) -> None:
        self.C, self.eta0 = C, eta0

    def fit(self, X: Any, y: Array) -> Self:
        risk = TopRisk.from_labels(y == 1, surrogate("hinge"), Maximum())
        solution = solve_gradient_projection(
            X, risk, self.C, tol=0.0, max_iter=STEPS, schedule="printed", eta0=self.eta0
        )
        self.coef_ = solution.coef
        return self

    def decision_function(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_)


def methods_for(name: str, full: bool, quick: bool) -> dict[str, Method]:
    """All methods with the paper's grid of C; the printed algorithm with as much of its own as time allows."""
    used, cs = (("InfinitePush", "RankBoost", "LR"), CS[1:3]) if quick else (USED, CS)
    if name == "screening" and not full:  # a thousand columns are slow for PatMat
        used = tuple(key for key in used if key != "PatMat")
    methods = {
        key: replace(METHODS[key], grid={**METHODS[key].grid, "C": cs}, extends=())
        if METHODS[key].grid
        else METHODS[key]
        for key in used
    }
    if full:
        printed = Method(Printed, {"C": CS, "eta0": FIRST_STEPS}, extends=())
    else:
        printed = Method(Printed, {"C": (1.0, 100.0), "eta0": (1e-5, 1e-4, 1e-3)}, extends=())
    return methods if quick else {"InfinitePush": methods["InfinitePush"], PRINTED: printed, **methods}


def load_screening(target: str) -> tuple[Array, Array]:
    """Bits and labels of one target of the stand-in."""
    folder = Path(os.environ.get("SHORTLIST_DATA", "")) / "vs_standin"
    names = ("vs_standin.csv.gz", "vs_standin_fp2.npz")
    if not os.environ.get("SHORTLIST_DATA") or not all((folder / name).exists() for name in names):
        raise SystemExit(
            "The screening sets need SHORTLIST_DATA to name a folder that holds vs_standin/vs_standin.csv.gz "
            "and vs_standin/vs_standin_fp2.npz; or leave them out with --sets ionosphere spambase."
        )
    with gzip.open(folder / names[0], "rt", newline="") as file:
        of = np.array([(row["target"], row["kind"]) for row in csv.DictReader(file)])
    stored = np.load(folder / names[1], allow_pickle=False)
    actives = {t: np.flatnonzero((of[:, 0] == t) & (of[:, 1] == "active"))[:ACTIVES] for t in TARGETS}
    others = [actives[t] for t in TARGETS if t != target]
    rows = np.concatenate([actives[target], np.flatnonzero(of[:, 1] == "presumed_inactive"), *others])
    X = np.unpackbits(stored["fp_packed"][rows], axis=1, count=int(stored["n_bits"])).astype(float)
    y = np.zeros(len(rows), dtype=np.int64)
    y[: len(actives[target])] = 1
    return X, y


def problems(name: str) -> list[tuple[Array, Array]]:
    """The sets whose trials are averaged under one name."""
    if name == "screening":
        return [load_screening(target) for target in TARGETS]
    if name == "made":
        return [make_noisy(300, 10, share=0.3, seed=0)]
    return [load_scaled(name)]


def joined(parts: list[dict[str, Trials]]) -> dict[str, Trials]:
    """The trials of several sets, one after the other."""
    whole = parts[0]
    for part in parts[1:]:
        for name, trials in part.items():
            for key, values in trials.figures.items():
                whole[name].figures[key] += values
            whole[name].chosen += trials.chosen
            whole[name].seconds += trials.seconds
    return whole


def show(name: str, found: dict[str, Trials]) -> str:
    rows = []
    for method, trials in found.items():
        row = [method, "ours", len(trials.figures["auc"])]
        base = found.get("InfinitePush", trials)
        if name == "screening" and len(base.figures["auc"]) != len(trials.figures["auc"]):
            base = trials  # target by target, so that fewer trials are not the first ones: nothing to pair
        for key in MEASURES.values():
            digits = 1 if key == "positives_at_top" and name != "screening" else 4
            digits = 2 if key == "positives_at_top" and name == "screening" else digits
            figure = f"{trials.mean(key):.{digits}f} ± {trials.std(key):.{min(digits, 3)}f}"
            row.append(f"{figure} {marks(base, trials, key)}".rstrip())
        rows.append(row)
        if method in PAPER.get(name, {}):
            area, top, precision, gain = PAPER[name][method]
            rows.append(["", "paper", "", f"{area:.4f}", f"{top:g}", f"{precision:.4f}", f"{gain:.4f}"])
    return table(["method", "", "trials", *MEASURES], rows, first_left=2)


def main(arguments: list[str] | None = None) -> dict[str, dict[str, Trials]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--methods", nargs="+", help="these only, the others as they were kept")
    parser.add_argument("--show", action="store_true", help="run nothing: the tables as they were kept")
    parser.add_argument("--full", action="store_true", help="the paper's grids for its own algorithm too")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small generated data, two trials")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.trials = ["made"], 2
    path = options.json or (None if options.quick else RESULTS / "papers_infinite_push.json")
    head = versions(threads=options.threads)
    print(describe(head), flush=True)
    results = {}
    with threads(options.threads):
        for name in options.sets:
            if options.show:
                results[name] = earlier(path, name)
                print(f"\n{name}, training share {TRAIN[name]:.3g}\n{show(name, results[name])}")
                continue
            methods = methods_for(name, options.full, options.quick)
            if options.methods:
                methods = {key: m for key, m in methods.items() if key in options.methods}
            parts = [
                run(methods, X, y, trials=options.trials, train_size=TRAIN[name], by="average_precision")
                for X, y in problems(name)
            ]
            found = joined(parts)
            settings = {
                "trials": options.trials,
                "train_size": TRAIN[name],
                "grids": {key: {k: list(v) for k, v in m.grid.items()} for key, m in methods.items()},
            }
            save(path, head, name, settings, found)
            results[name] = {**earlier(path, name), **found} if options.methods else found
            print(f"\n{name}: {options.trials} trials, training share {TRAIN[name]:.3g}")
            print(show(name, results[name]), flush=True)
    print("\n● InfinitePush significantly better, ○ worse: paired t-test over the trials, 0.9")
    return results


if __name__ == "__main__":
    main()
