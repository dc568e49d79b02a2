"""Do time and memory of TopPush grow in line with the rows?

    python -m benchmarks.scaling.top [--sizes 10000 31623 100000 316228 1000000] [--C 1 100]

Generated data of two forms: 50 dense columns, and 10^4 sparse ones with 20 entries a row.  Aims: a log-log slope
of the time over the rows of at most 1.1; peak memory beyond X under half of X plus 200 bytes a row.

Every size has a process of its own, so that one size's peak is not another's.  There the data is made in place, a
tiny fit loads what is loaded once, and the first fit of the data gives the memory: the highest resident size
during the fit, less the resident size before it.  That counts everything, the buffers of BLAS and of compiled
code too.  (Where the system cannot reset the record of the highest, a peak before the fit counts against it.)  The
fits after it give the time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import (
    RESULTS,
    Array,
    describe,
    mark,
    number,
    table,
    threads,
    versions,
    write_json,
)
from shortlist import TopPush
from shortlist.metrics import pos_at_top

SIZES = [10_000, 31_623, 100_000, 316_228, 1_000_000]
FORMS = ("dense", "sparse")
DENSE_COLUMNS = 50
SPARSE_COLUMNS, ENTRIES = 10_000, 20
BLOCK = SPARSE_COLUMNS // ENTRIES  # a row has one entry in each block of columns
SHARE = 0.08  # of positives; two in five of them are easy to tell, the others look much like negatives
CHUNK = 10_000


def labels(n_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = (rng.random(n_rows) < SHARE).astype(np.int64)
    return y, (y == 1) & (rng.random(n_rows) < 0.4)


def make_dense(n_rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Normal columns squeezed into [0, 1]; easy positives lie far out in five of them, the others nearby."""
    rng = np.random.default_rng(seed)
    y, easy = labels(n_rows, rng)
    X = np.empty((n_rows, DENSE_COLUMNS))
    for first in range(0, n_rows, CHUNK):
        part = slice(first, first + CHUNK)
        block = X[part]
        rng.standard_normal(out=block)
        block[y[part] == 1, 5:15] += 0.5
        block[easy[part], :5] += 12.0
        block += 6.0
        block /= 24.0
        np.clip(block, 0.0, 1.0, out=block)
    return X, y


def make_sparse(n_rows: int, seed: int = 0) -> tuple[Any, Array]:
    """Word counts in kind: a few common columns and many rare ones; easy positives use rare ones of their own."""
    rng = np.random.default_rng(seed)
    y, easy = labels(n_rows, rng)
    indices = np.empty((n_rows, ENTRIES), dtype=np.int32)
    data = np.empty((n_rows, ENTRIES))
    base = np.arange(ENTRIES, dtype=np.int32) * BLOCK
    for first in range(0, n_rows, CHUNK):
        part = slice(first, first + CHUNK)
        draw = rng.random((len(y[part]), ENTRIES))
        place = (0.98 * BLOCK * draw**4).astype(np.int32)
        place[y[part] == 1, :6] = (0.98 * BLOCK * draw[y[part] == 1, :6] ** 3).astype(np.int32)
        own = easy[part][:, None] & (draw < 0.5) & (np.arange(ENTRIES) < 10)
        place[own] = BLOCK - 1 - (10 * draw[own]).astype(np.int32)
        stray = rng.random(place.shape) < 1e-3  # nobody owns a word
        place[stray] = rng.integers(0, BLOCK, int(stray.sum()))
        indices[part] = base + place
        data[part] = rng.random(draw.shape) * 0.5 + 0.5
    indptr = np.arange(n_rows + 1, dtype=np.int32) * ENTRIES
    return sparse.csr_array((data.ravel(), indices.ravel(), indptr), shape=(n_rows, SPARSE_COLUMNS)), y


