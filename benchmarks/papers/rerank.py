"""Tables 1 to 4 of "Direct learning to rank and rerank" (Rudin and Wang, AISTATS 2018), beside what Shortlist finds.

    python -m benchmarks.papers.rerank [--sets pima uis] [--seconds 2] [--splits 10] [--tables 1 2 3 4]
    python -m benchmarks.papers.rerank --methods RankBoost "P-Norm Push"    # these rows, the others as they were kept
    python -m benchmarks.papers.rerank --show      # nothing is run: the tables as they were kept
    python -m benchmarks.papers.rerank --solver    # HiGHS on the paper's program beside branch and bound
    python -m benchmarks.papers.rerank --proofs    # what is proven, and how fast

The paper's protocol: ten random halves for training and test; logistic regression as the base; the top K training rows
are ranked again for DCG with a margin of 1e-4 and a price of 1e-4 a coefficient; DCG of the whole list, mean and
standard deviation over the splits, paired t-tests at 0.05.  The paper stops each run after two hours of a commercial
solver, here after ``--seconds``.  LR and SVM are scikit-learn's, the SVM with the C of {1e-2 ... 1e3} that gives the
highest training DCG; RankBoost and the P-Norm Push take part where ``shortlist`` has them.

DCG is reported in natural logarithms, which is what the paper's figures fit although it prints log2: a figure in log2
is 0.693 times as large.  The file of results has log2.  ● and ○: better and worse than LR on the same splits.

With the usual 2 seconds a search all takes about fifteen minutes, with ``--seconds 60`` up to eight hours; with the
paper's two hours it would be weeks.

"proven" counts the runs whose answer is proven to be the best one, of those in which there was anything to rank again
(a top of one class is left alone); the gap is the mean over the same runs, the bound against the value, of the top K.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as FewIterations
from sklearn.model_selection import ShuffleSplit
from sklearn.svm import LinearSVC

import shortlist
from benchmarks._common import RESULTS, Array, describe, table, threads, versions
from benchmarks.papers import _rerank_proofs, _rerank_solver
from benchmarks.papers._protocol import Trials
from benchmarks.papers._rerank import LOG2, PAPER, PAPER_SWEEPS, SETS, base, changes, keep, load_set, spread
from shortlist import ExactRanker, Reranker
from shortlist.exceptions import NothingToRerankWarning, NotProvenWarning
from shortlist.metrics import dcg

PRICE = MARGIN = 1e-4
COSTS = tuple(10.0**k for k in range(-2, 4))
STEPS = tuple(10.0**-k for k in range(1, 7))
SWEPT, SWEPT_TOP = ("uis",), 100

Split = tuple[Array, Array, Array, Array]
Found = dict[str, Trials]


def halves(name: str, splits: int) -> Iterator[Split]:
    """Training and test rows of each split."""
    X, y = load_set(name)
    for train, test in ShuffleSplit(splits, train_size=0.5, random_state=0).split(X):
        yield X[train], y[train], X[test], y[test]


def baselines() -> dict[str, Callable[[Array, Array], Any]]:
    """Models fitted to training rows."""
    found: dict[str, Callable[[Array, Array], Any]] = {"LR": lambda X, y: base().fit(X, y), "SVM": best_svm}
    for label, name, options in (("RankBoost", "RankBoost", {}), ("P-Norm Push", "PNormPush", {"p": 2})):
        model = getattr(shortlist, name, None)
        if model is not None:
            found[label] = lambda X, y, model=model, options=options: model(**options).fit(X, y)
    return found


def best_svm(X: Array, y: Array) -> LinearSVC:
    """Of several C the one with the highest training DCG."""
    models = [LinearSVC(C=C, max_iter=20_000, random_state=0).fit(X, y) for C in COSTS]
    return max(models, key=lambda model: dcg(y, model.decision_function(X)))


def reranker(top: int | None, seconds: float, margin: float = MARGIN, l0: float = PRICE) -> Reranker:
    second = ExactRanker("dcg", l0=l0, margin=margin, time_limit=seconds, random_state=0)
    return Reranker(base(), second, top=1.0 if top is None else top)


def note(trials: Trials, model: Any, split: Split, seconds: float) -> None:
    """DCG of both halves, and the certificate if the model has one."""
    X, y, X_test, y_test = split
    figures = {"train": dcg(y, model.decision_function(X)), "test": dcg(y_test, model.decision_function(X_test))}
    proof = getattr(getattr(model, "reranker_", None), "certificate_", None)
    if proof is not None:
        figures |= {"proven": float(proof.proven), "gap": proof.relative_gap, "closed": proof.closed}
    trials.add(figures)
    trials.seconds += seconds


def run(
    name: str, models: dict[str, Callable[[Array, Array], Any]], splits: int, keep_it: Callable[[Found], None]
) -> Found:
    """All models on all splits of a set; kept after each split."""
    found = {key: Trials() for key in models}
    for split in halves(name, splits):
        for key, fit in models.items():
            start = time.perf_counter()
            model = fit(split[0], split[1])
            note(found[key], model, split, time.perf_counter() - start)
        keep_it(found)
    return found


def kept(found: Found) -> dict[str, Any]:
    """For the file of results: DCG in log2."""
    return {key: {"seconds": round(t.seconds, 2), "figures": t.figures} for key, t in found.items()}


def earlier(path: Path | None, part: str, name: str, splits: int) -> Found:
    """What the file of results has of a set, by as many splits."""
    if path is None or not path.exists():
        return {}
    methods = json.loads(path.read_text()).get(part, {}).get(name, {}).get("methods", {})
    found = {key: Trials(figures=old["figures"], seconds=old["seconds"]) for key, old in methods.items()}
    return {key: trials for key, trials in found.items() if len(trials.figures["train"]) == splits}


def row(method: str, trials: Trials, lr: Trials | None) -> list[Any]:
    """Of a table: ours."""
    figures = trials.figures
    cells = [method, "ours", *(spread(figures[half]) for half in ("train", "test"))]
    if lr is None or lr is trials:
        cells += ["", ""]
    else:
        cells += [changes(figures[half], lr.figures[half]) for half in ("train", "test")]
    proven = figures.get("proven", [])
    if proven:
        cells += [f"{int(sum(proven))}/{len(proven)}", f"{100 * np.mean(figures['gap']):.2f} %"]
    else:
        cells += ["", ""]
    return [*cells, f"{trials.seconds / len(figures['train']):.2f}"]


COLUMNS = ["method", "", "train", "test", "p train", "p test", "proven", "gap", "seconds"]


def show(found: Found, paper: dict[str, tuple[str, str]], lr: Trials | None) -> str:
    """The paper's rows under ours."""
    rows = []
    for method, trials in found.items():
        rows.append(row(method, trials, lr))
        if method in paper:
            rows.append(["", "paper", *paper[method], "", "", "", "", ""])
    return table(COLUMNS, rows, first_left=2)


