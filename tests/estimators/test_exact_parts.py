"""The small parts of the exact rankers: cuts between classes, preferences, problems, the search and its report."""

from __future__ import annotations

import doctest
import importlib
import logging
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from shortlist import ExactRanker
from shortlist.estimators import _problems, _search
from shortlist.estimators._cuts import best_cuts
from shortlist.estimators._preferences import class_pairs, given_pairs, weighted
from shortlist.estimators._ranking import ranked
from shortlist.estimators._validation import TrainingRows, training_rows
from shortlist.exceptions import NotProvenWarning
from shortlist.solvers.exact.outcome import ExactCertificate, ExactSolution, Progress
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from shortlist.statistics import statistic_value

MODULES = ["exact", "rerank", "_search", "_problems", "_preferences", "_cuts", "_blend", "_responses", "_ranking"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"shortlist.estimators.{name}")).failed == 0


def right(scores: Any, labels: Any, weights: Any, cuts: Any) -> float:
    """The weight of the rows that cuts put into their own class."""
    return float(weights[(scores[:, None] > np.asarray(cuts)).sum(axis=1) == labels].sum())


class TestCuts:
    @settings(max_examples=150)
    @given(st.data())
    def test_no_other_cuts_get_more_rows_right(self, data: st.DataObject) -> None:
        n, k = data.draw(st.integers(1, 9)), data.draw(st.integers(2, 4))
        whole = st.integers(-3, 3)
        scores = np.array(data.draw(st.lists(whole, min_size=n, max_size=n))) * 0.1
        labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
        weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))).astype(float)
        cuts = best_cuts(scores, labels, k, weights)
        assert cuts.shape == (k - 1,)
        assert (np.diff(cuts) >= 0).all()
        places = np.append(np.unique(scores) - 0.05, scores.max() + 0.05)
        ways = list(combinations_with_replacement(places, k - 1))
        counts = [right(scores, labels, weights, way) for way in ways]
        assert right(scores, labels, weights, cuts) == max(counts)
        # Of the best ones the highest: the last cut first.
        highest = max(way[::-1] for way, count in zip(ways, counts, strict=True) if count == max(counts))[::-1]
        assert np.array_equal(scores[:, None] > cuts, scores[:, None] > np.array(highest))

    def test_weights_are_one_by_default(self) -> None:
        scores, labels = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
        assert np.array_equal(best_cuts(scores, labels, 2), best_cuts(scores, labels, 2, np.ones(4)))

    def test_no_cut_between_scores_that_differ_by_rounding(self) -> None:
        scores = np.array([1.0, 1.0 + 2e-16, 1.0 - 1e-16])
        cut = best_cuts(scores, np.array([0, 1, 0]), 2)[0]
        assert cut > 1.0 + 1e-12 or cut < 1.0 - 1e-12

    @pytest.mark.parametrize("score", [0.0, 1e300, 1e-300])
    def test_one_score_only(self, score: float) -> None:
        none = best_cuts(np.full(3, score), np.array([0, 0, 1]), 2)[0]
        every = best_cuts(np.full(3, score), np.array([0, 1, 1]), 2)[0]
        assert every < score < none

    def test_single_precision(self) -> None:
        scores = np.array([0.1, 0.2, 0.3], dtype=np.float32)
        assert best_cuts(scores, np.array([0, 1, 1]), 2)[0] == pytest.approx(0.15)


