"""Reports in a browser: keys sort the tables, nothing is fetched, nothing sticks out, no injected script runs.

The browser is spoken to over two pipes, in its own protocol; where there is none, these tests are skipped.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.report import comparison_report, evaluation_report, write_report
from tests.report.test_pages import EVIL, comparison

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


class Browser:
    """A headless browser with one page."""

    def __init__(self, folder: Path) -> None:
        ends = os.pipe() + os.pipe()
        # Well above 3 and 4, where the browser looks for its ends.
        read_in, self.out, self.into, write_out = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 30) for end in ends)
        for end in ends:
            os.close(end)
        assert BROWSER is not None
        flags = "headless=new no-sandbox disable-gpu no-first-run disable-extensions remote-debugging-pipe"
        arguments = [f"--{flag}" for flag in [*flags.split(), f"user-data-dir={folder}"]]
        self.process = subprocess.Popen(
            [BROWSER, *arguments, "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(read_in, 3), os.dup2(write_out, 4)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_in)
        os.close(write_out)
        self.number, self.rest, self.session, self.events = 0, b"", "", []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for name in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{name}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def next(self) -> Any:
        while b"\0" not in self.rest:
            got = os.read(self.into, 1 << 16)
            assert got, "the browser ended"
            self.rest += got
        first, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(first)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path, width: int) -> None:
        self.events = []
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.next()

    def tell(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        text = {"Enter": "\r", " ": " "}.get(key, "")
        code = {"Enter": 13, " ": 32, "Tab": 9}[key]
        for kind in ("keyDown", "keyUp"):
            told: dict[str, Any] = {"type": kind, "key": key, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                told["text"] = text
            self.call("Input.dispatchKeyEvent", **told)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.2, EVIL, "a")
    scores = (y == EVIL) + rng.normal(size=400)
    table = {f"column {i} {EVIL if i == 3 else ''}": rng.normal(size=400).round(2).tolist() for i in range(12)}
    made = [
        evaluation_report(y, scores, pos_label=EVIL, budget=50, others={EVIL: rng.normal(size=400)}, table=table),
        comparison_report(comparison(("A", EVIL, "C")), y_score=scores, y_true=y, pos_label=EVIL, table=table),
    ]
    return [write_report(folder / f"{i}.html", report) for i, report in enumerate(made)]


def faults(browser: Browser) -> list[Any]:
    """Requests beyond the file, dialogs, errors."""
    found = []
    for event in browser.events:
        method, told = event["method"], event["params"]
        if method == "Network.requestWillBeSent" and not told["request"]["url"].startswith("file:"):
            found.append(told["request"]["url"])
        if method in ("Page.javascriptDialogOpening", "Runtime.exceptionThrown"):
            found.append(told)
        if method == "Log.entryAdded" and told["entry"]["level"] == "error":
            found.append(told["entry"]["text"])
    return found


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("number", [0, 1])
def test_pages_fit_and_fetch_nothing(browser: Browser, pages: list[Path], number: int, width: int) -> None:
    browser.open(pages[number], width)
    assert browser.tell("document.documentElement.scrollWidth") <= width
    assert browser.tell("document.querySelectorAll('script').length") == 2
    assert browser.tell("performance.getEntriesByType('resource').length") == 0
    small = "[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height < 9).length"
    assert browser.tell(small) == 0
    assert faults(browser) == []


def test_keys_sort_the_table(browser: Browser, pages: list[Path]) -> None:
    browser.open(pages[0], 1280)
    names = "[...document.querySelectorAll('#top tbody tr')].map(r => r.cells[0].textContent)"
    values = "[...document.querySelectorAll('#top tbody tr')].map(r => Number(r.cells[4].dataset.v))"
    state = "document.activeElement.closest('th').getAttribute('aria-sort')"
    assert browser.tell(names) == [str(i) for i in range(1, 26)]
    browser.tell("document.querySelectorAll('#top thead button')[3].focus()")
    browser.press("Tab")
    assert browser.tell("document.activeElement.closest('th').cellIndex") == 4
    browser.press("Enter")
    assert browser.tell(state) == "descending"
    assert browser.tell(values) == sorted(browser.tell(values), reverse=True)
    browser.press(" ")
    assert browser.tell(state) == "ascending"
    assert browser.tell(values) == sorted(browser.tell(values))
    assert browser.tell("document.getElementById('said').textContent").endswith("ascending")
    assert browser.tell("document.querySelectorAll('#top [aria-sort]').length") == 1
    browser.tell("document.querySelector('#top thead button').click()")
    browser.tell("document.querySelector('#top thead button').click()")
    assert browser.tell(names) == [str(i) for i in range(1, 26)]
    assert faults(browser) == []


def test_an_injected_script_would_be_refused(browser: Browser, pages: list[Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    html = pages[0].read_text(encoding="utf-8")
    bad.write_text(html.replace("<h1>", "<script>document.title = 'run'</script><h1>"), encoding="utf-8")
    browser.open(bad, 1280)
    assert browser.tell("document.title") != "run"


def test_it_prints_with_its_tables_whole(browser: Browser, pages: list[Path]) -> None:
    browser.open(pages[0], 1280)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.tell("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
    assert browser.tell("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")
    assert len(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"]) > 10_000


def test_dark_colours_keep_their_contrast(browser: Browser, pages: list[Path]) -> None:
    browser.open(pages[0], 1280)
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        style = "getComputedStyle(document.documentElement).getPropertyValue('--{}').trim()"
        paper = luminance(browser.tell(style.format("paper")))
        assert (paper > 0.5) == (scheme == "light")
        for name in ("ink", "soft", "c0", "c1", "c2", "c3", "c4"):
            colour = luminance(browser.tell(style.format(name)))
            low, high = sorted((colour, paper))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, name)


def luminance(colour: str) -> float:
    """Of a colour like #1a2b3c or #fff, as the accessibility guidelines define it."""
    digits = colour.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