def compare(options: argparse.Namespace, head: dict[str, Any], path: Path | None) -> dict[str, Found]:
    """Tables 1 and 2: what ranking the top again is worth."""
    results = {}
    for name in options.sets:
        X, y = load_set(name)
        models = baselines()
        for top in SETS.get(name, (20, None)):
            models["all" if top is None else f"top {top}"] = lambda X, y, top=top: reranker(top, options.seconds).fit(
                X, y
            )
        print(f"\n{name}: {len(y)} rows, {int(y.sum())} positives, {X.shape[1]} columns", flush=True)
        size = {"rows": len(y), "positives": int(y.sum()), "columns": X.shape[1]}
        found = asked("tables_1_2", name, models, size, options, head, path)
        print(show(found, PAPER.get(name, {}), found.get("LR")), flush=True)
        results[name] = found
    return results


def sweep(which: str, options: argparse.Namespace, head: dict[str, Any], path: Path | None) -> dict[str, Found]:
    """Table 3 (margins) or 4 (prices)."""
    results = {}
    for name in options.swept:
        models: dict[str, Callable[[Array, Array], Any]] = {}
        for step in options.steps:
            given = {"margin": step} if which == "3" else {"l0": step}
            models[f"{step:.0e}"] = lambda X, y, given=given: reranker(options.top, options.seconds, **given).fit(X, y)
        found = asked(f"table_{which}", name, models, {"top": options.top}, options, head, path)
        what = "margin (price 1e-4)" if which == "3" else "price of a coefficient (margin 1e-4)"
        print(f"\nTable {which}: {name}, top {options.top}, by the {what}")
        print(show(found, PAPER_SWEEPS[which].get(name, {}), None), flush=True)
        results[name] = found
    return results


