"""A budget carried over from all rows to a part of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shortlist.selection.budget import check_budget, describe_budget, places


@pytest.mark.parametrize("budget", [1, 100, 10**9, 0.02, 0.999, 5.0, np.int64(3), np.float32(0.5)])
def test_what_it_may_be(budget: Any) -> None:
    check_budget(budget)


@pytest.mark.parametrize("budget", [0, -1, 1.0, 1.5, 0.0, -0.1, float("nan"), float("inf")])
def test_numbers_that_mean_nothing(budget: Any) -> None:
    with pytest.raises(ValueError, match="number of rows of at least 1, or a share"):
        check_budget(budget)


@pytest.mark.parametrize("budget", [True, "100", None, [1], 1j])
def test_other_things(budget: Any) -> None:
    with pytest.raises(TypeError, match="budget must be"):
        check_budget(budget)


@pytest.mark.parametrize(
    ("budget", "n_rows", "n_part", "n_groups", "expected"),
    [
        (100, 1000, 200, None, 20),
        (100, 1000, 1000, None, 100),
        (3, 1000, 100, None, 1),  # never none
        (0.1, 1000, 200, None, 20),
        (0.0001, 1000, 200, None, 1),
        (5000, 1000, 200, None, 200),  # no more than there are
        (5, 1000, 200, 20, 5),
        (50, 1000, 200, 20, 10),  # no more than a group has
        (0.2, 1000, 200, 20, 2),
        (10, 1000, 0, None, 1),
    ],
)
def test_places(budget: Any, n_rows: float, n_part: float, n_groups: int | None, expected: int) -> None:
    assert places(budget, n_rows, n_part, n_groups) == expected


def test_in_words() -> None:
    assert describe_budget(0.025, 5000) == "2.5 % of the rows"
    assert describe_budget(0.025, 5000, True) == "2.5 % of the rows of each group"
    assert describe_budget(1000, 50_000) == "1,000 rows of 50,000"
    assert describe_budget(10.0, 5000, True) == "10 rows of each group"
