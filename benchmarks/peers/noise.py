"""Does compare find winners where there are none?  Labels drawn at random, so that no model knows anything.

    python -m benchmarks.peers.noise [--runs 200] [--rows 200]
    python -m benchmarks.peers.noise --figure docs/noise.svg

Each run draws 200 rows of six normal columns and labels 1 on a random fifth of them, compares five models at a budget
of 20 rows by two times five folds, as ``compare`` does by default, and asks two things: does it name a winner (one
model significantly better than all others), and does it call any difference significant at all?  At a level of 5 % the
second may happen in at most 5 % of the runs, the first even less often.

Beside what ``compare`` does (the corrected t-test, Holm's correction for the ten pairs) stands what leaving out either
part would give: the t-test that takes splits for independent, Wilcoxon's test, and no correction for the number of
pairs.  The interval of a share is Wilson's at 95 %.  Continues from its file.
"""

from __future__ import annotations

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks._common import RESULTS, describe, table, threads, versions
from benchmarks.peers.auto import keep
from shortlist import TauFPL, compare
from shortlist.comparison import Comparison
from shortlist.selection.paired import corrected_t_test, holm, signed_rank_test

METRICS = ("precision_at_budget", "average_precision", "auc")
LEVEL = 0.05
OURS = "corrected t, Holm"
TESTS = (OURS, "corrected t, each pair alone", "plain t, Holm", "Wilcoxon, Holm", "plain t, each pair alone")
PATH = RESULTS / "peers_noise.json"


def models() -> dict[str, Any]:
    """Five models of different kinds, quick to fit."""
    return {
        "logistic regression": LogisticRegression(),
        "TauFPL": TauFPL(C=0.1, tau=0.2, tol=1e-3),
        "naive Bayes": GaussianNB(),
        "neighbours": KNeighborsClassifier(15),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    }


def simulate(number: int, rows: int) -> Comparison:
    """One comparison on labels that mean nothing."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(rows, 6))
    y = np.zeros(rows, dtype=int)
    y[rng.permutation(rows)[: rows // 5]] = 1
    return compare(models(), X, y, budget=rows // 10, metrics=METRICS, random_state=number)


def p_values(result: Comparison, metric: str, test: str) -> dict[tuple[str, str], float]:
    """Of every pair, the better first."""
    scores = result.scores(metric)
    order = sorted(scores, key=lambda name: -scores[name].mean())
    pairs = list(combinations(order, 2))
    found = []
    for first, second in pairs:
        gain = scores[first] - scores[second]
        if test.startswith("Wilcoxon"):
            found.append(signed_rank_test(gain))
        else:
            found.append(corrected_t_test(gain, result.ratio if test.startswith("corrected") else 0.0))
    corrected = holm(found) if test.endswith("Holm") else np.array(found)
    return dict(zip(pairs, corrected.tolist(), strict=True))


def judge(result: Comparison) -> dict[str, dict[str, list[bool]]]:
    """By metric and test: is there a winner, is anything significant?"""
    outcome: dict[str, dict[str, list[bool]]] = {}
    for metric in METRICS:
        outcome[metric] = {}
        for test in TESTS:
            p = p_values(result, metric, test)
            leader = next(iter(p))[0]
            winner = all(value <= LEVEL for pair, value in p.items() if leader in pair)
            outcome[metric][test] = [winner, any(value <= LEVEL for value in p.values())]
        ours = [result.winner(metric) is not None, bool(result.improvements(metric))]
        if outcome[metric][OURS] != ours:
            raise AssertionError(f"compare says {ours} of {metric}, this file {outcome[metric][OURS]}")
    return outcome


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Interval of a share at 95 %.

    >>> low, high = wilson(5, 100)
    >>> round(low, 3), round(high, 3)
    (0.022, 0.112)
    """
    z, share = 1.959964, hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return float(centre - half), float(centre + half)


def summary(runs: list[dict[str, dict[str, list[bool]]]]) -> list[dict[str, Any]]:
    rows = []
    for metric in METRICS:
        for test in TESTS:
            winners, any_ = (sum(run[metric][test][at] for run in runs) for at in (0, 1))
            low, high = wilson(any_, len(runs))
            rows.append(
                {"metric": metric, "test": test, "winners": winners, "any": any_, "runs": len(runs)}
                | {"share": any_ / len(runs), "low": low, "high": high, "winner_share": winners / len(runs)}
            )
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Shares of the runs with a difference called significant, a row a test, a mark a metric."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "shortlist"
    figure, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    marks = dict(zip(METRICS, (("o", "#0072B2"), ("s", "#D55E00"), ("^", "#000000")), strict=True))
    for row in rows:
        shape, colour = marks[row["metric"]]
        at = TESTS.index(row["test"]) + 0.22 * (METRICS.index(row["metric"]) - 1)
        ax.plot([row["low"], row["high"]], [at, at], color=colour, linewidth=1.2)
        label = row["metric"].replace("_", " ") if row["test"] == OURS else None
        ax.plot(row["share"], at, shape, color=colour, markersize=5, label=label)
    ax.axvline(LEVEL, color="0.3", linestyle="--", linewidth=1)
    ax.text(LEVEL, -0.62, " nominal 5 %", fontsize=8, color="0.3", va="center")
    ax.set_yticks(range(len(TESTS)), [f"{test} (compare)" if test == OURS else test for test in TESTS])
    ax.set_ylim(len(TESTS) - 0.5, -0.8)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"share of {rows[0]['runs']} comparisons of pure noise with a difference called significant")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="two small runs")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs, options.rows = 2, 60
    plan = f"{options.rows} rows, {', '.join(models())}"
    content: dict[str, Any] = {"plan": plan, "head": versions(threads=1, rows=options.rows), "runs": []}
    if options.json.exists():
        found = json.loads(options.json.read_text())
        if found.get("plan") != plan:
            raise SystemExit(f"{options.json} holds another plan; give another --json, or remove the file")
        content = found
    with threads(1):
        for number in range(len(content["runs"]), options.runs):
            content["runs"].append(judge(simulate(number, options.rows)))
            keep(options.json, content)
    content["results"] = rows = summary(content["runs"])
    content["passed"] = all(row["winner_share"] <= LEVEL for row in rows if row["test"] == OURS)
    keep(options.json, content)
    print(describe(content["head"]), f"\n\n{len(content['runs'])} comparisons of five models on pure noise\n")
    cells = [
        [row["test"], row["metric"], row["winners"], row["any"], f"{row['share']:.3f} ({row['low']:.3f}"
         f" to {row['high']:.3f})"] for row in rows
    ]  # fmt: skip
    print(table(["test", "metric", "a winner", "any difference", "share (95 %)"], cells, first_left=2))
    if options.figure is not None:
        draw(rows, options.figure)
    return content


if __name__ == "__main__":
    main()
