"""Least-squares ranking beside the one matrix operation it cannot do without, and beside its peers.

    python -m benchmarks.peers.magnitude [--only path pairs ...] [--repeats 3] [--quick]

Each line is a ratio: the seconds of a task over those of a reference in the same run, the two taking turns, the least
of the repeats of each. References are single calls of LAPACK or BLAS of the same size, or scikit-learn's estimators
with the same kernel. Aims are upper limits of the ratio. Data are generated: rbf kernels on 10 normal columns (gamma
0.1: the kernel matrix has full rank), 100 normal columns for the linear fit.

``svrank`` counts passes over the data, ``memory`` the peak of the process in GB while 10^6 rows with 500 landmarks are
fitted; ``online`` has no kernel matrix and 20,000 rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from benchmarks._common import RESULTS, Array, describe, mark, number, table, threads, versions, write_json
from shortlist import LSRRank, MLSRRank, MPRank, OnlineMPRank, SVRank
from shortlist.features import Gaussians, Rbf
from shortlist.selection import MPRankCV, leave_pair_out
from shortlist.selection._rows import decompose
from shortlist.selection.hold_out import errors_by_pair

CS = np.logspace(-2, 5, 30)
GAMMA = 0.1
RLSCORE_SECONDS = 55.0  # fit and leave-pair-out at n = 2,000 as measured once on one core of such a machine


@dataclass
class Line:
    """One comparison."""

    task: str
    size: str
    figure: float
    reference: str
    reference_figure: float
    ratio: float
    aim: float | None
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.aim is None or self.ratio <= self.aim


def data(n: int, d: int = 10) -> tuple[Array, Array]:
    """Normal columns, a target with a steep and a flat part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


