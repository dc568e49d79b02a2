"""The rows of a list as a table of text: few of any kind of table, fetched by number, so that size does not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Rows", "read_rows"]


@dataclass(frozen=True)
class Rows:
    """Some rows of a table.

    Attributes
    ----------
    names : list of str
        Columns shown.
    cells : list of list
        One list a row.
    left_out : int
        Columns that are not shown.
    """

    names: list[str]
    cells: list[list[Any]]
    left_out: int


def read_rows(table: Any, chosen: Array, n_rows: int, most: int, but: Sequence[str] = ()) -> Rows:
    """The ``chosen`` rows of a data frame, a mapping of columns, an array or a sparse matrix, and their first columns.

    >>> read_rows({"a": [1, 2, 3], "b": ["x", "y", "z"]}, np.array([2, 0]), 3, most=1)
    Rows(names=['a'], cells=[[3], [1]], left_out=1)
    """
    if table is None:
        return Rows([], [[] for _ in chosen], 0)
    if isinstance(table, Mapping):
        lengths, names = {len(column) for column in table.values()} or {n_rows}, list(table)
        columns = {name: lambda name=name: [table[name][i] for i in chosen.tolist()] for name in names}
    elif hasattr(table, "iloc"):  # pandas; by position, for names may repeat
        lengths, names = {len(table)}, [str(name) for name in table.columns]
        columns = {i: lambda i=i: table.iloc[:, i].iloc[chosen].tolist() for i in range(len(names))}
    elif hasattr(table, "column_names"):  # pyarrow
        lengths, names = {table.num_rows}, list(table.column_names)
        columns = {i: lambda i=i: table.column(i).take(chosen.tolist()).to_pylist() for i in range(len(names))}
    elif hasattr(table, "columns"):  # polars, narwhals
        lengths, names = {len(table)}, list(table.columns)
        columns = {name: lambda name=name: table[name][chosen.tolist()].to_list() for name in names}
    else:
        return _of_array(table, chosen, n_rows, most)
    if lengths != {n_rows}:
        raise ValueError(f"rows has {max(lengths)} rows and there are {n_rows} scores; give the table that was scored")
    kept = [(key, str(name)) for key, name in zip(columns, names, strict=True) if str(name) not in but]
    values = [columns[key]() for key, _ in kept[:most]]
    cells = [list(row) for row in zip(*values, strict=True)] if values else [[] for _ in chosen]
    return Rows([name for _, name in kept[:most]], cells, max(len(kept) - most, 0))


def _of_array(table: Any, chosen: Array, n_rows: int, most: int) -> Rows:
    if hasattr(table, "tocsr"):
        part, shape = table.tocsr()[chosen][:, :most].toarray(), table.shape
    else:
        table = np.asarray(table)
        shape = table.shape
        part = table[chosen][:, :most] if table.ndim == 2 and len(table) == n_rows else None
    if len(shape) != 2 or shape[0] != n_rows:
        raise ValueError(
            f"rows must be a table with the {n_rows} rows that were scored, got an array of shape {tuple(shape)}"
        )
    return Rows([f"column {i}" for i in range(min(most, shape[1]))], part.tolist(), max(shape[1] - most, 0))
