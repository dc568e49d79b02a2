"""What turns the repository's pages into the site: three small translations, so that the pages stay plain Markdown.

* The README, the changes and the guide for contributors become pages, and links to them (``../README.md``) lead there.
* ``$...$`` becomes MathML, which browsers draw themselves: no script, no font, nothing from the network.
* ``api.md`` gets an entry for each public name, so that none can be forgotten.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

import shortlist

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, target in OUTSIDE.items():
            text = text.replace(f"]({other}", f"]({target}")
        text = text.replace("([LICENSE](LICENSE))", "")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    for name, target in OUTSIDE.items():
        markdown = markdown.replace(f"](../{name}", f"]({target}")
    if page.file.src_uri == "api.md":
        markdown += "".join(f"\n\n::: shortlist.{name}" for name in sorted(shortlist.__all__))
    parts = CODE.split(markdown)  # code and prose in turn
    parts[::2] = [FORMULA.sub(formula, prose) for prose in parts[::2]]
    return "".join(parts)


def formula(match: re.Match[str]) -> str:
    block, inline = match.groups()
    text = (block or inline).strip()
    return convert(text, display="block" if block else "inline")
