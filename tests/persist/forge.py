"""Files made on purpose: taken apart, changed, and put together with the hash that they then should have."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import resource
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from shortlist.persist import load_bytes, save
from shortlist.persist._container import MAGIC, read_container, write_container


def saved(model: Any, folder: Path) -> bytes:
    save(model, folder / "forge")
    return (folder / "forge").read_bytes()


def apart(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Header and blocks."""
    header, blocks = read_container(data)
    return header, [bytes(block) for block in blocks]


def together(header: dict[str, Any], blocks: list[bytes], folder: Path) -> bytes:
    """A file of them, its lengths and its hash as they should be."""
    write_container(folder / "forged", header, [memoryview(block) for block in blocks])
    return (folder / "forged").read_bytes()


def raw(header: bytes) -> bytes:
    """A file of a header as it is written here, without blocks; its hash is wrong."""
    return MAGIC + len(header).to_bytes(8, "little") + header + bytes(32)


def loaded(data: bytes) -> Any:
    return load_bytes(data, "forged", check_hash=False)


def node(model: Any) -> bytes:
    """A file of one node of JSON without blocks."""
    header = {"shortlist": "0", "scikit-learn": "0", "blocks": [], "model": model}
    return raw(json.dumps(header).encode())


def nodes(thing: Any) -> Iterator[dict[str, Any]]:
    """Every object within a header or schema, outer before inner."""
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


# What a value may become: what ends arrays, what ends recursion, what other code would take for a promise.
STRANGE: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        2**31,
        2**62,
        2**63,
        -(2**63),
        10**40,
        0.5,
        -0.0,
        1e308,
        "",
        "x",
        [],
        {},
        [[]],
    ),
    *("0", "1", "-1", "null", "[]", "<f8", "|O", "<U1", "|b1", "|V8", "<i8", "f8,f8", "(9999,)f8", "<M8[ns]", "F", "C"),
    *("__class__", "__dict__", "__array_interface__", "get_params", "predict", "decision_function", "coef_", "kernel"),
    *("sklearn.pipeline.Pipeline", "shortlist.estimators.top.TopPush", "builtins.eval", "os.system", "numpy.load"),
    *(
        "same",
        "array",
        "objects",
        "model",
        "scikit-learn",
        "list",
        "tuple",
        "set",
        "dict",
        "masked",
        "sparse",
        "record",
    ),
    *("NdArrayNode", "ObjectNode", "TreeNode", "FunctionNode", "MethodNode", "JsonNode", "DictNode", "TypeNode"),
    {"kind": "same", "to": 0},
    {"kind": "integer", "hex": "-0x1" + "0" * 60},
    {"kind": "type", "name": "object"},
    {"kind": "metric", "name": "roc_auc_score"},
]


def mutated(thing: Any, random: Random, times: int = 1) -> Any:
    """A copy with some values replaced, moved, taken away or doubled."""
    thing = copy.deepcopy(thing)
    for _ in range(times):
        places = [one for one in containers(thing) if len(one)]
        place = random.choice(places)
        key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
        what = random.randrange(6)
        if what == 0:
            del place[key]
        elif what == 1:
            other = random.choice(places)
            place[key] = copy.deepcopy(random.choice(list(other.values()) if isinstance(other, dict) else other))
        elif what == 2 and isinstance(place, list):
            place.insert(key, copy.deepcopy(place[key]))
        elif what == 3 and isinstance(place, dict):
            place[str(random.choice(STRANGE))] = place.pop(key)
        elif what == 4 and type(place[key]) is int:
            place[key] += random.choice([-1, 1, -place[key] - 1, 7, 2**20])
        else:
            place[key] = copy.deepcopy(random.choice(STRANGE))
    return thing


def containers(thing: Any) -> Iterator[Any]:
    if isinstance(thing, dict | list):
        yield thing
        for one in thing.values() if isinstance(thing, dict) else thing:
            yield from containers(one)


@contextlib.contextmanager
def bounded(more: int = 2**31) -> Iterator[None]:
    """No more than so many bytes of address space on top of what there is: a bomb becomes a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def attempt(data: bytes, X: Any) -> bool:
    """Load and use a file; only a ValueError may come of loading, and whatever Python can catch of using."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), bounded():
        warnings.simplefilter("ignore")
        try:
            model = loaded(data)
        except ValueError:
            return False
        for method in ("decision_function", "predict_proba", "predict", "apply", "transform", "rank"):
            with contextlib.suppress(Exception):
                getattr(model, method)(X)
        with contextlib.suppress(Exception):
            repr(model)
    return True


class Part:
    """The part of a file that skops wrote, open to change."""

    def __init__(self, data: bytes) -> None:
        self.header, self.blocks = apart(data)
        self.at = next(one["block"] for one in nodes(self.header) if one.get("kind") == "scikit-learn")
        with zipfile.ZipFile(io.BytesIO(self.blocks[self.at])) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.files["schema.json"])
        self.arrays = {
            name: np.load(io.BytesIO(content)) for name, content in self.files.items() if name.endswith(".npy")
        }

    def nodes(self, loader: str | None = None) -> list[dict[str, Any]]:
        return [one for one in nodes(self.schema) if "__loader__" in one and loader in (None, one["__loader__"])]

    def attribute(self, name: str, loader: str | None = None) -> dict[str, Any]:
        """The dictionary that holds an attribute of this name."""
        for one in self.nodes("DictNode"):
            if name in one["content"] and loader in (None, one["content"][name]["__loader__"]):
                return dict(one)["content"]  # type: ignore[no-any-return]
        raise AssertionError(name)

    def copy(self) -> Part:
        return copy.deepcopy(self)

    def data(self, folder: Path, compression: int = zipfile.ZIP_STORED, keep: bool = False) -> bytes:
        """The file again."""
        for name, array in self.arrays.items():
            if not keep:
                stream = io.BytesIO()
                np.save(stream, array, allow_pickle=True)
                self.files[name] = stream.getvalue()
        self.files["schema.json"] = json.dumps(self.schema).encode()
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression) as archive:
            for name, content in self.files.items():
                archive.writestr(name, content)
        self.blocks[self.at] = stream.getvalue()
        return together({k: v for k, v in self.header.items() if k != "blocks"}, self.blocks, folder)


def changed_block(blocks: list[bytes], random: Random) -> None:
    """Some bytes of a block become others, or it becomes another one."""
    at = random.randrange(len(blocks))
    if random.random() < 0.3:
        blocks[at] = random.choice(blocks)
    elif blocks[at]:
        changed = bytearray(blocks[at])
        for _ in range(random.randint(1, 8)):
            changed[random.randrange(len(changed))] = random.choice([0, 1, 2, 127, 128, 255])
        blocks[at] = bytes(changed)


def changed_array(part: Part, random: Random) -> None:
    """A number of an array becomes another one, or the array gets shorter."""
    at = random.choice(list(part.arrays))
    array = part.arrays[at] = part.arrays[at].copy()
    flat = array.reshape(-1)
    if array.dtype.names and flat.size:
        field = random.choice(array.dtype.names)
        flat[field][random.randrange(flat.size)] = random.choice([0, 1, 2, 3, 5, 100, 255])
    elif flat.size and array.dtype.kind in "iu":
        flat[random.randrange(flat.size)] = random.choice([0, 1, 2, 100])
    else:
        part.arrays[at] = array[:-1] if array.ndim else array
