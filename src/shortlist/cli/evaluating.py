"""``shortlist evaluate``: what a list is worth whose labels are known, by a model or by a column of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.budget import parse_budget
from shortlist.cli.failure import Failure, Usage
from shortlist.cli.labels import labels_of
from shortlist.cli.measured import measure, say_measured
from shortlist.cli.methods import title_of
from shortlist.cli.model import Described, load_described, scores_of_rows
from shortlist.cli.ranking import read_for
from shortlist.cli.reports import write_evaluation
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Terminal, share
from shortlist.cli.write import check_output

Array = NDArray[Any]

__all__ = ["column_scores", "evaluate"]


def column_scores(rows: Rows, name: str) -> Array:
    """A column of scores, with none missing."""
    rows.need(name)
    if rows.kinds[name] != "number":
        raise Failure(f"{rows.name}: the column {name!r} does not hold numbers, and so no scores")
    scores = rows.numbers(name)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise Failure(f"{rows.name}: row {row + 1} has no finite score in the column {name!r}")
    return scores


def evaluate(
    path: str,
    model: str | None,
    score: str | None,
    label: str | None,
    positive: Sequence[str],
    budget: str | None,
    group: str | None,
    identity: str | None,
    report: str | None,
    force: bool,
    reading: dict[str, Any],
    terminal: Terminal,
    command: str,
) -> None:
    """The command."""
    from shortlist.selection.budget import places

    if (model is None) == (score is None):
        raise Usage("evaluate takes --model FILE, or --score COLUMN")
    page = check_output(report, force, path, *([model] if model else []))
    described = Described(None, {}, "") if model is None else load_described(model, terminal)
    rows = read_for(described, path, reading, terminal, None)
    label = label or described.get("label") or ("label" if rows.matrix is not None else None)
    if label is None:
        raise Failure("--label says which column holds the labels")
    labels = labels_of(rows, label, positive or described.get("positive"))
    if labels.note:
        terminal.note(labels.note)
    known = labels.known
    if len(known) < len(rows):
        terminal.note(f"{len(rows) - len(known):,} rows without a label are left out")
        rows = rows.take(known)
    y = labels.y[known]
    if score is not None:
        scores = column_scores(rows, score)
    else:
        with terminal.progress(f"scoring {len(rows):,} rows") as progress:
            scores = scores_of_rows(described, rows, progress)
    by = group or (described.get("group") if described.get("group") in rows.kinds else None)
    groups = None if by is None else rows.words(by).astype(str)
    n_groups = None if groups is None else len(set(groups.tolist()))
    wanted = parse_budget(budget) if budget is not None else described.get("budget") or 100
    k = places(wanted, len(rows), len(rows), n_groups)
    found = measure(y, scores, k, groups)
    name = f"the column {score!r}" if score is not None else title_of(described.model)
    if page is not None:
        write_evaluation(
            page,
            described if model is not None else None,
            rows,
            y,
            scores,
            k,
            force,
            command,
            groups=groups,
            identity=identity,
            label=label,
            positive=labels.positive,
            name=name,
        )
    terminal.json(
        {
            "model": model,
            "score": score,
            "label": label,
            "positive": labels.positive,
            "measured": found,
            "report": None if page is None else str(page),
        }
    )
    positives = int(y.sum())
    lifted = f"{positives:,} ({share(positives / len(rows))}) with {label} = {labels.words}"
    terminal.facts(
        [
            ("list", name if model is None else f"{name} ({model})"),
            ("rows", f"{len(rows):,} in {path}, {lifted}"),
        ]
    )
    terminal.say()
    say_measured(terminal, found, groups is not None)
    if page is not None:
        terminal.say()
        terminal.facts([(str(page), "the report")])
