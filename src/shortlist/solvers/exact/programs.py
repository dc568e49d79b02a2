"""The paper's four mixed-integer programs, as arrays: what they say, and what they ought to say.

Variables: w in [-1, 1]^d;  gamma_j in {0, 1} >= |w_j|, the price of a coefficient;  z_ik in {0, 1}, "i beats k";
t_il in {0, 1}, "the rank of i is at least l - 1", l in S_r = {l >= 2 : a_l > a_(l-1)}; and ranks.  Each maximises

    sum over i, l of (a_l - a_(l-1)) t_il - l0 sum_j gamma_j,   or   sum over pairs of weight z_ik - l0 sum_j gamma_j,

summed over the lists, and the constant that makes it the statistic.

``subrank``      (22)-(26): (l-1) t_il <= sum_k z_ik;  with ``strengthen`` also (27)-(29).
``resolved``     (11)-(21): ranks r_i, all different, that agree with z; (l-1) t_il <= r_i.
``auc``          A.1: positives against negatives only.  For weights a_l that grow evenly the ResolvedRank statistic is
                 this number of pairs and a constant; the Subrank statistic is never more.
``preferences``  A.2: the pairs as given.

**What is printed is another problem.**  With D = x_i - x_k all four print

    z_ik <= w.D + 1 - margin,

and z_ik >= 0 then forbids every w with w.D < margin - 1.  Where differences exceed 1 in size that cuts the cube: a w
that puts k far above i must be shrunk, and the shrunken w has to meet the whole margin.  So the printed program solves
the definition with a margin that grows with the spread of the scores.  It is the definition's if, and only if, no D in
it can be that large: ||D||_1 <= 1 - margin for all pairs.  Further:

* (12) with (13), z_ik >= w.D, forbids 0 < |w.D| < margin for any two rows: near-ties, which the definition counts as
  ties, must not happen at all.  No check of the data rules that out, so a bound of the printed ``resolved`` program is
  never one for the definition.
* (27), z_ik + z_ki = 1 for different positives, forbids the same among positives: two of them within the margin of one
  another in every direction make the program infeasible.  Nor does it admit w = 0.
* A.2 prints its constraint for all rows i and k, preferred or not.  Those without a preference matter only in that all
  scores lie within 1 - margin of one another, which is how it is written here.
* (29) bounds the statistic by the sum of all weights; an order without a mistake is the better bound.

**Tight** programs have the definition's optimum, exactly.  D's support function over the cube is ||D||_1, so

    (margin + ||D||_1) z_ik <= w.D + ||D||_1

is the least big-M there is; (27) becomes z_ik + z_ki <= 1, (29) the statistic without a mistake.  ``resolved`` needs
no ranks of negatives: with p_i = 0..m-1 the positives' own order, one that agrees with the numbers of beaten negatives
(y_ik in {0, 1} tells who is above), r_i = p_i + sum over negatives of z_ik, and near-ties count as the definition says.

Reference
---------
Rudin, Wang (2018). Direct learning to rank and rerank, AISTATS; sections 3.1, 3.2, appendix A.1, A.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankedList, RankProblem

Array = NDArray[Any]
BigM = Literal["printed", "tight"]
ProgramName = Literal["subrank", "resolved", "auc", "preferences"]

__all__ = ["BigM", "Program", "ProgramName", "build_program"]

_CHUNK = 1 << 20


@dataclass
class Program:
    """Maximise ``cost.x + offset`` over ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``, some x whole.

    Attributes
    ----------
    w, gamma : slices of the columns
    first, second, z : int arrays
        z[p] is the column that says whether row first[p] beats row second[p].
    valid : bool
        Whether the program's bound is one for the definition.
    spread : float
        What no score difference of its rows may exceed; infinite where nothing is forbidden.
    """

    name: ProgramName
    big_m: BigM
    problem: ExactProblem
    offset: float = 0.0
    valid: bool = True
    spread: float = np.inf
    first: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    second: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    z: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    _columns: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)
    _rows: list[tuple[Array, Array]] = field(default_factory=list)
    _entries: list[tuple[Array, Array, Array]] = field(default_factory=list)
    _fill: list[Callable[[Array], None]] = field(default_factory=list)
    n_columns: int = 0
    n_rows: int = 0

    def __post_init__(self) -> None:
        d = self.problem.X.shape[1]
        self.w = self.columns(d, -1.0, 1.0, 0.0, whole=False)
        self.gamma = self.columns(d, 0.0, 1.0, -self.problem.l0)
        for sign in (1.0, -1.0):
            self.rows((self.w, sign), (self.gamma, -1.0), upper=0.0)

    # Columns and rows are added in blocks; nothing loops over pairs.

    def columns(self, n: int, lower: Any, upper: Any, cost: Any, *, whole: bool = True) -> Array:
        """Add ``n`` columns; their numbers."""
        low, high, price = (np.broadcast_to(np.asarray(v, dtype=np.float64), n) for v in (lower, upper, cost))
        self._columns.append((low, high, price, np.full(n, whole)))
        self.n_columns += n
        return np.arange(self.n_columns - n, self.n_columns)

    def rows(self, *terms: tuple[Array, Any], lower: Any = -np.inf, upper: Any = np.inf) -> None:
        """Add rows ``lower <= sum of coefficient * column <= upper``; a term is (n,) or (n, k) columns, and theirs."""
        n = len(terms[0][0])
        if not n:
            return
        for columns, values in terms:
            block, each = columns.reshape(n, -1), np.asarray(values, dtype=np.float64)
            each = np.broadcast_to(each[:, None] if each.ndim == 1 else each, block.shape)
            number = np.repeat(np.arange(self.n_rows, self.n_rows + n), block.shape[1])
            self._entries.append((number, block.ravel(), each.ravel()))
        low, high = (np.broadcast_to(np.asarray(v, dtype=np.float64), n) for v in (lower, upper))
        self._rows.append((low, high))
        self.n_rows += n

    def differences(self, first: Array, second: Array) -> Array:
        return np.asarray(self.problem.X[first] - self.problem.X[second])

    def beats(self, first: Array, second: Array, cost: Any = 0.0) -> Array:
        """Columns z of pairs, held down by the margin: constraints (12), (24) or the tight ones."""
        margin = self.problem.margin
        D = self.differences(first, second)
        size = np.abs(D).sum(axis=1)
        same = (size == 0) | ((size < margin) if self.big_m == "tight" else False)
        z = self.columns(len(first), 0.0, np.where(same, 0.0, 1.0), cost)
        slope = margin + size if self.big_m == "tight" else np.ones(len(first))
        w = np.broadcast_to(self.w, D.shape)
        self.rows((z, slope), (w, -D), upper=slope - margin)
        if self.big_m == "printed":
            self.spread = 1 - margin
            self.valid &= bool((size <= self.spread).all())
        self.first, self.second = np.concatenate([self.first, first]), np.concatenate([self.second, second])
        self.z = np.concatenate([self.z, z])
        return z

    def ladder(self, n_items: int, list_: RankedList, *ranks: tuple[Array, float]) -> tuple[Array, Array]:
        """Columns t of a list: t[i, l] allowed up to the rank of i, the sum of the ``ranks`` columns of row i."""
        steps = np.diff(list_.a)
        levels = np.flatnonzero(steps > 0) + 1
        t = self.columns(n_items * len(levels), 0.0, 1.0, np.tile(steps[levels - 1], n_items))
        if len(t):
            parts = [(np.repeat(columns.reshape(n_items, -1), len(levels), axis=0), -v) for columns, v in ranks]
            self.rows((t, np.tile(levels, n_items)), *parts, upper=0.0)
        self.offset += n_items * float(list_.a[0])

        def climb(x: Array) -> None:
            rank = sum(v * x[columns].reshape(n_items, -1).sum(axis=1) for columns, v in ranks)
            x[t] = (np.round(np.asarray(rank))[:, None] >= levels).ravel()

        self._fill.append(climb)
        return t.reshape(n_items, len(levels)), steps[levels - 1]

    def then(self, fill: Callable[[Array], None]) -> None:
        """How further columns follow from those before."""
        self._fill.append(fill)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Lower and upper bounds, costs and wholeness of the columns."""
        lower, upper, cost, whole = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        return lower, upper, cost, whole

    @property
    def row_bounds(self) -> tuple[Array, Array]:
        lower, upper = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        return lower, upper

    @property
    def matrix(self) -> sparse.csr_array:
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        return sparse.csr_array((value, (row, column)), shape=(self.n_rows, self.n_columns))

    def assignment(self, w: Array) -> Array:
        """Every column from ``w``, shrunk first where the printed big-M forbids the scores that far apart."""
        if np.isfinite(self.spread) and len(self.first):
            scores = self.problem.X @ w
            apart = float((scores[self.second] - scores[self.first]).max(initial=0.0))
            apart = max(apart, float(np.ptp(scores))) if self.name == "preferences" else apart
            w = w * min(1.0, self.spread / apart) if apart > 0 else w
        x = np.zeros(self.n_columns)
        x[self.w], x[self.gamma] = w, w != 0
        scores = self.problem.X @ w
        x[self.z] = scores[self.first] - scores[self.second] >= self.problem.margin
        for fill in self._fill:
            fill(x)
        return x


