"""A model as nodes of JSON and blocks of bytes.

Numbers, text, lists, None and True are themselves; anything else is an object with a ``kind``.  Arrays and long lists
of numbers or text go into blocks.  A model of ours is its class's name and its attributes.  What is scikit-learn's
goes through skops, whole; only where it holds one of ours (a pipeline, a calibrated model) it is opened like ours.
"""

from __future__ import annotations

import datetime
import math
import re
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics

from shortlist.persist._sklearn import dump_part
from shortlist.persist._trust import OPENED, SKLEARN, is_ours, path_of

__all__ = ["Encoder"]

PACKED_FROM = 32
ARRAY_KINDS = "biufcUSmM"
METRIC = re.compile(r"[a-z0-9_]{1,60}_(score|error|loss|deviance|coef)")
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
# Records, and numbers whose size differs from machine to machine.
UNKNOWN = (np.void, np.longdouble, np.clongdouble)
SPARSE = ("csr", "csc")


class Encoder:
    """Collects blocks while it turns a model into nodes."""

    def __init__(self) -> None:
        self.blocks: list[memoryview] = []
        # Things that a later node may point back to, by identity; kept alive, so that no other takes their place.
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        self._open: set[int] = set()

    def node(self, thing: Any, where: str) -> Any:
        """The node of a thing; ``where`` names it in errors."""
        if thing is None or type(thing) in (bool, str):
            return thing
        if type(thing) is int:
            return thing if abs(thing) < 2**63 else {"kind": "integer", "hex": hex(thing)}
        if type(thing) is float:
            return thing if math.isfinite(thing) else {"kind": "float", "text": repr(thing)}
        if id(thing) in self._numbers:
            return {"kind": "same", "to": self._numbers[id(thing)]}
        if id(thing) in self._open:
            raise ValueError(f"{where} refers back to what holds it; such a model cannot be saved")
        self._open.add(id(thing))
        try:
            node = self._compound(thing, where)
        finally:
            self._open.discard(id(thing))
        if node.pop("shared", False):
            node["id"] = self._numbers[id(thing)] = len(self._numbers)
            self._alive.append(thing)
        # A list is its own node, but for those that had to be marked.
        return node["items"] if node["kind"] == "list" else node

    def _compound(self, thing: Any, where: str) -> dict[str, Any]:
        kind = type(thing)
        if kind in (list, tuple):
            return self._sequence(thing, kind.__name__, where)
        if kind is dict:
            return {
                "kind": "dict",
                "keys": self._items(list(thing), f"a key of {where}"),
                "values": self._values(thing, where),
            }
        if kind in (set, frozenset):
            return {"kind": kind.__name__, "items": self._items(sorted(thing, key=repr), where)}
        if kind is bytes:
            return {"kind": "bytes", "block": self._block(np.frombuffer(thing, dtype=np.uint8))}
        if isinstance(thing, np.generic) and kind not in UNKNOWN and np.dtype(kind).kind in ARRAY_KINDS:
            array = np.asarray(thing)
            return {"kind": "scalar", "dtype": array.dtype.str, "hex": array.tobytes().hex()}
        if kind is np.ma.MaskedArray:
            return {
                "kind": "masked",
                "data": self.node(np.asarray(thing.data), where),
                "mask": self.node(np.ma.getmaskarray(thing), where),
            }
        if kind is np.ndarray:
            # Arrays of objects hold small things, such as the names of columns; they are written where they stand.
            return {**self._array(thing, where), "shared": thing.dtype != object}
        if sparse.issparse(thing) and getattr(thing, "format", None) in SPARSE:
            return self._sparse(thing, where)
        if kind is slice:
            return {"kind": "slice", "items": self._items([thing.start, thing.stop, thing.step], where)}
        if kind is range:
            return {"kind": "range", "items": [thing.start, thing.stop, thing.step]}
        if kind in (datetime.date, datetime.datetime):
            return {"kind": kind.__name__, "text": thing.isoformat()}
        if isinstance(thing, np.dtype) and thing.kind in ARRAY_KINDS:
            return {"kind": "dtype", "dtype": thing.str}
        if isinstance(thing, type):
            return self._type(thing, where)
        if kind is np.random.RandomState:
            return {"kind": "RandomState", "state": self.node(thing.get_state(legacy=False), where)}
        if kind is np.random.Generator and type(thing.bit_generator).__name__ in BIT_GENERATORS:
            return {"kind": "Generator", "state": self.node(thing.bit_generator.state, where)}
        return self._object(thing, where)

    def _sequence(self, items: Any, name: str, where: str) -> dict[str, Any]:
        if len(items) >= PACKED_FROM:
            kinds = set(map(type, items))
            if kinds == {float}:
                return {"kind": "floats", "as": name, "block": self._block(np.array(items))}
            if kinds == {int} and max(map(abs, items)) < 2**63:
                return {"kind": "integers", "as": name, "block": self._block(np.array(items, dtype=np.int64))}
            if kinds == {str}:
                return {"kind": "strings", "as": name, **self._strings(items)}
        return {"kind": name, "items": [self.node(item, f"{where}[{at}]") for at, item in enumerate(items)]}

    def _items(self, items: list[Any], where: str) -> Any:
        node = self._sequence(items, "list", where)
        return node["items"] if node["kind"] == "list" else node

    def _values(self, thing: dict[Any, Any], where: str) -> Any:
        if len(thing) >= PACKED_FROM:
            return self._items(list(thing.values()), f"a value of {where}")
        return [self.node(value, f"{where}[{key!r}]") for key, value in thing.items()]

    def _strings(self, items: list[str]) -> dict[str, int]:
        written = [item.encode("utf-8", "surrogatepass") for item in items]
        ends = np.cumsum([len(item) for item in written], dtype=np.int64)
        text = np.frombuffer(b"".join(written), dtype=np.uint8)
        return {"ends": self._block(ends), "text": self._block(text)}

    def _array(self, array: np.ndarray[Any, Any], where: str) -> dict[str, Any]:
        shape = list(array.shape)
        if array.dtype == object:
            items = self._items(array.ravel().tolist(), where)
            return {"kind": "objects", "shape": shape, "items": items}
        if array.dtype.kind not in ARRAY_KINDS or array.dtype.names or array.dtype.type in UNKNOWN:
            raise TypeError(f"{where} is an array of {array.dtype}, which cannot be saved")
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        block = self._block(np.ascontiguousarray(array.T if fortran else array))
        order = "F" if fortran else "C"
        return {"kind": "array", "dtype": array.dtype.str, "shape": shape, "order": order, "block": block}

    def _sparse(self, matrix: Any, where: str) -> dict[str, Any]:
        name = f"{matrix.format}_{'array' if isinstance(matrix, sparse.sparray) else 'matrix'}"
        parts = {part: self._array(np.asarray(getattr(matrix, part)), where) for part in ("data", "indices", "indptr")}
        return {"kind": "sparse", "of": name, "shape": list(matrix.shape), **parts, "shared": True}

    def _type(self, kind: type, where: str) -> dict[str, Any]:
        if issubclass(kind, np.generic) and getattr(np, kind.__name__, None) is kind:
            return {"kind": "type", "name": f"numpy.{kind.__name__}"}
        if kind in (bool, int, float, str, object):
            return {"kind": "type", "name": kind.__name__}
        raise TypeError(f"{where} is the class {path_of(kind)}, which cannot be saved")

    def _object(self, thing: Any, where: str) -> dict[str, Any]:
        path = path_of(type(thing))
        if is_ours(thing):
            if isinstance(thing, tuple):
                return {"kind": "record", "of": path, "items": self._items(list(thing), where)}
            return {"kind": "model", "of": path, "state": self._state(thing, where), "shared": True}
        name = getattr(thing, "__qualname__", repr(thing))
        if isinstance(thing, FunctionType) and METRIC.fullmatch(name) and getattr(metrics, name, None) is thing:
            return {"kind": "metric", "name": name}
        if callable(thing) and not hasattr(thing, "get_params") and path not in SKLEARN:
            raise TypeError(
                f"{where} is the function {name}, and no file of Shortlist holds code. Set it to None (a callback), "
                "name a kernel ('rbf', ...) or pass kernel='precomputed', then save again"
            )
        if not path.startswith("sklearn."):
            raise TypeError(
                f"{where} is a {path}, which cannot be saved: files hold models of Shortlist and scikit-learn"
            )
        if path in OPENED or (path in SKLEARN and holds_ours(thing)):
            return {"kind": "model", "of": path, "state": self._state(thing, where), "shared": True}
        return {"kind": "scikit-learn", "block": self._bytes(dump_part(thing, where)), "shared": True}

    def _state(self, thing: Any, where: str) -> dict[str, Any]:
        state = vars(thing)
        if getattr(thing, "memory", None) is not None:
            raise TypeError(
                f"{where} keeps a cache of pickles in memory={thing.memory!r}, and no file of Shortlist leads to one: "
                "set memory=None, then save again"
            )
        return {name: self.node(value, f"{where}.{name}") for name, value in state.items()}

    def _bytes(self, data: bytes) -> int:
        return self._block(np.frombuffer(data, dtype=np.uint8))

    def _block(self, array: np.ndarray[Any, Any]) -> int:
        flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.blocks.append(memoryview(flat))
        return len(self.blocks) - 1


def holds_ours(thing: Any) -> bool:
    """Whether one of our models is anywhere inside a thing of scikit-learn's."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if is_ours(one):
            return True
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple | set):
            waiting.extend(one)
        elif isinstance(one, np.ndarray):
            if one.dtype == object:
                waiting.extend(one.ravel().tolist())
        elif type(one).__module__.startswith("sklearn.") and hasattr(one, "__dict__"):
            waiting.extend(vars(one).values())
    return False
