"""The small parts of the estimators: validation, merging, the search for tau, docstrings."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from shortlist.estimators import _docs, _merge, _tau, _validation
from shortlist.estimators._validation import (
    TrainingRows,
    check_choice,
    check_count,
    check_magnitude,
    check_number,
    encode_groups,
)

MODULES = ["aatp", "quantile", "top", "_tau", "_validation", "_merge", "_docs", "_base"]


@pytest.mark.parametrize(
    "name", [*(f"shortlist.estimators.{name}" for name in MODULES), "shortlist.certification"]
)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


class TestNumbers:
    def test_messages_hold_limits_value_and_advice(self) -> None:
        with pytest.raises(
            ValueError, match=r"tau must be a finite number above 0 and at most 1, got 2; or 'auto'"
        ):
            check_number("tau", 2, at_most=1.0, advice="or 'auto'")
        with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
            check_count("k", 0)
        with pytest.raises(ValueError, match="loss must be one of 'a', 'b', got 'c'"):
            check_choice("loss", "c", ("a", "b"))

    def test_numbers_of_numpy_are_numbers(self) -> None:
        check_number("C", np.float32(1.0))
        check_count("k", np.int64(3))

    def test_the_largest_entry(self) -> None:
        assert check_magnitude(np.array([[1.0, -3.0]])) == 3.0
        assert check_magnitude(np.zeros((0, 2))) == 0.0


class TestGroups:
    def test_first_appearance_numbers_them(self) -> None:
        codes, ids = encode_groups(np.array([7, 3, 7, 1]), 4)
        assert codes.tolist() == [0, 1, 0, 2]
        assert ids == [7, 3, 1]

    def test_other_containers(self) -> None:
        assert encode_groups(pl.Series(["x", "y"]), 2)[1] == ["x", "y"]
        assert encode_groups(iter("ab"), 2)[1] == ["a", "b"]

    def test_what_cannot_be_compared_with_itself_is_missing(self) -> None:
        class Odd:
            def __eq__(self, other: object) -> Any:
                raise TypeError

            def __hash__(self) -> int:
                return 1

        with pytest.raises(ValueError, match="no id in row 1"):
            encode_groups([0, Odd()], 2)


class TestTau:
    @pytest.mark.parametrize("smallest", [1, 2, 3, 7, 8, 64, 99, 100])
    def test_finds_the_smallest(self, smallest: int) -> None:
        asked: list[float] = []

        def degenerate(tau: float) -> bool:
            asked.append(tau)
            return round(tau * 100) < smallest

        assert _tau.smallest_tau(100, degenerate) == pytest.approx(smallest / 100)
        assert len(asked) <= 2 * np.log2(smallest) + 3

    def test_none_helps(self) -> None:
        assert _tau.smallest_tau(2.5, lambda tau: True) == 1.0


class TestMerge:
    def rows(self, **changes: Any) -> TrainingRows:
        X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0], [5.0, 6.0]])
        given: dict[str, Any] = {
            "X": X,
            "is_positive": np.array([True, False, True, False, False]),
            "classes": np.array([0, 1]),
            "groups": None,
            "group_ids": [None],
            "weights": np.array([1.0, 1.0, 2.0, 1.0, 0.0]),
        }
        return TrainingRows(**{**given, **changes})

    def test_repeats_are_joined_and_the_absent_left_out(self) -> None:
        rows = self.rows()
        Z, merged, places = _merge.merge_repeats(rows.X, rows)
        assert len(Z) == 3
        assert places[0] == places[2]
        assert places[3] not in (places[0], places[1])
        assert places[4] == -1
        assert merged.weights is not None
        assert merged.weights[places[0]] == 3.0
        dual = _merge.spread(np.arange(1.0, 4.0), places, rows.weights)
        assert dual[2] == 2 * dual[0]
        assert dual[0] + dual[2] == pytest.approx(1.0 + places[0])
        assert dual[4] == 0

    def test_groups_keep_repeats_apart(self) -> None:
        rows = self.rows(groups=np.array([0, 0, 1, 0, 0]), weights=None)
        Z, merged, places = _merge.merge_repeats(rows.X, rows)
        assert len(Z) == 5
        assert merged.groups is not None
        assert np.array_equal(merged.groups[places], rows.groups)
        assert np.array_equal(_merge.spread(merged.is_positive * 1.0, places, None), rows.is_positive * 1.0)


def test_shared_sections_keep_the_indentation() -> None:
    class Sample:
        """One line.

        {C}
        {unknown}
        """

    lines = (_docs.fill_doc(Sample).__doc__ or "").splitlines()
    assert lines[2] == "        C : float, default=1.0"
    assert lines[3].startswith("            Weight")
    assert "{unknown}" in lines[-2]


def test_an_attribute_of_the_user_survives_a_fit() -> None:
    from shortlist import TopPush

    model = TopPush()
    model.note = "mine"
    model.fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert model.note == "mine"
    assert _validation.prediction_rows(model, [[1.0]]).shape == (1, 1)
