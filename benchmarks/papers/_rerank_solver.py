"""HiGHS on the paper's Subrank program beside branch and bound: the same cases, start and seconds.

    python -m benchmarks.papers.rerank --solver [--seconds 60] [--cases pima:50 haberman:all]

A case is a set, in [0, 1], and the rows of it that logistic regression puts on top; DCG in log2, margin 1e-4, no price
on coefficients.  All three begin with the regression's weights.  The program is solved as printed and in its tight form
(the smallest big-M that the data allow), both at the same time: HiGHS's search works on one core, branch and bound on
all.  HiGHS's answers are scored again from the definition.  Where the printed program forbids answers its bound is none
for the definition: then "-" is shown.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, Array, describe, number, table, versions
from benchmarks.papers._rerank import keep, parse_case, top_problem
from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound
from shortlist.solvers.exact.mip import solve_mip
from shortlist.solvers.exact.outcome import ExactCertificate
from shortlist.solvers.exact.problem import RankProblem
from shortlist.solvers.exact.programs import BigM, build_program

__all__ = ["CASES", "compare"]

CASES = (
    "haberman:50",
    "haberman:all",
    "gaussians:100",
    "pima:50",
    "pima:100",
    "pima:150",
    "travel_mode:100",
    "travel_mode:150",
    "abalone19:250",
    "uis:50",
    "uis:100",
)
BIG_M: tuple[BigM, BigM] = ("printed", "tight")
# Pairs of rows in a program; beyond, HiGHS is not asked.
MOST_PAIRS = 100_000


def solve_all(problem: RankProblem, w: Array, seconds: float) -> dict[str, dict[str, Any]]:
    """What each has after as many seconds."""
    found: dict[str, dict[str, Any]] = {}

    def by_highs(big_m: BigM) -> dict[str, Any]:
        valid = build_program(problem, "subrank", big_m=big_m).valid
        solution = solve_mip(problem, program="subrank", big_m=big_m, start=w, time_limit=seconds, random_state=0)
        return shown(solution.certificate, valid)

    if sum(len(list_.positives) * (len(list_.rows) - 1) for list_ in problem.lists) <= MOST_PAIRS:
        with ThreadPoolExecutor(len(BIG_M)) as threads:
            found.update(zip(BIG_M, threads.map(by_highs, BIG_M), strict=True))
    solution = solve_branch_and_bound(problem, start=[w], time_limit=seconds, random_state=0)
    found["branch and bound"] = shown(solution.certificate, True)
    return found


def shown(proof: ExactCertificate, valid: bool) -> dict[str, Any]:
    return {
        "value": proof.value,
        "bound": proof.bound if valid else None,
        "gap": proof.relative_gap if valid else None,
        "proven": proof.proven and valid,
        "nodes": proof.nodes,
        "seconds": proof.seconds,
    }


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """A row a case, as it comes."""
    path = options.json or (None if options.quick else RESULTS / "papers_rerank_solver.json")
    head = versions(seconds=options.seconds, margin=1e-4, log="log2")
    print(describe(head))
    print("\nanswer / bound (seconds); * proven")
    solvers = ("printed", "tight", "branch and bound")
    columns = [
        "case",
        "rows",
        "d",
        "logistic regression",
        *(f"HiGHS, {s}" for s in solvers[:2]),
        solvers[2],
        "no mistake",
    ]
    print("| " + " | ".join(columns) + " |\n|---" + "|--:" * (len(columns) - 1) + "|", flush=True)
    results = {}
    for case in options.cases or CASES:
        problem, w = top_problem(*parse_case(case))
        own = problem.value(w / np.abs(w).max())
        found = solve_all(problem, w, options.seconds)
        results[case] = {
            "rows": len(problem.X),
            "columns": problem.X.shape[1],
            "positives": sum(len(list_.positives) for list_ in problem.lists),
            "logistic_regression": own,
            "trivial_bound": problem.trivial_bound,
            **found,
        }
        cells = [case, len(problem.X), problem.X.shape[1], number(own, 6), *(cell(found.get(s)) for s in solvers)]
        print("| " + " | ".join(map(str, [*cells, number(problem.trivial_bound, 6)])) + " |", flush=True)
        keep(path, head, "solver", case, results[case])
    print("\n" + sum_up(results))
    return results


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not asked"
    star = "*" if found["proven"] else ""
    return f"{number(found['value'], 6)} / {number(found['bound'], 6)} ({found['seconds']:.1f}){star}"


def sum_up(results: dict[str, Any]) -> str:
    """How often each has the best answer and a proof."""
    rows = []
    for solver in ("printed", "tight", "branch and bound"):
        asked = [found for found in results.values() if solver in found]
        best = sum(
            found[solver]["value"]
            >= max(found[s]["value"] for s in ("printed", "tight", "branch and bound") if s in found) - 1e-9
            for found in asked
        )
        proven = sum(found[solver]["proven"] for found in asked)
        rows.append([solver, len(asked), best, proven])
    return table(["solver", "cases", "best answer", "proven"], rows)
