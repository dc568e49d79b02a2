"""What is said, and where: results on standard output, everything else on standard error, both quiet and aligned."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["Progress", "Terminal", "big", "clipped", "decimals", "share"]

WIDEST = 44


def decimals(value: Any, digits: int = 3) -> str:
    """A figure, rounded.

    >>> decimals(0.12345), decimals(None), decimals(12.0), decimals(1234567.0)
    ('0.123', '–', '12', '1,234,567')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"


def share(value: float) -> str:
    """
    >>> share(0.02), share(0.00213), share(0.5)
    ('2 %', '0.21 %', '50 %')
    """
    return f"{100 * value:.2g} %" if value < 0.995 else "100 %"


def big(n_bytes: float) -> str:
    """
    >>> big(512), big(2_500_000)
    ('512 bytes', '2.5 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


class Progress:
    """A line on standard error that says how far it is, where somebody looks on."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task = bar, task

    def __call__(self, done: float, total: float | None = None, words: str | None = None) -> None:
        if self._bar is not None:
            described = {} if words is None else {"description": words}
            self._bar.update(self._task, completed=done, total=total, **described)


class Terminal:
    """The two streams of one command.

    Parameters
    ----------
    as_json : bool
        Whether the result is one JSON object instead of text.
    quiet : bool
        Whether notes and progress are left out.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            print(f"{self._styled('note:', '33', sys.stderr)} {text}", file=sys.stderr)

    @contextmanager
    def progress(self, words: str) -> Iterator[Progress]:
        """A bar that is gone when all is done."""
        if self.quiet or not sys.stderr.isatty():
            yield Progress()
            return
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
        )
        with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            yield Progress(bar, bar.add_task(words, total=None))

    def say(self, text: str = "") -> None:
        """A line of the result."""
        if not self.as_json:
            print(text)

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names and what they are, in two columns."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, text in pairs:
            first, *more = text.split("\n")
            self.say(f"{self._styled(name.ljust(width), '2', sys.stdout)}  {first}")
            for line in more:
                self.say(f"{'':{width}}  {line}")

    def table(self, heading: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
        """Columns under headings; those numbered in ``right`` end alike."""
        cells = [[clipped(cell) for cell in row] for row in rows]
        widths = [max([cell_width(name), *(cell_width(row[i]) for row in cells)]) for i, name in enumerate(heading)]

        def line(row: Sequence[str]) -> str:
            padded = [
                " " * (width - cell_width(cell)) + cell if i in right else cell + " " * (width - cell_width(cell))
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(padded).rstrip()

        self.say(self._styled(line(list(heading)), "1", sys.stdout))
        for row in cells:
            self.say(line(row))

    def heading(self, text: str) -> None:
        self.say(self._styled(text, "1", sys.stdout))

    def json(self, result: Any) -> None:
        """The result as one JSON object, where that was asked for."""
        if self.as_json:
            print(json.dumps(plain(result), indent=1, ensure_ascii=False, allow_nan=False))

    @staticmethod
    def _styled(text: str, style: str, stream: Any) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if stream.isatty() else text


def cell_width(text: str) -> int:
    """Columns that a text takes in a terminal.

    >>> cell_width("ab"), cell_width("\N{CJK UNIFIED IDEOGRAPH-4E2D}")
    (2, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return int(cell_len(text))


def clipped(cell: Any, most: int = WIDEST) -> str:
    """A cell in one line: no control characters, and not too long."""
    text = "" if cell is None else "".join(c if c.isprintable() else " " for c in str(cell))
    return text if len(text) <= most else text[: most - 1] + "…"


def plain(value: Any) -> Any:
    """What JSON can hold."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)