class TestPreferences:
    def test_all_forms_of_the_same_pairs(self) -> None:
        matrix = np.zeros((4, 4))
        matrix[0, 3], matrix[2, 1] = 2.0, 1.0
        forms: list[Any] = [
            matrix,
            matrix.astype(int),
            sparse.csr_array(matrix),
            sparse.coo_matrix(matrix),
            [(0, 3), (2, 1), (0, 3)],
            np.array([[0, 3], [0, 3], [2, 1]]),
            np.array([[0.0, 3.0], [0.0, 3.0], [2.0, 1.0]]),
        ]
        for form in forms:
            better, worse, weight = given_pairs(form, 4)
            assert better.tolist() == [0, 2]
            assert worse.tolist() == [3, 1]
            assert weight.tolist() == [2.0, 1.0]

    def test_a_matrix_of_truth_values(self) -> None:
        better, worse, weight = given_pairs(np.triu(np.ones((3, 3), dtype=bool), 1), 3)
        assert list(zip(better, worse, weight, strict=True)) == [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)]

    def test_of_two_rows_a_list_is_a_list_and_an_array_a_matrix(self) -> None:
        assert given_pairs([(0, 1), (0, 1)], 2)[2].tolist() == [2.0]
        better, worse, weight = given_pairs(np.array([[0.0, 7.0], [0.0, 0.0]]), 2)
        assert (better.tolist(), worse.tolist(), weight.tolist()) == ([0], [1], [7.0])

    def test_duplicates_of_a_sparse_matrix_are_summed(self) -> None:
        matrix = sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 1])), shape=(3, 3))
        better, worse, weight = given_pairs(matrix, 3)
        assert (better.tolist(), worse.tolist(), weight.tolist()) == ([0], [1], [3.0])

    @pytest.mark.parametrize(
        ("pairs", "error", "words"),
        [
            (sparse.csr_array((3, 2)), ValueError, r"shape \(3, 3\).* got a sparse matrix of shape \(3, 2\)"),
            (np.ones((2, 4)), ValueError, r"got the shape \(2, 4\)"),
            ([], ValueError, "got the shape"),
            ([("a", "b")], TypeError, "or 'classes', got"),
            ([(0, 3)], ValueError, r"row numbers from 0 to 2, got \[0, 3\] in place 0"),
            ([(0, 1), (-1, 1)], ValueError, r"got \[-1, 1\] in place 1"),
            ([(0, 1.5)], ValueError, r"got \[0.0, 1.5\] in place 0"),
            ([(1, 1)], ValueError, "row 1 to stand above itself"),
            (np.eye(3), ValueError, "row 0 to stand above itself"),
            (-np.triu(np.ones((3, 3)), 1), ValueError, "got -1; turn the pair round"),
            (np.full((3, 3), np.nan), ValueError, "finite weights of at least 0, got nan"),
        ],
    )
    def test_refused_with_a_reason(self, pairs: Any, error: Any, words: str) -> None:
        with pytest.raises(error, match=words):
            given_pairs(pairs, 3)

    def test_classes_are_every_pair_of_a_group(self) -> None:
        rng = np.random.default_rng(0)
        labels, groups = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
        for codes in (None, groups):
            wanted = {
                (i, k)
                for i in range(30)
                for k in range(30)
                if labels[i] > labels[k] and (codes is None or codes[i] == codes[k])
            }
            better, worse, weight = class_pairs(labels, codes, 1e9)
            assert set(zip(better.tolist(), worse.tolist(), strict=True)) == wanted
            assert len(better) == len(wanted)
            assert (weight == 1).all()

    def test_too_many_pairs_of_classes(self) -> None:
        with pytest.raises(ValueError, match="makes 225 pairs or more, beyond max_memory=7000 bytes"):
            class_pairs(np.repeat([0, 1], 15), None, 7000)

    def test_weights_of_rows(self) -> None:
        pairs = np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, 2.0, 4.0])
        assert weighted(pairs, None) is pairs
        better, worse, weight = weighted(pairs, np.array([3.0, 0.5, 0.0]))
        assert (better.tolist(), worse.tolist(), weight.tolist()) == ([0], [1], [1.5])


OPTIONS: dict[str, Any] = {"margin": 0.5, "l0": 0.25, "max_memory": 1e9}


def rows_of(X: Any, y: Any, **arguments: Any) -> TrainingRows:
    several = arguments.pop("several", False)
    given_ = {"groups": None, "sample_weight": None, **arguments}
    return training_rows(ExactRanker(), X, y, **given_, several=several)


