"""RankBoost and the P-Norm Push beside scikit-learn's boosting, as many rounds each, in the same run.

    python -m benchmarks.peers.boosting [--sets spambase ionosphere] [--rounds 100]

Every method gets the features in [0, 1] and its own defaults but for the number of rounds: ``AdaBoostClassifier`` takes
the best stump by impurity, ``HistGradientBoostingClassifier`` trees of up to 31 leaves on 255 bins, without early
stopping.  So the stumps of AdaBoost are the like of RankBoost's, the trees are not: what they can express is more.  The
methods take turns; seconds are those of the whole ``fit``, the median of three, and their ratio to RankBoost's.
Quality is held out: means over five stratified splits into 2/3 for training and 1/3 for test.

The aim: RankBoost with stumps, 100 rounds, all of spambase in less than 1.5 seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks._common import RESULTS, describe, load_scaled, number, table, threads, versions, write_json
from shortlist import PNormPush, RankBoost
from shortlist.metrics import evaluate

AIM = {"spambase": 1.5}
MEASURES = {"AUC": "auc", "AP": "average_precision", "Pos@Top": "pos_at_top"}
METHODS: dict[str, Callable[[int], Any]] = {
    "RankBoost, stumps": lambda rounds: RankBoost(rounds),
    "RankBoost, features": lambda rounds: RankBoost(rounds, weak="linear"),
    "PNormPush, stumps": lambda rounds: PNormPush(4.0, rounds, weak="stump"),
    "PNormPush, features": lambda rounds: PNormPush(4.0, rounds),
    "AdaBoost": lambda rounds: AdaBoostClassifier(n_estimators=rounds, random_state=0),
    "HistGradientBoosting": lambda rounds: HistGradientBoostingClassifier(
        max_iter=rounds, early_stopping=False, random_state=0
    ),
}
OURS = "RankBoost, stumps"


def timed(X: Any, y: Any, rounds: int, repeats: int) -> dict[str, float]:
    """Median seconds of a fit to all rows."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(repeats):
        for name, build in METHODS.items():
            start = time.perf_counter()
            build(rounds).fit(X, y)
            seconds[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in seconds.items()}


def held_out(X: Any, y: Any, rounds: int, splits: int) -> dict[str, dict[str, float]]:
    """Means over the splits."""
    found: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    for train, test in StratifiedShuffleSplit(splits, train_size=2 / 3, random_state=0).split(X, y):
        for name, build in METHODS.items():
            scores = build(rounds).fit(X[train], y[train]).decision_function(X[test])
            measured = evaluate(y[test], scores)
            found[name].append([measured[key] for key in MEASURES.values()])
    return {name: dict(zip(MEASURES.values(), np.mean(values, axis=0), strict=True)) for name, values in found.items()}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["spambase", "ionosphere"])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small generated data, few rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.rounds, options.repeats, options.splits = ["made"], 10, 1, 1
    path = options.json or (None if options.quick else RESULTS / "peers_boosting.json")
    head = versions(threads=options.threads, rounds=options.rounds)
    print(describe(head), flush=True)
    results: dict[str, Any] = {}
    with threads(options.threads):
        for name in options.sets:
            X, y = load_scaled(name)
            seconds = timed(X, y, options.rounds, options.repeats)
            quality = held_out(X, y, options.rounds, options.splits)
            results[name] = {
                key: {"seconds": seconds[key], "ratio": seconds[key] / seconds[OURS], **quality[key]} for key in METHODS
            }
            print(f"\n{name}: {len(y)} rows, {int(y.sum())} positives, {X.shape[1]} columns", flush=True)
            rows = [
                [key, number(r["seconds"]), number(r["ratio"]), *(f"{r[m]:.4f}" for m in MEASURES.values())]
                for key, r in results[name].items()
            ]
            print(table(["method", "seconds", "ratio", *MEASURES], rows), flush=True)
            if name in AIM and options.rounds == 100:
                met = "met" if seconds[OURS] < AIM[name] else "MISSED"
                print(f"aim: below {AIM[name]} s, {met}")
    report = {**head, "sets": results}
    write_json(path, report)
    return report


if __name__ == "__main__":
    main()
