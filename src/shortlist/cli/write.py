"""Files, written whole or not at all, and never over another without being asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.failure import Failure, Usage
from shortlist.cli.rows import Rows

Array = NDArray[Any]

__all__ = ["OUTPUTS", "check_output", "kind_of_output", "to_stdout", "write_ranked"]

OUTPUTS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
BATCH = 10_000


def check_output(path: str | None, force: bool, *inputs: str) -> Path | None:
    """Looked at before any work is done: the folder is there, the file is not, and it is none of the inputs."""
    if path is None:
        return None
    place = Path(path)
    if not place.parent.is_dir():
        raise Failure(f"the folder {place.parent} does not exist; make it first")
    if place.is_dir():
        raise Failure(f"{place} is a folder")
    for name in inputs:
        if name != "-" and Path(name).exists() and place.exists() and place.samefile(name):
            raise Failure(f"{place} is also read from; give another name")
    if place.exists() and not force:
        raise Failure(f"{place} exists; --force replaces it, or give another name")
    return place


def kind_of_output(place: Path) -> str:
    kind = OUTPUTS.get(place.suffix.lower())
    if kind is None:
        raise Usage(f"{place}: the ending says the format, and has to be one of {', '.join(OUTPUTS)}")
    return kind


def in_order(rows: Rows, order: Array, added: dict[str, Array], columns: list[str]) -> Iterator[Any]:
    """The rows in order, some at a time, with further columns in front."""
    import pyarrow as pa

    for start in range(0, max(len(order), 1), BATCH):
        chosen = pa.array(order[start : start + BATCH])
        made = {name: pa.array(values[start : start + BATCH]) for name, values in added.items()}
        for name in columns:
            # Arrow puts a column into one piece to take from it: so one at a time.
            taken = rows.table.column(name).take(chosen).combine_chunks()
            made[name] = taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken
        yield pa.record_batch(made)


def write_ranked(
    place: Path, rows: Rows, order: Array, added: dict[str, Array], columns: list[str], told: Any = None
) -> None:
    """Into a file of the format that its ending says."""
    from shortlist.persist._container import whole_file

    kind = kind_of_output(place)
    try:
        with whole_file(place) as file:
            _write(file, kind, in_order(rows, order, added, columns), told)
    except OSError as error:
        raise Failure(f"{place} cannot be written: {error.strerror or error}") from None


def to_stdout(rows: Rows, order: Array, added: dict[str, Array], columns: list[str], separator: str = ",") -> None:
    """As CSV on standard output."""
    _write(sys.stdout.buffer, "csv" if separator == "," else "tsv", in_order(rows, order, added, columns), None)


def _write(file: IO[bytes], kind: str, batches: Iterator[Any], told: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    first = next(batches)
    writer: Any
    if kind == "parquet":
        writer = parquet.ParquetWriter(file, first.schema)
    elif kind == "arrow":
        writer = pa.ipc.new_file(file, first.schema)
    else:
        writer = _Text(file, "\t" if kind == "tsv" else ",")
    done = 0
    with writer:
        while first is not None:
            writer.write_batch(first)
            done += first.num_rows
            if told is not None:
                told(done)
            first = next(batches, None)


class _Text:
    """CSV by Polars, which quotes only what has to be quoted."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self.file, self.separator, self.begun = file, separator, False

    def __enter__(self) -> _Text:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.flush()

    def write_batch(self, batch: Any) -> None:
        import polars as pl

        table = pl.DataFrame(batch)
        # Text that is empty is no value here, and would be written as two quotation marks.
        table = table.with_columns(pl.col(pl.String).replace("", None))
        # Written by Python, whose error tells a pipe that was closed from other troubles.
        text = table.write_csv(separator=self.separator, include_header=not self.begun, quote_style="necessary")
        self.file.write(text.encode())
        self.begun = True


def places_in_groups(order: Array, codes: Array | None) -> Array:
    """The rank of each row of an order, within its group."""
    if codes is None:
        return np.arange(1, len(order) + 1)
    own = codes[order]
    starts = np.r_[0, np.flatnonzero(np.diff(own)) + 1]
    return np.asarray(np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)])) + 1)
