"""The listwise benchmark, on little data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers import listwise


def test_it_prints_certificates_and_keeps_what_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "listwise.json"
    report = listwise.main(["--quick", "--C", "1", "100", "--json", str(path)])
    assert [line["method"] for line in report["results"]] == 2 * list(listwise.METHODS)
    assert all(line["converged"] for line in report["results"])
    assert all(line["proven"] <= 1.01 * line["tolerance"] for line in report["results"])
    assert report["misses"] == []
    assert "all converged, aims met" in capsys.readouterr().out
    again = listwise.main(["--quick", "--C", "10", "--methods", "SVMMAP", "--json", str(path)])
    assert [line["C"] for line in again["results"]] == [1] * 4 + [10] + [100] * 4
    assert json.loads(path.read_text()) == again


def test_misses_are_named() -> None:
    lines = [
        {"set": "spambase", "method": "SVMMAP", "C": 1.0, "seconds": 11.0, "converged": True},
        {"set": "w8a", "method": "OWPC", "C": 100.0, "seconds": 11.0, "converged": False},
    ]
    assert listwise.misses(lines) == [
        "OWPC on w8a, C = 100, not converged",
        "SVMMAP on spambase, C = 1, took more than 10 s",
    ]
