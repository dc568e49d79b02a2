"""The compiled form of the box search: one accessor, Numba behind it.

The functions of ``kernels``, ``packing`` and ``descent`` are plain Python.  Here copies of them are compiled, bound to
one another, kept on disk where that is possible, and run without Python's lock.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shortlist.solvers.exact import descent, kernels, packing

__all__ = ["available", "functions"]

log = logging.getLogger(__name__)

# Callees before callers.  Sums of single precision may be reordered: their tolerance allows for that.
ORDER: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (kernels, ("path_places", "earned", "twin_places", "count_twins", "margins")),
    (packing, ("count_below", "conflicts", "by_path", "by_negatives", "packed_bound")),
    (descent, ("box_bound", "centre_value", "longest_cut", "first_look", "look_below", "descend")),
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


def _build(cache: bool) -> dict[str, Callable[..., Any]]:
    from numba import njit

    made: dict[str, Callable[..., Any]] = {}
    for module, names in ORDER:
        for name in names:
            plain = getattr(module, name)
            scope = {**vars(module), **made}
            copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
            copy.__module__, copy.__qualname__ = plain.__module__, plain.__qualname__
            made[name] = njit(cache=cache, nogil=True, fastmath=name in REORDERED)(copy)
    return made
