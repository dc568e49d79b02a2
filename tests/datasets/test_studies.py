"""The studies on people: on handmade files in the public and the local format, and on real copies if any."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shortlist.datasets import DownloadError, FormatError, load, load_nhanes, studies
from shortlist.datasets.bunch import Expected

REAL = os.environ.get("SHORTLIST_DATA", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Local copies under ``local``, public ones under ``public``; nothing else is at hand."""
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    (tmp_path / "public").mkdir()
    return tmp_path


def use_local(folder: Path, monkeypatch, name: str, text: str) -> None:
    place = folder / "local" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("SHORTLIST_DATA", str(folder / "local"))


def use_public(folder: Path, monkeypatch, variable: str, text: str, **expected: Expected) -> None:
    which = getattr(studies, variable)
    path = folder / "public" / which.remote.name.split("/")[1]
    path.write_text(text)
    remote = replace(which.remote, urls=(path.as_uri(),))
    monkeypatch.setattr(studies, variable, replace(which, remote=remote, **expected))


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def test_uis_from_either_copy(folder: Path, monkeypatch) -> None:
    public = lines(
        '"","ID","AGE","BECK","HC","IV","NDT","RACE","TREAT","SITE","LEN.T","TIME","CENSOR","Y","ND1","ND2","LNDT","FRAC","IV3"',
        '"1",9,39,9.5,4,3,1,0,1,0,123,188,1,5.2,5,-8,.7,.7,1',
        '"2",7,33,34,4,1,8,0,1,1,25,366,1,3.3,1.1,-.1,2.2,.1,0',
        '"3",5,30,2,4,2,0,1,0,0,25,365,0,3.3,1.1,-.1,2.2,.1,0',
    )
    use_public(folder, monkeypatch, "UIS", public, expected=Expected(3, 8, 1))
    theirs = load("uis")
    local = lines(
        "ID,AGE,BECK,IVHX,NDRUGTX,RACE,TREAT,SITE,DFREE",
        "1,39,9.5,3,1,0,1,0,0",
        "2,33,34.0,1,8,0,1,1,1",
        "3,30,2.0,2,0,1,0,0,0",
    )
    use_local(folder, monkeypatch, "uis", local)
    ours = load("uis")
    for bunch in (theirs, ours):
        np.testing.assert_array_equal(
            bunch.data, [[39, 9.5, 0, 1, 1, 0, 1, 0], [33, 34, 0, 0, 8, 0, 1, 1], [30, 2, 1, 0, 0, 1, 0, 0]]
        )
        np.testing.assert_array_equal(bunch.target, [0, 1, 0])
        assert bunch.feature_names[:5] == ["age", "beck", "ivhx=2", "ivhx=3", "ndrugtx"]
        assert bunch.groups is None
    assert ours.source != theirs.source


def test_travel_mode_from_either_copy(folder: Path, monkeypatch) -> None:
    rows = ["1,air,no,69,59,100,70,35,1", "1,car,yes,0,10,180,30,35,1", "2,bus,no,35,25,417,70,30,2"]
    header = "individual,mode,choice,wait,vcost,travel,gcost,income,size"
    numbered = [f'"rownames",{header}', *(f'"{i}",{row}' for i, row in enumerate(rows))]
    use_public(folder, monkeypatch, "TRAVEL_MODE", lines(*numbered), expected=Expected(3, 7, 1))
    theirs = load("travel_mode")
    use_local(folder, monkeypatch, "travel_mode", lines(header, *rows))
    for bunch in (theirs, load("travel_mode")):
        np.testing.assert_array_equal(bunch.data[:, 0], [1, 4, 3])
        np.testing.assert_array_equal(bunch.data[1], [4, 0, 10, 180, 30, 35, 1])
        np.testing.assert_array_equal(bunch.target, [0, 1, 0])
        np.testing.assert_array_equal(bunch.groups, [1, 1, 2])
    use_local(folder, monkeypatch, "travel_mode", lines(header, "1,ship,no,69,59,100,70,35,1"))
    with pytest.raises(FormatError, match="column 'mode' holds 'ship'"):
        load("travel_mode")


