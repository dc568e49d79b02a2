"""What all benchmarks share: data in [0, 1], equal threads, tables, and results kept as JSON.

The public sets come from ``shortlist.datasets``: from the folder that SHORTLIST_DATA names, otherwise from
the publisher through the cache.
"""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from shortlist.datasets import DataError, DownloadError, load
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning, QuantileWarning

Array = NDArray[Any]

RESULTS = Path("benchmarks/results")
SIX = ("ionosphere", "diabetes", "spambase", "w8a", "news20_train", "nslkdd")


def unit_range(X: Any) -> Any:
    """Features in [0, 1]: dense columns by minimum and maximum, sparse ones by their maximum, staying sparse.

    >>> unit_range(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    if sparse.issparse(X):
        if X.nnz and X.data.min() < 0:
            raise ValueError("sparse features below 0 cannot be scaled to [0, 1] and stay sparse")
        largest = X.max(axis=0).toarray().ravel()
        data = X.data / np.where(largest > 0, largest, 1.0)[X.indices]
        parts = (data, X.indices.astype(np.int32), X.indptr.astype(np.int32))  # LIBLINEAR takes no others
        return sparse.csr_array(parts, shape=X.shape)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def load_scaled(name: str) -> tuple[Any, Array]:
    """Features in [0, 1] and labels 0, 1 of a public set; "made" is generated."""
    if name == "made":
        return make_noisy(600, 10, share=0.3, seed=0)
    try:
        bunch = load(name)
    except (DownloadError, DataError) as error:
        raise SystemExit(
            f"The benchmark needs the data set {name!r}. Set SHORTLIST_DATA to a folder that holds it "
            f"(docs/data.md shows the layout), or leave it out with --sets.\n{error}"
        ) from None
    return unit_range(bunch.data), np.asarray(bunch.target)


def make_noisy(n_rows: int, n_columns: int, *, share: float, seed: int) -> tuple[Array, Array]:
    """Two overlapping classes: uniform columns, positives shifted in a third of them, 2 % of labels wrong."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < share).astype(np.int64)
    X = rng.random((n_rows, n_columns))
    shift = np.zeros(n_columns)
    shift[: max(1, n_columns // 3)] = 0.35
    X *= 0.65
    X[y == 1] += shift
    flip = rng.random(n_rows) < 0.02 * min(1.0, 2 * share)
    return X, np.where(flip, 1 - y, y)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """As many BLAS and OpenMP threads for every method."""
    with threadpool_limits(limits=number), warnings.catch_warnings():
        for expected in (ConvergenceWarning, DegenerateOptimumWarning, QuantileWarning):
            warnings.simplefilter("ignore", expected)
        yield


def versions(**settings: Any) -> dict[str, Any]:
    """Head of a file of results."""
    return {
        "shortlist": version("shortlist"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        **settings,
    }


def describe(head: dict[str, Any]) -> str:
    """The head in one line."""
    return ", ".join(f"{key} {value}" for key, value in head.items() if value is not None)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], first_left: int = 1) -> str:
    """A Markdown table, aligned to be read as it is.

    >>> print(table(["set", "s"], [["a", 1], ["bb", 22]]))
    | set |  s |
    |-----|---:|
    | a   |  1 |
    | bb  | 22 |
    """
    cells = [list(map(str, columns)), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < first_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * (w + 2) if i < first_left else "-" * (w + 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(cells[0]), "|" + "|".join(rule) + "|", *map(line, cells[1:])])


def number(x: float | None, digits: int = 3) -> str:
    """A few significant digits; a dash for what does not exist.

    >>> number(0.012345), number(None), number(123456.0), number(2.0)
    ('0.0123', '-', '123456', '2.00')
    """
    if x is None or not np.isfinite(x):
        return "-"
    if x == 0:
        return "0"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(x)))))
    return f"{x:.{min(decimals, 6)}f}"


def write_json(path: Path | None, payload: dict[str, Any]) -> None:
    """Keep the figures beside the page that shows them."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(payload, indent=1, default=float) + "\n")


def mark(passed: bool) -> str:
    return "pass" if passed else "FAIL"
