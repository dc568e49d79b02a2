"""How much longer than one sort does it take to know every metric?

    python -m benchmarks.scaling.metrics [--rows 1000000] [--groups 10000] [--json PATH]

Times ``metrics.evaluate`` against ``numpy.argsort`` of the same scores, by turns in one process, for several
shares of positives; medians.  The aim at 10^6 rows: 3 sorts without groups, 8 sorts in 10^4 groups.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, describe, mark, table, versions, write_json
from shortlist import metrics

LIMITS = {"one group": 3.0, "many groups": 8.0}


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(y: Any, s: Any, groups: Any, repeats: int) -> dict[str, float]:
    """Medians, sort and evaluation by turns, so that both see the same machine."""
    sort: list[float] = []
    whole: list[float] = []
    metrics.evaluate(y, s, groups=groups)
    for _ in range(repeats):
        sort.append(seconds(lambda: np.argsort(s)))
        whole.append(seconds(lambda: metrics.evaluate(y, s, groups=groups)))
    return {
        "argsort_seconds": median(sort),
        "evaluate_seconds": median(whole),
        "ratio": median(whole) / median(sort),
    }


def cases(n: int, n_groups: int) -> list[tuple[str, str, Any, Any, Any]]:
    rng = np.random.default_rng(0)
    rows = []
    for share in (0.01, 0.1, 0.5, 0.9):
        y = (rng.random(n) < share).astype(np.int64)
        continuous = rng.normal(size=n) + y
        scores = {
            "continuous": continuous,
            "six decimals": np.round(continuous, 6),
            "1000 levels": rng.integers(0, 1000, n) / 7.0,
        }
        for kind, s in scores.items():
            rows.append(("one group", f"{share:.0%} positive, {kind}", y, s, None))
            if kind == "continuous":
                groups = rng.integers(0, n_groups, n)
                rows.append(("many groups", f"{share:.0%} positive, {kind}", y, s, groups))
    return rows


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--groups", type=int, default=10**4)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="few rows, once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.groups, options.repeats = 2_000, 50, 1
    head = versions(rows=options.rows, groups=options.groups, repeats=options.repeats)
    print(describe(head) + "\n", flush=True)
    results, shown = [], []
    for kind, data, y, s, groups in cases(options.rows, options.groups):
        figures = measure(y, s, groups, options.repeats)
        met = figures["ratio"] <= LIMITS[kind]
        results.append({"groups": kind, "data": data, "aim": LIMITS[kind], "met": met, **figures})
        times = [f"{1e3 * figures[key]:.1f}" for key in ("argsort_seconds", "evaluate_seconds")]
        shown.append([kind, data, *times, f"{figures['ratio']:.2f}", f"{LIMITS[kind]:g}", mark(met)])
    print(table(["groups", "data", "argsort ms", "evaluate ms", "ratio", "aim", ""], shown, first_left=2))
    payload = {**head, "results": results, "passed": all(result["met"] for result in results)}
    write_json(options.json or (None if options.quick else RESULTS / "scaling_metrics.json"), payload)
    return payload


if __name__ == "__main__":
    main()