def seconds(task: Callable[[], Any]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def versus(task: Callable[[], Any], reference: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """The least seconds of each, taking turns."""
    turns = [(seconds(task), seconds(reference)) for _ in range(repeats)]
    ours, theirs = zip(*turns, strict=True)
    return min(ours), min(theirs)


def peak_memory() -> float:
    """GB that the process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def path(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    K = Rbf(GAMMA)(X, X)
    model = MPRankCV(CS, kernels=[{"kernel": "rbf", "gamma": GAMMA}], n_landmarks="all")
    ours, theirs = versus(lambda: model.fit(X, y), lambda: eigh(K), repeats)
    note = f"C = {model.C_:.3g} chosen, gap {model.certificate_.relative_gap:.0e}"
    return [Line("fit + 30 C + leave-one-out", f"n = {n}", ours, "one eigh", theirs, ours / theirs, 1.3, note)]


def pairs(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    K = Rbf(GAMMA)(X, X)
    made = decompose(MPRank(kernel="rbf", gamma=GAMMA, n_landmarks="all"), X, y, None, None)
    lines = []
    for method, aim in (("exact", 2.0), ("paper", None)):

        def task(method: str = method) -> None:
            errors_by_pair(made, np.array([10.0]), method)

        each, product = versus(task, lambda: K @ K, repeats)
        ratio = each / product
        lines.append(Line(f"leave-pair-out, {method}, each C", f"n = {n}", each, "one K @ K", product, ratio, aim))
    return lines


def rlscore(n: int, repeats: int) -> list[Line]:
    """Fit, path and exact leave-pair-out; RLScore's seconds are a constant, as it is not run here."""
    X, y = data(n)
    settings: dict[str, Any] = {"kernel": "rbf", "gamma": GAMMA, "n_landmarks": "all"}

    def task() -> None:
        leave_pair_out(X, y, 1.0, **settings)

    ours = min(seconds(task) for _ in range(repeats))
    ratio, note = ours / RLSCORE_SECONDS, "RLScore's seconds are a constant"
    return [Line("leave-pair-out, one C", f"n = {n}", ours, "RLScore", RLSCORE_SECONDS, ratio, 0.05, note)]


def multiscale(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    scales = [0.5, 1.0, 2.0, 4.0]
    one = LSRRank(0.001, kernel="gaussian", scales=[1.0], n_landmarks="all", random_state=0)
    four = MLSRRank(scales, lam=0.001, n_landmarks="all", random_state=0)
    ours, theirs = versus(lambda: four.fit(X, y), lambda: one.fit(X, y), repeats)
    values, single = versus(lambda: Gaussians(scales)(X, X), lambda: Gaussians([1.0])(X, X), repeats)
    base = theirs + values - single
    return [Line("MLSRRank, 4 scales", f"n = {n}", ours, "LSRRank + kernels", base, ours / base, 1.3)]


def linear(n: int, repeats: int) -> list[Line]:
    X, y = data(n, 100)
    ours, theirs = versus(lambda: MPRank().fit(X, y), lambda: X.T @ X, repeats)
    return [Line("MPRank, linear", f"{n} x 100", ours, "one X.T @ X", theirs, ours / theirs, 3.0)]


def sklearn(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    ours = MPRank(100.0, kernel="rbf", gamma=GAMMA, n_landmarks="all", random_state=0)
    ridge, svr = KernelRidge(alpha=n / 400, kernel="rbf", gamma=GAMMA), SVR(C=1.0, gamma=GAMMA)
    lines = []
    for name, peer in (("KernelRidge", ridge), ("SVR", svr)):
        mine, theirs = versus(lambda: ours.fit(X, y), lambda peer=peer: peer.fit(X, y), repeats)
        lines.append(Line("MPRank, rbf, certified", f"n = {n}", mine, name, theirs, mine / theirs, None))
    return lines


def svrank(n: int, repeats: int) -> list[Line]:
    X, y = data(n, 50)
    model = SVRank(C=1.0, epsilon=0.1, tol=1e-3).fit(X, y)
    proof = model.certificate_
    note = f"gap {proof.relative_gap:.1e}, {proof.seconds:.1f} s"
    return [Line("SVRank to 1e-3", f"{n} x 50", proof.n_passes, "passes", 1.0, proof.n_passes, 60.0, note)]


def memory(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    took = seconds(lambda: MPRank(100.0, kernel="rbf", gamma=GAMMA, n_landmarks=500, random_state=0).fit(X, y))
    peak = peak_memory()
    return [Line("MPRank, rbf, 500 landmarks", f"n = {n}", peak, "GB at the peak", 1.0, peak, 4.0, f"{took:.0f} s")]


def online(n: int, repeats: int) -> list[Line]:
    X, y = data(n)
    settings: dict[str, Any] = {"kernel": "rbf", "gamma": GAMMA, "n_landmarks": 500, "random_state": 0}
    model = OnlineMPRank(1.0, **settings)
    ours, theirs = versus(lambda: model.fit(X, y), lambda: MPRank(1.0, **settings).fit(X, y), repeats)
    note = f"{model.n_iter_} rounds, gap {model.certificate_.relative_gap:.1e}, peak {peak_memory():.1f} GB"
    return [Line("OnlineMPRank, rbf, 500 landmarks", f"n = {n}", ours, "MPRank", theirs, ours / theirs, None, note)]


# Memory first: a peak is of the whole process so far.
TASKS: dict[str, tuple[Callable[[int, int], list[Line]], int, int]] = {
    "memory": (memory, 1_000_000, 3_000),
    "path": (path, 5_000, 300),
    "pairs": (pairs, 5_000, 300),
    "rlscore": (rlscore, 2_000, 200),
    "multiscale": (multiscale, 5_000, 300),
    "linear": (linear, 1_000_000, 5_000),
    "sklearn": (sklearn, 5_000, 300),
    "svrank": (svrank, 20_000, 1_000),
    "online": (online, 20_000, 1_000),
}


def stored(path: Path | None, head: dict[str, Any], found: dict[str, list[Line]]) -> dict[str, Any]:
    """The head and these tasks, beside what the file holds of others."""
    kept = json.loads(path.read_text())["tasks"] if path is not None and path.exists() else {}
    now = {name: [{**asdict(one), "passed": one.passed} for one in lines] for name, lines in found.items()}
    return {**head, "tasks": {name: {**kept, **now}[name] for name in TASKS if name in {**kept, **now}}}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, for every method")
    parser.add_argument("--quick", action="store_true", help="small sizes, once: the form, not the figures")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    repeats = 1 if options.quick else options.repeats
    head = versions(threads=options.threads, repeats=repeats)
    print(describe(head) + "\n")
    found: dict[str, list[Line]] = {}
    path = options.json or (None if options.quick else RESULTS / "peers_magnitude.json")
    with threads(options.threads):
        for name in options.only:
            task, size, small = TASKS[name]
            found[name] = task(small if options.quick else size, repeats)
            report = stored(path, head, found)
            write_json(path, report)
    lines = [line for part in found.values() for line in part]
    columns = ["task", "size", "figure", "reference", "its figure", "ratio", "aim", "", "note"]
    rows = [
        [
            one.task,
            one.size,
            number(one.figure),
            one.reference,
            number(one.reference_figure),
            number(one.ratio),
            number(one.aim),
            "" if one.aim is None else mark(one.passed),
            one.note,
        ]
        for one in lines
    ]
    print(table(columns, rows, first_left=2))
    return report


if __name__ == "__main__":
    main()
