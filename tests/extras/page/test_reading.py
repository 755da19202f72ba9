"""The page in a real browser: what is seen where, what keys do, what is printed."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.page import render
from tests.extras.page.browser import needs_browser, show
from tests.extras.page.firefox import Firefox, needs_firefox
from tests.extras.page.hostile import SECRET
from tests.extras.page.sample import CHANGED, FILES, SESSION, build_page

# Of a page: the ends of its head, and where its first hunk and its first changed line stand.
PLACES = """(() => {
  const at = (name) => document.querySelector(name).getBoundingClientRect();
  return [at("header").height, at(".hh").top, at("tr.a, tr.d").top,
    document.documentElement.scrollWidth - innerWidth].map(Math.round);
})()"""
# Of each hunk: the text of its head, the classes of it and of its added lines.
HUNKS = """return [...document.querySelectorAll('.hh')].map((head) => [head.innerText,
  head.className,
  [...head.nextElementSibling.querySelectorAll('tr.a')].map((row) => row.className)])"""
WHOLE = """new Promise((done) => {
  const look = () => "whole" in document.documentElement.dataset ? done(true)
    : requestAnimationFrame(look);
  look();
})"""
WIDTHS = {1280: (900, 200), 390: (844, 300)}  # of a window: its height, the most for a hunk
SHEETS = 2 + CHANGED // 40
_PAGE = re.compile(rb"/Type\s*/Page\b")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample page; of its files the last two are packed."""
    path = tmp_path_factory.mktemp("sample") / "page.html"
    kept, render._PLAIN = render._PLAIN, 9000
    path.write_text(build_page(is_full=True).format_html("0"))
    render._PLAIN = kept
    assert path.read_text().count("<script type=z>") == 2
    return path


def count_sheets(pdf: bytes) -> int:
    """The sheets of a PDF as Chromium and Firefox write it."""
    total = len(_PAGE.findall(pdf))
    for stream in re.finditer(rb"stream\r?\n", pdf):
        try:
            total += len(_PAGE.findall(zlib.decompressobj().decompress(pdf[stream.end() :])))
        except zlib.error:
            continue
    return total


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def look(browser: Any, width: int, scheme: str = "light") -> None:
    """Let a window have a width, and its person prefer a scheme."""
    height = WIDTHS[width][0]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})


def check_places(places: list[int], width: int) -> None:
    header, hunk, line, beyond = places
    assert header <= 200 and hunk <= WIDTHS[width][1] and line <= 400, (header, hunk, line)
    assert beyond <= 0, "nothing is wider than the window"


@needs_browser
def test_a_hunk_and_a_changed_line_are_seen_at_once(sample: Path, browser: Any) -> None:
    show(browser, sample)
    for width in WIDTHS:
        look(browser, width)
        check_places(browser.execute_script(f"return {PLACES}"), width)
        seen = browser.find_element("tag name", "header").text
        assert "28 transcripts are not here" in seen and "and 3 more prompts" in seen
    assert browser.get_log("browser") == []


@needs_browser
def test_a_hunk_is_its_prompts_and_its_margin_has_one_colour(sample: Path, browser: Any) -> None:
    show(browser, sample)
    assert browser.find_element("css selector", "html[data-whole]")
    hunks = browser.execute_script(HUNKS)
    heads = [text.split("\n")[0] for text, _, _ in hunks]
    nobody = "Ada Person wrote this · 2 lines", "not recorded who wrote this"
    assert heads == ["E", "E", "A", "B", "D", *nobody, "C", "C", "F", "G"], "by their lines"
    assert [text.split("\n")[1] for text, _, _ in hunks if "same" in text] == [
        "the same prompt · 2 lines",
        "the same prompt · 1 line",
    ]
    for text, name, rows in hunks:
        colours = {part for row in rows for part in row.split() if part[0] == "p"}
        owned = set(name.split()) & {f"p{n}" for n in range(8)}
        assert colours == (owned or colours) and len(colours) <= 1, text
    dotted = [row for _, _, rows in hunks for row in rows if row.endswith(" w")]
    assert len(dotted) == "".join(FILES.values()).count(".")
    style = "return getComputedStyle(document.querySelector('tr.w td')).borderLeftStyle"
    assert browser.execute_script(style) == "dotted"
    bold = browser.find_element("css selector", ".hh .pr")
    assert int(bold.value_of_css_property("font-weight")) >= 600
    assert bold.rect["height"] <= 2 * 21


@pytest.mark.thorough
@needs_browser
def test_keys_move_open_fold_and_turn_the_light(sample: Path, browser: Any) -> None:
    show(browser, sample)
    browser.execute_script("localStorage.clear()")
    show(browser, sample)
    assert browser.find_element("css selector", "html[data-whole]")
    here = "return [...document.querySelectorAll('.hh')].indexOf(document.querySelector('.here'))"
    steps = [("j", 0), ("j", 1), ("k", 0), ("f", 2), ("f", 3), ("F", 2), ("F", 0), ("k", 0)]
    for key, place in steps:
        press(browser, key)
        assert browser.execute_script(here) == place, (key, place)
    assert "on" in browser.find_element("css selector", "aside a").get_attribute("class")
    press(browser, "o")
    words = browser.find_element("css selector", ".here p")
    assert words.is_displayed() and "the words at edit 1" in words.text
    press(browser, "x")
    first = browser.find_element("css selector", ".file")
    assert not first.find_element("tag name", "table").is_displayed()
    show(browser, sample)  # it stays so
    assert "seen" in browser.find_element("css selector", ".file").get_attribute("class")
    press(browser, "x")
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(paper)
    press(browser, "t")
    assert browser.execute_script(paper) != light
    press(browser, "?")
    assert "next, previous hunk" in browser.find_element("id", "keys").text


