"""The rating experiments of the papers on magnitudes: one test reviewer, half of the ratings to learn from.

A test reviewer's rated items are the rows; the ratings that 300 reference reviewers gave to them are the features, and
where a reference reviewer gave none, that reviewer's median.  Reference reviewers are drawn for each test reviewer
from a group by their number of ratings.  Half of the rows train, half test; figures are means over test reviewers, and
deviations those over repeats.

The sets here are parts of the papers': a fifth of MovieLens-1M's users, the first of Jester's three files (where every
user rated 36 jokes or more), extracts of Book-Crossing.  They are read from the folder that SHORTLIST_DATA names.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import Array

__all__ = ["GROUPS", "SETS", "Problem", "load_ratings", "problems"]

REFERENCES = 300
HELD_OUT = 20  # test reviewers to tune on, at most a quarter
BOOK_RATINGS, BOOK_READERS = 100, 10  # the paper has 200, which leave 36 users of this part

# Least and most ratings of the reference reviewers, by set and group.
GROUPS: dict[str, dict[str, tuple[int, int]]] = {
    "movielens": {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)},
    "jester": {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)},
    "books": {"all": (BOOK_READERS, 10**9)},
    "made": {"20-40": (20, 40)},
}
SETS = ("movielens", "jester", "books")
TESTED = {"movielens": (50, 300), "jester": (50, 300), "books": (20, 10**9), "made": (25, 60)}


@dataclass
class Problem:
    """One test reviewer."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


def _file(*names: str) -> Path:
    folder = os.environ.get("SHORTLIST_DATA", "")
    path = Path(folder).joinpath(*names)
    if not folder or not path.exists():
        raise SystemExit(
            f"The rating sets need SHORTLIST_DATA to name a folder that holds {'/'.join(names)}; leave sets out with "
            "--sets, or try --quick, which needs none."
        )
    return path


def load_ratings(name: str) -> Array:
    """Users x items, NaN where there is no rating."""
    if name == "made":
        return _made()
    if name == "jester":
        stored = np.load(_file("jester1", "jester1.npz"), allow_pickle=False)["ratings_x100"]
        return np.where(stored == 9900, np.nan, stored / 100).astype(np.float32)
    if name == "movielens":
        stored = np.load(_file("movielens1m_part", "ratings.npz"), allow_pickle=False)
        return _matrix(stored["user"], stored["item"], stored["rating"])
    with gzip.open(_file("bookcrossing_part", "ratings.csv.gz"), "rt", newline="") as file:
        rows = [(row["user_id"], row["isbn"], float(row["rating"])) for row in csv.DictReader(file)]
    users, books, ratings = (np.array(column) for column in zip(*rows, strict=True))
    many = np.isin(users, _frequent(users, BOOK_RATINGS))
    known = many & np.isin(books, _frequent(books[many], BOOK_READERS))
    return _matrix(users[known], books[known], ratings[known])


def _frequent(values: Array, least: int) -> Array:
    names, counts = np.unique(values, return_counts=True)
    return names[counts >= least]


def _matrix(users: Array, items: Array, ratings: Array) -> Array:
    user, item = (np.unique(ids, return_inverse=True)[1] for ids in (users, items))
    R = np.full((user.max() + 1, item.max() + 1), np.nan, dtype=np.float32)
    R[user, item] = ratings
    return R


def _made() -> Array:
    """Sixty users with tastes of two dimensions, forty items, three quarters of them rated."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40)) + 3 + 0.5 * rng.normal(size=(60, 40))
    R[rng.random(R.shape) < 0.25] = np.nan
    return np.clip(R, 1, 5)


def problems(
    name: str, R: Array, group: tuple[int, int], n_reviewers: int, seed: int, among: str = "all"
) -> Iterator[Problem]:
    """Test reviewers at random, each with references of their own.

    ``among`` is "all", "held out" (some that are always the same, to tune on) or "others" (all but these).
    """
    rng = np.random.default_rng(seed)
    counts = (~np.isnan(R)).sum(axis=1)
    least, most = TESTED[name]
    tested = np.flatnonzero((counts >= least) & (counts <= most))
    tuned = min(HELD_OUT, len(tested) // 4)
    mixed = np.random.default_rng(0).permutation(tested)
    tested = {"all": tested, "held out": mixed[:tuned], "others": mixed[tuned:]}[among]
    members = np.flatnonzero((counts >= group[0]) & (counts < group[1]))
    medians = np.nanmedian(R[members], axis=1)
    for reviewer in rng.permutation(tested)[:n_reviewers]:
        chosen = rng.permutation(np.flatnonzero(members != reviewer))[:REFERENCES]
        items = rng.permutation(np.flatnonzero(~np.isnan(R[reviewer])))
        F = R[np.ix_(members[chosen], items)]
        F = np.where(np.isnan(F), medians[chosen, None], F).T.astype(np.float64)
        y: Any = R[reviewer, items].astype(np.float64)
        half = len(items) // 2
        yield Problem(F[:half], y[:half], F[half:], y[half:])
