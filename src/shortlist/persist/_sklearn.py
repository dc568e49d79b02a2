"""Parts that are scikit-learn's, by skops: audited before skops sees them, and their trees after.

skops writes a zip of a schema in JSON and arrays.  Its own audit says which types a file names; ours, which comes
first, allows fewer of them (`_trust`), and looks at what types do not say: that no entry of the zip is compressed, that
every array is as long as its header says and is read once, and what is handed to compiled code.
"""

from __future__ import annotations

import io
import json
import math
import warnings
import zipfile
from typing import Any

import numpy as np

from shortlist.persist._trees import check_models, check_random_state
from shortlist.persist._trust import SKLEARN

__all__ = ["check_random_state", "dump_part", "load_part"]

MISSING = (
    "this model has parts of scikit-learn's, which are saved and loaded with skops: pip install 'shortlist[files]'"
)

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
    "CachedNode": frozenset(),
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


def dump_part(thing: Any, where: str) -> bytes:
    """A thing of scikit-learn's as bytes; what could not be loaded again is refused here."""
    skops_io = _skops()
    try:
        data = bytes(skops_io.dumps(thing))
        _audit(data)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(
            f"{where} ({type(thing).__name__}) cannot be saved: {error}. Files hold models of Shortlist, and those of "
            "scikit-learn's whose numbers can be checked (linear models, trees, forests, boosting, preprocessing)"
        ) from error
    return data


def load_part(data: bytes) -> Any:
    """The thing again; a ValueError for anything that is not on the list or does not fit."""
    skops_io = _skops()
    _audit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # versions are compared for the file as a whole
        thing = skops_io.loads(data, trusted=sorted(SKLEARN.union(FUNCTIONS, ["numpy.dtype", "functools.partial"])))
    check_models(thing)
    return thing


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(MISSING) from error
    return skops.io


def _audit(data: bytes) -> None:
    """Refuse what skops should not be given."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        names = {entry.filename for entry in entries}
        if len(entries) > MOST_ENTRIES or len(names) != len(entries):
            raise ValueError("a part has too many entries, or one twice")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("a part has a compressed entry")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("the entries of a part are longer than it is")
        schema = json.loads(archive.read("schema.json"))
        _Audit(archive, names - {"schema.json"}).look(schema)


class _Audit:
    """A walk over skops' schema."""

    def __init__(self, archive: zipfile.ZipFile, names: set[str]) -> None:
        self._archive = archive
        self._untaken = names
        self._seen: set[int] = set()

    def look(self, node: Any, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise ValueError(f"a part is more than {DEEPEST} levels deep")
        if isinstance(node, list):
            for one in node:
                self.look(one, depth + 1)
        elif isinstance(node, dict):
            if "__loader__" in node:
                self._look_at(node)
            elif "__class__" in node or "__module__" in node:
                raise ValueError("a part names a class without saying what it is")
            for one in node.values():
                self.look(one, depth + 1)

    def _look_at(self, node: dict[str, Any]) -> None:
        loader, path = str(node["__loader__"]), f"{node.get('__module__')}.{node.get('__class__')}"
        if loader not in NODES:
            raise ValueError(f"a part has the node {loader[:40]!r} ({path[:80]})")
        number = node.get("__id__")
        if loader == "CachedNode":
            if number not in self._seen:  # it would hold itself
                raise ValueError("a part points to what did not come before")
            return
        allowed = SKLEARN if NODES[loader] is None else NODES[loader]
        if allowed is None or path not in allowed:
            raise ValueError(f"{path[:120]} is not on the list of trusted types")
        if "file" in node:
            self._array(node)
        if type(number) is int and number > 0:
            self._seen.add(number)
        if loader == "TreeNode":
            self._tree(node)

    def _array(self, node: dict[str, Any]) -> None:
        name, number = str(node["file"]), node.get("__id__")
        if name == f"{number}.npy" and number in self._seen:
            return  # skops keeps what has a number, and reads it once
        own = type(number) is int and number > 0 and name == f"{number}.npy"
        if not own or name not in self._untaken or node.get("type") != "numpy":
            raise ValueError("a part takes an array that is not there, or was taken before")
        self._untaken.discard(name)
        with self._archive.open(name) as file:
            shape, _, dtype = _npy_header(file)
            rest = self._archive.getinfo(name).file_size - file.tell()
        if dtype.hasobject or dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != rest:
            raise ValueError(f"an array of a part does not fit its {rest} bytes")
        if any(length > 2**40 for length in shape):
            raise ValueError(f"an array of a part has the shape {shape}")

    def _tree(self, node: dict[str, Any]) -> None:
        """A tree's constructor reads as many numbers of classes as it is told that there are outputs."""
        n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        if n_classes["__loader__"] == "CachedNode" or "file" not in n_classes:
            raise ValueError("a tree of a part has no list of classes of its own")
        array = np.load(io.BytesIO(self._archive.read(n_classes["file"])), allow_pickle=False)
        outputs, features = json.loads(n_outputs["content"]), json.loads(n_features["content"])
        sound = type(outputs) is int and array.shape == (outputs,) and array.dtype == np.intp
        if not sound or type(features) is not int or not 0 < features < 2**31 or not 0 < outputs < 2**16:
            raise ValueError("a tree of a part does not fit its outputs")
        if array.min() < 1 or array.max() > 2**20:
            raise ValueError("a tree of a part has a wrong number of classes")


def _npy_header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file, max_header_size=4096)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file, max_header_size=4096)
    raise ValueError("an array of a part has an unknown version")
