"""Ascent by exact line search: good answers to the exact problems within a second.

    maximise over w with max_j |w_j| = 1, or w = 0:   statistic(X w) - l0 ||w||_0.

One step takes a direction v, makes it orthogonal to w, and looks at all of the half circle that w and v span, or at a
part of it where the pairs are many: every statistic on the way is known from one sort (``line_search``).  The step goes
to the middle of the best arc, the widest among equals, and so also wanders over plateaus.  A climb ends after
``patience`` lines without a better answer.  The first climbs begin at the weights given and at convex ones
(``starts``), the later ones at the best answer, perturbed, now and then anywhere.

With a price on coefficients a direction stays inside the support, enters one more coefficient, or drops one; setting a
coefficient to zero is looked at by itself, since it is one point of a line.

The lines tell where to look; an answer counts by what ``problem.value`` says of it.

Cost of a step: two operations a pair of rows that compete and a sort of those that change hands, at most about
``EVENTS`` of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact import compiled_ascent
from shortlist.solvers.exact.line_search import Pairs, Scope, pairs_of, search_segment
from shortlist.solvers.exact.outcome import Callback, ExactCertificate, ExactSolution, Progress
from shortlist.solvers.exact.problem import ExactProblem, RankProblem, on_the_cube
from shortlist.solvers.exact.starts import convex_starts

Array = NDArray[Any]

__all__ = ["Climber", "solve_ascent"]

# What a line may cost in events; beyond, it is looked at in part.
EVENTS = 20_000
# tan of the largest angle to either side: 88.6 degrees, all of the half circle but for a sliver.
WHOLE = 40.0
# Ties between positives, a positive, from which on the lines count them; equal rows always do; and at most these pairs.
TIED, MANY, ROW_PAIRS = 0.1, 1_000_000, 4_000_000
# Shares of the directions; the others are normal.  In whitened columns the ascent ended at a third of the distance from
# the best known answers that it had in plain ones, on six sets of 50 to 250 rows.
COORDINATES, DIFFERENCES = 0.2, 0.1
# Columns up to which directions are whitened, and how many supports are remembered.
WIDEST, METRICS = 300, 1_000
# What counts as better: more than the rounding of sums.
BETTER = 1e-9


class Climber:
    """Ascent on one problem, with its best answer so far.

    Parameters
    ----------
    problem : ExactProblem
    rng : numpy.random.Generator
    compiled : bool, optional
        Use Numba; the default does where it is installed.

    Attributes
    ----------
    best_w : (d,) array
        On the cube, or 0.
    best_value : float
        ``problem.value(best_w)``.
    n_lines : int
        Line searches made.
    varies : int array
        Columns that are not constant: no other can change an order.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [2.0, 5.0], [1.0, 3.0]])
    >>> problem = RankProblem.of(X, np.array([True, False, True]), "wrs")
    >>> climber = Climber(problem, np.random.default_rng(0))
    >>> climber.climb(np.array([0.0, 1.0])), problem.trivial_bound
    (5.0, 5.0)
    """

    def __init__(self, problem: ExactProblem, rng: np.random.Generator, *, compiled: bool | None = None) -> None:
        self.problem = problem
        self.rng = rng
        self.compiled = compiled_ascent.available() if compiled is None else compiled
        self.pairs: Pairs = pairs_of(problem, _scope(problem))
        self.n_lines = 0
        self.best_w = np.zeros(problem.X.shape[1])
        self.best_value = problem.value(self.best_w)
        self._ceiling = problem.trivial_bound
        self._reach = WHOLE
        used = problem.X[np.unique(np.concatenate([self.pairs.rows, self.pairs.opponents]))]
        self._scale = _spread(used)
        self._covariance = np.atleast_2d(np.cov(used.T)) if 1 < used.shape[1] <= WIDEST and len(used) > 1 else None
        self._metrics: dict[bytes, Array] = {}
        self.varies = np.flatnonzero(self._scale > 0)

    def offer(self, w: Array) -> float:
        """The value of ``w``, put on the cube; kept if it is the best."""
        w = on_the_cube(w)
        value = self.problem.value(w)
        if value > self.best_value + BETTER * max(1.0, abs(self.best_value)) or (
            value > self.best_value - BETTER and not self.best_w.any() and w.any()
        ):
            self.best_w, self.best_value = w, value
        return value

    @property
    def at_the_top(self) -> bool:
        """Whether no answer can be better."""
        return self.best_value >= self._ceiling - BETTER * max(1.0, abs(self.best_value))

    def climb(
        self, w: Array, *, patience: int | None = None, max_steps: int | None = None, deadline: float = math.inf
    ) -> float:
        """Climb from ``w`` until ``patience`` lines in a row were in vain; the best value met on the way.

        Parameters
        ----------
        w : (d,) array
            Not 0.
        patience : int, optional
            Default: 3 d.
        max_steps : int, optional
            Most line searches.
        deadline : float
            On the clock of ``time.perf_counter``.
        """
        patience = 3 * len(w) if patience is None else patience
        w = on_the_cube(w)
        if not w.any():
            raise ValueError("cannot climb from w = 0, which has no direction")
        reached, failures, left = self.offer(w), 0, math.inf if max_steps is None else max_steps
        if not len(self.varies):
            return reached
        while failures < patience and left > 0 and not self.at_the_top and time.perf_counter() < deadline:
            left -= 1
            if self.problem.l0 > 0:
                w, value = self._priced_line(w, reached)
            else:
                w, value = self._line(w, w, self._direction(w, self.varies), reached)
            failures = 0 if value > reached + BETTER * max(1.0, abs(reached)) else failures + 1
            reached = max(reached, value)
        return reached

    def perturbed(self, strength: float = 0.1) -> Array:
        """A point near the best answer, in its support where coefficients have a price; anywhere if there is none."""
        w = self.best_w
        inside = np.flatnonzero(w) if self.problem.l0 > 0 and w.any() else self.varies
        noise = self._normal(inside)
        size = math.sqrt(w @ w)
        return on_the_cube(w + strength * size / math.sqrt(noise @ noise) * noise) if size > 0 else on_the_cube(noise)

    def _direction(self, w: Array, inside: Array) -> Array:
        """A coordinate, a difference of two competing rows, or normal in the metric of the data."""
        rng, v, kind = self.rng, np.zeros(len(w)), self.rng.random()
        if kind < COORDINATES:
            v[rng.choice(inside)] = 1.0
        elif kind < COORDINATES + DIFFERENCES and len(self.pairs):
            i = int(rng.integers(len(self.pairs.rows)))
            if self.pairs.start[i] < self.pairs.stop[i]:
                k = self.pairs.opponents[rng.integers(self.pairs.start[i], self.pairs.stop[i])]
                v[inside] = (self.problem.X[self.pairs.rows[i]] - self.problem.X[k])[inside]
        return v if v.any() else self._normal(inside)

    def _normal(self, inside: Array) -> Array:
        """Weights under which all directions of the rows, seen in the columns ``inside``, have the same spread."""
        v = np.zeros(self.problem.X.shape[1])
        key = inside.tobytes()
        if key not in self._metrics:
            if len(self._metrics) >= METRICS:
                self._metrics.clear()
            self._metrics[key] = _metric(self._covariance, self._scale, inside)
        metric = self._metrics[key]
        normal = self.rng.normal(size=len(inside))
        v[inside] = metric @ normal if metric.ndim == 2 else metric * normal
        return v

    def _line(self, w: Array, base: Array, v: Array, reached: float) -> tuple[Array, float]:
        """To the best arc of the circle through ``base`` and ``v``, and its value; at ``w`` where that is no better."""
        size = float(base @ base)
        side = v - (v @ base) / size * base
        length = math.sqrt(side @ side)
        if length <= 1e-12 * math.sqrt(v @ v):
            return w, -math.inf
        side *= self._reach * math.sqrt(size) / length
        X = self.problem.X
        at_base, at_side = X @ base, X @ side
        arcs = search_segment(
            self.pairs, base - side, base + side, at_base - at_side, at_base + at_side, self.problem.margin,
            compiled=self.compiled,
        )  # fmt: skip
        self.n_lines += 1
        # Events are about proportional to the angle.
        share = EVENTS / max(len(arcs.values), 1)
        if share < 1:
            self._reach = math.tan(max(share, 0.2) * math.atan(self._reach))
        elif share > 2:
            self._reach = min(WHOLE, 1.4 * self._reach)
        best = arcs.best()
        if not best:
            return w, -math.inf
        value, t = best[0]
        there = base + (2 * t - 1) * side
        there[(base == 0) & (v == 0)] = 0.0
        there = on_the_cube(there)
        value -= self.problem.l0 * int(np.count_nonzero(there))
        slack = BETTER * max(1.0, abs(reached))
        if value < reached - slack:
            return w, value
        return (there, self.offer(there)) if value > reached + slack else (there, value)

    def _priced_line(self, w: Array, reached: float) -> tuple[Array, float]:
        """One line where coefficients have a price: inside the support, with one more, or with one less."""
        rng, support, base = self.rng, np.flatnonzero(w), w
        kind = rng.random()
        if kind < 0.3 and len(support) > 1:
            base = w.copy()
            base[rng.choice(support)] = 0.0
            base = on_the_cube(base)
            dropped = self.offer(base)
            if dropped > reached:
                return base, dropped
            support = np.flatnonzero(base)
            kind = rng.random()
        if kind < 0.6:
            v = np.zeros(len(w))
            v[rng.choice(self.varies)] = 1.0
        else:
            v = self._direction(base, support)
        return self._line(w, base, v, reached)


def _scope(problem: ExactProblem) -> Scope:
    """All rows where positives tie often enough to matter: equal ones, or a margin wide against the scores."""
    if not isinstance(problem, RankProblem):
        return "preferences"
    if problem.ranks == "resolved":
        return "negatives"
    rng, X, pairs = np.random.default_rng(0), problem.X, 0
    W = rng.normal(size=(X.shape[1], 4)) / _spread(X).clip(1e-12)[:, None]
    scores = X @ (W / np.abs(W).max(axis=0))
    tied, positives = 0, 0
    for list_ in problem.lists:
        own = np.sort(scores[list_.positives], axis=0)
        for column in own.T:
            tied += int((np.searchsorted(column, column + problem.margin) - np.arange(len(own)) - 1).sum())
        tied += MANY * (len(own) - len(np.unique(X[list_.positives], axis=0)))
        positives += len(own)
        pairs += len(own) * len(list_.rows)
    return "rows" if tied > TIED * 4 * positives and pairs <= ROW_PAIRS else "negatives"


def _metric(covariance: Array | None, scale: Array, inside: Array) -> Array:
    """The symmetric inverse root of the covariance of some columns; of its diagonal alone where they are too many."""
    if covariance is None:
        return np.asarray(1 / scale[inside].clip(1e-300))
    part = covariance[np.ix_(inside, inside)]
    values, vectors = np.linalg.eigh(part)
    return np.asarray(vectors / np.sqrt(values + 1e-3 * max(values.mean(), 1e-300)) @ vectors.T)


def _spread(X: Array) -> Array:
    """Standard deviation of each column; 0 where it is constant."""
    spread = X.std(axis=0)
    return np.where(np.ptp(X, axis=0) > 0, spread, 0.0)


def solve_ascent(
    problem: ExactProblem,
    *,
    n_starts: int | None = 20,
    time_limit: float | None = None,
    max_steps: int | None = None,
    random_state: int | np.random.Generator | None = None,
    start: Sequence[Array] = (),
    callback: Callback | None = None,
    compiled: bool | None = None,
    climber: Climber | None = None,
) -> ExactSolution:
    """Climb from given, convex and perturbed weights; the best answer, with the bound that needs no search.

    Parameters
    ----------
    problem : ExactProblem
    n_starts : int or None
        Climbs; None goes on until the time or the steps run out, one of which must then be given.
    time_limit : float, optional
        Seconds.
    max_steps : int, optional
        Line searches in all.  A run that they end is the same for the same ``random_state``; one that
        ``time_limit`` ends is not.
    random_state : int, Generator or None
    start : sequence of (d,) arrays
        Where to begin; the first answers of all.
    callback : callable, optional
        Told the ``Progress`` after each climb; a true answer ends the search.
    compiled : bool, optional
        Use Numba; the default does where it is installed.
    climber : Climber, optional
        Does the climbing, with its own generator and form of code, and holds the best answer at any moment.

    Returns
    -------
    ExactSolution
        Proven where no pair is out of order; otherwise the certificate's bound is the trivial one.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [2.0, 5.0], [1.0, 3.0]])
    >>> solution = solve_ascent(RankProblem.of(X, np.array([True, False, True]), "wrs"), random_state=0)
    >>> solution.certificate.value, solution.certificate.proven
    (5.0, True)
    """
    if n_starts is None and time_limit is None and max_steps is None:
        raise ValueError("n_starts=None never ends by itself: give time_limit (seconds) or max_steps (line searches)")
    began = time.perf_counter()
    deadline = math.inf if time_limit is None else began + time_limit
    climber = climber or Climber(problem, np.random.default_rng(random_state), compiled=compiled)
    trace: list[Progress] = []

    def told(note: str) -> bool:
        now = Progress(
            time.perf_counter() - began, climber.best_value, max(problem.trivial_bound, climber.best_value),
            climber.n_lines, note,
        )  # fmt: skip
        if not trace or now.value > trace[-1].value:
            trace.append(now)
        return bool(callback(now)) if callback is not None else False

    first = [np.asarray(w, dtype=np.float64) for w in start]
    values = [climber.offer(w) for w in first]
    stop = told("given weights")
    rest = iter(()) if stop or climber.at_the_top else convex_starts(problem)
    for convex in rest:
        if time.perf_counter() >= deadline:
            break
        first.append(convex)
        values.append(climber.offer(convex))
        if climber.at_the_top:
            break
    waiting = [first[k] for k in np.argsort(values, kind="stable")[::-1] if first[k].any()]
    climbs = 0
    while not stop and not climber.at_the_top and len(climber.varies) and time.perf_counter() < deadline:
        left = None if max_steps is None else max_steps - climber.n_lines
        if (left is not None and left <= 0) or (n_starts is not None and climbs >= n_starts):
            break
        if climbs < len(waiting):
            w = waiting[climbs]
        elif climber.rng.random() < 0.1:
            w = climber.rng.normal(size=problem.X.shape[1])
        else:
            w = climber.perturbed()
        climber.climb(w, max_steps=left, deadline=deadline)
        climbs += 1
        stop = told(f"climb {climbs}")
    seconds = time.perf_counter() - began
    certificate = ExactCertificate.of(
        climber.best_value, problem.trivial_bound, nodes=climber.n_lines, seconds=seconds, method="ascent",
        trivial_bound=problem.trivial_bound,
    )  # fmt: skip
    trace.append(Progress(seconds, certificate.value, certificate.bound, climber.n_lines, "end"))
    return ExactSolution(climber.best_w, certificate, tuple(trace))
