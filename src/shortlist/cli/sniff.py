"""What kind of file it is, from its first bytes: format, separator, decimal sign, encoding, names of the columns."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from shortlist.cli.failure import Failure

__all__ = ["KINDS", "Form", "Source", "form_of"]

KINDS = ("csv", "tsv", "parquet", "arrow", "svmlight")
SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".letor": "svmlight",
}
SAMPLE = 1 << 18
RECORDS = 1000
SEPARATORS = ",;\t|"
SVMLIGHT = re.compile(r"[-+\d.eE]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
CODE = re.compile(r"0\d+")


class Source:
    """A file, or standard input kept in a temporary file, for it is read more than once."""

    def __init__(self, path: str) -> None:
        self.kept: IO[bytes] | None = None
        if path == "-":
            self.name = "standard input"
            self.kept = tempfile.NamedTemporaryFile(prefix="shortlist-")  # noqa: SIM115
            shutil.copyfileobj(sys.stdin.buffer, self.kept)
            self.kept.flush()
            self.path = Path(self.kept.name)
        else:
            self.name, self.path = path, Path(path)
        try:
            with self.path.open("rb") as file:
                self.head = file.read(4096)
        except FileNotFoundError:
            raise Failure(f"{self.name} does not exist") from None
        except IsADirectoryError:
            raise Failure(f"{self.name} is a folder, not a file") from None
        except OSError as error:
            raise Failure(f"{self.name} cannot be read: {error.strerror}") from None
        if not self.head:
            raise Failure(f"{self.name} is empty")

    @property
    def is_zipped(self) -> bool:
        return self.head[:2] == b"\x1f\x8b"

    def open(self) -> IO[bytes]:
        """Its bytes, unpacked where it is a gzip file."""
        return gzip.open(self.path) if self.is_zipped else self.path.open("rb")  # type: ignore[return-value]

    def sample(self) -> bytes:
        try:
            with self.open() as file:
                return file.read(SAMPLE)
        except (OSError, EOFError) as error:
            raise Failure(f"{self.name} cannot be unpacked: {error}") from None


@dataclass(frozen=True)
class Form:
    """How a file is to be read.

    Attributes
    ----------
    kind : {'csv', 'parquet', 'arrow', 'svmlight'}
    separator, decimal, encoding : str
        Of CSV.
    names : list of str
        Of its columns.
    codes : frozenset of str
        Columns whose digits are names, not numbers: some begin with a zero.
    """

    kind: str
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf8"
    names: list[str] = field(default_factory=list)
    codes: frozenset[str] = frozenset()


def form_of(
    source: Source,
    kind: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Form:
    """From what the user says, else from the first bytes, else from the name."""
    head = source.head
    if kind is None:
        if head[:4] == b"PAR1":
            kind = "parquet"
        elif head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
            kind = "arrow"
        else:
            suffixes = [one.lower() for one in source.path.suffixes if one.lower() != ".gz"]
            kind = SUFFIXES.get(suffixes[-1] if suffixes else "")
    if kind in ("parquet", "arrow", "svmlight"):
        return Form(kind)
    sample = source.sample()
    if encoding is None and sample[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf16"
    text = _decoded(sample, encoding or "utf8", source.name)
    if "\0" in text:
        raise Failure(f"{source.name} is binary, and neither Parquet nor Arrow; {', '.join(KINDS)} can be read")
    if not text.strip():
        raise Failure(f"{source.name} is empty")
    if kind is None and separator is None and SVMLIGHT.fullmatch(_first_line(text)):
        return Form("svmlight")
    whole = len(sample) < SAMPLE
    if separator is None:
        separator = "\t" if kind == "tsv" else _separator(text, whole)
    records = _records(text, separator, whole)
    names = _names(records[0], source.name)
    if decimal is None:
        decimal = _decimal(records[1:]) if separator != "," else "."
    elif decimal == separator:
        raise Failure(f"the decimal sign and the separator cannot both be {decimal!r}")
    codes = {
        name
        for at, name in enumerate(names)
        if any(len(record) > at and CODE.fullmatch(record[at]) for record in records[1:])
    }
    return Form("csv", separator, decimal, encoding or "utf8", names, frozenset(codes))


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def _decoded(sample: bytes, encoding: str, name: str) -> str:
    try:
        decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf8" else encoding)()
        return decoder.decode(sample)
    except LookupError:
        raise Failure(f"there is no encoding {encoding!r}; utf8, latin-1, cp1252 and utf16 are usual") from None
    except UnicodeDecodeError as error:
        if b"\0" in sample:
            raise Failure(f"{name} is binary, and neither Parquet nor Arrow; {', '.join(KINDS)} can be read") from None
        line = sample.count(b"\n", 0, error.start) + 1
        raise Failure(f"{name}:{line}: this is not {encoding.upper()}; try --encoding latin-1, or cp1252") from None


def _records(text: str, separator: str, whole: bool) -> list[list[str]]:
    csv.field_size_limit(2**31 - 1)  # an open quotation mark makes one field of all that follows
    found: list[list[str]] = []
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        if record:
            found.append(record)
        if len(found) > RECORDS:
            return found
    return found if whole or len(found) < 3 else found[:-1]  # the last one may be cut


def _separator(text: str, whole: bool) -> str:
    """The sign that cuts most records into as many fields as the first, more than one."""
    best, choice = (0.0, 0), ","
    for sign in SEPARATORS:
        records = _records(text, sign, whole)
        width = len(records[0])
        alike = sum(len(record) == width for record in records) / len(records)
        if width > 1 and (round(alike, 2), width) > best:
            best, choice = (round(alike, 2), width), sign
    return choice


def _decimal(records: list[list[str]]) -> str:
    commas = points = 0
    for record in records:
        for cell in record:
            if NUMBER.fullmatch(cell.strip()):
                commas += "," in cell
                points += "." in cell
    return "," if commas > points else "."


def _names(record: list[str], source: str) -> list[str]:
    if len(record) > 1 and all(NUMBER.fullmatch(cell.strip()) for cell in record):
        raise Failure(f"{source}:1: numbers where the names of the columns should be; add a line with names")
    first: dict[str, int] = {}
    names = []
    for at, cell in enumerate(record, start=1):
        name = cell.strip() or f"column {at}"
        if name in first:
            raise Failure(f"{source}:1: columns {first[name]} and {at} are both called {name!r}; rename one of them")
        first[name] = at
        names.append(name)
    return names


def lines_of(source: Source, form: Form) -> Any:
    """Records of a CSV file with the line that each begins on; slow, for finding what is wrong."""
    encoding = "utf-8-sig" if form.encoding == "utf8" else form.encoding
    with source.open() as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=form.separator)
        line = 1
        for record in reader:
            yield line, record
            line = reader.line_num + 1
