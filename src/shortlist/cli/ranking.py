"""``shortlist rank``: the rows of a file in a model's order."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.failure import Failure, no_column
from shortlist.cli.model import Described, load_described, scores_of_rows
from shortlist.cli.read import read_rows
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Terminal, decimals
from shortlist.cli.write import check_output, kind_of_output, places_in_groups, to_stdout, write_ranked

Array = NDArray[Any]

__all__ = ["order_of", "rank", "read_for"]

SHOWN = 20
MOST_COLUMNS = 7


def read_for(described: Described, path: str, reading: dict[str, Any], terminal: Terminal, rest: str | None) -> Rows:
    """A file's rows, with the columns of the kinds that the model takes."""
    with terminal.progress(f"reading {path}") as progress:
        return read_rows(
            path,
            kinds=described.kinds,
            rest=rest if described.kinds else None,
            n_features=described.n_sparse,
            told=lambda n: progress(0, None, f"reading {path}: {n:,} rows"),
            **reading,
        )


def order_of(rows: Rows, scores: Array, group: str | None) -> tuple[Array, Array, Array | None]:
    """Row numbers best first, the rank of each, and the group numbers of all rows."""
    if group is None:
        order = np.argsort(-scores, kind="stable")
        return order, places_in_groups(order, None), None
    words = rows.words(group)
    empty = np.flatnonzero([word is None for word in words])
    if len(empty):
        raise Failure(f"{rows.name}: row {empty[0] + 1} has no value of {group!r}, by which rows are grouped")
    _, first, inverse = np.unique(words.astype(str), return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[inverse.ravel()]  # in the order of their first rows
    order = np.lexsort((-scores, codes))
    return order, places_in_groups(order, codes), codes


def rank(
    path: str,
    model: str,
    output: str | None,
    top: int | None,
    columns: Sequence[str],
    identity: str | None,
    group: str | None,
    score: str,
    place: str,
    force: bool,
    reading: dict[str, Any],
    terminal: Terminal,
) -> None:
    """The command."""
    target = check_output(output, force, path, model)
    if target is not None:
        kind_of_output(target)
    described = load_described(model, terminal)
    rows = read_for(described, path, reading, terminal, "text")
    chosen = list(columns) or rows.names
    for name in chosen:
        if name not in rows.kinds:
            raise no_column(rows.name, name, rows.names)
    for what, name in (("--rank-name", place), ("--score-name", score)):
        if name in chosen:
            raise Failure(f"{rows.name} has a column {name!r} already; {what} gives the new one another name")
    by = group or (described.get("group") if described.get("group") in rows.kinds else None)
    with terminal.progress(f"scoring {len(rows):,} rows") as progress:
        scores = scores_of_rows(described, rows, progress)
    order, places, _ = order_of(rows, scores, by)
    if top is not None:
        order, places = order[places <= top], places[places <= top]
    added = {place: places, score: scores[order]}
    if rows.matrix is not None:
        added["row"] = order + 1
    if target is None and not terminal.as_json and not sys.stdout.isatty():
        to_stdout(rows, order, added, chosen)
        return
    n = len(order) if target is None and terminal.as_json else SHOWN
    head, n_rows = _cells(rows, order, added, chosen, n), len(rows)
    if target is not None:
        with terminal.progress(f"writing {target}") as progress:
            write_ranked(target, rows, order, added, chosen, lambda done: progress(done, len(order)))
    terminal.json(
        {
            "model": described.path,
            "rows": n_rows,
            "output": None if target is None else str(target),
            "ranked": head,
            "seconds": round(terminal.seconds, 1),
        }
    )
    first = [name for name in (by, identity or described.get("id")) if name is not None and name in chosen]
    shown = [*first, *(name for name in chosen if name not in first)][:MOST_COLUMNS]
    _show(terminal, head, [*added, *shown], rows.kinds)
    if len(order) > SHOWN:
        hint = "" if len(shown) == len(chosen) else f"; {len(chosen) - len(shown)} columns are not shown"
        terminal.say(f"… and {len(order) - SHOWN:,} rows more{hint}")
    if target is not None:
        terminal.say()
        terminal.facts([(str(target), f"{len(order):,} rows, best first, {terminal.seconds:.0f} s")])


def _cells(rows: Rows, order: Array, added: dict[str, Array], columns: Sequence[str], n: int) -> list[dict[str, Any]]:
    """The first rows, as they are shown."""
    part = rows.table.select(list(columns)).take(order[:n]).to_pylist()
    return [{**{name: added[name][i].item() for name in added}, **row} for i, row in enumerate(part)]


def _show(terminal: Terminal, head: list[dict[str, Any]], names: Sequence[str], kinds: dict[str, str]) -> None:
    """The head of the list."""
    place, score, *others = names
    cells = [[f"{row[place]:,}", decimals(row[score]), *(row[name] for name in others)] for row in head]
    numeric = [i for i, name in enumerate(others, start=2) if kinds.get(name, "number") == "number"]
    terminal.table(names, cells, right=(0, 1, *numeric))
