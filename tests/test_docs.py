"""What the README, the pages and the docstrings show is what happens."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shortlist
from benchmarks import demo
from shortlist import TauFPL

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
MODULES = ["shortlist", *(m.name for m in pkgutil.walk_packages(shortlist.__path__, "shortlist."))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Line number and text of the fenced blocks in a language."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)), match[2]


def given() -> dict[str, Any]:
    """What a block may use without making it."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4 == 0
    scores = y + rng.normal(size=400)
    return {"y": y, "s": scores, "query": np.arange(400) // 100, "model": TauFPL(), "grid": {"C": [1, 10]}}


def run(page: Path) -> str:
    """Run a page's blocks one after the other; what those without prompts print."""
    names, printed = given(), io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    for line, text in blocks(page, "python"):
        if ">>>" in text:
            test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
            said: list[str] = []
            runner.run(test, out=said.append, clear_globs=False)
            assert runner.failures == 0, "".join(said)
            names = test.globs
        else:
            code = compile("\n" * line + text, str(page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, names)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # blocks may write files
    run(page)


def test_the_readme_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run(ROOT / "README.md").splitlines()
    shown = next(text for _, text in blocks(ROOT / "README.md", "")).splitlines()
    assert len(printed) == len(shown) == 2
    # Steps and seconds may differ; the objective, up to the tolerance, and the second line may not.
    objective, expected = (float(line.split()[2].rstrip(",")) for line in (printed[0], shown[0]))
    assert objective == pytest.approx(expected, rel=2e-4)
    assert re.sub(r"[\d.e+-]+", "0", printed[0]) == re.sub(r"[\d.e+-]+", "0", shown[0])
    assert printed[1] == shown[1]
    assert len((tmp_path / "shortlist.csv").read_text().splitlines()) == 20


def test_the_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    text = "\n".join(text for page in PAGES for _, text in blocks(page, "sh"))
    commands = re.findall(r"^make (\w+)", text, re.MULTILINE)
    assert {"demo", "test"} <= set(commands)
    for name in commands:
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name


def anchor(heading: str) -> str:
    """The address of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith(("http://", "https://")):
            continue
        name, _, part = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        if part:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in {anchor(heading.replace("$", "")) for heading in headings}, target


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md"]
    assert [name for name in missing if f"({name})" not in index] == []


def test_the_tables_name_every_estimator() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "choosing.md"):
        text = page.read_text(encoding="utf-8")
        assert [name for name in shortlist.__all__ if f"`{name}" not in text and f"{name}(" not in text] == []


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_demo_ranks_and_prints_its_certificates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "SPLITS", 1)
    monkeypatch.setattr(demo, "REPORT", tmp_path / "made" / "report.html")
    monkeypatch.setattr(demo, "METHODS", {name: (model, {"C": [1.0]}) for name, (model, _) in demo.METHODS.items()})
    demo.main()
    out = capsys.readouterr().out
    assert [out.count(f"\n  {name} ") for name in demo.METHODS] == [3] * 5
    assert "converged: objective" in out
    assert "NOT" not in out
    assert "malignant" in demo.REPORT.read_text(encoding="utf-8")


def test_the_demo_compares_all_methods_alike() -> None:
    grids = {name: grid["C"] for name, (_, grid) in demo.METHODS.items()}
    assert len({tuple(grid) for grid in grids.values()}) == 1
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])
    # Groups reach those that know them, and nobody else.
    demo.fit(LogisticRegression(), X, y, np.zeros(4))
    assert demo.fit(demo.METHODS["TopPush"][0], X, y, np.array([0, 1, 0, 1])).thresholds_.keys() == {0, 1}
