"""What comes in, checked once: parameters, rows, labels, groups, weights.

Each error says what was wrong, where, and what to do about it.  A wrong type is a TypeError, a wrong value a
ValueError.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, validate_data

Array = NDArray[Any]

__all__ = [
    "TrainingRows",
    "check_choice",
    "check_count",
    "check_flag",
    "check_magnitude",
    "check_number",
    "class_labels",
    "encode_groups",
    "prediction_rows",
    "row_weights",
    "training_rows",
]


def check_number(
    name: str,
    value: Any,
    *,
    above: float = 0.0,
    at_most: float = np.inf,
    zero: bool = False,
    advice: str = "",
) -> None:
    """A finite real number with ``above < value <= at_most``; with ``zero``, 0 or above in place of ``above``."""
    wanted = f"{name} must be a finite number " + ("of at least 0" if zero else f"above {above:g}")
    if np.isfinite(at_most):
        wanted += f" and at most {at_most:g}"
    message = f"{wanted}, got {value!r}" + (f"; {advice}" if advice else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(message)
    enough = float(value) >= 0 if zero else float(value) > above
    if not (np.isfinite(float(value)) and enough and float(value) <= at_most):
        raise ValueError(message)


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    """A whole number of at least ``least``."""
    message = f"{name} must be a whole number of at least {least}, got {value!r}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(message)
    if value < least:
        raise ValueError(message)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of some names."""
    message = f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}"
    if not isinstance(value, str):
        raise TypeError(message)
    if value not in choices:
        raise ValueError(message)


def check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


@dataclass(frozen=True)
class TrainingRows:
    """Checked training data.

    Attributes
    ----------
    X : (n_rows, n_features) array or CSR
    is_positive : (n_rows,) bool array
    classes : (2,) array
        The negative label, then the positive one; several, ascending, where that is allowed.
    groups : (n_rows,) int array or None
        Number of each row's group, in order of first appearance.
    group_ids : list
        The user's id of each group number.
    weights : (n_rows,) array or None
    origin : (n_rows,) int array or None
        Row numbers as given to fit, where these rows are a selection.
    labels : (n_rows,) int array or None
        Number of each row's class, where several are allowed; -1 for a label that only rows of weight 0 have.
    """

    X: Any
    is_positive: Array
    classes: Array
    groups: Array | None
    group_ids: list[Hashable]
    weights: Array | None
    origin: Array | None = None
    labels: Array | None = None


def training_rows(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    *,
    pairwise: bool = False,
    several: bool = False,
    labelled: bool = True,
    advice: str = "",
) -> TrainingRows:
    """Check everything that ``fit`` is given; sets ``n_features_in_`` and ``feature_names_in_``.

    With ``several`` classes may be more than two, and the last is the positive; without, ``advice`` is added to the
    error that more than two give. Without ``labelled`` y is not looked at, and there are no classes.
    """
    form: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    if labelled:
        X, y = validate_data(estimator, X, y, **form)
    else:
        X = validate_data(estimator, X, **form)
    n_rows = X.shape[0]
    if pairwise and X.shape[1] != n_rows:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix k(train, train) in fit, got the shape {X.shape}"
        )
    weights = row_weights(sample_weight, n_rows)
    codes, ids = (None, list[Hashable]([None])) if groups is None else encode_groups(groups, n_rows)
    if not labelled:
        return TrainingRows(X, np.zeros(n_rows, dtype=bool), np.empty(0), codes, ids, weights)
    classes, labels = class_labels(y, weights, several, advice)
    return TrainingRows(X, labels == len(classes) - 1, classes, codes, ids, weights, labels=labels)


def prediction_rows(estimator: Any, X: Any) -> Any:
    """Check the rows to be scored."""
    return validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)


def check_magnitude(X: Any) -> float:
    """The largest size of an entry; refused where sums of such squares overflow."""
    values: Array = X.data if hasattr(X, "tocsr") else X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    limit = float(np.sqrt(np.finfo(values.dtype).max / max(values.size, 1)))
    if not largest <= limit:
        raise ValueError(
            f"X holds a value of size {largest:.3g}; sums of such squares overflow {values.dtype} "
            f"(largest usable here: {limit:.3g}). Scale the features, for example with MinMaxScaler, "
            "or check for placeholders such as 1e300"
        )
    return largest


def row_weights(sample_weight: Any, n_rows: int) -> Array | None:
    if sample_weight is None:
        return None
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number for each of the {n_rows} rows, got the shape {weights.shape}"
        )
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(
            f"sample_weight must not be negative, got {weights[row]:g} in row {row}; "
            "use 0 for a row that is to take no part"
        )
    if not weights.any():
        raise ValueError(
            "every sample_weight is zero: at least one row of each class needs a positive weight"
        )
    return np.asarray(weights)


def class_labels(y: Array, weights: Array | None, several: bool = False, advice: str = "") -> tuple[Array, Array]:
    """The classes among the rows of positive weight, and the number of each row's (-1 where it is not among them)."""
    present = y if weights is None else y[weights > 0]
    kind = type_of_target(present, input_name="y", raise_unknown=True)
    if kind != "binary":
        check_classification_targets(present)
    if kind != "binary" and not (several and kind == "multiclass"):
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"Choose the label that belongs at the top, for example y == 'relevant'{advice}"
        )
    classes = np.unique(present)
    if len(classes) < 2:
        raise ValueError(
            f"y holds 1 class only ({classes[0]!r}) among the rows of positive weight; ranking needs rows of "
            "two classes, and the positive is the one that sorts last"
        )
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return classes, np.where(classes[places] == y, places, -1)


def encode_groups(groups: Any, n_rows: int) -> tuple[Array, list[Hashable]]:
    """Number the groups in order of first appearance.

    Ids may be any hashable things, mixed ones too; lists of tuples stay tuples.

    >>> encode_groups(["b", ("a", 1), "b"], 3)
    (array([0, 1, 0]), ['b', ('a', 1)])
    """
    ids = (
        groups.tolist()
        if hasattr(groups, "tolist")
        else groups.to_list()
        if hasattr(groups, "to_list")
        else groups
    )
    try:
        ids = list(ids)
    except TypeError:
        raise TypeError(f"groups must hold one id for each row, got {groups!r}") from None
    if len(ids) != n_rows:
        raise ValueError(f"groups must hold one id for each of the {n_rows} rows, got {len(ids)} ids")
    numbers_of: dict[Hashable, int] = {}
    codes = np.empty(n_rows, dtype=np.intp)
    for row, name in enumerate(ids):
        try:
            code = numbers_of.setdefault(name, len(numbers_of))
        except TypeError:
            raise TypeError(
                f"a group id must be hashable, got {name!r} in row {row}; use a tuple or a string"
            ) from None
        codes[row] = code
    for name, code in numbers_of.items():
        if name is None or _is_missing(name):
            raise ValueError(
                f"groups has no id in row {int(np.argmax(codes == code))} (it is {name!r}); give such rows a "
                "group of their own, or leave them out"
            )
    return codes, list(numbers_of)


def _is_missing(name: Any) -> bool:
    """Whether an id is NaN, NaT or NA: what does not equal itself."""
    try:
        return not bool(name == name)
    except (TypeError, ValueError):
        return True
