"""``shortlist explain``: why one row stands above another, column by column.

Each column is credited with what it adds to the score when it is taken from the one row instead of the other.  Where
the score is a sum over columns (a linear model), that is exact and the same in whatever order columns are taken.  For
other models it depends on the order, and is averaged over orders (Shapley values): over all of them while the mixtures
of the two rows are few, else over orders drawn with a fixed seed, each with its reverse.  In every case the credits add
up to the difference of the two scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.columns import features
from shortlist.cli.failure import Failure
from shortlist.cli.model import Described, load_described, scores_of_rows
from shortlist.cli.ranking import order_of, read_for
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Terminal, decimals

Array = NDArray[Any]

__all__ = ["Credits", "explain", "is_sum", "shapley"]

# Mixtures of two rows that are scored for an exact average; beyond, so many orders are drawn.
MOST_MIXTURES = 4096
ORDERS = 200
SHOWN = 15
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "ColumnTransformer", "SimpleImputer")


@dataclass(frozen=True)
class Credits:
    """What each column adds, and how that was found.

    Attributes
    ----------
    values : (n_columns,) array
    method : str
    error : float or None
        Largest standard error, where orders were drawn.
    """

    values: Array
    method: str
    error: float | None = None


def is_sum(model: Any) -> bool:
    """Whether a model's score is a sum over the user's columns."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    *before, last = steps
    if any(type(step).__name__ not in SCALERS or getattr(step, "clip", False) for step in before):
        return False
    parts = getattr(getattr(last, "model_", None), "models", None)
    if parts is not None:
        return all(is_sum(part) for part in parts)
    if hasattr(last, "base_") or not hasattr(last, "coef_"):
        return False
    mapped = getattr(last, "feature_map_", None)
    return mapped is None or bool(mapped.is_linear)


