"""The door to compiled code: with Numba, without it, and where nothing can be written to disk."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from shortlist.solvers.exact import compiled, compiled_ascent, kernels, packing
from tests.solvers.exact.box_cases import PLAIN

needs_numba = pytest.mark.skipif(not compiled.available(), reason="needs Numba")


@pytest.mark.parametrize("module", [compiled, compiled_ascent])
def test_without_numba_it_says_so(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert module.available.__wrapped__() is False


@needs_numba
def test_all_functions_are_compiled_and_bound_to_one_another():
    made = compiled.functions()
    assert set(made) == set(PLAIN)
    assert compiled.functions() is made
    for function in made.values():
        assert hasattr(function, "py_func")
    # Copies: the originals stay plain Python.
    assert not hasattr(PLAIN["descend"], "py_func")
    assert made["descend"].py_func.__globals__["box_bound"] is made["box_bound"]


@needs_numba
def test_where_nothing_can_be_kept_on_disk_it_compiles_all_the_same(monkeypatch):
    built = []

    def build(cache):
        built.append(cache)
        if cache:
            raise RuntimeError("no locator available for file")
        return {}

    monkeypatch.setattr(compiled, "_build", build)
    assert compiled.functions.__wrapped__() == {} and built == [True, False]


def test_a_change_anywhere_is_a_change_everywhere(monkeypatch):
    # Numba keeps a function for as long as its own file is untouched, with all that it calls inside.
    before = compiled.digest()
    assert compiled.digest() == before
    with monkeypatch.context() as patch:
        patch.setattr(packing, "SINGLE", 1e-3)
        assert compiled.digest() != before
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "margins", kernels.earned)
        assert compiled.digest() != before
    assert compiled.digest() == before


def test_the_digest_is_the_same_in_every_process():
    code = "from shortlist.solvers.exact.compiled import digest; print(digest())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == compiled.digest()


@needs_numba
def test_what_is_kept_on_disk_is_named_after_all_of_it():
    made = compiled.functions()
    assert all(function.py_func.__qualname__ == f"{name}_{compiled.digest()}" for name, function in made.items())


@needs_numba
def test_only_sums_that_allow_for_it_are_reordered():
    made = compiled.functions()
    reordered = {name for name, function in made.items() if function.targetoptions.get("fastmath")}
    assert reordered == compiled.REORDERED == {"count_below"}
    assert all(function.targetoptions["nogil"] for function in made.values())


@needs_numba
def test_a_compiled_function_gives_numbers():
    margins = compiled.functions()["margins"]
    low, high = margins(np.eye(2), 0.5, 0.5, 0.0, np.array([1.0, 0.0]), np.array([0.0, 0.25]))
    assert (low, high) == (0.5, 0.5)
