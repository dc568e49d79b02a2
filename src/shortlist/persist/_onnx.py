"""Linear models, and the pipelines that prepare their rows, for ONNX runtimes.

What scikit-learn prepares is converted by skl2onnx; a converter of ours adds the product with ``coef_``.  The graph's
one output is the score, in double precision, so that its order is the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from shortlist.persist._container import whole_file
from shortlist.persist._trust import is_ours

__all__ = ["convert"]

MISSING = "to_onnx needs onnx and skl2onnx: pip install 'shortlist[onnx]'"
OUTPUT = "score"


def convert(model: Any, X: Any, path: Path | None) -> bytes:
    """The graph as bytes, and in a file if there is a path."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
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
            model, initial_types=_inputs(X, width), target_opset={"": 17, "ai.onnx.ml": 3}, options={type(last): {}}
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
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    if X is None or not hasattr(X, "columns"):
        if X is not None and np.asarray(X).dtype.kind in "OUS":
            return [("X", StringTensorType([None, width]))]
        return [("X", DoubleTensorType([None, width]))]
    inputs = []
    for name in X.columns:
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

    def constant(word: str, values: Any) -> str:
        name: str = scope.get_unique_variable_name(word)
        container.add_initializer(name, TensorProto.DOUBLE, list(values.shape), values.ravel().tolist())
        return name

    def node(kind: str, sources: Sequence[str], **settings: Any) -> str:
        target: str = scope.get_unique_variable_name(kind.lower())
        container.add_node(kind, list(sources), target, name=scope.get_unique_operator_name(kind), **settings)
        return target

    columns = [node("Cast", [one.full_name], to=TensorProto.DOUBLE) for one in operator.inputs]
    rows = columns[0] if len(columns) == 1 else node("Concat", columns, axis=1)
    product = node("MatMul", [rows, constant("coef", weights)])
    container.add_node(
        "Add",
        [product, constant("intercept", intercept)],
        operator.outputs[0].full_name,
        name=scope.get_unique_operator_name("Score"),
    )
