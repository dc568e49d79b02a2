"""The format of SVMlight and LIBSVM, with queries: a row a line, ``label qid:7 3:0.5 9:1 # comment``.

scikit-learn's reader goes first: it is compiled, and right where it succeeds with a query id on every line or none.
Where it gives up (ids of more than 63 bits, columns out of order, column numbers beyond 2**31, a space behind a
colon) or could mislead (ids on some lines only), the file is read again line by line, so that an error names its line.
"""

from __future__ import annotations

import array
import bz2
import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from shortlist.datasets.readers import FormatError

Array = NDArray[Any]

__all__ = ["read_svmlight", "write_svmlight"]

LINES = 10_000  # written at a time
LARGEST_COLUMN = 2**63 - 2


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    dtype: Any = np.float64,
) -> tuple[sparse.csr_array, Array, Array | None]:
    """Read a file of rows, labels and, where there are any, query ids.

    Parameters
    ----------
    path : path
        Packed where its name ends in .gz or .bz2.
    n_features : int, optional
        Columns of the result; by default as many as the file names. Give it where a part of a set is read: the last
        columns may be empty.
    zero_based : bool or 'auto', default='auto'
        Whether the first column is number 0. 'auto' takes it to be 1 unless the file names a column 0.
    dtype : {float64, float32}, default=float64

    Returns
    -------
    X : CSR array of shape (n_rows, n_features)
        Columns ascending in each row, whatever their order in the file.
    y : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,) or None
        Query ids as they are, of type int64, or uint64 where they need it; None where no line has one.

    Raises
    ------
    FormatError
        With the number of the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.txt")
    ...     _ = path.write_text("1 qid:18446744073709551615 3:0.5 1:2 # columns in any order\\n0 qid:7 2:1\\n")
    ...     X, y, groups = read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist(), groups.tolist()
    ([[2.0, 0.0, 0.5], [0.0, 1.0, 0.0]], [1.0, 0.0], [18446744073709551615, 7])
    """
    path = Path(path)
    if not (isinstance(zero_based, bool | np.bool_) or zero_based == "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    found = None
    try:
        with _open(path) as file, contextlib.suppress(ValueError, OverflowError, AttributeError):
            X, y, ids = load_svmlight_file(
                file, n_features=n_features, zero_based=zero_based, dtype=wanted, query_id=True
            )
            known = n_features is not None or X.nnz > 0  # without an entry it names a column all the same
            if known and len(ids) in (0, len(y)) and np.isfinite(X.data).all() and np.isfinite(y).all():
                found = sparse.csr_array(X), y, ids if len(ids) else None
        if found is None:
            with _open(path) as file:
                found = _by_line(path, file, n_features, zero_based, wanted)
    except (EOFError, gzip.BadGzipFile) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    return found


def _open(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path)
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


class _Lines:
    """The rows so far."""

    def __init__(self) -> None:
        self.values, self.labels = array.array("d"), array.array("d")
        self.columns, self.ends = array.array("q"), array.array("q", [0])
        self.ids: list[int] = []

    def take(self, line: bytes) -> None:
        """Add a row; a ValueError says what is wrong with it."""
        label, *words = line.split()
        if b"," in label:
            raise ValueError(f"{_text(label)} is a list of labels; a row has one here")
        self.labels.append(_number(label, "label"))
        if words and words[0].startswith(b"qid:"):
            self.ids.append(_whole(words.pop(0)[4:], "query id"))
        row: dict[int, float] = {}
        while words:
            word = words.pop(0)
            name, colon, value = word.partition(b":")
            if name == b"qid":
                raise ValueError("a query id has its place behind the label, and there is one a row")
            if not colon:
                raise ValueError(f"{_text(word)} is not of the form column:value")
            if not value and words and b":" not in words[0]:
                value = words.pop(0)  # LIBSVM takes a space behind the colon, and some of its sets have one
            column = _whole(name, "column")
            if not 0 <= column <= LARGEST_COLUMN:
                raise ValueError(f"{column} is no column number")
            if column in row:
                raise ValueError(f"column {column} is there twice")
            row[column] = _number(value, f"value of column {column}")
        order = sorted(row)
        self.columns.extend(order)
        self.values.extend(row[column] for column in order)
        self.ends.append(len(self.columns))


def _by_line(
    path: Path, file: Any, n_features: int | None, zero_based: bool | str, dtype: Any
) -> tuple[sparse.csr_array, Array, Array | None]:
    """The same, slower, for everything that the format allows."""
    rows, places = _Lines(), array.array("q")
    for number, line in enumerate(file, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        line = line.partition(b"#")[0].strip()
        if not line:
            continue
        before = len(rows.ids)
        try:
            rows.take(line)
        except ValueError as error:
            raise FormatError(f"{path}, line {number}: {error}") from None
        places.append(number)
        if len(rows.ids) not in (0, len(rows.labels)):
            without = number if len(rows.ids) == before else places[0]
            raise FormatError(
                f"{path}, line {without}: no query id, though other lines have one: give every line its qid, or none"
            )
    columns = np.frombuffer(rows.columns, dtype=np.int64) if rows.columns else np.empty(0, dtype=np.int64)
    ends = np.frombuffer(rows.ends, dtype=np.int64)

    def line_of(entry: int) -> int:
        return places[int(np.searchsorted(ends, entry, side="right")) - 1]

    first = int(columns.min(initial=1))
    if zero_based == "auto":
        zero_based = first == 0
    if not zero_based:
        if first == 0:
            where = line_of(int(np.argmin(columns)))
            raise FormatError(f"{path}, line {where}: column 0, though zero_based=False counts from 1")
        columns = columns - 1
    width = int(columns.max(initial=-1)) + 1
    if n_features is None:
        n_features = width
    elif width > n_features:
        where = line_of(int(np.argmax(columns)))
        raise FormatError(
            f"{path}, line {where}: column {width - 1 + (not zero_based)} is beyond n_features={n_features}"
        )
    values = np.frombuffer(rows.values, dtype=np.float64).astype(dtype) if rows.values else np.empty(0, dtype=dtype)
    if max(n_features, len(columns)) < 2**31:
        columns, ends = columns.astype(np.int32), ends.astype(np.int32)
    X = sparse.csr_array((values, columns, ends), shape=(len(rows.labels), n_features))
    return X, np.array(rows.labels, dtype=np.float64), _ids(path, rows.ids)


def _ids(path: Path, ids: list[int]) -> Array | None:
    if not ids:
        return None
    low, high = min(ids), max(ids)
    if high < 2**63 and low >= -(2**63):
        return np.array(ids, dtype=np.int64)
    if low >= 0 and high < 2**64:
        return np.array(ids, dtype=np.uint64)
    raise FormatError(f"{path} holds query ids from {low} to {high}, which no 64 bits hold; number them anew")


def _text(word: bytes) -> str:
    return repr(word.decode("utf-8", "replace"))


def _number(word: bytes, what: str) -> float:
    try:
        value = float(word) if b"_" not in word else np.nan
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"the {what} is {_text(word)}, which is no finite number")
    return value


def _whole(word: bytes, what: str) -> int:
    digits = word[1:] if word[:1] in (b"-", b"+") else word
    if not digits.isdigit() or len(digits) > 40:
        raise ValueError(f"the {what} is {_text(word)}, which is no whole number")
    return int(word)


def write_svmlight(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    zero_based: bool = False,
    comment: str | None = None,
) -> None:
    """Write rows, labels and query ids so that they read back bit by bit; the file is there whole or not at all.

    Parameters
    ----------
    path : path
        Packed where its name ends in .gz or .bz2.
    X : array or sparse matrix of shape (n_rows, n_features)
        Zeros are left out. Columns that are empty at the end are not known to the file: read it with ``n_features``.
    y : array-like of numbers of shape (n_rows,)
    groups : array-like of whole numbers of shape (n_rows,), optional
        Query ids from -2**63 to 2**64 - 1. Rows keep their order; programs that want a query's rows together need them
        sorted first.
    zero_based : bool, default=False
        Whether to call the first column 0 in place of 1, which most programs expect.
    comment : str, optional
        Lines to put first, behind ``#``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.txt")
    ...     write_svmlight(path, [[0.1 + 0.2, 0.0], [0.0, 3.0]], [1, 0], groups=[4, 4])
    ...     print(path.read_text(), end="")
    1 qid:4 1:0.30000000000000004
    0 qid:4 2:3
    """
    path = Path(path)
    rows = sparse.csr_array(X)
    if rows.dtype.kind not in "biuf":
        raise TypeError(f"X must hold real numbers, got the type {rows.dtype}")
    if not rows.has_canonical_format:
        rows = rows.copy()  # what is given stays as it is
        rows.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise ValueError(f"X holds {rows.data[bad[0]]} in row {row}; the format has no word for it")
    labels = np.asarray(y)
    if labels.dtype.kind not in "biuf":
        raise TypeError(f"y must hold numbers, got the type {labels.dtype}; number the classes")
    if labels.shape != (rows.shape[0],):
        raise ValueError(f"y must hold one label for each of the {rows.shape[0]} rows, got the shape {labels.shape}")
    if not np.isfinite(labels).all():
        row = int(np.argmin(np.isfinite(labels)))
        raise ValueError(f"y holds {labels[row]} in row {row}; give every row a label")
    ids = None if groups is None else _checked_ids(groups, rows.shape[0])
    with _whole_file(path) as file:
        for line in (comment or "").splitlines():
            file.write(f"# {line}\n".encode())
        for first in range(0, rows.shape[0], LINES):
            part = slice(first, first + LINES)
            text = _lines(rows[part], labels[part], None if ids is None else ids[part], 0 if zero_based else 1)
            file.write(text.encode())


def _checked_ids(groups: Any, n_rows: int) -> list[int]:
    ids = list(groups.tolist() if hasattr(groups, "tolist") else groups)
    if len(ids) != n_rows:
        raise ValueError(f"groups must hold one id for each of the {n_rows} rows, got {len(ids)} ids")
    for row, name in enumerate(ids):
        if isinstance(name, bool) or not isinstance(name, int | np.integer) or not -(2**63) <= name < 2**64:
            raise TypeError(
                f"a query id must be a whole number of 64 bits, got {name!r} in row {row}; number the groups, for "
                "example by numpy.unique(groups, return_inverse=True)[1]"
            )
    return [int(name) for name in ids]


def _lines(rows: sparse.csr_array, labels: Array, ids: list[int] | None, base: int) -> str:
    values, targets = _words(rows.data), _words(labels)
    columns = (rows.indices.astype(np.int64) + base).tolist()
    ends = rows.indptr.tolist()
    lines = []
    for row, target in enumerate(targets):
        words = [target] if ids is None else [target, f"qid:{ids[row]}"]
        words += [f"{columns[k]}:{values[k]}" for k in range(ends[row], ends[row + 1]) if values[k] not in ("0", "-0")]
        lines.append(" ".join(words) + "\n")
    return "".join(lines)


def _words(numbers_: Array) -> list[str]:
    """The shortest text that reads back as the same number, in the precision that it has."""
    if numbers_.dtype.kind != "f":
        return [str(int(value)) for value in numbers_.tolist()]
    if numbers_.dtype == np.float64:
        return [repr(value).removesuffix(".0") for value in numbers_.tolist()]
    return [str(value).removesuffix(".0") for value in numbers_.astype(np.float32)]


@contextlib.contextmanager
def _whole_file(path: Path) -> Iterator[Any]:
    """A file that appears under its name when all of it is written, or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as plain:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:  # the same bytes for the same rows
                    yield packed
            elif path.suffix == ".bz2":
                with bz2.open(plain, "wb") as packed:
                    yield packed
            else:
                yield plain
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as any new file; mkstemp's are for their owner alone
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
