"""The search of a segment against the definition at the middle of every arc, compiled and with arrays."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact import compiled_ascent, line_search
from shortlist.solvers.exact.line_search import Arcs, norm_pieces, pairs_of, search_segment
from shortlist.solvers.exact.problem import ExactProblem, PreferenceProblem, RankProblem, on_the_cube
from shortlist.statistics import DCG
from tests.solvers.exact.box_cases import preferences
from tests.solvers.exact.cases import small_medium

needs_numba = pytest.mark.skipif(not compiled_ascent.available(), reason="needs Numba")
FORMS = [pytest.param(False, id="arrays"), pytest.param(True, id="compiled", marks=needs_numba)]

PROBLEMS: dict[str, ExactProblem] = {
    "dcg": small_medium(0, "dcg"),
    "dcg, wide margin": small_medium(1, "dcg", margin=0.6),
    "dcg, whole numbers": small_medium(2, "dcg", whole=True, margin=0.5),
    "dcg, three lists": small_medium(3, "dcg", n=30, m=12, n_groups=3),
    "winner, two lists, resolved": small_medium(4, "winner_takes_all", n_groups=2, ranks="resolved"),
    "rank sum, resolved": small_medium(5, "wrs", ranks="resolved", whole=True, margin=0.5),
    "dcg of four places": small_medium(6, DCG(top=4), d=5),
    "one feature": small_medium(7, "reciprocal_rank", d=1),
    "only positives": small_medium(8, "dcg", n=6, m=6),
    "preferences": preferences(0),
    "preferences, wide margin": PreferenceProblem(
        preferences(1).X, 0.8, 0.0, *np.random.default_rng(0).integers(0, 10, size=(2, 25)), np.linspace(1, 2, 25)
    ),
}


def segments(problem, count, seed):
    """Pairs of ends, some near one another, some across the origin's neighbourhood."""
    rng, d = np.random.default_rng(seed), problem.X.shape[1]
    for k in range(count):
        a = rng.normal(size=d)
        b = rng.normal(size=d) if k % 3 else a + 0.2 * rng.normal(size=d)
        b = -a + 0.1 * rng.normal(size=d) if k % 5 == 4 else b
        if k % 4 == 3:
            a, b = (w * (rng.random(d) < 0.6) for w in (a, b))
        if a.any() and b.any():
            yield (on_the_cube(a), 3.0 * on_the_cube(b))


def searched(problem, pairs, a, b, compiled):
    return search_segment(pairs, a, b, problem.X @ a, problem.X @ b, problem.margin, compiled=compiled)


def scopes(problem):
    return ["preferences"] if isinstance(problem, PreferenceProblem) else ["negatives", "rows"]


def exact_here(problem, scope):
    """Whether the scope tells the statistic itself."""
    return scope == "preferences" or (problem.ranks == "resolved") == (scope == "negatives")


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_arc_is_worth_what_its_middle_is(name, compiled):
    problem = PROBLEMS[name]
    for scope in scopes(problem):
        if scope == "rows" and problem.ranks == "resolved":
            continue
        pairs = pairs_of(problem, scope)
        arcs_seen = 0
        for a, b in segments(problem, 12, 0):
            arcs = searched(problem, pairs, a, b, compiled)
            assert arcs.edges[0] == 0 and arcs.edges[-1] == 1 and (np.diff(arcs.edges) >= 0).all()
            assert len(arcs.values) == len(arcs.edges) - 1
            for k in np.flatnonzero(np.diff(arcs.edges) > 1e-9):
                t = arcs.edges[k : k + 2].mean()
                truth = problem.statistic(problem.X @ on_the_cube((1 - t) * a + t * b))
                arcs_seen += 1
                if exact_here(problem, scope):
                    assert arcs.values[k] == pytest.approx(truth), (k, t)
                else:
                    assert arcs.values[k] >= truth - 1e-9
        assert arcs_seen > 5


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_point_of_the_segment_is_off_its_arc(name, compiled):
    problem = PROBLEMS[name]
    pairs = pairs_of(problem, scopes(problem)[-1])
    if not exact_here(problem, pairs.scope):
        pairs = pairs_of(problem)
    for a, b in segments(problem, 4, 1):
        arcs = searched(problem, pairs, a, b, compiled)
        for t in np.random.default_rng(2).random(60):
            if np.abs(arcs.edges - t).min() < 1e-9:
                continue
            truth = problem.statistic(problem.X @ on_the_cube((1 - t) * a + t * b))
            assert arcs.values[np.searchsorted(arcs.edges, t) - 1] == pytest.approx(truth)


