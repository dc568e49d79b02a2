"""What compiled code would believe, checked: trees node by node, and the models that hand rows to them.

scikit-learn's trees follow the numbers in their arrays without looking whether they lead out of them.  Here a tree is
one whose children come after their parents, each child of one parent, whose features are columns that the model is
given, and whose depth is what it says.  Nor may an attribute of a file stand in the place of a method.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

__all__ = ["check_models", "check_random_state"]

FUNCTIONS = (type, FunctionType, BuiltinFunctionType, functools.partial, np.ufunc)
Boosting = GradientBoostingClassifier | GradientBoostingRegressor
HistBoosting = HistGradientBoostingClassifier | HistGradientBoostingRegressor


def check_models(root: Any) -> None:
    """Everything within a model that was read from a file."""
    for thing in _parts(root):
        if isinstance(thing, np.random.RandomState | np.random.Generator):
            check_random_state(thing)
        elif isinstance(thing, Tree):
            _check_tree(thing)
        elif isinstance(thing, TreePredictor):
            _check_predictor(thing)
        _check_names(thing)
    # A model is looked at when all its trees are known to be trees.
    for thing in _parts(root):
        if isinstance(thing, BaseDecisionTree):
            _check_width(thing, [thing])
        elif isinstance(thing, BaseForest):
            _check_width(thing, getattr(thing, "estimators_", []))
        elif isinstance(thing, Boosting):
            _check_boosting(thing)
        elif isinstance(thing, HistBoosting):
            _check_hist_boosting(thing)


def check_random_state(found: Any) -> Any:
    """A generator of random numbers whose place lies within its numbers."""
    bits = found._bit_generator if isinstance(found, np.random.RandomState) else found.bit_generator
    state = bits.state
    place = state.get("state", {}).get("pos", state.get("buffer_pos", 0))
    most = 624 if "pos" in state.get("state", {}) else 4
    if not 0 <= int(place) <= most:
        raise ValueError(f"a generator of random numbers is at place {place} of {most}")
    return found


def _parts(root: Any) -> Iterator[Any]:
    """Each thing within a model, once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if thing is None or isinstance(thing, str | bytes | int | float | np.generic) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            waiting.extend(thing.values())
        elif isinstance(thing, list | tuple | set | frozenset):
            waiting.extend(thing)
        elif isinstance(thing, np.ndarray):
            if thing.dtype == object:
                waiting.extend(thing.ravel().tolist())
        else:
            yield thing
            waiting.extend(getattr(thing, "__dict__", {}).values())


def _check_names(thing: Any) -> None:
    kind = type(thing)
    if isinstance(thing, FUNCTIONS):
        return
    for name in getattr(thing, "__dict__", ()):
        if type(name) is not str or not name.isidentifier() or name.startswith("__"):
            raise ValueError(f"{kind.__name__} has an attribute called {str(name)[:40]!r}")
        if callable(getattr(kind, name, None)) or type(getattr(kind, name, None)) is dict:
            raise ValueError(f"an attribute of {kind.__name__} stands in the place of its own {name[:40]}")
    if getattr(thing, "memory", None) is not None and isinstance(thing, BaseEstimator):
        raise ValueError(f"{kind.__name__} keeps a cache of pickles in a folder, to which no file may lead")


def _fail(what: str) -> None:
    raise ValueError(f"a tree {what}")


def _check_links(left: Any, right: Any) -> int:
    """Children of the inner nodes, given for all nodes and -1 for leaves; how deep the tree is."""
    n_nodes = len(left)
    own = np.arange(n_nodes)
    inner = left >= 0
    if not n_nodes or (inner != (right >= 0)).any():
        _fail("has no nodes, or a node with one child")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    if (children >= n_nodes).any() or (children <= np.concatenate([own[inner], own[inner]])).any():
        _fail("has children that do not come after their parents")
    if np.bincount(children, minlength=n_nodes).max() > 1:
        _fail("has a node with two parents")
    depth, level = 0, np.zeros(1, dtype=np.int64)
    while True:
        level = level[inner[level]]
        if not len(level):
            return depth
        depth += 1
        level = np.concatenate([left[level], right[level]]).astype(np.int64)


def _check_tree(tree: Any) -> None:
    state = tree.__getstate__()
    nodes, values = state.get("nodes"), state.get("values")
    n_nodes = state["node_count"]
    if nodes is None or len(nodes) != n_nodes or values is None or len(values) != n_nodes:
        _fail("does not have a value for each node")
    left, right = nodes["left_child"], nodes["right_child"]
    depth = _check_links(left, right)
    feature = nodes["feature"][left >= 0]
    if len(feature) and (feature.min() < 0 or feature.max() >= tree.n_features):
        _fail("splits by a feature that there is not")
    if not depth <= tree.max_depth <= n_nodes:
        _fail(f"says that it is {tree.max_depth} deep and is {depth}")
    if values.shape != (n_nodes, tree.n_outputs, tree.max_n_classes) or 0 in values.shape:
        _fail("does not have a value for each class")


