"""The house: imports point one way, optional packages wait inside functions, files are short, no prints."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "shortlist"
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]

FOUNDATION = {"exceptions", "statistics", "theory"}
MATHEMATICS = {"risks", "projections"} | FOUNDATION

# Which rooms each room may look into, beside itself.
ALLOWED: dict[str, set[str]] = {
    "exceptions": set(),
    "statistics": set(),
    "theory": set(),
    "projections": set(),
    "risks": set(),
    "datasets": set(),
    "metrics": {"statistics"},
    "solvers": MATHEMATICS,
    "features": MATHEMATICS,
    "estimators": {"solvers", "features", "metrics"} | MATHEMATICS,  # metrics: what early stopping measures by
    "selection": {"solvers", "features", "estimators", "metrics"} | MATHEMATICS,
    "certification": {
        "solvers.solution",
        "certification_boosting",
        "certification_lists",
        "certification_pairs",
        "certification_pairwise",
    },
    "certification_boosting": {"solvers.solution"},
    "certification_lists": {"solvers.solution"},
    "certification_pairwise": {"solvers.solution"},
    "certification_costs": {"solvers.solution"},
    "certification_pairs": {"solvers.solution", "certification_costs"},
    "persist": {"solvers", "features", "estimators", "certification", "certification_pairs"} | MATHEMATICS,
    "frames": {"estimators"} | FOUNDATION,
    "comparison": {"estimators", "metrics", "selection"} | FOUNDATION,
    "plotting": {"estimators", "metrics", "selection", "comparison"} | FOUNDATION,
}
ANYTHING = {"cli", "report", "_public", "__init__"}
# threadpoolctl comes with scikit-learn, which cannot run without it.
REQUIRED = {"numpy", "scipy", "sklearn", "highspy", "threadpoolctl"}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imported(tree: ast.AST, path: Path) -> Iterator[tuple[str, int]]:
    """Absolute dotted names of all that a file imports, with the line."""
    package = ("shortlist", *path.relative_to(SOURCE).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def outside_functions(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(child, ast.stmt):
                yield child
            waiting.append(child)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if room in ANYTHING:
        return
    assert room in ALLOWED, f"the room {room!r} is new: say in ALLOWED what it may import"
    allowed = ALLOWED[room] | {room}
    for name, line in imported(ast.parse(path.read_text()), path):
        if name.split(".")[0] != "shortlist":
            continue
        inside = name.removeprefix("shortlist.")
        assert any(inside == door or inside.startswith(door + ".") for door in allowed), (
            f"{path.name}:{line} imports {name}; {room} may look into {sorted(allowed)} only"
        )


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_optional_packages_are_imported_inside_functions(path: Path) -> None:
    known = REQUIRED | {"shortlist"} | set(sys.stdlib_module_names)
    if path.parent.name == "cli" and path.name in ("app.py", "options.py"):
        known |= {"typer", "click"}  # imported by the entry of the command line alone, which names the extra
    for statement in outside_functions(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            names = [statement.module or ""]
        else:
            continue
        for name in names:
            assert name.split(".")[0] in known, (
                f"{path.name}:{statement.lineno} imports {name}; do so inside the function that needs it"
            )


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_files_tell_one_story(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= 420, f"{path.name} has {lines} lines; split it"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_nothing_prints_outside_the_command_line(path: Path) -> None:
    if room_of(path) == "cli":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        printing = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        assert not printing, f"{path.name}:{getattr(node, 'lineno', '?')} prints; use logging"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_file_opens_with_what_it_is_for(path: Path) -> None:
    assert path.read_text().strip() == "" or ast.get_docstring(ast.parse(path.read_text())), path.name


def test_the_test_sees_the_source() -> None:
    assert len(FILES) > 10
    tree = ast.parse("from ..risks import top\nimport shortlist.metrics")
    names = [name for name, _ in imported(tree, SOURCE / "solvers" / "x.py")]
    assert names == ["shortlist.risks.top", "shortlist.metrics"]
