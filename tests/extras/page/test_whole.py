"""The page as a whole: printed, found in by the browser itself, and as one picture."""

from __future__ import annotations

import base64
import re
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.extras.page.render import Page
from tests.extras.page.browser import HERE, needs_browser, show
from tests.extras.page.firefox import Firefox, needs_firefox
from tests.extras.page.test_other_eyes import grays

ROWS = (60, 700, 60)  # of the files; the second is folded
SAID, LONG = "said " * 400, "x" * 60
WHOLE = """new Promise((done) => {
  const look = () => document.documentElement.dataset.whole ? done(true)
    : requestAnimationFrame(look);
  look();
})"""
FOUND = "['value_2_59', 'endofresult'].filter((word) => find(word)).length"
_TEXT = re.compile(rb"(?s)\bBT\b(.*?)\bET\b")
_LITERAL, _HEX = re.compile(rb"\((?:[^()\\]|\\.)*\)"), re.compile(rb"<([0-9A-Fa-f]+)>")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A page of three files and eight turns, of which a window shows little."""
    page = Page("whole", list, {})
    call: Any = {"kind": "call", "name": "Edit", "ids": ["x"], "path": "a.py"}
    call |= {"diff": [("-", "old"), ("+", "new")], "result": f"{SAID}endofresult"}
    parts = [call, {"kind": "answer", "text": "An answer.\n\n" * 30}]
    turn = {"prompt": "A prompt", "start": "", "end": "", "ticks": [], "parts": parts}
    story = {"session_id": "s", "agent": "Claude Code", "model": "", "tokens": None, "resume": ""}
    turns = [{**turn, "spent": None, "number": n} for n in range(1, 9)]
    page.add_sessions([{**story, "cost": None, "prices": None, "turns": turns}])
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    nobody = line_authors.build_nobody("person")
    for number, count in enumerate(ROWS):
        lines = [f"value_{number}_{n}_{LONG}" for n in range(count)]
        file: Any = {"path": f"src/{number}.py", "old": "", "edits": [(0, 0, 1, count)]}
        file |= {"before": [], "after": lines, "sizes": (0, 0)}
        file["authors"] = dict.fromkeys(range(1, count + 1), (nobody, "A Person"))
        page.add_files(HERE, [file], {})
    (tmp_path / "whole.html").write_text(page.format_html("0"))
    return tmp_path / "whole.html"


def count_glyphs(pdf: bytes) -> int:
    """The glyphs that a PDF shows, as Chromium and Firefox write it."""
    total = 0
    for stream in re.finditer(rb"stream\r?\n", pdf):
        try:
            data = zlib.decompressobj().decompress(pdf[stream.end() :])
        except zlib.error:
            continue
        for text in _TEXT.findall(data):
            total += sum(len(re.sub(rb"\\(\d{3}|.)", b"x", s)) - 2 for s in _LITERAL.findall(text))
            total += sum(len(digits) // 4 for digits in _HEX.findall(text))
    return total


# All code, and all conversations: without blanks, some of which are no glyphs.
LEAST = sum(
    len(f"value_{k}_{n}_{LONG}") for k, rows in enumerate(ROWS) for n in range(rows)
) + 8 * (len(SAID.replace(" ", "")) + len("Ananswer." * 30))


@pytest.mark.thorough
@needs_browser
def test_a_pdf_has_all_code_and_all_conversations(whole: Path, browser: Any) -> None:
    show(browser, whole)
    for _ in range(2):  # the window is as it was, so it can be printed again
        pdf = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
        assert count_glyphs(base64.b64decode(pdf)) > LEAST
    assert not browser.execute_script("return document.querySelector('#turns details[open]')")
    assert len(browser.find_elements("css selector", ".body[hidden=until-found]")) == 1


@needs_browser
def test_the_browser_itself_finds_what_is_far_away_or_in_a_folded_call(
    whole: Path, browser: Any
) -> None:
    show(browser, whole)
    assert browser.find_element("css selector", "html[data-whole]")
    assert browser.execute_script(f"return {FOUND}") == 2
    [body] = browser.find_elements("css selector", ".body[hidden=until-found]")
    assert "value_1_699" in body.get_attribute("textContent")
    browser.execute_script("arguments[0].dispatchEvent(new Event('beforematch'))", body)
    assert body.is_displayed()
    head = browser.find_element("xpath", "//button[@class='path'][contains(., '1.py')]")
    assert head.get_attribute("aria-expanded") == "true"


@pytest.mark.thorough
@needs_browser
def test_a_picture_of_the_whole_page_is_nowhere_blank(whole: Path, browser: Any) -> None:
    show(browser, whole)
    assert browser.find_element("css selector", "html[data-whole]")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    assert height > 5000
    for top in range(0, height - 1000, 1000):
        ends = time.monotonic() + 30
        while count_grays(browser, top) < 5:  # a busy browser pictures what is not painted yet
            assert time.monotonic() < ends, f"blank from {top} on, of {height}"


def count_grays(browser: Any, top: int) -> int:
    """The number of different grays in a stretch of the page."""
    clip = {"x": 0, "y": top, "width": 1000, "height": 1000, "scale": 0.2}
    asked = {"clip": clip, "captureBeyondViewport": True}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]
    return len(set(grays(base64.b64decode(picture))))


@needs_firefox
@pytest.mark.thorough
def test_firefox_prints_and_finds_all_of_it(whole: Path, tmp_path: Path) -> None:
    with Firefox(tmp_path) as firefox:
        firefox.open(f"file://{whole}")
        assert firefox.run(WHOLE)
        assert firefox.run(FOUND) == 2
        assert count_glyphs(firefox.print()) > LEAST
        assert firefox.words == []
