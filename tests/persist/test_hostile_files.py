"""Files made to run code, to fill the memory or to end the interpreter: each is refused, in words."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import TopPush, load, save
from shortlist.persist._audit import audit
from tests.common.estimators import clouds
from tests.persist.forge import Part, apart, bounded, loaded, node, raw, saved, together

X, y = clouds(60)
TOP = "shortlist.estimators.top.TopPush"
DEEP: Any = 1
for _ in range(150):
    DEEP = [DEEP]


def model(**state: Any) -> dict[str, Any]:
    return {"kind": "model", "of": TOP, "state": state}


ZERO = {"kind": "scalar", "dtype": "<i8", "hex": "00" * 8}
SHARED_LISTS = {"kind": "list", "items": [1], "id": 0}

HEADERS: dict[str, tuple[Any, str]] = {
    "no model": ({}, "unknown kind"),
    "a number": (7, "holds no model"),
    "a list": ([], "holds no model"),
    "a class of Python's": ({**model(), "of": "builtins.eval"}, "no model of Shortlist"),
    "a function of ours": ({**model(), "of": "shortlist.estimators._ranking.ranked"}, "no model of Shortlist"),
    "what a module of ours imports": ({**model(), "of": "shortlist.estimators.top.Any"}, "no model of Shortlist"),
    "a room that makes no models": ({**model(), "of": "shortlist.persist._decode.Decoder"}, "no model of Shortlist"),
    "what is not there": ({**model(), "of": "shortlist.estimators.top.Nothing"}, "does not have"),
    "neighbours": ({**model(), "of": "sklearn.neighbors._classification.KNeighborsClassifier"}, "not on the list"),
    "a tree without arrays": ({**model(), "of": "sklearn.tree._tree.Tree"}, "does not fit together"),
    "a name of 300 letters": ({**model(), "of": "shortlist." + "a" * 300}, "no name"),
    "a method": (model(decision_function=1), "stands in the place of"),
    "parameters' types": ({**model(_parameter_constraints={"kind": "dict", "keys": [], "values": []}),
                           "of": "sklearn.preprocessing._data.StandardScaler"}, "stands in the place of"),
    "an interface": (model(__array_interface__=1), "an attribute called"),
    "a class as attribute": (model(__class__=1), "an attribute called"),
    "a path": (model(**{"a.b": 1}), "an attribute called"),
    "a cache of pickles": ({**model(steps=[], memory="/tmp"), "of": "sklearn.pipeline.Pipeline"}, "cache of pickles"),
    "levels": (model(C=DEEP), "levels deep"),
    "a block that is not there": (model(coef_={"kind": "bytes", "block": 0}), "takes block 0"),
    "a negative block": (model(coef_={"kind": "bytes", "block": -1}), "where a number should be"),
    "a later thing": (model(coef_={"kind": "same", "to": 3}), "did not come before"),
    "itself": ({**model(base={"kind": "same", "to": 0}), "id": 0}, "did not come before"),
    "a list that is shared": (model(C=SHARED_LISTS), "cannot be shared"),
    "one number twice": (model(a={**model(), "id": 0}, b={**model(), "id": 0}), "two nodes"),
    "a model as key": (model(a={"kind": "dict", "keys": [model()], "values": [1]}), "a key or an item of a set"),
    "a list as item of a set": (model(a={"kind": "set", "items": [[1]]}), "a key or an item of a set"),
    "keys without values": (model(a={"kind": "dict", "keys": [1], "values": []}), "shorter|fit together"),
    "objects": (model(a={"kind": "scalar", "dtype": "|O", "hex": "00" * 8}), "no type of number"),
    "records": (model(a={"kind": "scalar", "dtype": "<f8,<f8", "hex": "00" * 16}), "no type of number"),
    "numbers of 80 bits": (model(a={"kind": "scalar", "dtype": "<f16", "hex": "ff" * 16}), "no type of number"),
    "a truth value of 2": (model(a={"kind": "scalar", "dtype": "|b1", "hex": "02"}), "truth values"),
    "no character": (model(a={"kind": "scalar", "dtype": "<U1", "hex": "ffffffff"}), "no character"),
    "a number of 4 bytes": (model(a={"kind": "scalar", "dtype": "<f8", "hex": "00" * 4}), "does not have 4 bytes"),
    "a class as type": (model(a={"kind": "type", "name": "numpy.ndarray"}), "no type of number"),
    "a function as metric": (model(a={"kind": "metric", "name": "pairwise_distances"}), "no metric"),
    "a mask over a list": (model(a={"kind": "masked", "data": [1], "mask": [0]}), "two arrays"),
    "a shape of text": (model(a={"kind": "objects", "shape": "x", "items": []}), "has no shape"),
    "a shape that does not fit": (model(a={"kind": "objects", "shape": [2], "items": [1]}), "cannot reshape"),
    "random bits of another kind": (
        model(a={"kind": "Generator", "state": {"keys": ["bit_generator"], "values": ["seed"]}}), "no generator"),
    "a state that unfolds": (
        model(a={"kind": "RandomState", "state": {"keys": ["a"], "values": [[[1]]]}}), "something else"),
    "a record of one item": (
        model(a={"kind": "record", "of": TOP, "items": [1]}), "is not made of 1 items"),
    "a date of the year 0": (model(a={"kind": "date", "text": "0000-01-01"}), "year 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    what, words = HEADERS[name]
    with pytest.raises(ValueError, match=f"forged cannot be loaded: .*({words})"):
        loaded(node(what))


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not written by"),
    "another kind": (b"PK\x03\x04" + bytes(100), "not written by"),
    "a pickle": (b"\x80\x04\x95" + bytes(100), "not written by"),
    "the magic word": (b"SHRTLST\x01", "truncated"),
    "a newer version": (b"SHRTLST\x63" + bytes(100), "a newer Shortlist reads it"),
    "a header that is too long": (b"SHRTLST\x01" + b"\xff" * 8 + bytes(100), "truncated"),
    "no JSON": (raw(b"{"), "not the JSON"),
    "no text": (raw(b"\xff\xfe{}"), "not the JSON"),
    "NaN": (raw(b'{"blocks": [], "model": NaN}'), "NaN is no number"),
    "a list": (raw(b"[]"), "not an object"),
    "no blocks": (raw(b'{"model": 1}'), "lengths of its blocks"),
    "negative blocks": (raw(b'{"blocks": [-1], "model": 1}'), "lengths of its blocks"),
    "blocks of True": (raw(b'{"blocks": [true], "model": 1}'), "lengths of its blocks"),
    "huge blocks": (raw(b'{"blocks": [9223372036854775807], "model": 1}'), "more bytes than it holds"),
    "bytes left over": (raw(b'{"blocks": [], "model": 1}') + b"more", "does not list"),
    "numbers of 5000 digits": (raw(b'{"blocks": [], "model": ' + b"9" * 5000 + b"}"), "not the JSON"),
    "brackets within brackets": (raw(b'{"blocks": [], "model": ' + b"[" * 40000 + b"]" * 40000 + b"}"), "JSON|many"),
    "a million lists": (raw(b'{"blocks": [], "model": [' + b"[]," * 10**6 + b"[]]}"), "too many for"),
    "a million objects": (raw(b'{"blocks": [], "model": [' + b"{}," * 10**6 + b"{}]}"), "too many for"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str) -> None:
    data, words = FILES[name]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"forged cannot be loaded: .*({words})"):
            loaded(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 * len(data) + 2**21


def array_of(header: dict[str, Any], name: str) -> dict[str, Any]:
    found = header["model"]["state"][name]
    assert found["kind"] == "array"
    return dict(found)


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "too long": ({"shape": [1, 2**40]}, "does not fit"),
    "overflowing": ({"shape": [2**32, 2**32, 1]}, "does not fit"),
    "negative": ({"shape": [-1, -4]}, "where a number should be"),
    "empty and endless": ({"shape": [0, 2**62]}, "does not fit"),
    "of nine dimensions": ({"shape": [1] * 8 + [4]}, "has no shape"),
    "of objects": ({"dtype": "|O"}, "no type of number"),
    "of bytes without length": ({"dtype": "|S0"}, "no type of number|does not fit"),
    "of longer numbers": ({"dtype": "<c16"}, "does not fit"),
    "taken again": ({"block": 0}, "was taken before|no node takes|does not fit"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name: str, tmp_path: Path) -> None:
    change, words = ARRAYS[name]
    header, blocks = apart(saved(TopPush().fit(X, y), tmp_path))
    found = header["model"]["state"]["coef_"]
    assert found["kind"] == "array"
    if name == "taken again":
        header["model"]["state"]["more_"] = dict(found)
    else:
        found.update(change)
    del header["blocks"]
    with pytest.raises(ValueError, match=words):
        loaded(together(header, blocks, tmp_path))


def test_blocks_that_nothing_takes(tmp_path: Path) -> None:
    header, blocks = apart(saved(TopPush(), tmp_path))
    del header["blocks"]
    with pytest.raises(ValueError, match="no node takes"):
        loaded(together(header, [*blocks, b"more"], tmp_path))


@pytest.mark.parametrize(
    ("part", "at", "value"), [("indices", 0, 99), ("indices", 0, -1), ("indptr", 1, -5), ("indptr", -1, 10**6)]
)
def test_sparse_matrices(part: str, at: int, value: int, tmp_path: Path) -> None:
    fitted = TopPush(kernel="rbf").fit(sparse.csr_array(X * (X > 0)), y)
    header, blocks = apart(saved(fitted, tmp_path))
    found = next(one for one in json_nodes(header) if one.get("kind") == "sparse")
    block = found[part]["block"]
    numbers = np.frombuffer(blocks[block], dtype=found[part]["dtype"]).copy()
    numbers[at] = value
    blocks[block] = numbers.tobytes()
    del header["blocks"]
    with pytest.raises(ValueError, match=r"cannot be loaded"):
        loaded(together(header, blocks, tmp_path))


def json_nodes(thing: Any) -> list[dict[str, Any]]:
    found = []
    if isinstance(thing, dict):
        found.append(thing)
    for one in thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ():
        found += json_nodes(one)
    return found


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    fitted = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y)
    return saved(fitted, tmp_path_factory.mktemp("forest"))


def nodes_file(part: Part) -> str:
    return next(name for name, array in part.arrays.items() if array.dtype.names)


def in_tree(field: str, at: int, value: int) -> Callable[[Part], None]:
    def change(part: Part) -> None:
        part.arrays[nodes_file(part)][field][at] = value

    return change


def classes(*values: int) -> Callable[[Part], None]:
    def change(part: Part) -> None:
        tree = part.nodes("TreeNode")[0]
        part.arrays[tree["__reduce__"]["args"]["content"][1]["file"]] = np.array(values, dtype=np.intp)

    return change


def argument(at: int, value: str) -> Callable[[Part], None]:
    def change(part: Part) -> None:
        for tree in part.nodes("TreeNode"):
            given = tree["__reduce__"]["args"]["content"][at]
            tree["__reduce__"]["args"]["content"][at] = {**given, "content": value, "__id__": given["__id__"] + 1}

    return change


def attribute(name: str, value: str, beside: str = "") -> Callable[[Part], None]:
    def change(part: Part) -> None:
        held = part.attribute(beside) if beside else part.attribute(name, "JsonNode")
        held[name] = {**held[name], "content": value, "__id__": 17}

    return change


def named(loader: str, path: str) -> Callable[[Part], None]:
    """The first attribute becomes something of another class."""

    def change(part: Part) -> None:
        module, _, name = path.rpartition(".")
        held = part.attribute("n_features_in_")
        held["n_features_in_"] = {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 17,
                                  "content": {}, "attrs": {}}  # fmt: skip

    return change


def interface(part: Part) -> None:
    held = part.attribute("n_features_in_")
    held["__array_interface__"] = held.pop("n_features_in_")


def computed_key(part: Part) -> None:
    kinds = part.nodes("DictNode")[0]["key_types"]["content"]
    kinds[0] = {**kinds[0], "__loader__": "FunctionNode", "__module__": "numpy", "__class__": "exp", "__id__": 17}


def two_of_one_number(part: Part) -> None:
    first, second = part.nodes("TreeNode")
    second["__reduce__"]["args"]["__id__"] = first["__id__"]


def protocol(part: Part) -> None:
    part.schema["protocol"] = 0


def reference(part: Part) -> None:
    held = part.attribute("n_features_in_")
    held["n_features_in_"] = {**held["n_features_in_"], "__loader__": "CachedNode"}


def no_number(part: Part) -> None:
    del part.nodes("TreeNode")[0]["__id__"]


def missing_array(part: Part) -> None:
    name = nodes_file(part)
    del part.arrays[name], part.files[name]


def objects(part: Part) -> None:
    part.arrays[nodes_file(part)] = np.array([print], dtype=object)


def truth(part: Part) -> None:
    part.arrays[nodes_file(part)] = np.array([2], dtype=np.uint8).view(bool)


def width(part: Part) -> None:
    part.arrays[nodes_file(part)] = part.arrays[nodes_file(part)][:-1]


PARTS: dict[str, tuple[Callable[[Part], None], str]] = {
    "a circle": (in_tree("left_child", 1, 0), "do not come after their parents"),
    "children far away": (in_tree("right_child", 0, 10**6), "do not come after their parents"),
    "one child": (in_tree("right_child", 0, -1), "one child"),
    "two parents": (in_tree("left_child", 0, 2), "do not come after|two parents"),
    "a column that is not there": (in_tree("feature", 0, 4), "a feature that there is not"),
    "a column before the first": (in_tree("feature", 0, -3), "a feature that there is not"),
    "fewer nodes": (width, "Wrong shape"),
    "more classes than counted": (classes(2, 2), "does not fit its outputs"),
    "no classes": (classes(0), "wrong number of classes"),
    "a million classes": (classes(2**30), "wrong number of classes"),
    "outputs": (argument(2, "50"), "does not fit its outputs"),
    "outputs as text": (argument(2, '"1"'), "does not fit its outputs"),
    "columns": (argument(0, "400"), "does not take its 4 features"),
    "another width": (attribute("n_features_in_", "400"), "does not take its 400 features"),
    "width as text": (attribute("n_features_in_", '"4"'), "does not say how many"),
    "depth": (attribute("max_depth", "0", "nodes"), "says that it is 0 deep"),
    "a shell": (named("FunctionNode", "posix.system"), "posix.system is not on the list"),
    "pickle": (named("FunctionNode", "pickle.loads"), "pickle.loads is not on the list"),
    "a method": (named("MethodNode", "sklearn.tree._tree.Tree"), "the node 'MethodNode'"),
    "an operator": (named("OperatorFuncNode", "operator.methodcaller"), "the node 'OperatorFuncNode'"),
    "a constructor": (named("ConstructorFromReduceNode", "builtins.bytearray"), "the node 'Constructor"),
    "a type": (named("TypeNode", "subprocess.Popen"), "subprocess.Popen is not on the list"),
    "another model": (named("ObjectNode", "sklearn.neighbors._kd_tree.KDTree"), "not on the list"),
    "a sparse matrix": (named("SparseMatrixNode", "scipy.sparse._csr.csr_matrix"), "the node 'Sparse"),
    "an interface": (interface, "two underscores"),
    "a computed key": (computed_key, "where a TypeNode should be"),
    "two things of one number": (two_of_one_number, "two things of one number"),
    "an old protocol": (protocol, "files are not known"),
    "a reference": (reference, "the node 'CachedNode'"),
    "no number": (no_number, "without a number"),
    "no array": (missing_array, "not there"),
    "objects": (objects, "does not fit|object"),
    "truth values of 2": (truth, "truth values"),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str, forest: bytes, tmp_path: Path) -> None:
    change, words = PARTS[name]
    part = Part(forest)
    change(part)
    with bounded(), pytest.raises(ValueError, match=words):
        loaded(part.data(tmp_path))


def test_zips(forest: bytes, tmp_path: Path) -> None:
    part = Part(forest)
    part.files["bomb"] = bytes(10**7)
    data = part.data(tmp_path, zipfile.ZIP_DEFLATED)
    assert len(data) < 10**6
    with pytest.raises(ValueError, match="a compressed entry"):
        loaded(data)
    part.blocks[part.at] = b"no zip at all"
    with pytest.raises(ValueError, match="cannot be loaded"):
        loaded(together({"model": part.header["model"], "shortlist": "", "scikit-learn": ""}, part.blocks, tmp_path))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }", "does not fit"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': " + b"(" * 900 + b")" * 900 + b", }", "."),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"-" * 900 + b"1,), }", "strange header"),
        (b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "does not fit|object"),
        (b"{'descr': [('a', '?')], 'fortran_order': False, 'shape': (1,), }", "strange header"),
    ],
    ids=["a terabyte", "brackets", "signs", "objects", "records of truth values"],
)
def test_headers_of_arrays(header: bytes, words: str, forest: bytes, tmp_path: Path) -> None:
    part = Part(forest)
    name = next(name for name, array in part.arrays.items() if array.dtype == np.float64)
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    part.data(tmp_path)
    part.files[name] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(1)
    with bounded(), pytest.raises(ValueError, match=words):
        loaded(part.data(tmp_path, keep=True))


def test_boosting(tmp_path: Path) -> None:
    whole = Part(saved(GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, y), tmp_path))
    part = whole.copy()
    prior = part.attribute("class_prior_")["class_prior_"]["file"]
    part.arrays[prior] = np.full(3, 1 / 3)
    with pytest.raises(ValueError, match="does not start with a score for each"):
        loaded(part.data(tmp_path))
    part = whole.copy()
    held = part.attribute("init_")
    held["init_"] = {**held["init_"], "__class__": "LogisticRegression", "__module__": "sklearn.linear_model._logistic"}
    with pytest.raises(ValueError, match="a model of its own"):
        loaded(part.data(tmp_path))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("feature_idx", 9, "does not take its 4 features"),
        ("feature_idx", -1, "a feature that there is not"),
        ("left", 0, "do not come after"),
        ("right", 10**6, "do not come after"),
        ("is_categorical", 1, "does not take its 4 features|a set of categories"),
        ("bitset_idx", 99, None),
    ],
)
def test_histograms(field: str, value: int, words: str | None, tmp_path: Path) -> None:
    rows = np.column_stack([X[:, :3], np.arange(len(X)) % 5])
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, min_samples_leaf=5, categorical_features=[3])
    part = Part(saved(model.fit(rows, y), tmp_path))
    part.arrays[nodes_file(part)][field][0] = value
    if words is None:  # of a split by a number nobody asks
        assert hasattr(loaded(part.data(tmp_path)), "predict")
        return
    with pytest.raises(ValueError, match=words):
        loaded(part.data(tmp_path))


def test_what_is_repeated_is_paid_for(tmp_path: Path) -> None:
    part = Part(saved(StandardScaler().fit(np.zeros((3, 20000))), tmp_path))
    held = part.attribute("var_")
    one = held["var_"]
    held["var_"] = {"__loader__": "ListNode", "__module__": "builtins", "__class__": "list", "__id__": 17,
                    "content": [one] * 3000}  # fmt: skip
    data = part.data(tmp_path)
    assert 3000 * part.arrays[one["file"]].nbytes > 200 * len(data)
    with pytest.raises(ValueError, match="many times its size"):
        loaded(data)


def test_memory_is_a_small_multiple_of_the_file(tmp_path: Path, forest: bytes) -> None:
    """Of sound files; what others cost before they are refused is measured above."""
    rows = np.tile(X, (50, 1))
    groups = [f"query {row // 3}" for row in range(len(rows))]
    many = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    for model in (TopPush().fit(rows, np.tile(y, 50), groups=groups), TopPush(kernel="rbf").fit(X, y), many):
        data = saved(model, tmp_path)
        loaded(data)
        tracemalloc.start()
        loaded(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 12 * len(data) + 2**20, type(model).__name__


def test_caches_are_not_saved(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), TopPush(), memory=str(tmp_path / "cache"))
    with pytest.raises(TypeError, match="memory=None"):
        save(model, tmp_path / "model")
    with pytest.raises(TypeError, match=r"memory|cache"):
        save(make_pipeline(StandardScaler(), RandomForestClassifier(), memory="cache"), tmp_path / "model")


def test_a_starting_model_of_ones_own_is_not_saved(tmp_path: Path) -> None:
    model = GradientBoostingClassifier(n_estimators=1, init=RandomForestClassifier(1)).fit(X, y)
    with pytest.raises(TypeError, match="starts from a model of its own"):
        save(model, tmp_path / "model")
    zero = GradientBoostingClassifier(n_estimators=1, init="zero").fit(X, y)
    save(zero, tmp_path / "zero")
    np.testing.assert_array_equal(load(tmp_path / "zero").decision_function(X), zero.decision_function(X))


def test_the_audit_names_what_a_part_uses(forest: bytes) -> None:
    part = Part(forest)
    named = audit(part.blocks[part.at])
    assert {"sklearn.ensemble._forest.RandomForestClassifier", "sklearn.tree._tree.Tree"} <= named
    assert json.dumps(part.schema)
