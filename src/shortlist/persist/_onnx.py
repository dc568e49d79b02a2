"""Linear models, and the pipelines that prepare their rows, for ONNX runtimes.

What scikit-learn prepares is converted by skl2onnx, but for missing values; a converter of ours adds the product with
``coef_``.  The graph's one output is the score, in double precision, so that its order is the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from shortlist.persist._container import whole_file
from shortlist.persist._trust import is_ours

__all__ = ["convert"]

MISSING = "to_onnx needs onnx and skl2onnx: pip install 'shortlist[onnx]'"
OUTPUT = "score"


def convert(model: Any, X: Any, path: Path | None) -> bytes:
    """The graph as bytes, and in a file if there is a path."""
    steps = [model]
    while isinstance(steps[-1], Pipeline):  # a pipeline at the end of a pipeline
        steps[-1:] = [step for _, step in steps[-1].steps]
    last = steps[-1]
    _check_linear(last)
    try:
        from skl2onnx import convert_sklearn, update_registered_converter
    except ImportError as error:
        raise ImportError(MISSING) from error

    update_registered_converter(
        type(last), f"Shortlist{type(last).__name__}", _shape, _convert, parser=_parse, overwrite=True
    )
    width = getattr(model, "n_features_in_", last.n_features_in_)
    try:
        # The newest opset of skl2onnx may be too new for a runtime; 17 has all that is used, and is read everywhere.
        graph = convert_sklearn(
            Pipeline([(str(place), step) for place, step in enumerate(steps)]) if len(steps) > 1 else last,
            initial_types=_inputs(X, width),
            target_opset={"": 17, "ai.onnx.ml": 3},
            options={type(last): {}},
            custom_conversion_functions={SimpleImputer: _impute},
            custom_shape_calculators={SimpleImputer: _imputed},
        )
    except Exception as error:  # skl2onnx has many ways to say no
        raise TypeError(
            f"{type(model).__name__} cannot be written as ONNX: {error}. Scalers, SimpleImputer, OneHotEncoder and "
            "ColumnTransformer can; for other steps use shortlist.save"
        ) from error
    data = bytes(graph.SerializeToString())
    if path is not None:
        with whole_file(path) as file:
            file.write(data)
    return data


def _check_linear(model: Any) -> None:
    name = type(model).__name__
    if not is_ours(model):
        raise TypeError(
            f"to_onnx writes linear models of Shortlist, and {name} is none; skl2onnx converts those of scikit-learn"
        )
    check_is_fitted(model)
    features = getattr(model, "feature_map_", None)
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise TypeError(f"{name} is not linear in its features, so it cannot be written as ONNX; use shortlist.save")
    if features is not None and not features.is_linear:
        raise TypeError(
            f"{name} with kernel={getattr(model, 'kernel', None)!r} is not linear in its features, so it cannot be "
            "written as ONNX; use shortlist.save, or fit it without a kernel"
        )


def _inputs(X: Any, width: int) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    if X is None or not hasattr(X, "columns"):
        dtype = np.dtype(np.float64) if X is None else X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
        kinds = {"O": StringTensorType, "U": StringTensorType, "f4": FloatTensorType}
        return [("X", kinds.get(dtype.str[1:], kinds.get(dtype.kind, DoubleTensorType))([None, width]))]
    inputs = []
    for name in getattr(X, "column_names", X.columns):  # of pyarrow and of the others
        kind = np.asarray(X[name]).dtype.kind
        inputs.append((str(name), DoubleTensorType([None, 1]) if kind in "biuf" else StringTensorType([None, 1])))
    return inputs


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """skl2onnx's parser: one operator, one output."""
    from skl2onnx.common.data_types import DoubleTensorType

    operator = scope.declare_local_operator(f"Shortlist{type(model).__name__}", model)
    operator.inputs = list(inputs)
    operator.outputs.append(scope.declare_local_variable(OUTPUT, DoubleTensorType()))
    return operator.outputs


