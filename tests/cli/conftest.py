"""Commands run within the process, and what they work on, made once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shortlist.cli import main
from shortlist.cli.example import claims


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def ran(*arguments: Any, code: int | None = 0) -> Ran:
        capfd.readouterr()
        ended = main([str(one) for one in arguments])
        out, err = capfd.readouterr()
        assert code is None or ended == code, f"ended with {ended}: {err}"
        return Ran(ended, out, err)

    return ran


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labelled claims, new claims, and a fitted model."""
    folder = tmp_path_factory.mktemp("claims")
    (folder / "claims.csv").write_text(claims(1500), encoding="utf-8")
    (folder / "new.csv").write_text(claims(300, 1, labelled=False, first=90001), encoding="utf-8")
    command = ["fit", folder / "claims.csv", "--label", "outcome", "--method", "logistic", "--budget", "50"]
    model = ["--output", folder / "claims.shortlist", "--holdout", "0.3", "--positive", "fraud", "--quiet"]
    assert main([str(one) for one in [*command, *model]]) == 0
    return folder
