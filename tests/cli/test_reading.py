"""Every format, and files as they come: empty, cut off, binary, oddly headed, with other signs and line ends."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from shortlist.cli import read, sniff
from shortlist.cli.failure import Failure
from shortlist.cli.read import read_rows
from shortlist.cli.rows import Rows


def read_text(folder: Path, data: str | bytes, name: str = "file.csv", **options: Any) -> Rows:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_rows(str(path), **options)


TABLE = "id,amount,channel,day\r\nA1,1.5,web,2024-01-02\r\nA2,,phone,2024-01-03\r\nA3,7,,2024-01-04\r\n"
KINDS = {"id": "text", "amount": "number", "channel": "text", "day": "date"}
AMOUNTS = [1.5, None, 7.0]


def same(rows: Rows) -> None:
    assert rows.kinds == KINDS
    assert rows.table.column("amount").to_pylist() == AMOUNTS
    assert rows.words("channel").tolist() == ["web", "phone", None]
    assert rows.words("amount").tolist() == ["1.5", None, "7"]


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.replace("\r\n", "\n"),
        "\ufeff" + TABLE,
        TABLE.encode("utf-16"),
        gzip.compress(TABLE.encode(), mtime=0),
        TABLE.replace(",", ";"),
        TABLE.replace(",", "|"),
        TABLE.replace("1.5", "1,5").replace("A1,1,5,", "A1;1,5;").replace("A2,,", "A2;;").replace("A3,7,", "A3;7;")
        .replace("id,amount,channel,day", "id;amount;channel;day").replace("web,", "web;").replace("phone,", "phone;")
        .replace(";7;,", ";7;;"),
        '"id","amount","channel","day"\nA1,1.5,"web",2024-01-02\n"A2",,phone,2024-01-03\nA3,"7","",2024-01-04\n',
    ],
    ids=["crlf", "lf", "bom", "utf16", "gzip", "semicolon", "bar", "decimal comma", "quoted"],
)  # fmt: skip
def test_csv_in_its_dialects(tmp_path: Path, data: str | bytes) -> None:
    same(read_text(tmp_path, data))


def test_tab_and_what_the_user_says(tmp_path: Path) -> None:
    same(read_text(tmp_path, TABLE.replace(",", "\t"), "file.tsv"))
    same(read_text(tmp_path, TABLE.replace(",", "\t"), form="tsv"))
    same(read_text(tmp_path, TABLE.replace(",", "^"), separator="^"))
    rows = read_text(tmp_path, "name;köln\nä;1\n".encode("latin-1"), encoding="latin-1")
    assert rows.names == ["name", "köln"] and rows.words("name").tolist() == ["ä"]


def test_quoted_newlines_stay_in_their_cell(tmp_path: Path) -> None:
    rows = read_text(tmp_path, 'a,b\n1,"two\nlines"\n2,"x, y"\n3,"say ""hi"""\n')
    assert rows.words("b").tolist() == ["two\nlines", "x, y", 'say "hi"']


def test_leading_zeros_make_names_of_numbers(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "plz,n\n01067,1\n80331,20\n")
    assert rows.words("plz").tolist() == ["01067", "80331"] and rows.kinds == {"plz": "text", "n": "number"}


def test_types_widen_where_later_rows_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "BLOCK", 4096)
    n = 3000
    late = "\n".join(f"{i},{i},,{'' if i < n - 1 else 'x'}" for i in range(n))
    rows = read_text(tmp_path, f"a,b,c,d\n{late}\n1.5,text,7,y\n")
    assert rows.kinds == {"a": "number", "b": "text", "c": "number", "d": "text"}
    assert rows.table.column("a").to_pylist()[-2:] == [n - 1.0, 1.5]
    assert rows.words("b")[-2:].tolist() == [str(n - 1), "text"]
    assert np.isnan(rows.numbers("c")[:-1]).all() and rows.numbers("c")[-1] == 7


def test_a_row_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "BLOCK", 1024)
    rows = read_text(tmp_path, f"a,b\n1,{'x' * 5000}\n2,y\n")
    assert [len(word) for word in rows.words("b")] == [5000, 1]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "feather"])
def test_columnar_files_with_types(tmp_path: Path, kind: str) -> None:
    table = pa.table(
        {
            "id": ["A1", "A2", "A3"],
            "amount": [1.5, None, 7.0],
            "channel": pa.array(["web", "phone", None]).dictionary_encode(),
            "day": pa.array([0, 1, 2], pa.date32()),
        }
    )
    path = tmp_path / f"file.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "feather":
        feather.write_feather(table, path)
    else:
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)
    same(read_rows(str(path)))


def test_columnar_types_become_numbers_or_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "yes": [True, False],
            "price": pa.array([1, 2], pa.decimal128(5, 2)),
            "nothing": pa.nulls(2),
            "list": [[1], [2]],
            "code": pa.array([1, 1]).dictionary_encode(),
            "large": pa.array(["x", "y"], pa.large_string()),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    rows = read_rows(str(tmp_path / "t.parquet"), kinds={"code": "text"})
    kinds = ["text", "number", "number", "other", "text", "text"]
    assert list(rows.kinds.values()) == kinds
    assert rows.words("yes").tolist() == ["true", "false"]
    with pytest.raises(Failure, match="'yes' does not hold numbers"):
        read_rows(str(tmp_path / "t.parquet"), kinds={"yes": "number"})


