"""A table as the commands see it: typed columns of Arrow, or svmlight's sparse rows, and where they are from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.failure import no_column

Array = NDArray[Any]

__all__ = ["MISSING", "Rows", "spelled"]

# What stands for no value where labels and groups are read; in numbers Arrow's own list serves.
MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"))


@dataclass
class Rows:
    """Rows of a file.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    table : pyarrow.Table
    kinds : dict of str to str
        'number', 'text', 'date' or 'other', by column.
    matrix : CSR array or None
        The features of an svmlight file; the table then holds its labels and queries.
    notes : list of str
        What was noticed while reading.
    """

    name: str
    table: Any
    kinds: dict[str, str]
    matrix: Any = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def names(self) -> list[str]:
        return list(self.kinds)

    def need(self, name: str) -> Any:
        """A column, or an error that says what there is."""
        if name not in self.kinds:
            raise no_column(self.name, name, self.names)
        return self.table.column(name)

    def words(self, name: str) -> Array:
        """A column as text, None where there is no value."""
        column = self.need(name)
        if self.kinds[name] == "number":
            numbers = column.to_numpy()
            distinct, inverse = np.unique(numbers, return_inverse=True)
            return np.array([spelled(value) for value in distinct.tolist()], dtype=object)[inverse.ravel()]
        levels, codes = coded(column)
        own = [None if level is None or str(level).strip() in MISSING else str(level) for level in levels]
        return np.array([*own, None], dtype=object)[codes]

    def numbers(self, name: str) -> Array:
        """A column as numbers, NaN where there is none."""
        return np.asarray(self.need(name).to_numpy(), dtype=np.float64)

    def take(self, rows: Array) -> Rows:
        """Some rows, by number."""
        matrix = None if self.matrix is None else self.matrix[rows]
        return Rows(self.name, self.table.take(rows), self.kinds, matrix, self.notes)


def spelled(value: Any) -> str | None:
    """A number as one writes it.

    >>> spelled(1.0), spelled(0.25), spelled(float("nan"))
    ('1', '0.25', None)
    """
    if value is None or value != value:
        return None
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def coded(column: Any) -> tuple[list[Any], Array]:
    """Levels of a column of text, and the number of each row's; -1 where there is no value."""
    import pyarrow as pa

    if column.num_chunks == 0:
        return [], np.zeros(0, dtype=np.intp)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    levels = column.chunk(0).dictionary.to_pylist()
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return levels, np.concatenate(codes)
