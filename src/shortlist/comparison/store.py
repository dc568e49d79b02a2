"""A comparison as a file: JSON that is written whole or not at all, and checked before it is believed."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shortlist.comparison.result import Comparison, Run

__all__ = ["FORMAT", "plain", "read", "resume", "write"]

FORMAT = "shortlist comparison 1"


def plain(value: Any) -> Any:
    """What JSON can hold: NumPy's numbers as numbers, what it cannot hold by its repr."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def write(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Write beside the place and move there, so that an interruption leaves the last whole file."""
    path = Path(path)
    content = {
        "format": FORMAT,
        "metrics": comparison.metrics,
        "losses": comparison.losses,
        "settings": comparison.settings,
        "runs": {name: [_written(run) for run in runs] for name, runs in comparison.runs.items()},
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, default=plain, allow_nan=False)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _written(run: Run) -> dict[str, Any]:
    made = asdict(run)
    made["figures"] = {name: plain(value) for name, value in run.figures.items()}
    made["chosen"] = {name: plain(value) for name, value in run.chosen.items()}
    made["gap"] = plain(run.gap)
    return made


def read(path: str | os.PathLike[str]) -> Comparison:
    """Read a file of `compare`; a ValueError says what is wrong with it."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no comparison: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is no comparison: its format is not {FORMAT!r}")
    try:
        runs = {str(name): [_run(one) for one in several] for name, several in content["runs"].items()}
        found = Comparison(runs, list(content["metrics"]), list(content["losses"]), dict(content["settings"]))
        found.settings["fingerprint"]["data"]
        if any(len(several) > int(found.settings["splits"]) for several in runs.values()):
            raise KeyError("splits")
        if any(set(run.figures) != set(found.metrics) for several in runs.values() for run in several):
            raise KeyError("figures")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is no comparison: {error!r} is missing or of the wrong kind") from None
    return found


def _run(one: dict[str, Any]) -> Run:
    figures = {str(name): math.nan if value is None else float(value) for name, value in one["figures"].items()}
    gap = one["gap"]
    return Run(figures, float(one["seconds"]), dict(one["chosen"]), one["proof"], None if gap is None else float(gap))


def resume(path: str | os.PathLike[str], new: Comparison) -> dict[str, list[Run]]:
    """The runs of a file that belong to the comparison that is to be made; refused if it is another one."""
    if not Path(path).exists():
        return {}
    old = read(path)
    was, now = old.settings["fingerprint"], new.settings["fingerprint"]
    if not isinstance(was.get("models"), dict):
        raise ValueError(f"{path} is no comparison: its fingerprint lacks the models")
    for part, meaning in (("data", "rows, labels, groups or weights"), ("plan", "splits, metrics or budget")):
        if was.get(part) != now[part]:
            raise ValueError(f"{path} holds a comparison with other {meaning}; give another path, or remove the file")
    missing = [name for name, runs in old.runs.items() if runs and name not in new.runs]
    if missing:
        raise ValueError(
            f"{path} holds {', '.join(missing)} too, which would be lost; give these models as well, or another path"
        )
    for name in new.runs:
        if name in was["models"] and was["models"][name] != now["models"][name]:
            raise ValueError(
                f"{path} holds a comparison in which the model {name!r} has other settings; name it otherwise, give "
                "another path, or remove the file"
            )
    return {name: runs for name, runs in old.runs.items() if name in new.runs}
