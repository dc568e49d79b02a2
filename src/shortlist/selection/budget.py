"""How many rows will be acted on: a count or a share, carried over from all rows to a part of them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["check_budget", "describe_budget", "places"]


def check_budget(budget: Any) -> None:
    """A count of at least 1, or a share strictly between 0 and 1."""
    message = f"budget must be a number of rows of at least 1, or a share of them between 0 and 1, got {budget!r}"
    if isinstance(budget, bool | np.bool_) or not isinstance(budget, numbers.Real):
        raise TypeError(message)
    is_whole, budget = isinstance(budget, numbers.Integral), float(budget)
    whole = is_whole or (budget.is_integer() and budget != 1)
    if not (np.isfinite(budget) and budget > 0 and (whole or budget < 1)):  # 1.0 could mean either
        raise ValueError(message)


def places(budget: Any, n_rows: float, n_part: float, n_groups: int | None = None) -> int:
    """Places to act on in a part of the rows, at least 1.

    A count belongs to all ``n_rows``; of a part it is that part's share. With groups a count holds for each group, and
    a share is one of the average group of the part.

    >>> places(100, 10_000, 2_000), places(0.02, 10_000, 2_000), places(3, 10_000, 2_000, n_groups=100)
    (20, 40, 3)
    """
    share = budget < 1
    if n_groups is not None:
        wanted = budget * n_part / n_groups if share else budget
        most = max(int(n_part / n_groups), 1)
    else:
        wanted = budget * n_part if share else budget * n_part / n_rows
        most = max(int(n_part), 1)
    return int(min(max(round(float(wanted)), 1), most))


def describe_budget(budget: Any, n_rows: int, has_groups: bool = False) -> str:
    """In words.

    >>> describe_budget(0.02, 5000), describe_budget(10, 5000, has_groups=True)
    ('2 % of the rows', '10 rows of each group')
    """
    of = "of each group" if has_groups else f"of {n_rows:,}"
    if budget < 1:
        return f"{100 * budget:.3g} % of the rows" + (" of each group" if has_groups else "")
    return f"{int(budget):,} rows {of}"
