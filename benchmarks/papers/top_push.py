"""Table 2 of "Top rank optimization in linear time" (Li, Jin, Zhou, NIPS 2014), beside what Shortlist finds.

    python -m benchmarks.papers.top_push [--sets diabetes spambase] [--trials 30] [--full]

The paper's protocol: thirty random splits, 2/3 for training; parameters by five-fold cross-validation on the
training part by the mean of positives at top, from {1e-3 ... 1e3}, extended where the best is at the end; mean and
standard deviation over the trials; paired t-tests at 0.9 against TopPush.  C is 1/lambda for TopPush and its kin,
LIBLINEAR's own C for LR and cs-SVM.  Features are scaled to [0, 1].  Ties in the selection go to average
precision, then to the smaller parameter.

By default the large sets get three trials, ionosphere (which is not in the paper) ten, and slow methods smaller
grids or fewer trials, as the table and the file of results say; on large sets "TopPush, paper's stop" takes the C that
TopPush chose.  ``--full`` is the paper's protocol on all sets.  ``--methods`` runs these rows alone and leaves the
others as they were kept.

SVMpAUC is the tight version with rates up to 1/n, as in the paper: the same problem as the Infinite Push's, and the
rows of the two show what two solvers and two grids make of it.  OWPC and RankBoost are not in the paper's table.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from benchmarks._common import RESULTS, Array, describe, load_scaled, table, threads, versions
from benchmarks.papers._protocol import DECADES, METHODS, Method, Trials, earlier, marks, run, save
from shortlist.datasets import load

SETS = ("diabetes", "spambase", "ionosphere", "w8a", "news20_train", "nslkdd")
LARGE = ("w8a", "news20_train", "nslkdd")
TRIALS = {"ionosphere": 10, **dict.fromkeys(LARGE, 3)}  # thirty elsewhere
SLOW_TRIALS = 10
COARSE = (1e-1, 1e1, 1e3)
USED = (
    *("TopPush", "InfinitePush", "TauFPL", "LR", "cs-SVM"),
    *("RankSVM", "SVMMAP", "SVMpAUC", "OWPC", "RankBoost, stumps"),
)

MEASURES = {"Pos@Top": "pos_at_top", "AP": "average_precision", "NDCG": "ndcg", "AUC": "auc"}

PAPER: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "diabetes": {
        "TopPush": (".123 ± .056", ".872 ± .023", ".976 ± .005", ".780 ± .037"),
        "LR": (".064 ± .075", ".881 ± .022", ".973 ± .008", ".810 ± .030"),
        "cs-SVM": (".077 ± .088", ".758 ± .166", ".920 ± .078", ".624 ± .246"),
        "InfinitePush": (".119 ± .051", ".877 ± .035", ".978 ± .007", ".793 ± .041"),
        "AATP": (".127 ± .061", ".881 ± .035", ".979 ± .010", ".783 ± .038"),
        "RankSVM": (".087 ± .082", ".879 ± .022", ".975 ± .006", ".801 ± .033"),
        "SVMMAP": (".077 ± .072", ".879 ± .012", ".969 ± .009", ".616 ± .191"),
        "SVMpAUC": (".053 ± .096", ".668 ± .123", ".884 ± .065", ".506 ± .167"),
    },
    "news20_train": {
        "TopPush": (".191 ± .088", ".843 ± .018", ".970 ± .005", ".969 ± .005"),
        "LR": (".086 ± .067", ".803 ± .020", ".962 ± .005", ".973 ± .004"),
        "cs-SVM": (".114 ± .069", ".766 ± .021", ".955 ± .006", ".964 ± .005"),
        "RankSVM": (".149 ± .056", ".850 ± .016", ".972 ± .003", ".974 ± .004"),
        "SVMMAP": (".184 ± .092", ".832 ± .022", ".969 ± .007", ".961 ± .008"),
        "SVMpAUC": (".196 ± .087", ".812 ± .019", ".963 ± .005", ".957 ± .007"),
    },
    "nslkdd": {
        "TopPush": (".633 ± .088", ".978 ± .001", ".997 ± .001", ".969 ± .003"),
        "LR": (".220 ± .053", ".981 ± .002", ".998 ± .001", ".972 ± .002"),
        "cs-SVM": (".556 ± .037", ".980 ± .001", ".998 ± .001", ".972 ± .001"),
        "SVMpAUC": (".634 ± .059", ".956 ± .002", ".996 ± .001", ".948 ± .002"),
    },
    "spambase": {
        "TopPush": (".129 ± .077", ".922 ± .006", ".988 ± .001", ".942 ± .005"),
        "LR": (".071 ± .053", ".920 ± .010", ".987 ± .003", ".952 ± .005"),
        "cs-SVM": (".069 ± .059", ".907 ± .010", ".980 ± .004", ".941 ± .005"),
        "InfinitePush": (".132 ± .087", ".920 ± .005", ".987 ± .002", ".947 ± .007"),
        "RankSVM": (".069 ± .076", ".931 ± .010", ".990 ± .003", ".970 ± .005"),
        "SVMMAP": (".097 ± .069", ".935 ± .014", ".984 ± .005", ".920 ± .007"),
        "SVMpAUC": (".073 ± .058", ".854 ± .024", ".975 ± .007", ".889 ± .019"),
    },
    "w8a": {
        "TopPush": (".226 ± .053", ".710 ± .019", ".938 ± .005", ".922 ± .008"),
        "LR": (".107 ± .093", ".450 ± .374", ".775 ± .221", ".591 ± .460"),
        "cs-SVM": (".118 ± .105", ".447 ± .372", ".774 ± .220", ".591 ± .461"),
        "SVMpAUC": (".207 ± .046", "-", ".929 ± .006", ".911 ± .010"),
    },
}


def methods_for(name: str, y: Array, full: bool) -> dict[str, Method]:
    """The methods that this set can afford, with their grids."""
    share = float(np.mean(y))
    aatp = replace(
        METHODS["AATP"],
        grid={"C": DECADES, "share": tuple(share * 2.0**k for k in range(-5, 1))},
    )
    early = METHODS["TopPush, paper's stop"]
    chosen = {key: METHODS[key] for key in USED}
    if full:
        return {**chosen, "TopPush, paper's stop": early, "PatMat": METHODS["PatMat"], "AATP": aatp}
    if name in LARGE:
        few = {"C": COARSE, "tau": (0.002, 0.01)}
        chosen["TauFPL"] = replace(METHODS["TauFPL"], grid=few, extends=())
        del chosen["OWPC"]
        for key in ("RankSVM", "SVMMAP", "SVMpAUC"):
            chosen[key] = replace(METHODS[key], grid={"C": COARSE})
        chosen["cs-SVM"] = replace(METHODS["cs-SVM"], grid={"C": DECADES, "cost": (1.0, 10.0)}, extends=("C",))
        return {**chosen, "TopPush, paper's stop": replace(early, choose_as="TopPush")}
    chosen["TopPush, paper's stop"] = early
    chosen["PatMat"] = METHODS["PatMat"]
    if name == "spambase":
        chosen["TopPush, paper's stop"] = replace(early, trials=SLOW_TRIALS)
    if name == "diabetes":
        few = {"C": COARSE, "share": tuple(share * 2.0**k for k in (-5, -3, -1))}
        chosen["AATP"] = replace(aatp, grid=few, extends=(), trials=SLOW_TRIALS)
    return chosen


def show(name: str, found: dict[str, Trials]) -> str:
    """The paper's row under ours."""
    rows = []
    for method, trials in found.items():
        row = [method, "ours", len(trials.figures["auc"])]
        for key in MEASURES.values():
            mark = "" if method == "TopPush" else marks(found.get("TopPush", trials), trials, key)
            row.append(f"{trials.mean(key):.3f} ± {trials.std(key):.3f} {mark}".rstrip().replace("0.", "."))
        rows.append(row)
        if method in PAPER.get(name, {}):
            rows.append(["", "paper", 30, *PAPER[name][method]])
    return table(["method", "", "trials", *MEASURES], rows, first_left=2)


