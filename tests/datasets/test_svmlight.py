"""SVMlight files with queries: what is written comes back, what is wrong is named by its line."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from shortlist.datasets import FormatError, read_svmlight, svmlight, write_svmlight


def read(folder: Path, text: str | bytes, name: str = "rows.txt", **options: Any) -> Any:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    X, y, groups = read_svmlight(path, **options)
    return X.toarray().tolist(), y.tolist(), None if groups is None else groups.tolist()


DATA = st.tuples(st.integers(0, 6), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.floats(allow_nan=False, allow_infinity=False) | st.just(0.0)),
        arrays(np.float64, shape[0], elements=st.floats(allow_nan=False, allow_infinity=False)),
        st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=shape[0], max_size=shape[0]),
    )
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DATA, st.booleans(), st.sampled_from(["a.txt", "a.gz", "a.bz2"]), st.sampled_from([np.float64, np.float32]))
def test_what_is_written_comes_back(tmp_path: Path, data: Any, zero_based: bool, name: str, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        X = data[0].astype(dtype)
    X[~np.isfinite(X)] = 1.0
    path = tmp_path / name
    write_svmlight(path, sparse.csr_array(X) if zero_based else X, data[1], data[2], zero_based=zero_based)
    for reader in ("both", "by line"):
        options: dict[str, Any] = {"n_features": X.shape[1], "zero_based": zero_based, "dtype": dtype}
        if reader == "both":
            found, y, groups = read_svmlight(path, **options)
        else:
            with svmlight._open(path) as file:
                found, y, groups = svmlight._by_line(path, file, X.shape[1], zero_based, np.dtype(dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.toarray(), X)
        np.testing.assert_array_equal(y, data[1])
        assert (None if groups is None else groups.tolist()) == (data[2] or None)
        assert found.has_sorted_indices
    assert os.listdir(tmp_path).count(name) == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(5)), st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=2))
def test_columns_in_any_order_and_ids_of_64_bits(tmp_path: Path, order: list[int], ids: list[int]) -> None:
    lines = [f"{row} qid:{name} " + " ".join(f"{k + 1}:{k + row + 1}" for k in order) for row, name in enumerate(ids)]
    X, y, groups = read(tmp_path, "\n".join(lines))
    assert X == [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
    assert (y, groups) == ([0, 1], ids)


def test_scikit_learn_reads_ours_and_we_theirs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5), 3)
    y, groups = rng.integers(0, 3, 30), rng.integers(0, 5, 30)
    write_svmlight(tmp_path / "ours", X, y, groups, comment="two\nlines")
    theirs = load_svmlight_file(str(tmp_path / "ours"), n_features=4, query_id=True)
    np.testing.assert_array_equal(theirs[0].toarray(), X)
    np.testing.assert_array_equal(theirs[2], groups)
    dump_svmlight_file(X, y, str(tmp_path / "theirs"), query_id=groups, zero_based=False, comment="by scikit-learn")
    found = read_svmlight(tmp_path / "theirs", n_features=4)
    np.testing.assert_array_equal(found[0].toarray(), X)
    np.testing.assert_array_equal(found[1], y)
    np.testing.assert_array_equal(found[2], groups)


def test_what_the_format_allows(tmp_path: Path) -> None:
    assert read(tmp_path, "1 1:2 # 3:4\n# all of it\n\n-1 2:1\r\n") == ([[2, 0], [0, 1]], [1, -1], None)
    assert read(tmp_path, "\ufeff+1\t1:2\n") == ([[2]], [1], None)
    assert read(tmp_path, "0 2: .50 1:1") == ([[1, 0.5]], [0], None)
    assert read(tmp_path, "1 0:5 1:6\n") == ([[5, 6]], [1], None)
    assert read(tmp_path, "1 1:6\n", zero_based=True) == ([[0, 6]], [1], None)
    assert read(tmp_path, "1 2:1 1:6\n", zero_based=True) == ([[0, 6, 1]], [1], None)
    assert read(tmp_path, "2\n3 qid\n".replace(" qid", "")) == ([[], []], [2, 3], None)
    assert read(tmp_path, "") == ([], [], None)
    assert read(tmp_path, "1 2:1 1:1\n", n_features=4) == ([[1, 1, 0, 0]], [1], None)
    far, _, _ = read_svmlight(tmp_path / "rows.txt", dtype=np.float32)
    assert far.dtype == np.float32
    (tmp_path / "far").write_text("1 qid:-9223372036854775808 5000000000:1\n")
    X, _, groups = read_svmlight(tmp_path / "far")
    assert X.shape == (1, 5_000_000_000)
    assert X.indices.tolist() == [4_999_999_999]
    assert groups.tolist() == [-(2**63)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1:2\nspam 1:3\n", "line 2: the label is 'spam'"),
        ("# c\n\n1 1:x\n", "line 3: the value of column 1 is 'x'"),
        ("1 1:nan\n", "line 1: the value of column 1 is 'nan', which is no finite number"),
        ("1 1:1e400\n", "line 1: .*'1e400'"),
        ("inf 1:1\n", "line 1: the label is 'inf'"),
        ("1 1:1_0 2:2 2:3\n", "line 1: .*'1_0'"),
        ("1 1:2 1:3\n", "line 1: column 1 is there twice"),
        ("1 2:1 1:3 -1:3\n", "line 1: -1 is no column number"),
        ("1 x:3\n", "line 1: the column is 'x'"),
        ("1 5\n", "line 1: '5' is not of the form column:value"),
        ("1 5:\n", "line 1: the value of column 5 is ''"),
        ("1,2 5:1\n", "line 1: '1,2' is a list of labels"),
        ("1 qid:a 1:2\n", "line 1: the query id is 'a'"),
        ("1 qid:1.5 1:2\n", "line 1: the query id is '1.5'"),
        ("1 1:2 qid:3\n", "line 1: a query id has its place behind the label"),
        ("1 qid:1 qid:3\n", "line 1: a query id has its place"),
        ("1 qid:1 1:2\n1 1:2\n", "line 2: no query id"),
        ("#\n1 1:2\n1 1:2\n1 qid:1 1:2\n", "line 2: no query id"),
        ("1 qid:1 1:1\n1 qid:18446744073709551616 1:2\n", "query ids from 1 to 18446744073709551616"),
        ("1 qid:-1 1:1\n1 qid:18446744073709551615 1:2\n", "no 64 bits"),
        (f"1 {2**63}:1\n", "is no column number"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        read(tmp_path, text)
    assert "rows.txt" in str(caught.value)


def test_other_errors(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2: column 4 is beyond n_features=3"):
        read(tmp_path, "1 1:1\n1 4:2\n", n_features=3)
    with pytest.raises(FormatError, match="line 2: column 0, though zero_based=False"):
        read(tmp_path, "1 1:1\n1 0:2\n", zero_based=False)
    with pytest.raises(ValueError, match="zero_based"):
        read(tmp_path, "1 1:1\n", zero_based="yes")
    with pytest.raises(ValueError, match="dtype"):
        read(tmp_path, "1 1:1\n", dtype=int)
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "none")
    for name, packed in (
        ("a.gz", gzip.compress(b"1 1:1\n" * 99, mtime=0)),
        ("b.gz", b"plain text"),
        ("c.bz2", bz2.compress(b"1 1:1")),
    ):
        (tmp_path / name).write_bytes(packed[:-4] if name != "b.gz" else packed)
        with pytest.raises(FormatError, match="cannot be read"):
            read_svmlight(tmp_path / name)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([[np.nan]], [1]), ValueError, "nan in row 0"),
        (([[1.0], [np.inf]], [1, 1]), ValueError, "inf in row 1"),
        (([["a"]], [1]), (TypeError, ValueError), "."),
        (([[1.0]], ["a"]), TypeError, "number the classes"),
        (([[1.0]], [1, 2]), ValueError, "each of the 1 rows"),
        (([[1.0]], [np.nan]), ValueError, "nan in row 0"),
        (([[1.0]], [1], ["a"]), TypeError, "got 'a' in row 0"),
        (([[1.0]], [1], [1.0]), TypeError, "whole number"),
        (([[1.0]], [1], [True]), TypeError, "whole number"),
        (([[1.0]], [1], [2**64]), TypeError, "64 bits"),
        (([[1.0]], [1], [1, 2]), ValueError, "got 2 ids"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path: Path, arguments: Any, error: Any, words: str) -> None:
    (tmp_path / "rows").write_text("as it was")
    with pytest.raises(error, match=words):
        write_svmlight(tmp_path / "rows", *arguments)
    assert os.listdir(tmp_path) == ["rows"]
    assert (tmp_path / "rows").read_text() == "as it was"


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    path = tmp_path / "rows.gz"
    write_svmlight(path, [[1.0]], [1])
    before = path.read_bytes()
    monkeypatch.setattr(svmlight, "_lines", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_svmlight(path, [[2.0]], [1])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["rows.gz"]


def test_small_things_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight, "LINES", 2)
    X = sparse.csr_array(([1.0, 2.0, 0.0], [0, 0, 1], [0, 2, 3, 3]), shape=(3, 2))  # a duplicate, a stored zero
    write_svmlight(tmp_path / "a", X, [True, False, True], np.array([2**64 - 1, 0, 1], dtype=np.uint64), comment="x")
    assert (tmp_path / "a").read_text() == "# x\n1 qid:18446744073709551615 1:3\n0 qid:0\n1 qid:1\n"
    assert X.nnz == 3  # what is given is left as it is
    umask = os.umask(0o022)
    try:
        write_svmlight(tmp_path / "b", [[1, 0]], [2.5])
        assert (tmp_path / "b").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(umask)
    write_svmlight(tmp_path / "one.gz", [[1.0]], [1])
    write_svmlight(tmp_path / "two.gz", [[1.0]], [1])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