class TestProblems:
    X = np.random.default_rng(5).integers(0, 3, (14, 2)).astype(float)
    y = np.arange(14) % 2
    groups = np.array([7, 3, 3, 7, 7, 7, 3, 3, 7, 7, 3, 3, 7, 3])

    def test_weights_are_repetitions_and_groups_are_lists(self) -> None:
        times = np.array([0, 1, 2, 1, 1, 3, 1, 1, 0, 1, 1, 2, 1, 1])
        rows = rows_of(self.X, self.y, groups=self.groups, sample_weight=times)
        chosen, problem = _problems.statistic_problem(rows, "dcg", "subrank", **OPTIONS)
        assert np.array_equal(np.bincount(chosen, minlength=14), times)
        assert np.array_equal(problem.X, self.X[chosen])
        again = np.repeat(np.arange(14), times)
        for w in np.random.default_rng(1).normal(size=(20, 2)):
            wanted = -0.25 * 2
            for group in (3, 7):
                of = again[self.groups[again] == group]
                wanted += statistic_value(self.y[of] == 1, self.X[of] @ w, "dcg", margin=0.5)
            assert problem.value(w) == pytest.approx(wanted)

    def test_groups_of_one_class_take_no_part(self) -> None:
        groups = np.where(self.y == 1, 9, self.groups)
        groups[[1, 3]] = 3
        rows = rows_of(self.X, self.y, groups=groups)
        chosen, problem = _problems.statistic_problem(rows, "auc", "resolved", **OPTIONS)
        assert sorted(chosen) == sorted(np.flatnonzero(groups == 3))
        assert [len(list_.rows) for list_ in problem.lists] == [np.sum(groups == 3)]
        with pytest.raises(ValueError, match="no group holds rows of both classes"):
            _problems.statistic_problem(rows_of(self.X, self.y, groups=self.y), "auc", "subrank", **OPTIONS)

    def test_one_problem_whatever_the_order_of_rows(self) -> None:
        _, one = _problems.statistic_problem(rows_of(self.X, self.y, groups=self.groups), "auc", "subrank", **OPTIONS)
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(14)
            rows = rows_of(self.X[order], self.y[order], groups=self.groups[order])
            chosen, other = _problems.statistic_problem(rows, "auc", "subrank", **OPTIONS)
            assert np.array_equal(other.X, one.X)
            assert np.array_equal(self.X[order][chosen], one.X)
            for mine, yours in zip(one.lists, other.lists, strict=True):
                assert np.array_equal(one.X[mine.positives], other.X[yours.positives])
                assert np.array_equal(one.X[mine.negatives], other.X[yours.negatives])

    @pytest.mark.parametrize("several", [False, True])
    def test_preferences_of_equal_rows_are_one(self, several: bool) -> None:
        labels = np.arange(14) % 3 if several else self.y
        rows = rows_of(self.X, labels, several=True, sample_weight=np.r_[0.5, np.ones(12), 2.0])
        chosen, problem = _problems.preference_problem(rows, "classes", **OPTIONS)
        named = class_pairs(labels, None, 1e9)
        better, worse, weight = weighted(named, rows.weights)
        assert len(np.unique(np.column_stack([problem.better, problem.worse]), axis=0)) == len(problem.better)
        assert (problem.better != problem.worse).all()
        assert len(problem.better) < len(better)
        assert problem.best_statistic == weight.sum()
        for w in np.random.default_rng(1).normal(size=(20, 2)):
            s = self.X @ w
            assert problem.statistic(problem.X @ w) == weight[s[better] - s[worse] >= 0.5].sum()
        order = np.random.default_rng(3).permutation(14)
        moved = rows_of(self.X[order], labels[order], several=True, sample_weight=rows.weights[order])
        other_chosen, other = _problems.preference_problem(moved, "classes", **OPTIONS)
        assert np.array_equal(self.X[order][other_chosen], self.X[chosen])
        for name in ("X", "better", "worse", "weights"):
            assert np.array_equal(getattr(other, name), getattr(problem, name)), name

    def test_pairs_and_groups(self) -> None:
        rows = rows_of(self.X, self.y, groups=self.groups)
        _, problem = _problems.preference_problem(rows, [(0, 3), (1, 2)], **OPTIONS)
        assert problem.best_statistic == 2
        with pytest.raises(ValueError, match="row 0 to stand above row 1 of another group"):
            _problems.preference_problem(rows, [(0, 3), (0, 1)], **OPTIONS)
        without = rows_of(self.X, self.y, sample_weight=np.r_[0.0, np.ones(13)])
        with pytest.raises(ValueError, match="no preference joins two rows of positive weight"):
            _problems.preference_problem(without, [(0, 3)], **OPTIONS)

    def test_sparse_rows_become_dense_within_the_memory(self) -> None:
        rows = rows_of(sparse.csr_array(self.X), self.y)
        _, problem = _problems.statistic_problem(rows, "auc", "subrank", **OPTIONS)
        assert isinstance(problem.X, np.ndarray)
        with pytest.raises(ValueError, match="needs dense rows: 14 x 2 take 224 bytes, beyond max_memory=200"):
            _problems.statistic_problem(rows, "auc", "subrank", **{**OPTIONS, "max_memory": 200})

    def test_part_weights_are_refused(self) -> None:
        rows = rows_of(self.X, self.y, sample_weight=np.r_[1.0, 2.5, np.ones(12)])
        with pytest.raises(ValueError, match=r"whole numbers, got 2\.5 in row 1"):
            _problems.statistic_problem(rows, "auc", "subrank", **OPTIONS)


