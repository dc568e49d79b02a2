"""``shortlist fit``: from labelled rows to a model's file, with what it is worth on rows kept aside."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.cli.budget import parse_budget, share_of
from shortlist.cli.columns import Plan, features, plan_columns, preparation
from shortlist.cli.failure import Failure
from shortlist.cli.labels import Labels, labels_of
from shortlist.cli.measured import measure, say_measured, shortened
from shortlist.cli.methods import certificates, make_model, needs_scale, parse_settings, title_of
from shortlist.cli.model import Described, say_warnings, scores_of_rows
from shortlist.cli.read import read_rows
from shortlist.cli.reports import write_evaluation
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Progress, Terminal, big, clipped, share
from shortlist.cli.write import check_output

Array = NDArray[Any]

__all__ = ["FitOptions", "Prepared", "about", "default_output", "fit", "parts_of", "prepare", "save_model"]

# With fewer positives kept aside than this the figures say nothing.
FEWEST_ASIDE = 5


@dataclass
class FitOptions:
    """Everything that a command which learns may be told; see ``shortlist fit --help``."""

    label: str | None = None
    positive: Sequence[str] = ()
    identity: str | None = None
    group: str | None = None
    drop: Sequence[str] = ()
    only: Sequence[str] = ()
    budget: str = "100"
    of: int | None = None
    method: str = "auto"
    settings: Sequence[str] = ()
    holdout: float = 0.2
    max_rows: int = 100_000
    time_limit: float | None = None
    seed: int = 0
    reading: dict[str, Any] = field(default_factory=dict)


@dataclass
class Prepared:
    """Rows with labels, ready to be learned from.

    Attributes
    ----------
    rows : Rows
        Those with a label, no more than were asked for.
    labels : Labels
    y : (n_rows,) array
    groups : (n_rows,) array of str or None
    plan : Plan
    share : int or float
        The budget: a share of the list, or a count of each group.
    n_read : int
    """

    rows: Rows
    labels: Labels
    y: Array
    groups: Any
    plan: Plan
    label: str
    group: str | None
    share: Any
    n_read: int

    def places(self, rows: Array) -> int:
        """Places to act on among some of the rows."""
        from shortlist.selection.budget import places

        n_groups = None if self.groups is None else len(set(self.groups[rows].tolist()))
        if self.share >= 1:
            return places(self.share, len(self.y), len(rows), n_groups)
        return places(self.share, len(rows), len(rows), n_groups)


def prepare(path: str, options: FitOptions, terminal: Terminal) -> Prepared:
    """Read the rows, settle label and columns, draw a sample if they are too many."""
    budget = parse_budget(options.budget)
    with terminal.progress(f"reading {path}") as progress:
        rows = read_rows(path, told=lambda n: progress(0, None, f"reading {path}: {n:,} rows"), **options.reading)
    sparse = rows.matrix is not None
    label = options.label or ("label" if sparse else None)
    if label is None:
        raise Failure(f"--label says which column holds the labels; {rows.name} has {', '.join(rows.names)}")
    group = options.group or ("query" if sparse and "query" in rows.kinds else None)
    labels = labels_of(rows, label, options.positive)
    if labels.note:
        terminal.note(labels.note)
    taken = [label, *([group] if group else [])]
    known = labels.known
    if len(known) < len(rows):
        terminal.note(f"{len(rows) - len(known):,} rows without a label are left out")
    groups = None
    if group is not None:
        groups = rows.words(group)
        present = np.array([one is not None for one in groups[known]], dtype=bool)
        if not present.all():
            terminal.note(f"{int((~present).sum()):,} rows without a value of {group!r} are left out")
            known = known[present]
    wanted = share_of(budget, len(known), options.of, group is not None)
    chosen = _sample(known, labels.y, groups, options.max_rows, options.seed)
    if len(chosen) < len(known):
        terminal.note(
            f"{len(chosen):,} of {len(known):,} rows are learned from, drawn evenly from both labels; --max-rows "
            "changes that"
        )
    n_read = len(rows)
    if len(chosen) < n_read:
        rows = rows.take(chosen)
    own = None if groups is None else groups[chosen]
    plan = plan_columns(rows, taken, identity=options.identity, drop=options.drop, only=options.only)
    return Prepared(rows, labels, labels.y[chosen], own, plan, label, group, wanted, n_read)


def _sample(known: Array, y: Array, groups: Any, most: int, seed: int) -> Array:
    """At most so many rows, of both labels alike; whole groups."""
    if len(known) <= most:
        return known
    rng = np.random.default_rng(seed)
    if groups is not None:
        _, codes = np.unique(groups[known].astype(str), return_inverse=True)
        order = rng.permutation(int(codes.max()) + 1)
        sizes = np.bincount(codes)[order]
        kept = order[: max(int(np.searchsorted(np.cumsum(sizes), most, side="right")), 1)]
        return known[np.isin(codes, kept)]
    parts = [rng.permutation(known[y[known] == one]) for one in (0, 1)]
    wanted = [max(round(most * len(part) / len(known)), 1) for part in parts]
    return np.sort(np.concatenate([part[:n] for part, n in zip(parts, wanted, strict=True)]))


def aside(y: Array, groups: Any, part: float, seed: int) -> tuple[Array, Array]:
    """Rows to learn from and rows to measure on; whole groups, or both labels alike."""
    rng = np.random.default_rng(seed + 1)
    if groups is not None:
        _, codes = np.unique(groups.astype(str), return_inverse=True)
        order = rng.permutation(int(codes.max()) + 1)
        held = np.isin(codes, order[: max(round(part * len(order)), 1)])
    else:
        held = np.zeros(len(y), dtype=bool)
        for one in (0, 1):
            own = rng.permutation(np.flatnonzero(y == one))
            held[own[: round(part * len(own))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def train(data: Prepared, rows: Array, options: FitOptions, terminal: Terminal, budget: Any) -> Any:
    """A fitted pipeline: preparation of the columns, scale, ranker."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    ranker = make_model(options.method, budget, parse_settings(options.settings), options.seed, options.time_limit)
    part = data.rows if len(rows) == len(data.rows) else data.rows.take(rows)
    X = features(part, data.plan.names)
    steps: list[tuple[str, Any]] = []
    sparse = part.matrix is not None
    if not sparse:
        prepared = preparation(data.plan, len(rows))
        steps.append(("prepare", prepared))
        sparse = prepared.sparse_threshold > 0
    if needs_scale(options.method):
        steps.append(("scale", MaxAbsScaler() if sparse else StandardScaler(copy=False)))
    steps.append(("rank", ranker))
    model = Pipeline(steps)
    extra = {}
    if data.groups is not None:
        if options.method in ("logistic", "boosting", "forest"):
            terminal.note(f"{options.method} knows no groups and learns from all rows together")
        else:
            extra["rank__groups"] = data.groups[rows]
    words = "comparing models" if options.method == "auto" else f"fitting {options.method}"
    with terminal.progress(words) as progress, told(progress), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, data.y[rows].astype(np.int64), **extra)
    say_warnings(terminal, caught)
    return model


