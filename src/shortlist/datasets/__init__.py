"""Data sets: generators, and loaders of public sets through a checked cache or a local copy
(docs/data.md)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shortlist.datasets.bunch import DataWarning
from shortlist.datasets.fetch import ChecksumError, DataError, DownloadError
from shortlist.datasets.generators import make_gaussians, make_theorem1, make_top_heavy
from shortlist.datasets.large import load_news20, load_nslkdd, load_w8a
from shortlist.datasets.readers import FormatError
from shortlist.datasets.small import (
    load_abalone19,
    load_haberman,
    load_ionosphere,
    load_pima,
    load_spambase,
)
from shortlist.datasets.studies import (
    load_glow500,
    load_nhanes,
    load_polypharm,
    load_travel_mode,
    load_uis,
)
from shortlist.datasets.svmlight import read_svmlight, write_svmlight

__all__ = [
    "ChecksumError",
    "DataError",
    "DataWarning",
    "DownloadError",
    "FormatError",
    "load",
    "load_abalone19",
    "load_glow500",
    "load_haberman",
    "load_ionosphere",
    "load_news20",
    "load_nhanes",
    "load_nslkdd",
    "load_pima",
    "load_polypharm",
    "load_spambase",
    "load_travel_mode",
    "load_uis",
    "load_w8a",
    "make_gaussians",
    "make_theorem1",
    "make_top_heavy",
    "names",
    "read_svmlight",
    "write_svmlight",
]

_LOADERS: dict[str, Callable[..., Any]] = {
    "abalone19": load_abalone19,
    "diabetes": partial(load_pima, positive="healthy"),
    "glow500": load_glow500,
    "haberman": load_haberman,
    "ionosphere": load_ionosphere,
    "news20": partial(load_news20, "all"),
    "news20_train": load_news20,
    "nhanes": load_nhanes,
    "nslkdd": load_nslkdd,
    "pima": load_pima,
    "polypharm": load_polypharm,
    "spambase": load_spambase,
    "travel_mode": load_travel_mode,
    "uis": load_uis,
    "w8a": load_w8a,
}


def names() -> list[str]:
    """The names that ``load`` takes.

    >>> names()[:3]
    ['abalone19', 'diabetes', 'glow500']
    """
    return sorted(_LOADERS)


def load(name: str, **options: Any) -> Any:
    """Load a set by its name; ``"diabetes"`` is Pima with the healthy as class 1, as TopPush has it."""
    if name not in _LOADERS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(names())}")
    return _LOADERS[name](**options)
