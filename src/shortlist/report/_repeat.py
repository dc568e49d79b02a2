"""What somebody else needs to get the same page: data, settings, versions, command."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shortlist.report._table import facts
from shortlist.report._text import clip, escape, plain
from shortlist.report.document import Section

__all__ = ["repeat", "versions"]

PACKAGES = ("shortlist", "numpy", "scipy", "scikit-learn", "highspy")


def versions() -> dict[str, str]:
    """Of Python and of what does the arithmetic."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def repeat(
    data: Sequence[tuple[str, str]],
    parts: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    settings: Mapping[str, Any] | None,
    command: str | None,
    models: Sequence[tuple[str, str]] = (),
) -> Section:
    """The last section: the command, the data, titled lists of settings, the user's own, versions, models."""
    body = ""
    if command:
        body += f'<h3>Command</h3><pre tabindex="0"><code>{escape(command)}</code></pre>'
    lists = [("Data", data), *parts]
    if settings:
        lists.append(("Settings", [(plain(name), clip(plain(value), 400)) for name, value in settings.items()]))
    lists.append(("Versions", list(versions().items())))
    body += '<div class="columns">'
    body += "".join(f"<div><h3>{escape(title)}</h3>{facts(pairs)}</div>" for title, pairs in lists if pairs)
    body += "</div>"
    if models:
        body += f"<h3>Models</h3>{facts(models, 'facts whole')}"
    return Section("repeat", "Data and settings", body)
