"""Rows sorted into the positives and negatives of lists."""

from __future__ import annotations

import doctest
from itertools import pairwise

import numpy as np
import pytest

from shortlist.risks import lists as module
from shortlist.risks.lists import Lists, count_above, descending, shared_among_ties


def test_examples() -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def test_rows_stand_by_group_and_those_without_weight_or_partner_do_not() -> None:
    y = np.array([1, 0, 1, 0, 1, 0, 1])
    groups, weights = np.array([3, 3, 1, 1, 2, 1, 1]), np.array([2.0, 5, 1, 0, 1, 3, 1])
    lists = Lists.from_labels(y, groups=groups, sample_weight=weights)
    assert lists.group_ids.tolist() == [1, 3]
    assert lists.positives.tolist() == [2, 6, 0]
    assert lists.negatives.tolist() == [5, 1]
    assert lists.positive_weights.tolist() == [0.25, 0.25, 0.5]
    assert lists.negative_weights.tolist() == [3, 5]
    assert lists.positive_starts.tolist() == [0, 2, 3]
    assert lists.negative_starts.tolist() == [0, 1, 2]
    assert lists.spread(np.array([1.0, 2, 3]), np.array([-1.0, -2])).tolist() == [3, -2, 1, 0, 0, -1, 2]


def test_nothing_to_rank() -> None:
    with pytest.raises(ValueError, match="no group holds both a positive and a negative row of positive weight"):
        Lists.from_labels(np.array([1, 0]), groups=np.array([0, 1]))


def test_orders_and_counts_of_many_groups() -> None:
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 5, 60))
    groups[:5] = 0
    groups = np.unique(groups, return_inverse=True)[1]
    starts = np.searchsorted(groups, np.arange(groups.max() + 2))
    scores = rng.integers(-5, 5, 60).astype(float)
    order = descending(scores, starts, groups)
    assert (groups[order] == groups).all()
    assert all((np.diff(scores[order][a:b]) <= 0).all() for a, b in pairwise(starts))
    levels, of = rng.integers(-6, 6, 40).astype(float), rng.integers(0, groups.max() + 1, 40)
    found = count_above(levels, scores[order], starts, of)
    assert found.tolist() == [int((scores[groups == g] > t).sum()) for t, g in zip(levels, of, strict=True)]


def test_ties_do_not_reach_into_the_next_group() -> None:
    shared = shared_among_ties(np.array([3.0, 1, 5]), np.array([1.0, 1, 1]), np.array([1.0, 3, 1]), np.array([0, 2, 3]))
    assert shared.tolist() == [1, 3, 5]
