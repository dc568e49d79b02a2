"""Any scikit-learn model as a ranker: what its fit takes, and its score of a row, with 0 where its label turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

Array = NDArray[Any]

__all__ = ["RESPONSES", "fit_arguments", "scores_of"]

# What a score may come from, the first that there is.
RESPONSES = ("decision_function", "predict_proba", "predict")


def fit_arguments(model: Any, groups: Array | None, weights: Array | None) -> dict[str, Any]:
    """Keyword arguments for ``fit``: groups where the model knows them, weights always; a frozen model needs none."""
    if isinstance(model, FrozenEstimator):
        return {}
    last, prefix = model, ""
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        prefix += f"{name}__"
    arguments: dict[str, Any] = {}
    if groups is not None and has_fit_parameter(last, "groups"):
        arguments[f"{prefix}groups"] = groups
    if weights is not None:
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"{type(last).__name__} takes no sample_weight; leave the weights out, or repeat and remove rows"
            )
        arguments[f"{prefix}sample_weight"] = weights
    return arguments


def scores_of(model: Any, X: Any, positive: Any) -> Array:
    """One score a row, higher for ``positive``: decision function, else log-odds, else prediction less one half.

    Log-odds rather than the probability, whose values near 1 differ by less than rounding.
    """
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
    elif hasattr(model, "predict_proba"):
        scores = _log_odds(np.asarray(model.predict_proba(X)), list(model.classes_), positive)
    elif is_regressor(model):
        scores = np.asarray(model.predict(X)) - 0.5
    else:
        scores = np.where(np.asarray(model.predict(X)) == positive, 0.5, -0.5)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    name = type(model).__name__
    if scores.ndim != 1:
        raise ValueError(f"{name} must give one score a row, but gave an array of shape {scores.shape}")
    scores = scores if scores.dtype.kind == "f" else scores.astype(np.float64)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"{name} gave row {row} the score {scores[row]}, which has no place in a list")
    return scores


def _log_odds(probabilities: Array, classes: list[Any], positive: Any) -> Array:
    if probabilities.ndim != 2 or len(classes) != 2:
        return probabilities  # refused by its shape
    tiny = np.finfo(probabilities.dtype).tiny
    log = np.log(np.maximum(probabilities, tiny))
    at = classes.index(positive)
    return np.asarray(log[:, at] - log[:, 1 - at])
