"""Loaders of studies on people: UIS, travel mode, NHANES, GLOW500, polypharmacy.

With Pima, Haberman, abalone19 and the Gaussians these are the sets of the paper on direct reranking (Rudin and Wang
2018).  Each reads a local copy where ``$SHORTLIST_DATA`` has one, otherwise a public copy of a fixed version through
the cache.  Nothing is scaled, imputed or shuffled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.datasets.bunch import Expected, make_bunch
from shortlist.datasets.fetch import RemoteFile, data_home, fetch, local_file
from shortlist.datasets.readers import FormatError, Table, numbers, read_csv

Array = NDArray[Any]
Home = str | os.PathLike[str] | None

__all__ = ["load_glow500", "load_nhanes", "load_polypharm", "load_travel_mode", "load_uis"]

_APLORE3 = "https://raw.githubusercontent.com/lbraglia/aplore3/f842768f2f1333d2d9cb468b0263655cea018bc5/rawdata"
_RDATASETS = "https://raw.githubusercontent.com/vincentarelbundock/Rdatasets"

# The columns of the longer public copy of UIS: it says how long each subject stayed drug free, not whether for a year.
_UIS_SURVIVAL = "row ID AGE BECK HC IVHX NDRUGTX RACE TREAT SITE stay TIME censor y nd1 nd2 lndt frac iv3"


@dataclass(frozen=True)
class _Study:
    """A set with a header whose columns are told apart by name.

    ``columns`` are those of the local copy in order; ``label`` and ``others`` are no features.
    """

    name: str
    description: str
    remote: RemoteFile
    columns: str
    label: str
    target_names: tuple[str, str]
    expected: Expected
    classes: Mapping[str, int] = field(default_factory=lambda: {"1": 1, "0": 0})
    others: tuple[str, ...] = ()
    group: str | None = None
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of symbolic features
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # features that become indicators
    complete: Expected | None = None  # of the rows without a missing value


UIS = _Study(
    "uis",
    "UMARU IMPACT study (UIS; Hosmer, Lemeshow, Sturdivant 2013): drug users in treatment; class 1 stayed drug free "
    "for twelve months. 575 rows, 8 numbers, 147 of class 1. The history of intravenous use (never, previous, recent) "
    "is coded by two indicators. Many public copies have the two classes the wrong way round; here class 1 are those "
    "who returned to drugs after more than 365 days or not at all. In the paper on direct reranking.",
    RemoteFile("uis/uis.csv", (f"{_RDATASETS}/1c97ab8a1df2469762e635481ba27cf4e80e3e51/csv/quantreg/uis.csv",)),
    "ID AGE BECK IVHX NDRUGTX RACE TREAT SITE DFREE",
    "DFREE",
    ("returned", "drug free"),
    Expected(575, 8, 147, "6f37a96ddebf58143dab835b9e1549ec04fab28be3ce0e7f35ad72916d2f5420"),
    others=("ID",),
    levels={"IVHX": ("2", "3")},
)

TRAVEL_MODE = _Study(
    "travel_mode",
    "Travel mode (Greene 2003): 210 travellers between Sydney, Canberra and Melbourne, a row for each of four ways to "
    "travel; class 1 is the one chosen. 840 rows, 7 numbers, 210 of class 1. Air is coded 1, train 2, bus 3, car 4; "
    "groups holds the traveller. In the paper on direct reranking.",
    RemoteFile(
        "travel_mode/TravelMode.csv",
        (f"{_RDATASETS}/c8dcfde74c1690ef127d1f2498736c662afd6879/csv/AER/TravelMode.csv",),
    ),
    "individual mode choice wait vcost travel gcost income size",
    "choice",
    ("not chosen", "chosen"),
    Expected(840, 7, 210, "1a4a3eedd0500f696648b669d91ffc140d7386c1ce14845b0b0869ab10be4e92"),
    classes={"yes": 1, "no": 0},
    others=("individual",),
    group="individual",
    codes={"mode": {"air": 1.0, "train": 2.0, "bus": 3.0, "car": 4.0}},
)

NHANES = _Study(
    "nhanes",
    "NHANES, physical activity (Hosmer, Lemeshow, Sturdivant 2013; a survey of the United States "
    "government): class 1 is obese, with a body mass index above 35. 4,915 rows without a missing value, 19 numbers, "
    "768 of class 1; with complete=False 6,445 rows and 986. Weight, height and the index determine the class. In the "
    "paper on direct reranking, which has 600 rows and 21 columns and does not say which.",
    RemoteFile("nhanes/NHANES.txt", (f"{_APLORE3}/NHANES/NHANES.txt",)),
    "ID GENDER AGE MARSTAT SAMPLEWT PSU STRATA TCHOL HDL SYSBP DBP WT HT BMI VIGWRK MODWRK WLKBIK VIGRECEXR "
    "MODRECEXR SEDMIN OBESE",
    "OBESE",
    ("not obese", "obese"),
    Expected(6445, 19, 986, "8016c5f7d61c60c1c024a2559c300bea688496c265a9db826d894895a9b56a55"),
    others=("ID",),
    complete=Expected(4915, 19, 768, "25c60d9aabd0862bac66afc107f832471f197fdabefd797ef5076f49273c3a6a"),
)

GLOW500 = _Study(
    "glow500",
    "GLOW500 (Hosmer, Lemeshow, Sturdivant 2013), a sample of the Global Longitudinal Study of Osteoporosis in Women: "
    "class 1 had a fracture in the first year. 500 rows, 11 numbers, 125 of class 1. The numbers of subject, site and "
    "physician are left out; the paper on direct reranking counts them.",
    RemoteFile("glow500/GLOW500.txt", (f"{_APLORE3}/GLOW/GLOW500.txt",)),
    "SUB_ID SITE_ID PHY_ID PRIORFRAC AGE WEIGHT HEIGHT BMI PREMENO MOMFRAC ARMASSIST SMOKE RATERISK FRACSCORE FRACTURE",
    "FRACTURE",
    ("no fracture", "fracture"),
    Expected(500, 11, 125, "085a664aacd80fd23b9c2171f4a1dcbec982b894c2b8febfdbbefbcecd9703cd"),
    others=("SUB_ID", "SITE_ID", "PHY_ID"),
)

POLYPHARM = _Study(
    "polypharm",
    "Polypharmacy (Hosmer, Lemeshow, Sturdivant 2013): 500 subjects over seven years; class 1 took drugs of more than "
    "three classes in that year. 3,500 rows, 12 numbers, 819 of class 1; one value is missing, and complete=True "
    "leaves its row out. groups holds the subject. In the paper on direct reranking, which has 500 rows and does not "
    "say which.",
    RemoteFile("polypharm/POLYPHARM.txt", (f"{_APLORE3}/POLYPHARM/POLYPHARM.txt",)),
    "ID POLYPHARMACY MHV4 INPTMHV3 YEAR GROUP URBAN COMORBID ANYPRIM NUMPRIM GENDER RACE ETHNIC AGE",
    "POLYPHARMACY",
    ("three or fewer", "more than three"),
    Expected(3500, 12, 819, "d10fc7c827c8cf57e1018c4836d4ac11c5294fc743063a09337677accb647695"),
    others=("ID",),
    group="ID",
    complete=Expected(3499, 12, 818),
)

_PARAMETERS = """

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.
    data_home : path, optional
        The cache; by default ``$SHORTLIST_CACHE`` or ``~/.cache/shortlist``.
    download : bool
        Whether the network may be used when no copy is at hand.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``, ``target`` (0 and 1), ``feature_names``, ``target_names``, ``groups`` (None where rows stand alone),
        ``split`` (None), ``DESCR``, ``source``.
    """
_COMPLETE = """
    complete : bool
        Leave out rows with a missing value, which are NaN otherwise."""


def _load(which: _Study, return_X_y: bool, home: Home, download: bool, *, complete: bool = False) -> Any:
    path = local_file(f"{which.name}/{which.name}.csv.gz")
    if path is not None:
        table, source = read_csv(path), str(path)
    else:
        path, source = fetch(which.remote, data_home(home), download=download), which.remote.urls[0]
        table = _public(which, path)
    if list(table) != which.columns.split():
        raise FormatError(
            f"{path} should have the columns {', '.join(which.columns.split())}; it has {', '.join(table)}"
        )
    # A row without a label is of no use to anyone.
    labelled = np.array([entry not in ("", "NA") for entry in table[which.label]])
    table = {
        name: [entry for entry, keep in zip(column, labelled, strict=True) if keep] for name, column in table.items()
    }
    names, columns = [], []
    for name, column in table.items():
        if name not in (which.label, *which.others):
            for feature, values in _features(which, name, column):
                names.append(feature)
                columns.append(values)
    data = np.column_stack(columns)
    target = _coded(table[which.label], which.label, which.classes).astype(np.int64)
    groups = None if which.group is None else numbers(table[which.group], which.group).astype(np.int64)
    if complete:
        whole = ~np.isnan(data).any(axis=1)
        data, target = data[whole], target[whole]
        groups = None if groups is None else groups[whole]
    bunch = make_bunch(
        which.name,
        data,
        target,
        expected=which.complete if complete and which.complete is not None else which.expected,
        description=which.description,
        source=source,
        feature_names=names,
        target_names=which.target_names,
        groups=groups,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _public(which: _Study, path: Any) -> Table:
    """The public copy in the columns of the local one."""
    if path.suffix == ".txt":
        return read_csv(path, delimiter="\t")
    table, names = read_csv(path), _UIS_SURVIVAL.split()
    if which.label in table:  # the first column numbers the rows
        return dict(list(table.items())[1:])
    if len(table) != len(names):
        raise FormatError(f"{path} has {len(table)} columns, expected {len(names)}")
    stored = dict(zip(names, table.values(), strict=True))
    days = numbers(stored["TIME"], "TIME")
    stored[which.label] = [str(int(free)) for free in days > 365]
    return {name: stored[name] for name in which.columns.split()}


def _features(which: _Study, name: str, column: list[str]) -> list[tuple[str, Array]]:
    """The columns that a column becomes, with their names."""
    lower = name.lower()
    if name in which.codes:
        return [(lower, _coded(column, name, which.codes[name]))]
    values = numbers(column, name, missing=which.complete is not None)
    if name in which.levels:
        return [(f"{lower}={level}", (values == float(level)).astype(np.float64)) for level in which.levels[name]]
    return [(lower, values)]


def _coded(column: list[str], name: str, codes: Mapping[str, float]) -> Array:
    try:
        return np.array([codes[entry] for entry in column], dtype=np.float64)
    except KeyError as error:
        raise FormatError(f"column {name!r} holds {error.args[0]!r}, expected one of {sorted(codes)}") from None


def load_uis(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(UIS, return_X_y, data_home, download)


def load_travel_mode(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(TRAVEL_MODE, return_X_y, data_home, download)


def load_nhanes(
    *, complete: bool = True, return_X_y: bool = False, data_home: Home = None, download: bool = True
) -> Any:
    return _load(NHANES, return_X_y, data_home, download, complete=complete)


def load_glow500(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(GLOW500, return_X_y, data_home, download)


def load_polypharm(
    *, complete: bool = False, return_X_y: bool = False, data_home: Home = None, download: bool = True
) -> Any:
    return _load(POLYPHARM, return_X_y, data_home, download, complete=complete)


for _loader, _set in (
    (load_uis, UIS),
    (load_travel_mode, TRAVEL_MODE),
    (load_nhanes, NHANES),
    (load_glow500, GLOW500),
    (load_polypharm, POLYPHARM),
):
    _text = _PARAMETERS if _set.complete is None else _PARAMETERS.replace("----------", "----------" + _COMPLETE, 1)
    _loader.__doc__ = _set.description + _text
