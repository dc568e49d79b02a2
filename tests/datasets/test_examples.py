"""The examples in the docstrings and on the page run as printed."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import shortlist.datasets

MODULES = [name for _, name, _ in pkgutil.iter_modules(shortlist.datasets.__path__, "shortlist.datasets.")]


@pytest.mark.parametrize("name", [*MODULES, "shortlist.datasets"])
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a file
    page = Path(__file__).parents[2] / "docs" / "data.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
