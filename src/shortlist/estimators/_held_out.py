"""Rows that are held out to say when to stop, and the watch that does.

A share of the rows is chosen by what they hold: not by their order, nor by how often they are repeated, so that equal
rows stay together.  With groups whole groups are held out.
"""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._validation import TrainingRows, check_number, encode_groups, prediction_rows, row_weights
from shortlist.features.landmarks import row_keys, seed_of
from shortlist.metrics.scorers import METRICS
from shortlist.solvers.weak_rankers import Choice

Array = NDArray[Any]
Metric = Callable[..., float]

__all__ = ["EarlyStopping", "HeldOut", "check_validation", "held_out", "metric_of"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HeldOut:
    """Rows to measure on; ``y`` as the user names the labels, ``rows`` their numbers among those given to fit."""

    X: Any
    y: Array
    groups: Any
    weights: Array | None
    rows: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def metric_of(metric: Any) -> Metric:
    """A function of labels and scores of which more is better, from a name of ``shortlist.metrics`` or a callable."""
    if callable(metric):
        return lambda y, scores, **more: float(metric(y, scores, **more))
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a callable metric(y, scores), got {metric!r}")
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)} or a callable, got {metric!r}")
    function, greater = METRICS[metric]
    return lambda y, scores, **more: float(function(y, scores, **more)) * (1.0 if greater else -1.0)


def check_validation(validation: Any) -> None:
    """None, a share, arrays, a splitter or a callable."""
    wanted = (
        "validation must be None, a share of the rows, (X, y), (X, y, groups), (X, y, groups, sample_weight), a "
        f"splitter or a callable of X, y and groups that returns row numbers (train, held_out); got "
        f"{type(validation).__name__}"
    )
    if validation is None or callable(validation):
        return
    if hasattr(validation, "split") and not isinstance(validation, str):  # text has a split of another kind
        return
    if isinstance(validation, tuple | list):
        if not 2 <= len(validation) <= 4:
            raise ValueError(f"{wanted} of length {len(validation)}")
        return
    if isinstance(validation, str | bool) or not isinstance(validation, numbers.Real):
        raise TypeError(wanted)
    check_number("validation", validation, at_most=1.0, advice="it is the share of the rows to hold out")


def held_out(estimator: Any, rows: TrainingRows, random_state: Any) -> tuple[Array | None, HeldOut | None]:
    """Weights that keep the held-out rows from training, and these rows, as ``estimator.validation`` asks."""
    validation = estimator.validation
    if validation is None:
        return rows.weights, None
    if rows.labels is None:
        raise ValueError(
            "validation needs labels to measure by, and fit was given pairs alone: give y, or leave it out"
        )
    if isinstance(validation, tuple | list):
        return rows.weights, _given(estimator, rows, *validation)
    weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    ids = None if rows.groups is None else [rows.group_ids[code] for code in rows.groups]
    if isinstance(validation, numbers.Real):
        held = _share(rows, weights, float(validation), seed_of(random_state))
        train = ~held
    else:
        labels = rows.classes[rows.labels]
        if hasattr(validation, "split"):
            split = next(iter(validation.split(rows.X, labels, ids)))
        else:
            split = validation(rows.X, labels, ids)
        try:
            train, held = (_mask(part, len(labels)) for part in split)
        except (TypeError, ValueError, IndexError) as error:
            raise type(error)(f"validation must return row numbers (train, held_out): {error}") from None
        if (train & held).any():
            row = int(np.argmax(train & held))
            raise ValueError(f"validation puts row {row} both into training and among the held-out rows")
    held = held & (weights > 0)
    if not held.any():
        raise ValueError("validation holds out no row of positive weight")
    here = np.flatnonzero(held)
    part = HeldOut(
        rows.X[here],
        rows.classes[rows.labels[here]],
        None if rows.groups is None else rows.groups[here],
        None if rows.weights is None else rows.weights[here],
        here,
    )
    return np.where(train, weights, 0.0), part


def _mask(numbers_of_rows: Any, n_rows: int) -> Array:
    mask = np.zeros(n_rows, dtype=bool)
    mask[np.asarray(numbers_of_rows)] = True
    return mask


