"""Whether w = 0 is optimal, whatever C: the top family's degenerate optimum.

Every positive has the same slope l'(0) at w = 0, so there the risk falls along v exactly when the (weighted) mean m of
the positives scores above the threshold.  With Y the set of points  sum_g lambda_g y_g,  y_g in the convex hull of the
negatives of group g (weights capped for a mean of the largest), lambda_g the group's share of the positives,

    w = 0 is optimal   <=>   theta(v) >= v.m for all v   <=>   m lies in Y.

Problem: the projection of m onto Y,

    minimise over y in Y   1/2 ||m - y||^2   =   - min over v   1/2 ||v||^2 + theta(v) - v.m,

whose right-hand side is the family's own objective with the loss l(z) = z: the certified search solves it, and the
residual v = m - y is the direction in which a small w should go.

Cost: a few passes over the data, as a fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.surrogates import Surrogate
from shortlist.risks.top import TopRisk
from shortlist.solvers.interior.search import Search
from shortlist.solvers.rows import Rows

Array = NDArray[Any]

__all__ = ["escape_direction"]

# Distances below this share of the data's extent count as rounding.
RELATIVE_DISTANCE = 1e-6


class _Identity(Surrogate):
    """``l(z) = z``: what every surrogate is for small w, but for its slope."""

    name: ClassVar[str] = "identity"
    dual_upper: ClassVar[float] = 1.0

    def value(self, z: Array) -> Array:
        return z

    def derivative(self, z: Array) -> Array:
        return np.ones_like(z)

    def second_derivative(self, z: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, a: Array) -> Array:
        return np.where(np.abs(a - 1) <= 1e-9, 0.0, np.inf)


def escape_direction(X: Any, risk: TopRisk, *, tol: float = 1e-6, max_iter: int = 300) -> Array | None:
    """The residual ``m - y`` of the projection, or None where it is zero to rounding: w = 0 then is optimal.

    Parameters
    ----------
    X : (n_rows, d) array or CSR matrix
    risk : TopRisk
        Its surrogate does not matter.
    tol : float
        Relative gap of the projection.
    max_iter : int
        Most interior point steps.

    Examples
    --------
    A positive between two negatives cannot be put first by any direction; one beside them can.

    >>> import numpy as np
    >>> from shortlist.risks.surrogates import surrogate
    >>> from shortlist.risks.thresholds import Maximum
    >>> y = np.array([True, False, False])
    >>> risk = TopRisk.from_labels(y, surrogate("hinge"), Maximum())
    >>> escape_direction(np.array([[0.5], [0.0], [1.0]]), risk) is None
    True
    >>> v = escape_direction(np.array([[0.5, 1.0], [0.0, 0.0], [1.0, 0.0]]), risk)
    >>> bool(np.allclose(v, [0, 1], atol=1e-2))
    True
    """
    extent = _extent(X, risk)
    if extent == 0.0:
        return None
    # With C = 1 / extent^2 the problem is that of features of extent one, and the solution is C v.
    C = extent**-2
    search = Search(X, replace(risk, surrogate=_Identity()), C, tol, proof=0.5 * RELATIVE_DISTANCE**2 * extent**2)
    search.begin()
    search.run(max_iter)
    return search.w / C if -search.bound > 0.5 * RELATIVE_DISTANCE**2 and search.best < 0 else None


def _extent(X: Any, risk: TopRisk) -> float:
    """Root mean square distance of some negatives from the positives' mean."""
    centre = Rows(X, risk.positives).t_dot(risk.positive_weights)
    negatives = Rows(X, risk.negatives)
    some = np.unique(np.linspace(0, len(negatives) - 1, 1000).astype(np.intp))
    total, size = 0.0, max(1, 2**21 // max(X.shape[1], 1))
    for first in range(0, len(some), size):
        rows = negatives.dense(some[first : first + size]) - centre
        total += float(np.einsum("ij,ij->", rows, rows))
    return float(np.sqrt(total / len(some)))
