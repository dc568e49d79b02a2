"""What is measured on the test rows of a split, and at how many places."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from shortlist.metrics.scorers import METRICS

Array = NDArray[Any]

__all__ = ["DEFAULT_METRICS", "Measure", "make_measures"]

DEFAULT_METRICS = ("precision_at_budget", "recall_at_budget", "average_precision", "positives_at_top", "auc")
AT_BUDGET = {"precision_at_budget": "precision_at_k", "recall_at_budget": "recall_at_k"}
TITLES = {
    "precision_at_budget": "precision at the budget",
    "recall_at_budget": "recall at the budget",
    "average_precision": "average precision",
    "positives_at_top": "positives at top",
    "pos_at_top": "share of positives at top",
    "auc": "AUC",
}


@dataclass(frozen=True)
class Measure:
    """A figure of a ranked list.

    Attributes
    ----------
    name : str
    function : callable
        ``function(y, scores, groups=..., sample_weight=...)``, or of ``y`` and ``scores`` alone.
    more_is_better : bool
    at_budget : bool
        Whether it wants ``k``.
    own : bool
        Whether it came from the user.
    """

    name: str
    function: Callable[..., float]
    more_is_better: bool = True
    at_budget: bool = False
    own: bool = False

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name.replace("_", " "))

    def __call__(self, labels: Array, scores: Array, k: int, groups: Array | None, weights: Array | None) -> float:
        if self.own:
            return float(self.function(labels, scores))
        extra = {"k": k} if self.at_budget else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(self.function(labels, scores, groups=groups, sample_weight=weights, **extra))


def make_measures(metrics: Any) -> list[Measure]:
    """Measures by name, from a list of names or a mapping of names to functions of labels and scores."""
    if isinstance(metrics, str):
        metrics = [metrics]
    if isinstance(metrics, Mapping):
        made = []
        for name, function in metrics.items():
            if callable(function):
                made.append(Measure(str(name), function, own=True))
            else:
                raise TypeError(f"metrics[{name!r}] must be a function of labels and scores, got {function!r}")
    elif isinstance(metrics, Sequence):
        made = [_named(name) for name in metrics]
    else:
        raise TypeError(f"metrics must be a list of names or a dict of functions, got {metrics!r}")
    if not made:
        raise ValueError("metrics is empty; name at least one, such as 'precision_at_budget'")
    return made


def _named(name: Any) -> Measure:
    known = [*AT_BUDGET, *METRICS]
    if name not in known:
        raise ValueError(f"metrics holds {name!r}; known are {', '.join(known)}")
    function, more = METRICS[AT_BUDGET.get(name, name)]
    return Measure(name, function, more, at_budget=name in AT_BUDGET)
