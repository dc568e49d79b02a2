"""What the benchmarks of "Direct learning to rank and rerank" (Rudin and Wang, AISTATS 2018) share: sets and figures.

Sets are in [0, 1] feature by feature.  ``SETS`` are those of the paper that can be had; ROC Flexibility cannot.  Of
NHANES and polypharmacy the paper has fewer rows and does not say which: here 600 rows of NHANES drawn once, without
weight, height and body mass index, which determine its label (with them logistic regression makes no mistake, and the
paper's does), and a random year of each subject of polypharmacy.  The Gaussians are a sample with two of the ten stray
negatives, the number to be expected; the proofs are measured on the sample of seed 0, which has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel
from sklearn.linear_model import LogisticRegression

from benchmarks._common import Array, load_scaled, make_noisy, unit_range, write_json
from shortlist.datasets import load_nhanes, load_polypharm, make_gaussians
from shortlist.solvers.exact.problem import RankProblem

__all__ = [
    "LOG2",
    "SETS",
    "base",
    "changes",
    "keep",
    "load_set",
    "paired_p",
    "parse_case",
    "spread",
    "top_problem",
]

# The paper's DCG figures fit the natural logarithm: log2 figures over this.
LOG2 = math.log(2.0)

# The smallest seed whose sample of the Gaussians has two stray negatives.
TWO_STRAYS = 6

# The rows that are ranked again; None are all of the training part.
SETS: dict[str, tuple[int | None, ...]] = {
    "haberman": (50, 100, None),
    "gaussians": (50, 100, 150, None),
    "glow500": (50, 100, 150, None),
    "uis": (50, 100, 150, None),
    "pima": (50, 100, 150, None),
    "travel_mode": (50, 100, 150, None),
    "nhanes": (50, 100, 150, None),
    "polypharm": (50, 100, 150, None),
    "abalone19": (250, 500, 750, None),
}


@lru_cache(maxsize=2)
def load_set(name: str) -> tuple[Array, Array]:
    """Features in [0, 1] and labels 0, 1, as the paper's tables have them."""
    if name == "made":
        return make_noisy(120, 2, share=0.3, seed=0)
    if name == "gaussians":
        X, y = make_gaussians(random_state=TWO_STRAYS)
        return unit_range(X), y
    load_scaled(name)  # says what to do where the set is not at hand
    if name == "nhanes":
        bunch = load_nhanes()
        rows = np.sort(np.random.default_rng(0).permutation(len(bunch.target))[:600])
        columns = [j for j, feature in enumerate(bunch.feature_names) if feature not in ("wt", "ht", "bmi")]
        return unit_range(bunch.data[rows][:, columns]), bunch.target[rows]
    if name == "polypharm":
        bunch = load_polypharm(complete=True)
        order = np.random.default_rng(0).permutation(len(bunch.target))
        rows = np.sort(order[np.unique(bunch.groups[order], return_index=True)[1]])
        return unit_range(bunch.data[rows]), bunch.target[rows]
    return load_scaled(name)


def load_whole(name: str) -> tuple[Array, Array]:
    """The same with all rows and columns: what the proofs are measured on."""
    if name == "polypharm":
        bunch = load_polypharm(complete=True)
        return unit_range(bunch.data), bunch.target
    if name == "gaussians":
        X, y = make_gaussians(random_state=0)
        return unit_range(X), y
    return load_scaled(name) if name == "nhanes" else load_set(name)


def base() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def top_problem(name: str, top: int | None) -> tuple[RankProblem, Array]:
    """DCG of the ``top`` rows by logistic regression on the whole set, and the regression's weights."""
    X, y = load_whole(name)
    model = base().fit(X, y)
    rows = np.arange(len(y))
    if top is not None:
        rows = np.argsort(-model.decision_function(X), kind="stable")[:top]
    return RankProblem.of(X[rows], y[rows] == 1, "dcg"), model.coef_[0]


