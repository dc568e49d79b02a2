"""The search for the negatives that matter: a working set around the interior point method.

A round takes a few interior point steps on the working set, scores all negatives once, lets the worst violators join
and idle rows leave.  The dual value of the reduced problem bounds the whole problem from below, since the absent
multipliers are zero; the objective with all negatives bounds it from above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.risks.top import TopRisk
from shortlist.solvers.interior.method import InteriorPoint
from shortlist.solvers.rows import Rows

Array = NDArray[Any]
Callback = Callable[[int, float, float], Any]

__all__ = ["Callback", "Search"]

# The first working set: the best by a first guess, and an even spread over the rest, so that it knows their covariance.
FIRST_TOP = 100
FIRST_SPREAD = 300
SMALL = 500  # with no more negatives than this all of them work from the start
WIDE = 3000  # with more columns than this many negatives carry a multiplier: begin with more
MOST_NEWCOMERS = 300
STEPS_PER_ROUND = 2
NARROW = 100  # with no more columns than this scores are cheap beside the rest of a step: a round a step, fewer rows
NARROW_SPREAD = 200
PRUNING_ROUNDS = 12  # after these nobody leaves: rows that come and go could make it last for ever
NEAR = 10  # times the wanted gap: a smaller one of the working set may be the last
GOLDEN, SECTIONS = (5**0.5 - 1) / 2, 5
PATIENCE = 12  # rounds without progress of the bound


class Search:
    """State of the outer loop.

    Attributes
    ----------
    best, w : float, array
        Least objective so far, and where; at first that of w = 0, ``null``.
    method : InteriorPoint
        Holds ``bound`` and the multipliers that attain it.
    n_steps : int
    """

    def __init__(self, X: Any, risk: TopRisk, C: float, tol: float, proof: float = 1e-10) -> None:
        self.X, self.risk, self.C, self.tol, self.proof = X, risk, C, tol, proof
        self.positives = Rows(X, risk.positives)
        self.negatives = Rows(X, risk.negatives)
        self.null = C * float(risk.surrogate.value(np.zeros(1))[0])
        self.best = self.null
        self.w = np.zeros(X.shape[1])
        self._at: tuple[Array, ...] | None = None  # scores of positives and negatives under w, unless all are zero
        self.n_steps = 0

    @property
    def passes(self) -> float:
        """Passes over X so far."""
        return self.positives.passes + self.negatives.passes

    @property
    def bound(self) -> float:
        """Proven lower bound."""
        return self.method.bound

    def wanted(self) -> float:
        """The gap at which to stop.

        Small against the objective, and against what w earns over w = 0: a gap of 1e-4 that w = 0 itself meets says
        nothing.  Once w provably earns less than ``proof * C`` there is nothing left to find.
        """
        earned, nothing = self.null - self.bound, self.proof * self.C
        if earned <= nothing:
            return nothing
        return min(self.tol * (abs(self.best) if self.null else earned), 0.5 * earned)

    def thresholds(self, w: Array) -> Array:
        """The thresholds of all negatives."""
        return self.risk.thresholds_of(self.negatives.dot(w))

    def objective(self, w: Array, positive_scores: Array, negative_scores: Array) -> float:
        """1/2 ||w||^2 + C risk."""
        return 0.5 * float(w @ w) + self.C * self.risk.value_of(positive_scores, negative_scores)

    def offer(self, w: Array, *scores: Array) -> None:
        """Keep w, with the scores of positives and negatives, if it is the best so far."""
        primal = self.objective(w, *scores)
        if primal < self.best:
            self.best, self.w, self._at = primal, w, scores

    def _offer_between(self, w: Array, *scores: Array) -> None:
        """Keep a point between w and the best so far, if that is better than both.

        Near the end absent negatives that stick out a little can spoil w, though the bound is nearly there.  Scores are
        linear in w and the objective is convex, so that golden sections find the best mixture without a pass.
        """
        start = (self.w, *(self._at or map(np.zeros_like, scores)))
        change = [b - a for a, b in zip(start, (w, *scores), strict=True)]
        low, high, inner = 0.0, 1.0, [1 - GOLDEN, GOLDEN]
        values = [self.objective(*(x + a * dx for x, dx in zip(start, change, strict=True))) for a in inner]
        for _ in range(SECTIONS):
            better = int(values[1] < values[0])
            if better:
                low, inner[0], values[0] = inner[0], inner[1], values[1]
                inner[1] = low + GOLDEN * (high - low)
            else:
                high, inner[1], values[1] = inner[1], inner[0], values[0]
                inner[0] = high - GOLDEN * (high - low)
            values[better] = self.objective(
                *(x + inner[better] * dx for x, dx in zip(start, change, strict=True))
            )
        best = int(values[1] < values[0])
        if values[best] < self.best:
            w, *mixed = (x + inner[best] * dx for x, dx in zip(start, change, strict=True))
            self.best, self.w, self._at = values[best], w, tuple(mixed)

    # -- beginning ---------------------------------------------------------------------------------------------

    def begin(self, start: Array | None = None, multipliers: Array | None = None) -> None:
        """Set the method up at ``start``, or at a guess; ``multipliers`` of the negatives name rows to begin with."""
        risk, C, d = self.risk, self.C, self.X.shape[1]
        centre = self.positives.t_dot(risk.positive_weights)
        if start is None:
            w, which = self._guess(centre)
        else:
            w = np.array(start, dtype=np.float64).ravel()
            if w.shape != (d,):
                raise ValueError(f"start has {w.size} coefficients, X has {d} columns")
        scores = self.negatives.dot(w)
        if start is not None:
            which = self._first_rows(scores)
            if multipliers is not None:
                which = np.union1d(which, np.flatnonzero(multipliers))
        groups, s = risk.negative_groups[which], scores[which]
        if not np.all(np.isfinite(s)) or not np.isfinite(float(centre @ centre)):
            raise ValueError("the features are too large for their squares to be finite; scale them, to [0, 1] say")
        positive_scores = self.positives.dot(w)
        self.offer(w, positive_scores, scores)
        count = np.bincount(groups, minlength=risk.n_groups)
        mean = np.bincount(groups, weights=s, minlength=risk.n_groups) / count
        spread = np.sqrt(np.bincount(groups, weights=(s - mean[groups]) ** 2, minlength=risk.n_groups) / count)
        typical = float(np.std(positive_scores)) + float(np.abs(mean).max(initial=0.0)) + 1e-3 * min(1.0, C)
        spread = np.maximum(spread, 0.1 * typical)
        theta = mean + 2 * spread
        slack = np.maximum(theta[groups] - s, 0.1 * spread[groups])
        mu = C / max(float((risk.negative_weights[which] / slack).sum()), 1e-300)
        if start is not None:
            mu *= 0.05
        beta = None if multipliers is None else multipliers[which]
        self.method = InteriorPoint(self.X, risk, C, self.positives, self.negatives, w, theta, mu)
        self.method.add(which, s, mu, first=True, beta=beta)

    def _guess(self, centre: Array) -> tuple[Array, Array]:
        """From the positives' mean away from that of the first rows, at the best multiple for the squared hinge."""
        v = self.risk.negative_weights
        which = self._first_rows(self.negatives.dot(centre - self.negatives.t_dot(v / v.sum())))
        share = (v[which] / v[which].sum()).astype(self.X.dtype)
        direction = centre - np.asarray(self.negatives.take(which).T @ share).astype(np.float64)
        w = direction * (2 * self.C / (2 * self.C * float(direction @ direction) + 1))
        return w / max(1.0, 0.25 * float(np.abs(self.positives.dot(w)).max(initial=0.0))), which

    def _first_rows(self, scores: Array) -> Array:
        """Of each group the top by ``scores`` and an even spread, whatever the order of the rows."""
        risk, n = self.risk, len(scores)
        n_top, n_spread = FIRST_TOP, NARROW_SPREAD if self.X.shape[1] <= NARROW else FIRST_SPREAD
        if self.X.shape[1] > WIDE:
            n_top, n_spread = 4 * FIRST_TOP, FIRST_SPREAD + 100
        if n <= SMALL:
            return np.arange(n)
        order = np.lexsort((-scores, risk.negative_groups))
        groups = risk.negative_groups[order]
        first = np.searchsorted(groups, np.arange(risk.n_groups))
        size = np.diff(np.append(first, n))
        rank = np.arange(n) - first[groups]
        chosen = rank < np.maximum(3, np.ceil(n_top * size / n))[groups]
        chosen |= np.arange(n) % max(1, n // n_spread) == 0
        if risk.caps is not None:
            # The caps of the working rows must sum to more than one.
            filled = np.cumsum(risk.caps[order])
            filled -= (filled - risk.caps[order])[first][groups]
            chosen |= (filled <= 1.5 + 1e-9) | (rank <= 1)
        return np.sort(order[chosen])

    # -- rounds ------------------------------------------------------------------------------------------------

    def run(self, max_iter: int, callback: Callback | None = None) -> None:
        """Rounds until the gap is as small as wanted, the steps are used up, or nothing moves."""
        method, stuck, round_ = self.method, 0, 0
        steps = 1 if self.X.shape[1] <= NARROW else STEPS_PER_ROUND
        while True:
            before = method.bound
            negative_scores = self._steps(max_iter, steps + round_ // 8 + stuck)
            if callback is not None:
                callback(self.n_steps, self.best, method.bound)
            if self.best - method.bound <= self.wanted() or self.n_steps >= max_iter:
                return
            stuck = 0 if method.bound - before > 1e-3 * (self.best - method.bound) else stuck + 1
            if stuck:
                method.sharpen()
            grown = self._exchange(negative_scores, prune=round_ < PRUNING_ROUNDS)
            del negative_scores
            if not grown and (method.stalled or stuck > PATIENCE):
                return
            method.stalled = False
            round_ += 1

    def _steps(self, max_iter: int, most: int) -> Array:
        """Steps on the working set, fewer where it is solved, and the scores of all negatives after them."""
        method = self.method
        for step in range(most + 1):
            primal, _ = method.refresh_bound()
            wanted, gap = self.wanted(), primal - method.bound
            last = step == most or self.n_steps >= max_iter or method.stalled or (step > 0 and gap <= 0.3 * wanted)
            near = step > 0 and gap <= NEAR * wanted
            if last or near:
                scores = self.negatives.dot(method.w)
                self.offer(method.w, method.scores, scores)
                if near and self.best - method.bound > self.wanted():
                    self._offer_between(method.w, method.scores, scores)
                if last or self.best - method.bound <= self.wanted():
                    break
            method.step(0.1 * wanted)
            self.n_steps += 1
        return scores

    def _exchange(self, scores: Array, prune: bool) -> bool:
        """Let idle negatives leave and violators join; whether any joined."""
        risk, method, mu = self.risk, self.method, self.method.mu()
        if prune:
            useful = method.block.useful()
            if useful.sum() < 0.8 * len(useful):
                method.keep(np.flatnonzero(useful))
        absent = np.ones(len(risk.negatives), dtype=bool)
        absent[method.members] = False
        over = scores - method.block.height[risk.negative_groups]
        n_violators = int(np.count_nonzero(absent & (over > 0)))
        if n_violators == 0:
            return False
        # The next steps move scores by about as much as the worst violation: rows that close below come along.
        joining = np.flatnonzero(absent & (over > -float(over.max())))
        most = MOST_NEWCOMERS
        if method.sparse or risk.caps is not None:
            # Many will carry a multiplier: grow by a factor.
            most = max(most, len(method.members))
        most = min(most, 50 + 2 * n_violators)
        if len(joining) > most:
            joining = np.sort(joining[np.argpartition(-over[joining], most)[:most]])
        del absent, over
        method.add(joining, scores[joining], mu)
        return True
