"""What all convex rankers share: parameters checked, the feature map, stopping, progress, how far they got."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar

from shortlist.estimators._validation import check_choice, check_count, check_flag, check_number
from shortlist.exceptions import ConvergenceWarning
from shortlist.features import FeatureMap, feature_map
from shortlist.solvers.solution import Certificate

Callback = Callable[[int, float, float], None]

__all__ = ["Callback", "ConvexRanker"]

log = logging.getLogger(__name__)


class ConvexRanker:
    """Mixed into an estimator that minimises ``penalty + C * risk``, beside its kind (classifier, regressor)."""

    _solvers: ClassVar[tuple[str, ...]] = ()

    C: float
    tol: float
    max_iter: int | None
    verbose: int
    warm_start: bool = False
    solver: str
    kernel: Any
    gamma: Any
    scales: Any
    degree: int
    coef0: float
    kernel_params: Any
    n_landmarks: Any
    random_state: Any
    certificate_: Certificate

    def _check_weight(self) -> None:
        check_number("C", self.C, advice="it weighs the risk against the penalty; 1.0 is a start")

    def _check_parameters(self) -> None:
        self._check_weight()
        check_number("tol", self.tol, advice="it is a relative duality gap; 1e-4 is a start")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_count("verbose", self.verbose, least=0)
        if self._solvers:
            check_choice("solver", self.solver, self._solvers)

    def _feature_map(self) -> FeatureMap:
        if not hasattr(self, "kernel"):
            return feature_map(None)
        return feature_map(
            self.kernel,
            gamma=self.gamma,
            scales=self.scales,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_landmarks=self.n_landmarks,
            random_state=self.random_state,
        )

    def _stopping(self) -> dict[str, Any]:
        """Keyword arguments that every solver takes."""
        arguments: dict[str, Any] = {"tol": self.tol, "callback": self._callback()}
        if self.max_iter is not None:
            arguments["max_iter"] = self.max_iter
        return arguments

    def _callback(self) -> Callback | None:
        if not self.verbose:
            return None

        def report(n_iter: int, primal: float, bound: float) -> None:
            if n_iter % self.verbose == 0:
                name = type(self).__name__
                log.info("%s: step %d, objective %.8g, bound %.8g", name, n_iter, primal, bound)

        return report

    def _gap_complaints(self) -> list[Warning]:
        """A warning where the gap is not what was asked for."""
        certificate = self.certificate_
        if certificate.converged:
            return []
        return [
            ConvergenceWarning(
                f"{type(self).__name__} stopped at a relative gap of {certificate.relative_gap:.2g} after "
                f"{certificate.n_iter} steps; tol={certificate.tolerance:g} was asked for. Raise "
                "max_iter, scale the features, lower C or accept a larger tol"
            )
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags
