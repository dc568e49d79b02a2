"""Ordered weighted pairs, smoothed: what Newton's method can minimise, and a bound of the risk itself from its slopes.

With N(u) the number of negatives whose score is above u, A(u) the share of the positives whose score less 1 is below u,
and F the cumulated weights, a positive pays the integral of F(N(u)) from s_i - 1 on.  So for one list

    risk(s) = integral of F(N(u)) A(u) du:

the order of the rows is gone, and what is left are two step functions.  Smoothed, each row's step is spread over a
``width``:  N(u) = sum_j v_j S((s_j - u) / width),  A(u) = sum_i a_i S((u + 1 - s_i) / width),  F is smooth and concave.

*Convex.*  With densities n_j of the steps, d N = sum_j n_j v_j d s_j, the second derivative is the integral of

    -F'' A [ sum_j v_j n_j ds_j^2 sum_k v_k n_k - (sum_j v_j n_j ds_j)^2 ]
        + F' sum_ij a_i v_j n_i n_j (ds_i - ds_j)^2,

and neither part is ever negative.  The first is that of negatives which change places, the second that of the hinges.

On a grid.  Scores go to a grid of 16 nodes to a width by cubic splines, which a triangle then spreads; the integral is
a sum over the nodes.  O(rows + nodes) for value, gradient and each product with the Hessian, without any sort.

A bound.  The risk itself is the largest of sum_i l_i (1 - s_i) + sum_j b_j s_j over 0 <= l_i <= a_i and b >= 0 of the
same sum, such that no set of negatives of weight t has more of b than  sum_i min(a_i F(t), l_i)  (the base of a
polymatroid: b is shared among the ranks by the weights that the positives' prefixes leave).  The smoothed slopes very
nearly fit; what is too much is mended by a little of the even distribution, which always fits.  So a minimum of the
smoothed risk proves a bound for the true one, however many rows are tied: the cuts of ``solvers.bundle`` know one order
at a time and need as many as there are tied rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.ordered_pairs import OrderedPairsRisk

Array = NDArray[Any]

__all__ = ["MOST_RANKS", "SmoothedPairs", "mended"]

NODES = 16  # to a width
MOST_NODES = 2**22
MOST_RANKS = 2**20


class _Splines(NamedTuple):
    """Cubic splines of rows at their four nodes: places, values and derivatives."""

    at: Array
    value: Array
    slope: Array


def _splines(x: Array, inside: Array) -> _Splines:
    node = np.floor(x).astype(np.intp)
    f = x - node
    g = 1.0 - f
    value = np.stack([g**3, 3 * f**3 - 6 * f**2 + 4, 3 * g**3 - 6 * g**2 + 4, f**3]) / 6
    slope = np.stack([-(g**2), 3 * f**2 - 4 * f, -3 * g**2 + 4 * g, f**2]) / 2 * inside
    return _Splines(node + np.arange(-1, 3)[:, None], value, slope)


class SmoothedPairs:
    """The smoothed risk of one list.

    Parameters
    ----------
    risk : OrderedPairsRisk
        Of one group.
    width : float
        Half of what each step is spread over; the margin of a pair is 1.

    Examples
    --------
    >>> risk = OrderedPairsRisk.from_labels(np.array([1, 0, 0]))
    >>> s = np.array([0.0, 0.5, -0.3])
    >>> [round(SmoothedPairs(risk, width).value_and_subgradient(s)[0], 3) for width in (0.3, 0.01)]
    [1.23, 1.201]
    >>> round(risk.value(s), 3)  # the lines of the smooth F join few ranks roughly, many well
    1.233
    """

    smooth = True
    nonnegative = True

    def __init__(self, risk: OrderedPairsRisk, width: float) -> None:
        lists = risk.lists
        if lists.n_groups != 1:
            raise ValueError(f"the smoothed risk is that of one list, got {lists.n_groups} groups")
        total = float(lists.negative_weights.sum())
        if total > MOST_RANKS:
            raise ValueError(f"the smoothed risk has room for {MOST_RANKS} ranks, got {total:g}")
        self.n_rows, self.step = risk.n_rows, width / NODES
        self.a, self.v = lists.positive_weights, lists.negative_weights
        self.positives, self.negatives = lists.positives, lists.negatives
        alpha = np.diff(risk.share(np.arange(np.ceil(total) + 1.0))) / risk.totals[0]
        self.alpha = np.concatenate([alpha[:1], alpha, alpha[-1:]])
        self.sums = np.concatenate([[0.0], np.cumsum((self.alpha[:-1] + self.alpha[1:]) / 2)]) - self.alpha[0] / 2
        self.scores: Array | None = None

    def _prepare(self, scores: Array) -> None:
        """Everything that hangs on the scores alone."""
        if self.scores is not None and np.array_equal(self.scores, scores):
            return
        self.scores, h = np.array(scores), self.step
        x, y = scores[self.negatives], scores[self.positives] - 1.0
        margin = (2 * NODES + 8) * h
        low = np.floor((float(y.min()) - margin) / h) * h  # below it nobody pays
        nodes = (max(float(x.max()), low) + margin - low) / h + 8
        if not nodes <= MOST_NODES:
            raise OverflowError(f"scores are too far apart for a grid of step {h:g}: {nodes:.3g} nodes")
        self.nodes = int(nodes)
        places = [np.clip((z - low) / h, 1.0, self.nodes - 3.0) for z in (x, y)]
        self.of_negatives, self.of_positives = (_splines(z, (z > 1) & (z < self.nodes - 3)) for z in places)
        # Above the highest negative the count is 0: no rounding may be left of it.
        count = self._suffix(_spread(self._scatter(self.of_negatives, self.of_negatives.value * self.v)))
        self.share, self.rate, self.bend = self._weights(np.maximum(count, 0.0))
        self.below = np.cumsum(_spread(self._scatter(self.of_positives, self.of_positives.value * self.a)))
        self.pull = _spread(h * np.cumsum(self.rate * self.below), edge=True)
        self.push = _spread(h * self._suffix(self.share), edge=True)

    def _weights(self, t: Array) -> tuple[Array, Array, Array]:
        """F, F' and F'' of the smooth F: its derivative joins the weights of the ranks by lines."""
        rank = np.minimum((t + 0.5).astype(np.intp), len(self.alpha) - 2)
        rest, here = t + 0.5 - rank, self.alpha[rank]
        bend = self.alpha[rank + 1] - here
        return self.sums[rank] + rest * (here + 0.5 * rest * bend), here + rest * bend, bend

    def _scatter(self, of: _Splines, amounts: Array) -> Array:
        return np.bincount(of.at.ravel(), amounts.ravel(), self.nodes)

    @staticmethod
    def _suffix(a: Array) -> Array:
        return np.asarray(np.cumsum(a[::-1])[::-1])

    def value_and_subgradient(self, scores: Array) -> tuple[float, Array]:
        """The smoothed risk and its gradient."""
        self._prepare(np.asarray(scores, dtype=np.float64))
        h, gradient = self.step, np.zeros(self.n_rows)
        for rows, weight, of, field in self._sides(self.pull, self.push):
            gradient[rows] = weight * (field[of.at] * of.slope).sum(axis=0) / h
        return h * float(self.share @ self.below), gradient

    def row_curvature(self, scores: Array) -> Array:
        """The diagonal of the Hessian, but for the part that a row has in its own rank."""
        self._prepare(np.asarray(scores, dtype=np.float64))
        return np.maximum(-self._coupled(np.ones(self.n_rows)), 0.0)

    def hessian(self, scores: Array) -> Callable[[Array], Array]:
        """Product with the Hessian of the integral, as a form that the grid cannot make negative.

        All rows moved alike change nothing: that says what the diagonal is, given the rest.
        """
        own = self.row_curvature(scores)
        return lambda u: own * u + self._coupled(u)

    def _coupled(self, u: Array) -> Array:
        """What moving the rows by u changes in the slopes of others, and in its own by way of the fields."""
        h, out = self.step, np.zeros(self.n_rows)
        up, down = u[self.positives] * self.a / h, u[self.negatives] * self.v / h
        of_negatives, of_positives = self.of_negatives, self.of_positives
        count = self._suffix(_spread(self._scatter(of_negatives, of_negatives.slope * down)))
        below = np.cumsum(_spread(self._scatter(of_positives, of_positives.slope * up)))
        pull = _spread(h * np.cumsum(self.bend * self.below * count + self.rate * below), edge=True)
        push = _spread(h * self._suffix(self.rate * count), edge=True)
        for rows, weight, of, field in self._sides(pull, push):
            out[rows] = weight * (field[of.at] * of.slope).sum(axis=0) / h
        return out

    def _sides(self, pull: Array, push: Array) -> Any:
        yield self.negatives, self.v, self.of_negatives, pull
        yield self.positives, self.a, self.of_positives, push