@needs_numba
@pytest.mark.parametrize("name", PROBLEMS)
def test_compiled_and_arrays_find_the_same_arcs(name):
    problem = PROBLEMS[name]
    for scope in scopes(problem):
        pairs = pairs_of(problem, scope)
        for a, b in segments(problem, 10, 3):
            one, two = (searched(problem, pairs, a, b, compiled) for compiled in (False, True))
            assert one.edges == pytest.approx(two.edges, abs=1e-12)
            wide = np.diff(one.edges) > 1e-9
            assert one.values[wide] == pytest.approx(two.values[wide])


@needs_numba
def test_the_loops_as_plain_python(monkeypatch):
    monkeypatch.setattr(compiled_ascent, "_crossing_compiled", compiled_ascent._crossing)
    loops = compiled_ascent._pieces, compiled_ascent._gather, compiled_ascent._sweep
    compiled = {}
    for name, problem in PROBLEMS.items():
        for scope in scopes(problem):
            pairs = pairs_of(problem, scope)
            for number, (a, b) in enumerate(segments(problem, 5, 4)):
                compiled[name, scope, number] = searched(problem, pairs, a, b, True)
    monkeypatch.setattr(compiled_ascent, "_functions", lambda: loops)
    for name, problem in PROBLEMS.items():
        for scope in scopes(problem):
            pairs = pairs_of(problem, scope)
            for number, (a, b) in enumerate(segments(problem, 5, 4)):
                plain = searched(problem, pairs, a, b, True)
                assert plain.edges == pytest.approx(compiled[name, scope, number].edges, abs=1e-14)
                assert plain.values == pytest.approx(compiled[name, scope, number].values)


@pytest.mark.parametrize("compiled", FORMS)
def test_more_events_than_there_was_room_for(compiled):
    problem = small_medium(0, "dcg", n=80, m=35)
    pairs = pairs_of(problem)
    w = np.array([1.0, 0.3, -0.4])
    arcs = searched(problem, pairs, w, -w + 1e-3, compiled)
    # From one order to its reverse every pair changes hands.
    assert len(arcs.values) > 1024
    k = int(np.argmax(np.diff(arcs.edges)))
    t = arcs.edges[k : k + 2].mean()
    assert arcs.values[k] == pytest.approx(problem.statistic(problem.X @ on_the_cube((1 - t) * w + t * (-w + 1e-3))))


@pytest.mark.parametrize("compiled", FORMS)
def test_a_pair_that_is_won_in_the_middle_alone(compiled):
    # Between (1, -0.2) and (-0.2, 1) the norm dips, and so does what the margin asks.
    X = np.array([[1.0, 1.0], [0.0, 0.0]])
    problem = RankProblem.of(X, np.array([True, False]), "winner_takes_all", margin=0.9)
    a, b = np.array([1.0, -0.2]), np.array([-0.2, 1.0])
    arcs = searched(problem, pairs_of(problem), a, b, compiled)
    assert arcs.values.tolist() == [0.0, 1.0, 0.0]
    # (1 - t) a + t b = (1 - 1.2 t, 1.2 t - 0.2): the sum is 0.8 and the norm 1 - 1.2 t at first.
    assert arcs.edges[1:3] == pytest.approx([(1 - 0.8 / 0.9) / 1.2, 1 - (1 - 0.8 / 0.9) / 1.2])
    [(value, t)] = arcs.best()
    assert value == 1.0 and t == pytest.approx(0.5)


