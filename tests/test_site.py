"""The site is built from the repository's pages, strictly, and needs nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def text(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_every_page_is_there(site: Path) -> None:
    pages = [page.stem for page in (ROOT / "docs").glob("*.md")]
    pages += ["readme", "changelog", "contributing"]
    assert [name for name in pages if not (site / f"{name}.html").exists()] == []
    assert not list(site.rglob("*.py"))


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"- {page.name}\n" not in menu] == []


def test_the_reference_has_every_public_name_with_its_parameters(site: Path) -> None:
    page = text(site, "api")
    assert [name for name in shortlist.__all__ if f'id="shortlist.{name}"' not in page] == []
    assert "{C}" not in page  # the shared parts of docstrings are filled in at import


def test_links_between_the_repository_and_the_pages_lead_on(site: Path) -> None:
    assert 'href="readme.html"' in text(site, "index")
    assert 'href="choosing.html"' in text(site, "readme")
    assert not re.search(r'href="[^"]*\.md[#"]', text(site, "readme") + text(site, "index"))


def test_formulas_are_drawn_by_the_browser(site: Path) -> None:
    page = text(site, "theory")
    assert page.count("<math") > 50
    assert "\\tfrac" not in page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8"))
        assert loaded == [], page.name
