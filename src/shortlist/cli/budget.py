"""How many rows will be acted on, as it is written in a command."""

from __future__ import annotations

from typing import Any

from shortlist.cli.failure import Usage

__all__ = ["parse_budget", "share_of"]


def parse_budget(text: str) -> int | float:
    """
    >>> parse_budget("100"), parse_budget("0.02"), parse_budget("2%"), parse_budget("1,000")
    (100, 0.02, 0.02, 1000)
    """
    cleaned = text.strip().replace(",", "").replace("_", "")
    try:
        value = float(cleaned.rstrip("%")) / (100 if cleaned.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not cleaned.endswith("%") and value >= 1 and value.is_integer():
        return int(value)
    if not 0 < value < 1:
        raise Usage(
            f"--budget takes a number of rows, such as 100, or a share of them, such as 0.02 or 2%; got {text!r}"
        )
    return value


def share_of(budget: Any, n_rows: int, of: int | None, grouped: bool) -> Any:
    """The budget for a list as long as ``of``, carried over to other lists as a share; of each group it stays a count.

    >>> share_of(100, 50_000, None, False), share_of(100, 50_000, 1_000, False), share_of(3, 500, None, True)
    (0.002, 0.1, 3)
    """
    if budget < 1 or grouped:
        return budget
    length = n_rows if of is None else of
    if budget >= length:
        raise Usage(
            f"a budget of {budget:,} rows leaves nothing to choose in a list of {length:,}; --of ROWS says how long "
            "the lists will be"
        )
    return budget / length
