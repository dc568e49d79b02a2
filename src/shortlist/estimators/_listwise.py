"""What the listwise estimators share: one risk, the bundle solver, a cut for ``predict``."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._base import Objective, Outcome, TopClassifier, warm
from shortlist.estimators._cuts import group_cuts
from shortlist.estimators._validation import TrainingRows
from shortlist.estimators.top import risk_of
from shortlist.risks.lists import Lists
from shortlist.risks.thresholds import Maximum
from shortlist.solvers.bundle import BundleRisk, PlaneSolution, solve_bundle
from shortlist.solvers.solution import Solution
from shortlist.solvers.working_set import solve_top

Array = NDArray[Any]

__all__ = ["ListObjective", "ListwiseClassifier"]

MOST_STEPS = 5000


@dataclass(frozen=True)
class ListObjective:
    """The problem that a fit solved: 1/2 ||w||^2 + C * risk.

    Attributes
    ----------
    C : float
    measure : {'ordered_pairs', 'partial_auc', 'average_precision'}
        What the risk stands for.
    weights : str or array
        Of 'ordered_pairs': the family, or the weights by rank.
    k : float
        Of the family 'top'.
    min_fpr, max_fpr : float
        Of 'partial_auc'.
    tight : bool
        Of 'partial_auc'.
    """

    C: float
    measure: str
    weights: Any = "mean"
    k: float = 1.0
    min_fpr: float = 0.0
    max_fpr: float = 1.0
    tight: bool = True


class _Labelled(Protocol):
    """How a risk is made of labelled rows."""

    def __call__(self, is_positive: Array, *, groups: Array | None, sample_weight: Array | None) -> BundleRisk: ...


class ListwiseClassifier(TopClassifier):
    """Base of `OWPC`, `SVMpAUC` and `SVMMAP`; a subclass says which risk."""

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "bundle")

    @abstractmethod
    def _objective(self) -> ListObjective:
        """The problem in the words of the house."""

    @abstractmethod
    def _risk(self, problem: ListObjective) -> _Labelled:
        """What makes the risk of labelled rows."""

    def _is_maximum(self, lists: Lists) -> bool:
        """Whether only the best negative of each group counts: the Infinite Push, which has a faster solver."""
        return False

    def _stopping(self) -> dict[str, Any]:
        return {"max_iter": MOST_STEPS, **super()._stopping()}

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        problem = self._objective()
        lists = Lists.from_labels(rows.is_positive, groups=rows.groups, sample_weight=rows.weights)
        if self.solver == "auto" and self._is_maximum(lists):
            return self._pushed(X, rows, start)
        taking_part = np.sort(np.concatenate([lists.positives, lists.negatives]))
        Z, part = X, rows
        if len(taking_part) < X.shape[0]:  # without the others the fit is the same to the last bit
            Z, part = X[taking_part], _selected(rows, taking_part)
        risk = self._risk(problem)(part.is_positive, groups=part.groups, sample_weight=part.weights)
        begin = start.coef if start is not None and start.coef.shape == (X.shape[1],) else None
        solution = self._minimise(Z, risk, problem.C, begin)
        groups, thresholds, shares = group_cuts(np.asarray(Z @ solution.coef), part)
        dual = np.zeros(X.shape[0])
        dual[taking_part] = solution.dual
        fitted = {"bound_points_": solution.points, "bound_weights_": solution.point_weights}
        return Outcome(replace(solution, thresholds=thresholds, dual=dual), problem, groups, shares, fitted)

    def _minimise(self, X: Any, risk: Any, C: float, start: Array | None) -> PlaneSolution:
        """The solver of choice."""
        return solve_bundle(X, risk, C, start=start, **self._stopping())

    def _pushed(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        """The working-set solver of the top family, whose certificate rests on dual variables, not on planes."""
        risk = risk_of(rows, "hinge", Maximum())
        solution = solve_top(X, risk, float(self.C), start=warm(start, X), **super()._stopping())
        groups, thresholds, shares = group_cuts(np.asarray(X @ solution.coef), rows)
        objective = Objective("l2", float(self.C), "hinge", "max")
        fitted = {"bound_points_": np.empty((0, X.shape[1])), "bound_weights_": np.empty(0)}
        return Outcome(replace(solution, thresholds=thresholds), objective, groups, shares, fitted)

    def _degenerate_advice(self) -> str:
        return (
            "w = 0 is the optimum: the positives as a whole do not differ from the negatives that the risk compares "
            "them with, so that no C changes it. A risk that looks at more of the list, more features, or a kernel help"
        )


def _selected(rows: TrainingRows, kept: Array) -> TrainingRows:
    def of(a: Array | None) -> Array | None:
        return None if a is None else a[kept]

    return replace(
        rows, X=None, is_positive=rows.is_positive[kept], groups=of(rows.groups), weights=of(rows.weights),
        origin=None, labels=None,
    )  # fmt: skip
