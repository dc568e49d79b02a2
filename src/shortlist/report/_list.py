"""The sections about one list of scored rows: what stands on top, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.report._rows import read_rows
from shortlist.report._table import Cell, Column, table
from shortlist.report._text import column, escape, number, plain, plural, spell

Array = NDArray[Any]

__all__ = ["Listed", "top_rows"]


@dataclass(frozen=True)
class Listed:
    """Scored rows as a reader should see them.

    Attributes
    ----------
    scores : (n,) array
    labels : (n,) array or None
    positive : (n,) bool array or None
    groups : (n,) array or None
    table : data frame, mapping, array, sparse matrix or None
    ids : (n,) sequence or None
    id_name : str
    """

    scores: Array
    labels: Any
    positive: Array | None
    groups: Any
    table: Any
    ids: Any
    id_name: str

    @classmethod
    def of(cls, scores: Array, labels: Any, positive: Array | None, groups: Any, rows: Any, ids: Any) -> Listed:
        """``ids`` by column name, as values, or else from the index of a pandas frame."""
        name = "row"
        if isinstance(ids, str):
            name, ids = ids, _column(rows, ids)
        elif ids is None and hasattr(rows, "iloc"):
            ids, name = list(rows.index), plain(rows.index.name or "row")
        elif ids is not None:
            ids, name = list(ids), "id"
        if ids is not None and len(ids) != len(scores):
            raise ValueError(f"ids has {len(ids)} entries and there are {len(scores)} scores; give one id a row")
        return cls(scores, labels, positive, groups, rows, ids, name)


def _column(rows: Any, name: str) -> list[Any]:
    names = list(rows) if isinstance(rows, dict) else list(getattr(rows, "column_names", getattr(rows, "columns", [])))
    if name not in names:
        raise ValueError(f"ids={name!r} is no column of table; there are {', '.join(map(repr, names)) or 'none'}")
    return list(rows[name].to_pylist() if hasattr(rows[name], "to_pylist") else rows[name])


def top_rows(listed: Listed, top: int, max_columns: int, noun: str) -> str:
    """The first rows as a table, with what was left out said below it."""
    order = np.argsort(-listed.scores, kind="stable")[:top]
    but = [listed.id_name] if listed.ids is not None and isinstance(listed.id_name, str) else []
    shown = read_rows(listed.table, order, len(listed.scores), max_columns, but)
    columns = [Column("place", numeric=True, order="ascending"), Column(listed.id_name)]
    if listed.labels is not None:
        columns.append(Column("label"))
    if listed.groups is not None:
        columns.append(Column("group"))
    columns.append(Column("score", numeric=True))
    numeric = [_is_numeric([row[i] for row in shown.cells]) for i in range(len(shown.names))]
    columns += [Column(name, numeric=is_number) for name, is_number in zip(shown.names, numeric, strict=True)]
    cells = [list(row) for row in zip(*shown.cells, strict=True)] if shown.names else []
    texts = [
        column(values) if is_number else [spell(value) for value in values]
        for values, is_number in zip(cells, numeric, strict=bool(cells))
    ]
    scores = column([float(listed.scores[row]) for row in order])
    lines = []
    for at, row in enumerate(order.tolist()):
        line = [Cell(str(at + 1), at + 1), Cell(spell(row if listed.ids is None else listed.ids[row]))]
        if listed.labels is not None:
            hit = listed.positive is not None and bool(listed.positive[row])
            line.append(Cell(spell(listed.labels[row]), look="hit" if hit else "miss"))
        if listed.groups is not None:
            line.append(Cell(spell(listed.groups[row])))
        line.append(Cell(scores[at], float(listed.scores[row])))
        for values, several, is_number in zip(cells, texts, numeric, strict=bool(cells)):
            line.append(Cell(several[at], _value(values[at]) if is_number else None))
        lines.append(line)
    caption = f"The first {number(len(order))} of {plural(len(listed.scores), noun)}, best first"
    notes = []
    if shown.left_out:
        notes.append(f"{plural(shown.left_out, 'columns')} of the table {_are(shown.left_out)} not shown.")
    more = len(listed.scores) - len(order)
    if more:
        notes.append(f"The other {plural(more, noun)} {_are(more)} not in this file.")
    note = f'<p class="note">{escape(" ".join(notes))}</p>' if notes else ""
    return table(columns, lines, caption, row_heading=1) + note


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _value(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _is_numeric(values: list[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(
        isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) for value in present
    )
