"""AutoRanker beside the models that people take: precision at the budget on rows that none of them saw.

    python -m benchmarks.peers.auto [--sets spambase w8a] [--splits 10] [--train-rows 1000]
    python -m benchmarks.peers.auto --report
    python -m benchmarks.peers.auto --seconds 20000

Random stratified splits, one third for test (whole groups, where a set has them); of the other two thirds at most
``--train-rows`` rows, drawn stratified, for all methods alike.  Three budgets: 1 % and 10 % of the positives among the
test rows, and 50 of the test rows.  AutoRanker is told the budget's share of the rows, nothing else; the others choose
C, or the size of the trees, by three-fold cross-validation on average precision, on the same columns: standardised for
the linear ones (sparse ones by the largest size), as they are for the trees.

Mean and deviation over the splits; AutoRanker against each of the others by the corrected paired t-test, the variance
widened for one third tested against two thirds trained, Holm's correction over the four.  "worse" says that AutoRanker
is significantly worse at 5 %.

A run continues from its file: what is done is not done again.  Fits that several budgets share are done once.  Splits
are the outer loop, so that an unfinished run has as many of each set.

``--seconds`` times one fit on so many generated rows of 30 columns, 5 % positive, on one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from benchmarks._common import RESULTS, Array, describe, make_noisy, number, table, threads, unit_range, versions
from benchmarks.papers.infinite_push import TARGETS, load_screening
from shortlist import AutoRanker
from shortlist.datasets import load
from shortlist.estimators._responses import scores_of
from shortlist.metrics import precision_at_k
from shortlist.selection.candidates import dense_for, scaled
from shortlist.selection.paired import corrected_t_test, holm
from shortlist.selection.race import Race
from shortlist.selection.splits import digest
from shortlist.selection.table import Table

SETS = (
    *("haberman", "ionosphere", "glow500", "uis", "pima", "diabetes", "travel_mode", "polypharm", "abalone19"),
    *("nhanes", "spambase", *(f"screening-{target}" for target in TARGETS), "w8a", "nslkdd", "news20_train"),
)
BUDGETS = ("1 % of the positives", "10 % of the positives", "50 rows")
PEERS = ("logistic regression", "linear SVM", "gradient boosting", "random forest")
METHODS = ("AutoRanker", *PEERS)
VERDICTS = ("better", "level", "worse", "untested")
RATIO = 0.5  # test rows for each row to train on
TRAIN_ROWS = 1000
PATH = RESULTS / "peers_auto.json"


class Remembered(Race):
    """A race that looks up scores that it has computed for another budget."""

    known: dict[tuple[str, ...], Array] = {}  # noqa: RUF012

    @staticmethod
    def _scores(model: Any, train: Table, test: Table) -> Array:
        key = (repr(model.get_params()), *(digest(_whole(part.X), part.labels, part.weights) for part in (train, test)))
        if key not in Remembered.known:
            Remembered.known[key] = Race._scores(model, train, test)
        return Remembered.known[key]


def _whole(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else X


def read(name: str) -> tuple[Any, Array, Array | None]:
    """Rows, labels and groups."""
    if name == "made":
        return *make_noisy(300, 6, share=0.3, seed=0), None
    if name.startswith("screening-"):
        return *load_screening(name.removeprefix("screening-")), None
    bunch = load(name)
    X, y, groups = bunch.data, np.asarray(bunch.target), bunch.groups
    if not sparse.issparse(X) and np.isnan(X).any():
        whole = ~np.isnan(X).any(axis=1)
        X, y, groups = X[whole], y[whole], None if groups is None else groups[whole]
    return unit_range(X), y, groups


def split(X: Any, y: Array, groups: Array | None, number: int, most: int) -> tuple[Array, Array]:
    """Rows to train on and to test on."""
    if groups is None:
        kind = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=number)
        train, test = next(kind.split(np.zeros(len(y)), y))
    else:
        kind = GroupShuffleSplit(1, test_size=1 / 3, random_state=number)
        train, test = next(kind.split(np.zeros(len(y)), y, groups))
    if len(train) > most:
        chosen = StratifiedShuffleSplit(1, train_size=most, random_state=number)
        train = train[next(chosen.split(np.zeros(len(train)), y[train]))[0]]
    return np.sort(train), np.sort(test)


def places(y: Array) -> dict[str, int]:
    """Rows that may be acted on, of rows with these labels."""
    positives = int(y.sum())
    return {
        BUDGETS[0]: max(round(0.01 * positives), 1),
        BUDGETS[1]: max(round(0.1 * positives), 1),
        BUDGETS[2]: min(50, len(y) // 2),
    }


def peer(name: str, X: Any, y: Array) -> Any:
    """A model with its grid."""
    linear = {"rank__C": [0.01, 0.1, 1.0, 10.0]}
    if name == "logistic regression":
        model, grid = scaled(LogisticRegression(max_iter=1000), X), linear
    elif name == "linear SVM":
        model, grid = scaled(LinearSVC(max_iter=2000, random_state=0), X), linear
    elif name == "gradient boosting":
        model = dense_for(HistGradientBoostingClassifier(random_state=0), X)
        grid = {f"{'rank__' if hasattr(model, 'steps') else ''}max_leaf_nodes": [31, 6]}
    else:
        model = dense_for(RandomForestClassifier(random_state=0), X)
        grid = {f"{'rank__' if hasattr(model, 'steps') else ''}min_samples_leaf": [1, 3]}
    folds = StratifiedKFold(max(min(3, int(np.bincount(y).min())), 2), shuffle=True, random_state=0)
    return GridSearchCV(model, grid, scoring="average_precision", cv=folds)


def measure(name: str, method: str, number: int, most: int) -> dict[str, Any]:
    """One method on one split: precision at each budget."""
    X, y, groups = read(name)
    train, test = split(X, y, groups, number, most)
    budgets, found, chosen = places(y[test]), {}, {}
    began = time.perf_counter()
    if method == "AutoRanker":
        Remembered.known.clear()
        for words, k in budgets.items():
            model = AutoRanker(k / len(test)).fit(X[train], y[train])
            found[words] = precision_at_k(y[test], model.decision_function(X[test]), k)
            chosen[words] = model.best_name_
    else:
        search = peer(method, X, y[train]).fit(X[train], y[train])
        scores = scores_of(search.best_estimator_, X[test], 1)
        found = {words: precision_at_k(y[test], scores, k) for words, k in budgets.items()}
        chosen = dict.fromkeys(budgets, str(search.best_params_))
    rows = {"rows": len(y), "train": len(train), "test": len(test), "places": budgets}
    return {"precision": found, "chosen": chosen, "seconds": time.perf_counter() - began, **rows}


def compared(runs: dict[str, list[dict[str, Any]]], budget: str) -> dict[str, Any]:
    """Means, deviations and tests of one set at one budget, over the splits that all methods have."""
    n = min(len(several) for several in runs.values())
    values = {name: np.array([run["precision"][budget] for run in runs[name][:n]]) for name in METHODS}
    ours = values["AutoRanker"]
    p = holm([corrected_t_test(ours - values[name], RATIO) for name in PEERS])
    best = max(PEERS, key=lambda name: float(values[name].mean()))
    against = float(p[PEERS.index(best)])
    gain = float(ours.mean() - values[best].mean())
    verdict = "untested" if n < 2 else "level" if against > 0.05 else "better" if gain > 0 else "worse"
    return {
        "splits": n,
        "places": runs["AutoRanker"][0]["places"][budget] if n else 0,
        "mean": {name: float(v.mean()) for name, v in values.items()},
        "sd": {name: float(v.std(ddof=1)) if n > 1 else float("nan") for name, v in values.items()},
        "p": dict(zip(PEERS, p.tolist(), strict=True)),
        "best": best,
        "verdict": verdict,
    }


def report(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Print a table a budget; the rows of all."""
    rows = []
    for budget in BUDGETS:
        lines = []
        for name, runs in content["runs"].items():
            if min((len(runs.get(method, [])) for method in METHODS), default=0) == 0:
                continue
            one = compared(runs, budget)
            rows.append({"set": name, "budget": budget, **one})
            cells = [f"{one['mean'][m]:.3f} ± {number(one['sd'][m], 2)}" for m in METHODS]
            p = f"{one['p'][one['best']]:.3f}"
            lines.append([name, one["splits"], one["places"], *cells, one["best"], p, one["verdict"]])
        columns = ["set", "splits", "k", *METHODS, "best of the others", "p", "AutoRanker is"]
        print(f"\n{budget}\n\n{table(columns, lines)}")
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    lead = [row["mean"]["AutoRanker"] - row["mean"][row["best"]] for row in rows]
    print(f"\nagainst the best of the others in {len(rows)} cells: {count}", end="")
    print(f"; mean lead {np.mean(lead):+.4f}" if rows else "")
    for method in PEERS:
        gains = [row["mean"]["AutoRanker"] - row["mean"][method] for row in rows]
        if gains:
            wins = sum(gain > 0 for gain in gains)
            print(f"  ahead of {method} in {wins} of {len(gains)} cells, on average by {np.mean(gains):+.4f}")
    return rows


