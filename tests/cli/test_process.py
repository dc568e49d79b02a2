"""The command line from outside: processes, a terminal, pipes, and an interruption."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

from shortlist.cli import MISSING

COMMAND = [sys.executable, "-m", "shortlist.cli"]


def test_help_asks_for_nothing_heavy() -> None:
    look = (
        "import sys; from shortlist.cli import main; code = main(['fit', '--help']); "
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'polars', 'pyarrow'} & set(sys.modules); "
        "print(sorted(heavy), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Usage: shortlist fit" in done.stdout
    assert done.stderr.strip() == "[]"


def test_without_typer_the_extra_is_named() -> None:
    look = "import sys; sys.modules['typer'] = None; from shortlist.cli import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.strip() == MISSING and "'shortlist[app]'" in MISSING


def test_standard_input_a_pipe_that_closes_and_the_exit_codes(made: Path) -> None:
    model = str(made / "claims.shortlist")
    # Enough rows that the pipe is full before all is written.
    lines = (made / "new.csv").read_bytes().splitlines(keepends=True)
    many = lines[0] + b"".join(lines[1:]) * 60
    process = subprocess.Popen(
        [*COMMAND, "rank", "-", "--model", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(many)
    process.stdin.close()
    first = process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert first.startswith(b"rank,score,claim") and process.wait() == 0 and complaint == b""
    done = subprocess.run([*COMMAND, "rank", "-", "-m", model], input=b"", capture_output=True, check=False)
    assert done.returncode == 1 and done.stderr.decode().strip() == "shortlist: standard input is empty"


def test_an_interruption_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """Interrupted while it fits: 130, one line, and nothing but what was there."""
    from shortlist.cli.example import claims

    (tmp_path / "claims.csv").write_text(claims(20_000), encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "fit", "claims.csv", "--label", "outcome", "--report", "r.html"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert "is taken to belong at the top" in process.stderr.readline()  # the rows are read, the race begins
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, ""), err
    assert err.strip() == "shortlist: interrupted; nothing was left half written"
    assert [path.name for path in tmp_path.iterdir()] == ["claims.csv"]


def test_in_a_terminal_there_is_progress_and_it_is_gone_at_the_end(made: Path) -> None:
    command = [*COMMAND, "rank", str(made / "new.csv"), "-m", str(made / "claims.shortlist"), "--top", "3"]
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ.update(TERM="xterm", COLUMNS="100", LINES="40")
        os.execv(command[0], command)
    seen = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 120)
        assert ready, "nothing came from the terminal"
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    text = seen.decode()
    assert "scoring 300 rows" in text
    assert "\x1b[2K" in text  # lines of the bar are taken away
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("\x1b[2K")[-1]).replace("\r", "")
    lines = [line for line in last.split("\n") if line.strip()]
    assert lines[0].split()[:3] == ["rank", "score", "claim"] and len(lines) == 4
    assert "\x1b[1m" in text  # headings are bold where somebody looks on
