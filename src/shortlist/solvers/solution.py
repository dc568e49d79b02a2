"""What a solver returns: coefficients, and the evidence that they are as good as the method can make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Certificate", "Solution"]


@dataclass(frozen=True)
class Certificate:
    """Evidence of optimality of a convex fit.

    Attributes
    ----------
    primal : float
        Objective 1/2 ||w||^2 + C * risk at the returned coefficients.
    bound : float
        Proven lower bound of the objective over all coefficients.
    gap, relative_gap : float
        ``primal - bound``, and that over ``|primal|``.
    tolerance : float
        Relative gap that was asked for.
    converged : bool
        ``relative_gap <= tolerance``.
    n_iter : int
        Steps of the solver.
    n_passes : float
        Products of the whole training matrix with a vector; a product with a share of its rows counts that share.
    seconds : float
        Wall time of the solver.
    """

    primal: float
    bound: float
    gap: float
    relative_gap: float
    tolerance: float
    converged: bool
    n_iter: int
    n_passes: float
    seconds: float

    @classmethod
    def of(
        cls, primal: float, bound: float, *, tolerance: float, n_iter: int, n_passes: float, seconds: float
    ) -> Certificate:
        """A certificate from its two sides.

        >>> Certificate.of(2.0, 1.5, tolerance=0.1, n_iter=3, n_passes=4.0, seconds=0.0).relative_gap
        0.25
        """
        gap = max(primal - bound, 0.0)
        relative_gap = gap / max(abs(primal), np.finfo(float).tiny) if np.isfinite(gap) else np.inf
        return cls(
            primal=float(primal),
            bound=float(bound),
            gap=float(gap),
            relative_gap=float(relative_gap),
            tolerance=float(tolerance),
            converged=bool(relative_gap <= tolerance),
            n_iter=int(n_iter),
            n_passes=float(n_passes),
            seconds=float(seconds),
        )

    def __str__(self) -> str:
        word = "converged" if self.converged else "NOT converged"
        return (
            f"{word}: objective {self.primal:.6g}, proven bound {self.bound:.6g}, relative gap {self.relative_gap:.1e} "
            f"(asked {self.tolerance:.0e}), {self.n_iter} iterations, {self.n_passes:.1f} passes, {self.seconds:.3f} s"
        )


@dataclass(frozen=True)
class Solution:
    """Outcome of a solver, in the solver's own terms.

    Attributes
    ----------
    coef : (d,) array
        ``w``: the score of a row is its product with w.
    thresholds : (n_groups,) array
        What positives had to beat in training, a group each.
    certificate : Certificate
    dual : (n_rows,) array
        Signed dual variables: alpha_i of positives, -beta_j of negatives, 0 elsewhere, so that ``coef`` is close to
        ``X.T @ dual`` and equal to it at the optimum.
    """

    coef: Array
    thresholds: Array
    certificate: Certificate
    dual: Array
