"""``shortlist compare``: methods on the same splits of a file's rows, with tests."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from shortlist.cli.columns import features, preparation
from shortlist.cli.failure import Usage
from shortlist.cli.fitting import FitOptions, columns_in_words, prepare
from shortlist.cli.methods import SHORT, make_model, needs_scale
from shortlist.cli.reports import write_comparison
from shortlist.cli.terminal import Terminal, decimals
from shortlist.cli.write import check_output

__all__ = ["compare"]

GRID = [0.1, 1.0, 10.0]


def _models(names: Sequence[str], X: Any, budget: Any, seed: int, time_limit: float | None) -> Any:
    from sklearn.pipeline import Pipeline

    from shortlist.selection.candidates import scaled

    if not names or list(names) == ["default"]:
        return "default"
    if len(set(names)) < len(names):
        raise Usage(f"--models names {max(names, key=list(names).count)!r} twice")
    made: dict[str, Any] = {}
    for name in names:
        model = make_model(name, budget, {}, seed, time_limit)
        if needs_scale(name):
            pipeline: Pipeline = scaled(model, X)
            made[SHORT.get(name, name)] = (pipeline, {"rank__C": GRID}) if "C" in model.get_params() else pipeline
        else:
            made[SHORT.get(name, name)] = model
    return made


def compare(
    path: str,
    options: FitOptions,
    names: Sequence[str],
    baseline: str | None,
    folds: int,
    repeats: int,
    keep: str | None,
    report: str | None,
    force: bool,
    terminal: Terminal,
    command: str,
) -> None:
    """The command."""
    from shortlist.comparison import compare as work

    page = check_output(report, force, path)
    data = prepare(path, options, terminal)
    X = features(data.rows, data.plan.names)
    if data.rows.matrix is None:
        # Medians and levels are of all rows; they know nothing of the labels.
        X = preparation(data.plan, len(data.rows)).fit_transform(X)
    models = _models(names, X, data.share, options.seed, options.time_limit)
    with terminal.progress("comparing") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = work(
            models,
            X,
            data.y.astype(np.int64),
            groups=data.groups,
            budget=data.share,
            cv=folds,
            repeats=repeats,
            baseline=None if baseline is None else SHORT.get(baseline, baseline),
            path=keep,
            random_state=options.seed,
            callback=lambda name, done, total, split: progress(done, total, f"{name}, split {split + 1}"),
        )
    if page is not None:
        write_comparison(page, result, data.rows, force, command, data.label, data.labels.positive)
    board = result.leaderboard()
    terminal.json(
        {
            "metric": result.metrics[0],
            "summary": result.summary(),
            "leaderboard": [asdict(one) for one in board],
            "tests": [asdict(one) for one in result.tests()],
            "report": None if page is None else str(page),
            "seconds": round(terminal.seconds, 1),
        }
    )
    told = result.settings
    terminal.facts(
        [
            ("rows", f"{len(data.y):,}, {int(data.y.sum()):,} with {data.label} = {data.labels.words}"),
            ("columns", columns_in_words(data.plan, data.rows)),
            ("measured", f"{result.title()} ({told['budget_in_words']}), on the test rows of {told['splits']} splits"),
        ]
    )
    terminal.say()
    terminal.table(
        ("model", "mean", "95 % interval", "p", "against the best", "seconds", "certificate"),
        [
            (
                one.model,
                decimals(one.mean),
                f"{decimals(max(one.low, 0.0))} to {decimals(min(one.high, 1.0))}",
                "" if one.p is None else "< 0.001" if one.p < 0.001 else decimals(one.p),
                "" if one.verdict == "best" else one.verdict,
                f"{one.seconds:.2f}",
                one.proof,
            )
            for one in board
        ],
        right=(1, 2, 3, 5),
    )
    terminal.say()
    terminal.say(result.summary())
    if page is not None:
        terminal.say()
        terminal.facts([(str(page), "the report")])