@contextmanager
def told(progress: Progress) -> Iterator[None]:
    """What AutoRanker logs of its folds, as progress."""
    logger = logging.getLogger("shortlist.selection.race")

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            values = record.args if isinstance(record.args, tuple) else ()
            if len(values) == 3 and all(isinstance(one, int) for one in values):
                done, total, alive = values
                progress(float(str(done)), float(str(total)), f"comparing {alive} models: fold {done} of {total}")

    handler, level, passed_on = Handler(), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passed_on


def fit(
    path: str,
    options: FitOptions,
    output: str | None,
    report: str | None,
    force: bool,
    terminal: Terminal,
    command: str,
) -> None:
    """The command."""
    place = check_output(output or default_output(path), force, path)
    page = check_output(report, force, path)
    assert place is not None
    data = prepare(path, options, terminal)
    rows, held = parts_of(data, options, terminal)
    model = train(data, rows, options, terminal, data.share)
    described = Described(model, {"kinds": data.plan.kinds, "n_sparse": _n_sparse(data.rows)}, str(place))
    found = None
    shown = held if len(held) else rows
    if len(held) or page is not None:
        with terminal.progress("measuring") as progress:
            scores = scores_of_rows(described, data.rows.take(shown), progress)
        own = None if data.groups is None else data.groups[shown]
        if len(held):
            found = measure(data.y[shown], scores, data.places(shown), own)
    described.about = about(path, data, len(rows), found)
    save_model(described, place, force)
    if page is not None:
        write_evaluation(
            page,
            described,
            data.rows.take(shown),
            data.y[shown],
            scores,
            data.places(shown),
            force,
            command,
            groups=own,
            label=data.label,
            positive=data.labels.positive,
            held_out=len(held) > 0,
        )
    _say(terminal, path, data, described, len(rows), len(held), found, page)