def _given(
    estimator: Any, rows: TrainingRows, X: Any, y: Any, groups: Any = None, sample_weight: Any = None
) -> HeldOut:
    X = prediction_rows(estimator, X)
    labels = np.asarray(y)
    if labels.shape != (X.shape[0],):
        raise ValueError(f"validation's y must hold one label for each of its {X.shape[0]} rows, got {labels.shape}")
    unknown = np.flatnonzero(~np.isin(labels, rows.classes))
    if len(unknown):
        raise ValueError(f"validation's y holds {labels[unknown[0]]!r}, which is no label of the training rows")
    codes = None if groups is None else encode_groups(groups, X.shape[0])[0]
    return HeldOut(X, labels, codes, row_weights(sample_weight, X.shape[0]))


def _share(rows: TrainingRows, weights: Array, share: float, seed: int) -> Array:
    """About a share of the weight of each class, or of the groups."""
    assert rows.labels is not None
    keys = row_keys(rows.X, seed)
    held = np.zeros(len(keys), dtype=bool)
    present = weights > 0
    if rows.groups is None:
        for label in range(len(rows.classes)):
            here = np.flatnonzero(present & (rows.labels == label))
            held[here] = _lowest(keys[here], weights[here], share)
            if not held[here].any() or held[here].all():
                raise ValueError(
                    f"validation={share:g} of the {len(here)} rows labelled {rows.classes[label]!r} leaves none to "
                    "train or none to hold out: give more rows, another share, or rows of your own as (X, y)"
                )
        return held
    lowest = np.full(len(rows.group_ids), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(lowest, rows.groups[present], keys[present])
    chosen = _lowest(lowest, np.ones(len(lowest)), share)
    held = chosen[rows.groups] & present
    if not held.any() or held[present].all():
        raise ValueError(
            f"validation={share:g} of {len(lowest)} groups leaves none to train or none to hold out: give more groups, "
            "another share, or rows of your own as (X, y, groups)"
        )
    return held


def _lowest(keys: Array, weights: Array, share: float) -> Array:
    """The lowest keys, of a share of the weight; equal keys stay together, and one is taken if possible."""
    _, inverse = np.unique(keys, return_inverse=True)
    running = np.cumsum(np.bincount(inverse, weights))
    n_taken = max(1, int(np.searchsorted(running, share * running[-1] * (1 + 1e-12), side="right")))
    return np.asarray(inverse < n_taken)


@dataclass
class EarlyStopping:
    """Measures after each round, and ends the fit when the best is ``patience`` rounds old.

    ``train.rows`` are places among the rows that are trained on, where repeated rows are one.
    """

    held: HeldOut
    train: HeldOut
    metric: Metric
    patience: int
    name: str
    verbose: int = 0
    train_scores: list[float] = field(default_factory=list)
    held_scores: list[float] = field(default_factory=list)
    best_round: int = 0

    def __post_init__(self) -> None:
        held = self.held
        self._X = held.X.tocsc() if hasattr(held.X, "tocsc") else held.X
        self._sums = [np.zeros(len(held.y)), np.zeros(self.train.X.shape[0])]

    def __call__(self, n_round: int, choice: Choice, step: float, loss: float) -> bool:
        self._sums[0] += step * choice.on(self._X)
        self._sums[1] += step * choice.values
        self.held_scores.append(self._measure(self.held, self._sums[0]))
        self.train_scores.append(self._measure(self.train, self._sums[1][self.train.rows]))
        if self.best_round == 0 or self.held_scores[-1] > self.held_scores[self.best_round - 1]:
            self.best_round = n_round
        if self.verbose and n_round % self.verbose == 0:
            log.info("%s: round %d, loss %.6g, held out %.6g", self.name, n_round, loss, self.held_scores[-1])
        return n_round - self.best_round >= self.patience

    def _measure(self, part: HeldOut, scores: Array) -> float:
        more: dict[str, Any] = {}
        if part.groups is not None:
            more["groups"] = part.groups
        if part.weights is not None:
            more["sample_weight"] = part.weights
        value = self.metric(part.y, scores, **more)
        if not np.isfinite(value):
            raise ValueError(
                f"the metric is {value} on held-out rows of the labels {np.unique(part.y).tolist()}: hold out rows on "
                "which it is defined, or take another metric"
            )
        return value
