"""The commands and their options; what they do is in a file of its own each, imported when the command is run.

Nothing here imports NumPy or scikit-learn, so that ``--help`` answers at once.
"""

import shlex
import sys
from typing import Any

import typer

from shortlist.cli import options as o
from shortlist.cli.failure import Failure, Usage
from shortlist.cli.terminal import Terminal

__all__ = ["app", "run"]

app = typer.Typer(
    name="shortlist",
    help="Rank rows when only the top of the list will be acted on.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


# Typer's errors in a command: its own copy of Click's class, or Click's, by its version.
MISTAKE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


_given: list[str] = []


def run(arguments: list[str]) -> int:
    """One command; errors are told on standard error."""
    _given[:] = arguments
    command = typer.main.get_command(app)
    try:
        # Not command.main, which has ways of its own with interruptions and closed pipes.
        with command.make_context("shortlist", list(arguments) or ["--help"]) as context:
            command.invoke(context)
        return 0
    except typer.Exit as ending:
        return int(ending.exit_code) if arguments else 2
    except typer.Abort:
        raise KeyboardInterrupt from None
    except MISTAKE as error:
        _complain(error.format_message())
        return 2
    except Usage as error:
        _complain(str(error))
        return 2
    except Failure as error:
        _complain(str(error))
        return 1
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        _complain(str(error) or type(error).__name__)
        return 1


def _complain(text: str) -> None:
    print(f"shortlist: {text}", file=sys.stderr)


def _command() -> str:
    """The command as it could be typed again."""
    return shlex.join(["shortlist", *_given])


def _reading(form: str | None, separator: str | None, decimal: str | None, encoding: str | None) -> dict[str, Any]:
    from shortlist.cli.sniff import KINDS

    if form is not None and form not in KINDS:
        raise Usage(f"--format is one of {', '.join(KINDS)}, got {form!r}")
    separator = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    for name, sign in (("--separator", separator), ("--decimal", decimal)):
        if sign is not None and len(sign) != 1:
            raise Usage(f"{name} is one sign, got {sign!r}")
    return {"form": form, "separator": separator, "decimal": decimal, "encoding": encoding}


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"shortlist {version('shortlist')}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", help="Say the version.", is_eager=True, callback=_say_version),
) -> None:
    """Rank rows when only the top of the list will be acted on.

    From labelled rows to a list: shortlist fit past.csv --label outcome, then shortlist rank new.csv -m past.shortlist
    -o ranked.csv. See it all at work: shortlist demo.
    """


