"""What the exact search proves, and how fast: DCG in log2, margin 1e-4, features in [0, 1], no price on coefficients.

    python -m benchmarks.papers.rerank --proofs [--parts proven close large arrays compile without] [--seconds 60]

A case is a set and the rows of it that logistic regression (max_iter=1000), fitted to the whole set, puts on top.

* ``proven``: cases that are to be proven in so many seconds; median of three runs after a warm-up.
* ``close``: cases that are to be within so many per cent after ``--seconds``; half of that is wanted.
* ``large``: eleven to nineteen features: an answer not worse than logistic regression's, and an honest bound.
* ``arrays``: the search with NumPy alone beside the search with Numba: seconds to the same proof, or the gap after
  equal seconds.
* ``compile``: what Numba's first compilation costs, in a fresh process with an empty cache.
* ``without``: the gap after a third of ``--seconds`` when a part of the search is taken away.

"closed" is the share of the way from the bound that needs no search (no mistake at all) to the answer that the proof
has come; "early" the time from which the answer was within 0.5 % of the final one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks._common import RESULTS, Array, describe, mark, number, versions
from benchmarks.papers._rerank import keep, parse_case, top_problem
from shortlist.solvers.exact import branch_and_bound
from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound
from shortlist.solvers.exact.compiled import available
from shortlist.solvers.exact.descent import Effort
from shortlist.solvers.exact.outcome import ExactSolution
from shortlist.solvers.exact.problem import RankProblem

__all__ = ["PARTS", "measure"]

PARTS = ("proven", "close", "large", "arrays", "compile", "without")

# Seconds to a proof.
PROVEN: dict[str, float] = {
    "haberman:all": 2.0,
    "gaussians:all": 2.0,
    "pima:50": 15.0,
    **{f"{name}:{top}": 5.0 for name in ("haberman", "gaussians") for top in (50, 100, 150)},
}
# Relative gap, in per cent.
CLOSE: dict[str, float] = {
    "pima:100": 0.5,
    "pima:150": 1.3,
    "travel_mode:100": 0.002,
    "travel_mode:150": 0.1,
    "abalone19:250": 0.3,
    "uis:50": 3.3,
    "uis:100": 9.0,
}
LARGE = ("glow500:50", "glow500:100", "polypharm:50", "polypharm:100", "nhanes:100", "nhanes:1000")
SAME_PROOF = ("haberman:all", "gaussians:all")
SAME_SECONDS = ("pima:50", "uis:50", "travel_mode:100", "abalone19:250")

TAKEN_FROM = ("pima:100", "uis:50", "travel_mode:100")


def never_packed(**options: Any) -> Effort:
    return Effort(**{**options, "most_packed": 0})


# What stands in for a part of the search.
WITHOUT: dict[str, dict[str, Any]] = {
    "all parts": {},
    "no conflicts": {"Effort": never_packed},
    "whitened charts only": {"KINDS": ("whitened",)},
    "axes only": {"KINDS": ("scaled",)},
    "one core": {},
}

REPEATS = 3
EARLY, SOON = 0.005, 1.0
FASTER = 3.0
COMPILED_IN = 10.0


@dataclass
class Case:
    """A problem, and what logistic regression makes of it."""

    name: str
    problem: RankProblem
    start: Array

    @classmethod
    def of(cls, name: str) -> Case:
        return cls(name, *top_problem(*parse_case(name)))

    @property
    def regression(self) -> float:
        return self.problem.value(self.start / np.abs(self.start).max())

    def solve(self, seconds: float, compiled: bool | None = None, cores: int | None = None) -> ExactSolution:
        return solve_branch_and_bound(
            self.problem, start=[self.start], time_limit=seconds, random_state=0, compiled=compiled, n_jobs=cores
        )

    def describe(self, solution: ExactSolution) -> dict[str, Any]:
        proof = solution.certificate
        return {
            "rows": len(self.problem.X),
            "columns": self.problem.X.shape[1],
            "positives": sum(len(list_.positives) for list_ in self.problem.lists),
            "logistic_regression": self.regression,
            "value": proof.value,
            "bound": proof.bound,
            "gap": proof.relative_gap,
            "trivial_bound": proof.trivial_bound,
            "closed": proof.closed,
            "proven": proof.proven,
            "boxes": proof.nodes,
            "seconds": proof.seconds,
            "early": early(solution),
        }


def early(solution: ExactSolution) -> float:
    """Seconds until the answer was within 0.5 % of the final one."""
    enough = solution.certificate.value - EARLY * abs(solution.certificate.value)
    return next(step.seconds for step in solution.trace if step.value >= enough)


COLUMNS = (
    "case", "rows", "d", "positives", "regression", "answer", "bound", "no mistake", "gap", "closed", "boxes",
    "seconds", "early", "aim", "",
)  # fmt: skip


def header(title: str, columns: tuple[str, ...] = COLUMNS) -> None:
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|---" + "|--:" * (len(columns) - 1) + "|", flush=True)


def line(case: str, found: dict[str, Any], aim: str, verdict: str) -> None:
    percent = number(100 * found["gap"], 2)
    cells = [case, found["rows"], found["columns"], found["positives"]]
    cells += [f"{found[key]:.5f}" for key in ("logistic_regression", "value", "bound", "trivial_bound")]
    cells += ["0" if found["proven"] else f"{percent} %", f"{100 * found['closed']:.1f} %", found["boxes"]]
    cells += [f"{found['seconds']:.2f}", f"{found['early']:.2f}", aim, verdict]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


class Measurement:
    """One call: what is asked, and where the figures go."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.path = options.json or (None if options.quick else RESULTS / "papers_rerank_proofs.json")
        self.head = versions(margin=1e-4, log="log2", numba=available())
        self.found: dict[str, dict[str, Any]] = {}

    def cases(self, usual: Any) -> list[str]:
        """Those asked for; in a quick run whatever is asked for stands in."""
        asked = self.options.cases
        if self.options.quick:
            return list(asked)
        return [case for case in usual if not asked or case in asked]

    def keep(self, part: str, case: str, figures: dict[str, Any]) -> None:
        figures = {**figures, "time_limit": self.options.seconds}
        self.found.setdefault(part, {})[case] = figures
        keep(self.path, self.head, part, case, figures)

    def proven(self) -> None:
        header("Proven")
        for name in self.cases(PROVEN):
            case, aim = Case.of(name), PROVEN.get(name, 5.0)
            runs = [case.solve(self.options.seconds) for _ in range(REPEATS)]
            found = case.describe(runs[-1])
            found["seconds"] = median(run.certificate.seconds for run in runs)
            found["early"] = median(early(run) for run in runs)
            found["passed"] = all(run.certificate.proven for run in runs) and found["seconds"] <= aim
            line(name, found, f"{aim:g} s", mark(found["passed"]))
            self.keep("proven", name, {**found, "aim_seconds": aim})

    def close(self) -> None:
        header(f"Close, after {self.options.seconds:g} s")
        late = []
        for name in self.cases(CLOSE):
            case, aim = Case.of(name), CLOSE.get(name, 5.0)
            found = case.describe(case.solve(self.options.seconds))
            percent = 100 * found["gap"]
            found["passed"] = percent <= aim
            verdict = "proven" if found["proven"] else mark(found["passed"]) + ", half" * (percent <= aim / 2)
            late += [name] if found["early"] > SOON else []
            line(name, found, f"{aim:g} %", verdict)
            self.keep("close", name, {**found, "aim_percent": aim})
        where = "; not on " + ", ".join(late) if late else ""
        print(f"\n{mark(not late)}: an answer within 0.5 % of the final one inside {SOON:g} s{where}")

    def large(self) -> None:
        header(f"Eleven features and more, after {self.options.seconds / 2:g} s")
        for name in self.cases(LARGE):
            case = Case.of(name)
            found = case.describe(case.solve(self.options.seconds / 2))
            found["passed"] = found["value"] >= found["logistic_regression"] - 1e-9
            line(name, found, "regression", mark(found["passed"]))
            self.keep("large", name, found)

    def arrays(self) -> None:
        columns = ("case", "Numba", "arrays", "arrays / Numba", "boxes, Numba", "boxes, arrays", "")
        if not available():
            print("\nNumba is not installed: there is nothing to compare the arrays with")
            return
        header("Arrays beside Numba: seconds to the same proof", columns)
        for name in self.cases(SAME_PROOF):
            case, cap = Case.of(name), 5 * self.options.seconds
            fast = [case.solve(cap, compiled=True).certificate for _ in range(REPEATS)]
            slow = case.solve(cap, compiled=False).certificate
            seconds = median(proof.seconds for proof in fast)
            found = {
                "numba_seconds": seconds,
                "arrays_seconds": slow.seconds,
                "arrays_proven": slow.proven,
                "numba_boxes": fast[-1].nodes,
                "arrays_boxes": slow.nodes,
                "passed": slow.seconds >= FASTER * seconds,
            }
            more = "" if slow.proven else "> "
            cells = [name, f"{seconds:.2f} s", f"{more}{slow.seconds:.2f} s", f"{more}{slow.seconds / seconds:.1f}"]
            print_row([*cells, fast[-1].nodes, slow.nodes, mark(found["passed"])])
            self.keep("arrays", name, found)
        each = self.options.seconds / 6
        header(f"Arrays beside Numba: the gap after {each:g} s", columns)
        for name in self.cases(SAME_SECONDS):
            case = Case.of(name)
            one, two = (case.solve(each, compiled=compiled).certificate for compiled in (True, False))
            print_row(
                [
                    name,
                    f"{100 * one.relative_gap:.3g} %",
                    f"{100 * two.relative_gap:.3g} %",
                    "",
                    one.nodes,
                    two.nodes,
                    "",
                ]
            )
            self.keep(
                "arrays_gap",
                name,
                {"each": each, "numba_gap": one.relative_gap, "arrays_gap": two.relative_gap,
                 "numba_boxes": one.nodes, "arrays_boxes": two.nodes,
                 "numba_value": one.value, "arrays_value": two.value},
            )  # fmt: skip

    def compile(self) -> None:
        with tempfile.TemporaryDirectory() as cache:
            first, second = (fresh_process(cache) for _ in range(2))
        found = {"first": first, "second": second, "passed": first - second <= COMPILED_IN}
        print(
            f"\n{mark(found['passed'])}: Numba's first compilation takes {first - second:.1f} s (aim {COMPILED_IN:g}): "
            f"a fresh process solves a small problem in {first:.1f} s, with the code on disk in {second:.1f} s"
        )
        self.keep("compile", "small", found)

    def without(self) -> None:
        each = self.options.seconds / 3
        header(f"The gap after {each:g} s, without a part of the search", ("case", *WITHOUT))
        for name in self.cases(TAKEN_FROM):
            case, found = Case.of(name), {}
            for part, stand_ins in WITHOUT.items():
                with patch.multiple(branch_and_bound, **stand_ins) if stand_ins else nullcontext():
                    proof = case.solve(each, cores=1 if part == "one core" else None).certificate
                found[part] = {"gap": proof.relative_gap, "closed": proof.closed, "boxes": proof.nodes}
            print_row([name, *(f"{100 * cell['gap']:.3g} % ({cell['boxes']})" for cell in found.values())])
            self.keep("without", name, {"each": each, **found})


def print_row(cells: list[Any]) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def fresh_process(cache: str) -> float:
    """Seconds that the first search of a new process takes."""
    code = (
        "import numpy as np, time\n"
        "from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound as solve\n"
        "from shortlist.solvers.exact.problem import RankProblem\n"
        "X = np.random.default_rng(0).random((40, 3))\n"
        "problem = RankProblem.of(X, np.arange(40) % 3 == 0, 'dcg')\n"
        "start = time.perf_counter()\n"
        "solve(problem, random_state=0, time_limit=None)\n"
        "print(time.perf_counter() - start)\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """All parts asked for; rows are kept as they come."""
    measurement = Measurement(options)
    print(describe(measurement.head))
    began = time.perf_counter()
    Case.of("haberman:50" if not options.quick else options.cases[0]).solve(options.seconds)
    print(f"warm-up: {time.perf_counter() - began:.1f} s", flush=True)
    for part in options.parts:
        getattr(measurement, part)()
    return measurement.found
