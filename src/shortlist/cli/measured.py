"""What a list is worth: the figures that `fit` and `evaluate` print, with what chance would give."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.terminal import Terminal, decimals

Array = NDArray[Any]

__all__ = ["measure", "say_measured", "shortened"]

NAMES = ("precision_at_k", "recall_at_k", "average_precision", "positives_at_top", "auc")


def measure(y: Array, scores: Array, k: int, groups: Any = None) -> dict[str, Any]:
    """Figures of scored rows at ``k`` places, and the rows and positives that they are of."""
    from shortlist.metrics import evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(y, scores, k=k, groups=groups)
    return {"k": k, "rows": len(y), "positives": int(y.sum()), **found}


def say_measured(terminal: Terminal, found: dict[str, Any], grouped: bool) -> None:
    """The figures that matter, beside a list in random order."""
    k, n, positives = found["k"], found["rows"], found["positives"]
    base = positives / n
    each = " of each" if grouped else ""
    low, high = wilson(found["precision_at_k"], k) if not grouped else (math.nan, math.nan)
    interval = "" if not math.isfinite(low) else f"{decimals(low)} to {decimals(high)}"
    chance, picked = (math.nan, math.nan) if grouped else (base, min(k / n, 1.0))
    rows = [
        (f"precision in the first {k:,}{each}", decimals(found["precision_at_k"]), interval, decimals(chance)),
        (f"recall in the first {k:,}{each}", decimals(found["recall_at_k"]), "", decimals(picked)),
        ("average precision", decimals(found["average_precision"]), "", decimals(chance)),
        ("positives above every negative", decimals(found["positives_at_top"], 1), "", ""),
        ("AUC", decimals(found["auc"]), "", "0.5"),
    ]
    terminal.table(("", "measured", "95 % interval", "by chance"), rows, right=(1, 2, 3))


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Interval for a share seen in n trials (Wilson).

    >>> [round(x, 3) for x in wilson(0.5, 20)]
    [0.299, 0.701]
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """What of it a model's file keeps."""
    kept = {name: found[name] for name in ("k", "rows", "positives")}
    return {**kept, **{name: float(np.round(found[name], 6)) for name in NAMES}}
