"""The pages that ``--report`` writes, made by `shortlist.report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from shortlist.cli.methods import title_of
from shortlist.cli.model import Described
from shortlist.cli.rows import Rows

Array = NDArray[Any]

__all__ = ["write_comparison", "write_evaluation"]


def _called(label: str | None, positive: Sequence[str]) -> str | None:
    """What a positive row is, after "are"."""
    words = " or ".join(positive)
    if label is None or not words:
        return None
    return f"“{words}”" if not any(c.isdigit() for c in words) else f"{label} = {words}"


def write_evaluation(
    place: Path,
    described: Described | None,
    rows: Rows,
    y: Array,
    scores: Array,
    k: int,
    force: bool,
    command: str,
    *,
    groups: Any = None,
    identity: str | None = None,
    label: str | None = None,
    positive: Sequence[str] = (),
    name: str | None = None,
    held_out: bool = True,
) -> None:
    """A page on one list whose labels are known."""
    from shortlist.report import evaluation_report, write_report

    identity = identity or (described.get("id") if described is not None else None)
    if name is None:
        name = title_of(described.model) if described is not None else "this list"
    page = evaluation_report(
        y,
        scores,
        budget=k,
        groups=groups,
        name=name,
        table=rows.table,
        ids=identity if identity in rows.kinds else None,
        model=None if described is None else described.model,
        held_out=held_out,
        positive=_called(label, positive),
        data=rows.name,
        command=command,
        settings={} if described is None else {"columns": ", ".join(described.kinds)},
    )
    write_report(place, page, overwrite=force)


def write_comparison(
    place: Path, comparison: Any, rows: Rows, force: bool, command: str, label: str, positive: Sequence[str]
) -> None:
    """A page on a comparison."""
    from shortlist.report import comparison_report, write_report

    page = comparison_report(comparison, positive=_called(label, positive), data=rows.name, command=command)
    write_report(place, page, overwrite=force)
