"""Loaders of the small dense sets: ionosphere, spambase, Pima, Haberman, abalone19.

Each reads a local copy where ``$SHORTLIST_DATA`` has one, otherwise the publisher's file through the cache.
Nothing is scaled, imputed or shuffled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shortlist.datasets.bunch import Expected, make_bunch
from shortlist.datasets.fetch import RemoteFile, data_home, fetch, local_file
from shortlist.datasets.readers import FormatError, numbers, read_arff, read_csv

__all__ = ["load_abalone19", "load_haberman", "load_ionosphere", "load_pima", "load_spambase"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_KEEL = "https://sci2s.ugr.es/keel/keel-dataset/datasets/imbalanced"

_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free "
    "business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 "
    "technology 1999 parts pm direct cs meeting original project re edu table conference"
)


@dataclass(frozen=True)
class _TableSet:
    """A set whose files hold the features in order and the label last."""

    name: str
    description: str
    remote: RemoteFile
    features: tuple[str, ...]
    classes: Mapping[str, int]  # what a label means, in the local copy and at the source
    target_names: tuple[str, str]
    expected: Expected
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of symbolic features


IONOSPHERE = _TableSet(
    "ionosphere",
    "Ionosphere (UCI, Sigillito et al. 1989): radar returns with (class 1) and without evidence of "
    "structure in the ionosphere. 351 rows, 34 numbers, 225 of class 1. The second feature is constant. CC "
    "BY 4.0. In the paper on the Infinite Push.",
    RemoteFile(
        "ionosphere/ionosphere.data",
        (f"{_UCI}/ionosphere/ionosphere.data",),
        "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
    ),
    tuple(f"V{i}" for i in range(1, 35)),
    {"good": 1, "bad": 0, "g": 1, "b": 0},
    ("bad", "good"),
    Expected(351, 34, 225, "dca9eb4430572a75032143a6a424acc9513e4819748fd04887ff940fcf211dfc"),
)

SPAMBASE = _TableSet(
    "spambase",
    "Spambase (UCI, Hopkins et al. 1999): e-mail, class 1 is spam. 4,601 rows, 57 numbers, 1,813 of class "
    "1; 391 rows repeat an earlier one. CC BY 4.0. In the papers on the Infinite Push and on TopPush.",
    RemoteFile(
        "spambase/spambase.data",
        (f"{_UCI}/spambase/spambase.data",),
        "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
    ),
    (
        *(f"word_freq_{word}" for word in _WORDS.split()),
        *(f"char_freq_{sign}" for sign in ";([!$#"),
        *(f"capital_run_length_{of}" for of in ("average", "longest", "total")),
    ),
    {"spam": 1, "nonspam": 0, "1": 1, "0": 0},
    ("mail", "spam"),
    Expected(4601, 57, 1813, "74e8b9adeea02fa72cb11e8b8c956862433c50ef11765ea9a61f5e637d469fed"),
)

PIMA = _TableSet(
    "pima",
    "Pima Indians diabetes (National Institute of Diabetes and Digestive and Kidney Diseases): women with "
    "(class 1) and without diabetes. 768 rows, 8 numbers, 268 of class 1. A zero in glucose, pressure, "
    "triceps, insulin or mass means a missing value. In the paper on direct reranking; TopPush calls it "
    "diabetes and ranks the 500 without.",
    RemoteFile(
        "pima/dataset_37_diabetes.arff",
        (
            "https://www.openml.org/data/download/37/dataset_37_diabetes.arff",
            "https://api.openml.org/data/download/37/dataset_37_diabetes.arff",
        ),
    ),
    ("pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age"),
    {"pos": 1, "neg": 0, "tested_positive": 1, "tested_negative": 0},
    ("healthy", "diabetes"),
    Expected(768, 8, 268, "f381bf1d21798c2ceff435ad49f7a843af6c05d4dc212ef4a4df54ba74ae8660"),
)

HABERMAN = _TableSet(
    "haberman",
    "Haberman's survival (UCI, 1976): patients after surgery for breast cancer; class 1 died within five "
    "years. 306 rows, 3 numbers, 81 of class 1. CC BY 4.0. In the paper on direct reranking.",
    RemoteFile(
        "haberman/haberman.data",
        (f"{_UCI}/haberman/haberman.data",),
        "b4b7a32586a5668f9f4d6dc8be9d1bc8cd4822523affb1f6b5bfc350681ef3e2",
    ),
    ("age", "year", "nodes"),
    {"positive": 1, "negative": 0, "2": 1, "1": 0},
    ("survived", "died"),
    Expected(306, 3, 81, "e5bb8bce99ea0e6e22c92f31beecd41f0ae753268db749f650eaf36eb8973a27"),
)

ABALONE19 = _TableSet(
    "abalone19",
    "Abalone 19 (KEEL, after UCI): abalones with 19 rings (class 1) and with another number. 4,174 rows, 8 "
    "features, 32 of class 1. The sex is coded male 0, female 1, infant 2. In the paper on direct reranking.",
    RemoteFile(
        "abalone19/abalone19.zip",
        (
            f"{_KEEL}/imb_IRhigherThan9p1/abalone19.zip",
            "https://sci2s.ugr.es/keel/dataset/data/imbalanced/abalone19.zip",
        ),
    ),
    (
        "sex",
        "length",
        "diameter",
        "height",
        "whole_weight",
        "shucked_weight",
        "viscera_weight",
        "shell_weight",
    ),
    {"positive": 1, "negative": 0},
    ("other", "19 rings"),
    Expected(4174, 8, 32, "e7066ab308700d3cab5d8a342775bbc43f3363cbf45b639017488a85cc207e81"),
    {"sex": {"M": 0.0, "F": 1.0, "I": 2.0}},
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
        ``data``, ``target`` (0 and 1), ``feature_names``, ``target_names``, ``groups`` and ``split`` (None),
        ``DESCR``, ``source``.
    """

