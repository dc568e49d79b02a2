"""Mixed-integer programs for exact ranking, solved by HiGHS and scored again from the definition.

    maximise over w with max_j |w_j| = 1, or w = 0:   statistic(X w) - l0 ||w||_0,

as one of the paper's programs, printed or tight (``programs`` says what the two solve).  HiGHS relaxes whole variables
and branches on them.  Its relaxation knows next to nothing: with z_ik at a fraction, w = 0 beats nearly every row.
This room is here to repeat the paper and to check ``branch_and_bound`` by other means; that is the solver to use.

**A status is not believed.**  HiGHS keeps its rows to a tolerance, and a big-M lets a tolerance through M times as
wide, so the pairs that it calls won may be lost.  Each of its answers is put on the cube and scored by
``problem.value``; of the last one also the weights that win the same pairs by as much as can be (a small linear
program), for a vertex has some of them at the margin exactly, where rounding decides.  What is returned is the best of
these, the start and the origin.

**The bound** is HiGHS's dual bound and ``TOLERANCE`` of its size, where the program bounds the definition; where it
does not (``Program.valid``) the certificate keeps the trivial bound and says so.

Cost: rows times nodes of a tree that doubles with each pair in doubt: fifty rows in two columns take seconds, fifty in
eight do not end.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from shortlist.solvers.exact.outcome import Callback, ExactCertificate, ExactSolution, Progress
from shortlist.solvers.exact.problem import ExactProblem, on_the_cube
from shortlist.solvers.exact.programs import BigM, Program, ProgramName, build_program

Array = NDArray[Any]

__all__ = ["TOLERANCE", "solve_mip"]

log = logging.getLogger(__name__)

# HiGHS prunes by its own tolerances: a part of its bound is allowed for them.
TOLERANCE = 1e-6
# Seconds after which the callback is asked again, whatever HiGHS has to say.
SILENCE = 0.2
# Seconds for the linear program that looks at the last answer again.
AFTERWARDS = 1.0


def solve_mip(
    problem: ExactProblem,
    *,
    program: ProgramName | None = None,
    big_m: BigM = "printed",
    strengthen: bool = False,
    start: Array | None = None,
    time_limit: float | None = 60.0,
    gap_tol: float = 0.0,
    random_state: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> ExactSolution:
    """Solve one of the paper's programs with HiGHS.

    Parameters
    ----------
    problem : ExactProblem
    program : {'subrank', 'resolved', 'auc', 'preferences'}, optional
        By default the one for the problem's own statistic.  'auc' is for weights that grow evenly with the rank.
    big_m : {'printed', 'tight'}
        'tight' programs have the definition's optimum; 'printed' ones have it where the features are so small that
        no score difference can exceed 1 - margin, and are otherwise programs of their own with a smaller optimum.
    strengthen : bool
        Add constraints (27) to (29) to the Subrank program.
    start : (d,) array, optional
        A first answer, handed over as values of all variables.
    time_limit : float, optional
        Seconds.  To hand a large program over, and to look at the last answer again, may take one or two more.
    gap_tol : float
        Relative gap at which HiGHS may stop.
    random_state : int, Generator or None
    callback : callable, optional
        Told the ``Progress``; a true answer ends the search, as Ctrl-C does.

    Returns
    -------
    ExactSolution
        ``certificate.method`` names the program and says where its bound is none for the definition.

    Examples
    --------
    >>> from shortlist.solvers.exact.problem import RankProblem
    >>> X = np.array([[3.0, 0.0], [2.0, 5.0], [1.0, 3.0]])
    >>> problem = RankProblem.of(X, np.array([True, False, False]), "wrs")
    >>> print(solve_mip(problem, big_m="tight").certificate.value)
    3.0
    """
    if big_m not in ("printed", "tight"):
        raise ValueError(f"big_m must be 'printed' or 'tight', got {big_m!r}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds or None, got {time_limit!r}")
    began = time.perf_counter()
    built = build_program(problem, program, big_m=big_m, strengthen=strengthen)
    run = _Run(built, began, callback)
    run.offer(np.zeros(problem.X.shape[1]))
    highs = _model(built)
    if start is not None:
        run.offer(np.asarray(start, dtype=np.float64))
        _hand_over(highs, built.assignment(on_the_cube(np.asarray(start, dtype=np.float64))))
    seed = int(np.random.default_rng(random_state).integers(2**31 - 1))
    options: dict[str, Any] = {"random_seed": seed, "mip_rel_gap": max(gap_tol, 0.0), "mip_abs_gap": 0.0}
    if time_limit is not None:
        options["time_limit"] = max(time_limit - (time.perf_counter() - began), 0.0)
    for name, value in options.items():
        highs.setOptionValue(name, value)
    if not run.tell("program built"):
        with _ctrl_c(run):
            run.watch(highs)
            highs.run()
            run.leave(highs)
    return run.outcome(highs)


@dataclass
class _Run:
    """One call of HiGHS: the best answer by the definition, the bound, and what has been told."""

    program: Program
    began: float
    callback: Callback | None
    w: Array = field(default_factory=lambda: np.zeros(0))
    value: float = -math.inf
    bound: float = math.inf
    nodes: int = 0
    interrupted: bool = False
    failure: BaseException | None = None
    said: float = -math.inf
    trace: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bound = self.program.problem.trivial_bound

    def offer(self, w: Array, *, rather: bool = False) -> None:
        """Keep ``w`` if it is the best by the definition; ``rather``: also if it is as good as the best."""
        w = on_the_cube(w)
        value = self.program.problem.value(w)
        if value > self.value or (rather and value == self.value):
            self.w, self.value = w, value

    def proves(self, dual_bound: float) -> None:
        """Take HiGHS's bound, where it is one for the definition."""
        if self.program.valid and math.isfinite(dual_bound):
            self.bound = min(self.bound, dual_bound + TOLERANCE * max(1.0, abs(dual_bound)))

    def tell(self, note: str = "") -> bool:
        """Whether to stop."""
        self.said = time.perf_counter()
        now = Progress(time.perf_counter() - self.began, self.value, max(self.bound, self.value), self.nodes, note)
        if not self.trace or now.value > self.trace[-1].value or now.bound < self.trace[-1].bound:
            self.trace.append(now)
        if self.callback is not None and self.callback(now):
            self.interrupted = True
        return self.interrupted

    def watch(self, highs: Any) -> None:
        for event in (highs.cbMipImprovingSolution, highs.cbMipInterrupt, highs.cbMipLogging, highs.cbSimplexInterrupt):
            event.subscribe(self._hear)

    def leave(self, highs: Any) -> None:
        highs.clearCallbacks()
        if self.failure is not None:
            raise self.failure

    def _hear(self, event: Any) -> None:
        """HiGHS calls: nothing may be raised through it, so a failure waits until it has returned."""
        kinds = highspy.cb.HighsCallbackType
        try:
            if event.callback_type == kinds.kCallbackMipImprovingSolution:
                self.offer(self._weights(np.asarray(event.data_out.mip_solution)))
            if event.callback_type in (kinds.kCallbackMipImprovingSolution, kinds.kCallbackMipLogging):
                self.nodes = max(self.nodes, int(event.data_out.mip_node_count))
                self.proves(float(event.data_out.mip_dual_bound))
                self.tell()
            elif time.perf_counter() - self.said >= SILENCE:
                self.tell()
        except BaseException as error:
            self.failure, self.interrupted = error, True
        if self.interrupted and event.data_in is not None:
            event.interrupt()

    def _weights(self, x: Array) -> Array:
        """w, exactly zero where no price was paid."""
        w = x[self.program.w]
        return np.where(x[self.program.gamma] > 0.5, w, 0.0) if self.program.problem.l0 > 0 else w

    def outcome(self, highs: Any) -> ExactSolution:
        solution, info = highs.getSolution(), highs.getInfo()
        status = highs.modelStatusToString(highs.getModelStatus())
        if solution.value_valid and len(solution.col_value) == self.program.n_columns:
            x = np.asarray(solution.col_value)
            self.offer(self._weights(x))
            # A vertex may owe its value to rounding: of two that are as good, the one with room to spare.
            self.offer(_widest_gap(self.program, x, self._weights(x)), rather=True)
        self.nodes = max(self.nodes, int(info.mip_node_count))
        # Before HiGHS has run its dual bound reads 0, which is none.
        if info.valid and highs.getModelStatus() != highspy.HighsModelStatus.kInfeasible:
            self.proves(float(info.mip_dual_bound))
        problem, bound = self.program.problem, self.bound
        if bound - self.value <= 2 * TOLERANCE * max(1.0, abs(self.value)):
            bound = self.value
        method = f"mip {self.program.name}, {self.program.big_m} big-M, to {TOLERANCE:g}"
        if not self.program.valid:
            method += "; its bound is not one for the definition and was not used"
        note = "interrupted" if self.interrupted else status
        log.debug("%s: %s after %d nodes", method, note, self.nodes)
        seconds = time.perf_counter() - self.began
        certificate = ExactCertificate.of(
            self.value, bound, nodes=self.nodes, seconds=seconds, method=method, trivial_bound=problem.trivial_bound
        )
        self.trace.append(Progress(seconds, certificate.value, certificate.bound, self.nodes, note))
        return ExactSolution(self.w, certificate, tuple(self.trace))


