"""``shortlist info``: what a model's file holds, without scoring anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shortlist.cli.measured import say_measured
from shortlist.cli.methods import certificates, title_of
from shortlist.cli.model import Described, load_described
from shortlist.cli.terminal import Terminal, big, share

__all__ = ["info"]


def info(path: str, terminal: Terminal) -> None:
    """The command."""
    from shortlist.persist._container import read_container

    described = load_described(path, terminal)
    header, _ = read_container(Path(path).read_bytes())
    versions = {name: str(header.get(name)) for name in ("shortlist", "scikit-learn")}
    model, about = described.model, described.about
    columns = _columns(described)
    proofs = certificates(model)
    terminal.json(
        {
            "file": path,
            "bytes": Path(path).stat().st_size,
            "written_with": versions,
            "method": title_of(model),
            "steps": _steps(model),
            "certificates": proofs,
            "columns": columns,
            **about,
        }
    )
    facts = [
        ("file", f"{path}, {big(Path(path).stat().st_size)}"),
        ("written with", ", ".join(f"{name} {one}" for name, one in versions.items())),
        ("method", title_of(model)),
        ("steps", "\n".join(f"{name}: {text}" for name, text in _steps(model))),
        ("certificate", "\n".join(proofs) or "none: this method proves nothing of its optimum"),
    ]
    if about:
        positive = " or ".join(repr(one) for one in about.get("positive") or [])
        facts += [
            ("learned from", f"{about['learned_from']:,} rows of {about['data']} ({about['rows']:,} rows)"),
            ("on top", f"{about['label']} = {positive}, {about['positives']:,} rows"),
            ("budget", _budget(about["budget"])),
        ]
        facts += [(what, str(about[what])) for what in ("id", "group") if about.get(what)]
        if about["left_out"]:
            facts.append(("left out", "\n".join(f"{name} ({why})" for name, why in about["left_out"].items())))
        if about.get("n_sparse"):
            facts.append(("columns", f"{about['n_sparse']:,} of svmlight"))
    terminal.facts(facts)
    if columns:
        terminal.say()
        rows = [(one["column"], one["kind"], one["gap"], one["levels"]) for one in columns]
        terminal.table(("column", "kind", "a gap counts as", "levels"), rows, right=(3,))
    if about.get("measured"):
        terminal.say()
        terminal.heading(f"On {about['measured']['rows']:,} rows kept aside")
        say_measured(terminal, about["measured"], bool(about.get("group")))


def _budget(budget: Any) -> str:
    return f"{budget:,} rows of each group" if budget >= 1 else f"{share(budget)} of a list"


def _steps(model: Any) -> list[tuple[str, str]]:
    """Each step in one line, with the parameters that were changed."""
    steps = model.steps if hasattr(model, "steps") else [("rank", model)]
    made = []
    for name, step in steps:
        words = "gaps in numbers become the median and a mark, each level of a text a feature"
        text = words if type(step).__name__ == "ColumnTransformer" else " ".join(repr(step).split())
        made.append((name, text))
    return made


def _columns(described: Described) -> list[dict[str, Any]]:
    """The columns that it takes, with what was learned of each."""
    prepared = described.model.named_steps.get("prepare") if hasattr(described.model, "named_steps") else None
    parts = getattr(prepared, "named_transformers_", {})
    found = []
    for kind, _, names in getattr(prepared, "transformers_", []):
        for at, name in enumerate(names):
            if kind == "numbers":
                found.append(
                    {"column": name, "kind": "number", "gap": f"{parts[kind].statistics_[at]:.6g}", "levels": ""}
                )
            elif kind == "texts":
                levels = parts[kind].categories_[at]
                rare = getattr(parts[kind], "infrequent_categories_", [None] * len(names))[at]
                n = len(levels) - (0 if rare is None else len(rare))
                words = f"{n}" if rare is None else f"{n} and others"
                found.append({"column": name, "kind": "text", "gap": "a level of its own", "levels": words})
    return found
