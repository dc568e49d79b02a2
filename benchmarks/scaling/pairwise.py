"""Do time and memory of RankSVM grow in line with the rows, though the pairs grow with their square?

    python -m benchmarks.scaling.pairwise [--sizes 10000 31623 100000 316228 1000000] [--methods hinge] [--forms sparse]

The data of ``benchmarks.scaling.top``: 50 dense columns, or 10^4 sparse ones with 20 entries a row; "grades" is
GradedRankSVM with five grades in queries of 100 rows (squared hinge).  Aim: a log-log slope of the time over the rows
of at most 1.15.  Every size has a process of its own; the memory is the highest resident size during a fit less the
resident size before it, in bytes a row.  At 10^6 rows there are 7 * 10^10 pairs.

The file of results keeps what is not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, describe, mark, number, table, threads, versions, write_json
from benchmarks.scaling.top import FORMS, SIZES, forget_peak, make_dense, make_sparse, peak, resident, size_of, slope
from shortlist import GradedRankSVM, RankSVM

METHODS = ("squared_hinge", "hinge", "logistic", "grades")
STEEPEST = 1.15
QUERY = 100


def model_of(method: str, C: float) -> Any:
    return GradedRankSVM(C, loss="squared_hinge") if method == "grades" else RankSVM(C, loss=method)


def measure(method: str, form: str, n_rows: int, C: float, repeats: int, n_threads: int) -> dict[str, Any]:
    """One method at one size, in this process."""
    make = {"dense": make_dense, "sparse": make_sparse}[form]
    with threads(n_threads):
        model_of(method, C).fit(*make(300, seed=1))
        X, y = make(n_rows)
        more: dict[str, Any] = {}
        if method == "grades":
            rng = np.random.default_rng(0)
            y = 2 * y + rng.integers(0, 3, n_rows)
            more["groups"] = np.arange(n_rows) // QUERY
        forget_peak()
        before = resident()
        seconds = []
        for turn in range(repeats):
            began = time.perf_counter()
            model = model_of(method, C).fit(X, y, **more)
            seconds.append(time.perf_counter() - began)
            if not turn:
                beyond = peak() - before
        proof = model.certificate_
        return {
            "method": method,
            "form": form,
            "C": C,
            "rows": n_rows,
            "seconds": min(seconds),
            "passes": proof.n_passes,
            "steps": proof.n_iter,
            "relative_gap": proof.relative_gap,
            "converged": proof.converged,
            "X_bytes_a_row": size_of(X) / n_rows,
            "beyond_bytes_a_row": beyond / n_rows,
        }


def in_own_process(method: str, form: str, n_rows: int, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scaling.pairwise", "--measure", "--methods", method, "--forms", form]
    command += ["--sizes", str(n_rows), "--C", str(options.C), "--repeats", str(options.repeats)]
    command += ["--threads", str(options.threads)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def report(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the table and judge it."""
    shown = [
        [r["method"], r["form"], f"{r['C']:g}", r["rows"], number(r["seconds"]), f"{r['passes']:.0f}", r["steps"],
         f"{r['relative_gap']:.0e}", f"{r['X_bytes_a_row']:.0f}", f"{r['beyond_bytes_a_row']:.0f}"]
        for r in results
    ]  # fmt: skip
    columns = ["method", "form", "C", "rows", "seconds", "passes", "steps", "gap", "X bytes/row", "beyond bytes/row"]
    print(table(columns, shown, first_left=2) + "\n")
    verdicts = []
    for key in dict.fromkeys((r["method"], r["form"], r["C"]) for r in results):
        chosen = [r for r in results if (r["method"], r["form"], r["C"]) == key]
        steep = slope([r["rows"] for r in chosen], [r["seconds"] for r in chosen]) if chosen[1:] else np.nan
        certified = all(r["converged"] for r in chosen)
        verdicts.append(
            {"method": key[0], "form": key[1], "C": key[2], "slope": steep, "linear": bool(steep <= STEEPEST),
             "certified": certified}
        )  # fmt: skip
        name = f"{key[0]}, {key[1]}, C = {key[2]:g}"
        print(f"{name}: slope {steep:.2f} (at most {STEEPEST}) {mark(steep <= STEEPEST)}; certified {mark(certified)}")
    return verdicts


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS")
    parser.add_argument("--quick", action="store_true", help="two small sizes")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.measure:
        found = measure(
            options.methods[0], options.forms[0], options.sizes[0], options.C, options.repeats, options.threads
        )
        print(json.dumps(found))
        return found
    if options.quick:
        options.sizes, options.repeats, options.forms, options.methods = [2_000, 4_000], 1, ["dense"], ["logistic"]
    path = options.json or (None if options.quick else RESULTS / "scaling_pairwise.json")
    head = versions(threads=options.threads, repeats=options.repeats)
    print(describe(head) + "\n", flush=True)
    results = []
    if path is not None and path.exists():
        again = {(m, f, n, options.C) for m in options.methods for f in options.forms for n in options.sizes}
        known = json.loads(path.read_text())["results"]
        results = [r for r in known if (r["method"], r["form"], r["rows"], r["C"]) not in again]
    for method in options.methods:
        for form in options.forms:
            results += [in_own_process(method, form, n_rows, options) for n_rows in options.sizes]
    results.sort(key=lambda r: (METHODS.index(r["method"]), r["form"], r["C"], r["rows"]))
    payload = {**head, "results": results, "verdicts": report(results)}
    write_json(path, payload)
    return payload


if __name__ == "__main__":
    main()
