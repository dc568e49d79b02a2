"""Random boxes of directions, the best that a local search finds inside, and the bounds that the loops state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact import compiled, descent, kernels, packing
from shortlist.solvers.exact.chart import Chart, make_chart
from shortlist.solvers.exact.descent import Twins
from shortlist.solvers.exact.line_search import pairs_of, search_segment
from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem
from shortlist.statistics import DCG, PartialAUC, Power
from tests.solvers.exact.cases import small_medium

Array = NDArray[Any]

PLAIN = {name: getattr(module, name) for module, names in compiled.ORDER for name in names}
assert {kernels, packing, descent} == {module for module, _ in compiled.ORDER}


def preferences(seed: int, n: int = 10, q: int = 20, d: int = 3) -> PreferenceProblem:
    """Preferences that contradict one another, of different weights."""
    rng = np.random.default_rng(seed)
    better, worse = rng.integers(0, n, size=(2, q))
    return PreferenceProblem(rng.normal(size=(n, d)), 1e-4, 0.0, better, worse, rng.choice([0.5, 1.0, 3.0], size=q))


# Small enough for the loops to run as plain Python.
PROBLEMS: dict[str, ExactProblem] = {
    "dcg": small_medium(0, "dcg", n=13, m=5),
    "dcg, four features": small_medium(1, "dcg", n=12, m=4, d=4),
    "dcg, whole numbers": small_medium(2, "dcg", n=14, m=6, d=2, whole=True),
    "dcg, wide margin": small_medium(3, "dcg", n=13, m=5, margin=0.4),
    "dcg, three lists": small_medium(4, "dcg", n=18, m=8, n_groups=3),
    "dcg, resolved": small_medium(5, "dcg", n=12, m=5, ranks="resolved", whole=True),
    "rank sum": small_medium(6, "wrs", n=13, m=5),
    "rank sum, two lists, resolved": small_medium(7, "wrs", n=16, m=7, n_groups=2, ranks="resolved"),
    "reciprocal rank": small_medium(8, "reciprocal_rank", n=12, m=4),
    "winner": small_medium(9, "winner_takes_all", n=12, m=5),
    "dcg of three places": small_medium(10, DCG(top=3), n=12, m=5),
    "partial": small_medium(11, PartialAUC(top=5), n=12, m=5, whole=True),
    "power": small_medium(12, Power(3.0), n=12, m=5),
    "one's own": small_medium(13, np.array([0, 0, 1, 1, 1, 4, 4, 5, 5, 5, 9, 9.0]), n=12, m=5),
    "preferences": preferences(0),
    "preferences, one feature": preferences(1, d=1),
}


def chart_and_twins(problem: ExactProblem, seed: int = 0, *, ask: bool = True) -> tuple[PairForm, Chart, Twins]:
    form = PairForm.of(problem)
    d = problem.X.shape[1]
    w = np.random.default_rng(seed).normal(size=d)
    chart = make_chart(form, problem.margin, np.arange(d), w)
    return form, chart, Twins(form.twin_first, form.twin_second, ask)


def random_box(s: int, rng: np.random.Generator, *, smallest: float = 0.1) -> tuple[Array, Array]:
    """Part of a facet of the cube, of all sizes from ``smallest`` of its width on."""
    radius = smallest ** rng.random() * rng.uniform(0.5, 1.0, size=s)
    centre = (1 - radius) * rng.uniform(-1, 1, size=s)
    axis = int(rng.integers(s))
    centre[axis], radius[axis] = rng.choice([-1.0, 1.0]), 0.0
    return centre, radius


def best_inside(problem: ExactProblem, chart: Chart, c: Array, r: Array, rng: np.random.Generator, tries: int) -> float:
    """The best statistic that exact line searches find without leaving a box."""
    pairs = pairs_of(problem)
    M = np.zeros((chart.size, len(c)))
    M[chart.support] = chart.arrays.M

    def value(u: Array) -> float:
        return problem.statistic(problem.X @ chart.point(u))

    u = c + r * rng.uniform(-1, 1, size=len(c))
    best = value(u)
    for _ in range(tries):
        v = r * (np.eye(len(c))[rng.integers(len(c))] if rng.random() < 0.6 else rng.normal(size=len(c)))
        moves = v != 0
        if not moves.any():
            continue
        ends = np.stack([(c - r - u)[moves] / v[moves], (c + r - u)[moves] / v[moves]])
        first, last = ends.min(axis=0).max(), ends.max(axis=0).min()
        a, b = M @ (u + first * v), M @ (u + last * v)
        arcs = search_segment(pairs, a, b, problem.X @ a, problem.X @ b, problem.margin, compiled=False)
        for _, t in arcs.best(keep=3):
            there = np.clip(u + (first + t * (last - first)) * v, c - r, c + r)
            if value(there) >= best:
                best, u = value(there), there
    return best


class Looked(NamedTuple):
    """What a first look at a box found; the undecided pairs are ``index[:T]``."""

    lost_below: float
    T: int
    index: Array
    v: Array
    h: Array
    A: Array
    L: Array
    places: Array
    hist_a: Array
    hist_l: Array


def look(functions: dict[str, Any], form: PairForm, chart: Chart, c: Array, r: Array) -> Looked:
    lists, P = form.lists, len(form.D)
    n_pos, n_neg = int(lists.pos_start[-1]), int(lists.neg_start[-1])
    A, L = np.zeros(n_pos, dtype=np.int64), np.zeros(n_neg, dtype=np.int64)
    v, h, index = np.empty(P), np.empty(P), np.empty(P, dtype=np.int32)
    arrays = chart.arrays
    lost_below, won_from = functions["margins"](arrays.M, arrays.least, arrays.most, arrays.slack, c, r)
    T = functions["first_look"](lists, arrays, c, r, lost_below, won_from, v, h, index, A, L)
    places = np.zeros(n_pos, dtype=np.int64)
    hist_a, hist_l = np.zeros(n_pos + n_neg + 3, dtype=np.int64), np.zeros(n_pos + 3, dtype=np.int64)
    return Looked(lost_below, T, index, v, h, A, L, places, hist_a, hist_l)


def loop_bound(
    functions: dict[str, Any], form: PairForm, chart: Chart, twins: Twins, c: Array, r: Array, *, pack: bool,
    parent: float = np.inf, prune: float = -np.inf,
) -> float:  # fmt: skip
    """``descent.box_bound`` of one box."""
    seen = look(functions, form, chart, c, r)
    return float(
        functions["box_bound"](
            form.lists, chart.arrays, twins, c, r, seen.lost_below, seen.index, form.lists.pos, form.lists.neg,
            seen.v, seen.h, seen.T, seen.A, seen.L, parent, prune, pack, seen.places, seen.hist_a, seen.hist_l,
        )
    )  # fmt: skip
