"""The command line: a thin skin over the public names.

    shortlist fit claims.csv --label outcome --budget 100 --report report.html
    shortlist rank new-claims.csv --model claims.shortlist --output ranked.csv

Results go to standard output, everything else to standard error.  It ends with 0, with 1 after an error in data or run,
with 2 after an error in the command, and with 130 when it was interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

MISSING = "shortlist: the command line needs typer and rich: pip install 'shortlist[app]'"
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the number is for ``sys.exit``."""
    try:
        from shortlist.cli.app import run
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("typer", "click", "rich"):
            raise
        print(MISSING, file=sys.stderr)
        return 1
    try:
        code = run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("shortlist: interrupted; nothing was left half written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has had enough. What is still in the buffer goes nowhere, or Python would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
