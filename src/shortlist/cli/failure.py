"""What the user is told instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

__all__ = ["Failure", "Usage", "closest", "no_column"]


class Failure(Exception):
    """Something is wrong with the data or the run: exit code 1."""


class Usage(Exception):
    """Something is wrong with the command: exit code 2."""


def closest(name: str, names: Sequence[str]) -> str:
    """What was perhaps meant, as an ending of a sentence.

    >>> closest("ammount", ["amount", "branch"]), closest("x", ["amount"])
    ("; did you mean 'amount'?", '')
    """
    lowered = {one.lower(): one for one in names}
    found = difflib.get_close_matches(name.lower(), lowered, n=1)
    return f"; did you mean {lowered[found[0]]!r}?" if found else ""


def no_column(source: str, name: str, names: Sequence[str]) -> Failure:
    """A column that is not there."""
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return Failure(f"{source} has no column {name!r}{closest(name, names) or f'; it has {shown}'}")
