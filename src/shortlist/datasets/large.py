"""Loaders of the large sparse sets: w8a, news20 (for-sale), NSL-KDD.

Each reads a local copy where ``$SHORTLIST_DATA`` has one, otherwise the publisher's files through the cache.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shortlist.datasets import fetch as files
from shortlist.datasets.bunch import Expected, make_bunch
from shortlist.datasets.fetch import RemoteFile, fetch, local_file
from shortlist.datasets.readers import FormatError, Table, numbers, read_csv, read_svmlight

Array = NDArray[Any]
Home = str | os.PathLike[str] | None

__all__ = ["load_news20", "load_nslkdd", "load_w8a"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_NSL_KDD = "https://raw.githubusercontent.com/defcom17/NSL_KDD/master"

W8A = (
    RemoteFile("w8a/w8a", (f"{_LIBSVM}/binary/w8a",)),
    RemoteFile("w8a/w8a.t", (f"{_LIBSVM}/binary/w8a.t",)),
)
W8A_EXPECTED = Expected(64_700, 300, 1_933)

NEWS20 = {
    "train": RemoteFile("news20/news20.bz2", (f"{_LIBSVM}/multiclass/news20.bz2",)),
    "test": RemoteFile("news20/news20.t.bz2", (f"{_LIBSVM}/multiclass/news20.t.bz2",)),
}
NEWS20_EXPECTED = {
    "train": Expected(15_935, 62_061),
    "test": Expected(3_993, 62_061),
    "all": Expected(19_928, 62_061),
}

NSLKDD = {
    "train": RemoteFile("nslkdd/KDDTrain+.txt", (f"{_NSL_KDD}/KDDTrain%2B.txt",)),
    "test": RemoteFile("nslkdd/KDDTest+.txt", (f"{_NSL_KDD}/KDDTest%2B.txt",)),
}
NSLKDD_EXPECTED = Expected(148_517, 121)
_NSLKDD_FEATURES = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root num_file_creations "
    "num_shells num_access_files num_outbound_cmds is_host_login is_guest_login count srv_count "
    "serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate "
    "srv_diff_host_rate dst_host_count dst_host_srv_count dst_host_same_srv_rate dst_host_diff_srv_rate "
    "dst_host_same_src_port_rate dst_host_srv_diff_host_rate dst_host_serror_rate "
    "dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate"
)
_SYMBOLIC = ("protocol_type", "service", "flag")


def load_w8a(*, return_X_y: bool = False, data_home: Home = None, download: bool = True) -> Any:
    """Web pages (Platt 1998; LIBSVM's w8a and w8a.t): 64,700 rows, 300 features of 0 and 1, 1,933 of class 1.

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
        ``data`` (CSR), ``target`` (0 and 1), ``split`` ("train" for the 49,749 rows of w8a, "test" for those
        of w8a.t), ``DESCR``, ``source`` and others.
    """
    path = local_file("w8a/w8a.npz")
    if path is not None:
        stored = _npz(path, "indices", "indptr", "y", "n_train", "shape")
        X = _csr(np.ones(len(stored["indices"])), stored)
        y, n_train, source = stored["y"], int(stored["n_train"]), str(path)
    else:
        parts = [
            read_svmlight(fetch(file, files.data_home(data_home), download=download), 300) for file in W8A
        ]
        X, y = (
            sparse.csr_array(sparse.vstack([part for part, _ in parts])),
            np.concatenate([t for _, t in parts]),
        )
        n_train, source = len(parts[0][1]), W8A[0].urls[0]
    bunch = make_bunch(
        "w8a",
        X,
        (y > 0).astype(np.int64),
        expected=W8A_EXPECTED,
        description=str(load_w8a.__doc__).split("\n\n")[0],
        source=source,
        split=np.repeat(["train", "test"], [n_train, len(y) - n_train]),
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_news20(
    subset: str = "train",
    *,
    positive: int = 7,
    return_X_y: bool = False,
    data_home: Home = None,
    download: bool = True,
) -> Any:
    """Twenty newsgroups as word counts (LIBSVM's multi-class news20): 62,061 features, one group against all
    others.

    15,935 rows in ``"train"``, 3,993 in ``"test"``. Group 7 is misc.forsale by alphabetical order: 799 rows
    of the training part. The paper on TopPush has 999 rows of it among 19,928, those of both parts.

    Parameters
    ----------
    subset : {"train", "test", "all"}
    positive : int
        The newsgroup, 1 to 20, that is class 1; it is kept for every row in ``newsgroup``.
    return_X_y, data_home, download
        As for ``load_w8a``.

    Returns
    -------
    sklearn.utils.Bunch
        As for ``load_w8a``, and ``newsgroup``.
    """
    if subset not in NEWS20_EXPECTED:
        raise ValueError(f"subset must be 'train', 'test' or 'all', got {subset!r}")
    if positive not in range(1, 21):
        raise ValueError(f"positive must be the number of a newsgroup, 1 to 20, got {positive!r}")
    parts, sources = [], []
    names = ("train", "test") if subset == "all" else (subset,)
    for name in names:
        path = local_file(f"news20_{name}/news20_{name}.npz")
        if path is not None:
            stored = _npz(path, "data", "indices", "indptr", "label", "shape")
            parts.append((_csr(stored["data"], stored), stored["label"]))
            sources.append(str(path))
        else:
            path = fetch(NEWS20[name], files.data_home(data_home), download=download)
            parts.append(read_svmlight(path, 62_061))
            sources.append(NEWS20[name].urls[0])
    group = np.concatenate([label for _, label in parts]).astype(np.int64)
    bunch = make_bunch(
        "news20",
        sparse.csr_array(sparse.vstack([X for X, _ in parts])),
        (group == positive).astype(np.int64),
        expected=NEWS20_EXPECTED[subset],
        description="\n\n".join(str(load_news20.__doc__).split("\n\n")[:2]),
        source=", ".join(sources),
        split=np.repeat(names, [len(label) for _, label in parts]),
        newsgroup=group,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_nslkdd(
    *,
    positive: Collection[str] | None = None,
    return_X_y: bool = False,
    data_home: Home = None,
    download: bool = True,
) -> Any:
    """NSL-KDD, network connections and attacks (Tavallaee et al. 2009): 148,517 rows, 121 features, 71,463
    attacks.

    KDDTrain+ (125,973 rows) and KDDTest+ together. The three symbolic columns are coded as indicators, one
    for each value, and the one constant column is left out.

    Parameters
    ----------
    positive : collection of str, optional
        Kinds of attack that alone are class 1, for a rarer class: ("rootkit", "perl"), for instance. By
        default everything but "normal" is.
    return_X_y, data_home, download
        As for ``load_w8a``.

    Returns
    -------
    sklearn.utils.Bunch
        As for ``load_w8a``, with ``feature_names``, ``attack`` (the kind of each row) and ``difficulty``.
    """
    path = local_file("nslkdd/nslkdd.csv.gz")
    columns = [*_NSLKDD_FEATURES.split(), "label", "difficulty"]
    if path is not None:
        table = read_csv(path)
        if list(table) != ["split", *columns]:
            raise FormatError(
                f"{path} should have the columns split, {', '.join(columns)}; it has {list(table)}"
            )
        split, source = np.array(table.pop("split")), str(path)
    else:
        home = files.data_home(data_home)
        parts = [read_csv(fetch(file, home, download=download), columns) for file in NSLKDD.values()]
        table = {name: [entry for part in parts for entry in part[name]] for name in columns}
        split = np.repeat(list(NSLKDD), [len(part["label"]) for part in parts])
        source = NSLKDD["train"].urls[0]
    attack = np.array(table.pop("label"))
    difficulty = numbers(table.pop("difficulty"), "difficulty").astype(np.int64)
    if positive is None:
        target = attack != "normal"
    else:
        unknown = set(positive) - set(attack.tolist())
        if isinstance(positive, str) or not positive or unknown:
            raise ValueError(
                f"positive must be a collection of kinds of attack, got {positive!r}; the kinds are "
                f"{', '.join(sorted(set(attack.tolist())))}"
            )
        target = np.isin(attack, list(positive))
    X, names = _indicators(table)
    bunch = make_bunch(
        "nslkdd",
        X,
        target.astype(np.int64),
        expected=NSLKDD_EXPECTED,
        description="\n\n".join(str(load_nslkdd.__doc__).split("\n\n")[:2]),
        source=source,
        feature_names=names,
        split=split,
        attack=attack,
        difficulty=difficulty,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _indicators(table: Table) -> tuple[Any, list[str]]:
    """CSR of the numeric columns that vary, and an indicator for each value of the symbolic ones, in
    order."""
    parts, names = [], []
    for name, column in table.items():
        if name in _SYMBOLIC:
            values, code = np.unique(column, return_inverse=True)
            ones = np.ones(len(code))
            parts.append(
                sparse.csc_array((ones, (np.arange(len(code)), code)), shape=(len(code), len(values)))
            )
            names += [f"{name}={value}" for value in values]
        else:
            entries = numbers(column, name)
            if entries.min() < entries.max():
                parts.append(sparse.csc_array(entries[:, None]))
                names.append(name)
    return sparse.csr_array(sparse.hstack(parts)), names


def _npz(path: Path, *names: str) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise FormatError(f"{path} should hold the arrays {', '.join(names)}: {error}") from error


def _csr(data: Array, stored: dict[str, Array]) -> Any:
    n_rows, n_columns = (int(n) for n in stored["shape"])
    indices, indptr = stored["indices"].astype(np.int32), stored["indptr"].astype(np.int32)
    return sparse.csr_array((data.astype(np.float64), indices, indptr), shape=(n_rows, n_columns))