@app.command()
def fit(
    file: o.File,
    label: o.Label = None,
    positive: o.Positive = None,
    budget: o.Budget = "100",
    of: o.Of = None,
    method: o.Method = "auto",
    settings: o.Settings = None,
    identity: o.Identity = None,
    group: o.Group = None,
    drop: o.Drop = None,
    only: o.Only = None,
    holdout: o.Holdout = 0.2,
    max_rows: o.MaxRows = 100_000,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    output: o.ModelOutput = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Learn from labelled rows: writes a model, and says what it is worth on rows kept aside."""
    from shortlist.cli.fitting import FitOptions
    from shortlist.cli.fitting import fit as work

    told = FitOptions(
        label, positive or (), identity, group, drop or (), only or (), budget, of, method, settings or (), holdout,
        max_rows, time_limit, seed, _reading(form, separator, decimal, encoding),
    )  # fmt: skip
    work(file, told, output, report, force, Terminal(as_json, quiet), _command())


@app.command()
def rank(
    file: o.File,
    model: o.Model,
    output: o.Output = None,
    top: o.Top = None,
    columns: o.Columns = None,
    identity: o.Identity = None,
    group: o.Group = None,
    score_name: o.ScoreName = "score",
    rank_name: o.RankName = "rank",
    force: o.Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Put rows in a model's order, best first, with all their columns: into a file, or on standard output."""
    from shortlist.cli.ranking import rank as work

    reading = _reading(form, separator, decimal, encoding)
    terminal = Terminal(as_json, quiet)
    work(
        file, model, output, top, columns or (), identity, group, score_name, rank_name, force, reading, terminal
    )  # fmt: skip


@app.command()
def evaluate(
    file: o.File,
    model: o.MaybeModel = None,
    score: o.Score = None,
    label: o.Label = None,
    positive: o.Positive = None,
    budget: o.MaybeBudget = None,
    group: o.Group = None,
    identity: o.Identity = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Say what a list is worth whose labels are known: a model's, or that of a column of scores."""
    from shortlist.cli.evaluating import evaluate as work

    reading = _reading(form, separator, decimal, encoding)
    work(
        file, model, score, label, positive or (), budget, group, identity, report, force, reading,
        Terminal(as_json, quiet), _command(),
    )  # fmt: skip


@app.command()
def compare(
    file: o.File,
    label: o.Label = None,
    positive: o.Positive = None,
    budget: o.Budget = "100",
    models: o.Models = "default",
    baseline: o.Baseline = None,
    folds: o.Folds = 5,
    repeats: o.Repeats = 2,
    keep: o.Keep = None,
    of: o.Of = None,
    identity: o.Identity = None,
    group: o.Group = None,
    drop: o.Drop = None,
    only: o.Only = None,
    max_rows: o.FewerRows = 10_000,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Compare methods by repeated cross-validation: which is best at the top, and by more than luck?"""
    from shortlist.cli.comparing import compare as work
    from shortlist.cli.fitting import FitOptions

    told = FitOptions(
        label, positive or (), identity, group, drop or (), only or (), budget, of, "", (), 0.0, max_rows, time_limit,
        seed, _reading(form, separator, decimal, encoding),
    )  # fmt: skip
    names = [name.strip() for name in models.split(",") if name.strip()]
    work(file, told, names, baseline, folds, repeats, keep, report, force, Terminal(as_json, quiet), _command())


@app.command()
def rerank(
    file: o.File,
    model: o.MaybeModel = None,
    score: o.Score = None,
    top: o.RerankTop = 100,
    label: o.Label = None,
    positive: o.Positive = None,
    budget: o.Budget = "100",
    of: o.Of = None,
    identity: o.Identity = None,
    group: o.Group = None,
    drop: o.Drop = None,
    only: o.Only = None,
    holdout: o.Holdout = 0.2,
    max_rows: o.MaxRows = 100_000,
    time_limit: o.TimeLimit = None,
    seed: o.Seed = 0,
    output: o.ModelOutput = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Order the top of a list again by an exact search: of a model's list, or of a column of scores.

    Rows that a model has learned by heart teach nothing about its top: give rows that it has not seen.
    """
    from shortlist.cli.fitting import FitOptions
    from shortlist.cli.reranking import rerank as work

    told = FitOptions(
        label, positive or (), identity, group, drop or (), only or (), budget, of, "", (), holdout, max_rows,
        time_limit, seed, _reading(form, separator, decimal, encoding),
    )  # fmt: skip
    work(file, told, model, score, top, output, force, Terminal(as_json, quiet))


@app.command()
def explain(
    file: o.File,
    model: o.Model,
    row: o.Row,
    above: o.Above = None,
    identity: o.Identity = None,
    group: o.Group = None,
    seed: o.Seed = 0,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    form: o.Form = None,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
) -> None:
    """Say why one row stands above another: what each column adds to the difference of their scores."""
    from shortlist.cli.explaining import explain as work

    reading = _reading(form, separator, decimal, encoding)
    work(file, model, row, above, identity, group, reading, seed, Terminal(as_json, quiet))


@app.command()
def info(file: o.ModelFile, as_json: o.AsJson = False, quiet: o.Quiet = False) -> None:
    """Say what a model's file holds: method, certificate, columns, versions. Nothing in it is run."""
    from shortlist.cli.describing import info as work

    work(file, Terminal(as_json, quiet))


@app.command()
def demo(
    folder: o.Folder = "shortlist-demo", rows: o.DemoRows = 5000, force: o.Force = False, quiet: o.Quiet = False
) -> None:
    """See it at work: makes a small CSV file, then fits, ranks and reports, and prints the commands."""
    from shortlist.cli.demo import demo as work

    if work(folder, rows, force, Terminal(False, quiet), run):
        raise typer.Exit(1)
