"""How many passes over the data does a certified fit of the pairwise costs take?

    python -m benchmarks.scaling.magnitude_costs [--rows 20000] [--sizes 10000 100000 1000000]

Three tables on generated data of 50 columns with heavy-tailed noise.  SVRank to a relative gap of 1e-3 (aim: at most 60
passes): the bundle as it is, with its two directions strictly by turns, and with cutting planes and line search alone.
The smooth costs of order 2: the bundle against truncated Newton.  Growth: SVRank from 10^4 to 10^6 rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, Array, describe, mark, number, table, threads, versions, write_json
from benchmarks.scaling.top import slope
from shortlist.risks.magnitude import MagnitudeRisk
from shortlist.solvers import bundle
from shortlist.solvers.newton import solve_newton

FORMS = ("normal", "unit", "scaled", "correlated", "ratings")
WAYS = ("by merit", "by turns", "planes alone")
COLUMNS, EPSILON, TOL, AIM = 50, 0.1, 1e-3, 60


def make(form: str, n_rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Normal columns; in [0, 1]; of sizes 1 to 0.01; correlated, condition 10^4 or so; binary, with five grades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, COLUMNS))
    if form == "unit":
        X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    elif form == "scaled":
        X *= np.logspace(0, -2, COLUMNS)
    elif form == "correlated":
        X = X @ (rng.normal(size=(COLUMNS, COLUMNS)) / np.sqrt(COLUMNS)) + rng.normal(size=(n_rows, 1))
    elif form == "ratings":
        X = (X > 0).astype(float)
        return X, np.clip(np.round(X @ rng.normal(size=COLUMNS) + rng.normal(size=n_rows)), -2, 2)
    return X, X @ rng.normal(size=COLUMNS) / np.sqrt(COLUMNS) + 0.5 * rng.standard_t(3, size=n_rows)


class Nothing(bundle.Differences):
    """Keeps no differences, so that no quasi-Newton step is ever taken."""

    def add(self, step: Array, difference: Array) -> None:
        return


@contextmanager
def taken(way: str) -> Iterator[None]:
    """The bundle with another choice of directions."""
    kept = bundle.SHARE_KEPT, bundle.Differences
    if way == "by turns":
        bundle.SHARE_KEPT = 0.0
    elif way == "planes alone":
        bundle.Differences = Nothing  # type: ignore[misc]
    try:
        yield
    finally:
        bundle.SHARE_KEPT, bundle.Differences = kept  # type: ignore[misc]


def passes(options: Any) -> list[dict[str, Any]]:
    """SVRank in three ways."""
    results = []
    for form in FORMS:
        X, y = make(form, options.rows)
        risk = MagnitudeRisk.from_labels(y, "svr", 1, EPSILON)
        for C in options.C:
            found = {}
            for way in WAYS:
                with taken(way):
                    found[way] = bundle.solve_bundle(X, risk, C, tol=TOL, max_iter=500).certificate
            results.append(
                {"form": form, "C": C, "seconds": found["by merit"].seconds}
                | {way: found[way].n_passes if found[way].converged else None for way in WAYS}
            )
    shown = []
    for r in results:
        cells = [r["form"], f"{r['C']:g}", *(number(r[way]) for way in WAYS), number(r["seconds"])]
        shown.append([*cells, mark((r["by merit"] or np.inf) <= AIM)])
    print(f"SVRank, {options.rows} x {COLUMNS}, gap {TOL:g}: passes\n")
    print(table(["data", "C", *WAYS, "seconds", f"<= {AIM}"], shown) + "\n", flush=True)
    return results


def smooth(options: Any) -> list[dict[str, Any]]:
    """Order 2: bundle against Newton."""
    results = []
    for form in ("normal", "scaled", "correlated"):
        X, y = make(form, options.rows)
        for cost, C in ((cost, C) for cost in ("svr", "hmp") for C in options.C):
            risk = MagnitudeRisk.from_labels(y, cost, 2, EPSILON, one_sided="hinge")
            row: dict[str, Any] = {"form": form, "cost": cost, "C": C}
            for name, solve in (("bundle", bundle.solve_bundle), ("newton", solve_newton)):
                certificate = solve(X, risk, C, tol=1e-4).certificate  # type: ignore[operator]
                row |= {f"{name}_passes": certificate.n_passes, f"{name}_seconds": certificate.seconds}
            results.append(row)
    shown = []
    for r in results:
        cells = [number(r[key]) for key in ("bundle_passes", "newton_passes", "bundle_seconds", "newton_seconds")]
        ratio = number(r["newton_seconds"] / r["bundle_seconds"], 2)
        shown.append([r["form"], r["cost"], f"{r['C']:g}", *cells, ratio])
    print(f"Order 2, {options.rows} x {COLUMNS}, gap 1e-4\n")
    columns = ["data", "cost", "C", "bundle passes", "newton", "bundle seconds", "newton", "ratio"]
    print(table(columns, shown, first_left=2) + "\n", flush=True)
    return results


def growth(options: Any) -> dict[str, Any]:
    """SVRank from few rows to many."""
    results = []
    for n_rows in options.sizes:
        X, y = make("scaled", n_rows)
        risk = MagnitudeRisk.from_labels(y, "svr", 1, EPSILON)
        certificate = bundle.solve_bundle(X, risk, 100.0, tol=TOL).certificate
        results.append({"rows": n_rows, "passes": certificate.n_passes, "seconds": certificate.seconds})
    steep = slope([r["rows"] for r in results], [r["seconds"] for r in results])
    print("Growth, scaled columns, C = 100\n")
    shown = [[r["rows"], number(r["passes"]), number(r["seconds"])] for r in results]
    print(table(["rows", "passes", "seconds"], shown, first_left=0))
    print(f"\nslope of the seconds: {steep:.2f}")
    return {"results": results, "slope": steep}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0, 10_000.0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.C, options.sizes = 500, [1.0], [500, 1_000]
    head = versions(threads=1, rows=options.rows)
    print(describe(head) + "\n", flush=True)
    with threads(1):
        payload = {**head, "passes": passes(options), "smooth": smooth(options), "growth": growth(options)}
    write_json(options.json or (None if options.quick else RESULTS / "scaling_magnitude_costs.json"), payload)
    return payload


if __name__ == "__main__":
    main()
