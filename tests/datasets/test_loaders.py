"""Every loader on handmade files in the publisher's format and in that of a local copy, and on real copies if
any."""

import bz2
import gzip
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import shortlist.datasets as room
from shortlist.datasets import DataError, DataWarning, DownloadError, FormatError, large, load, small
from shortlist.datasets.bunch import Expected, fingerprint, make_bunch

REAL = os.environ.get("SHORTLIST_DATA", "")


@pytest.fixture
def local(tmp_path: Path, monkeypatch) -> Path:
    """A folder for local copies; nothing else is at hand."""
    folder = tmp_path / "local"
    folder.mkdir()
    monkeypatch.setenv("SHORTLIST_DATA", str(folder))
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def remote(tmp_path: Path, monkeypatch) -> Path:
    """A folder that plays the public sources."""
    folder = tmp_path / "remote"
    folder.mkdir()
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return folder


def from_folder(file, folder: Path):
    """The same remote file, to be had from ``folder`` and of unknown digest."""
    return replace(file, urls=((folder / file.name.split("/")[1]).as_uri(),), sha256=None)


def pack(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".bz2":
        path.write_bytes(bz2.compress(text.encode()))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(path.stem + ".dat", text)
    else:
        path.write_text(text)


def table(n_features: int, labels: list[str]) -> tuple[np.ndarray, str]:
    """Values in quarters, and the same as lines of text with a label at the end."""
    X = np.arange(len(labels) * n_features).reshape(len(labels), n_features) / 4
    return X, "".join(",".join([*map(str, row), label]) + "\n" for row, label in zip(X, labels, strict=True))


SMALL = {
    "ionosphere": ("IONOSPHERE", ["good", "bad", "good"], ["g", "b", "g"], ""),
    "spambase": ("SPAMBASE", ["spam", "nonspam", "spam"], ["1", "0", "1"], ""),
    "pima": (
        "PIMA",
        ["pos", "neg", "pos"],
        ["tested_positive", "tested_negative", "tested_positive"],
        "% Pima\n@relation x\n" + "".join(f"@attribute a{i} real\n" for i in range(9)) + "@data\n",
    ),
    "haberman": ("HABERMAN", ["positive", "negative", "positive"], ["2", "1", "2"], ""),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("where", ["local", "remote"])
def test_small_sets(name: str, where: str, request, monkeypatch) -> None:
    folder = request.getfixturevalue(where)
    variable, labels, their_labels, header = SMALL[name]
    which = getattr(small, variable)
    d = len(which.features)
    X, text = table(d, labels if where == "local" else their_labels)
    which = replace(
        which,
        remote=from_folder(which.remote, folder),
        expected=Expected(3, d, 2, fingerprint(X, np.array([1, 0, 1]))),
    )
    monkeypatch.setattr(small, variable, which)
    if where == "local":
        pack(folder / name / f"{name}.csv.gz", ",".join(f"c{i}" for i in range(d + 1)) + "\n" + text)
    else:
        pack(folder / which.remote.name.split("/")[1], header + text)
    bunch = load(name)
    np.testing.assert_array_equal(bunch.data, X)
    np.testing.assert_array_equal(bunch.target, [1, 0, 1])
    assert bunch.target.dtype == np.int64
    assert bunch.feature_names == list(which.features)
    assert len(set(bunch.feature_names)) == d
    assert (bunch.groups, bunch.split) == (None, None)
    assert len(bunch.DESCR) > 100
    assert len(bunch.target_names) == 2
    data, target = load(name, return_X_y=True)
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(target, bunch.target)


def test_pima_either_way(local: Path, monkeypatch) -> None:
    monkeypatch.setattr(small, "PIMA", replace(small.PIMA, expected=Expected(3, 8, 2)))
    _, text = table(8, ["pos", "neg", "pos"])
    pack(local / "pima" / "pima.csv.gz", "a,b,c,d,e,f,g,h,diabetes\n" + text)
    for bunch in (load("diabetes"), room.load_pima(positive="healthy")):
        np.testing.assert_array_equal(bunch.target, [0, 1, 0])
        assert bunch.target_names == ["diabetes", "healthy"]
    with pytest.raises(ValueError, match="'diabetes' or 'healthy'"):
        room.load_pima(positive="ill")


@pytest.mark.parametrize("where", ["local", "remote"])
def test_abalone19(where: str, request, monkeypatch) -> None:
    folder = request.getfixturevalue(where)
    rows = "".join(
        f"{sex},.5,.4,.1,.5,.2,.1,.15,{label}\n"
        for sex, label in (("M", "negative"), ("F", "positive"), ("I", "negative"))
    )
    which = replace(
        small.ABALONE19,
        remote=from_folder(small.ABALONE19.remote, folder),
        expected=Expected(3, 8, 1),
    )
    monkeypatch.setattr(small, "ABALONE19", which)
    if where == "local":
        pack(folder / "abalone19" / "abalone19.csv.gz", "Sex,a,b,c,d,e,f,g,Class\n" + rows)
    else:
        names = "".join(f"@attribute {name} real [0, 1]\n" for name in ("Sex", *"abcdefg", "Class"))
        pack(folder / "abalone19.zip", "@relation abalone19\n" + names + "@data\n" + rows)
    bunch = load("abalone19")
    np.testing.assert_array_equal(bunch.data[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(bunch.data[:, 7], 0.15)
    np.testing.assert_array_equal(bunch.target, [0, 1, 0])


def test_wrong_contents_are_named(local: Path, monkeypatch) -> None:
    path = local / "haberman" / "haberman.csv.gz"
    header = "Age,Year,Positive,Class\n"
    pack(path, header + "30,64,1,positive\n31,65,2,negative\n")
    with pytest.raises(DataError, match="has 2 rows, but 306 are published"):
        load("haberman")
    monkeypatch.setattr(small, "HABERMAN", replace(small.HABERMAN, expected=Expected(2, 3, 2)))
    with pytest.raises(DataError, match="has 1 rows of class 1, but 2"):
        load("haberman")
    monkeypatch.setattr(small, "HABERMAN", replace(small.HABERMAN, expected=Expected(2, 3, 1, "0" * 64)))
    with pytest.warns(DataWarning, match="other values"):
        load("haberman")
    pack(path, header + "30,64,1,perhaps\n")
    with pytest.raises(FormatError, match="column 'class' holds 'perhaps'"):
        load("haberman")
    pack(path, "Age,Class\n30,positive\n")
    with pytest.raises(FormatError, match="has 1 features, expected 3"):
        load("haberman")


def test_fingerprints_know_labels_and_values_but_not_order() -> None:
    X, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 1])
    assert fingerprint(X, y) == fingerprint(X[::-1], y[::-1]) == fingerprint(X * 1.0, y)
    assert fingerprint(X, y) != fingerprint(X, 1 - y)
    assert fingerprint(X, y) != fingerprint(X + 1e-12, y)


def test_sparse_sets_have_no_fingerprint() -> None:
    X = sparse.csr_array(np.eye(2))
    expected = Expected(2, 2, None, "0" * 64)
    assert make_bunch("x", X, np.ones(2), expected=expected, description="", source="").data is X


def save(path: Path, **arrays: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


class TestW8a:
    expected = np.zeros((3, 300))
    expected[0, [0, 299]] = expected[2, 4] = 1

    @pytest.fixture(autouse=True)
    def size(self, monkeypatch) -> None:
        monkeypatch.setattr(large, "W8A_EXPECTED", Expected(3, 300, 1))

    def check(self) -> None:
        bunch = load("w8a")
        assert sparse.issparse(bunch.data)
        np.testing.assert_array_equal(bunch.data.toarray(), self.expected)
        np.testing.assert_array_equal(bunch.target, [1, 0, 0])
        np.testing.assert_array_equal(bunch.split, ["train", "train", "test"])
        assert len(load("w8a", return_X_y=True)) == 2

    def test_local(self, local: Path) -> None:
        X = sparse.csr_array(self.expected)
        save(
            local / "w8a" / "w8a.npz",
            indices=X.indices.astype(np.uint16),
            indptr=X.indptr,
            y=np.array([1, -1, -1], dtype=np.int8),
            n_train=np.array(2),
            shape=np.array(X.shape),
        )
        self.check()

    def test_remote(self, remote: Path, monkeypatch) -> None:
        monkeypatch.setattr(large, "W8A", tuple(from_folder(file, remote) for file in large.W8A))
        pack(remote / "w8a", "+1 1:1 300:1\n-1\n")
        pack(remote / "w8a.t", "-1 5:1\n")
        self.check()

    @pytest.mark.parametrize("content", [b"nothing", b"PK\x03\x04nothing"])
    def test_damaged(self, local: Path, content: bytes) -> None:
        (local / "w8a").mkdir()
        (local / "w8a" / "w8a.npz").write_bytes(content)
        with pytest.raises(FormatError, match="should hold the arrays indices"):
            load("w8a")

    def test_incomplete(self, local: Path) -> None:
        save(local / "w8a" / "w8a.npz", y=np.ones(3))
        with pytest.raises(FormatError, match="should hold the arrays"):
            load("w8a")


class TestNews20:
    @pytest.fixture(autouse=True)
    def size(self, monkeypatch) -> None:
        sizes = {"train": 3, "test": 1, "all": 4}
        monkeypatch.setattr(
            large, "NEWS20_EXPECTED", {name: Expected(n, 62_061) for name, n in sizes.items()}
        )

    def put_local(self, folder: Path) -> None:
        save(
            folder / "news20_train" / "news20_train.npz",
            data=np.array([3, 1], dtype=np.int16),
            indices=np.array([0, 62_060], dtype=np.uint16),
            indptr=np.array([0, 1, 2, 2]),
            label=np.array([7, 1, 7], dtype=np.int8),
            shape=np.array([3, 62_061]),
        )

    def put_remote(self, folder: Path, monkeypatch) -> None:
        files = {name: from_folder(file, folder) for name, file in large.NEWS20.items()}
        monkeypatch.setattr(large, "NEWS20", files)
        pack(folder / "news20.bz2", "7 1:3\n1 62061:1\n7\n")
        pack(folder / "news20.t.bz2", "7 2:5\n")

    def test_both_ways(self, remote: Path, tmp_path: Path, monkeypatch) -> None:
        self.put_remote(remote, monkeypatch)
        theirs = load("news20_train")
        whole = load("news20")
        self.put_local(tmp_path)
        monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path))
        ours = load("news20_train")
        for bunch in (theirs, ours):
            assert bunch.data.shape == (3, 62_061)
            assert (bunch.data[0, 0], bunch.data[1, 62_060], bunch.data.nnz) == (3, 1, 2)
            np.testing.assert_array_equal(bunch.target, [1, 0, 1])
            np.testing.assert_array_equal(bunch.newsgroup, [7, 1, 7])
        assert ours.source != theirs.source
        np.testing.assert_array_equal(whole.split, ["train"] * 3 + ["test"])
        np.testing.assert_array_equal(load("news20").target, whole.target)
        np.testing.assert_array_equal(room.load_news20(positive=1, return_X_y=True)[1], [0, 1, 0])

    def test_a_copy_of_one_part_does_not_stand_for_the_other(self, local: Path) -> None:
        self.put_local(local)
        with pytest.raises(DownloadError, match=r"news20\.t\.bz2 is not in the cache"):
            load("news20", download=False)

    def test_wrong_parameters(self) -> None:
        with pytest.raises(ValueError, match="subset must be"):
            room.load_news20("half")
        with pytest.raises(ValueError, match="number of a newsgroup"):
            room.load_news20(positive=21)


class TestNslKdd:
    names = large._NSLKDD_FEATURES.split()
    train = ("0,tcp,http,SF," + ",".join(["1"] + ["0"] * 36) + ",normal,20",)
    test = (
        "5,udp,http,SF," + ",".join(["2"] + ["0"] * 36) + ",rootkit,3",
        "0,tcp,ftp,SF," + ",".join(["0"] + ["0"] * 36) + ",neptune,1",
    )

    @pytest.fixture(autouse=True)
    def size(self, monkeypatch) -> None:
        monkeypatch.setattr(large, "NSLKDD_EXPECTED", Expected(3, 7))

    def put_local(self, folder: Path) -> None:
        rows = [f"train,{row}" for row in self.train] + [f"test,{row}" for row in self.test]
        header = ",".join(["split", *self.names, "label", "difficulty"])
        pack(folder / "nslkdd" / "nslkdd.csv.gz", "\n".join([header, *rows]) + "\n")

    def check(self) -> None:
        bunch = load("nslkdd")
        assert bunch.feature_names == [
            "duration",
            "protocol_type=tcp",
            "protocol_type=udp",
            "service=ftp",
            "service=http",
            "flag=SF",
            "src_bytes",
        ]
        expected = [[0, 1, 0, 0, 1, 1, 1], [5, 0, 1, 0, 1, 1, 2], [0, 1, 0, 1, 0, 1, 0]]
        np.testing.assert_array_equal(bunch.data.toarray(), expected)
        np.testing.assert_array_equal(bunch.target, [0, 1, 1])
        np.testing.assert_array_equal(bunch.split, ["train", "test", "test"])
        np.testing.assert_array_equal(bunch.attack, ["normal", "rootkit", "neptune"])
        np.testing.assert_array_equal(bunch.difficulty, [20, 3, 1])
        np.testing.assert_array_equal(load("nslkdd", positive=["rootkit"], return_X_y=True)[1], [0, 1, 0])

    def test_local(self, local: Path) -> None:
        self.put_local(local)
        self.check()

    def test_remote(self, remote: Path, monkeypatch) -> None:
        files = {name: from_folder(file, remote) for name, file in large.NSLKDD.items()}
        monkeypatch.setattr(large, "NSLKDD", files)
        pack(remote / "KDDTrain+.txt", "\n".join(self.train) + "\n")
        pack(remote / "KDDTest+.txt", "\n".join(self.test) + "\n")
        self.check()

    @pytest.mark.parametrize("positive", ["rootkit", [], ["perl"]])
    def test_wrong_kinds(self, local: Path, positive) -> None:
        self.put_local(local)
        with pytest.raises(ValueError, match="the kinds are neptune, normal, rootkit"):
            load("nslkdd", positive=positive)

    def test_other_columns(self, local: Path) -> None:
        pack(local / "nslkdd" / "nslkdd.csv.gz", "a,b\n1,2\n")
        with pytest.raises(FormatError, match="should have the columns split, duration"):
            load("nslkdd")


def test_names() -> None:
    assert "diabetes" in room.names()
    for name in room.__all__:
        assert hasattr(room, name)
    with pytest.raises(ValueError, match="there is no data set 'mnist'; there are abalone19"):
        load("mnist")
    for function in (small.load_pima, small.load_spambase, large.load_w8a):
        assert "Parameters" in str(function.__doc__)


needs_data = pytest.mark.skipif(
    not os.path.isdir(REAL), reason="SHORTLIST_DATA names no folder with the real data sets"
)


@needs_data
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "shape", "n_positive"),
    [
        ("abalone19", (4174, 8), 32),
        ("diabetes", (768, 8), 500),
        ("haberman", (306, 3), 81),
        ("ionosphere", (351, 34), 225),
        ("news20_train", (15_935, 62_061), 799),
        ("nslkdd", (148_517, 121), 71_463),
        ("pima", (768, 8), 268),
        ("spambase", (4601, 57), 1813),
        ("w8a", (64_700, 300), 1933),
    ],
)
def test_real_copies(name: str, shape: tuple[int, int], n_positive: int) -> None:
    if not (Path(REAL) / ("pima" if name == "diabetes" else name)).is_dir():
        pytest.skip(f"SHORTLIST_DATA has no {name}")
    X, y = load(name, return_X_y=True, download=False)
    assert X.shape == shape
    assert int(y.sum()) == n_positive


@needs_data
def test_the_publishers_spambase_is_the_local_copy(tmp_path: Path, monkeypatch) -> None:
    """Written out in the publisher's format, the local copy has the publisher's SHA-256: values, order and
    all."""
    bunch = load("spambase", download=False)
    rows = [
        ",".join(str(int(v)) if v == int(v) else repr(v) for v in [*row, label])
        for row, label in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True)
    ]
    (tmp_path / "spambase").mkdir()
    (tmp_path / "spambase" / "spambase.data").write_bytes(("\r\n".join(rows) + "\r\n").encode())
    monkeypatch.delenv("SHORTLIST_DATA")
    again = load("spambase", data_home=tmp_path, download=False)
    np.testing.assert_array_equal(again.data, bunch.data)
    np.testing.assert_array_equal(again.target, bunch.target)
    assert again.source.startswith("https://")
