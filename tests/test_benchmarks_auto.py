"""The benchmarks of AutoRanker and of compare on noise: little data, checked for form, for going on, for refusal."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import auto, noise
from shortlist import AutoRanker
from shortlist.selection import auto as selection
from shortlist.selection.race import Race


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One family instead of all, and small forests."""
    monkeypatch.setattr(
        auto, "AutoRanker", lambda budget: AutoRanker(budget, candidates=["logistic regression"], folds=2, rerank=False)
    )


def test_examples() -> None:
    assert doctest.testmod(noise).failed == 0


class TestAuto:
    def test_it_prints_and_continues(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
    ) -> None:
        path = tmp_path / "new" / "auto.json"
        report = auto.main(["--quick", "--json", str(path)])
        assert {row["budget"] for row in report["results"]} == set(auto.BUDGETS)
        for row in report["results"]:
            assert set(row["mean"]) == set(auto.METHODS) and row["verdict"] == "untested"
            assert all(0 <= mean <= 1 for mean in row["mean"].values())
        out = capsys.readouterr().out
        assert "10 % of the positives" in out and "ahead of random forest in" in out
        assert selection.Race is Race
        monkeypatch.setattr(auto, "measure", None)  # nothing is done again
        again = auto.main(["--quick", "--json", str(path)])
        assert again["results"] == report["results"] or np.isnan(again["results"][0]["sd"]["AutoRanker"])
        assert auto.main(["--report", "--json", str(path)])["runs"] == json.loads(path.read_text())["runs"]
        with pytest.raises(SystemExit, match="another plan"):
            auto.main(["--quick", "--train-rows", "50", "--json", str(path)])

    def test_splits(self) -> None:
        X, y, _ = auto.read("made")
        train, test = auto.split(X, y, None, 3, 100)
        assert len(train) == 100 and len(test) == 100 and not set(train) & set(test)
        groups = np.arange(300) // 10
        train, test = auto.split(X, y, groups, 3, 1000)
        assert not set(groups[train]) & set(groups[test]) and len(train) + len(test) == 300

    def test_seconds(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert auto.main(["--seconds", "200"])["seconds"] > 0
        assert "200 rows, 30 columns" in capsys.readouterr().out

    def test_places(self) -> None:
        y = np.zeros(90, dtype=int)
        y[:30] = 1
        assert list(auto.places(y).values()) == [1, 3, 45]

    def test_scores_are_remembered_between_budgets(self) -> None:
        X, y, _ = auto.read("made")
        data = selection.Table(X, y, y, None, None, 1)
        half, rest = data.take(np.arange(150)), data.take(np.arange(150, 300))
        model = auto.scaled(auto.LogisticRegression(), X)
        auto.Remembered.known.clear()
        first = auto.Remembered._scores(model, half, rest)
        assert auto.Remembered._scores(model, half, rest) is first
        np.testing.assert_array_equal(first, Race._scores(model, half, rest))
        assert auto.Remembered._scores(model.set_params(rank__C=9.0), half, rest) is not first
        assert auto.Remembered._scores(model, rest, half) is not first

    def test_verdicts(self) -> None:
        rng = np.random.default_rng(0)

        def runs(mean: float) -> list[dict[str, Any]]:
            return [
                {"precision": {"50 rows": mean + 0.01 * rng.normal()}, "places": {"50 rows": 50}} for _ in range(10)
            ]

        peers = {name: runs(0.5) for name in auto.PEERS}
        assert [
            auto.compared({"AutoRanker": runs(mean), **peers}, "50 rows")["verdict"] for mean in (0.6, 0.5, 0.4)
        ] == [
            "better",
            "level",
            "worse",
        ]


class TestNoise:
    def test_it_counts_and_continues(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
    ) -> None:
        path, figure = tmp_path / "noise.json", tmp_path / "noise.svg"
        content = noise.main(["--quick", "--json", str(path), "--figure", str(figure)])
        assert len(content["runs"]) == 2
        assert len(content["results"]) == len(noise.METRICS) * len(noise.TESTS)
        for row in content["results"]:
            assert row["winners"] <= row["any"] <= 2 and row["low"] <= row["share"] <= row["high"]
        assert figure.read_text().startswith("<?xml")
        assert noise.OURS in capsys.readouterr().out
        monkeypatch.setattr(noise, "simulate", None)
        assert noise.main(["--quick", "--json", str(path)])["results"] == content["results"]
        with pytest.raises(SystemExit, match="another plan"):
            noise.main(["--rows", "70", "--json", str(path)])

    def test_corrections_only_make_it_shier(self) -> None:
        result = noise.simulate(0, 60)
        p = {test: noise.p_values(result, "auc", test) for test in noise.TESTS}
        for pair, alone in p["corrected t, each pair alone"].items():
            assert p["plain t, each pair alone"][pair] <= alone <= p[noise.OURS][pair]
