"""The file itself: a header in JSON and blocks of bytes, every size checked before anything is taken from it.

::

    8 bytes    the magic word, with the version of the layout as its last byte
    8 bytes    length of the header, little-endian
    header     JSON, UTF-8: {"shortlist": ..., "scikit-learn": ..., "blocks": [length, ...], "model": ...}
    blocks     each begins at a multiple of 64 bytes
    32 bytes   SHA-256 of all before it

Nothing is compressed, so that nothing can unfold: what a block holds is as long as the block.  The hash tells a damaged
file from a sound one; it is no signature, and whoever makes a file can make its hash.  A header may cost a small
multiple of the file in memory: its brackets and commas, each of which may become an object, are counted before it is
read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["FORMAT_VERSION", "check_objects", "read_container", "whole_file", "write_container"]

FORMAT_VERSION = 1
MAGIC = b"SHRTLST" + bytes([FORMAT_VERSION])
ALIGNMENT = 64
HASH_BYTES = 32

# What an object of the header may cost, and how many times the file's size all of them together.
OBJECT_BYTES = 150
MOST_TIMES = 16
ALWAYS_ALLOWED = 2**20


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when all of it is written, or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as any new file; mkstemp's are for their owner alone
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_container(path: Path, header: dict[str, Any], blocks: Sequence[memoryview]) -> None:
    """Header and blocks into a file, whole or not at all."""
    lengths = [block.nbytes for block in blocks]
    text = json.dumps({**header, "blocks": lengths}, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    written = text.encode("ascii")
    digest = hashlib.sha256()
    with whole_file(path) as file:

        def put(data: bytes | memoryview) -> None:
            file.write(data)
            digest.update(data)

        put(MAGIC + len(written).to_bytes(8, "little") + written)
        at = len(MAGIC) + 8 + len(written)
        for block in blocks:
            put(b"\0" * (-at % ALIGNMENT))
            put(block)
            at += -at % ALIGNMENT + block.nbytes
        file.write(digest.digest())


def read_container(data: bytes, *, check_hash: bool = True) -> tuple[dict[str, Any], list[memoryview]]:
    """Header and blocks of a file's bytes; a ValueError says what is wrong with them."""
    header = _header(data)
    lengths = header.get("blocks")
    if not isinstance(lengths, list) or not all(type(length) is int and length >= 0 for length in lengths):
        raise ValueError("its header does not list the lengths of its blocks")
    blocks, view = [], memoryview(data)
    at, end = len(MAGIC) + 8 + int.from_bytes(data[8:16], "little"), len(data) - HASH_BYTES
    for length in lengths:
        at += -at % ALIGNMENT
        if at + length > end:
            raise ValueError("it is truncated: its header lists more bytes than it holds")
        blocks.append(view[at : at + length])
        at += length
    if at != end:
        raise ValueError("it holds bytes that its header does not list")
    if check_hash and hashlib.sha256(view[:end]).digest() != view[end:]:
        raise ValueError("it is damaged: its bytes do not have the hash that it ends with")
    return header, blocks


def _header(data: bytes) -> dict[str, Any]:
    if data[:7] != MAGIC[:7]:
        raise ValueError("it was not written by shortlist.save")
    if len(data) < 16 + HASH_BYTES:
        raise ValueError("it is truncated")
    if data[7] != FORMAT_VERSION:
        raise ValueError(
            f"it has version {data[7]} of the format, and this version of Shortlist reads versions up to "
            f"{FORMAT_VERSION}: a newer Shortlist reads it"
        )
    length = int.from_bytes(data[8:16], "little")
    if 16 + length + HASH_BYTES > len(data):
        raise ValueError("it is truncated, or the length of its header is wrong")
    text = data[16 : 16 + length]
    check_objects(text, len(data), "its header")
    try:
        header = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its header is not the JSON that it should be ({error})") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header


def check_objects(text: bytes, size: int, what: str) -> None:
    """JSON whose objects would not fit into a small multiple of a size is refused unread."""
    objects = sum(text.count(sign) for sign in (b"[", b"{", b",", b":"))
    if objects * OBJECT_BYTES > MOST_TIMES * size + ALWAYS_ALLOWED:
        raise ValueError(f"{what} holds {objects} objects, too many for {size} bytes")


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")