def _spread(a: Array, edge: bool = False) -> Array:
    """Convolution with a triangle of half width NODES, beyond the ends 0 or the values there.

    >>> _spread(np.eye(1, 41, 20)[0])[10:31:5]
    array([0.0234375 , 0.04296875, 0.0625    , 0.04296875, 0.0234375 ])
    """
    half = NODES // 2
    for before, after in ((half, half - 1), (half - 1, half)):
        padded = np.pad(a, (before, after), mode="edge") if edge else np.pad(a, (before, after))
        sums = np.concatenate([[0.0], np.cumsum(padded)])
        a = (sums[NODES:] - sums[:-NODES]) / NODES
    return np.asarray(a)


def mended(risk: OrderedPairsRisk, slope: Array) -> tuple[Array, float]:
    """Slopes that fit exactly, from such as nearly do, and the height h of their plane: risk(s) >= slope @ s + h.

    >>> risk = OrderedPairsRisk.from_labels(np.array([1, 0, 0]))
    >>> mended(risk, np.array([-1.0, 0.9, 0.1]))[0].round(6)  # no negative may bear more than 2/3
    array([-1.      ,  0.666667,  0.333333])
    """
    lists = risk.lists
    if lists.n_groups != 1:
        raise ValueError(f"slopes are mended for one list, got {lists.n_groups} groups")
    a, v = lists.positive_weights, lists.negative_weights
    borne = np.clip(-slope[lists.positives], 0.0, a)
    height = float(borne.sum())
    even = height * v / v.sum()
    shares = np.maximum(slope[lists.negatives], 0.0)
    shares = shares * (height / shares.sum()) if shares.sum() > 0 else even
    order = np.argsort(-shares / v)
    reached = risk.share(np.cumsum(v[order])) / risk.totals[0]
    # What a set may bear: sum_i a_i min(reached, borne_i / a_i).
    level = np.sort(borne / a)
    by_level = np.argsort(borne / a)
    count = np.searchsorted(level, reached)
    low, mass = (np.concatenate([[0.0], np.cumsum(x[by_level])]) for x in (borne, a))
    most = low[count] + reached * (mass[-1] - mass[count])
    excess = np.cumsum(shares[order]) - most
    room = np.cumsum((shares - even)[order])
    broken = excess > 1e-12 * height  # less is rounding
    mend = min(1.0, float((excess[broken] / room[broken]).max())) if broken.any() else 0.0
    return lists.spread(-borne, (1.0 - mend) * shares + mend * even), height