def shapley(worth: Callable[[Array], Array], n: int, *, is_additive: bool = False, seed: int = 0) -> Credits:
    """Credits of ``n`` columns; ``worth`` scores mixtures, given as truth values: whether a column is the first row's.

    >>> credits = shapley(lambda mixed: mixed[:, 0] * (1.0 + mixed[:, 1]), 2)
    >>> credits.values.tolist(), credits.method
    ([1.5, 0.5], 'Shapley values over all 4 mixtures of the two rows')
    """
    if n == 0:
        return Credits(np.zeros(0), "The rows do not differ in a column that the model takes")
    if is_additive:
        mixed = np.vstack([np.zeros((1, n), dtype=bool), np.eye(n, dtype=bool)])
        scores = worth(mixed)
        return Credits(scores[1:] - scores[0], "Exact: the score is a sum over columns")
    if 2**n <= MOST_MIXTURES:
        mixed = np.array(list(itertools.product((False, True), repeat=n)))
        scores, sizes = worth(mixed), mixed.sum(axis=1)
        place = mixed @ (1 << np.arange(n)[::-1])
        scores_at = np.empty(2**n)
        scores_at[place] = scores
        weight = np.array([1 / (n * math.comb(n - 1, size)) for size in range(n)])
        values = np.empty(n)
        for j in range(n):
            without = ~mixed[:, j]
            gain = scores_at[place[without] + (1 << (n - 1 - j))] - scores_at[place[without]]
            values[j] = gain @ weight[sizes[without]]
        return Credits(values, f"Shapley values over all {2**n:,} mixtures of the two rows")
    rng = np.random.default_rng(seed)
    gains, order = np.empty((ORDERS, n)), np.arange(n)
    for number in range(ORDERS):
        order = rng.permutation(n) if number % 2 == 0 else order[::-1]
        mixed = np.zeros((n + 1, n), dtype=bool)
        for at, column in enumerate(order, start=1):
            mixed[at:, column] = True
        gains[number, order] = np.diff(worth(mixed))
    pairs = gains.reshape(ORDERS // 2, 2, n).mean(axis=1)
    error = float((pairs.std(axis=0, ddof=1) / math.sqrt(len(pairs))).max())
    return Credits(gains.mean(axis=0), f"Shapley values over {ORDERS} orders drawn with seed {seed}", error)


def explain(
    path: str,
    model: str,
    row: str,
    above: str | None,
    identity: str | None,
    group: str | None,
    reading: dict[str, Any],
    seed: int,
    terminal: Terminal,
) -> None:
    """The command."""
    described = load_described(model, terminal)
    rows = read_for(described, path, reading, terminal, "text")
    identity = identity or (described.get("id") if described.get("id") in rows.kinds else None)
    by = group or (described.get("group") if described.get("group") in rows.kinds else None)
    with terminal.progress(f"scoring {len(rows):,} rows") as progress:
        scores = scores_of_rows(described, rows, progress)
    order, places, codes = order_of(rows, scores, by)
    rank_of = np.empty(len(rows), dtype=np.intp)
    rank_of[order] = places
    first = _find(rows, row, identity)
    second, why = _find(rows, above, identity) if above is not None else -1, ""
    if second < 0:
        second, why = _other(first, rows, described, order, rank_of, codes)
    if first == second:
        raise Failure(f"both are row {first + 1}: name two different rows")
    if scores[first] < scores[second]:
        first, second = second, first
    names, worth, cells = _mixer(described, rows, first, second)
    with terminal.progress("crediting columns"):
        credits = shapley(worth, len(names), is_additive=is_sum(described.model), seed=seed)
    titles = [_title(rows, one, identity) for one in (first, second)]
    ranks = [int(rank_of[one]) for one in (first, second)]
    gap = float(scores[first] - scores[second])
    largest = np.argsort(-np.abs(credits.values), kind="stable")
    terminal.json(
        {
            "rows": [
                {"row": int(one) + 1, "name": title, "rank": place, "score": float(scores[one])}
                for one, title, place in zip((first, second), titles, ranks, strict=True)
            ],
            "difference": gap,
            "columns": [
                {"column": names[j], "values": list(cells[j]), "credit": float(credits.values[j])} for j in largest
            ],
            "method": credits.method,
            "standard_error": credits.error,
        }
    )
    terminal.say(f"{titles[0]} stands above {titles[1]}{why}.")
    terminal.say()
    body: list[list[str]] = [
        ["rank", f"{ranks[0]:,}", f"{ranks[1]:,}", ""],
        ["score", decimals(scores[first]), decimals(scores[second]), f"{gap:+.3f}"],
        ["", "", "", ""],
    ]
    body += [[names[j], *map(_shown, cells[j]), f"{credits.values[j]:+.3f}"] for j in largest[:SHOWN]]
    if len(largest) > SHOWN:
        rest = float(credits.values[largest[SHOWN:]].sum())
        body.append([f"{len(largest) - SHOWN} others", "", "", f"{rest:+.3f}"])
    terminal.table(("", *titles, "credit"), body, right=(1, 2, 3))
    same = [name for name in described.names_for(rows) if name not in names]
    terminal.say()
    if same:
        terminal.say(f"The same in both: {', '.join(same)}.")
    error = "" if credits.error is None else f", standard error at most {credits.error:.2g}"
    terminal.say(f"Credits add up to the difference of the scores. {credits.method}{error}.")


def _find(rows: Rows, wanted: str, identity: str | None) -> int:
    """A row by its name in the id column, else by its number, counted from 1."""
    if identity is not None:
        found = np.flatnonzero(rows.words(identity) == wanted)
        if len(found) > 1:
            raise Failure(
                f"{rows.name}: {len(found)} rows have {identity} = {wanted!r}; give the number of one: --id ''"
            )
        if len(found) == 1:
            return int(found[0])
    if wanted.isdigit() and 1 <= int(wanted) <= len(rows):
        return int(wanted) - 1
    where = f"no row with {identity} = {wanted!r}" if identity is not None else f"no row {wanted}"
    raise Failure(f"{rows.name} has {where}; rows can also be given by their number, 1 to {len(rows):,}")


def _other(
    first: int, rows: Rows, described: Described, order: Array, rank_of: Array, codes: Array | None
) -> tuple[int, str]:
    """The row to compare with where none is named: the one on the other side of the budget."""
    from shortlist.selection.budget import places

    own = order if codes is None else order[codes[order] == codes[first]]
    if len(own) < 2:
        raise Failure(f"row {first + 1} has no rival in its group; --above names another row")
    budget = described.get("budget") or 0.5
    k = min(places(budget, len(own), len(own), 1 if codes is not None else None), len(own) - 1)
    if rank_of[first] <= k:
        return int(own[k]), f", the first that did not make it into the first {k:,}"
    return int(own[k - 1]), f", which did not make it into the first {k:,} (the other is the last of these)"


def _title(rows: Rows, row: int, identity: str | None) -> str:
    name = None if identity is None else rows.words(identity)[row]
    return str(name) if name is not None else f"row {row + 1}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def _mixer(
    described: Described, rows: Rows, first: int, second: int
) -> tuple[list[str], Callable[[Array], Array], list[tuple[Any, Any]]]:
    """The columns in which two rows differ, how their mixtures are scored, and their values."""
    import pandas as pd
    from scipy import sparse

    from shortlist.frames import model_scores

    names = described.names_for(rows)
    if rows.matrix is not None:
        pair = rows.matrix[[first, second]].toarray()
        differing = np.flatnonzero(pair[0] != pair[1])

        def worth_sparse(mixed: Array) -> Array:
            made = np.repeat(pair[1:], len(mixed), axis=0)
            made[:, differing] = np.where(mixed, pair[0, differing], pair[1, differing])
            return np.asarray(model_scores(described.model, sparse.csr_array(made)), dtype=np.float64)

        cells = [(float(pair[0, j]), float(pair[1, j])) for j in differing]
        return [f"feature {j + 1}" for j in differing], worth_sparse, cells
    part = Rows(rows.name, rows.table.take([first, second]), rows.kinds)
    two = features(part, names)
    values = {name: [None if one != one else one for one in two[name].tolist()] for name in names}
    different = [name for name in names if values[name][0] != values[name][1]]

    def worth(mixed: Array) -> Array:
        made = {}
        for name in names:
            own = two[name].to_numpy()
            at = np.ones(len(mixed), dtype=np.intp)
            if name in different:
                at = np.where(mixed[:, different.index(name)], 0, 1)
            made[name] = pd.Series(own[at], dtype=own.dtype)
        return np.asarray(model_scores(described.model, pd.DataFrame(made)), dtype=np.float64)

    return different, worth, [(values[name][0], values[name][1]) for name in different]