def _shape(operator: Any) -> None:
    """skl2onnx's shape: a row of scores for each row."""
    from skl2onnx.common.data_types import DoubleTensorType

    n_targets = len(np.atleast_2d(operator.raw_operator.coef_))
    operator.outputs[0].type = DoubleTensorType([operator.inputs[0].get_first_dimension(), n_targets])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """skl2onnx's converter: X @ coef_.T + intercept_, in double precision."""
    from onnx import TensorProto

    model = operator.raw_operator
    weights = np.atleast_2d(model.coef_).astype(np.float64).T
    intercept = np.atleast_1d(model.intercept_).astype(np.float64)

    graph = _Graph(scope, container)
    rows = graph.rows(operator.inputs, TensorProto.DOUBLE)
    product = graph.node("MatMul", [rows, graph.constant("coef", weights, TensorProto.DOUBLE)])
    intercepts = graph.constant("intercept", intercept, TensorProto.DOUBLE)
    graph.node("Add", [product, intercepts], operator.outputs[0].full_name)


def _imputed(operator: Any) -> None:
    """skl2onnx's shape of imputed rows: those columns that have something to impute, and the indicators."""
    model = operator.raw_operator
    width = int((~_empty(model)).sum()) + (len(model.indicator_.features_) if model.add_indicator else 0)
    operator.outputs[0].type = type(operator.inputs[0].type)([operator.inputs[0].get_first_dimension(), width])


def _impute(scope: Any, operator: Any, container: Any) -> None:
    """skl2onnx's converter of SimpleImputer, whose own runtimes know in single precision only."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    model = operator.raw_operator
    nan = isinstance(model.missing_values, float) and np.isnan(model.missing_values)
    kinds = {DoubleTensorType: TensorProto.DOUBLE, FloatTensorType: TensorProto.FLOAT}
    kind = kinds.get(type(operator.inputs[0].type))
    if kind is None or not nan or model.statistics_.dtype.kind != "f":
        raise TypeError("SimpleImputer is written for numbers with NaN as missing value")
    graph = _Graph(scope, container)
    rows, empty = graph.rows(operator.inputs, kind), _empty(model)
    kept = graph.columns(rows, np.flatnonzero(~empty))
    filled = [graph.node("Where", [graph.node("IsNaN", [kept]),
                                   graph.constant("statistics", model.statistics_[~empty], kind), kept])]  # fmt: skip
    if model.add_indicator:
        asked = graph.columns(rows, np.asarray(model.indicator_.features_))
        filled.append(graph.node("Cast", [graph.node("IsNaN", [asked])], to=kind))
    graph.node("Concat", filled, operator.outputs[0].full_name, axis=1)


def _empty(model: Any) -> Any:
    """Columns that had no value, which SimpleImputer leaves out."""
    statistics = model.statistics_
    return np.isnan(statistics) if statistics.dtype.kind == "f" else np.zeros(len(statistics), dtype=bool)


class _Graph:
    """Nodes and constants with names of their own."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope = scope
        self._container = container

    def constant(self, word: str, values: Any, kind: int) -> str:
        name: str = self._scope.get_unique_variable_name(word)
        self._container.add_initializer(name, kind, list(values.shape), values.ravel().tolist())
        return name

    def node(self, kind: str, sources: Sequence[str], target: str = "", **settings: Any) -> str:
        target = target or self._scope.get_unique_variable_name(kind.lower())
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(sources), target, name=name, **settings)
        return target

    def rows(self, inputs: Any, kind: int) -> str:
        """All inputs beside each other, as numbers of one kind."""
        columns = [self.node("Cast", [one.full_name], to=kind) for one in inputs]
        return columns[0] if len(columns) == 1 else self.node("Concat", columns, axis=1)

    def columns(self, rows: str, which: Any) -> str:
        from onnx import TensorProto

        return self.node("Gather", [rows, self.constant("columns", which.astype(np.int64), TensorProto.INT64)], axis=1)
