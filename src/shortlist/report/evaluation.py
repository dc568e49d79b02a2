"""evaluation_report: one list, what it is worth at a budget, and the rows at its top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.metrics._input import read
from shortlist.report._figures import Figures, Scored, measure, side_by_side
from shortlist.report._list import Listed, top_rows
from shortlist.report._model import certificate_in_words, settings_of
from shortlist.report._pictures import pictures
from shortlist.report._repeat import repeat, versions
from shortlist.report._table import Cell, Column, facts, table
from shortlist.report._text import clip, escape, fixed, number, percent, plain, plural
from shortlist.report._words import Wording, count, list_findings
from shortlist.report.document import Report, Section, make_report
from shortlist.selection.budget import describe_budget

Array = NDArray[Any]

__all__ = ["check_display", "evaluation_report", "tiles"]


def evaluation_report(
    y_true: Any,
    y_score: Any,
    *,
    budget: int | float = 100,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    name: str = "this list",
    others: Mapping[str, Any] | None = None,
    table: Any = None,
    ids: Any = None,
    model: Any = None,
    held_out: bool = True,
    noun: str = "rows",
    positive: str | None = None,
    title: str | None = None,
    data: str | None = None,
    command: str | None = None,
    settings: Mapping[str, Any] | None = None,
    top: int = 25,
    max_columns: int = 12,
) -> Report:
    """A page on one ranked list: what the rows acted on are worth, against chance and against other lists.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Two labels; the one that sorts last is the positive.
    y_score : array-like of shape (n_rows,)
        Higher is nearer the top.
    budget : int or float, default=100
        How many of these rows are acted on, or which share; with groups, of each.
    groups, sample_weight : array-like of shape (n_rows,), optional
        As in `shortlist.metrics`.
    pos_label : optional
        The positive label, every other one being negative.
    name : str, default='this list'
        What gave the scores.
    others : dict of str to array-like of shape (n_rows,), optional
        Other scores of the same rows, by name: the list in use, a rival.
    table : data frame, dict of columns, array or sparse matrix with n_rows rows, optional
        What the reader is to see of the rows at the top: of pandas, polars or pyarrow, in their own words rather than
        encoded.
    ids : str or array-like of shape (n_rows,), optional
        Column of ``table`` that names a row, or the names; without, the index of a pandas frame, or row numbers.
    model : fitted estimator, optional
        Its settings and its certificate are told.
    held_out : bool, default=True
        Whether the rows are new to the model. If not, the page says that the figures flatter.
    noun : str, default='rows'
        What a row is, in the plural: 'cases', 'compounds'.
    positive : str, optional
        What a positive row is, after "are": 'fraud', 'active'. Without, the label itself where it is text.
    title : str, optional
    data : str, optional
        Where the rows came from.
    command : str, optional
        The command that made the report.
    settings : dict, optional
        Further settings to write down, such as seeds.
    top : int, default=25
        Rows of the list that are shown.
    max_columns : int, default=12
        Columns of ``table`` that are shown.

    Returns
    -------
    Report

    Notes
    -----
    The same arguments give the same page, byte for byte: it holds no date. Everything that comes from the data is
    escaped. The size is bounded by ``top`` and ``max_columns``, whatever the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([1, 0, 1, 0], [8, 2, 2, 88])
    >>> report = evaluation_report(y, np.arange(100)[::-1], budget=10, noun="cases", positive="fraud")
    >>> print(report.summary.split(".")[0])
    Of the first 10 cases, 8 are fraud; picked at random, 1 would be
    """
    check_display(top, max_columns, noun)
    scored = Scored.of(y_true, y_score, budget, groups, sample_weight, pos_label)
    grouped = scored.sample.groups is not None
    if positive is None and isinstance(scored.label, str):
        positive = f"“{plain(scored.label)}”"
    words = Wording(plain(noun), None if positive is None else plain(positive), scored.k, grouped)
    found = measure(plain(name), scored)
    rivals, lists = [], [(plain(name), scored.sample.scores)]
    for rival, scores in (others or {}).items():
        try:
            checked = read(y_true, scores, groups, sample_weight).scores
        except (ValueError, TypeError) as error:
            raise type(error)(f"others[{rival!r}]: {error}") from error
        lists.append((plain(rival), checked))
        rivals.append((measure(plain(rival), scored, checked), side_by_side(scored, checked)))
    summary = list_findings(words, found, rivals, scored.base)
    if not held_out:
        summary.append("The model was fitted to these very rows, so the figures flatter it; new rows decide.")
    labels = np.asarray(y_true)
    flags = np.zeros(len(labels), dtype=bool)
    flags[scored.kept] = scored.positive
    listed = Listed.of(np.asarray(y_score), labels, flags, groups, table, ids)
    drawn = pictures(words, scored, lists)
    sections = [one for one in drawn if one.name == "places"]
    sections.append(_figures_section(words, [found, *(rival for rival, _ in rivals)], scored))
    sections += [one for one in drawn if one.name != "places"]
    sections.append(Section("top", "The top of the list", top_rows(listed, top, max_columns, words.noun)))
    parts = []
    if model is not None:
        sentence, pairs = certificate_in_words(model)
        sections.append(Section("certificate", "Certificate", f"<p>{escape(sentence)}</p>{facts(pairs)}"))
        parts.append(("Model", settings_of(model)))
    about = [
        *([("from", plain(data))] if data else []),
        ("rows", number(len(scored.positive))),
        ("positives", f"{number(scored.positive_mass)} ({percent(scored.positive_mass / scored.mass)})"),
        *([("groups", number(scored.sample.n_groups))] if grouped else []),
        ("budget", describe_budget(budget, len(scored.positive), grouped)),
    ]
    sections.append(repeat(about, parts, settings, command))
    told = {
        "budget": scored.k,
        "rows": len(scored.positive),
        "positives": scored.positive_mass,
        "lists": [asdict(one) for one in (found, *(rival for rival, _ in rivals))],
        "settings": {str(one): clip(plain(value), 400) for one, value in (settings or {}).items()},
        "versions": versions(),
    }
    return make_report(
        plain(title) if title else f"The first {plural(scored.k, words.noun)}",
        "Evaluation",
        summary,
        tiles(
            [
                (count(found.hits), f"{words.positive} in the first {number(scored.k)}"),
                (percent(found.precision), "precision there"),
                (percent(found.recall), "of all found"),
                (f"{number(found.lift, 2)}×", "of what chance finds"),
            ]
        ),
        sections,
        told,
    )


def tiles(pairs: list[tuple[str, str]]) -> str:
    """Large figures side by side."""
    inside = "".join(f"<div><dt>{escape(words)}</dt><dd>{escape(value)}</dd></div>" for value, words in pairs)
    return f'<dl class="tiles">{inside}</dl>'


def check_display(top: Any, max_columns: Any, noun: Any) -> None:
    """Sizes of the table of rows, and a word."""
    for what, value in (("top", top), ("max_columns", max_columns)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"{what} must be a whole number of at least 0, got {value!r}")
    if not (isinstance(noun, str) and noun.strip()):
        raise ValueError(f"noun must be a word in the plural, such as 'cases', got {noun!r}")


def _figures_section(words: Wording, lists: list[Figures], scored: Scored) -> Section:
    columns = [
        Column("list"),
        Column(f"{words.positive} in the first {number(scored.k)}", numeric=True, order="descending"),
        Column("precision", numeric=True),
        Column("95 % interval", numeric=True),
        Column("recall", numeric=True),
        Column("times chance", numeric=True),
        Column("before the first miss", numeric=True),
        Column("average precision", numeric=True),
        Column("AUC", numeric=True),
    ]
    rows = []
    for one in sorted(lists, key=lambda found: -found.precision):
        interval = f"{fixed(one.low)} to {fixed(one.high)}" if one.low == one.low else "–"
        rows.append(
            [
                Cell(one.name),
                Cell(count(one.hits), one.hits),
                Cell(fixed(one.precision), one.precision),
                Cell(interval, one.low),
                Cell(fixed(one.recall), one.recall),
                Cell(number(one.lift, 2), one.lift),
                Cell(number(one.positives_at_top), one.positives_at_top),
                Cell(fixed(one.average_precision), one.average_precision),
                Cell(fixed(one.auc), one.auc),
            ]
        )
    caption = f"At a budget of {plural(scored.k, words.noun)}" + (" of each group" if words.grouped else "")
    return Section("figures-table", "In figures", table(columns, rows, caption))