def test_nhanes_with_and_without_missing_values(folder: Path, monkeypatch) -> None:
    columns = studies.NHANES.columns.split()
    row = ["1"] * (len(columns) - 1)
    holes = [*row[:3], "", *row[4:]]
    text = ["\t".join(part) for part in (columns, [*row, "0"], [*holes, "1"], [*row, "1"], [*row, ""])]
    sizes = {"expected": Expected(3, 19, 2), "complete": Expected(2, 19, 1)}
    use_public(folder, monkeypatch, "NHANES", lines(*text), **sizes)
    theirs = load_nhanes(complete=False)
    use_local(folder, monkeypatch, "nhanes", lines(*text).replace("\t", ","))
    for bunch in (theirs, load_nhanes(complete=False)):
        assert np.argwhere(np.isnan(bunch.data)).tolist() == [[1, 2]]
        np.testing.assert_array_equal(bunch.target, [0, 1, 1])
    X, y = load("nhanes", return_X_y=True)
    np.testing.assert_array_equal(X, np.ones((2, 19)))
    np.testing.assert_array_equal(y, [0, 1])


def test_glow500_without_its_numbers(folder: Path, monkeypatch) -> None:
    columns = studies.GLOW500.columns.split()
    row = [str(i) for i in range(len(columns) - 1)]
    text = lines("\t".join(columns), "\t".join([*row, "1"]), "\t".join([*row, "0"]))
    use_public(folder, monkeypatch, "GLOW500", text, expected=Expected(2, 11, 1))
    bunch = load("glow500")
    np.testing.assert_array_equal(bunch.data[0], np.arange(3, 14))
    np.testing.assert_array_equal(bunch.target, [1, 0])
    assert "sub_id" not in bunch.feature_names


def test_polypharm_knows_its_subjects(folder: Path, monkeypatch) -> None:
    columns = studies.POLYPHARM.columns.split()
    row = ["1"] * (len(columns) - 2)
    rows = [["7", "1", *row], ["8", "0", *row[:4], "NA", *row[5:]], ["8", "0", *row]]
    sizes = {"expected": Expected(3, 12, 1), "complete": Expected(2, 12, 1)}
    use_public(folder, monkeypatch, "POLYPHARM", lines(*("\t".join(r) for r in (columns, *rows))), **sizes)
    whole, part = load("polypharm"), load("polypharm", complete=True)
    np.testing.assert_array_equal(whole.groups, [7, 8, 8])
    np.testing.assert_array_equal(part.groups, [7, 8])
    assert int(np.isnan(whole.data).sum()) == 1
    assert part.data.shape == (2, 12)


def test_wrong_contents_are_named(folder: Path, monkeypatch) -> None:
    use_public(folder, monkeypatch, "UIS", "a,b\n1,2\n")
    with pytest.raises(FormatError, match="has 2 columns, expected 19"):
        load("uis")
    use_local(folder, monkeypatch, "glow500", "AGE,FRACTURE\n50,1\n")
    with pytest.raises(FormatError, match="should have the columns SUB_ID, SITE_ID"):
        load("glow500")
    use_local(folder, monkeypatch, "uis", lines("ID,AGE,BECK,IVHX,NDRUGTX,RACE,TREAT,SITE,DFREE", "1,,1,1,1,1,1,1,1"))
    with pytest.raises(FormatError, match="column 'AGE' should hold numbers"):
        load("uis")
    with pytest.raises(DownloadError, match="download=False"):
        load("polypharm", download=False)


@pytest.mark.skipif(not os.path.isdir(REAL), reason="SHORTLIST_DATA names no folder with the real data sets")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "options", "shape", "n_positive", "n_groups"),
    [
        ("uis", {}, (575, 8), 147, None),
        ("travel_mode", {}, (840, 7), 210, 210),
        ("nhanes", {}, (4915, 19), 768, None),
        ("nhanes", {"complete": False}, (6445, 19), 986, None),
        ("glow500", {}, (500, 11), 125, None),
        ("polypharm", {}, (3500, 12), 819, 500),
        ("polypharm", {"complete": True}, (3499, 12), 818, 500),
    ],
)
def test_real_copies(name: str, options: dict, shape: tuple[int, int], n_positive: int, n_groups) -> None:
    if not (Path(REAL) / name).is_dir():
        pytest.skip(f"SHORTLIST_DATA has no {name}")
    bunch = load(name, download=False, **options)
    assert bunch.data.shape == shape
    assert int(bunch.target.sum()) == n_positive
    assert (None if bunch.groups is None else len(np.unique(bunch.groups))) == n_groups
    if name == "nhanes":  # the label is what its description says
        bmi = bunch.data[:, bunch.feature_names.index("bmi")]
        known = ~np.isnan(bmi)
        np.testing.assert_array_equal(bunch.target[known], bmi[known] > 35)
