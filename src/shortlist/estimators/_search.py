"""One exact search for a problem: which solver, from which start, and what is said on the way."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.solvers.exact.ascent import solve_ascent
from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound
from shortlist.solvers.exact.mip import solve_mip
from shortlist.solvers.exact.outcome import Callback, ExactCertificate, ExactSolution, Progress
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem, on_the_cube
from shortlist.solvers.exact.programs import BigM

Array = NDArray[Any]

__all__ = ["METHODS", "Limits", "Reporter", "search"]

METHODS = ("auto", "branch_and_bound", "mip", "ascent")

# Of the time, at most so much goes into a first answer; the proof finds better ones on its way.
FIRST = 0.1
STARTS = 20
# What branch and bound does before it has an answer: seconds for a number of its table of differences (pairs times
# columns) and for a preference, bytes for a number.  From so many seconds on a climb goes before it.
A_NUMBER, A_PREFERENCE, BYTES, LONG = 1e-7, 4e-5, 24, 0.3

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """What a search may take.

    Attributes
    ----------
    n_starts : int or None
        Of the ascent.
    time_limit : float or None
        Seconds, all together.
    max_nodes : int or None
    gap_tol : float
        Relative gap at which a proof is good enough.
    max_memory : float
        Bytes.
    n_jobs : int or None
        Threads; None for all cores.
    big_m : {'printed', 'tight'}
        Of the mixed-integer programs.
    seed : int
    """

    n_starts: int | None
    time_limit: float | None
    max_nodes: int | None
    gap_tol: float
    max_memory: float
    n_jobs: int | None
    big_m: BigM
    seed: int


class Reporter:
    """Logs a line of progress now and then, and passes every one on to the user's callback.

    Parameters
    ----------
    name : str
        Of the estimator, for the log.
    verbose : int
        0 is silent, 1 a line a second, 2 every line.
    callback : callable, optional

    Attributes
    ----------
    stopped : bool
        Whether the user has asked for the end: by the callback, or by an interrupt from the keyboard.
    broken_off : bool
        Whether a second interrupt came: then the answer is not wanted either.
    """

    def __init__(self, name: str, verbose: int, callback: Callback | None) -> None:
        self.name, self.verbose, self.callback = name, verbose, callback
        self.stopped = self.broken_off = False
        self._said = -np.inf

    def __call__(self, progress: Progress) -> bool:
        due = self.verbose > 1 or progress.seconds >= self._said + 1
        if self.verbose and due:
            self._said = progress.seconds
            log.info("%s: %s", self.name, progress)
        try:
            if self.callback is not None and self.callback(progress):
                self.stopped = True
        except KeyboardInterrupt:  # the user's, while the callback ran
            self.stopped = True
        return self.stopped

    def end(self, solution: ExactSolution) -> None:
        """Log what came out."""
        if self.verbose:
            log.info("%s: %s", self.name, solution.certificate)


def search(
    problem: ExactProblem, method: str, limits: Limits, starts: Sequence[Array], report: Reporter
) -> ExactSolution:
    """An answer by ascent, then, unless ``method`` is 'ascent', a search for a proof from there.

    Branch and bound climbs by itself; a climb before it takes place only where ``n_starts`` asks for it, or where its
    pairs are so many that it would come late to an answer.  Where they are too many for the memory or the time allowed,
    there is a climb alone.  However early the search is ended, its answer is not worse than any of ``starts``.
    """
    seconds, obstacle = 0.0, ""
    if method in ("auto", "branch_and_bound"):
        seconds, obstacle = _preparation(problem, limits)
    with _keyboard_stops(report):
        if obstacle:
            solution = _in_two_steps(problem, "ascent", limits, starts, report)
            end = replace(solution.trace[-1], note=f"no proof was begun, for {obstacle}")
            solution = replace(solution, trace=(*solution.trace[:-1], end))
        elif method in ("auto", "branch_and_bound") and limits.n_starts is None and seconds < LONG:
            solution = _branch_and_bound(problem, limits, starts, limits.time_limit, report)
        else:
            solution = _in_two_steps(problem, method, limits, starts, report)
    solution = _at_least(solution, problem, starts)
    report.end(solution)
    return solution


def _preparation(problem: ExactProblem, limits: Limits) -> tuple[float, str]:
    """Seconds that branch and bound needs before it begins, roughly, and what forbids it, if anything does."""
    n_pairs, preferences = 0, 0
    if isinstance(problem, RankProblem):
        n_pairs = sum(len(list_.positives) * len(list_.negatives) for list_ in problem.lists)
    elif isinstance(problem, PreferenceProblem):
        n_pairs = preferences = len(problem.better)
    numbers = n_pairs * problem.X.shape[1]
    seconds, memory = A_NUMBER * numbers + A_PREFERENCE * preferences, float(BYTES * numbers)
    if memory > limits.max_memory:
        return seconds, f"its {n_pairs:,} pairs of rows take {memory:.2g} bytes, beyond max_memory"
    if limits.time_limit is not None and seconds > max(limits.time_limit / 2, LONG):
        return seconds, f"to prepare its {n_pairs:,} pairs of rows takes about {seconds:.2g} s, over half of time_limit"
    return seconds, ""


def _in_two_steps(
    problem: ExactProblem, method: str, limits: Limits, starts: Sequence[Array], report: Reporter
) -> ExactSolution:
    """Ascent, and a proof from its answer."""
    prove = method != "ascent"
    began = time.perf_counter()
    share = FIRST if prove else 1.0
    first = solve_ascent(
        problem,
        n_starts=limits.n_starts or STARTS,
        time_limit=None if limits.time_limit is None else share * limits.time_limit,
        random_state=limits.seed,
        start=starts,
        callback=report,
    )
    if not prove or report.stopped or first.certificate.relative_gap <= limits.gap_tol:
        return first
    spent = time.perf_counter() - began
    left = None if limits.time_limit is None else max(limits.time_limit - spent, 0.0)

    def later(progress: Progress) -> bool:
        known = max(progress.value, first.certificate.value)
        return report(replace(progress, seconds=progress.seconds + spent, value=known))

    try:
        if method == "mip":
            second = solve_mip(
                problem,
                big_m=limits.big_m,
                start=first.coef,
                time_limit=left,
                gap_tol=limits.gap_tol,
                random_state=limits.seed,
                callback=later,
            )
        else:
            second = _branch_and_bound(problem, limits, [first.coef], left, later)
    except KeyboardInterrupt:  # before the second had anything to lose
        report.stopped = True
        return first
    return _joined(first, second, spent)


def _branch_and_bound(
    problem: ExactProblem, limits: Limits, starts: Sequence[Array], time_limit: float | None, report: Callback
) -> ExactSolution:
    return solve_branch_and_bound(
        problem,
        start=starts,
        time_limit=time_limit,
        max_nodes=limits.max_nodes,
        gap_tol=limits.gap_tol,
        max_memory=limits.max_memory,
        n_jobs=limits.n_jobs,
        random_state=limits.seed,
        callback=report,
    )


def _joined(first: ExactSolution, second: ExactSolution, spent: float) -> ExactSolution:
    """Two searches as one: the better answer, the lower bound, one clock; nodes are those of the proof."""
    one, two = first.certificate, second.certificate
    certificate = ExactCertificate.of(
        max(one.value, two.value),
        min(one.bound, two.bound),
        nodes=two.nodes,
        seconds=spent + two.seconds,
        method=two.method,
        trivial_bound=two.trivial_bound,
    )
    coef = second.coef if two.value >= one.value else first.coef
    climbed = (replace(step, nodes=0) for step in first.trace)
    proved = (
        replace(step, seconds=step.seconds + spent, value=max(step.value, one.value), bound=min(step.bound, one.bound))
        for step in second.trace
    )
    return ExactSolution(coef, certificate, (*climbed, *proved))


def _at_least(solution: ExactSolution, problem: ExactProblem, starts: Sequence[Array]) -> ExactSolution:
    """The answer, or the best start where the search was ended before it looked at it."""
    certificate = solution.certificate
    given = [on_the_cube(start) for start in starts]
    values = [problem.value(w) for w in given]
    slack = ExactCertificate.ROUNDING * max(1.0, abs(certificate.value))
    if not values or max(values) <= certificate.value + slack:
        return solution
    certificate = ExactCertificate.of(
        max(values),
        certificate.bound,
        nodes=certificate.nodes,
        seconds=certificate.seconds,
        method=certificate.method,
        trivial_bound=certificate.trivial_bound,
    )
    end = Progress(certificate.seconds, certificate.value, certificate.bound, certificate.nodes, "end")
    return ExactSolution(given[int(np.argmax(values))], certificate, (*solution.trace, end))


@contextmanager
def _keyboard_stops(report: Reporter) -> Iterator[None]:
    """Ctrl-C asks for the end, as a callback may; once more, and it interrupts all.

    Raised at once it would cost an ascent its answer, or come out of compiled code as another error.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread hears it; and what ignores it, or was set from outside Python, is left alone.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        if report.stopped:
            report.broken_off = True
            before(number, frame)
        report.stopped = True

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if report.broken_off:  # a solver may have caught it
        raise KeyboardInterrupt
