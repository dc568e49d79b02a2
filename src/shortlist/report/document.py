"""A report as one file: sections in a page that asks nothing of the network, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shortlist.report._text import as_json, escape

__all__ = ["Report", "Section", "make_report", "write_report"]


@dataclass(frozen=True)
class Report:
    """What `evaluation_report` and `comparison_report` return, and `write_report` writes.

    Attributes
    ----------
    title : str
    summary : str
        The findings in a few sentences, as they open the page.
    html : str
        The whole page.
    figures : dict
        The numbers of the page, which it also holds as JSON in the element ``#figures``.
    """

    title: str
    summary: str
    html: str = field(repr=False)
    figures: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True)
class Section:
    """A part of the page: markup that is escaped already, under a heading."""

    name: str
    heading: str
    body: str
    lead: str = ""


def make_report(
    title: str, kicker: str, summary: Sequence[str], tiles: str, sections: Sequence[Section], figures: dict[str, Any]
) -> Report:
    """The page; the first sentence of the summary is its headline."""
    style, script = _asset("style.css"), _asset("sort.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Even where markup slipped through, a browser would run no script but this one, and load nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    menu = "".join(f'<li><a href="#{one.name}">{escape(one.heading)}</a></li>' for one in sections)
    body = "\n".join(_section(one) for one in sections)
    rest = "".join(f"<p>{escape(sentence)}</p>" for sentence in summary[1:])
    html = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Shortlist">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">To the findings</a>
<header>
<p class="kicker">{escape(kicker)}</p>
<h1>{escape(title)}</h1>
</header>
<main id="main">
<section id="summary" aria-label="Summary">
<p class="headline">{escape(summary[0])}</p>
<div class="rest">{rest}</div>
{tiles}
</section>
<nav aria-label="Sections"><ul>{menu}</ul></nav>
{body}
</main>
<footer><p>Made with Shortlist. This page is one file and loads nothing from elsewhere.</p></footer>
<p id="said" class="unseen" role="status" aria-live="polite"></p>
<script type="application/json" id="figures">{as_json(figures)}</script>
<script>{script}</script>
</body>
</html>
"""
    return Report(title, " ".join(summary), html, figures)


def _section(one: Section) -> str:
    lead = f'<p class="lead">{escape(one.lead)}</p>' if one.lead else ""
    return (
        f'<section id="{one.name}" aria-labelledby="{one.name}-heading">\n'
        f'<h2 id="{one.name}-heading">{escape(one.heading)}</h2>\n{lead}{one.body}\n</section>'
    )


@cache
def _asset(name: str) -> str:
    return files("shortlist.report").joinpath(name).read_text(encoding="utf-8")


def write_report(path: str | os.PathLike[str], report: Report, *, overwrite: bool = False) -> Path:
    """Write a report to a file, whole or not at all.

    Parameters
    ----------
    path : path
        Where to; its folder must exist.
    report : Report
    overwrite : bool, default=False
        Whether a file that is there may be replaced; if not, a FileExistsError says so and nothing is written.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    if not isinstance(report, Report):
        raise TypeError(f"write_report takes a Report, got {type(report).__name__}; evaluation_report makes one")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True, or give another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")
    # Written beside its place and moved there, so that an interruption leaves what was there before.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:
            file.write(report.html)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return path
