"""The commands on the page and in the README run, on claims that the demo would make."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from benchmarks.scaling import cli
from shortlist.cli.example import claims
from tests.cli.conftest import Run
from tests.test_docs import ROOT, blocks

# What keeps the tests short: a plain model for the race of many, a shorter comparison.
SHORTER = {
    "fit": ["--method", "logistic", "--quiet"],
    "compare": ["--models", "logistic", "--folds", "2", "--quiet"],
    "rerank": ["--time-limit", "1", "--quiet"],
}


@pytest.mark.parametrize("page", ["docs/command-line.md", "README.md"])
def test_the_commands_on_the_page_run(run: Run, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = claims(1200)
    names = re.findall(r"CL-\d+", (ROOT / page).read_text(encoding="utf-8"))
    Path("past.csv").write_text(text, encoding="utf-8")
    Path("new.csv").write_text(claims(200, 1, labelled=False, first=5001), encoding="utf-8")
    known = set(re.findall(r"CL-\d+", Path("new.csv").read_text(encoding="utf-8")))
    ran = []
    for _, block in blocks(ROOT / page, "sh"):
        for line in block.splitlines():
            command, *arguments = shlex.split(line.split(" #")[0]) or [""]
            if command != "shortlist" or arguments[0] == "demo":
                continue
            arguments = [known.copy().pop() if one in names and one not in known else one for one in arguments]
            extra = [] if "--method" in arguments else SHORTER.get(arguments[0], [])
            run(*arguments, *extra)
            ran.append(arguments[0])
    assert {"fit", "rank"} <= set(ran)
    assert Path("ranked.csv").exists() and Path("report.html").exists()


def test_the_benchmark_prints_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds, most = cli.run("--version")
    assert seconds > 0 and most > 1
    ran: list[tuple[str, ...]] = []

    def pretend(*arguments: str) -> tuple[float, float]:
        ran.append(arguments)
        return 0.5, 200.0 if "small.csv" in " ".join(arguments) else 300.0

    monkeypatch.setattr(cli, "run", pretend)
    cli.main(["--quick", "--json", str(tmp_path / "cli.json")])
    printed, kept = capsys.readouterr().out, json.loads((tmp_path / "cli.json").read_text())
    assert [one["command"] for one in kept["memory"]] == ["fit", "rank"]
    for one in kept["memory"]:
        assert one["times_table"] == pytest.approx(100 / one["table_mb"])
    assert {arguments[0] for arguments in ran} == {"--help", "fit", "rank"}
    assert "peak / table" in printed
    with pytest.raises(SystemExit, match="failed"):
        monkeypatch.undo()
        cli.run("fit", "nowhere.csv")
