"""The page of a large range: what is folded, sorted, filtered and ticked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.extras.page.render import Page
from tests.extras.page.browser import HERE, needs_browser, show
from tests.extras.page.test_reading import press, text_of

pytestmark = needs_browser
PATHS = ("README.md", "lib/deep/er/one.py", "lib/deep/er/two.py", "lib/three.py", "zoo.txt")
SESSIONS = 20  # the first five have no line; of the others each has more than the one before
EMPTY = 5


def add_session(page: Page, number: int) -> None:
    turn: Any = {"prompt": f"Task {number}: {'a long title ' * 8}", "number": 1, "parts": []}
    start = f"2026-01-{1 + number:02}T10:00:00+00:00"
    turn |= {"start": start, "end": start, "ticks": [], "spent": {"output_tokens": 10 + number}}
    story = {"session_id": f"id-of-{number}", "agent": "Claude Code", "model": "", "turns": [turn]}
    page.add_sessions([{**story, "tokens": None, "resume": "", "cost": None, "prices": None}])


@pytest.fixture
def large(tmp_path: Path) -> Path:
    page = Page("large", list, {})
    for number in range(SESSIONS):
        add_session(page, number)
    for day in range(4):
        commit: Any = {"oid": f"{day}" * 40, "message": f"m{day}", "author": "a", "date": ""}
        commit |= {"time": 1.76e9 + 86400 * day, "checkpoints": [{"checkpoint_id": "c0ffee123456"}]}
        page.add_commit(commit, {"zoo.txt": {"person": 3, "id-of-19": day}})
    writers: Any = [
        ({**line_authors.build_nobody("session"), "session_id": f"id-of-{n}"}, "")
        for n in range(EMPTY, SESSIONS)
        for _ in range(n)
    ]
    for path in PATHS:
        lines = [f"{path} {n}" for n in range(len(writers) if path == "zoo.txt" else 3)]
        file: Any = {"path": path, "old": "", "edits": [(0, 0, 1, len(lines))], "before": []}
        authors = dict(enumerate(writers, 1)) if path == "zoo.txt" else {}
        file |= {"after": lines, "sizes": (0, 0), "authors": authors}
        page.add_files(HERE, [file], {})
    (tmp_path / "large.html").write_text(page.format_html("0"))
    return tmp_path / "large.html"


def test_sessions_stand_by_their_share_and_those_without_lines_in_one_row(
    large: Path, browser: Any
) -> None:
    show(browser, large)
    shown = browser.find_elements("css selector", "#head > .two > section > .authors .lived b")
    counts = [int(one.text.split()[0]) for one in shown if one.text]
    assert counts[:12] == list(range(19, 7, -1))
    row = browser.find_element("css selector", ".two details.more > summary")
    assert row.text == "8 more sessions, 5 of them without a line"
    row.click()
    folded = browser.find_elements("css selector", ".two details.more .authors .name b")
    assert len(folded) == 8 and folded[-1].text.startswith("Task 4: a long title a long title a")


def test_the_tree_has_folders_and_each_file_once_below_its_own(large: Path, browser: Any) -> None:
    show(browser, large)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    tree = text_of(browser, "#folders").split("\n")
    names = [line for line in tree if line[:1] != "+"]
    assert names == ["README.md", "lib", "deep/er", "one.py", "two.py", "three.py", "zoo.txt"]
    browser.find_element("id", "collapse").click()
    assert "one.py" not in text_of(browser, "#folders") and "zoo.txt" in text_of(
        browser, "#folders"
    )
    assert browser.find_element("id", "collapse").text == "Expand all folders"
    browser.find_element("id", "collapse").click()
    assert "one.py" in text_of(browser, "#folders")


def test_a_filter_leaves_files_and_folders_and_a_link_ends_it(large: Path, browser: Any) -> None:
    from selenium.webdriver import Keys

    show(browser, large)
    press(browser, "f", "deep")
    sections = browser.find_elements("css selector", "#files > .file")
    assert [one.get_attribute("aria-label") for one in sections if one.is_displayed()] == [
        "lib/deep/er/one.py",
        "lib/deep/er/two.py",
    ]
    hidden = "return [...document.querySelectorAll('#folders li[hidden] > a')].map((a) => a.title)"
    assert browser.execute_script(hidden) == ["README.md", "lib/three.py", "zoo.txt"]
    browser.execute_script("go(page.files[4].id)")
    assert sections[4].is_displayed() and sections[0].is_displayed()
    press(browser, "f", "deep", Keys.ESCAPE)
    assert sections[0].is_displayed()


def test_a_file_that_was_seen_is_folded_and_stays_so_until_it_is_another(
    large: Path, browser: Any
) -> None:
    show(browser, large)
    browser.execute_script("localStorage.clear()")
    show(browser, large)
    assert text_of(browser, "#seen-count") == "0 of 5 files seen"
    browser.find_element("css selector", "#files .seen input").click()
    assert text_of(browser, "#seen-count") == "1 of 5 files seen"
    press(browser, "j", "v")
    show(browser, large)
    assert text_of(browser, "#seen-count") == "2 of 5 files seen"
    assert len(browser.find_elements("css selector", "#files .body[hidden]")) == 2
    assert len(browser.find_elements("css selector", "#folders a.done")) == 2
    browser.execute_script("page.files[0].stamp = 'another'; page.files[0].folded = false")
    browser.execute_script("showFiles()")
    assert text_of(browser, "#seen-count") == "1 of 5 files seen"
    browser.execute_script("localStorage.clear()")


def test_a_question_mark_shows_the_keys_and_all_files_fold_at_once(
    large: Path, browser: Any
) -> None:
    from selenium.webdriver import Keys

    show(browser, large)
    press(browser, "?")
    assert "fold or unfold this file" in text_of(browser, "dialog[open]")
    press(browser, Keys.ESCAPE)
    assert browser.find_elements("css selector", "dialog:not([open])")
    browser.find_element("id", "fold").click()
    assert len(browser.find_elements("css selector", "#files .body[hidden]")) == len(PATHS)
    browser.find_element("id", "fold").click()
    assert browser.execute_script("return document.querySelector('#files .body[hidden]')") is None


def test_ids_are_copied_whole_and_the_plot_has_a_bar_a_day(large: Path, browser: Any) -> None:
    show(browser, large, "#commits")
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.got = text; }")
    ids = browser.find_elements("css selector", "#log button.id")
    ids[0].click()
    assert browser.execute_script("return window.got") == "0" * 40
    ids[1].click()
    assert browser.execute_script("return window.got") == "c0ffee123456"
    plots = browser.find_elements("css selector", "#share svg")
    assert len(plots) == 2 and len(plots[0].find_elements("css selector", "g")) == 4
    assert "by day" in plots[0].accessible_name