def build_program(
    problem: ExactProblem, name: ProgramName | None = None, *, big_m: BigM = "printed", strengthen: bool = False
) -> Program:
    """The program of a problem, by default the one for its statistic."""
    program = Program(_checked_name(problem, name), big_m, problem)
    if isinstance(problem, PreferenceProblem):
        _preferences(program, problem)
    elif isinstance(problem, RankProblem):
        for list_ in problem.lists:
            if program.name == "subrank":
                _subrank(program, list_, strengthen)
            elif program.name == "auc":
                _auc(program, list_)
            elif big_m == "printed":
                _resolved_as_printed(program, list_)
            else:
                _resolved(program, list_)
    return program


def _checked_name(problem: ExactProblem, name: ProgramName | None) -> ProgramName:
    if isinstance(problem, PreferenceProblem):
        if name not in (None, "preferences"):
            raise ValueError(f"program={name!r} is for labelled rows; preferences take program='preferences'")
        return "preferences"
    if not isinstance(problem, RankProblem):
        raise TypeError(f"expected a RankProblem or a PreferenceProblem, got {type(problem).__name__}")
    if name is None:
        return problem.ranks
    if name == "auc":
        if any(np.ptp(np.diff(list_.a), axis=0) > 1e-12 * list_.a[-1] for list_ in problem.lists if len(list_.a) > 1):
            raise ValueError("program='auc' counts pairs, so it needs weights that grow evenly with the rank ('wrs')")
        return name
    if name not in ("subrank", "resolved") or name != problem.ranks:
        raise ValueError(f"program={name!r} does not fit a problem with ranks={problem.ranks!r}")
    return name