Home = str | os.PathLike[str] | None


def _load(which: _TableSet, return_X_y: bool, home: Home, download: bool, *, flip: bool = False) -> Any:
    path = local_file(f"{which.name}/{which.name}.csv.gz")
    if path is not None:
        table, source = read_csv(path), str(path)
    else:
        path = fetch(which.remote, data_home(home), download=download)
        source = which.remote.urls[0]
        table = read_csv(path, [*which.features, "class"]) if path.suffix == ".data" else read_arff(path)
    *columns, label = table.values()
    if len(columns) != len(which.features):
        raise FormatError(f"{path} has {len(columns)} features, expected {len(which.features)}")
    data = np.empty((len(label), len(columns)))
    for j, (name, column) in enumerate(zip(which.features, columns, strict=True)):
        data[:, j] = _coded(column, name, which.codes[name]) if name in which.codes else numbers(column, name)
    target = _coded(label, "class", which.classes).astype(np.int64)
    bunch = make_bunch(
        which.name,
        data,
        target,
        expected=which.expected,
        description=which.description,
        source=source,
        feature_names=which.features,
        target_names=which.target_names,
    )
    if flip:
        bunch.target, bunch.target_names = 1 - bunch.target, bunch.target_names[::-1]
    return (bunch.data, bunch.target) if return_X_y else bunch


def _coded(column: list[str], name: str, codes: Mapping[str, float]) -> Any:
    try:
        return np.array([codes[entry] for entry in column], dtype=np.float64)
    except KeyError as error:
        raise FormatError(
            f"column {name!r} holds {error.args[0]!r}, expected one of {sorted(codes)}"
        ) from None


def load_ionosphere(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(IONOSPHERE, return_X_y, data_home, download)


def load_spambase(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(SPAMBASE, return_X_y, data_home, download)


def load_pima(
    *, positive: str = "diabetes", return_X_y: bool = False, data_home: Home = None, download: bool = True
) -> Any:
    if positive not in ("diabetes", "healthy"):
        raise ValueError(f"positive must be 'diabetes' or 'healthy', got {positive!r}")
    return _load(PIMA, return_X_y, data_home, download, flip=positive == "healthy")


def load_haberman(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(HABERMAN, return_X_y, data_home, download)


def load_abalone19(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    return _load(ABALONE19, return_X_y, data_home, download)


_POSITIVE = """
    positive : {"diabetes", "healthy"}
        Which class is 1; ``"healthy"`` is TopPush's choice."""

for _loader, _set in (
    (load_ionosphere, IONOSPHERE),
    (load_spambase, SPAMBASE),
    (load_pima, PIMA),
    (load_haberman, HABERMAN),
    (load_abalone19, ABALONE19),
):
    _text = (
        _PARAMETERS if _set is not PIMA else _PARAMETERS.replace("----------", "----------" + _POSITIVE, 1)
    )
    _loader.__doc__ = _set.description + _text