@pytest.mark.parametrize("compiled", FORMS)
def test_the_origin_is_no_end(compiled):
    problem = PROBLEMS["dcg"]
    with pytest.raises(ValueError, match="must not end at w = 0"):
        searched(problem, pairs_of(problem), np.zeros(3), np.ones(3), compiled)


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("name", ["dcg", "dcg, three lists", "preferences"])
def test_chunks_change_nothing(name, compiled, monkeypatch):
    problem = PROBLEMS[name]
    a, b = next(iter(segments(problem, 1, 5)))
    whole = searched(problem, pairs_of(problem), a, b, compiled)
    monkeypatch.setattr(line_search, "CHUNK", 8)
    pairs = pairs_of(problem)
    assert len(pairs.chunks) > 1 and pairs.chunks[0][0] == 0 and pairs.chunks[-1][1] == len(pairs.rows)
    parts = searched(problem, pairs, a, b, compiled)
    assert parts.edges == pytest.approx(whole.edges) and parts.values == pytest.approx(whole.values)


# Norms


@pytest.mark.parametrize("form", ["arrays", "plain loops", pytest.param("compiled", marks=needs_numba)])
def test_pieces_of_a_norm(form):
    loops = {"arrays": norm_pieces, "plain loops": compiled_ascent._pieces}
    pieces = compiled_ascent._functions()[0] if form == "compiled" else loops[form]
    rng = np.random.default_rng(0)
    for k in range(60):
        d = int(rng.integers(1, 6))
        a, b = (rng.normal(size=d), rng.normal(size=d)) if k % 2 else rng.integers(-2, 3, size=(2, d)).astype(float)
        breaks, base, slope = pieces(a, b)
        assert breaks[0] == 0 and breaks[-1] == 1 and (np.diff(breaks) >= 0).all()
        assert len(base) == len(slope) == len(breaks) - 1 <= 2 * d
        for t in np.linspace(0, 1, 41):
            piece = np.clip(np.searchsorted(breaks, t, side="right") - 1, 0, len(base) - 1)
            assert base[piece] + slope[piece] * t == pytest.approx(np.abs((1 - t) * a + t * b).max(), abs=1e-12)
        # A norm is convex.
        assert (np.diff(slope) >= -1e-12).all()


# The parts


def test_arcs_know_their_best():
    arcs = Arcs(np.array([0.0, 0.1, 0.1 + 1e-14, 0.5, 0.6, 1.0]), np.array([1.0, 9.0, 2.0, 2.0, 1.0]))
    # The arc of 9 is no arc; of the two of 2 the wider one, whose middle is 0.3.
    [(value, t)] = arcs.best()
    assert (value, t) == (2.0, pytest.approx(0.3))
    assert [value for value, _ in arcs.best(keep=3)] == [2.0, 2.0, 1.0]
    assert [t for _, t in arcs.best(keep=3)] == pytest.approx([0.3, 0.55, 0.8])
    assert Arcs(np.array([0.0, 1e-13]), np.array([1.0])).best() == []


def test_pairs_of_preferences_stand_by_their_better_row():
    problem = PreferenceProblem(np.eye(3), 1e-4, 0.0, np.array([2, 0, 2]), np.array([1, 1, 0]), np.array([1.0, 2, 3]))
    pairs = pairs_of(problem)
    assert pairs.scope == "preferences" and len(pairs) == 3
    assert pairs.rows.tolist() == [0, 2] and pairs.start.tolist() == [0, 1] and pairs.stop.tolist() == [1, 3]
    assert pairs.opponents.tolist() == [1, 1, 0] and pairs.weights.tolist() == [2.0, 1.0, 3.0]


def test_pairs_of_lists_share_their_opponents():
    problem = small_medium(0, "dcg", n=12, m=6, n_groups=2)
    for scope, met in (("negatives", 3), ("rows", 6)):
        pairs = pairs_of(problem, scope)
        assert len(pairs) == 6 * met and len(pairs.opponents) == 2 * met
        item, place = pairs.flat(0, len(pairs.rows))
        groups = np.arange(12) % 2
        assert (groups[pairs.rows[item]] == groups[pairs.opponents[place]]).all()
    assert pairs_of(problem).scope == "negatives"


def test_other_problems_are_refused():
    class Other(ExactProblem):
        def statistic(self, scores):
            return 0.0

        best_statistic = 0.0

    with pytest.raises(TypeError, match="got Other"):
        pairs_of(Other(np.eye(2), 1e-4, 0.0))
