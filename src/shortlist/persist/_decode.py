"""Nodes and blocks as a model again, with nothing believed.

Each block is taken once, so that a small file cannot ask for one array a million times; what is shared is pointed back
to.  Only arrays and models are shared: lists and tuples are not, which would unfold wherever they are compared or
turned into arrays.  No method of a file's choosing is called: classes come from ``_trust``, are made empty and given
their attributes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn import metrics

from shortlist.persist._audit import check_values
from shortlist.persist._encode import ARRAY_KINDS, BIT_GENERATORS, METRIC
from shortlist.persist._sklearn import load_part
from shortlist.persist._trees import check_random_state
from shortlist.persist._trust import our_class, sklearn_class

__all__ = ["Decoder"]

DEEPEST = 100
LONGEST_NAME = 200
SHARED = ("array", "sparse", "model", "scikit-learn")


class Decoder:
    """Turns the nodes of one file into things."""

    def __init__(self, blocks: list[memoryview]) -> None:
        self._blocks: list[memoryview | None] = list(blocks)
        self._shared: dict[int, Any] = {}
        self._depth = 0

    def thing(self, node: Any) -> Any:
        """What a node stands for."""
        if node is None or type(node) in (bool, int, float, str):
            return node
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"its header is more than {DEEPEST} levels deep")
        try:
            if type(node) is list:
                return [self.thing(item) for item in node]
            reader = self._READERS.get(node.get("kind"))
            if reader is None:
                raise ValueError(f"its header has a node of the unknown kind {str(node.get('kind'))[:40]!r}")
            made = reader(self, node)
        finally:
            self._depth -= 1
        if "id" in node:
            number = _whole(node["id"])
            if node["kind"] not in SHARED:
                raise ValueError(f"a node of the kind {node['kind']} has a number, and cannot be shared")
            if number in self._shared:
                raise ValueError(f"two nodes of its header have the number {number}")
            self._shared[number] = made
        return made

    def finish(self) -> None:
        """Every block has to have been taken."""
        if any(block is not None for block in self._blocks):
            raise ValueError("it holds blocks that no node takes")

    def _take(self, number: Any) -> memoryview:
        number = _whole(number)
        block: memoryview | None = self._blocks[number] if number < len(self._blocks) else None
        if block is None:
            raise ValueError(f"its header takes block {number}, which is not there or was taken before")
        self._blocks[number] = None
        return block

    def _same(self, node: dict[str, Any]) -> Any:
        number = _whole(node["to"])
        if number not in self._shared:
            raise ValueError(f"its header points back to number {number}, which did not come before")
        return self._shared[number]

    def _list(self, node: Any) -> list[Any]:
        made = self.thing(node)
        if not isinstance(made, list):
            raise ValueError("its header has something else where a list should be")
        return made

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        return dict(zip(self._distinct(node["keys"]), self._list(node["values"]), strict=True))

    def _distinct(self, node: Any) -> list[Any]:
        items = self._list(node)
        for item in items:
            _check_hashable(item)
        return items

    def _numbers(self, node: dict[str, Any]) -> Any:
        kind = np.dtype("<f8" if node["kind"] == "floats" else "<i8")
        return _sequence(np.frombuffer(self._take(node["block"]), dtype=kind).tolist(), node)

    def _strings(self, node: dict[str, Any]) -> Any:
        ends = np.frombuffer(self._take(node["ends"]), dtype="<i8")
        text = bytes(self._take(node["text"]))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])
        if (np.diff(starts) < 0).any() or starts[-1] != len(text):
            raise ValueError("a list of text does not fit its bytes")
        items = [
            text[first:last].decode("utf-8", "surrogatepass")
            for first, last in zip(starts[:-1].tolist(), ends.tolist(), strict=True)
        ]
        return _sequence(items, node)

    def _scalar(self, node: dict[str, Any]) -> Any:
        dtype, data = _dtype(node["dtype"]), bytes.fromhex(node["hex"])
        if len(data) != dtype.itemsize:
            raise ValueError(f"a number of the type {dtype} does not have {len(data)} bytes")
        check_values(memoryview(data), dtype)
        return np.frombuffer(data, dtype=dtype)[0]

    def _array(self, node: dict[str, Any]) -> Any:
        dtype, shape = _dtype(node["dtype"]), _shape(node["shape"])
        block = self._take(node["block"])
        n_bytes = dtype.itemsize
        for length in shape:
            n_bytes *= length
        if n_bytes != block.nbytes or (0 in shape and max(shape) > 2**40):
            raise ValueError(f"an array of shape {shape} and type {dtype} does not fit its {block.nbytes} bytes")
        if dtype.itemsize == 0:
            raise ValueError(f"the type {dtype} of an array has no bytes")
        check_values(block, dtype)
        flat = np.frombuffer(block, dtype=dtype).copy()
        return flat.reshape(shape[::-1]).T if node["order"] == "F" else flat.reshape(shape)

    def _objects(self, node: dict[str, Any]) -> Any:
        items = self._list(node["items"])
        array = np.empty(len(items), dtype=object)
        for at, item in enumerate(items):
            array[at] = item
        return array.reshape(_shape(node["shape"]))

    def _masked(self, node: dict[str, Any]) -> Any:
        data, mask = self.thing(node["data"]), self.thing(node["mask"])
        if type(data) is not np.ndarray or type(mask) is not np.ndarray or data.shape != mask.shape:
            raise ValueError("a masked array is not made of two arrays of one shape")
        return np.ma.MaskedArray(data, mask)

    def _sparse(self, node: dict[str, Any]) -> Any:
        kinds = {
            kind.__name__: kind for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
        }
        kind = kinds[node["of"]]
        shape = _shape(node["shape"])
        parts = [self._array(node[name]) for name in ("data", "indices", "indptr")]
        if any(part.ndim != 1 for part in parts) or any(part.dtype.kind != "i" for part in parts[1:]):
            raise ValueError("a sparse matrix is not made of the arrays that it should be")
        if len(shape) != 2 or max(shape) >= 2**62:
            raise ValueError(f"a sparse matrix has the shape {shape}")
        matrix = kind(tuple(parts), shape=shape)
        matrix.check_format(full_check=True)
        # What compiled code walks through: row pointers that do not fall, and columns within the width.
        major, minor = shape if kind.__name__.startswith("csr") else shape[::-1]
        indptr, indices = matrix.indptr, matrix.indices
        if len(indptr) != major + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] > len(indices):
            raise ValueError("the row pointers of a sparse matrix are wrong")
        if len(indices) and (indices.min() < 0 or indices.max() >= minor):
            raise ValueError("a sparse matrix has entries outside of its shape")
        return matrix

    def _random(self, node: dict[str, Any]) -> Any:
        state = self._dict(node["state"])
        _check_plain(state)
        name = state.get("bit_generator")
        if node["kind"] == "RandomState":
            legacy = np.random.RandomState()
            if name != "MT19937":
                raise ValueError(f"a RandomState cannot be made of {name!r}")
            legacy.set_state(state)
            return check_random_state(legacy)
        if name not in BIT_GENERATORS:
            raise ValueError(f"{str(name)[:40]!r} is no generator of random bits")
        bits = getattr(np.random, name)(0)
        bits.state = state
        return check_random_state(np.random.Generator(bits))

    def _record(self, node: dict[str, Any]) -> Any:
        kind = our_class(_name(node["of"]))
        items = self._list(node["items"])
        if not issubclass(kind, tuple) or len(items) != len(getattr(kind, "_fields", ())):
            raise ValueError(f"{kind.__name__} is not made of {len(items)} items")
        return tuple.__new__(kind, items)

    def _model(self, node: dict[str, Any]) -> Any:
        path = _name(node["of"])
        kind = sklearn_class(path) if path.startswith("sklearn.") else our_class(path)
        if issubclass(kind, tuple):
            raise ValueError(f"{path} is a record")
        state = node["state"]
        if type(state) is not dict:
            raise ValueError(f"the state of {path} is not an object")
        made = kind.__new__(kind)
        for name, item in state.items():
            if not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"{path} has an attribute called {name[:40]!r}")
            value = self.thing(item)
            if hasattr(made, "__dict__"):
                made.__dict__[name] = value
            else:
                object.__setattr__(made, name, value)
        return made

    _READERS: ClassVar[dict[Any, Callable[[Any, dict[str, Any]], Any]]] = {
        "same": _same,
        "dict": _dict,
        "list": lambda self, node: self._list(node["items"]),
        "tuple": lambda self, node: tuple(self._list(node["items"])),
        "set": lambda self, node: set(self._distinct(node["items"])),
        "frozenset": lambda self, node: frozenset(self._distinct(node["items"])),
        "slice": lambda self, node: slice(*self._list(node["items"])),
        "range": lambda self, node: range(*self._list(node["items"])),
        "floats": _numbers,
        "integers": _numbers,
        "strings": _strings,
        "bytes": lambda self, node: bytes(self._take(node["block"])),
        "integer": lambda self, node: int(_name(node["hex"]), 16),
        "float": lambda self, node: {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[node["text"]],
        "date": lambda self, node: datetime.date.fromisoformat(node["text"]),
        "datetime": lambda self, node: datetime.datetime.fromisoformat(node["text"]),
        "dtype": lambda self, node: _dtype(node["dtype"]),
        "type": lambda self, node: _type(node["name"]),
        "metric": lambda self, node: _metric(node["name"]),
        "scalar": _scalar,
        "array": _array,
        "objects": _objects,
        "masked": _masked,
        "sparse": _sparse,
        "RandomState": _random,
        "Generator": _random,
        "record": _record,
        "model": _model,
        "scikit-learn": lambda self, node: load_part(bytes(self._take(node["block"]))),
    }


def _whole(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"its header has {str(number)[:40]!r} where a number should be")
    return number


def _name(text: Any) -> str:
    if type(text) is not str or len(text) > LONGEST_NAME:
        raise ValueError("its header has no name where one should be")
    return text


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is not list or len(shape) > 8:
        raise ValueError("an array of its header has no shape")
    return tuple(_whole(length) for length in shape)


def _dtype(text: Any) -> Any:
    dtype = np.dtype(_name(text))
    wide = dtype.kind in "fc" and dtype.itemsize > {"f": 8, "c": 16}[dtype.kind]  # differs from machine to machine
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject or dtype.shape or dtype.names or wide or dtype.str != text:
        raise ValueError(f"{text!r} is no type of number or text")
    return dtype


def _type(name: Any) -> type:
    plain = {"bool": bool, "int": int, "float": float, "str": str, "object": object}
    if name in plain:
        return plain[name]
    found = getattr(np, _name(name).removeprefix("numpy."), None)
    if not (name.startswith("numpy.") and isinstance(found, type) and issubclass(found, np.generic)):
        raise ValueError(f"{name!r} is no type of number or text")
    return found


def _metric(name: Any) -> Any:
    if (
        not METRIC.fullmatch(_name(name))
        or name not in metrics.__all__
        or not isinstance(getattr(metrics, name), FunctionType)
    ):
        raise ValueError(f"{str(name)[:40]!r} is no metric of scikit-learn")
    return getattr(metrics, name)


def _check_hashable(item: Any) -> None:
    """Text, numbers, dates, and tuples and frozen sets of them."""
    if isinstance(item, tuple | frozenset):
        for one in item:
            _check_hashable(one)
    elif not (item is None or isinstance(item, str | bytes | int | float | np.generic | datetime.date | type)):
        raise ValueError(f"a key or an item of a set is a {type(item).__name__}")


def _check_plain(state: Any) -> None:
    """The state of a generator of random numbers: numbers, names and short arrays."""
    for one in state.values():
        if type(one) is dict:
            _check_plain(one)
        elif not isinstance(one, str | int | float) and not (type(one) is np.ndarray and one.size <= 1000):
            raise ValueError("the state of a generator of random numbers holds something else")


def _sequence(items: list[Any], node: dict[str, Any]) -> Any:
    return tuple(items) if node["as"] == "tuple" else items