def parts_of(data: Prepared, options: FitOptions, terminal: Terminal) -> tuple[Array, Array]:
    everything = np.arange(len(data.y)), np.zeros(0, dtype=np.intp)
    if options.holdout == 0:
        return everything
    rows, held = aside(data.y, data.groups, options.holdout, options.seed)
    few = int(data.y[held].sum())
    if few < FEWEST_ASIDE or data.y[held].all() or len(np.unique(data.y[rows])) < 2:
        terminal.note(
            f"too few rows belong at the top to keep some aside for measuring ({few} would be); all are learned from"
        )
        return everything
    return rows, held


def default_output(path: str) -> str:
    """
    >>> default_output("data/claims.csv"), default_output("-")
    ('claims.shortlist', 'model.shortlist')
    """
    name = Path(path).name.split(".")[0]
    return f"{name if path != '-' and name else 'model'}.shortlist"


def _n_sparse(rows: Rows) -> int | None:
    return None if rows.matrix is None else int(rows.matrix.shape[1])


def about(path: str, data: Prepared, n_learned: int, found: dict[str, Any] | None) -> dict[str, Any]:
    """What the model's file says of its columns and its making."""
    return {
        "label": data.label,
        "positive": list(data.labels.positive),
        "id": data.plan.identity,
        "group": data.group,
        "budget": data.share,
        "kinds": data.plan.kinds,
        "left_out": dict(data.plan.left_out),
        "n_sparse": _n_sparse(data.rows),
        "data": Path(path).name,
        "rows": data.n_read,
        "learned_from": n_learned,
        "positives": int(data.y.sum()),
        "measured": None if found is None else shortened(found),
    }


def save_model(described: Described, place: Path, force: bool) -> None:
    from shortlist.persist import save

    described.model.table_ = described.about
    try:
        save(described.model, place, overwrite=force)
    except TypeError as error:
        raise Failure(f"the model cannot be saved: {error}") from None


def _say(
    terminal: Terminal,
    path: str,
    data: Prepared,
    described: Described,
    n_learned: int,
    n_held: int,
    found: dict[str, Any] | None,
    page: Path | None,
) -> None:
    ranker = described.model.steps[-1][1]
    proofs = certificates(described.model)
    positives = int(data.y.sum())
    terminal.json(
        {
            "model": described.path,
            "method": title_of(described.model),
            "reason": getattr(ranker, "reason_", None),
            "certificates": proofs,
            "measured": found,
            "report": None if page is None else str(page),
            "seconds": round(terminal.seconds, 1),
            **{key: value for key, value in described.about.items() if key != "measured"},
        }
    )
    facts = [
        (
            "rows",
            f"{data.n_read:,} in {path}, {positives:,} of {len(data.y):,} with {data.label} = {data.labels.words}",
        ),
        ("columns", columns_in_words(data.plan, data.rows)),
    ]
    if data.plan.identity is not None:
        facts.append(("id", data.plan.identity))
    if data.plan.left_out:
        told_of = [f"{name} ({reason})" for name, reason in data.plan.left_out.items()]
        facts.append(("left out", "\n".join(told_of)))
    facts.append(("method", title_of(described.model)))
    if proofs:
        facts.append(("certificate", "\n".join(proofs)))
    else:
        facts.append(("certificate", "none: this method proves nothing of its optimum"))
    terminal.facts(facts)
    terminal.say()
    if found is not None:
        terminal.heading(f"On {n_held:,} rows kept aside, {found['positives']:,} of which belong at the top")
        say_measured(terminal, found, data.groups is not None)
        terminal.say()
    learned = f"learned from {n_learned:,} rows" + ("" if found is not None else ", measured on none")
    made = [(described.path, f"{big(Path(described.path).stat().st_size)}, {learned}, {terminal.seconds:.0f} s")]
    if page is not None:
        made.append((str(page), "the report" if found is not None else "the report, of the rows learned from"))
    terminal.facts(made)


def columns_in_words(plan: Plan, rows: Rows) -> str:
    if rows.matrix is not None:
        filled = rows.matrix.nnz / max(np.prod(rows.matrix.shape), 1)
        return f"{rows.matrix.shape[1]:,} of svmlight, {share(filled)} filled"
    parts = [
        f"{len(names)} {what}: {clipped(', '.join(names), 90)}"
        for what, names in (("numbers", plan.numbers), ("texts", plan.texts))
        if names
    ]
    return "\n".join(parts)
