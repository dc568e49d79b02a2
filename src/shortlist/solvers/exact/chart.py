"""A chart of directions: coordinates in which the score differences that matter are alike in all directions.

    w = M u,   u on the surface of the cube [-1, 1]^s,   M nonsingular.

Any such M reaches every direction, so no proof depends on its choice; the boxes of the search live in u.  Around the
incumbent w* the pairs that a small change of w decides are those with the smallest angle |w*.D| / |D|.  Projected on
the complement of w*, with Q an orthonormal basis of it, they have a second moment C: the columns of M are w* / 2 and
Q C^(-1/2).  A box of u then cuts about equally many pairs in every coordinate, which needs several times fewer boxes
than the axes of the features do.

The point that competes is w / max_j |w_j|.  In u a pair is therefore won when  u.(M'D) >= margin max_j |M_j.u|, and a
box bounds the right-hand side from both sides.  With a price on coefficients each support has a chart of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import on_the_cube

Array = NDArray[Any]

__all__ = ["Chart", "ChartArrays", "make_chart"]

NEAREST = 150
FLOOR = 1e-3


class ChartArrays(NamedTuple):
    """What the bounds need of a chart.

    Attributes
    ----------
    D : (s, P) array
        Differences of the pairs in the chart, one pair a column.
    twins : (s, Q) array
    M : (s, s) array
    least, most : float
        Margins of which a difference must fall short to be surely lost, and reach to be surely won: the problem's,
        less and plus rounding.
    slack : float
        Rounding of the chart itself.
    """

    D: Array
    twins: Array
    M: Array
    least: float
    most: float
    slack: float


@dataclass(frozen=True)
class Chart:
    """The chart of a support, with the data seen through it.

    Attributes
    ----------
    support : (s,) int array
        Features that may have a coefficient.
    arrays : ChartArrays
    size : int
        Number of features of the problem.
    """

    support: Array
    arrays: ChartArrays
    size: int

    def point(self, u: Array) -> Array:
        """The coefficients at u, on the cube."""
        w = np.zeros(self.size)
        w[self.support] = self.arrays.M @ u
        return on_the_cube(w)

    def facets(self) -> tuple[Array, Array]:
        """Centres and half-widths of the boxes that cover the surface, the incumbent's own first."""
        s = len(self.support)
        axis, sign = np.repeat(np.arange(s), 2), np.tile([1.0, -1.0], s)
        rows = np.arange(2 * s)
        centre, radius = np.zeros((2 * s, s)), np.ones((2 * s, s))
        centre[rows, axis], radius[rows, axis] = sign, 0.0
        return centre, radius


def make_chart(pairs: PairForm, margin: float, support: Array, w: Array) -> Chart:
    """The chart around ``w`` restricted to a support (around the mean difference, where that is the origin)."""
    D = pairs.D[:, support]
    M = _columns(D, w[support])
    return Chart(
        support=support,
        arrays=ChartArrays(
            D=np.ascontiguousarray((D @ M).T),
            twins=np.ascontiguousarray((pairs.twins[:, support] @ M).T),
            M=np.ascontiguousarray(M),
            least=margin - pairs.rounding,
            most=margin + pairs.rounding,
            slack=pairs.rounding,
        ),
        size=pairs.D.shape[1],
    )


def _columns(D: Array, w: Array) -> Array:
    s = len(w)
    if not w.any():
        w = D.mean(axis=0) if len(D) else np.zeros(s)
    if not np.linalg.norm(w) > 0:
        w = np.ones(s)
    w = w / np.linalg.norm(w)
    complement = np.linalg.svd(w[None, :])[2][1:].T
    lengths = np.linalg.norm(D, axis=1)
    alive = lengths > 0
    near = np.argsort(np.abs(D[alive] @ w) / lengths[alive], kind="stable")[:NEAREST]
    projected = D[alive][near] @ complement
    values, vectors = np.linalg.eigh(projected.T @ projected) if len(near) else (np.ones(s - 1), np.eye(s - 1))
    top = values.max(initial=0.0)
    if top <= 0:
        values, top = np.ones(s - 1), 1.0
    root = (vectors / np.sqrt(np.maximum(values, FLOOR * top))) @ vectors.T
    basis = complement @ root
    widest = np.linalg.norm(basis, axis=0).max(initial=0.0)
    return np.column_stack([0.5 * w, basis / widest if widest > 0 else basis])
