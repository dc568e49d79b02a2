"""``shortlist demo``: made-up claims, and the two commands that make a list and a report of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from shortlist.cli.example import claims
from shortlist.cli.failure import Failure
from shortlist.cli.terminal import Terminal

__all__ = ["demo"]


def demo(folder: str, n_rows: int, force: bool, terminal: Terminal, run: Callable[[list[str]], int]) -> int:
    """The command."""
    place = Path(folder)
    names = ("claims.csv", "new-claims.csv", "claims.shortlist", "report.html", "ranked.csv")
    there = [name for name in names if (place / name).exists()]
    if there and not force:
        raise Failure(f"{place / there[0]} exists; --force replaces what an earlier demo left, --folder names another")
    place.mkdir(parents=True, exist_ok=True)
    labelled, new, model, report, ranked = (str(place / name) for name in names)
    Path(labelled).write_text(claims(n_rows), encoding="utf-8")
    Path(new).write_text(claims(max(n_rows // 5, 1), 1, labelled=False, first=n_rows + 1), encoding="utf-8")
    terminal.say(f"Made-up insurance claims: {labelled} has {n_rows:,} rows and says which were fraud, {new} has")
    terminal.say(f"{max(n_rows // 5, 1):,} rows and does not. Two commands make a list of the new ones, and a report:")
    commands = [
        ["fit", labelled, "--label", "outcome", "--positive", "fraud", "--output", model, "--report", report],
        ["rank", new, "--model", model, "--output", ranked],
    ]
    more = [
        ["explain", new, "--model", model, "--row", "1"],
        ["info", model],
        ["compare", labelled, "--label", "outcome", "--models", "auto,logistic,boosting"],
    ]
    for command in commands:
        terminal.say()
        terminal.heading(f"$ {shlex.join(['shortlist', *command])}")
        flags = [*(["--force"] if force else []), *(["--quiet"] if terminal.quiet else [])]
        code = run([*command, *flags])
        if code:
            return code
    terminal.say()
    terminal.say(f"Open {report} in a browser. To go on:")
    for command in more:
        terminal.say(f"  {shlex.join(['shortlist', *command])}")
    return 0
