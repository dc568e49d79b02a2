"""Readers of the formats in which the data sets come: delimited text, ARFF and KEEL, LIBSVM.

A table of text is a dictionary of columns, each a list of strings in file order.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from shortlist.datasets.fetch import DataError

Array = NDArray[Any]
Table = dict[str, list[str]]

__all__ = ["FormatError", "Table", "numbers", "read_arff", "read_csv", "read_svmlight"]


class FormatError(DataError, ValueError):
    """A file is not of the form that was expected."""


def _open(path: Path) -> Any:
    """The bytes of a plain, gzip, bzip2 or (one member) zip file."""
    if path.suffix == ".gz":
        return gzip.open(path)
    if path.suffix == ".bz2":
        return bz2.open(path)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if not name.endswith("/")]
            if len(members) != 1:
                raise FormatError(f"{path} should hold one file, but holds {members}")
            return io.BytesIO(archive.read(members[0]))
    return path.open("rb")


def _lines(path: Path) -> Iterator[str]:
    try:
        with _open(path) as source, io.TextIOWrapper(source, encoding="utf-8", errors="replace") as text:
            yield from text
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} cannot be read: {error}. Delete it and fetch it again") from error


def read_csv(path: Path, names: Sequence[str] | None = None, *, delimiter: str = ",") -> Table:
    """Delimited values; the first line holds the names of the columns unless they are given."""
    lines = iter(_lines(path))
    if names is None:
        names = next(csv.reader(lines, delimiter=delimiter), [])
    return _columns(path, names, csv.reader(lines, delimiter=delimiter))


def read_arff(path: Path) -> Table:
    """ARFF, and the like format of the KEEL repository: ``@attribute`` lines, ``@data``, rows; ``%``
    comments."""
    names: list[str] = []
    lines = iter(_lines(path))
    for line in lines:
        word = line.strip().lower()
        if word.startswith("@attribute"):
            found = re.match(
                r"@attribute\s+(?:'([^']*)'|\"([^\"]*)\"|([^\s{]+))", line.strip(), re.IGNORECASE
            )
            if found is None:
                raise FormatError(f"{path} has an attribute without a name: {line.strip()!r}")
            names.append(next(group for group in found.groups() if group is not None))
        elif word.startswith("@data"):
            break
    else:
        raise FormatError(f"{path} has no @data line: it is not an ARFF or KEEL file")
    rows = csv.reader(
        (line for line in lines if not line.startswith("%")), quotechar="'", skipinitialspace=True
    )
    return _columns(path, names, rows)


def _columns(path: Path, names: Sequence[str], rows: Iterable[list[str]]) -> Table:
    kept = [row for row in rows if row and not (len(row) == 1 and not row[0].strip())]
    for number, row in enumerate(kept, start=1):
        if len(row) != len(names):
            raise FormatError(f"{path}: row {number} has {len(row)} entries, expected {len(names)}")
    if not kept:
        raise FormatError(f"{path} holds no rows")
    return {
        name: [entry.strip() for entry in column]
        for name, column in zip(names, zip(*kept, strict=True), strict=True)
    }


def numbers(column: Sequence[str], name: str, *, missing: bool = False) -> Array:
    """A column of text as numbers of double precision; with ``missing`` an empty entry or NA is NaN.

    >>> numbers(["1", "", "NA"], "x", missing=True)
    array([ 1., nan, nan])
    """
    entries = [entry if entry not in ("", "NA") else "nan" for entry in column] if missing else column
    try:
        return np.array(entries, dtype=np.float64)
    except ValueError as error:
        raise FormatError(f"column {name!r} should hold numbers: {error}") from error


def read_svmlight(path: Path, n_features: int) -> tuple[Any, Array]:
    """LIBSVM's format, columns counted from 1: a CSR array and the labels."""
    try:
        with _open(path) as source:
            X, y = load_svmlight_file(source, n_features=n_features, zero_based=False)
    except (OSError, EOFError, ValueError) as error:
        raise FormatError(
            f"{path} cannot be read as a LIBSVM file of {n_features} features: {error}"
        ) from error
    return sparse.csr_array(X), y
