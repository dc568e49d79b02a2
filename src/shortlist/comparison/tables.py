"""A comparison as words, Markdown and HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.comparison.result import Comparison, Place

__all__ = ["COLUMNS", "cells", "html", "listed", "markdown", "summary"]

COLUMNS = ("model", "mean", "± sd", "95 % interval", "p against the best", "verdict", "seconds", "certificate")


def listed(names: list[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def chance(p: float | None) -> str:
    """
    >>> chance(None), chance(0.00012), chance(0.25), chance(1.0)
    ('', '< 0.001', '0.250', '1.000')
    """
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def cells(place: Place) -> list[str]:
    """A row of the leaderboard as it is printed."""
    return [
        place.model,
        f"{place.mean:.4g}",
        f"{place.deviation:.2g}",
        f"{place.low:.3g} to {place.high:.3g}",
        chance(place.p),
        place.verdict,
        f"{place.seconds:.2f}",
        place.proof,
    ]


def caption(comparison: Comparison, metric: str) -> str:
    settings = comparison.settings
    test = "Wilcoxon's signed ranks" if settings["statistical_test"] == "wilcoxon" else "the corrected paired t-test"
    places = sorted(set(settings["places"]))
    span = f"{places[0]}" if len(places) == 1 else f"{places[0]} to {places[-1]}"
    words = comparison.title(metric)
    return (
        f"{words[:1].upper()}{words[1:]} on the test rows of {settings['splits']} splits; budget "
        f"{settings['budget_in_words']}, k = {span} there. p by {test}, corrected by Holm for all pairs compared."
    )


def summary(comparison: Comparison, metric: str) -> str:
    board = comparison.leaderboard(metric)
    best, words = board[0], comparison.title(metric)
    opening = f"{best.model} has the best mean {words}, {best.mean:.3g} ({best.low:.3g} to {best.high:.3g} at 95 %)."
    if len(board) == 1:
        return opening
    winner = comparison.winner(metric)
    if winner is not None:
        return f"{opening} It is better than every other model by more than chance explains."
    baseline = comparison.settings["baseline"]
    if baseline is not None:
        beaten = [test for test in comparison.improvements(metric) if test.second == baseline]
        lost = [test for test in comparison.improvements(metric) if test.first == baseline]
        parts = [opening]
        if beaten:
            parts.append(f"Better than {baseline} by more than chance explains: {listed([t.first for t in beaten])}.")
        if lost:
            parts.append(f"Worse than {baseline}: {listed([t.second for t in lost])}.")
        if not beaten:
            parts.append(f"No model is better than {baseline} by more than chance explains.")
        return " ".join(parts)
    level = [place.model for place in board[1:] if place.verdict != "worse"]
    worse = [place.model for place in board[1:] if place.verdict == "worse"]
    closing = f"The splits do not tell it from {listed(level)}."
    if worse:
        closing += f" It is better than {listed(worse)} by more than chance explains."
    return f"{opening} {closing}"


def markdown(comparison: Comparison, metric: str) -> str:
    rows = [list(COLUMNS), *(cells(place) for place in comparison.leaderboard(metric))]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([caption(comparison, metric), "", lines[0], rule, *lines[1:], "", summary(comparison, metric)])


def html(comparison: Comparison, metric: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(place)) + "</tr>"
        for place in comparison.leaderboard(metric)
    )
    return (
        f"<table><caption>{escape(caption(comparison, metric))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(summary(comparison, metric))}</p>"
    )
