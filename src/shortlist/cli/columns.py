"""From columns to features: which are numbers, which are text, which are left out and why, and how gaps are filled.

What is learned of the columns (medians, levels) is a scikit-learn ``ColumnTransformer`` and part of the model's file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.failure import Failure, Usage
from shortlist.cli.rows import MISSING, Rows, coded

Array = NDArray[Any]

__all__ = ["Plan", "features", "frame", "plan_columns", "preparation"]

# Levels of a text column that get a feature of their own; all others share one.
MOST_LEVELS = 40
LEAST_ROWS = 5
# A text column is used if its most frequent levels cover at least this share of the rows.
COVERED = 0.5
# Of its values so many are looked at for what they are.
MOST_LOOKED_AT = 2000
# More features than this are kept as sparse rows.
MOST_DENSE = 400
IDS = re.compile(r"(.*[_\W])?(id|no|nr|key|uuid|guid|number|index)", re.IGNORECASE)


@dataclass
class Plan:
    """The columns that a model takes.

    Attributes
    ----------
    numbers, texts : list of str
    left_out : dict of str to str
        Why, by column.
    identity : str or None
        A column that names rows.
    """

    numbers: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    identity: str | None = None

    @property
    def names(self) -> list[str]:
        return [*self.numbers, *self.texts]

    @property
    def kinds(self) -> dict[str, str]:
        return {**dict.fromkeys(self.numbers, "number"), **dict.fromkeys(self.texts, "text")}


def plan_columns(
    rows: Rows,
    taken: Sequence[str],
    *,
    identity: str | None = None,
    drop: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Plan:
    """Sort the columns; ``taken`` are the label and the like, ``only`` those that the user wants, if any."""
    for name in (*taken, *drop, *only, *([identity] if identity else [])):
        rows.need(name)
    wanted_twice = sorted(set(only) & {*taken, *drop, identity or ""})
    if wanted_twice:
        raise Usage(f"the column {wanted_twice[0]!r} cannot be a feature: it is the label, the id, or to be left out")
    plan = Plan(identity=identity)
    for name in only or rows.names:
        if name in taken or name == identity:
            continue
        if name in drop:
            plan.left_out[name] = "as asked"
            continue
        kind = rows.kinds[name]
        reason = _number_reason(rows, name, plan) if kind == "number" else _other_reason(rows, name, kind, plan)
        if reason is not None:
            plan.left_out[name] = reason
        elif name != plan.identity:
            (plan.numbers if kind == "number" else plan.texts).append(name)
    if not plan.names and rows.matrix is None:
        why = "; ".join(f"{name}: {reason}" for name, reason in plan.left_out.items())
        raise Failure(f"{rows.name} has no column to learn from ({why or 'there are no others'})")
    return plan


def _number_reason(rows: Rows, name: str, plan: Plan) -> str | None:
    """Why a column of numbers is of no use; names of rows are noted."""
    values = rows.numbers(name)
    present = values[~np.isnan(values)]
    if not len(present):
        return "no value in any row"
    if np.isinf(present).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise Failure(f"{rows.name}: the column {name!r} is infinite in row {row + 1}; leave it empty, or --drop it")
    if len(present) == len(values) and present.min() == present.max():
        return "the same in every row"
    whole = len(present) == len(values) and bool((present == np.floor(present)).all())
    if whole and IDS.fullmatch(name) and len(np.unique(present)) == len(values):
        if plan.identity is None:
            plan.identity = name
            return None
        return "names the rows"
    return None


def _other_reason(rows: Rows, name: str, kind: str, plan: Plan) -> str | None:
    if kind != "text":
        return "dates" if kind == "date" else "neither numbers nor text"
    counted = rows.table.column(name).value_counts()
    counts = np.sort(counted.field("counts").to_numpy())[::-1]
    levels = counted.field("values").slice(0, MOST_LOOKED_AT).to_pylist()
    distinct = len(counts) - (0 if all(level not in (None, "") for level in levels) else 1)
    if distinct == 0:
        return "no value in any row"
    if distinct == 1 and counts[0] == len(rows):
        return "the same in every row"
    if len(rows) > 2 * MOST_LEVELS and counts[:MOST_LEVELS].sum() < COVERED * len(rows):
        if distinct == len(rows) and plan.identity is None and not any(" " in str(level) for level in levels):
            plan.identity = name
            return None
        return f"{distinct:,} different texts{_almost_numbers(levels)}"
    return None


def _almost_numbers(levels: Sequence[Any]) -> str:
    """Whether it would be a column of numbers but for a few cells."""
    odd = []
    for level in levels:
        try:
            float(level)
        except (TypeError, ValueError):
            if level is not None and str(level) not in MISSING:
                odd.append(str(level))
            if len(odd) > 0.1 * len(levels):
                return ""
    return f", numbers but for {odd[0][:20]!r}" if odd else ""


def preparation(plan: Plan, n_rows: int) -> Any:
    """The unfitted transformer: gaps in numbers become the median and a mark, levels of text features."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    width = 2 * len(plan.numbers) + MOST_LEVELS * len(plan.texts)
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_LEVELS + 1,
        min_frequency=LEAST_ROWS if n_rows >= 100 * LEAST_ROWS else None,
        sparse_output=width > MOST_DENSE,
    )
    parts = [
        ("numbers", SimpleImputer(strategy="median", add_indicator=True), plan.numbers),
        ("texts", levels, plan.texts),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.3 if width > MOST_DENSE else 0.0)


def frame(rows: Rows, names: Sequence[str]) -> Any:
    """Columns as a pandas frame that scikit-learn reads: numbers with NaN, text as objects with NaN."""
    import pandas as pd

    made = {}
    for name in names:
        if rows.kinds.get(name) == "number":
            made[name] = rows.numbers(name)
        else:
            levels, codes = coded(rows.need(name))
            own = [np.nan if level is None or level == "" else str(level) for level in levels]
            made[name] = pd.Series(np.array([*own, np.nan], dtype=object)[codes], dtype=object)
    return pd.DataFrame(made)


def features(rows: Rows, names: Sequence[str]) -> Any:
    """What a model is given: svmlight's sparse rows, or a frame."""
    return frame(rows, names) if rows.matrix is None else rows.matrix
