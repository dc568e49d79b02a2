"""The boosting benchmark, on little data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers import boosting


def test_it_prints_all_methods_and_keeps_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "boosting.json"
    report = boosting.main(["--quick", "--json", str(path)])
    made = report["sets"]["made"]
    assert set(made) == set(boosting.METHODS)
    assert made[boosting.OURS]["ratio"] == 1.0
    assert all(line["auc"] > 0.7 for line in made.values())
    assert json.loads(path.read_text()) == report
    assert "HistGradientBoosting" in capsys.readouterr().out


def test_the_aim_is_looked_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(boosting, "AIM", {"made": 0.0})
    boosting.main(["--quick"])
    assert "aim" not in capsys.readouterr().out  # it holds for 100 rounds
    monkeypatch.setattr(boosting, "METHODS", {boosting.OURS: boosting.METHODS[boosting.OURS]})
    monkeypatch.setattr(boosting, "load_scaled", lambda name: boosting_data())
    boosting.main(["--sets", "made", "--repeats", "1", "--splits", "1", "--json", "/dev/null"])
    assert "MISSED" in capsys.readouterr().out


def boosting_data():
    from benchmarks._common import make_noisy

    return make_noisy(80, 3, share=0.4, seed=0)
