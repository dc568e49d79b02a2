"""Every docstring example of the metrics and the rank statistics runs."""

import doctest
import importlib
import pkgutil

import pytest

import shortlist.metrics

MODULES = ["shortlist.statistics", "shortlist.metrics"] + [
    f"shortlist.metrics.{m.name}" for m in pkgutil.iter_modules(shortlist.metrics.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
