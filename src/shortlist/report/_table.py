"""Tables of a page: a caption, headings with buttons that sort, cells that are escaped, scrolling within."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shortlist.report._text import escape

__all__ = ["Cell", "Column", "facts", "table"]


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds numbers, and the way in which its rows are ordered already."""

    heading: str
    numeric: bool = False
    order: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell: its text, what it sorts by, a class for its look, and markup that is drawn before the text."""

    text: str
    value: Any = None
    look: str = ""
    before: str = ""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], caption: str, *, row_heading: int = 0) -> str:
    """An HTML table that sorts by any column; column ``row_heading`` names its rows."""
    head = "".join(_heading(column) for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            _cell(cell, column, i == row_heading) for i, (cell, column) in enumerate(zip(row, columns, strict=True))
        )
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table data-sortable>'
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )


def _heading(column: Column) -> str:
    look = ' class="n"' if column.numeric else ""
    order = f' aria-sort="{column.order}"' if column.order else ""
    hint = f' title="{escape(column.hint)}"' if column.hint else ""
    return f'<th scope="col"{look}{order}><button type="button"{hint}>{escape(column.heading)}</button></th>'


def _cell(cell: Cell, column: Column, heads_row: bool) -> str:
    looks = " ".join(look for look in ("n" if column.numeric else "", cell.look) if look)
    attributes = f' class="{escape(looks)}"' if looks else ""
    if cell.value is not None and not (isinstance(cell.value, float) and math.isnan(cell.value)):
        attributes += f' data-v="{escape(cell.value)}"'
    inside = cell.before + escape(cell.text)
    return f'<th scope="row"{attributes}>{inside}</th>' if heads_row else f"<td{attributes}>{inside}</td>"


def facts(pairs: Sequence[tuple[str, str]], look: str = "facts") -> str:
    """Names and values, one below the other."""
    return (
        f'<dl class="{look}">'
        + "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
        + "</dl>"
    )