def test_svmlight_with_and_without_queries(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "2 qid:1 1:0.5 3:1 # x\n0 qid:1 2:1\n1 qid:2 1:1\n", "file.txt")
    assert rows.matrix.shape == (3, 3) and rows.words("label").tolist() == ["2", "0", "1"]
    assert rows.words("query").tolist() == ["1", "1", "2"]
    rows = read_text(tmp_path, "1 1:0.5\n-1 2:1\n", "file.svm", n_features=5)
    assert rows.matrix.shape == (2, 5) and "query" not in rows.kinds
    assert rows.take(np.array([1])).matrix.shape == (1, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "names of columns, but no rows"),
        ("a,b\n1,2\n3\n", "file.csv:3: 1 field where the first line has 2"),
        ("a,b\n1,2\n3,4,5\n", "file.csv:3: 3 fields where the first line has 2"),
        ('a,b\n1,"x\ny"\n1,2,3\n', "file.csv:4: 3 fields"),
        ('a,b\n1,2\n1,"never closed\n3,4\n', "file.csv:3: a quotation mark is not closed"),
        ("a,b,a\n1,2,3\n", "file.csv:1: columns 1 and 3 are both called 'a'"),
        ("1,2\n3,4\n", "file.csv:1: numbers where the names"),
        (b"a,b\n1,\xff\xfe\n", "file.csv:2: this is not UTF8; try --encoding"),
        (b"a,b\n" + b"1,x\n" * 100_000 + b"1,\xff\n", "it is not UTF8"),
        (b"\x00\x01\x02\x03", "is binary"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is binary"),
        (b"PAR1 and then nothing", "cannot be read as a Parquet file"),
        (b"ARROW1\x00\x00 and then nothing", "cannot be read as an Arrow file"),
        (gzip.compress(TABLE.encode() * 50, mtime=0)[:-60], "cannot be unpacked"),
        ("1 1:2 3:x\n", "x.*line 1|line 1.*x|:1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, data: str | bytes, message: str) -> None:
    with pytest.raises(Failure, match=message):
        read_text(tmp_path, data, "file.svm" if data == "1 1:2 3:x\n" else "file.csv")


def test_a_cut_off_parquet_file(tmp_path: Path) -> None:
    held = io.BytesIO()
    parquet.write_table(pa.table({"a": list(range(1000))}), held)
    with pytest.raises(Failure, match="cannot be read as a Parquet file"):
        read_text(tmp_path, held.getvalue()[:-20], "t.parquet")


def test_columns_that_a_model_takes_are_of_its_kinds(tmp_path: Path) -> None:
    data = "a,b,c\n1,5,x\n2,,y\n"
    rows = read_text(tmp_path, data, kinds={"a": "text", "b": "number"}, rest="text")
    assert rows.kinds == {"a": "text", "b": "number", "c": "text"}
    with pytest.raises(Failure, match=r"file\.csv:3: the column 'b' holds 'n\.k\.'"):
        read_text(tmp_path, data.replace("2,,", "2,n.k.,"), kinds={"b": "number"})
    late = "b\n" + "1\n" * 700_000 + "oops\n"
    with pytest.raises(Failure, match=r"file\.csv:700002: the column 'b' holds 'oops'"):
        read_text(tmp_path, late, kinds={"b": "number"})


def test_names_of_columns_in_any_script(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "größe,名前, spaced ,\n1,二,3,4\n")
    assert rows.names == ["größe", "名前", "spaced", "column 4"]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="does not exist"):
        read_rows(str(tmp_path / "none.csv"))
    with pytest.raises(Failure, match="is a folder"):
        read_rows(str(tmp_path))
    with pytest.raises(Failure, match="no encoding 'klingon'"):
        read_text(tmp_path, "a\n1\n", encoding="klingon")
    with pytest.raises(Failure, match="cannot both be"):
        read_text(tmp_path, "a;b\n1;2\n", separator=";", decimal=";")


def test_two_columns_of_one_name_in_arrow(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    feather.write_feather(table, tmp_path / "t.feather")
    with pytest.raises(Failure, match="two columns 'a'"):
        read_rows(str(tmp_path / "t.feather"))


def test_reading_takes_less_than_twice_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 120_000
    channel = np.array(["web", "phone", "branch"])[rng.integers(0, 3, n)]
    columns = [*(np.char.mod("%.4f", rng.normal(size=n)) for _ in range(8)), channel]
    lines = "\n".join(map(",".join, zip(*columns, strict=True)))
    path = tmp_path / "large.csv"
    path.write_text("a,b,c,d,e,f,g,h,channel\n" + lines + "\n")
    del lines, columns
    own, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(own)
    try:
        seen: list[int] = []
        table = read_rows(str(path), told=seen.append).table
        most = own.max_memory()
        size = table.nbytes
        del table
    finally:
        pa.set_memory_pool(before)
    assert seen[-1] == n and seen == sorted(seen)
    # A few blocks of a megabyte are on their way at any time, whatever the size of the file.
    assert most < 2 * size + 8 * 2**20


def test_the_sample_of_a_long_file_may_end_within_a_row(tmp_path: Path) -> None:
    row = "x" * 1000
    rows = read_text(tmp_path, "a;b\n" + f"{row};1,5\n" * 300)
    assert len(rows) == 300 > sniff.SAMPLE // 1100 and rows.kinds["b"] == "number"
