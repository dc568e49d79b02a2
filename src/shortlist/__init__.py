"""Shortlist: certified ranking for when only the top of the list will be acted on.

The names are listed in ``shortlist._public`` and come in when the first of them is used: ``shortlist --help`` does not
wait for scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist._public import *  # noqa: F403
    from shortlist._public import __all__ as __all__


def __getattr__(name: str) -> Any:
    if not name.startswith("_") or name == "__all__":
        public = import_module("shortlist._public")
        if name == "__all__" or name in public.__all__:
            globals().update({one: getattr(public, one) for one in ("__all__", *public.__all__)})
            return globals()[name]
        try:
            return import_module(f"shortlist.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"shortlist.{name}":
                raise
    raise AttributeError(f"module 'shortlist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