def _subrank(program: Program, list_: RankedList, strengthen: bool) -> None:
    m, n = len(list_.positives), len(list_.a)
    z = program.beats(np.repeat(list_.positives, n), np.tile(list_.rows, m)).reshape(m, n)
    t, steps = program.ladder(m, list_, (z, 1.0))
    if not strengthen:
        return
    i, k = np.triu_indices(m, 1)
    if len(i):
        different = (program.differences(list_.positives[i], list_.positives[k]) != 0).any(axis=1).astype(float)
        lower = different if program.big_m == "printed" else -np.inf
        program.rows((z[i, k], 1.0), (z[k, i], 1.0), lower=lower, upper=different)
        program.valid &= program.big_m == "tight" or not different.any()
    if t.shape[1] > 1:
        program.rows((t[:, :-1].ravel(), 1.0), (t[:, 1:].ravel(), -1.0), lower=0.0)
    if t.size:
        best = list_.discounts[:m].sum() - m * list_.a[0]
        limit = list_.a.sum() if program.big_m == "printed" else best * (1 + 1e-12)
        program.rows((t.reshape(1, -1), np.tile(steps, m)[None, :]), upper=limit)


def _auc(program: Program, list_: RankedList) -> None:
    m, n = len(list_.positives), len(list_.negatives)
    step = float(list_.a[-1] - list_.a[0]) / max(len(list_.a) - 1, 1)
    if n:
        program.beats(np.repeat(list_.positives, n), np.tile(list_.negatives, m), step)
    # The positives' own order earns what it always earns.
    program.offset += m * float(list_.a[0]) + step * m * (m - 1) / 2


