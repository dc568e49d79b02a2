"""comparison_report: which model puts most of the right rows on top, and is it more than luck?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shortlist.comparison import Comparison, Place
from shortlist.comparison.tables import caption, chance
from shortlist.metrics._input import binary_labels, read
from shortlist.report._charts import forest
from shortlist.report._list import Listed, top_rows
from shortlist.report._model import certificate_in_words, settings_of
from shortlist.report._repeat import repeat, versions
from shortlist.report._table import Cell, Column, facts, table
from shortlist.report._text import clip, escape, fixed, number, percent, plain, plural
from shortlist.report._words import Wording, count
from shortlist.report.document import Report, Section, make_report
from shortlist.report.evaluation import check_display, tiles

__all__ = ["comparison_report"]


def comparison_report(
    comparison: Comparison,
    *,
    y_score: Any = None,
    y_true: Any = None,
    pos_label: Any = None,
    groups: Any = None,
    table: Any = None,
    ids: Any = None,
    model: Any = None,
    name: str | None = None,
    held_out: bool = False,
    noun: str = "rows",
    positive: str | None = None,
    title: str | None = None,
    data: str | None = None,
    command: str | None = None,
    settings: Mapping[str, Any] | None = None,
    top: int = 25,
    max_columns: int = 12,
) -> Report:
    """A page on a comparison: leaderboard, what is proven and what is not, and the list of the model that is chosen.

    Parameters
    ----------
    comparison : Comparison
        Of `shortlist.compare`.
    y_score : array-like of shape (n_rows,), optional
        Scores of the rows whose list is to be shown: by the model chosen, of the rows of the comparison or of new ones.
    y_true : array-like of shape (n_rows,), optional
        Their labels, where they are known.
    pos_label : optional
        The positive one; without, the label that sorts last.
    groups : array-like of shape (n_rows,), optional
        Their groups.
    table, ids, noun, positive, title, data, command, settings, top, max_columns
        As in `evaluation_report`.
    model : fitted estimator, optional
        What gave ``y_score``; its settings and its certificate are told.
    name : str, optional
        Its name; without, that of the leader.
    held_out : bool, default=False
        Whether the rows of ``y_score`` are new to the model. If not, the page says that their order flatters it.

    Returns
    -------
    Report

    See Also
    --------
    evaluation_report : Of one list.

    Examples
    --------
    >>> from shortlist.comparison import Run
    >>> runs = {"A": [Run({"precision_at_budget": p}, 0.1, {}) for p in (0.6, 0.7)],
    ...         "B": [Run({"precision_at_budget": p}, 0.1, {}) for p in (0.5, 0.5)]}
    >>> result = Comparison(runs, ["precision_at_budget"], [], {
    ...     "rows": 1000, "positives": 100, "columns": 5, "groups": None, "positive_label": "1", "budget": 100,
    ...     "budget_in_words": "100 rows of 1,000", "places": [50, 50], "splits": 2, "train": [500, 500],
    ...     "test": [500, 500], "statistical_test": "t", "level": 0.05, "baseline": None, "random_state": 0,
    ...     "models": {"A": "A()", "B": "B()"}})
    >>> print(comparison_report(result, noun="cases", positive="fraud").summary.split(".")[0])
    Of the first 100 cases, about 65 will be fraud with A, against 50 with B
    """
    check_display(top, max_columns, noun)
    told, board = comparison.settings, comparison.leaderboard()
    grouped = told["groups"] is not None
    if positive is None and not _is_number(told["positive_label"]):
        positive = f"“{plain(told['positive_label'])}”"
    words = Wording(plain(noun), None if positive is None else plain(positive), _places(told), grouped)
    summary = _summary(comparison, board, words)
    sections = [_leaderboard(comparison, board), _tests(comparison)]
    if y_score is not None:
        listed = _listed(y_score, y_true, pos_label, groups, table, ids)
        sections.append(_list_section(name or board[0].model, listed, held_out, top, max_columns, words))
    sections.append(_certificates(comparison, model))
    about = [
        *([("from", plain(data))] if data else []),
        ("rows", number(told["rows"])),
        ("positives", f"{number(told['positives'])} ({percent(told['positives'] / told['rows'])})"),
        ("columns", number(told["columns"])),
        *([("groups", number(told["groups"]))] if grouped else []),
        ("positive label", plain(told["positive_label"])),
        ("budget", plain(told["budget_in_words"])),
        ("splits", number(told["splits"])),
        ("seed", str(told["random_state"])),
    ]
    models = [(plain(one), _spelled(plain(one), plain(spelled))) for one, spelled in told["models"].items()]
    parts = [] if model is None else [("Model of the list", settings_of(model))]
    sections.append(repeat(about, parts, settings, command, models))
    figures = {
        "leaderboard": [asdict(place) for place in board],
        "tests": [asdict(test) for test in comparison.tests()],
        "comparison": {key: value for key, value in told.items() if key not in ("train", "test", "places")},
        "settings": {str(one): clip(plain(value), 400) for one, value in (settings or {}).items()},
        "versions": versions(),
    }
    return make_report(
        plain(title) if title else f"Who ranks {words.noun} best?",
        "Comparison",
        summary,
        tiles(_tiles(comparison, board, words)),
        sections,
        figures,
    )


def _spelled(name: str, text: str) -> str:
    """A model as `compare` wrote it down, without its name before it and an empty grid behind."""
    return clip(text.removeprefix(f"{name}: ").removesuffix(" over None"), 900)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("True", "False")
    return True


def _places(told: Mapping[str, Any]) -> int:
    """Rows acted on, of as many as the comparison had."""
    share = float(told["budget"])
    whole = told["rows"] / (told["groups"] or 1)
    return max(int(min(round(share * whole) if share < 1 else share, whole)), 1)


def _summary(comparison: Comparison, board: list[Place], words: Wording) -> list[str]:
    best, metric = board[0], comparison.metrics[0]
    rest = comparison.summary()
    if metric != "precision_at_budget":
        return [f"{best.model} is best in {comparison.title()}: {number(best.mean)} on average.", rest]
    baseline = comparison.settings["baseline"]
    rival = next((place for place in board[1:] if place.model == baseline), board[1] if len(board) > 1 else None)
    opening = f"{words.first}, about {count(best.mean * words.k)} will be {words.positive} with {best.model}"
    if rival is not None:
        opening += f", against {count(rival.mean * words.k)} with {rival.model}"
    base = comparison.settings["positives"] / comparison.settings["rows"]
    return [f"{opening}.", f"Picked at random, {count(base * words.k)} would be.", rest]


def _tiles(comparison: Comparison, board: list[Place], words: Wording) -> list[tuple[str, str]]:
    best, told = board[0], comparison.settings
    pairs = [(number(best.mean), f"{comparison.title()}, {best.model}")]
    if comparison.metrics[0] == "precision_at_budget":
        base = told["positives"] / told["rows"]
        pairs.insert(0, (count(best.mean * words.k), f"{words.positive} in the first {number(words.k)}"))
        if base > 0:
            pairs.append((f"{number(best.mean / base, 2)}×", "of what chance finds"))
    pairs.append((number(len(board)), f"models on {plural(told['splits'], 'splits')}"))
    return pairs


def _leaderboard(comparison: Comparison, board: list[Place]) -> Section:
    losses = comparison.metrics[0] in comparison.losses
    columns = [
        Column("place", numeric=True, order="ascending"),
        Column("model"),
        Column("mean", numeric=True),
        Column("± sd", numeric=True),
        Column("95 % interval", numeric=True),
        Column("p", numeric=True, hint="against the leader, corrected for all pairs compared"),
        Column("verdict"),
        *(Column(comparison.title(metric), numeric=True) for metric in comparison.metrics[1:]),
        Column("seconds", numeric=True),
    ]
    means = [{place.model: place.mean for place in comparison.leaderboard(one)} for one in comparison.metrics[1:]]
    rows = [
        [
            Cell(str(number_), number_),
            Cell(place.model),
            Cell(fixed(place.mean), place.mean),
            Cell(fixed(place.deviation), place.deviation),
            Cell(f"{fixed(place.low)} to {fixed(place.high)}", place.low),
            Cell(chance(place.p), place.p),
            Cell(place.verdict, look="verdict"),
            *(Cell(_short(mean, place.model), mean[place.model]) for mean in means),
            Cell(number(place.seconds, 2), place.seconds),
        ]
        for number_, place in enumerate(board, 1)
    ]
    lead = "Less is better." if losses else ""
    words = caption(comparison, comparison.metrics[0])
    picture = forest(board, comparison.scores(), comparison.title())
    return Section("leaderboard", "Leaderboard", picture + table(columns, rows, words, row_heading=1), lead)


def _short(means: dict[str, float], model: str) -> str:
    """A mean with as many places as its column can use."""
    return fixed(means[model], 3 if max(map(abs, means.values())) <= 1 else 1)


def _tests(comparison: Comparison) -> Section:
    columns = [
        Column("better"),
        Column("than"),
        Column("by", numeric=True),
        Column("95 % interval", numeric=True),
        Column("p", numeric=True, order="ascending"),
        Column("corrected p", numeric=True),
        Column("verdict"),
    ]
    tests = sorted(comparison.tests(), key=lambda test: test.p)
    rows = [
        [
            Cell(test.first),
            Cell(test.second),
            Cell(fixed(test.difference), test.difference),
            Cell(f"{fixed(test.low)} to {fixed(test.high)}", test.low),
            Cell(chance(test.p), test.p),
            Cell(chance(test.p_corrected), test.p_corrected),
            Cell("more than luck" if test.significant else "could be luck"),
        ]
        for test in tests
    ]
    if not rows:
        return Section("tests", "Is it more than luck?", "<p>There is one model, and nothing to compare it with.</p>")
    return Section("tests", "Is it more than luck?", table(columns, rows, "Pairs of models on the same splits"))


def _listed(y_score: Any, y_true: Any, pos_label: Any, groups: Any, rows: Any, ids: Any) -> Listed:
    labels = flags = None
    if y_true is not None:
        labels, flags = np.asarray(y_true), binary_labels(read(y_true, y_score, groups).y, pos_label).positive
    return Listed.of(np.asarray(y_score), labels, flags, groups, rows, ids)


def _list_section(name: str, listed: Listed, held_out: bool, top: int, max_columns: int, words: Wording) -> Section:
    lead = f"The list of {plain(name)}."
    if listed.labels is not None and not held_out:
        lead += " The model was fitted to these very rows, so their order flatters it."
    return Section("top", "The top of the list", top_rows(listed, top, max_columns, words.noun), lead)


def _certificates(comparison: Comparison, model: Any) -> Section:
    body = ""
    if model is not None:
        sentence, pairs = certificate_in_words(model)
        body = f"<p>{escape(sentence)}</p>{facts(pairs)}"
    columns = [Column("model"), Column("proof of the fits")]
    rows = [[Cell(place.model), Cell(place.proof)] for place in comparison.leaderboard()]
    return Section("certificate", "Certificates", body + table(columns, rows, "What is proven of each model's fits"))
