"""OWPC, SVMpAUC and SVMMAP: seconds, passes and gaps, beside logistic regression in the same run.

    python -m benchmarks.peers.listwise [--sets spambase w8a] [--C 1 100] [--methods SVMMAP]

Tolerances are the defaults, but 1e-3 for SVMMAP. Seconds are those of the whole ``fit``, input checks included; a fit
that takes less than ten seconds is repeated, in turns with the others, and the least counts. The ratio is that to
``LogisticRegression(solver="liblinear", C=C/n)`` on the same rows, which has as many coefficients and one loss a row.
"proven" is the relative gap that ``certify`` finds anew.

The file of results keeps the sets and methods that are not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

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
from shortlist import OWPC, SVMMAP, SVMpAUC, certify

LONG = 10.0  # seconds; a fit longer than this is not repeated
METHODS: dict[str, Callable[[float], Any]] = {
    "OWPC": lambda C: OWPC(C),
    "SVMpAUC": lambda C: SVMpAUC(C),
    "SVMpAUC structural": lambda C: SVMpAUC(C, tight=False),
    "SVMMAP": lambda C: SVMMAP(C, tol=1e-3),
}
AIMS = {("spambase", "SVMMAP"): 10.0, ("spambase", "SVMpAUC"): 2.0}  # seconds
COLUMNS = ("set", "C", "method", "seconds", "/ LIBLINEAR", "steps", "passes", "gap", "proven", "")


def seconds_of(model: Any, X: Any, y: Array) -> float:
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def measure(name: str, X: Any, y: Array, C: float, methods: list[str], repeats: int) -> list[dict[str, Any]]:
    """The least seconds of each method, by turns, and its certificate."""
    models: dict[str, Any] = {"peer": LogisticRegression(solver="liblinear", C=C / len(y), max_iter=1000)}
    models |= {method: METHODS[method](C) for method in methods}
    least = dict.fromkeys(models, np.inf)
    for turn in range(repeats):
        for method, model in models.items():
            if not turn or least[method] <= LONG:
                least[method] = min(least[method], seconds_of(model, X, y))
    lines = []
    for method in methods:
        found, again = models[method].certificate_, certify(models[method], X, y)
        lines.append(
            {"set": name, "rows": len(y), "C": C, "method": method, "seconds": least[method],
             "ratio": least[method] / least["peer"], "n_iter": found.n_iter, "passes": found.n_passes,
             "objective": found.primal, "relative_gap": found.relative_gap, "proven": again.relative_gap,
             "tolerance": found.tolerance, "converged": found.converged}
        )  # fmt: skip
    return lines


def cells(line: dict[str, Any]) -> list[Any]:
    gaps = [f"{line[key]:.0e}" for key in ("relative_gap", "proven")]
    figures = [number(line["seconds"]), number(line["ratio"]), line["n_iter"], number(line["passes"]), *gaps]
    return [line["set"], f"{line['C']:g}", line["method"], *figures, mark(line["converged"])]


def misses(lines: list[dict[str, Any]]) -> list[str]:
    """What did not converge, and what took longer than its aim."""
    out = [f"{x['method']} on {x['set']}, C = {x['C']:g}, not converged" for x in lines if not x["converged"]]
    for line in lines:
        aim = AIMS.get((line["set"], line["method"]), np.inf)
        if line["seconds"] > aim:
            out.append(f"{line['method']} on {line['set']}, C = {line['C']:g}, took more than {aim:g} s")
    return out


def kept(path: Path | None, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Lines of an earlier run that this one does not repeat."""
    if path is None or not path.exists():
        return []
    lines: list[dict[str, Any]] = json.loads(path.read_text())["results"]
    return [
        line
        for line in lines
        if not (line["set"] in options.sets and line["C"] in options.C and line["method"] in options.methods)
    ]


def place(line: dict[str, Any]) -> tuple[int, str, float, int]:
    """Sets in their order, then C, then methods in theirs."""
    where = SIX.index(line["set"]) if line["set"] in SIX else len(SIX)
    return where, line["set"], line["C"], list(METHODS).index(line["method"])


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SIX))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, for every method")
    parser.add_argument("--quick", action="store_true", help="small generated data, once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.repeats = ["made"], 1
    path = options.json or (None if options.quick else RESULTS / "peers_listwise.json")
    head = versions(threads=options.threads, repeats=options.repeats)
    print(describe(head) + "\n")
    lines = kept(path, options)
    with threads(options.threads):
        for name in options.sets:
            X, y = load_scaled(name)
            for C in options.C:
                lines += measure(name, X, y, C, options.methods, options.repeats)
                report = {**head, "results": sorted(lines, key=place)}
                write_json(path, report)
    report["misses"] = misses(report["results"])
    write_json(path, report)
    print(table(COLUMNS, [cells(line) for line in report["results"]], first_left=3))
    print("\n" + "\n".join(["misses:", *report["misses"]] if report["misses"] else ["all converged, aims met"]))
    return report


if __name__ == "__main__":
    main()
