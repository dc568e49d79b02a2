"""What skops is given, looked at before: the schema of a part node by node, and the arrays beside it.

skops finds a thing again by its number, so here all nodes of one number have to say the same.  Nothing is compressed,
every array is as long as its header says, and arrays and nodes are paid for each time that they occur: what a part
unfolds to stays within a small multiple of its size.  No attribute begins with two underscores, since NumPy believes
objects with an ``__array_interface__``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from typing import Any

import numpy as np

from shortlist.persist._container import check_objects
from shortlist.persist._trust import SKLEARN

__all__ = ["FUNCTIONS", "audit"]

# What each kind of skops' nodes may be; None: the list of scikit-learn's types.
PLAIN = ("str", "int", "float", "bool", "NoneType", "object")
NUMBERS = (
    *(f"numpy.{name}{bits}" for name in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("numpy.float16", "numpy.float32", "numpy.float64", "numpy.bool", "numpy.bool_", "numpy.str_", "numpy.object_"),
)
FUNCTIONS = (
    "sklearn.utils.validation.check_array",
    *(
        f"{module}.{name}"
        for module in ("numpy", "numpy._core._multiarray_umath")
        for name in ("abs", "absolute", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "square")
    ),
)
LOSSES = (
    *(f"sklearn._loss._loss.Cy{name}" for name in ("AbsoluteError", "ExponentialLoss", "HuberLoss", "PinballLoss")),
    *(
        f"sklearn._loss._loss.CyHalf{name}"
        for name in ("BinomialLoss", "GammaLoss", "MultinomialLoss", "PoissonLoss", "SquaredError", "TweedieLoss")
    ),
    *(
        f"sklearn.linear_model._sgd_fast.{name}"
        for name in ("EpsilonInsensitive", "Hinge", "ModifiedHuber", "SquaredEpsilonInsensitive", "SquaredHinge")
    ),
)
NODES: dict[str, frozenset[str] | None] = {
    "JsonNode": frozenset({"builtins.str"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "ListNode": frozenset({"builtins.list"}),
    "SetNode": frozenset({"builtins.set"}),
    "TupleNode": frozenset({"builtins.tuple", "sklearn.gaussian_process.kernels.Hyperparameter"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TypeNode": frozenset(NUMBERS) | {f"builtins.{name}" for name in PLAIN},
    "DTypeNode": frozenset({"numpy.dtype"}),
    "NdArrayNode": frozenset(NUMBERS) | {"numpy.ndarray"},
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "FunctionNode": frozenset(FUNCTIONS),
    "PartialNode": frozenset({"functools.partial"}),  # of one of the functions
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "LossNode": frozenset(LOSSES),
    "ObjectNode": None,
}
DEEPEST = 150
MOST_ENTRIES = 200_000
PROTOCOLS = (2,)  # of skops' schema; older ones have readers of their own, which were not looked at
# What a node costs while skops reads it, in bytes, and how many times its own size a part may cost.
NODE_BYTES = 1200
COSTLY = {"FunctionNode": 3600, "ObjectNode": 3000}
MOST_TIMES = 20
ALWAYS_ALLOWED = 2**20
HEADER = re.compile(rb"[A-Za-z0-9_'<>|=,:()\[\]{}. \n]*")


def audit(data: bytes) -> set[str]:
    """Refuse what skops should not be given; the dotted names that a part uses."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        names = {entry.filename for entry in entries}
        if len(entries) > MOST_ENTRIES or len(names) != len(entries):
            raise ValueError("a part has too many entries, or one twice")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("a part has a compressed entry")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("the entries of a part are longer than it is")
        text = archive.read("schema.json")
        check_objects(text, len(data), "the schema of a part")
        schema = json.loads(text)
        if type(schema) is not dict or schema.get("protocol") not in PROTOCOLS:
            raise ValueError("a part was written by a version of skops whose files are not known")
        walk = _Audit(archive, names - {"schema.json"}, MOST_TIMES * len(data) + ALWAYS_ALLOWED)
        walk.look(schema)
        return walk.paths