def state(seconds: float, value: float = 1.0) -> Progress:
    return Progress(seconds, value, 2.0, 10)


class TestReporter:
    def test_a_line_a_second(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="shortlist"):
            for seconds in (0.0, 0.4, 0.9, 1.1, 1.2, 2.2):
                _search.Reporter("A", 0, None)(state(seconds))
            assert not caplog.records
            report = _search.Reporter("B", 1, None)
            for seconds in (0.0, 0.4, 0.9, 1.1, 1.2, 2.2):
                assert report(state(seconds)) is False
            assert len(caplog.records) == 3
            loud = _search.Reporter("C", 2, None)
            for seconds in (0.0, 0.4, 0.9):
                loud(state(seconds))
        assert len(caplog.records) == 6
        assert all(record.name.startswith("shortlist.") for record in caplog.records)
        line = caplog.records[-1].getMessage()
        assert line.startswith("C: ")
        assert all(word in line for word in ("answer 1", "bound 2", "gap 100.000 %", "10 boxes", "/s"))

    def test_what_is_asked_for_once_stays(self) -> None:
        seen: list[Progress] = []

        def once(progress: Progress) -> bool:
            seen.append(progress)
            return len(seen) == 2

        report = _search.Reporter("A", 0, once)
        assert [report(state(k)) for k in range(4)] == [False, True, True, True]
        assert report.stopped

    def test_a_keyboard_interrupt_in_the_callback_asks_for_the_end(self) -> None:
        def interrupt(progress: Progress) -> None:
            raise KeyboardInterrupt

        report = _search.Reporter("A", 0, interrupt)
        assert report(state(0.0)) is True
        assert report.stopped

    def test_other_errors_of_the_callback_are_the_users(self) -> None:
        def broken(progress: Progress) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            _search.Reporter("A", 0, broken)(state(0.0))


