"""The pool keeps what it is given, and gives back the right boxes."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.solvers.exact.boxes import BoxSet, Pool


def boxes(keys, d=2):
    keys = np.asarray(keys, dtype=float)
    n = len(keys)
    return BoxSet(np.tile(keys[:, None], d), np.ones((n, d)), keys + 1, keys, np.arange(n), np.zeros(n, dtype=int))


def check(box_set):
    """Every column of a box still belongs to it."""
    assert np.array_equal(box_set.centre[:, 0], box_set.key)
    assert np.array_equal(box_set.bound, box_set.key + 1)


def test_the_largest_come_first_and_leave():
    pool = Pool(2)
    assert len(pool) == 0 and pool.best_key == -np.inf and pool.nbytes == 0
    pool.add(boxes([3, 1, 4, 1.5, 9, 2]))
    taken = pool.take(3)
    # In order of arrival, not of size.
    assert taken.key.tolist() == [3, 4, 9]
    check(taken)
    check(pool.boxes)
    assert sorted(pool.boxes.key) == [1, 1.5, 2] and pool.best_key == 2


def test_the_smallest_when_asked():
    pool = Pool(2)
    pool.add(boxes([3, 1, 4, 1.5, 9, 2]))
    assert pool.take(2, largest=False).key.tolist() == [1, 1.5]
    assert pool.best_key == 9 and len(pool) == 4


@pytest.mark.parametrize("count", [2, 5])
def test_all_of_them(count):
    pool = Pool(2)
    pool.add(boxes([2, 1]))
    assert pool.take(count).key.tolist() == [2, 1]
    assert len(pool) == 0


def test_pruning_forgets_up_to_the_limit():
    pool = Pool(2)
    pool.add(boxes([3, 1, 4, 1.5, 3]))
    pool.prune(3)
    assert pool.boxes.key.tolist() == [4]
    pool.prune(3)
    assert len(pool) == 1
    pool.prune(4)
    assert len(pool) == 0


def test_against_a_sorted_list():
    rng = np.random.default_rng(0)
    pool, known = Pool(3), []
    for _ in range(300):
        kind = rng.random()
        if kind < 0.5:
            # Distinct keys, so that "the largest" is one answer.
            new = rng.random(int(rng.integers(1, 40)))
            pool.add(boxes(new, d=3))
            known += new.tolist()
        elif kind < 0.9 and known:
            count, largest = int(rng.integers(1, 30)), bool(rng.random() < 0.7)
            taken = pool.take(count, largest=largest)
            check(taken)
            expected = sorted(known, reverse=largest)[:count]
            assert sorted(taken.key, reverse=largest) == expected
            known = sorted(known, reverse=largest)[count:]
        else:
            limit = rng.random() * 0.2
            pool.prune(limit)
            known = [key for key in known if key > limit]
        assert len(pool) == len(known) and sorted(pool.boxes.key) == sorted(known)
        check(pool.boxes)


def test_memory_is_that_of_the_boxes_in_use():
    pool = Pool(4)
    pool.add(boxes(np.arange(100.0), d=4))
    # Two coordinates of eight bytes a feature, two keys of eight, two numbers of four; and as much to move them.
    assert pool.nbytes == 2 * 100 * (2 * 4 * 8 + 2 * 8 + 2 * 4)
    pool.take(100)
    assert pool.nbytes == 0


def test_rows_of_a_set():
    assert boxes([1, 2, 3]).rows(np.array([2, 0])).key.tolist() == [3, 1]