def _check_predictor(tree: Any) -> None:
    nodes, bits = getattr(tree, "nodes", None), getattr(tree, "raw_left_cat_bitsets", None)
    binned = getattr(tree, "binned_left_cat_bitsets", None)
    if not isinstance(nodes, np.ndarray) or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
        _fail("is not made of nodes")
    assert nodes is not None
    for one in (bits, binned):
        if not isinstance(one, np.ndarray) or one.dtype != np.uint32 or one.ndim != 2 or one.shape[1] != 8:
            _fail("does not have the sets of categories that it should")
    assert bits is not None and binned is not None
    inner = nodes["is_leaf"] == 0
    _check_links(
        np.where(inner, nodes["left"].astype(np.int64), -1), np.where(inner, nodes["right"].astype(np.int64), -1)
    )
    if (nodes["feature_idx"][inner] < 0).any():
        _fail("splits by a feature that there is not")
    sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    if len(sets) and sets.max() >= min(len(bits), len(binned)):
        _fail("splits by a set of categories that there is not")


def _width(model: Any) -> int:
    width = getattr(model, "n_features_in_", None)
    if type(width) is not int or width < 1:
        raise ValueError(f"{type(model).__name__} does not say how many features it takes")
    return width


def _check_width(model: Any, trees: Any) -> None:
    """Each tree takes the columns that the model is given."""
    if not any(name in vars(model) for name in ("tree_", "estimators_")):
        return  # not fitted
    width = _width(model)
    for one in trees:
        tree = getattr(one, "tree_", None)
        if not isinstance(one, BaseDecisionTree) or not isinstance(tree, Tree) or tree.n_features != width:
            raise ValueError(f"{type(model).__name__} has a tree that does not take its {width} features")


def _check_boosting(model: Any) -> None:
    stages = getattr(model, "estimators_", None)
    if stages is None:
        return
    if not isinstance(stages, np.ndarray) or stages.dtype != object or stages.ndim != 2:
        raise ValueError(f"{type(model).__name__} does not have a table of trees")
    _check_width(model, stages.ravel().tolist())
    start: Any = getattr(model, "init_", None)
    if isinstance(start, str) and start == "zero":
        if model.n_trees_per_iteration_ != stages.shape[1]:
            raise ValueError(f"{type(model).__name__} does not have {stages.shape[1]} trees at a time")
        return
    if type(start) is DummyClassifier and start.strategy == "prior":
        constants, loss = start.class_prior_, model._loss
        sound = loss.is_multiclass is (stages.shape[1] > 1) and np.shape(constants) == (max(2, stages.shape[1]),)
    elif type(start) is DummyRegressor:
        constants = start.constant_
        sound = stages.shape[1] == 1 and np.shape(constants) == (1, 1)
    else:
        raise ValueError(f"{type(model).__name__} starts from a model of its own, which is not trusted")
    if type(constants) is not np.ndarray or constants.dtype.kind != "f" or start.n_outputs_ != 1 or not sound:
        raise ValueError(f"{type(model).__name__} does not start with a score for each of its {stages.shape[1]} trees")


def _check_preparation(columns: Any, width: int) -> None:
    """Categories as numbers, then the other columns: as many as there were."""
    parts = getattr(columns, "transformers_", None)
    if type(columns) is not ColumnTransformer or type(parts) is not list or len(parts) not in (2, 3):
        raise ValueError("boosting prepares its rows in an unknown way")
    for part, kind in zip(parts, (OrdinalEncoder, FunctionTransformer), strict=False):
        chosen = part[2]
        if type(part[1]) is not kind or not isinstance(chosen, np.ndarray) or chosen.shape != (width,):
            raise ValueError("boosting prepares its rows in an unknown way")
    first, second, rest = parts[0][2], parts[1][2], [part[2] for part in parts[2:]]
    if _width(columns) != width or first.dtype != bool or (first == second).any() or any(map(any, rest)):
        raise ValueError(f"boosting does not prepare each of its {width} features once")


def _check_hist_boosting(model: Any) -> None:
    stages = getattr(model, "_predictors", None)
    if stages is None:
        return
    width = _width(model)
    if getattr(model, "_preprocessor", None) is not None:
        _check_preparation(model._preprocessor, width)
    given = getattr(model._bin_mapper, "is_categorical_", None)
    if not isinstance(given, np.ndarray) or given.shape != (width,):
        raise ValueError(f"{type(model).__name__} does not say which of its {width} features are categorical")
    categorical = given.astype(bool)
    for tree in [tree for stage in stages for tree in stage]:
        if not isinstance(tree, TreePredictor):
            raise ValueError(f"{type(model).__name__} has something else where a tree should be")
        inner = tree.nodes["is_leaf"] == 0
        used = tree.nodes["feature_idx"][inner]
        by_category = used[tree.nodes["is_categorical"][inner] != 0]
        if (used >= width).any() or not categorical[by_category].all():
            raise ValueError(f"{type(model).__name__} has a tree that does not take its {width} features")