def parse_case(text: str) -> tuple[str, int | None]:
    """A set and the rows of it that are ranked.

    >>> parse_case("pima:50"), parse_case("haberman:all")
    (('pima', 50), ('haberman', None))
    """
    name, _, top = text.partition(":")
    return name, None if top in ("", "all") else int(top)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation of a sample in natural logarithms, as the paper prints them.

    >>> spread([LOG2, 3 * LOG2])
    '2.00 ± 1.41'
    """
    found = np.asarray(values) / LOG2
    deviation = found.std(ddof=1) if len(found) > 1 else 0.0
    return f"{found.mean():.2f} ± {deviation:.2f}"


def paired_p(ours: Sequence[float], other: Sequence[float]) -> float | None:
    """p of the paired t-test; None where there is nothing to test.

    >>> paired_p([1.0, 2.0], [1.0, 2.0]) is None
    True
    >>> round(paired_p([1.0, 2.0, 3.0], [0.9, 1.8, 2.9]), 3)
    0.057
    """
    if len(ours) < 2 or np.ptp(np.subtract(ours, other)) == 0:
        return None
    return float(ttest_rel(ours, other).pvalue)


def changes(ours: Sequence[float], other: Sequence[float], level: float = 0.05) -> str:
    """The p value, and ● where the difference is significant and for better, ○ where it is for worse."""
    p = paired_p(ours, other)
    if p is None:
        return "-"
    mark = "" if p >= level else " ●" if np.mean(ours) > np.mean(other) else " ○"
    return ("<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")) + mark


def keep(path: Path | None, head: dict[str, Any], part: str, key: str, found: Any) -> None:
    """Put one piece into the file of results beside what it holds, so that an interrupted run loses nothing."""
    if path is None:
        return
    stored = json.loads(path.read_text()) if path.exists() else {}
    parts = {name: value for name, value in stored.items() if isinstance(value, dict)}
    parts.setdefault(part, {})[key] = found
    write_json(path, {**head, **parts})


# Training and test figures as printed, in Tables 1 and 2: mean and standard deviation of ten splits.
PAPER: dict[str, dict[str, tuple[str, str]]] = {
    "abalone19": {
        "LR": ("3.63 ± 0.43", "2.96 ± 0.42"),
        "SVM": ("3.41 ± 0.47", "3.02 ± 0.53"),
        "RankBoost": ("3.40 ± 0.65", "2.66 ± 0.49"),
        "P-Norm Push": ("3.44 ± 0.47", "3.03 ± 0.50"),
        "top 250": ("4.89 ± 0.58", "3.08 ± 0.49"),
        "top 500": ("4.45 ± 0.50", "2.89 ± 0.35"),
        "top 750": ("4.13 ± 0.53", "2.76 ± 0.38"),
        "all": ("2.54 ± 0.35", "2.42 ± 0.48"),
    },
    "uis": {
        "LR": ("18.86 ± 1.32", "17.88 ± 1.11"),
        "SVM": ("18.46 ± 1.38", "17.81 ± 1.21"),
        "RankBoost": ("19.44 ± 1.44", "17.70 ± 1.40"),
        "P-Norm Push": ("18.78 ± 1.40", "17.89 ± 1.13"),
        "top 50": ("20.45 ± 1.23", "18.00 ± 1.31"),
        "top 100": ("19.76 ± 1.27", "18.64 ± 1.51"),
        "top 150": ("19.26 ± 1.05", "17.79 ± 1.73"),
        "all": ("18.84 ± 1.44", "17.89 ± 0.67"),
    },
    "travel_mode": {
        "LR": ("28.16 ± 1.60", "27.32 ± 1.70"),
        "SVM": ("27.59 ± 1.61", "26.81 ± 1.76"),
        "RankBoost": ("26.57 ± 1.60", "24.95 ± 1.63"),
        "P-Norm Push": ("28.09 ± 1.62", "27.24 ± 1.66"),
        "top 50": ("28.30 ± 1.63", "27.61 ± 1.70"),
        "top 100": ("28.24 ± 1.56", "27.39 ± 1.60"),
        "top 150": ("27.12 ± 1.45", "26.00 ± 2.26"),
        "all": ("26.94 ± 1.36", "26.31 ± 1.83"),
    },
    "nhanes": {
        "LR": ("14.69 ± 1.63", "13.06 ± 1.74"),
        "SVM": ("13.83 ± 1.87", "12.98 ± 1.79"),
        "RankBoost": ("13.75 ± 2.01", "12.10 ± 1.75"),
        "P-Norm Push": ("14.46 ± 1.57", "13.18 ± 1.82"),
        "top 50": ("15.48 ± 1.69", "13.26 ± 1.50"),
        "top 100": ("15.02 ± 1.93", "12.71 ± 1.61"),
        "top 150": ("14.73 ± 1.59", "12.94 ± 1.55"),
        "all": ("13.87 ± 1.25", "13.09 ± 1.82"),
    },
    "pima": {
        "LR": ("35.50 ± 1.66", "34.18 ± 1.81"),
        "SVM": ("35.30 ± 1.61", "34.03 ± 1.83"),
        "RankBoost": ("35.80 ± 1.44", "33.83 ± 1.65"),
        "P-Norm Push": ("35.64 ± 1.67", "34.24 ± 1.82"),
        "top 50": ("35.75 ± 1.67", "34.44 ± 1.76"),
        "top 100": ("35.43 ± 1.69", "33.56 ± 1.87"),
        "top 150": ("34.85 ± 1.96", "33.72 ± 2.21"),
        "all": ("34.77 ± 2.03", "33.65 ± 2.01"),
    },
    "gaussians": {
        "LR": ("69.25 ± 2.70", "64.69 ± 2.45"),
        "SVM": ("69.28 ± 2.70", "64.73 ± 2.45"),
        "RankBoost": ("71.31 ± 2.15", "67.13 ± 2.06"),
        "P-Norm Push": ("69.24 ± 2.70", "64.65 ± 2.43"),
        "top 50": ("71.71 ± 2.22", "68.03 ± 2.27"),
        "top 100": ("71.76 ± 2.18", "67.91 ± 2.27"),
        "top 150": ("71.58 ± 2.29", "67.79 ± 2.30"),
        "all": ("64.70 ± 2.53", "59.89 ± 2.26"),
    },
    "haberman": {
        "LR": ("12.94 ± 1.07", "12.82 ± 1.15"),
        "SVM": ("12.95 ± 1.06", "12.63 ± 1.15"),
        "RankBoost": ("13.95 ± 1.24", "12.01 ± 1.06"),
        "P-Norm Push": ("12.94 ± 1.06", "12.64 ± 1.09"),
        "top 50": ("13.10 ± 1.19", "12.64 ± 1.47"),
        "top 100": ("13.02 ± 1.20", "12.80 ± 1.13"),
        "all": ("13.13 ± 0.92", "12.46 ± 1.05"),
    },
    "polypharm": {
        "LR": ("19.43 ± 1.42", "17.23 ± 1.63"),
        "SVM": ("19.24 ± 1.53", "17.71 ± 1.56"),
        "RankBoost": ("19.11 ± 1.55", "17.40 ± 1.70"),
        "P-Norm Push": ("18.73 ± 1.25", "18.05 ± 1.33"),
        "top 50": ("19.21 ± 0.93", "17.37 ± 1.33"),
        "top 100": ("18.63 ± 1.25", "17.59 ± 1.25"),
        "top 150": ("18.04 ± 1.04", "17.16 ± 1.99"),
        "all": ("18.16 ± 1.36", "17.22 ± 1.57"),
    },
    "glow500": {
        "LR": ("17.26 ± 1.16", "16.68 ± 1.18"),
        "SVM": ("16.52 ± 1.41", "17.26 ± 1.15"),
        "RankBoost": ("17.23 ± 1.25", "17.01 ± 0.69"),
        "P-Norm Push": ("17.02 ± 1.44", "17.24 ± 1.27"),
        "top 50": ("18.20 ± 1.24", "16.79 ± 1.09"),
        "top 100": ("17.70 ± 1.22", "17.10 ± 1.66"),
        "top 150": ("17.08 ± 1.40", "16.78 ± 1.33"),
        "all": ("16.69 ± 1.28", "16.48 ± 1.35"),
    },
}

# Table 3 (and 15, 16): by the margin, with a price of 1e-4; Table 4: by the price, with a margin of 1e-4; top 100.
PAPER_SWEEPS: dict[str, dict[str, dict[str, tuple[str, str]]]] = {
    "3": {
        "uis": {
            "1e-01": ("19.70 ± 1.23", "18.40 ± 1.09"),
            "1e-02": ("19.73 ± 1.24", "18.03 ± 1.06"),
            "1e-03": ("19.80 ± 1.09", "18.34 ± 1.20"),
            "1e-04": ("19.76 ± 1.27", "18.64 ± 1.51"),
            "1e-05": ("19.73 ± 1.17", "17.88 ± 1.66"),
            "1e-06": ("19.08 ± 1.40", "18.23 ± 0.75"),
        }
    },
    "4": {
        "uis": {
            "1e-01": ("19.15 ± 1.24", "17.94 ± 1.11"),
            "1e-02": ("19.36 ± 1.02", "18.15 ± 1.54"),
            "1e-03": ("19.69 ± 1.01", "17.92 ± 1.57"),
            "1e-04": ("19.76 ± 1.27", "18.64 ± 1.51"),
            "1e-05": ("19.89 ± 1.24", "17.94 ± 1.12"),
            "1e-06": ("19.68 ± 1.08", "17.74 ± 1.76"),
        }
    },
}
