"""The examples in the docstrings and on the page run as printed."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import shortlist.features

MODULES = [name for _, name, _ in pkgutil.iter_modules(shortlist.features.__path__, "shortlist.features.")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "kernels.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
