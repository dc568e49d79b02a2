"""Branch and bound over directions: the best rank statistic, and the proof that it is.

    maximise over w with max_j |w_j| = 1, or w = 0:   statistic(X w) - l0 ||w||_0.

Scores keep their order when w is scaled, so w lives on the surface of a cube: of d features, d - 1 numbers.  A box of
directions decides most pairs; how the decided ones bound the statistic is told in ``bounds`` (the path) and in
``packing`` (conflicts), in which coordinates the boxes are cut in ``chart``, how a price on coefficients is met in
``support``.

The search is best first: the boxes with the largest bounds are taken from a pool in batches, each is searched a little
way down by itself (``descent``), and what remains open goes back.  Batches are handed to threads in portions and put
together in order, so the answer does not depend on the number of threads.  Answers come from an ascent, from centres of
boxes, and from climbs that start there; they count by ``problem.value`` alone.

Boxes too thin to cut are set aside and their bound stays in the final one.  When the open boxes need more memory than
allowed the search turns to those with the smallest bounds until it has room again; should that not help, the boxes with
the smallest bounds are given up and the largest of their bounds is kept.

Reference
---------
Rudin, Wang (2018). Direct learning to rank and rerank, AISTATS: the problem.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact import compiled as compiled_form
from shortlist.solvers.exact.ascent import Climber, solve_ascent
from shortlist.solvers.exact.bounds import descend_arrays
from shortlist.solvers.exact.boxes import BoxSet, Pool
from shortlist.solvers.exact.chart import KINDS, Atlas, Chart, Kind
from shortlist.solvers.exact.descent import Effort, Twins
from shortlist.solvers.exact.outcome import Callback, ExactCertificate, ExactSolution, Progress, relative_gap
from shortlist.solvers.exact.pairs import PairForm
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem
from shortlist.solvers.exact.support import Families, Family

Array = NDArray[Any]

__all__ = ["solve_branch_and_bound"]

log = logging.getLogger(__name__)

TASKS = 64
PORTION = 4
BUDGET = 200
LEVELS = 10
# The first answer: climbs, and pairs that their lines may look at; afterwards, boxes a line.
STARTS = 12
FIRST_LOOKS = 12_000_000
BOXES_A_LINE = 20
# Boxes that each kind of chart is tried for, and features from which on the kind makes a difference.
TRIAL = 1500
TRIED = 4
# Seconds between two reports.
QUIET = 0.2


def solve_branch_and_bound(
    problem: ExactProblem,
    *,
    start: Sequence[Array] = (),
    time_limit: float | None = 60.0,
    max_nodes: int | None = None,
    gap_tol: float = 0.0,
    max_memory: float = 1e9,
    n_jobs: int | None = None,
    random_state: int | np.random.Generator | None = None,
    callback: Callback | None = None,
    compiled: bool | None = None,
) -> ExactSolution:
    """The best coefficients, with a proven bound on all others.

    Parameters
    ----------
    problem : ExactProblem
    start : sequence of (d,) arrays
        Coefficients to begin with, such as those of a convex method.
    time_limit : float, optional
        Seconds.
    max_nodes : int, optional
        Boxes.  Unlike ``time_limit`` it ends a search at the same point every time.
    gap_tol : float
        Relative gap at which to stop.
    max_memory : float
        Bytes for open boxes.
    n_jobs : int, optional
        Threads; all cores by default.  The answer is the same for any number.
    random_state : int, Generator or None
    callback : callable, optional
        Told the ``Progress`` a few times a second; a true answer ends the search.  So does an interrupt from the
        keyboard, and both leave the best answer with an honest bound.
    compiled : bool, optional
        Use Numba; the default does where it is installed.  Without it the search is the same in kind but has the
        weaker bound and is many times slower.

    Returns
    -------
    ExactSolution

    Examples
    --------
    >>> from shortlist.solvers.exact.problem import RankProblem
    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    >>> problem = RankProblem.of(X, np.array([True, True, False, False]), "dcg")
    >>> solution = solve_branch_and_bound(problem, random_state=0)
    >>> print(f"{solution.certificate.value:.4f} of {solution.certificate.trivial_bound:.4f}")
    1.5000 of 1.6309
    >>> solution.certificate.proven
    True
    """
    search = _Search(
        problem,
        time_limit=time_limit,
        max_nodes=max_nodes,
        gap_tol=gap_tol,
        max_memory=max_memory,
        n_jobs=n_jobs,
        random_state=random_state,
        callback=callback,
        compiled=compiled,
    )
    return search.run(start)


class _Search:
    """One run: the open boxes, the best answer, the bound."""

    def __init__(
        self,
        problem: ExactProblem,
        *,
        time_limit: float | None,
        max_nodes: int | None,
        gap_tol: float,
        max_memory: float,
        n_jobs: int | None,
        random_state: int | np.random.Generator | None,
        callback: Callback | None,
        compiled: bool | None,
    ) -> None:
        self.began = time.perf_counter()
        self.problem = problem
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.max_nodes, self.gap_tol, self.max_memory = max_nodes, gap_tol, max_memory
        self.n_jobs = n_jobs or os.cpu_count() or 1
        self.callback = callback
        self.compiled = compiled_form.available() if compiled is None else compiled
        self.rng = np.random.default_rng(random_state)
        self.climber = Climber(problem, self.rng, compiled=self.compiled)
        self.pairs = PairForm.of(problem)
        self.families = Families(self.pairs, _features(problem), problem.margin, problem.l0)
        self.pool = Pool(problem.X.shape[1])
        self.kind: Kind = KINDS[0]
        self.twins = Twins(
            self.pairs.twin_first, self.pairs.twin_second, self.pairs.has_equal_twins and problem.X.shape[1] <= 4
        )
        self.nodes, self.aside = 0, -math.inf
        self.bound = problem.trivial_bound
        self.trace: list[Progress] = []
        self.told = -math.inf
        self.asked_to_stop = False
        self.stop = np.zeros(1, dtype=np.uint8)
        self.descend: Callable[..., Any] = descend_arrays
        self.batches = 0

    # The run

    def run(self, start: Sequence[Array]) -> ExactSolution:
        try:
            self._first_answer(start)
            if not self._done():
                self._prepare()
                with ThreadPoolExecutor(self.n_jobs) as threads:
                    try:
                        self._try_charts(threads)
                        while not self._done():
                            self._step(threads)
                    except BaseException:
                        # Leaving waits for the threads: let them hand their boxes back.
                        self.stop[0] = 1
                        raise
        except KeyboardInterrupt:
            self.stop[0] = 1
            log.info("interrupted: the answer and the bound so far are kept")
        return self._solution()

    def _first_answer(self, start: Sequence[Array]) -> None:
        if self._report("first answer", always=True):
            return
        left = self.deadline - time.perf_counter()
        solve_ascent(
            self.problem,
            n_starts=STARTS,
            max_steps=min(max(FIRST_LOOKS // (len(self.pairs.D) + 3000), 30), 3000),
            start=start,
            time_limit=0.2 * left if left < math.inf else None,
            climber=self.climber,
        )
        self.climber.n_lines = 0
        self._report("search", always=True)

    def _prepare(self) -> None:
        self.atlas = Atlas(self.pairs, self.problem.margin, self.climber.best_w)
        if self.compiled:
            self._report("compiling the search (once; kept on disk)", always=True)
            self.descend = compiled_form.functions()["descend"]

    def _try_charts(self, threads: ThreadPoolExecutor) -> None:
        """Begin in each kind of chart; go on in the one whose bound fell furthest.

        Where coefficients have a price nothing but the kind is kept: the supports are searched one by one.
        """
        family = self.families.widest
        if family is None or len(family.within) < TRIED:
            return
        trial = TRIAL if self.max_nodes is None else min(TRIAL, self.max_nodes // 4)
        chosen, least = None, math.inf
        for kind in KINDS:
            pool, ends = Pool(self.problem.X.shape[1]), self.nodes + trial
            pool.add(self._facets(family, kind))
            aside, bound = -math.inf, pool.best_key
            while self.nodes < ends and not self._out_of_time() and not self._good_enough(bound):
                aside = max(aside, self._advance(threads, pool))
                bound = max(pool.best_key, aside)
                self._report(f"trying a {kind} chart")
            if bound < least:
                self.kind, least, chosen = kind, bound, (pool, aside)
            if not len(pool) or self._good_enough(bound):
                break
        if self.problem.l0 == 0 and chosen is not None:
            self.families.unfold()
            self.pool, self.aside = chosen
            self._settle()
            self._report(f"search in a {self.kind} chart", always=True)

    def _step(self, threads: ThreadPoolExecutor) -> None:
        """One batch."""
        while self.families.best_key > max(self.pool.best_key, self._hopeless) and not self._out_of_time():
            family = self.families.unfold()
            if family is not None:
                self.pool.add(self._facets(family, self.kind))
        if len(self.pool):
            self.aside = max(self.aside, self._advance(threads, self.pool))
        self._settle()
        self._report("search")

    def _advance(self, threads: ThreadPoolExecutor, pool: Pool) -> float:
        """Take boxes from a pool, search below them, put back what has hope; the largest key set aside or given up."""
        limit = self._hopeless
        full = pool.nbytes > self.max_memory
        boxes = pool.take(TASKS, largest=not full)
        keep_below = limit if full else float(boxes.key.min())
        budget = BUDGET
        if self.max_nodes is not None:
            budget = max(1, min(BUDGET, (self.max_nodes - self.nodes) // len(boxes.key)))
        found = self._descend_all(threads, boxes, limit, keep_below, budget)
        best_u, best_key, put_aside = None, -math.inf, -math.inf
        for chart, number, price, (c, r, bound, age, nodes, aside, value, u) in found:
            pool.add(self._wide(c, r, bound, bound - price, age, number))
            self.nodes += nodes
            put_aside = max(put_aside, aside - price)
            if value - price > best_key:
                best_u, best_key = chart.point(u), value - price
        self.batches += 1
        if best_u is not None:
            self._look_at(best_u, best_key)
        pool.prune(self._hopeless)
        if pool.nbytes > 2 * self.max_memory:
            keep = int(len(pool) * self.max_memory / pool.nbytes)
            given_up = pool.take(len(pool) - keep, largest=False)
            put_aside = max(put_aside, float(given_up.key.max()))
        return put_aside

    def _facets(self, family: Family, kind: Kind) -> BoxSet:
        """The boxes that cover a support."""
        number = self.atlas.add(np.array(sorted(family.within), dtype=np.intp), kind)
        centre, radius = self.atlas[number].facets()
        bound = np.full(len(centre), family.bound)
        key = bound - self.problem.l0 * len(family.within)
        return self._wide(centre, radius, bound, key, np.full(len(centre), 100), number)

    def _wide(self, c: Array, r: Array, bound: Array, key: Array, age: Array, number: int) -> BoxSet:
        """Boxes of a chart as a pool keeps them."""
        wide = np.zeros((2, len(c), self.problem.X.shape[1]))
        wide[0, :, : c.shape[1]], wide[1, :, : c.shape[1]] = c, r
        return BoxSet(wide[0], wide[1], bound, key, age, np.full(len(c), number))

    def _descend_all(
        self, threads: ThreadPoolExecutor, boxes: BoxSet, limit: float, keep_below: float, budget: int
    ) -> list[tuple[Chart, int, float, Any]]:
        """The boxes' descents, in portions of one chart."""
        jobs: list[tuple[Chart, int, float, Future[Any]]] = []
        for number in np.unique(boxes.chart):
            chart = self.atlas[int(number)]
            s = len(chart.support)
            price = self.problem.l0 * s
            own = boxes.rows(boxes.chart == number)
            effort = Effort(
                prune=limit + price, keep_below=keep_below + price, budget=budget, levels=LEVELS, period=2,
                most_packed=4000, glance=8,
            )  # fmt: skip
            for at in range(0, len(own.key), PORTION):
                part = own.rows(slice(at, at + PORTION))  # type: ignore[arg-type]
                job = threads.submit(
                    self.descend, self.pairs.lists, chart.arrays, self.twins, effort, self.problem.margin,
                    np.ascontiguousarray(part.centre[:, :s]), np.ascontiguousarray(part.radius[:, :s]), part.bound,
                    part.age.astype(np.int64), self.stop,
                )  # fmt: skip
                jobs.append((chart, int(number), price, job))
        futures = [job[3] for job in jobs]
        waiting = wait(futures, timeout=max(0.0, self.deadline - time.perf_counter()) if self._timed else None)
        if waiting.not_done:
            self.stop[0] = 1
        return [(chart, number, price, job.result()) for chart, number, price, job in jobs]

    @property
    def _timed(self) -> bool:
        return self.deadline < math.inf

    # Answers

    def _look_at(self, w: Array, believed: float) -> None:
        """Score a point, and climb from it if it is good or if it is time to."""
        best = self.climber.best_value
        if believed > best:
            self.climber.offer(w)
        better = self.climber.best_value > best
        if better or self.climber.n_lines * BOXES_A_LINE < self.nodes:
            self.climber.climb(w, deadline=self.deadline)
            if self.climber.best_value > best:
                self._report("better answer", always=True)

    # Bounds and ends

    @property
    def _hopeless(self) -> float:
        """A bound up to this is no hope."""
        best = self.climber.best_value
        return best + ExactCertificate.ROUNDING * max(1.0, abs(best))

    def _settle(self) -> None:
        """State the bound."""
        open_ = max(self.pool.best_key, self.families.best_key, self.aside)
        self.bound = max(self.climber.best_value, min(self.bound, open_))

    def _out_of_time(self) -> bool:
        if self.asked_to_stop or self.stop[0] or time.perf_counter() >= self.deadline:
            return True
        return self.max_nodes is not None and self.nodes >= self.max_nodes

    def _good_enough(self, bound: float) -> bool:
        return bound <= self._hopeless or relative_gap(self.climber.best_value, bound) <= self.gap_tol

    def _done(self) -> bool:
        if self._out_of_time() or self._good_enough(self.bound):
            return True
        # What is left cannot be cut.
        return self.batches > 0 and not len(self.pool) and self.families.best_key <= self._hopeless

    def _report(self, note: str, always: bool = False) -> bool:
        now = time.perf_counter()
        if self.asked_to_stop or (not always and now < self.told + QUIET):
            return self.asked_to_stop
        self.told = now
        progress = Progress(now - self.began, self.climber.best_value, self.bound, self.nodes, note)
        self.trace.append(progress)
        log.debug("%s", progress)
        if self.callback is not None and self.callback(progress):
            self.asked_to_stop = True
        return self.asked_to_stop

    def _solution(self) -> ExactSolution:
        seconds = time.perf_counter() - self.began
        certificate = ExactCertificate.of(
            self.climber.best_value,
            self.bound,
            nodes=self.nodes,
            seconds=seconds,
            method="branch_and_bound",
            trivial_bound=self.problem.trivial_bound,
        )
        end = Progress(seconds, certificate.value, certificate.bound, self.nodes, "end")
        return ExactSolution(self.climber.best_w, certificate, (*self.trace, end))


def _features(problem: ExactProblem) -> Array:
    """Columns in which rows that compete differ."""
    X = problem.X
    differs = np.zeros(X.shape[1], dtype=bool)
    if isinstance(problem, PreferenceProblem):
        differs = (X[problem.better] != X[problem.worse]).any(axis=0)
    elif isinstance(problem, RankProblem):
        for list_ in problem.lists:
            differs |= np.ptp(X[list_.rows], axis=0) > 0
    return np.flatnonzero(differs)
