"""make html: the manual in a browser, with links that lead somewhere, and a search."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.browser import needs_browser
from tests.form.source import none
from tests.support.paths import TOP

pytestmark = pytest.mark.thorough

needs_mandoc = pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
_MADE: list[Path] = []  # of this worker


@pytest.fixture
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not _MADE:
        out = tmp_path_factory.mktemp("manual") / "html"
        argv = [sys.executable, str(TOP / ".ci" / "html"), str(out)]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        _MADE.append(out)
    return _MADE[0]


@needs_mandoc
def test_each_page_is_there_and_each_link_leads_to_a_page_and_a_heading(manual: Path) -> None:
    texts = {path.name: path.read_text() for path in manual.glob("*.html")}
    wanted = {f"{path.name}.html" for path in (TOP / "man").iterdir()}
    wanted |= {f"{path.stem}.html" for path in (TOP / "doc").iterdir()}
    assert wanted <= set(texts)
    ids = {name: set(re.findall(r' id="([^"]*)"', text)) for name, text in texts.items()}
    offenders = []
    for name, text in texts.items():
        for target in re.findall(r' (?:href|src)="([^"]*)"', text):
            file, _, place = target.partition("#")
            if target.startswith("https://"):
                continue
            there = (manual / (file or name)).exists()
            if not there or (place and place not in ids.get(file or name, {place})):
                offenders.append(f"{name}: {target}")
    none(offenders)


@needs_mandoc
@needs_browser
def test_a_word_is_found_where_the_page_was_opened_as_a_file(manual: Path, browser: Any) -> None:
    browser.get(f"file://{manual}/index.html")
    assert browser.title == "gitcp - manual of gitcp"
    field = browser.find_element("id", "words")
    field.send_keys("redact-personal phone")
    first = browser.find_element("css selector", "#found li a")
    assert first.get_attribute("href").endswith("/gitcp-config.5.html#gitcp.redact-personal")
    marked = browser.find_elements("css selector", "#found mark")
    assert "redact-personal" in {each.text for each in marked}
    first.click()
    assert browser.title == "gitcp-config(5) - manual of gitcp"
    assert browser.find_element("id", "page").is_displayed()
    field = browser.find_element("id", "words")
    field.send_keys("nosuchword")
    assert browser.find_element("id", "found").text == "Nothing has all of these words."
    assert not browser.get_log("browser")


@needs_mandoc
@needs_browser
def test_the_name_of_a_command_finds_its_page_first(manual: Path, browser: Any) -> None:
    browser.get(f"file://{manual}/model.html")
    for name in ("gitcp-why", "gitcp-rewind", "gitcp-privacy"):
        field = browser.find_element("id", "words")
        field.clear()
        field.send_keys(name)
        first = browser.find_element("css selector", "#found li a")
        assert first.text.startswith(f"{name}("), name


@needs_mandoc
@needs_browser
def test_a_narrow_window_shows_each_page_without_scrolling_sideways(
    manual: Path, browser: Any
) -> None:
    browser.set_window_size(420, 800)
    for name in ("index", "gitcp.7", "gitcp-record.5", "clients"):
        browser.get(f"file://{manual}/{name}.html")
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= browser.execute_script("return window.innerWidth"), name