@pytest.mark.thorough
@needs_browser
def test_the_list_of_files_has_any_width_and_a_button_on_a_phone(
    sample: Path, browser: Any
) -> None:
    show(browser, sample)
    look(browser, 1280)
    ends = (
        "const list = document.querySelector('aside'); list.style.width = arguments[0];"
        "const end = list.getBoundingClientRect().right;"
        "return [getComputedStyle(list).resize, list.clientWidth,"
        "[...list.querySelectorAll('.tail')].every((one) => {"
        " const box = one.getBoundingClientRect(); return box.width > 20 && box.right <= end; })]"
    )
    for asked, least, most in (("10px", 140, 150), ("400px", 380, 400), ("9000px", 700, 768)):
        way, width, can_be_seen = browser.execute_script(ends, asked)
        assert way == "horizontal" and least <= width <= most and can_be_seen, (asked, width)
    browser.execute_script("document.querySelector('aside').style.width = ''")
    look(browser, 390)
    button = browser.find_element("css selector", ".files")
    link = browser.find_element("css selector", "aside a")
    assert button.text == "4 files ▾" and not link.is_displayed()
    button.click()
    assert link.is_displayed() and button.get_attribute("aria-expanded") == "true"
    link.click()
    browser.execute_script("document.activeElement.blur()")
    assert not link.is_displayed()


@needs_browser
def test_what_is_packed_is_there_and_the_browser_finds_it(sample: Path, browser: Any) -> None:
    show(browser, sample)
    assert browser.find_element("css selector", "html[data-whole]")
    rows = browser.find_elements("css selector", "tr.a")
    assert len(rows) == CHANGED
    assert browser.execute_script("return find('value_45')")
    assert browser.execute_script("return document.querySelectorAll('script[type=z]').length") == 0


@pytest.mark.thorough
@needs_browser
def test_a_print_has_the_change_and_no_more_on_few_sheets(sample: Path, browser: Any) -> None:
    show(browser, sample)
    assert browser.find_element("css selector", "html[data-whole]")
    asked = {"paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", asked)["data"])
    assert 1 <= count_sheets(pdf) <= SHEETS
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    for name, is_there in {
        "h1": True,
        "header ol": True,
        "table": True,
        "aside": False,
        "button": False,
        "#talks": False,
        "footer": False,
    }.items():
        shown = [one.is_displayed() for one in browser.find_elements("css selector", name)]
        assert shown and any(shown) is is_there, name
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.thorough
@needs_browser
def test_the_way_into_the_conversation_opens_it(sample: Path, browser: Any) -> None:
    show(browser, sample)
    press(browser, "j", "o")
    browser.find_element("css selector", ".here p a").click()
    turn = browser.find_element("css selector", "#talks article:target")
    assert turn.is_displayed() and "1: Let each route" in turn.text
    assert "claude -r" in browser.find_element("id", "talks").text and SESSION


@pytest.mark.thorough
@needs_browser
def test_hostile_texts_stay_texts_and_the_console_silent(full: Path, browser: Any) -> None:
    show(browser, full)
    assert browser.find_element("css selector", "html[data-whole]")
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    body = browser.find_element("tag name", "body").text
    for part in ("<img src=x onerror=window.broken=1>", "{{ 7*7 }}", "⟨U+202E⟩", "<u>Edit"):
        assert part in body, part
    assert SECRET not in browser.page_source
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.images.length") == 0
    assert browser.get_log("browser") == []


@needs_firefox
@pytest.mark.thorough
def test_firefox_shows_moves_and_prints_it_likewise(sample: Path, tmp_path: Path) -> None:
    with Firefox(tmp_path) as firefox:
        for width, (height, _) in WIDTHS.items():
            firefox.set_size(width, height)
            firefox.open(f"file://{sample}")
            places = json.loads(firefox.run(f"JSON.stringify({PLACES})"))
            check_places(places, width)
        assert firefox.run(WHOLE)
        assert firefox.run("document.querySelectorAll('tr.a').length") == CHANGED
        press_j = "dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))"
        firefox.run(f"document.body.{press_j}, document.body.{press_j}, 1")
        assert (
            firefox.run(
                "[...document.querySelectorAll('.hh')].findIndex("
                "(one) => one.classList.contains('here'))"
            )
            == 1
        )
        assert firefox.run("find('value_45')")
        assert 1 <= count_sheets(firefox.print()) <= SHEETS + 1  # its margins are larger
        assert firefox.words == []
