"""ExactRanker: how it searches, what it proves, how it is ended, and what it says."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from shortlist import ExactRanker
from shortlist.exceptions import ConvergenceWarning, DegenerateOptimumWarning, NotProvenWarning
from shortlist.solvers.exact.ascent import Climber
from shortlist.solvers.exact.branch_and_bound import _Search
from shortlist.solvers.exact.outcome import Progress
from shortlist.solvers.exact.problem import RankProblem
from tests.common.estimators import clouds
from tests.oracle.exact import best_value

X, y = clouds(60, 4, seed=1)
PROBLEM = RankProblem.of(X, y == 1, "dcg")
METHODS = ["auto", "branch_and_bound", "mip", "ascent"]


def small(seed: int) -> tuple[Any, Any]:
    """Whole numbers with repeats, three positives of nine rows."""
    data = np.random.default_rng(seed).integers(0, 5, (9, 2)).astype(float)
    return data, np.isin(np.arange(9), [1, 4, 5]).astype(int)


def quietly(model: ExactRanker, *data: Any, **arguments: Any) -> ExactRanker:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotProvenWarning)
        return model.fit(*(data or (X, y)), **arguments)


class TestMethods:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize(("statistic", "formulation"), [("dcg", "subrank"), ("auc", "resolved")])
    def test_agree_on_small_data(self, seed: int, statistic: str, formulation: str) -> None:
        data, labels = small(seed)
        groups = np.arange(9) % 2 if seed == 3 else None
        problem = RankProblem.of(data, labels == 1, statistic, groups=groups, ranks=formulation)
        best = best_value(problem)
        for method in METHODS:
            model = ExactRanker(statistic, method=method, formulation=formulation, random_state=0)
            certificate = model.fit(data, labels, groups=groups).certificate_
            assert certificate.value == pytest.approx(best), method
            assert certificate.proven or method == "ascent"
            assert certificate.method.startswith(method if method != "auto" else "branch_and_bound")
            assert problem.value(model.coef_[0]) == pytest.approx(best)

    def test_the_printed_program_may_know_less(self) -> None:
        data, labels = small(1)
        for big_m in ("tight", "printed"):
            model = quietly(ExactRanker("auc", method="mip", big_m=big_m, n_starts=1, random_state=0), data, labels)
            assert f"{big_m} big-M" in model.certificate_.method
            best = best_value(RankProblem.of(data, labels == 1, "auc"))
            assert model.certificate_.value <= best <= model.certificate_.bound * (1 + 1e-9)

    def test_ascent_needs_no_proof_and_gives_no_warning(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ExactRanker(method="ascent", random_state=0).fit(X, y)
        certificate = model.certificate_
        assert not certificate.proven
        assert certificate.bound == certificate.trivial_bound == PROBLEM.trivial_bound

    def test_where_nothing_is_out_of_order_the_ascent_proves_it(self) -> None:
        for method in METHODS:
            model = ExactRanker(method=method, random_state=0).fit(X + 9 * y[:, None], y)
            assert model.certificate_.proven
            assert model.certificate_.value == pytest.approx(model.certificate_.trivial_bound)

    def test_climbs_before_branch_and_bound_where_asked_for(self) -> None:
        seen: list[Progress] = []
        model = ExactRanker(n_starts=3, max_nodes=30, random_state=0, callback=seen.append)
        quietly(model)
        assert {"climb 3", "search"} <= {progress.note for progress in seen}
        assert "climb 4" not in {progress.note for progress in seen}
        assert 0 < model.certificate_.nodes <= 60
        values = [progress.value for progress in seen]
        assert values == sorted(values)
        assert [progress.seconds for progress in seen] == sorted(progress.seconds for progress in seen)


class TestCertificate:
    def test_the_fields(self) -> None:
        model = quietly(ExactRanker(max_nodes=30, random_state=0))
        c = model.certificate_
        assert c.value == pytest.approx(PROBLEM.value(model.coef_[0]))
        assert c.value <= c.bound <= c.trivial_bound == PROBLEM.trivial_bound
        assert c.gap == c.bound - c.value
        assert c.relative_gap == pytest.approx(c.gap / c.value)
        assert not c.proven
        assert c.nodes >= 30
        assert c.seconds > 0
        assert c.method == "branch_and_bound"
        assert 0 < c.closed < 1
        assert str(c).startswith("NOT proven: value ")
        assert "without a mistake" in str(c)

    def test_proven(self) -> None:
        c = ExactRanker(random_state=0).fit(X, y).certificate_
        assert c.proven
        assert c.value == c.bound
        assert c.gap == c.relative_gap == 0
        assert c.closed == 1
        assert str(c).startswith("proven optimal")

    def test_no_weights_beat_a_proof(self) -> None:
        value = ExactRanker(random_state=0).fit(X, y).certificate_.value
        W = np.random.default_rng(0).normal(size=(500, 4))
        assert max(PROBLEM.value(w / np.abs(w).max()) for w in W) <= value

    @pytest.mark.parametrize("method", METHODS)
    def test_the_trace(self, method: str) -> None:
        data, labels = small(2)
        model = ExactRanker(method=method, n_starts=2, random_state=0).fit(data, labels)
        trace, c = model.trace_, model.certificate_
        assert list(trace) == ["seconds", "value", "bound", "nodes"]
        assert len({len(column) for column in trace.values()}) == 1
        for name, step in (("seconds", 1), ("value", 1), ("nodes", 1), ("bound", -1)):
            assert (step * np.diff(trace[name]) >= -1e-9).all(), name
        assert (trace["value"] <= trace["bound"] + 1e-9).all()
        assert trace["value"][-1] == pytest.approx(c.value)
        assert trace["bound"][-1] == pytest.approx(c.bound)
        assert trace["seconds"][-1] <= c.seconds + 1e-6


class TestLimits:
    def test_nodes(self) -> None:
        with pytest.warns(NotProvenWarning, match="ended at max_nodes=30 with the value") as caught:
            model = ExactRanker(max_nodes=30, time_limit=None, random_state=0).fit(X, y)
        assert 30 <= model.certificate_.nodes <= 60
        assert caught[0].filename == __file__
        message = str(caught[0].message)
        assert f"(the bound without a search is {PROBLEM.trivial_bound:.6g})" in message
        assert issubclass(NotProvenWarning, ConvergenceWarning)

    @pytest.mark.parametrize("method", ["auto", "mip"])
    def test_time(self, method: str) -> None:
        with (
            pytest.warns(NotProvenWarning, match="ended at time_limit=1e-06"),
            pytest.warns(DegenerateOptimumWarning, match="or give the search more time"),
        ):
            model = ExactRanker(method=method, time_limit=1e-6, random_state=0).fit(X, y)
        assert model.certificate_.bound == PROBLEM.trivial_bound
        assert model.certificate_.value == PROBLEM.floor

    def test_a_gap_that_is_good_enough(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ExactRanker(gap_tol=0.03, random_state=0).fit(X, y)
        full = ExactRanker(random_state=0).fit(X, y).certificate_
        assert 0 < model.certificate_.relative_gap <= 0.03
        assert model.certificate_.nodes < full.nodes
        assert model.certificate_.bound >= full.value
        assert "3 % was asked for" in self.message(gap_tol=0.03, max_nodes=1, time_limit=1e-6)

    @staticmethod
    def message(**parameters: Any) -> str:
        with pytest.warns(NotProvenWarning) as caught, pytest.warns(DegenerateOptimumWarning):
            ExactRanker(**parameters).fit(X, y)
        return next(str(w.message) for w in caught if w.category is NotProvenWarning)

    def test_little_memory_gives_an_honest_bound(self) -> None:
        full = ExactRanker(random_state=0).fit(X, y).certificate_
        model = quietly(ExactRanker(max_memory=1e4, max_nodes=3000, random_state=0))
        assert model.certificate_.value <= full.value <= model.certificate_.bound + 1e-9

    @pytest.mark.parametrize("method", METHODS)
    def test_a_callback_ends_it(self, method: str) -> None:
        seen: list[Progress] = []

        def enough(progress: Progress) -> bool:
            seen.append(progress)
            return len(seen) == 2

        model = ExactRanker(method=method, n_starts=3, random_state=0, callback=enough)
        if method == "ascent":
            model.fit(X, y)
        else:
            with pytest.warns(NotProvenWarning, match="was stopped with the value"):
                model.fit(X, y)
        assert len(seen) == 2
        assert isinstance(seen[0], Progress)
        # Asked for in the climb before the proof, no proof is begun.
        assert model.certificate_.method == "ascent"
        assert model.certificate_.value == seen[-1].value > PROBLEM.floor
        assert model.rank(X).shape == (60,)

    def test_a_callback_ends_branch_and_bound(self) -> None:
        model = ExactRanker(random_state=0, callback=lambda progress: progress.note == "search")
        with pytest.warns(NotProvenWarning, match="was stopped"):
            model.fit(X, y)
        assert model.certificate_.method == "branch_and_bound"
        assert model.certificate_.value > PROBLEM.floor

    def test_what_a_callback_raises_leaves_the_last_fit(self) -> None:
        def broken(progress: Progress) -> None:
            raise ZeroDivisionError

        model = quietly(ExactRanker(max_nodes=5, random_state=0))
        before = dict(vars(model.set_params(callback=broken)))
        with pytest.raises(ZeroDivisionError):
            model.fit(X[:, :2], y)
        assert vars(model) == before


class TestKeyboard:
    """Ctrl-C ends a search, which keeps its answer and an honest bound."""

    def test_in_branch_and_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shortlist.solvers.exact.branch_and_bound.QUIET", 0.0)
        calls = []

        def interrupted(search: _Search, threads: Any, pool: Any) -> float:
            calls.append(1)
            signal.raise_signal(signal.SIGINT)
            return pool.best_key

        monkeypatch.setattr(_Search, "_advance", interrupted)
        with pytest.warns(NotProvenWarning, match="ExactRanker was stopped with the value"):
            model = ExactRanker(random_state=0).fit(X, y)
        assert len(calls) == 1
        assert PROBLEM.floor < model.certificate_.value < model.certificate_.bound
        assert model.certificate_.value == pytest.approx(PROBLEM.value(model.coef_[0]))
        monkeypatch.undo()
        full = ExactRanker(random_state=0).fit(X, y).certificate_
        assert model.certificate_.value <= full.value <= model.certificate_.bound
        assert model.predict(X).shape == (60,)

    @pytest.fixture
    def in_a_climb(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
        """Signals that come during the second climb; the list says how many."""
        climb, calls, signals = Climber.climb, [], [1]

        def interrupted(climber: Climber, *arguments: Any, **named: Any) -> float:
            calls.append(1)
            if len(calls) == 2:
                for _ in range(signals[0]):
                    signal.raise_signal(signal.SIGINT)
            return climb(climber, *arguments, **named)

        monkeypatch.setattr(Climber, "climb", interrupted)
        handler = signal.getsignal(signal.SIGINT)
        yield signals
        assert len(calls) == 2
        assert signal.getsignal(signal.SIGINT) is handler

    @pytest.mark.parametrize("method", METHODS)
    def test_in_the_ascent(self, in_a_climb: list[int], method: str) -> None:
        model = ExactRanker(method=method, n_starts=5, random_state=0)
        quietly(model)
        assert model.certificate_.method == "ascent"
        assert PROBLEM.floor < model.certificate_.value == pytest.approx(PROBLEM.value(model.coef_[0]))
        assert model.certificate_.bound == PROBLEM.trivial_bound

    def test_twice_breaks_off(self, in_a_climb: list[int]) -> None:
        in_a_climb[0] = 2
        model = ExactRanker(method="ascent", random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "coef_")

    def test_twice_breaks_off_branch_and_bound_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*_: Any) -> float:
            signal.raise_signal(signal.SIGINT)
            return 0.0

        monkeypatch.setattr(_Search, "_advance", interrupted)
        model = ExactRanker(random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "coef_")

    @pytest.mark.parametrize("method", ["auto", "mip"])
    def test_as_the_proof_begins(self, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("shortlist.estimators._search.solve_mip", interrupt)
        monkeypatch.setattr("shortlist.estimators._search.solve_branch_and_bound", interrupt)
        with pytest.warns(NotProvenWarning, match="was stopped"):
            model = ExactRanker(method=method, n_starts=2, random_state=0).fit(X, y)
        assert model.certificate_.value > PROBLEM.floor

    def test_a_start_is_not_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("shortlist.solvers.exact.branch_and_bound.solve_ascent", interrupt)
        start = np.array([2.0, 1.0, 0.0, 0.0])
        model = quietly(ExactRanker(start=start, random_state=0))
        assert np.array_equal(model.coef_[0], start / 2)
        assert model.certificate_.value == PROBLEM.value(start / 2)
        assert model.trace_["value"][-1] == model.certificate_.value

    def test_in_another_thread_and_where_it_is_ignored(self) -> None:
        model = ExactRanker(method="ascent", random_state=0)
        thread = threading.Thread(target=clone(model).fit, args=(X, y))
        thread.start()
        thread.join()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            model.set_params(callback=lambda progress: signal.raise_signal(signal.SIGINT)).fit(X, y)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)
        assert len(model.trace_["value"]) > 1


class TestStarts:
    best = ExactRanker(random_state=0).fit(X, y)

    @pytest.mark.parametrize("method", METHODS)
    def test_the_answer_is_not_worse(self, method: str) -> None:
        model = ExactRanker(method=method, start=self.best.coef_, n_starts=1, time_limit=0.3, random_state=0)
        quietly(model)
        assert model.certificate_.value >= self.best.certificate_.value - 1e-9

    def test_several_starts_of_any_length(self) -> None:
        starts = [np.zeros(4), 7 * self.best.coef_[0], np.ones(4)]
        model = quietly(ExactRanker(start=starts, max_nodes=1, random_state=0))
        assert model.certificate_.value == pytest.approx(self.best.certificate_.value)

    @pytest.mark.parametrize(
        ("start", "error", "words"),
        [
            ([1.0, 2.0], ValueError, r"start must hold 4 finite weights, or rows of them, got the shape \(1, 2\)"),
            (np.ones((2, 2, 4)), ValueError, "start must hold"),
            ([1.0, 2.0, np.inf, 0.0], ValueError, "NaN or infinity"),
            ("abcd", ValueError, "start must hold 4 finite weights.*got 'abcd'"),
            ([[1.0], [2.0, 3.0]], ValueError, "start must hold"),
            ([None, {}, 1.0, 2.0], TypeError, "start must hold"),
        ],
    )
    def test_refused_with_a_reason(self, start: Any, error: Any, words: str) -> None:
        with pytest.raises(error, match=words):
            ExactRanker(start=start).fit(X, y)

    def test_warm_start_begins_at_the_last_answer(self) -> None:
        model = clone(self.best).set_params(warm_start=True).fit(X, y)
        model.set_params(time_limit=1e-6)
        quietly(model)
        assert model.certificate_.value == pytest.approx(self.best.certificate_.value)
        # Another number of columns: a fresh start.
        with pytest.warns(DegenerateOptimumWarning):
            quietly(model, X[:, :2], y)
        # Without warm_start the last answer is forgotten.
        with pytest.warns(DegenerateOptimumWarning):
            quietly(model.set_params(warm_start=False))


class TestLog:
    def test_lines_and_the_outcome(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="shortlist"):
            quietly(ExactRanker(max_nodes=30, random_state=0))
            assert not caplog.records
            model = quietly(ExactRanker(max_nodes=30, random_state=0, verbose=1))
        lines = [record.getMessage() for record in caplog.records]
        assert "answer" in lines[0] and "bound" in lines[0] and "gap" in lines[0]
        assert lines[-1] == f"ExactRanker: {model.certificate_}"
        quiet = len(lines)
        with caplog.at_level(logging.INFO, logger="shortlist"):
            quietly(ExactRanker(max_nodes=30, random_state=0, verbose=2))
        assert len(caplog.records) - quiet > quiet
