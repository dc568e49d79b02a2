"""Which solver OWPC takes: the bundle, and where that is slow smoothed risks of falling width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from shortlist.risks.ordered_pairs import OrderedPairsRisk
from shortlist.risks.smooth_pairs import MOST_RANKS
from shortlist.solvers.annealed import solve_annealed
from shortlist.solvers.bundle import PlaneSolution, solve_bundle
from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["minimise_pairs"]

FEW_ROWS = 5000
FEW_STEPS, MANY_STEPS = 50, 300  # of the bundle, before the other is tried, on more and on fewer rows than that


def minimise_pairs(
    X: Any, risk: OrderedPairsRisk, C: float, start: Array | None, *, smoothed: bool, max_iter: int, **stopping: Any
) -> PlaneSolution:
    """The bundle; if allowed and if that takes many steps smoothed risks, and the bundle again for what is left."""
    lists = risk.lists
    able = smoothed and lists.n_groups == 1 and lists.negative_weights.sum() <= MOST_RANKS
    first = MANY_STEPS if X.shape[0] <= FEW_ROWS else FEW_STEPS
    if not able or max_iter <= first:
        return solve_bundle(X, risk, C, start=start, max_iter=max_iter, **stopping)
    parts = [solve_bundle(X, risk, C, start=start, max_iter=first, **stopping)]
    for solve in (solve_annealed, solve_bundle):
        left = max_iter - sum(part.certificate.n_iter for part in parts)
        if parts[-1].certificate.converged or left <= 0:
            break
        found = solve(X, risk, C, start=parts[-1].coef, max_iter=left, **stopping)
        parts.append(_better(found, parts[-1]))
    return _together(parts)


def _better(found: PlaneSolution, before: PlaneSolution) -> PlaneSolution:
    """The lower of the two objectives, the higher of the two bounds with its evidence; the later fit's figures."""
    one, other = found.certificate, before.certificate
    coef, primal = (found.coef, one.primal) if one.primal <= other.primal else (before.coef, other.primal)
    proof, bound = (found, one.bound) if one.bound >= other.bound else (before, other.bound)
    certificate = _certificate(primal, bound, one, one.n_iter, one.n_passes, one.seconds)
    return replace(proof, coef=coef, certificate=certificate)


def _together(parts: list[PlaneSolution]) -> PlaneSolution:
    """The last with the steps, passes and seconds of all."""
    steps, passes, seconds = (
        sum(getattr(part.certificate, name) for part in parts) for name in ("n_iter", "n_passes", "seconds")
    )
    last = parts[-1].certificate
    return replace(parts[-1], certificate=_certificate(last.primal, last.bound, last, steps, passes, seconds))


def _certificate(
    primal: float, bound: float, like: Certificate, steps: int, passes: float, seconds: float
) -> Certificate:
    return Certificate.of(primal, bound, tolerance=like.tolerance, n_iter=steps, n_passes=passes, seconds=seconds)