def test_the_answer_is_not_worse_than_the_starts() -> None:
    X = np.array([[3.0, 0.0], [2.0, 5.0], [1.0, 3.0]])
    problem = RankProblem.of(X, np.array([True, False, True]), "wrs")

    def certificate(value: float) -> ExactCertificate:
        return ExactCertificate.of(value, 5.0, nodes=3, seconds=1.0, method="ascent", trivial_bound=5.0)

    starts = [np.array([0.0, 4.0]), np.array([4.0, -2.0]), np.zeros(2)]
    values = [problem.value(w) for w in starts]
    poor = ExactSolution(np.zeros(2), certificate(2.0), (state(0.5),))
    better = _search._at_least(poor, problem, starts)
    assert better.certificate.value == max(values) > 2.0
    assert problem.value(better.coef) == max(values)
    assert np.abs(better.coef).max() == 1.0
    assert better.certificate.nodes == 3
    assert better.trace[-1].value == max(values)
    good = ExactSolution(np.array([1.0, 0.0]), certificate(max(values)), ())
    assert _search._at_least(good, problem, starts) is good
    assert _search._at_least(poor, problem, []) is poor


class TestPreparation:
    """What branch and bound would need before it has an answer decides what comes before it, or in its place."""

    limits = _search.Limits(None, 60.0, 20, 0.0, 1e9, None, "tight", 0)
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 3 == 0

    def problem(self, kind: str) -> Any:
        if kind == "ranks":
            return RankProblem.of(self.X, self.y, "dcg", groups=np.arange(60) // 30)
        return PreferenceProblem(self.X, 1e-4, 0.0, *np.nonzero(self.y[:, None] > self.y), np.ones(800))

    @pytest.mark.parametrize(("kind", "n_pairs"), [("ranks", 400), ("preferences", 800)])
    def test_memory_and_time(self, kind: str, n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
        problem = self.problem(kind)
        seconds, obstacle = _search._preparation(problem, self.limits)
        assert 0 < seconds < _search.LONG
        assert obstacle == ""
        small = replace(self.limits, max_memory=24.0 * n_pairs * 3 - 1)
        assert f"its {n_pairs} pairs of rows take" in _search._preparation(problem, small)[1]
        assert _search._preparation(problem, replace(small, max_memory=small.max_memory + 1))[1] == ""
        # A short limit alone is no obstacle: what is prepared in no time may be begun.
        assert _search._preparation(problem, replace(self.limits, time_limit=1e-9))[1] == ""
        monkeypatch.setattr(_search, "A_NUMBER", 1.0)
        assert "over half of time_limit" in _search._preparation(problem, self.limits)[1]
        assert _search._preparation(problem, replace(self.limits, time_limit=None))[1] == ""

    def test_with_an_obstacle_there_is_a_climb_alone(self) -> None:
        model = ExactRanker(max_memory=1000, random_state=0)
        with pytest.warns(NotProvenWarning, match=r"no proof was begun, for its 800 pairs of rows take .* max_memory"):
            model.fit(self.X, self.y)
        twin = ExactRanker(method="ascent", random_state=0).fit(self.X, self.y)
        assert np.array_equal(model.coef_, twin.coef_)
        assert model.certificate_.method == "ascent"

    def test_many_pairs_are_climbed_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        notes: list[str] = []

        def hear(progress: Progress) -> None:
            notes.append(progress.note)

        for long in (1.0, 0.0):
            monkeypatch.setattr(_search, "LONG", long)
            notes.clear()
            model = ExactRanker(max_nodes=1, time_limit=None, random_state=0, callback=hear)
            with pytest.warns(NotProvenWarning):
                model.fit(self.X, self.y)
            assert (f"climb {_search.STARTS}" in notes) == (long == 0.0)
            assert "search" in notes
            assert model.certificate_.method == "branch_and_bound"


class TestRanked:
    def test_best_first_and_ties_keep_their_order(self) -> None:
        assert ranked(np.array([1.0, 2.0, 1.0, 3.0])).tolist() == [3, 1, 0, 2]

    def test_groups_in_order_of_appearance(self) -> None:
        scores = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
        assert ranked(scores, ["b", "a", "b", "a", "b"]).tolist() == [0, 2, 4, 3, 1]
        assert ranked(scores, [("q", 1)] * 5).tolist() == [3, 1, 0, 2, 4]
