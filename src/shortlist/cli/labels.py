"""Labels of any kind as 0 and 1: which value belongs at the top is said, or chosen and told."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.failure import Failure
from shortlist.cli.rows import Rows, spelled

Array = NDArray[Any]

__all__ = ["Labels", "labels_of"]

# Where both values are of one of these pairs, nobody has to ask which is meant.
USUAL = (("0", "1"), ("-1", "1"), ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("negative", "positive"))
COMPARED = re.compile(r"(>=|<=|>|<)\s*([-+.\deE]+)")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Labels:
    """Labels of rows.

    Attributes
    ----------
    y : (n_rows,) int8 array
        1 where the row belongs at the top, 0 where not, -1 where nothing is said.
    positive : list of str
        What belongs at the top.
    note : str or None
        How it was chosen, where it was not said.
    """

    y: Array
    positive: list[str]
    note: str | None = None

    @property
    def words(self) -> str:
        return " or ".join(repr(one) for one in self.positive)

    @property
    def known(self) -> Array:
        """Numbers of the rows with a label."""
        return np.flatnonzero(self.y >= 0)


def labels_of(rows: Rows, name: str, positive: Sequence[str] | None = None) -> Labels:
    """From a column, and the values that belong at the top."""
    words = rows.words(name)
    present = np.array([word is not None for word in words], dtype=bool)
    values, counts = np.unique(words[present].astype(str), return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    if not found:
        raise Failure(f"{rows.name}: the label {name!r} has no value in any row")
    note = None
    if not positive:
        positive, note = _chosen(rows, name, found)
    wanted = {value for value in found for one in positive if _meets(value, one)}
    for one in positive:
        if not any(_meets(value, one) for value in found):
            raise Failure(f"{rows.name}: no row has the label {name} = {one!r}; there are {_listed(found)}")
    if len(wanted) == len(found):
        raise Failure(
            f"{rows.name}: all rows with a label have {name} = {_listed(found)}; ranking needs rows that belong at "
            "the top and rows that do not"
        )
    y = np.full(len(words), -1, dtype=np.int8)
    y[present] = np.isin(words[present].astype(str), sorted(wanted))
    return Labels(y, list(positive), note)


def _chosen(rows: Rows, name: str, found: dict[str, int]) -> tuple[list[str], str]:
    if len(found) == 1:
        raise Failure(
            f"{rows.name}: the label {name!r} is {_listed(found)} in every row; ranking needs rows that belong at the "
            "top and rows that do not"
        )
    if len(found) > 2:
        raise Failure(
            f"{rows.name}: the label {name!r} has {len(found):,} different values ({_listed(found)}); say which belong "
            "at the top: --positive VALUE, as often as needed, or a bound such as --positive '>=4'"
        )
    lowered = {value.lower(): value for value in found}
    for low, high in USUAL:
        if set(lowered) == {low, high}:
            return [lowered[high]], f"{name} = {lowered[high]!r} belongs at the top"
    rare = min(found, key=lambda value: (found[value], value))
    other = next(value for value in found if value != rare)
    return [rare], (
        f"{name} = {rare!r} is taken to belong at the top, being the rarer value; --positive {_quoted(other)} turns "
        "it round"
    )


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w.-]+", value) else f"'{value}'"


def _meets(value: str, wanted: str) -> bool:
    """
    >>> _meets("1", "1.0"), _meets("fraud", "fraud"), _meets("4", ">=3"), _meets("x", ">=3")
    (True, True, True, False)
    """
    if value == wanted:
        return True
    number = _number(value)
    compared = COMPARED.fullmatch(wanted.strip())
    if compared is not None:
        bound = _number(compared[2])
        return number is not None and bound is not None and bool(OPERATORS[compared[1]](number, bound))
    return number is not None and number == _number(wanted)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if spelled(value) is not None else None


def _listed(found: dict[str, int]) -> str:
    names = [repr(value) for value in list(found)[:6]]
    return ", ".join(names) + (", …" if len(found) > 6 else "")