class _Audit:
    """A walk over skops' schema."""

    def __init__(self, archive: zipfile.ZipFile, names: set[str], budget: int) -> None:
        self._archive = archive
        self._names = names
        self._budget = budget
        self._first: dict[int, dict[str, Any]] = {}
        self._sizes: dict[str, int] = {}
        self._hashes: dict[str, bytes] = {}
        self.paths: set[str] = set()

    def look(self, node: Any, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise ValueError(f"a part is more than {DEEPEST} levels deep")
        if isinstance(node, list):
            for one in node:
                self.look(one, depth + 1)
        elif isinstance(node, dict):
            if "__loader__" in node:
                self._look_at(node)
            elif any(name.startswith("__") for name in node):
                raise ValueError("a part has an attribute that begins with two underscores")
            for one in node.values():
                self.look(one, depth + 1)

    def _pay(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            raise ValueError("a part would unfold to many times its size")

    def _look_at(self, node: dict[str, Any]) -> None:
        loader, path = str(node["__loader__"]), f"{node.get('__module__')}.{node.get('__class__')}"
        if loader not in NODES:
            raise ValueError(f"a part has the node {loader[:40]!r} ({path[:80]})")
        allowed = SKLEARN if NODES[loader] is None else NODES[loader]
        if allowed is None or path not in allowed:
            raise ValueError(f"{path[:120]} is not on the list of trusted types")
        number = node.get("__id__")
        if type(number) is not int or number <= 0:
            raise ValueError(f"a part has a node without a number ({path})")
        first = self._first.setdefault(number, node)
        self._pay(COSTLY.get(loader, NODE_BYTES))
        if loader == "NdArrayNode" and node.get("type") == "numpy":
            self._array(node, path)
        if first is not node:
            if not self._alike(first, node):
                raise ValueError("a part has two things of one number")
            return
        self.paths.add(path)
        check = getattr(self, f"_check_{loader}", None)
        if check is not None:
            check(node)

    def _alike(self, first: Any, second: Any) -> bool:
        """Whether two nodes say the same, but for the numbers of what is in them, which skops makes anew."""
        if type(first) is not type(second):
            return False
        if isinstance(first, list):
            return len(first) == len(second) and all(map(self._alike, first, second))
        if not isinstance(first, dict):
            return bool(first == second)
        if first.keys() != second.keys() or not isinstance(first.get("file"), type(second.get("file"))):
            return False
        names = first.get("file"), second.get("file")
        if names[0] != names[1] and self._hash(str(names[0])) != self._hash(str(names[1])):
            return False
        return all(self._alike(first[key], second[key]) for key in first if key not in ("__id__", "file"))

    def _hash(self, name: str) -> bytes:
        if name not in self._hashes:
            self._hashes[name] = hashlib.sha256(self._archive.read(name)).digest()
        return self._hashes[name]

    def _array(self, node: dict[str, Any], path: str) -> None:
        name = node.get("file")
        if name != f"{node['__id__']}.npy" or name not in self._names:
            raise ValueError("a part takes an array that is not there")
        if name not in self._sizes:
            self._sizes[name] = self._size(name, path)
        self._pay(2 * self._sizes[name])

    def _size(self, name: str, path: str) -> int:
        """Bytes of an array, once it is known to be sound."""
        data = self._archive.read(name)
        file = io.BytesIO(data)
        shape, _, dtype = _npy_header(file)
        rest = len(data) - file.tell()
        if dtype.hasobject or dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != rest:
            raise ValueError(f"an array of a part does not fit its {rest} bytes")
        if any(length > 2**40 for length in shape) or (path != "numpy.ndarray" and math.prod(shape) != 1):
            raise ValueError(f"an array of a part has the shape {shape}")
        if dtype.names and any(dtype[field].kind not in "iuf" or dtype[field].shape for field in dtype.names):
            raise ValueError(f"an array of a part has the type {dtype}")
        check_values(memoryview(data)[file.tell() :], dtype)
        return len(data)

    def _check_NdArrayNode(self, node: dict[str, Any]) -> None:
        """Of objects: one row of anything, or a table of text, numbers and trees, which NumPy cannot unfold."""
        if node.get("type") == "numpy":
            return
        shape = [json.loads(_want(one, "JsonNode")["content"]) for one in _want(node["shape"], "TupleNode")["content"]]
        rows = node["content"]
        if node.get("type") != "json" or len(rows) != shape[0] or len(shape) > 2:
            raise ValueError(f"an array of objects of a part has the shape {shape}")
        for row in rows if len(shape) == 2 else ():
            items = _want(row, "ListNode")["content"]
            trees = all(
                one["__loader__"] == "JsonNode" or one["__module__"] == "sklearn.tree._classes" for one in items
            )
            if len(items) != shape[1] or not trees:
                raise ValueError("a table of objects of a part holds what it should not")

    def _check_JsonNode(self, node: dict[str, Any]) -> None:
        if type(node["content"]) is not str:
            raise ValueError("a part has a number that is no JSON")

    def _check_DictNode(self, node: dict[str, Any]) -> None:
        kinds = _want(node["key_types"], "ListNode")["content"]
        for kind in kinds:
            _want(kind, "TypeNode")
        if type(node["content"]) is not dict or len(kinds) != len(node["content"]):
            raise ValueError("a part has a dictionary whose keys do not fit")

    def _check_SetNode(self, node: dict[str, Any]) -> None:
        for one in node["content"]:
            _want(one, "JsonNode")

    def _check_MaskedArrayNode(self, node: dict[str, Any]) -> None:
        for part in ("data", "mask"):
            self._want_array(node["content"][part])

    def _check_DTypeNode(self, node: dict[str, Any]) -> None:
        self._want_array(node["content"])

    def _check_PartialNode(self, node: dict[str, Any]) -> None:
        _want(node["content"]["func"], "FunctionNode")

    def _check_ObjectNode(self, node: dict[str, Any]) -> None:
        if node.get("content") is not None and node["content"]["__loader__"] != "JsonNode":
            _want(node["content"], "DictNode")

    def _check_RandomStateNode(self, node: dict[str, Any]) -> None:
        self._plain(node["content"])

    def _check_RandomGeneratorNode(self, node: dict[str, Any]) -> None:
        self._plain(node["content"]["bit_generator"])
        seed = _want(node["content"]["seed_seq"], "DictNode")["content"]
        if _want(seed["pool_size"], "JsonNode")["content"] != "4":
            raise ValueError("a generator of random numbers has a pool of another size than 4")

    def _check_LossNode(self, node: dict[str, Any]) -> None:
        for one in _want(node["__reduce__"]["args"], "TupleNode")["content"]:
            _want(one, "JsonNode")

    def _check_TreeNode(self, node: dict[str, Any]) -> None:
        """A tree's constructor reads as many numbers of classes as it is told that there are outputs."""
        n_features, n_classes, n_outputs = _want(node["__reduce__"]["args"], "TupleNode")["content"]
        self._want_array(n_classes)
        outputs, features = (json.loads(_want(one, "JsonNode")["content"]) for one in (n_outputs, n_features))
        self._array(n_classes, "numpy.ndarray")
        array = np.load(io.BytesIO(self._archive.read(n_classes["file"])), allow_pickle=False)
        sound = type(outputs) is int and array.shape == (outputs,) and array.dtype == np.intp
        if not sound or type(features) is not int or not 0 < features < 2**31 or not 0 < outputs < 2**16:
            raise ValueError("a tree of a part does not fit its outputs")
        if array.min() < 1 or array.max() > 2**20:
            raise ValueError("a tree of a part has a wrong number of classes")
        self._plain(node["content"])

    def _plain(self, node: Any) -> None:
        """Numbers, text and arrays under names."""
        for one in _want(node, "DictNode")["content"].values():
            if one["__loader__"] == "DictNode":
                self._plain(one)
            elif one["__loader__"] != "JsonNode":
                self._want_array(one)

    def _want_array(self, node: Any) -> None:
        path = f"{node['__module__']}.{node['__class__']}"
        if _want(node, "NdArrayNode").get("type") != "numpy" or path != "numpy.ndarray":
            raise ValueError("a part has something else where an array should be")


def _want(node: Any, loader: str) -> dict[str, Any]:
    if type(node) is not dict or node.get("__loader__") != loader:
        raise ValueError(f"a part has something else where a {loader} should be")
    return node


def check_values(data: memoryview, dtype: Any) -> None:
    """Truth values other than 0 and 1, and text of no characters, mislead NumPy's loops."""
    if dtype.kind == "b" and np.frombuffer(data, dtype=np.uint8).max(initial=0) > 1:
        raise ValueError("an array of truth values holds other bytes than 0 and 1")
    if dtype.kind == "U" and np.frombuffer(data, dtype=dtype.newbyteorder("=").str[0] + "u4").max(initial=0) > 0x10FFFF:
        raise ValueError("an array of text holds what is no character")


def _npy_header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("an array of a part has an unknown version")
    began = file.tell()
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    # NumPy reads it as a literal of Python: no signs to nest, and not much of it.
    if length > 4096 or not HEADER.fullmatch(file.read(length)):
        raise ValueError("an array of a part has a strange header")
    file.seek(began)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, Any] = read(file, max_header_size=4096)
    return header
