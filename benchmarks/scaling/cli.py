"""What the command line costs: help, memory on a million rows, and the two commands from a CSV file to a list.

    python -m benchmarks.scaling.cli            # about four minutes
    python -m benchmarks.scaling.cli --quick

Each command is a process of its own. Its memory is the most that it held, less what the same command
holds on a file of a few hundred rows: what is left is due to the rows. "Table" is the table in memory, in typed
columns with text as numbers of a dictionary.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, describe, number, table, versions, write_json
from shortlist.cli.example import claims
from shortlist.cli.read import read_rows

SMALL = 400


# The kernel's count of a child's memory begins with its parent's, so the process looks at its own.
CHILD = """
import sys
from shortlist.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file:
    print([int(line.split()[1]) for line in file if line.startswith("VmHWM")][0], file=sys.stderr)
sys.exit(code)
"""


def run(*arguments: str) -> tuple[float, float]:
    """Seconds, and the most megabytes that a command held."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"shortlist {' '.join(arguments)} failed:\n{done.stderr}")
    return seconds, int(done.stderr.split()[-1]) / 1024


def write_wide(path: Path, n_rows: int, seed: int = 0) -> None:
    """Sixteen columns of numbers, three of text, an id and a label."""
    rng = np.random.default_rng(seed)
    names = ["id", *(f"x{j}" for j in range(16)), "branch", "channel", "product", "outcome"]
    levels = [np.array([f"{name} {i}" for i in range(20)]) for name in names[17:20]]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        for start in range(0, n_rows, 50_000):
            n = min(50_000, n_rows - start)
            X = rng.normal(size=(n, 16))
            y = rng.random(n) < 1 / (1 + np.exp(4 - X[:, 0] - X[:, 1]))
            texts = [own[rng.integers(0, 20, n)] for own in levels]
            for i in range(n):
                cells = [f"R{start + i:08d}", *(f"{value:.5f}" for value in X[i])]
                cells += [own[i] for own in texts]
                cells.append("bad" if y[i] else "good")
                file.write(",".join(cells) + "\n")


def measure_help(repeats: int) -> list[dict[str, Any]]:
    found = []
    for arguments in (["--help"], ["fit", "--help"]):
        seconds = [run(*arguments)[0] for _ in range(repeats)]
        found.append({"command": " ".join(arguments), "seconds": float(np.median(seconds)), "runs": repeats})
    return found


def measure_memory(folder: Path, n_rows: int) -> list[dict[str, Any]]:
    """Reading with fitting, and reading with scoring and writing, on many rows and on few."""
    large, small = folder / "large.csv", folder / "small.csv"
    write_wide(large, n_rows)
    write_wide(small, SMALL)
    size = read_rows(str(large)).table.nbytes / 2**20
    model = str(folder / "m.shortlist")
    commands = {
        "fit": lambda file: ("fit", file, "--label", "outcome", "--method", "logistic", "--output", model, "--force"),
        "rank": lambda file: ("rank", file, "--model", model, "--output", str(folder / "r.csv"), "--force"),
    }
    found = []
    for name, command in commands.items():
        run(*commands["fit"](str(small)))
        _, base = run(*command(str(small)))
        seconds, most = run(*command(str(large)))
        found.append(
            {
                "command": name,
                "rows": n_rows,
                "file_mb": large.stat().st_size / 2**20,
                "table_mb": size,
                "seconds": seconds,
                "peak_mb": most,
                "peak_small_mb": base,
                "times_table": (most - base) / size,
            }
        )
    return found


def measure_two_commands(folder: Path, n_rows: int, *extra: str) -> list[dict[str, Any]]:
    """From a CSV file with text, gaps, a date and a note to a ranked file and a report."""
    past, new = folder / "claims.csv", folder / "new.csv"
    past.write_text(claims(n_rows), encoding="utf-8")
    new.write_text(claims(n_rows // 5, 1, labelled=False), encoding="utf-8")
    model, report, ranked = (str(folder / name) for name in ("c.shortlist", "report.html", "ranked.csv"))
    fitted, _ = run("fit", str(past), "--label", "outcome", "--output", model, "--report", report, *extra)
    listed, _ = run("rank", str(new), "--model", model, "--output", ranked)
    return [
        {"command": "fit, with a report", "rows": n_rows, "seconds": fitted},
        {"command": "rank", "rows": n_rows // 5, "seconds": listed},
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows: whether it runs, not what it costs")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args(arguments)
    n_rows, n_claims, repeats = (5_000, 600, 1) if options.quick else (1_000_000, 50_000, 5)
    fast = ["--method", "logistic"] if options.quick else []
    head = versions()
    print(describe(head))
    with tempfile.TemporaryDirectory() as folder:
        helped = measure_help(repeats)
        print("\nHelp\n")
        print(table(["shortlist", "s"], [[one["command"], number(one["seconds"], 2)] for one in helped]))
        two = measure_two_commands(Path(folder), n_claims, *fast)
        print("\nFrom a CSV file to a list and a report\n")
        rows = [[one["command"], f"{one['rows']:,}", number(one["seconds"], 2)] for one in two]
        print(table(["shortlist", "rows", "s"], rows))
        memory = measure_memory(Path(folder), n_rows)
        print("\nMemory\n")
        rows = [
            [
                one["command"],
                f"{one['rows']:,}",
                number(one["file_mb"]),
                number(one["table_mb"]),
                number(one["peak_mb"] - one["peak_small_mb"]),
                number(one["times_table"]),
                number(one["seconds"], 2),
            ]
            for one in memory
        ]
        print(table(["shortlist", "rows", "file, MB", "table, MB", "peak, MB", "peak / table", "s"], rows))
    path = options.json or (None if options.quick else RESULTS / "scaling_cli.json")
    write_json(path, {**head, "help": helped, "two_commands": two, "memory": memory})


if __name__ == "__main__":
    main()