def fingerprint(most: int) -> str:
    return hashlib.sha256(f"{most} {PEERS} {BUDGETS} {RATIO}".encode()).hexdigest()[:16]


def keep(path: Path | None, content: dict[str, Any]) -> None:
    """Write whole or not at all."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1, default=float) + "\n")
    beside.replace(path)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--train-rows", type=int, default=TRAIN_ROWS)
    parser.add_argument("--quick", action="store_true", help="generated data, one split")
    parser.add_argument("--report", action="store_true", help="print what the file holds")
    parser.add_argument("--seconds", type=int, help="rows to time a fit on")
    parser.add_argument("--json", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    if options.seconds:
        return time_a_fit(options.seconds)
    if options.quick:
        options.sets, options.splits = ["made"], 1
    content: dict[str, Any] = {"plan": fingerprint(options.train_rows), "runs": {}}
    if options.json.exists():
        found = json.loads(options.json.read_text())
        if found.get("plan") != content["plan"]:
            raise SystemExit(f"{options.json} holds another plan; give another --json, or remove the file")
        content = found
    if not options.report:
        content["head"] = versions(threads=1, train_rows=options.train_rows)
        go(content, options)
    print(describe(content["head"]))
    content["results"] = report(content)
    if not options.report:
        keep(options.json, content)
    return content


def time_a_fit(rows: int) -> dict[str, Any]:
    """Seconds of one fit with everything as it comes."""
    X, y = make_noisy(rows, 30, share=0.05, seed=0)
    with threads(1):
        began = time.perf_counter()
        model = AutoRanker(max(rows // 200, 1)).fit(X, y)
        seconds = time.perf_counter() - began
    print(f"{rows} rows, 30 columns: {seconds:.1f} s, of which the race {model.seconds_:.1f} s; {model.best_name_}")
    return {"rows": rows, "seconds": seconds}


def go(content: dict[str, Any], options: argparse.Namespace) -> None:
    """What is not there yet, split after split."""

    with threads(1):
        import shortlist.selection.auto as auto

        auto.Race = Remembered  # type: ignore[misc]
        try:
            for number in range(options.splits):
                for name in options.sets:
                    runs = content["runs"].setdefault(name, {method: [] for method in METHODS})
                    for method in METHODS:
                        if len(runs[method]) > number:
                            continue
                        runs[method].append(measure(name, method, number, options.train_rows))
                        keep(options.json, content)
                        print(number, name, method, f"{runs[method][-1]['seconds']:.1f} s", flush=True)
        finally:
            auto.Race = Race  # type: ignore[misc]


if __name__ == "__main__":
    main()
