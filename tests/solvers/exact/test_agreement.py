"""Branch and bound, mixed-integer programs and exhaustion say the same; nothing beats what is proven.

What may be demanded.  The conditions of an exact problem are closed, so its supremum may be attained at one point
alone, which scores in floating point cannot hit.  Let ``best`` be the supremum and ``robust`` that of the problem
whose margin is a millionth larger: of the answers with room to spare.  Then for every answer and every bound

    robust <= value <= best <= bound,

where the outer inequalities are what a search promises and the inner one is the definition; a proof claims
value = bound, hence value = best.  Where robust = best a search that has ended has to have found the best.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.solvers.exact.ascent import Climber, solve_ascent
from shortlist.solvers.exact.branch_and_bound import solve_branch_and_bound
from shortlist.solvers.exact.compiled import available
from shortlist.solvers.exact.mip import solve_mip
from shortlist.solvers.exact.outcome import ExactSolution
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem
from shortlist.statistics import DCG, PartialAUC
from tests.oracle.exact import best_value, exact_value
from tests.solvers.exact.cases import random_weights, small_medium, small_problem

CASES = 225
MIP_CASES = 200
# Sums of the same weights in another order; and what HiGHS is allowed.
SAME, LOOSE = 1e-9, 4e-6


class Seen(NamedTuple):
    problem: ExactProblem
    best: float
    robust: float
    solution: ExactSolution


def truth(problem: ExactProblem) -> tuple[float, float]:
    return best_value(problem), best_value(replace(problem, margin=problem.margin * (1 + 2.0**-20)))


@lru_cache(maxsize=1)
def searched() -> tuple[Seen, ...]:
    out = []
    for number in range(CASES):
        problem = small_problem(number)
        solution = solve_branch_and_bound(problem, time_limit=None, max_nodes=5000, random_state=number)
        out.append(Seen(problem, *truth(problem), solution))
    return tuple(out)


@lru_cache(maxsize=1)
def programmed() -> tuple[Seen, ...]:
    out = []
    for number in range(MIP_CASES):
        problem = small_problem(number, most_rows=7)
        start = solve_ascent(problem, n_starts=2, max_steps=20, random_state=0).coef if number % 3 == 0 else None
        solution = solve_mip(
            problem, big_m="tight", strengthen=bool(number % 2), start=start, time_limit=None, random_state=number
        )
        out.append(Seen(problem, *truth(problem), solution))
    return tuple(out)


def test_the_cases_are_of_every_kind():
    problems = [seen.problem for seen in searched()]
    ranked = [p for p in problems if isinstance(p, RankProblem)]
    assert len(problems) >= 200
    assert max(len(p.X) for p in problems) == 10 and max(p.X.shape[1] for p in problems) == 3
    assert min(sum(p.ranks == kind for p in ranked) for kind in ("subrank", "resolved")) > 80
    assert sum(len(p.lists) > 1 for p in ranked) > 15
    assert sum(isinstance(p, PreferenceProblem) for p in problems) > 20
    assert sum(p.l0 > 0 for p in problems) > 100
    assert sum(len(np.unique(p.X, axis=0)) < len(p.X) for p in problems) > 80
    # Most do not put every positive at the top, and boxes are needed to say so.
    assert sum(seen.best < seen.problem.trivial_bound - SAME for seen in searched()) > 150
    assert sum(seen.solution.certificate.nodes > 0 for seen in searched()) > 80


@pytest.mark.parametrize("route", [searched, programmed])
def test_no_bound_excludes_the_best_answer(route):
    for number, seen in enumerate(route()):
        assert seen.solution.certificate.bound >= seen.best - SAME, number


@pytest.mark.parametrize("route", [searched, programmed])
def test_a_proven_value_is_the_best_there_is(route):
    slack = SAME if route is searched else LOOSE
    for number, seen in enumerate(route()):
        certificate = seen.solution.certificate
        if certificate.proven:
            assert certificate.value == pytest.approx(seen.best, abs=SAME, rel=slack), number


@pytest.mark.parametrize("route", [searched, programmed])
def test_the_best_answer_is_found_wherever_there_is_room_for_it(route):
    for number, seen in enumerate(route()):
        value = seen.solution.certificate.value
        assert value <= seen.best + SAME, number
        # HiGHS may end at a single point that scores cannot hit, and has then nothing else to show.
        if route is searched or seen.best - seen.robust <= SAME:
            assert seen.robust - SAME <= value, number


@pytest.mark.parametrize(("route", "share"), [(searched, 0.97), (programmed, 0.99)])
def test_nearly_all_are_proven(route, share):
    robust = [seen.solution.certificate.proven for seen in route() if seen.best - seen.robust <= SAME]
    assert len(robust) >= 180
    assert np.mean(robust) >= share


def test_rational_arithmetic_confirms_every_answer_of_branch_and_bound():
    for number, (problem, _, _, solution) in enumerate(searched()):
        value = solution.certificate.value
        assert exact_value(problem, solution.coef) == pytest.approx(value, abs=SAME), number
        assert problem.value(solution.coef) == pytest.approx(value, abs=SAME)
        assert np.abs(solution.coef).max() in (0.0, 1.0)


def test_rational_arithmetic_confirms_the_programs_answers_that_have_room():
    # Where the best is a single point its vertex may be won by rounding: the definition's own floats say so.
    confirmed = Counter()
    for problem, best, robust, solution in programmed():
        same = abs(exact_value(problem, solution.coef) - solution.certificate.value) <= SAME
        confirmed[best - robust <= SAME, same] += 1
    assert confirmed[True, False] == 0
    assert confirmed[False, False] <= 2


def test_the_two_routes_agree_with_one_another():
    proven = 0
    for number in range(60):
        problem = small_problem(number, most_rows=7)
        one = solve_branch_and_bound(problem, time_limit=None, max_nodes=5000, random_state=0).certificate
        two = programmed()[number].solution.certificate
        assert one.bound >= two.value - SAME and two.bound >= one.value - SAME
        if one.proven and two.proven:
            proven += 1
            assert one.value == pytest.approx(two.value, rel=LOOSE)
    assert proven > 50


MEDIUM = {
    "dcg": small_medium(20, "dcg", n=26, m=3, d=2),
    "dcg, three features": small_medium(5, "dcg", n=24, m=3),
    "dcg, a price": small_medium(1, "dcg", n=24, m=3, l0=0.05),
    "dcg, whole numbers": small_medium(2, "dcg", n=18, m=3, whole=True),
    "dcg, two lists": small_medium(3, "dcg", n=24, m=4, d=2, n_groups=2),
    "dcg, wide margin": small_medium(4, "dcg", n=20, m=3, margin=0.25),
    "dcg of five places": small_medium(13, DCG(top=5), n=28, m=3, d=2),
    "four places of the rank sum": small_medium(15, PartialAUC(top=4), n=30, m=3, d=2),
    "reciprocal rank": small_medium(8, "reciprocal_rank", n=24, m=3, d=2),
    "rank sum": small_medium(9, "wrs", n=20, m=2, d=2),
    "rank sum, a price": small_medium(10, "wrs", n=16, m=2, d=2, l0=0.5),
    "resolved dcg": small_medium(11, "dcg", n=16, m=3, d=2, ranks="resolved"),
}


@pytest.mark.parametrize("name", MEDIUM)
def test_medium_cases_agree_with_the_program(name):
    problem = MEDIUM[name]
    one = solve_branch_and_bound(problem, time_limit=None, max_nodes=200_000, random_state=0).certificate
    two = solve_mip(problem, big_m="tight", time_limit=None, random_state=0).certificate
    assert one.proven and two.proven
    assert one.value == pytest.approx(two.value, rel=LOOSE)
    assert one.value < problem.trivial_bound


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_no_start_and_no_random_weights_beat_a_proven_value(seed):
    rng = np.random.default_rng(seed)
    name = ("dcg", "wrs", "winner_takes_all", DCG(top=6))[seed % 4]
    problem = small_medium(
        seed, name, n=int(rng.integers(12, 40)), m=int(rng.integers(2, 10)), d=int(rng.integers(2, 5)),
        margin=float(rng.choice([1e-4, 0.3])), l0=float(rng.choice([0.0, 0.1])), whole=bool(seed % 3 == 0),
        ranks="resolved" if seed % 5 == 0 else "subrank", n_groups=1 + seed % 2,
    )  # fmt: skip
    certificate = solve_branch_and_bound(problem, time_limit=None, max_nodes=20_000, random_state=seed).certificate
    climber = Climber(problem, rng)
    for k, w in enumerate(random_weights(problem.X.shape[1], 60, rng)):
        climber.offer(w)
        if k % 10 == 0 and w.any():
            climber.climb(w, max_steps=15)
    assert climber.best_value <= certificate.bound + SAME
    if certificate.proven:
        assert climber.best_value <= certificate.value + SAME


@pytest.mark.skipif(not available(), reason="the arrays are what runs without Numba, and ran above")
def test_without_a_compiler_the_answers_are_the_same():
    counts = Counter()
    for number, seen in enumerate(searched()[:45]):
        plain = solve_branch_and_bound(
            seen.problem, time_limit=None, max_nodes=1000, random_state=number, compiled=False
        ).certificate
        assert plain.bound >= seen.best - SAME, number
        assert plain.value <= seen.best + SAME, number
        counts[plain.proven] += 1
        if plain.proven:
            assert plain.value == pytest.approx(seen.best, abs=SAME), number
    assert counts[True] >= 38
