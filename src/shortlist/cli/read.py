"""Files into rows: CSV as a stream of typed blocks, Parquet, Arrow, and svmlight with its queries.

A CSV file is read block by block into typed columns, text as numbers of a dictionary, so that no more than a few blocks
of text are in memory beside the table.  The types come from the first block; where a later one does not fit, its column
gets a wider type and the reading starts again, which is rare and cheaper than keeping the text.  (Measured on 10^6 rows
and 18 columns, 150 MB: this way takes 1.3 times the table at its peak, Arrow's reading at one go 3.0 times, Polars' 2.5
times.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from shortlist.cli.failure import Failure
from shortlist.cli.rows import MISSING, Rows
from shortlist.cli.sniff import NUMBER, Form, Source, form_of, lines_of

__all__ = ["read_rows"]

CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (.+?): (.*)", re.DOTALL)
BLOCK = 1 << 20
LARGEST_BLOCK = 1 << 28
# Text with more different values than this share of the first block is kept as text.
REPEATS = 0.5

Told = Callable[[int], Any]


def read_rows(
    path: str,
    *,
    form: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    kinds: Mapping[str, str] | None = None,
    rest: str | None = None,
    n_features: int | None = None,
    told: Told | None = None,
) -> Rows:
    """The rows of a file, or of standard input (``-``).

    ``kinds`` says what columns have to be, 'number' or 'text'; ``rest`` what all others are taken as, by default what
    they look like.  ``told`` is called with the number of rows read so far.
    """
    source = Source(path)
    found = form_of(source, form, separator, decimal, encoding)
    if found.kind == "csv":
        rows = _Csv(source, found, dict(kinds or {}), rest, told).read()
    elif found.kind == "svmlight":
        rows = _svmlight(source, n_features)
    else:
        rows = _columnar(source, found.kind, dict(kinds or {}))
    if len(rows) == 0:
        raise Failure(f"{source.name} has names of columns, but no rows")
    return rows


class _Csv:
    """One CSV file on its way into rows."""

    def __init__(self, source: Source, form: Form, kinds: dict[str, str], rest: str | None, told: Told | None) -> None:
        self.source, self.form, self.kinds, self.rest, self.told = source, form, kinds, rest, told
        self.types: dict[str, Any] = {}
        self.block = BLOCK
        self.dates: set[str] = set()

    def read(self) -> Rows:
        import pyarrow as pa

        self._first_types()
        while True:
            try:
                table = self._stream()
                break
            except pa.ArrowInvalid as error:
                self._mend(str(error))
            except (OSError, EOFError) as error:
                raise Failure(f"{self.source.name} cannot be unpacked: {error}") from None
        self._closed(table)
        kinds = {}
        for name in self.form.names:
            number = pa.types.is_floating(self.types[name]) or pa.types.is_integer(self.types[name])
            kinds[name] = "number" if number else "date" if name in self.dates else "text"
        return Rows(self.source.name, table, kinds)

    def _open(self) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        file = self.source.open() if self.source.is_zipped else pa.OSFile(str(self.source.path))
        return csv.open_csv(
            file,
            csv.ReadOptions(
                column_names=self.form.names,
                skip_rows_after_names=1,
                block_size=self.block,
                encoding=self.form.encoding,
            ),
            csv.ParseOptions(delimiter=self.form.separator, newlines_in_values=True),
            csv.ConvertOptions(column_types=self.types, decimal_point=self.form.decimal),
        )

    def _first_types(self) -> None:
        """What the first block looks like, unless it is known."""
        import pyarrow as pa

        text = pa.dictionary(pa.int32(), pa.string())
        while True:
            try:
                reader = self._open()
                first = reader.read_next_batch()
                break
            except StopIteration:
                raise Failure(f"{self.source.name} has names of columns, but no rows") from None
            except (OSError, EOFError, pa.ArrowInvalid) as error:
                if not isinstance(error, pa.ArrowInvalid):
                    raise Failure(f"{self.source.name} cannot be unpacked: {error}") from None
                self._mend(str(error))
        for name, column in zip(self.form.names, first.columns, strict=True):
            found = column.type
            if pa.types.is_binary(found):  # what is no text in the encoding
                raise self._wrong("bytes that are no text")
            if pa.types.is_temporal(found):
                self.dates.add(name)
            wanted = self.kinds.get(name, self.rest)
            if wanted == "text" or (name in self.form.codes and wanted != "number"):
                found = pa.string()
            elif pa.types.is_null(found):
                found = pa.int64()
            elif not (pa.types.is_integer(found) or pa.types.is_floating(found)):
                if wanted == "number":
                    raise self._no_number(name)
                found = pa.string()
            if pa.types.is_string(found):
                levels = column.cast(pa.string()).unique() if not pa.types.is_null(column.type) else []
                found = text if len(levels) <= max(REPEATS * len(column), 1) else pa.string()
            self.types[name] = found

    def _stream(self) -> Any:
        import pyarrow as pa

        batches, n_rows = [], 0
        reader = self._open()
        for batch in reader:
            batches.append(batch)
            n_rows += batch.num_rows
            if self.told is not None:
                self.told(n_rows)
        table = pa.Table.from_batches(batches, reader.schema).unify_dictionaries()
        pa.default_memory_pool().release_unused()
        return table

    def _mend(self, message: str) -> None:
        """Widen a type or a block; a Failure with the line for what is wrong in the file."""
        import pyarrow as pa

        if "straddling" in message and self.block < LARGEST_BLOCK:
            self.block *= 8
            return
        match = CONVERSION.search(message)
        if match is None or "UTF8" in match[3]:
            raise self._wrong(message)
        name = self.form.names[int(match[1])]
        # Without a type yet, the first block itself does not fit what Arrow took it for.
        found = self.types.get(name)
        if found is not None and pa.types.is_integer(found):
            self.types[name] = pa.float64()
        elif self.kinds.get(name) == "number":
            raise self._no_number(name)
        else:
            self.types[name] = pa.dictionary(pa.int32(), pa.string())

    def _no_number(self, name: str) -> Failure:
        at = self.form.names.index(name)
        for line, record in self._lines():
            cell = record[at].strip() if len(record) > at else ""
            if line > 1 and cell not in MISSING and not NUMBER.fullmatch(cell):
                return Failure(
                    f"{self.source.name}:{line}: the column {name!r} holds {cell[:40]!r}, and the model takes numbers "
                    "there; an empty cell stands for no value"
                )
        return Failure(f"{self.source.name}: the column {name!r} does not hold numbers, which the model takes there")

    def _wrong(self, message: str) -> Failure:
        width = len(self.form.names)
        for line, record in self._lines():
            if record and len(record) != width:
                fields = f"{len(record)} field" + ("s" if len(record) != 1 else "")
                return Failure(
                    f"{self.source.name}:{line}: {fields} where the first line has {width}; one with "
                    f"{self.form.separator!r} in it has to be quoted"
                )
        return Failure(f"{self.source.name} cannot be read as CSV: {message.splitlines()[0]}")

    def _lines(self) -> Any:
        line = 0
        try:
            for line, record in lines_of(self.source, self.form):
                yield line, record
        except UnicodeDecodeError as error:
            raise Failure(
                f"{self.source.name}: after line {line} it is not {self.form.encoding.upper()} ({error.reason}); try "
                "--encoding latin-1, or cp1252"
            ) from None

    def _closed(self, table: Any) -> None:
        """A quotation mark that is never closed makes one cell of the rest of the file."""
        last = table.slice(max(table.num_rows - 1, 0)).to_pylist()
        if not any(isinstance(cell, str) and "\n" in cell for row in last for cell in row.values()):
            return
        start = 1
        for line, _ in self._lines():
            start = line
        with self.source.open() as file:
            rest = b"".join(file.readlines()[start - 1 :])
        if rest.count(b'"') % 2:
            raise Failure(f"{self.source.name}:{start}: a quotation mark is not closed in the row that begins here")


def _columnar(source: Source, kind: str, kinds: dict[str, str]) -> Rows:
    """Parquet and Arrow, whose columns have types."""
    import pyarrow as pa

    try:
        table = _parquet(source) if kind == "parquet" else _arrow(source)
    except (pa.ArrowException, OSError) as error:
        title = "a Parquet" if kind == "parquet" else "an Arrow"
        raise Failure(f"{source.name} cannot be read as {title} file: {str(error).splitlines()[0]}") from None
    if len(set(table.column_names)) < len(table.column_names):
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise Failure(f"{source.name} has two columns {twice!r}; rename one of them")
    found, columns = {}, []
    for name in table.column_names:
        column, what = _plain(table.column(name))
        if kinds.get(name) == "number" and what != "number":
            raise Failure(f"{source.name}: the column {name!r} does not hold numbers, which the model takes there")
        if kinds.get(name) == "text" and what == "number":
            column, what = column.cast(pa.string()).dictionary_encode(), "text"
        found[name] = what
        columns.append(column)
    return Rows(source.name, pa.table(columns, names=table.column_names), found)


def _plain(column: Any) -> tuple[Any, str]:
    """A column and its kind; text as a dictionary, truth values as text, decimals as numbers."""
    import pyarrow as pa

    types, of = pa.types, column.type
    if types.is_dictionary(of):
        if types.is_string(of.value_type) or types.is_large_string(of.value_type):
            return column.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries(), "text"
        column, of = column.cast(of.value_type), of.value_type
    if types.is_integer(of) or types.is_floating(of):
        return column, "number"
    if types.is_decimal(of) or types.is_null(of):
        return column.cast(pa.float64()), "number"
    if types.is_boolean(of):
        return column.cast(pa.string()).dictionary_encode(), "text"
    if types.is_string(of) or types.is_large_string(of) or types.is_string_view(of):
        return column.cast(pa.string()).dictionary_encode().unify_dictionaries(), "text"
    return column, "date" if types.is_temporal(of) else "other"


def _parquet(source: Source) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(source.path) as file:
        names = [
            field.name
            for field in file.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
    with parquet.ParquetFile(source.path, read_dictionary=names) as file:
        return file.read(use_threads=False)


def _arrow(source: Source) -> Any:
    import pyarrow as pa

    stream = source.head[:6] != b"ARROW1"
    with pa.OSFile(str(source.path)) as file:
        return (pa.ipc.open_stream(file) if stream else pa.ipc.open_file(file)).read_all()


def _svmlight(source: Source, n_features: int | None) -> Rows:
    import pyarrow as pa

    from shortlist.datasets import read_svmlight

    try:
        X, y, queries = read_svmlight(source.path, n_features=n_features)
    except (ValueError, OSError) as error:
        raise Failure(str(error).replace(str(source.path), source.name)) from None
    columns, kinds = {"label": pa.array(y)}, {"label": "number"}
    if queries is not None:
        columns["query"], kinds["query"] = pa.array(queries), "number"
    return Rows(source.name, pa.table(columns), kinds, X)
