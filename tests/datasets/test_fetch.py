"""The cache: fetched once, checked always, never half a file. No test leaves the machine."""

import hashlib
import http.client
import io
import urllib.request
from pathlib import Path

import pytest

from shortlist.datasets import ChecksumError, DataError, DownloadError
from shortlist.datasets.fetch import RemoteFile, data_home, fetch, local_file

CONTENT = b"1,2,g\n" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "set.data"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def files_in(home: Path) -> set[str]:
    return {path.name for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("known", [None, DIGEST])
def test_fetched_once_recorded_and_kept(source: Path, home: Path, known: str | None) -> None:
    file = RemoteFile("set/set.data", (source.as_uri(),), known)
    path = fetch(file, home)
    assert path == home / "set" / "set.data"
    assert path.read_bytes() == CONTENT
    assert (home / "set" / "set.data.sha256").read_text() == f"{DIGEST}  set.data\n"
    assert files_in(home) == {"set.data", "set.data.sha256"}
    source.unlink()
    assert fetch(file, home, download=False) == path


def test_a_file_that_changes_after_its_first_use_is_refused(source: Path, home: Path) -> None:
    file = RemoteFile("set.data", (source.as_uri(),))
    path = fetch(file, home)
    path.write_bytes(b"other")
    with pytest.raises(ChecksumError, match=r"at its first use it had .* Delete it \(and set.data.sha256"):
        fetch(file, home)
    path.unlink()
    assert fetch(file, home).read_bytes() == CONTENT


def test_a_file_put_there_by_hand_counts_as_the_first_use(home: Path) -> None:
    file = RemoteFile("set.data", ("http://nowhere.invalid/",))
    home.mkdir()
    (home / "set.data").write_bytes(CONTENT)
    assert fetch(file, home) == home / "set.data"
    assert DIGEST in (home / "set.data.sha256").read_text()


def test_a_known_digest_is_enforced_on_download_and_in_the_cache(source: Path, home: Path) -> None:
    file = RemoteFile("set.data", (source.as_uri(),), "0" * 64)
    with pytest.raises(ChecksumError, match="expected 0000"):
        fetch(file, home)
    assert files_in(home) == set()
    (home / "set.data").write_bytes(CONTENT)
    with pytest.raises(ChecksumError, match="the publisher's file has 0000"):
        fetch(file, home)


def test_mirrors_are_tried_in_order(source: Path, home: Path) -> None:
    missing = (source.parent / "missing").as_uri()
    assert fetch(RemoteFile("set.data", (missing, source.as_uri())), home).read_bytes() == CONTENT
    with pytest.raises(DownloadError, match=r"could not be fetched .*missing.* Put the file at .* by hand"):
        fetch(RemoteFile("other.data", (missing, missing)), home)


def test_without_network(source: Path, home: Path) -> None:
    with pytest.raises(DownloadError, match=r"download=False.*SHORTLIST_DATA"):
        fetch(RemoteFile("set.data", (source.as_uri(),)), home, download=False)
    assert not home.exists()


class Answer(io.BytesIO):
    """What an opener returns, with a length that may be a lie, and an end that may be an error."""

    def __init__(self, content: bytes, announced: int | None, error: Exception | None = None) -> None:
        super().__init__(content)
        self.headers = {} if announced is None else {"Content-Length": str(announced)}
        self.error = error

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(size)
        if not chunk and self.error is not None:
            raise self.error
        return chunk


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Answer(CONTENT[:-1], len(CONTENT)),
        lambda: Answer(CONTENT, None, ConnectionResetError("reset")),
        lambda: Answer(CONTENT, None, http.client.IncompleteRead(CONTENT)),
    ],
)
def test_an_interrupted_download_leaves_nothing(home: Path, monkeypatch, answer) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: answer())
    with pytest.raises(DownloadError, match="could not be fetched"):
        fetch(RemoteFile("set.data", ("https://example.org/set.data",)), home)
    assert files_in(home) == set()


def test_an_interrupt_by_the_user_leaves_nothing(home: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda request, timeout: Answer(CONTENT, None, KeyboardInterrupt())
    )
    with pytest.raises(KeyboardInterrupt):
        fetch(RemoteFile("set.data", ("https://example.org/set.data",)), home)
    assert files_in(home) == set()


def test_the_request_names_itself_and_waits_as_told(home: Path, monkeypatch) -> None:
    seen = []

    def urlopen(request: urllib.request.Request, timeout: float) -> Answer:
        seen.append((request.full_url, request.get_header("User-agent"), timeout))
        return Answer(CONTENT, len(CONTENT))

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    fetch(RemoteFile("set.data", ("https://example.org/set.data",), DIGEST), home, timeout=3.0)
    assert seen == [("https://example.org/set.data", "shortlist-datasets", 3.0)]


def test_where_the_cache_is(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_home(tmp_path) == tmp_path
    assert data_home() == tmp_path / "own"
    monkeypatch.delenv("SHORTLIST_CACHE")
    assert data_home() == tmp_path / "xdg" / "shortlist"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_home() == Path.home() / ".cache" / "shortlist"


def test_local_copies(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    assert local_file("a/b.csv") is None
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path))
    assert local_file("a/b.csv") is None
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.csv").touch()
    assert local_file("a/b.csv") == tmp_path / "a" / "b.csv"
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path / "missing"))
    with pytest.raises(DataError, match="is not a folder"):
        local_file("a/b.csv")
