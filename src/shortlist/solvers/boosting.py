"""Boosting: coordinate descent on log L(s), a weak ranker a round.

Problem: minimise log L(s) over the scores s = sum of w_h h of weak rankers h of range 1, L a risk of
``risks/boosting.py``: convex in w, and without a minimum where the data can be ordered without a mistake.

Method: in each round the ranker with the largest edge |pi . h|, that is the steepest coordinate, and the step that
minimises L along it: in closed form where there is one, otherwise by the root of the derivative, which does not
decrease.  ``learning_rate`` shortens it.  L never rises.

Cost a round: O(rows) for the potentials (pairs for explicit preferences), what the weak rankers need to find the best
of them, and O(rows) for each look of a line search.

Certificate.  The edges of the last scores bound every other answer of the same size.  By convexity, for all weights w'
with sum |w'| <= W,

    log L(s') >= log L(s) + pi . s - pi . s' >= log L(s) + pi . s - W * (the largest edge).

W is the sum of the sizes of the answer's own weights, steps along one ranker taken together: the answer is then one of
those that the bound speaks of.  (Over all weights whatsoever there is no bound but 0 unless every edge is 0.)

References: Freund, Iyer, Schapire, Singer, JMLR 4, 2003; Rudin, JMLR 10, 2009.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from shortlist.risks.boosting import BoostingRisk, Weighing
from shortlist.solvers.weak_rankers import Choice, WeakRankers

Array = NDArray[Any]
Watch = Callable[[int, Choice, float, float], bool]

__all__ = ["ROUND", "BoostingCertificate", "BoostingPath", "boost"]

# A round: which ranker, its signed weight, its edge before the step, the loss after it.
ROUND = np.dtype(
    [
        ("feature", np.int64),
        ("threshold", np.float64),
        ("weight", np.float64),
        ("edge", np.float64),
        ("loss", np.float64),
    ]
)
LARGEST_DROP = 5.0  # of log L in one round: where a minimum is not attained
FLAT = 1e-4  # share of the first slope at which a line search gives up looking for the minimum
DONE = -40.0  # log L: every pair is in order by far


@dataclass(frozen=True)
class BoostingCertificate:
    """How good a boosted score is among those of its size.

    Attributes
    ----------
    value : float
        The training loss L; 1 at equal scores.
    bound : float
        No sum of weak rankers whose weights sum to ``total_weight`` or less, in size, has a lower loss.
    gap, relative_gap : float
        ``value - bound``, and that over ``value``.
    total_weight : float
        Sum of the sizes of the weights, one a ranker, in units of rankers of range 1.
    largest_edge : float
        Of all weak rankers at the last scores; 0 means that no weights whatsoever have a lower loss.
    n_rounds : int
    seconds : float
    """

    value: float
    bound: float
    gap: float
    relative_gap: float
    total_weight: float
    largest_edge: float
    n_rounds: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"loss {self.value:.6g} after {self.n_rounds} rounds; none of the same total weight {self.total_weight:.4g}"
            f" is below {self.bound:.6g} (relative gap {self.relative_gap:.1e}), {self.seconds:.3f} s"
        )


@dataclass(frozen=True)
class BoostingPath:
    """All rounds, and the certificate of the model after any of them.

    Attributes
    ----------
    rounds : (n_rounds,) array of ``ROUND``
    log_losses, edges, slacks, weights : (n_rounds + 1,) arrays
        Before the first round and after each: log L, the largest edge, pi . s, and the sum of the weights' sizes.
    seconds : float
    """

    rounds: Array
    log_losses: Array
    edges: Array
    slacks: Array
    weights: Array
    seconds: float

    def certificate(self, n_rounds: int) -> BoostingCertificate:
        total, edge = float(self.weights[n_rounds]), float(self.edges[n_rounds])
        value = float(np.exp(self.log_losses[n_rounds]))
        gap = max(total * edge - float(self.slacks[n_rounds]), 0.0)
        return BoostingCertificate(
            value=value,
            bound=float(value * np.exp(-gap)),
            gap=float(-value * np.expm1(-gap)),
            relative_gap=float(-np.expm1(-gap)),
            total_weight=total,
            largest_edge=edge,
            n_rounds=n_rounds,
            seconds=self.seconds,
        )


def boost(
    risk: BoostingRisk,
    rankers: WeakRankers,
    n_rows: int,
    *,
    n_rounds: int,
    learning_rate: float = 1.0,
    watch: Watch | None = None,
) -> BoostingPath:
    """Run the rounds.

    Parameters
    ----------
    watch : callable, optional
        Called after each round with its number (from 1), the ranker, its signed weight and the loss; True ends the fit.
    """
    began = time.perf_counter()
    scores = np.zeros(n_rows)
    rounds: list[tuple[int, float, float, float, float]] = []
    log_losses, edges, slacks, weights = [0.0], list[float](), list[float](), [0.0]
    answer: dict[tuple[int, float | None], float] = {}
    now = risk.at(scores)
    while True:
        choice = rankers.best(now.potentials)
        edges.append(0.0 if choice is None else abs(choice.edge))
        slacks.append(float(now.potentials @ scores))
        if choice is None or len(rounds) == n_rounds or now.log_loss < DONE:
            break
        step = learning_rate * best_step(risk, scores, now, choice, rankers.longest)
        scores += step * choice.values
        now = risk.at(scores)
        loss = float(np.exp(now.log_loss))
        rounds.append((choice.column, choice.threshold, step, choice.edge, loss))
        log_losses.append(now.log_loss)
        ranker = (choice.column, None if choice.up is None else choice.threshold)
        before = answer.get(ranker, 0.0)
        answer[ranker] = before + step
        weights.append(weights[-1] + abs(before + step) - abs(before))
        if watch is not None and watch(len(rounds), choice, step, loss):
            n_rounds = len(rounds)
    return BoostingPath(
        np.array(rounds, dtype=ROUND),
        np.array(log_losses),
        np.array(edges),
        np.array(slacks),
        np.array(weights),
        time.perf_counter() - began,
    )


def best_step(risk: BoostingRisk, scores: Array, now: Weighing, choice: Choice, longest: float) -> float:
    """The step along a ranker that minimises the risk, its sign that of the edge; at most ``longest`` in size."""
    if choice.up is not None:
        exact = now.step(choice.up)
        if exact is not None:
            return float(np.clip(exact, -longest, longest))
    return _line_search(risk, scores, now, choice, longest)


def _line_search(risk: BoostingRisk, scores: Array, now: Weighing, choice: Choice, longest: float) -> float:
    direction = np.copysign(1.0, choice.edge) * choice.values
    steepest = abs(choice.edge)

    def look(t: float) -> tuple[float, float]:
        there = risk.at(scores + t * direction)
        return there.log_loss, -float(there.potentials @ direction)

    # The curvature is bounded: this step does not pass the minimum.
    low, slope_low, high = 0.0, -steepest, min(steepest / risk.curvature, longest)
    while True:
        log_loss, slope = look(high)
        if slope >= 0:
            break
        far = high >= longest or now.log_loss - log_loss >= LARGEST_DROP or -slope <= FLAT * steepest
        if far:
            return float(np.copysign(high, choice.edge))
        # Where the slope would vanish if it went on as between the last two looks, but neither near nor too far.
        guess = high + 1.1 * (high - low) * slope / (slope_low - slope) if slope > slope_low else np.inf
        low, slope_low, high = high, slope, min(max(2 * high, guess), 10 * high, longest)
    if slope > 0:
        high = float(brentq(lambda t: look(t)[1], low, high, xtol=1e-13 * high, rtol=1e-12))
    return float(np.copysign(high, choice.edge))
