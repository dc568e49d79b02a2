"""The compiled form of the box search: one accessor, Numba behind it.

The functions of ``kernels``, ``packing`` and ``descent`` are plain Python.  Here copies of them are compiled, bound to
one another, kept on disk where that is possible, and run without Python's lock.

Numba looks at a function's own file to tell whether what it keeps is up to date, but a compiled function holds those
that it calls.  The copies' names therefore end in a digest of all of them: a change in one compiles all anew.
"""

from __future__ import annotations

import hashlib
import logging
import marshal
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shortlist.solvers.exact import descent, kernels, packing
from shortlist.solvers.exact.chart import ChartArrays
from shortlist.solvers.exact.pairs import Lists

__all__ = ["available", "functions"]

log = logging.getLogger(__name__)

# Callees before callers.  Sums of single precision may be reordered: their tolerance allows for that.
ORDER: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (kernels, ("path_places", "earned", "twin_places", "count_twins", "margins")),
    (packing, ("count_below", "conflicts", "by_path", "by_negatives", "packed_bound")),
    (descent, ("box_bound", "centre_value", "longest_cut", "first_look", "look_below", "copy_row", "descend")),
)
REORDERED = {"count_below"}


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether Numba is installed."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


@lru_cache(maxsize=1)
def functions() -> dict[str, Callable[..., Any]]:
    """The compiled functions by name; they are compiled when first called."""
    try:
        return _build(cache=True)
    except RuntimeError as error:
        log.info("compiled code cannot be kept on disk: %s", error)
        return _build(cache=False)


def digest() -> str:
    """Of all that goes into the compiled code: the functions as they were imported, and their constants."""
    made = hashlib.sha256()
    for module, names in ORDER:
        constants = {name: value for name, value in vars(module).items() if isinstance(value, int | float)}
        made.update(repr(sorted(constants.items())).encode())
        for name in names:
            # Version 2 of the format has no references, which would depend on who else holds an object.
            made.update(marshal.dumps(getattr(module, name).__code__, 2))
    for arguments in (Lists, ChartArrays, descent.Twins, descent.Effort):
        made.update(repr(arguments._fields).encode())
    return made.hexdigest()[:12]


def _build(cache: bool) -> dict[str, Callable[..., Any]]:
    from numba import njit

    made: dict[str, Callable[..., Any]] = {}
    state = digest()
    for module, names in ORDER:
        for name in names:
            plain = getattr(module, name)
            scope = {**vars(module), **made}
            copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
            copy.__module__, copy.__qualname__ = plain.__module__, f"{plain.__qualname__}_{state}"
            made[name] = njit(cache=cache, nogil=True, fastmath=name in REORDERED)(copy)
    return made
