"""A chart of directions: coordinates in which the score differences that matter are alike in all directions.

    w = M u,   u on the surface of the cube [-1, 1]^s,   M nonsingular.

Any such M reaches every direction, so no proof depends on its choice; the boxes of the search live in u.  Around the
incumbent w* the pairs that a small change of w decides are those with the smallest angle |w*.D| / |D|.  Projected on
the complement of w*, with Q an orthonormal basis of it, they have a second moment C: the columns of M are w* / 2 and
Q C^(-1/2).  A box of u then cuts about equally many pairs in every coordinate, which on continuous features needs
several times fewer boxes than their axes do.  Discrete features are another matter: many pairs differ in a few of them
alone, and a box along the axes decides these at once.  So there are two kinds of charts, ``whitened`` and ``scaled``
(the axes, each divided by the spread of the same pairs), and the search tries both.

The point that competes is w / max_j |w_j|.  In u a pair is therefore won when  u.(M'D) >= margin max_j |M_j.u|, and a
box bounds the right-hand side from both sides.  With a price on coefficients each support has a chart of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import on_the_cube

Array = NDArray[Any]

__all__ = ["KINDS", "Atlas", "Chart", "ChartArrays", "Kind", "make_chart"]

Kind = Literal["whitened", "scaled"]
KINDS: tuple[Kind, ...] = ("whitened", "scaled")

NEAREST = 150
FLOOR = 1e-3
# Charts kept at a time; one is made again when needed.
CHARTS = 64


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


class Atlas:
    """The charts of a search, by number; made when they are needed, and again when they were forgotten.

    Parameters
    ----------
    pairs : PairForm
    margin : float
    centre : (d,) array
        The weights around which all charts are made.
    """

    def __init__(self, pairs: PairForm, margin: float, centre: Array) -> None:
        self._pairs, self._margin, self._centre = pairs, margin, centre
        self._wanted: list[tuple[Array, Kind]] = []
        self._made: dict[int, Chart] = {}

    def add(self, support: Array, kind: Kind) -> int:
        """The number of a further chart."""
        self._wanted.append((support, kind))
        return len(self._wanted) - 1

    def __getitem__(self, number: int) -> Chart:
        if number not in self._made:
            if len(self._made) >= CHARTS:
                del self._made[next(iter(self._made))]
            support, kind = self._wanted[number]
            self._made[number] = make_chart(self._pairs, self._margin, support, self._centre, kind)
        return self._made[number]


def make_chart(pairs: PairForm, margin: float, support: Array, w: Array, kind: Kind = "whitened") -> Chart:
    """The chart around ``w`` restricted to a support (around the mean difference, where that is the origin)."""
    D = pairs.D[:, support]
    M = _whitened(D, w[support]) if kind == "whitened" else _scaled(D, w[support])
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


def _middle(D: Array, w: Array) -> Array:
    """A direction of length 1 for the chart to be made around."""
    if not w.any():
        w = D.mean(axis=0) if len(D) else np.zeros(len(w))
    if not np.linalg.norm(w) > 0:
        w = np.ones(len(w))
    return np.asarray(w / np.linalg.norm(w))


def _nearest(D: Array, w: Array) -> Array:
    """The differences that a small change of ``w`` decides."""
    lengths = np.linalg.norm(D, axis=1)
    alive = lengths > 0
    near = np.argsort(np.abs(D[alive] @ w) / lengths[alive], kind="stable")[:NEAREST]
    return np.asarray(D[alive][near])


def _whitened(D: Array, w: Array) -> Array:
    w = _middle(D, w)
    s, near = len(w), _nearest(D, w)
    complement = np.linalg.svd(w[None, :])[2][1:].T
    projected = near @ complement
    values, vectors = np.linalg.eigh(projected.T @ projected) if len(near) else (np.ones(s - 1), np.eye(s - 1))
    top = values.max(initial=0.0)
    if top <= 0:
        values, top = np.ones(s - 1), 1.0
    root = (vectors / np.sqrt(np.maximum(values, FLOOR * top))) @ vectors.T
    basis = complement @ root
    widest = np.linalg.norm(basis, axis=0).max(initial=0.0)
    return np.column_stack([0.5 * w, basis / widest if widest > 0 else basis])


def _scaled(D: Array, w: Array) -> Array:
    near = _nearest(D, _middle(D, w))
    spread = np.sqrt((near**2).mean(axis=0)) if len(near) else np.ones(len(w))
    floor = np.sqrt(FLOOR) * spread.max(initial=0.0)
    scale = 1 / np.maximum(spread, floor) if floor > 0 else np.ones(len(w))
    return np.asarray(np.diag(scale / scale.max()))