def _preferences(program: Program, problem: PreferenceProblem) -> None:
    program.beats(problem.better, problem.worse, problem.weights)
    if program.big_m == "tight":
        return
    X = problem.X
    n, limit = len(X), 1 - problem.margin
    program.spread = limit
    ends = program.columns(2, -np.inf, np.inf, 0.0, whole=False)
    w = np.broadcast_to(program.w, X.shape)
    program.rows((w, X), (np.full(n, ends[0]), -1.0), upper=0.0)
    program.rows((w, X), (np.full(n, ends[1]), -1.0), lower=0.0)
    program.rows((ends[None, :], np.array([[1.0, -1.0]])), upper=limit)
    program.valid &= _widest(X) <= limit

    def fill(x: Array) -> None:
        scores = X @ x[program.w]
        x[ends] = scores.max(), scores.min()

    program.then(fill)


def _widest(X: Array) -> float:
    """Largest ||x_i - x_k||_1."""
    step = max(1, _CHUNK // max(X.size, 1))
    return max(
        (float(np.abs(X[r : r + step, None] - X[None]).sum(axis=2).max()) for r in range(0, len(X), step)), default=0.0
    )


def _resolved(program: Program, list_: RankedList) -> None:
    """Tight: ranks of the positives alone, in an order that agrees with the negatives that they beat."""
    m, n = len(list_.positives), len(list_.negatives)
    z = program.beats(np.repeat(list_.positives, n), np.tile(list_.negatives, m)).reshape(m, n)
    own = program.columns(m, 0.0, m - 1.0, 0.0, whole=False)
    i, k = np.triu_indices(m, 1)
    above = program.columns(len(i), 0.0, 1.0, 0.0)
    if len(i):
        # above = 1: i has beaten at least as many, own_i >= own_k + 1; above = 0: the other way round.
        program.rows((own[i], 1.0), (own[k], -1.0), (above, -float(m)), lower=1.0 - m, upper=-1.0)
        if n:
            program.rows((z[i], 1.0), (z[k], -1.0), (above, -float(n)), lower=-float(n), upper=0.0)

    def fill(x: Array) -> None:
        order = np.argsort(x[z].sum(axis=1), kind="stable")
        place = np.empty(m)
        place[order] = np.arange(m)
        x[own], x[above] = place, place[i] > place[k]

    program.then(fill)
    program.ladder(m, list_, (own, 1.0), *([(z, 1.0)] if n else []))


def _resolved_as_printed(program: Program, list_: RankedList) -> None:
    """Constraints (12)-(20); z_ii, which (12) sets to 0, is left out."""
    program.valid = False
    rows, m, n = list_.rows, len(list_.positives), len(list_.a)
    i, k = np.nonzero(~np.eye(n, dtype=bool))
    z = program.beats(rows[i], rows[k])
    if len(z):
        D = program.differences(rows[i], rows[k])
        program.rows((z, 1.0), (np.broadcast_to(program.w, D.shape), -D), lower=0.0)
    ranks = program.columns(n, 0.0, n - 1.0, 0.0)
    if len(z):
        program.rows((ranks[i], 1.0), (ranks[k], -1.0), (z, -float(n)), lower=1.0 - n)
        # One row a pair: positive and negative, or the earlier and the later of one label.
        once = i < k
        program.rows((ranks[k[once]], 1.0), (ranks[i[once]], -1.0), (z[once], float(n)), lower=1.0)

    def fill(x: Array) -> None:
        scores = program.problem.X[rows] @ x[program.w]
        # Worst first: by score, at ties positives below negatives, the earlier of one label below the later.
        order = np.lexsort((np.arange(n), np.arange(n) >= m, scores))
        x[ranks[order]] = np.arange(n)

    program.then(fill)
    program.ladder(m, list_, (ranks[:m], 1.0))
