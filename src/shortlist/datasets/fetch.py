"""Files from public sources: fetched once, checked always, kept in a cache.

The way of a file: it is streamed into a temporary file beside its place, its length and its SHA-256 digest
are checked, and only then it is renamed into place, so that an interrupted download never looks like a file.

Which digest? Where the publisher's file has a digest that is publicly known, that one.  Where it has not,
**trust on first use**: the digest of the first download is recorded beside the file and every later use must
agree with it.  That catches a damaged or altered cache, not a source that was wrong on the first day; the
loaders therefore also compare the number of rows, columns and positives with the published ones.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "ChecksumError",
    "DataError",
    "DownloadError",
    "RemoteFile",
    "data_home",
    "fetch",
    "local_file",
]

_CHUNK = 2**20


class DataError(RuntimeError):
    """A data set cannot be had; the message says what to do."""


class DownloadError(DataError):
    """A file is neither in the cache nor to be had from its source."""


class ChecksumError(DataError):
    """A file is not the one it should be."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a public source.

    Attributes
    ----------
    name : str
        Where it is kept, relative to the cache.
    urls : tuple of str
        Where it is to be had; tried in this order.
    sha256 : str or None
        Its digest where that is publicly known; None: trust on first use.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str | None = None


def data_home(path: str | os.PathLike[str] | None = None) -> Path:
    """The cache: ``path``, else ``$SHORTLIST_CACHE``, else ``shortlist`` in ``$XDG_CACHE_HOME`` or
    ``~/.cache``.

    >>> data_home("data").as_posix()
    'data'
    """
    if path is not None:
        return Path(path).expanduser()
    if own := os.environ.get("SHORTLIST_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shortlist"


def local_file(name: str) -> Path | None:
    """``name`` in the folder that ``$SHORTLIST_DATA`` names; None when unset or when it lacks the file.

    Raises
    ------
    DataError
        When the variable names something that is not a folder.
    """
    folder = os.environ.get("SHORTLIST_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DataError(
            f"SHORTLIST_DATA names {folder!r}, which is not a folder: correct it, or unset it to use the "
            "public sources"
        )
    path = Path(folder) / name
    return path if path.is_file() else None


def fetch(file: RemoteFile, home: Path, *, download: bool = True, timeout: float = 60.0) -> Path:
    """The file in the cache, downloaded first where necessary.

    Parameters
    ----------
    file : RemoteFile
    home : Path
        The cache.
    download : bool
        Whether the network may be used.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    DownloadError
        When it is not in the cache and no source delivers it.
    ChecksumError
        When its digest is not the known or the recorded one.
    """
    path = home / file.name
    if path.is_file():
        _verify(path, file)
        return path
    by_hand = (
        f"Put the file at {path} by hand, or set SHORTLIST_DATA to a folder that holds a copy of the data "
        "set (docs/data.md shows its layout)"
    )
    if not download:
        raise DownloadError(f"{file.name} is not in the cache and download=False. {by_hand}")
    path.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for url in file.urls:
        try:
            _download(url, path, file.sha256, timeout)
            return path
        except ChecksumError:
            raise
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"{url}: {type(error).__name__}: {error}")
    raise DownloadError(f"{file.name} could not be fetched ({'; '.join(failures)}). {by_hand}")


def _download(url: str, path: Path, known: str | None, timeout: float) -> None:
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    digest = hashlib.sha256()
    length = 0
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "shortlist-datasets"})
        with urllib.request.urlopen(request, timeout=timeout) as source, part.open("xb") as target:
            announced = source.headers.get("Content-Length")
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                length += len(chunk)
                target.write(chunk)
        if announced is not None and int(announced) != length:
            raise OSError(f"{length} of {announced} bytes arrived")
        found = digest.hexdigest()
        if known is not None and found != known:
            raise ChecksumError(
                f"{url} delivered a file with SHA-256 {found}, expected {known}. The source has changed or "
                f"the connection is tampered with; if you have a copy you trust, put it at {path}"
            )
        _record(path, found)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _verify(path: Path, file: RemoteFile) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    found = digest.hexdigest()
    recorded = _record_of(path)
    if file.sha256 is not None:
        expected, whose = file.sha256, "the publisher's file has"
    elif recorded.is_file():
        expected, whose = recorded.read_text().split()[0], "at its first use it had"
    else:  # put there by hand: this is the first use
        _record(path, found)
        return
    if found != expected:
        raise ChecksumError(
            f"{path} has SHA-256 {found}, {whose} {expected}. Delete it (and {recorded.name} beside it) to "
            "fetch it again"
        )


def _record_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _record(path: Path, digest: str) -> None:
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.sha256")
    part.write_text(f"{digest}  {path.name}\n")
    os.replace(part, _record_of(path))
