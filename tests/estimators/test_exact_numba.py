"""ExactRanker without Numba: the same answers, later, and the advice to install it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shortlist import ExactRanker
from shortlist.exceptions import NotProvenWarning
from shortlist.solvers.exact import compiled, compiled_ascent
from shortlist.solvers.exact.outcome import ExactCertificate, ExactSolution, Progress
from shortlist.solvers.exact.problem import PreferenceProblem, RankProblem
from tests.common.estimators import clouds
from tests.oracle.exact import best_value

X, y = clouds(60, 4, seed=1)
PROBLEM = RankProblem.of(X, y == 1, "dcg")
DATA = np.random.default_rng(5).integers(0, 5, (9, 2)).astype(float)
LABELS = np.isin(np.arange(9), [1, 4, 5]).astype(int)


class TestWithoutNumba:
    @pytest.fixture(autouse=True)
    def no_numba(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        cached = [compiled.available, compiled_ascent.available]
        monkeypatch.setitem(sys.modules, "numba", None)
        for function in cached:
            function.cache_clear()
        assert not any(function() for function in cached)
        yield
        for function in cached:
            function.cache_clear()

    @pytest.mark.parametrize("parameters", [{}, {"l0": 0.5}, {"pairs": "classes"}, {"formulation": "resolved"}])
    def test_the_same_answers(self, parameters: Any) -> None:
        model = ExactRanker("auc", **parameters, random_state=0).fit(DATA, LABELS)
        problem: Any = RankProblem.of(
            DATA, LABELS == 1, "auc", l0=parameters.get("l0", 0.0), ranks=parameters.get("formulation", "subrank")
        )
        if "pairs" in parameters:
            better, worse = np.nonzero(LABELS[:, None] > LABELS)
            problem = PreferenceProblem(DATA, 1e-4, 0.0, better, worse, np.ones(len(better)))
        assert model.certificate_.proven
        assert model.certificate_.value == pytest.approx(best_value(problem))

    def test_larger_data_and_the_advice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.warns(NotProvenWarning, match=r"pip install 'shortlist\[exact\]' installs Numba, which makes the"):
            model = ExactRanker(max_nodes=200, random_state=0).fit(X, y)
        c = model.certificate_
        monkeypatch.undo()
        compiled.available.cache_clear()
        assert ExactRanker(random_state=0).fit(X, y).certificate_.value <= c.bound < c.trivial_bound
        assert c.value > PROBLEM.floor

    def test_no_advice_where_it_would_not_help(self) -> None:
        with pytest.warns(NotProvenWarning) as caught:
            ExactRanker(method="mip", n_starts=1, time_limit=0.05, random_state=0).fit(X, y)
        assert "Numba" not in str(caught[0].message)

    def test_the_docstring_names_the_extra(self) -> None:
        assert "pip install 'shortlist[exact]'" in (ExactRanker.__doc__ or "")


def test_with_numba_there_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "available", lambda: True)
    monkeypatch.setattr(
        "shortlist.estimators.exact.search",
        lambda problem, *_: _unproven(problem),
    )
    with pytest.warns(NotProvenWarning) as caught:
        ExactRanker().fit(X, y)
    assert "Numba" not in str(caught[0].message)


def _unproven(problem: RankProblem) -> Any:
    w = np.array([1.0, 0.0, 0.0, 0.0])
    certificate = ExactCertificate.of(
        problem.value(w), 9.0, nodes=0, seconds=0.0, method="branch_and_bound", trivial_bound=9.0
    )
    return ExactSolution(w, certificate, (Progress(0.0, certificate.value, 9.0, 0, "end"),))