def main(arguments: list[str] | None = None) -> dict[str, dict[str, Trials]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--trials", type=int, help="on every set, instead of 30 on small and 3 on large ones")
    parser.add_argument("--methods", nargs="+", help="these only")
    parser.add_argument(
        "--unit-rows", action="store_true", help="rows of length 1 in place of features in [0, 1]; sparse sets"
    )
    parser.add_argument("--show", action="store_true", help="run nothing: the tables as they were kept")
    parser.add_argument("--full", action="store_true", help="the paper's protocol, whatever it takes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small generated data, two trials")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.trials = ["made"], 2
    path = options.json or (None if options.quick else RESULTS / "papers_top_push.json")
    head = versions(threads=options.threads)
    print(describe(head), flush=True)
    results = {}
    with threads(options.threads):
        for name in options.sets:
            if options.show:
                results[name] = earlier(path, name + ", unit rows" * options.unit_rows)
                print(f"\n{name}\n{show(name, results[name])}")
                continue
            X, y = load_scaled(name)
            if options.unit_rows:
                X = normalize(load(name).data)
            trials = options.trials or (30 if options.full else TRIALS.get(name, 30))
            methods = methods_for(name, y, options.full)
            if options.quick:
                methods = {
                    key: replace(m, grid={k: tuple(v)[2:6:2] or v for k, v in m.grid.items()}, extends=())
                    for key, m in methods.items()
                    if key in ("TopPush", "TauFPL", "LR")
                }
            if options.methods:
                asked = {key: m for key, m in methods.items() if key in options.methods}
                asked.update({m.choose_as: methods[m.choose_as] for m in asked.values() if m.choose_as})
                methods = {key: m for key, m in methods.items() if key in asked}
            settings: dict[str, Any] = {
                "rows": len(y),
                "positives": int(y.sum()),
                "columns": X.shape[1],
                "trials": trials,
                "grids": {key: {k: list(v) for k, v in m.grid.items()} for key, m in methods.items()},
            }
            print(f"\n{name}: {len(y)} rows, {int(y.sum())} positives, {X.shape[1]} columns", flush=True)
            stored = name + ", unit rows" * options.unit_rows
            found = run(methods, X, y, trials=trials, train_size=2 / 3, by="pos_at_top")
            save(path, head, stored, settings, found)
            results[name] = {**earlier(path, stored), **found} if options.methods else found
            print(show(name, results[name]), flush=True)
    print("\n● TopPush significantly better, ○ worse: paired t-test over the trials, 0.9")
    return results


if __name__ == "__main__":
    main()
