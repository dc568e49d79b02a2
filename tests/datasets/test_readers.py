"""The formats, on files of a few lines."""

import bz2
import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shortlist.datasets import FormatError
from shortlist.datasets.readers import numbers, read_arff, read_csv, read_svmlight

ARFF = """% a comment
@RELATION 'tiny set'
@ATTRIBUTE 'body mass' REAL
@attribute "two words" real
@attribute class{yes, no}
@inputs body
@Data
% another
1.5, 2, yes

'3', 4e-1, no
"""

KEEL = """@relation abalone19
@attribute Sex {M, F, I}
@attribute Length real [0.075, 0.815]
@attribute Class {positive, negative}
@inputs Sex, Length
@outputs Class
@data
M, 0.455, negative
I, 0.35, positive
"""


def test_csv_with_and_without_a_header(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.data", tmp_path / "a.csv.gz"
    plain.write_text("1,2,g\r\n3, 4 ,b\r\n\r\n   \n")
    packed.write_bytes(gzip.compress(b"x,y,class\n1,2,g\n3,4,b\n"))
    expected = {"x": ["1", "3"], "y": ["2", "4"], "class": ["g", "b"]}
    assert read_csv(plain, ["x", "y", "class"]) == expected
    assert read_csv(packed) == expected


def test_arff_and_keel(tmp_path: Path) -> None:
    arff, keel = tmp_path / "a.arff", tmp_path / "a.zip"
    arff.write_text(ARFF)
    with zipfile.ZipFile(keel, "w") as archive:
        archive.writestr("abalone19.dat", KEEL)
    assert read_arff(arff) == {
        "body mass": ["1.5", "3"],
        "two words": ["2", "4e-1"],
        "class": ["yes", "no"],
    }
    assert read_arff(keel) == {
        "Sex": ["M", "I"],
        "Length": ["0.455", "0.35"],
        "Class": ["negative", "positive"],
    }


def test_svmlight_plain_and_packed(tmp_path: Path) -> None:
    text = b"+1 1:1 3:2.5\n-1 2:1\n"
    (tmp_path / "a").write_bytes(text)
    (tmp_path / "a.bz2").write_bytes(bz2.compress(text))
    for name in ("a", "a.bz2"):
        X, y = read_svmlight(tmp_path / name, 4)
        np.testing.assert_array_equal(X.toarray(), [[1, 0, 2.5, 0], [0, 1, 0, 0]])
        np.testing.assert_array_equal(y, [1, -1])


@pytest.mark.parametrize(
    ("name", "content", "read", "words"),
    [
        ("a.csv", b"x,y\n1\n", read_csv, "row 1 has 1 entries, expected 2"),
        ("a.csv", b"x,y\n", read_csv, "holds no rows"),
        ("a.csv", b"", read_csv, "holds no rows"),
        ("a.csv.gz", b"not packed", read_csv, "cannot be read"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:-20], read_csv, "cannot be read"),
        ("a.zip", b"not packed", read_arff, "cannot be read"),
        ("a.arff", b"<html>gone</html>", read_arff, "no @data line"),
        ("a.arff", b"@attribute\n@data\n1\n", read_arff, "attribute without a name"),
        ("a.arff", b"@attribute a real\n@data\n1,2\n", read_arff, "row 1 has 2 entries"),
        ("a", b"<html>gone</html>", lambda path: read_svmlight(path, 3), "LIBSVM file of 3 features"),
        ("a", b"1 9:1\n", lambda path: read_svmlight(path, 3), "LIBSVM file of 3 features"),
        ("a.bz2", b"not packed", lambda path: read_svmlight(path, 3), "cannot be read"),
    ],
)
def test_files_of_another_form_are_refused(
    tmp_path: Path, name: str, content: bytes, read, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=words):
        read(tmp_path / name)


def test_an_archive_of_two_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("b", "2")
    with pytest.raises(FormatError, match="should hold one file"):
        read_arff(tmp_path / "a.zip")


def test_numbers() -> None:
    np.testing.assert_array_equal(numbers(["1", " -2.5e1"], "x"), [1, -25])
    with pytest.raises(FormatError, match="column 'x' should hold numbers"):
        numbers(["1", "M"], "x")
