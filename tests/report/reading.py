"""A page as a strict reader sees it: elements that close, ids that are there, nothing from elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

VOID = {"meta", "br", "hr", "img", "input", "link"}
SHAPES = {"line", "rect", "circle", "ellipse", "path", "polyline"}


class Page(HTMLParser):
    """Elements in order, their text, and what is wrong with the page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.cells: list[list[str]] = []
        self.feed(html)
        self.close()
        if self.open:
            self.faults.append(f"left open: {self.open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len({name for name, _ in attrs}) != len(attrs):
            self.faults.append(f"an attribute twice: {tag} {attrs}")
        if tag == "tr":
            self.cells.append([])
        if tag in ("th", "td") and self.cells:
            self.cells[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in SHAPES:
            self.faults.append(f"closes itself: {tag}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> within {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))
            if self.cells and ("td" in self.open or "th" in self.open):
                self.cells[-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str | None = None) -> str:
        return " ".join(text for name, text in self.texts if (tag is None or name == tag) and name not in HIDDEN)

    @property
    def figures(self) -> Any:
        """What the page holds as JSON."""
        return json.loads(next(text for name, text in self.texts if name == "script"))


HIDDEN = {"script", "style"}


def check(html: str) -> Page:
    """What must hold of every page."""
    page = Page(html)
    assert page.faults == []
    html.encode("utf-8")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name, attributes in page.elements:
        assert name not in ("iframe", "object", "embed", "base", "form", "link", "img", "image", "use")
        assert not any(key.startswith("on") for key in attributes), attributes
        for key in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(key) or "#").startswith("#"), attributes
        target = attributes.get("href") or ""
        assert not target or target[1:] in ids
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key, ids[0]) in ids
    assert not re.search(r"https?://|url\(|@import", re.sub(r"<(script|pre|dd)\b.*?</\1>", "", html, flags=re.DOTALL))
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels.count(1) == 1 and all(b - a <= 1 for a, b in pairwise(levels))
    assert page.all("html")[0]["lang"] == "en"
    tables = page.all("table")
    assert len(page.all("caption")) == len(tables) > 0
    assert all(attributes.get("scope") in ("row", "col") for attributes in page.all("th"))
    assert len([a for a in page.all("th") if a["scope"] == "col"]) == len(page.all("button"))
    assert all(attributes.get("type") == "button" for attributes in page.all("button"))
    assert all(a.get("aria-sort") in (None, "ascending", "descending") for a in page.all("th"))
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in page.all("svg"))
    return page