def size_of(X: Any) -> int:
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def resident() -> int:
    """Bytes of memory that the process holds now; where that is not told, the most it ever held."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return peak()


def forget_peak() -> None:
    """Start a new record of the most memory held, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak() -> int:
    """The most bytes that the process held since the record began."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(form: str, n_rows: int, C: float, repeats: int, n_threads: int) -> dict[str, Any]:
    """One form at one size, in this process."""
    make = {"dense": make_dense, "sparse": make_sparse}[form]
    with threads(n_threads):
        TopPush(C=C).fit(*make(300, seed=1))
        X, y = make(n_rows)
        forget_peak()
        before = resident()
        model = TopPush(C=C).fit(X, y)
        beyond = peak() - before
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            TopPush(C=C).fit(X, y)
            seconds.append(time.perf_counter() - start)
        proof = model.certificate_
        return {
            "form": form,
            "C": C,
            "rows": n_rows,
            "seconds": median(seconds),
            "passes": proof.n_passes,
            "steps": proof.n_iter,
            "relative_gap": proof.relative_gap,
            "train": float(pos_at_top(y, X @ model.coef_[0])),
            "X_bytes": size_of(X),
            "beyond_bytes": beyond,
            "allowed_bytes": 0.5 * size_of(X) + 200 * n_rows,
        }


def in_own_process(form: str, n_rows: int, C: float, repeats: int, n_threads: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scaling.top", "--measure", form]
    command += ["--sizes", str(n_rows), "--C", str(C), "--repeats", str(repeats), "--threads", str(n_threads)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Of the least-squares line through the logarithms.

    >>> round(slope([10, 100, 1000], [0.1, 1.0, 10.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def report(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the table and judge it."""
    shown, verdicts = [], []
    for r in results:
        cells = [r["form"], f"{r['C']:g}", r["rows"], number(r["seconds"]), number(r["passes"]), r["steps"]]
        cells += [f"{r['relative_gap']:.0e}", number(r["train"])]
        cells += [f"{r[key] / 2**20:.1f}" for key in ("X_bytes", "beyond_bytes", "allowed_bytes")]
        shown.append([*cells, mark(r["beyond_bytes"] < r["allowed_bytes"])])
    columns = ["form", "C", "rows", "seconds", "passes", "steps", "gap", "train", "X MiB", "beyond", "allowed"]
    print(table([*columns, "memory"], shown) + "\n")
    for form, C in dict.fromkeys((r["form"], r["C"]) for r in results):
        chosen = [r for r in results if (r["form"], r["C"]) == (form, C)]
        memory = all(r["beyond_bytes"] < r["allowed_bytes"] for r in chosen)
        steep = slope([r["rows"] for r in chosen], [r["seconds"] for r in chosen]) if chosen[1:] else np.nan
        verdicts.append({"form": form, "C": C, "slope": steep, "linear": steep <= 1.1, "memory": memory})
        print(
            f"{form}, C={C:g}: slope {steep:.2f} (at most 1.1) {mark(steep <= 1.1)}; "
            f"memory beyond X under X/2 + 200 bytes a row {mark(memory)}"
        )
    return verdicts


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS")
    parser.add_argument("--quick", action="store_true", help="two small sizes")
    parser.add_argument("--measure", choices=FORMS, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.measure:
        found = measure(options.measure, options.sizes[0], options.C[0], options.repeats, options.threads)
        print(json.dumps(found))
        return found
    if options.quick:
        options.sizes, options.C, options.repeats, options.forms = [2_000, 4_000], [1.0], 1, ["dense"]
    head = versions(threads=options.threads, repeats=options.repeats)
    print(describe(head) + "\n", flush=True)
    results = [
        in_own_process(form, n_rows, C, options.repeats, options.threads)
        for form in options.forms
        for C in options.C
        for n_rows in options.sizes
    ]
    payload = {**head, "results": results, "verdicts": report(results)}
    write_json(options.json or (None if options.quick else RESULTS / "scaling_top.json"), payload)
    return payload


if __name__ == "__main__":
    main()