def asked(
    part: str,
    name: str,
    models: dict[str, Callable[[Array, Array], Any]],
    about: dict[str, Any],
    options: argparse.Namespace,
    head: dict[str, Any],
    path: Path | None,
) -> Found:
    """Run the models that are asked for; the others as they were kept, if they were."""
    chosen = {key: fit for key, fit in models.items() if options.methods is None or key in options.methods}
    known = {key: t for key, t in earlier(path, part, name, options.splits).items() if key not in chosen}

    def together(now: Found) -> Found:
        return {key: (known | now)[key] for key in models if key in known or key in now}

    def store(now: Found) -> None:
        keep(path, head, part, name, {**about, "methods": kept(together(now))})

    return together(run(name, chosen, options.splits, store) if chosen else {})


def tables(options: argparse.Namespace) -> dict[str, dict[str, Found]]:
    path = options.json or (None if options.quick else RESULTS / "papers_rerank.json")
    settings = {"seconds": options.seconds, "splits": options.splits, "margin": MARGIN, "price": PRICE, "log": "log2"}
    head = versions(**settings)
    print(describe(head), flush=True)
    print(f"DCG below in natural logarithms: log2 figures over {LOG2:.3f}")
    if options.methods is None:
        reranker(20, 60.0).fit(*load_set("made"))  # the search may have to be compiled: not on anybody's time
    results = {}
    if {"1", "2"} & set(options.tables):
        results["tables_1_2"] = compare(options, head, path)
    for which in ("3", "4"):
        if which in options.tables:
            results[f"table_{which}"] = sweep(which, options, head, path)
    print("\n● better than LR, ○ worse: paired t-test over the splits at 0.05")
    print(proofs_in(results.get("tables_1_2", {})))
    return results


def proofs_in(results: dict[str, Found]) -> str:
    """Of all runs of Tables 1 and 2: how many are proven optimal, and the mean gap."""
    every = [trials.figures for found in results.values() for trials in found.values() if "proven" in trials.figures]
    proven = [value for figures in every for value in figures["proven"]]
    gaps = [value for figures in every for value in figures["gap"]]
    if not proven:
        return "no search was run"
    return f"{int(sum(proven))} of {len(proven)} runs are proven optimal; mean gap of all {100 * np.mean(gaps):.2f} %"


def main(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seconds", type=float, help="for each search; by default 2, with --solver and --proofs 60")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", nargs="+", choices=["1", "2", "3", "4"], default=["1", "2", "3", "4"])
    parser.add_argument("--methods", nargs="+", help="these rows of the tables only, the others as they were kept")
    parser.add_argument("--show", dest="methods", action="store_const", const=[], help="the tables as they were kept")
    parser.add_argument("--solver", action="store_true", help="HiGHS on the paper's program beside branch and bound")
    parser.add_argument("--proofs", action="store_true", help="what is proven, and how fast")
    parser.add_argument(
        "--cases", nargs="+", help="with --solver or --proofs: these only, such as pima:100 haberman:all"
    )
    parser.add_argument("--parts", nargs="+", choices=_rerank_proofs.PARTS, default=list(_rerank_proofs.PARTS))
    parser.add_argument("--threads", type=int, default=1, help="of BLAS; the search takes all cores")
    parser.add_argument("--quick", action="store_true", help="small generated data, once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.steps, options.swept, options.top = STEPS, SWEPT, SWEPT_TOP
    if options.quick:
        options.sets, options.splits, options.swept, options.steps, options.top = (
            ["made"],
            2,
            ["made"],
            (1e-2, 1e-4),
            20,
        )
        options.cases, options.parts = ["made:60"], ["proven", "close", "large", "arrays", "without"]
    usual = 0.5 if options.quick else 60.0 if options.solver or options.proofs else 2.0
    options.seconds = options.seconds or usual
    with threads(options.threads):
        for expected in (NotProvenWarning, NothingToRerankWarning, FewIterations):
            warnings.simplefilter("ignore", expected)
        if options.solver:
            return _rerank_solver.compare(options)
        if options.proofs:
            return _rerank_proofs.measure(options)
        return tables(options)


if __name__ == "__main__":
    main()