def _model(program: Program) -> Any:
    lower, upper, cost, whole = program.arrays
    row_lower, row_upper = program.row_bounds
    matrix = program.matrix
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_lower_, lp.col_upper_, lp.col_cost_ = lower, upper, cost
    lp.row_lower_, lp.row_upper_ = row_lower, row_upper
    lp.offset_, lp.sense_ = program.offset, highspy.ObjSense.kMaximize
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.n_columns, program.n_rows
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if is_whole else kinds.kContinuous for is_whole in whole]
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise ValueError(
            f"HiGHS refuses the program of {program.n_rows} rows and {program.n_columns} columns; is X finite?"
        )
    return highs


def _hand_over(highs: Any, x: Array) -> None:
    solution = highspy.HighsSolution()
    solution.col_value = x.tolist()
    highs.setSolution(solution)


def _widest_gap(program: Program, x: Array, w: Array) -> Array:
    """The weights that win the pairs that ``x`` calls won by the largest smallest difference; ``w`` if none do."""
    won = np.flatnonzero(x[program.z] > 0.5)
    inside = np.flatnonzero(w) if program.problem.l0 > 0 else np.arange(len(w))
    if not len(won) or not len(inside):
        return w
    D = program.differences(program.first[won], program.second[won])[:, inside]
    A = np.hstack([-D, np.ones((len(D), 1))])
    cost = np.zeros(len(inside) + 1)
    cost[-1] = -1.0
    bounds = [(-1.0, 1.0)] * len(inside) + [(0.0, None)]
    found = linprog(
        cost, A_ub=A, b_ub=np.zeros(len(D)), bounds=bounds, method="highs", options={"time_limit": AFTERWARDS}
    )
    if found.x is None or not found.x[:-1].any():
        return w
    wide = np.zeros(len(w))
    wide[inside] = found.x[:-1]
    return wide


@contextmanager
def _ctrl_c(run: _Run) -> Iterator[None]:
    """While HiGHS runs, Ctrl-C asks it to stop; elsewhere than in the main thread nobody can hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        run.interrupted = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
