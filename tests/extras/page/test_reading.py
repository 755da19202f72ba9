"""The page in a real browser: what is seen, searched, reached by keyboard and printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.redact import images
from gitcp.extras.page.render import Page
from gitcp.text.short_ids import shorten_id
from tests.extras.page.browser import HERE, needs_browser, show
from tests.extras.page.hostile import SECRET

pytestmark = needs_browser


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def text_of(browser: Any, selector: str) -> str:
    return str(browser.find_element("css selector", selector).text)


def test_hostile_texts_stay_texts_and_the_console_silent(shown: Path, browser: Any) -> None:
    show(browser, shown)
    browser.execute_script("fillAll()")
    for one in browser.find_elements("css selector", "#turns summary"):
        one.click()
    body = text_of(browser, "body")
    for part in ("<img src=x onerror=window.broken=1>", "{{ 7*7 }}", "⟨U+202E⟩", "<u>Edit"):
        assert part in body, part
    browser.execute_script("query.value = 'window.broken'; search()")
    assert "<script>" in text_of(browser, "#results")
    browser.execute_script("go(page.turns[0].id)")
    assert "<svg onload" in text_of(browser, "#drawer")
    browser.execute_script("fill(chart); document.querySelector('#chart a').focus()")
    assert "Please </script>" in text_of(browser, "#card")
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.images.length") == 0
    links = browser.execute_script(
        "return [...document.links].map((one) => one.protocol + one.origin)"
    )
    assert set(links) <= {"file:null", "file:file://", "https:https://github.com"}
    assert SECRET not in browser.page_source
    assert browser.get_log("browser") == []


def test_a_hunk_says_who_and_why_and_opens_the_call_that_wrote_it(
    shown: Path, browser: Any
) -> None:
    show(browser, shown)
    who = [one.text for one in browser.find_elements("css selector", ".diff .who")]
    assert who[0] == "A1" and "" in who, "one label for a block of lines"
    whys = [one.text for one in browser.find_elements("css selector", ".whys .why")]
    marks = [one.text for one in browser.find_elements("css selector", ".whys .mark")]
    assert marks == ["x", "A1"], whys
    assert "Please </script>" in whys[1] and "1 line" in whys[1]
    link = browser.find_element("css selector", ".whys a")
    link.click()
    call = browser.find_element("css selector", "#drawer details.call.here[open]")
    assert "<u>Edit" in call.text and call.is_displayed()
    assert browser.current_url.endswith(link.get_attribute("href").partition("#")[2])
    [button] = [
        one
        for one in browser.find_elements("css selector", "#drawer button")
        if one.text == "All its hunks"
    ]
    button.click()
    assert "Hunks of one prompt" in text_of(browser, "#chosen")
    assert "turn=" in browser.current_url and text_of(browser, "#drawer") == ""


def test_what_is_searched_is_counted_marked_and_in_the_address(shown: Path, browser: Any) -> None:
    from selenium.webdriver import Keys

    show(browser, shown)
    press(browser, "/")
    press(browser, "second prompt")
    assert browser.find_element("css selector", "#results ol li")
    assert "1 prompt" in text_of(browser, "#results")
    assert browser.execute_script("return CSS.highlights.get('found').size") >= 1
    address = browser.current_url
    assert "q=second" in address
    press(browser, Keys.ENTER)
    assert "And a second prompt" in text_of(browser, "#drawer")
    show(browser, shown, "#" + address.partition("#")[2])
    assert text_of(browser, "#tally") == "1 hit"
    browser.execute_script("document.activeElement.blur()")
    press(browser, Keys.ESCAPE)
    assert text_of(browser, "#tally") == "" and "q=" not in browser.current_url


def test_everything_can_be_reached_by_keyboard(shown: Path, browser: Any) -> None:
    from selenium.webdriver import Keys

    show(browser, shown)
    focused = "return document.activeElement.id"
    press(browser, "j")
    assert browser.execute_script(focused).startswith("file-")
    press(browser, "j")
    assert browser.execute_script(focused).endswith("-1")
    press(browser, "j", "k")
    assert browser.execute_script(focused).endswith("-1")
    browser.execute_script("document.querySelector('.whys a').focus()")
    press(browser, Keys.ENTER)
    assert browser.find_element("css selector", "#drawer:not([hidden])")
    press(browser, Keys.ESCAPE)
    assert browser.execute_script("return document.activeElement.closest('.whys') !== null")


def test_links_lead_to_a_turn_a_commit_a_file_and_a_line(shown: Path, browser: Any) -> None:
    show(browser, shown)
    ids = browser.execute_script(
        "return [page.turns[1].id, `commit-${page.commits[0].oid}`, page.files[0].id, "
        "`${page.files[0].id}-2`, 'conversation']"
    )
    for name in ids:
        show(browser, shown, f"#{name}")
        wanted = "#drawer" if name.startswith("turn-") else f"[id='{name}']"
        assert browser.find_element("css selector", wanted).is_displayed(), name
        top = browser.execute_script(
            "return document.querySelector(arguments[0]).getBoundingClientRect().top", wanted
        )
        assert -5 <= top < browser.execute_script("return innerHeight"), name


def test_a_link_to_a_section_lands_at_its_first_line(tmp_path: Path, browser: Any) -> None:
    page = Page("long", list, {})
    part = {"kind": "answer", "text": "A word.\n\n" * 30}
    turn = {"prompt": "Asked", "start": "", "end": "", "ticks": [], "parts": [part], "spent": None}
    story = {"session_id": "s", "agent": "Claude Code", "model": "", "tokens": None, "resume": ""}
    turns = [{**turn, "number": n} for n in range(1, 9)]
    page.add_sessions([{**story, "cost": None, "prices": "", "turns": turns}])
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    for number in range(9):
        file: Any = {"path": f"{number}.txt", "old": "", "edits": [(0, 0, 1, 1)], "before": []}
        file |= {"after": ["a line"], "sizes": (0, 0), "authors": {}}
        page.add_files(HERE, [file], {})
    (tmp_path / "long.html").write_text(page.format_html("0"))
    top = "return document.getElementById(arguments[0]).getBoundingClientRect().top"
    for name in ("changes", "files", "conversation", "turns", "timeline", "commits"):
        show(browser, tmp_path / "long.html", f"#{name}")
        browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 0))")
        assert 50 < browser.execute_script(top, name) < 900, name
        if name in ("files", "conversation", "turns"):
            assert browser.execute_script(top, name) < 80, name


def test_a_narrow_screen_needs_no_sideways_scrolling_and_has_a_list(
    shown: Path, browser: Any
) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    show(browser, shown, "#timeline")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    assert len(browser.find_elements("css selector", "#chart li")) == 3


def test_the_list_has_commits_after_the_turns_of_their_second(tmp_path: Path, browser: Any) -> None:
    start = "2001-09-09T01:46:40.500+00:00"
    turn = {"number": 1, "prompt": "Asked", "start": start, "end": start, "ticks": [], "parts": []}
    story = {"session_id": "s", "agent": "Claude Code", "model": "", "tokens": None, "resume": ""}
    page = Page("list", list, {})
    page.add_sessions([{**story, "cost": None, "prices": "", "turns": [{**turn, "spent": None}]}])
    for oid in ("newer", "older"):
        commit = {"oid": oid, "message": oid, "author": "a", "date": "", "time": 1e9}
        page.add_commit({**commit, "checkpoints": []}, {})
    (tmp_path / "list.html").write_text(page.format_html("0"))
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    show(browser, tmp_path / "list.html")
    browser.execute_script("fill(chart)")
    listed = [one.text for one in browser.find_elements("css selector", "#chart li a")]
    assert listed == ["A1 Asked", "◆ older", "◆ newer"]


def test_the_timeline_has_lanes_blocks_ticks_and_commits(shown: Path, browser: Any) -> None:
    show(browser, shown, "#timeline")
    assert len(browser.find_elements("css selector", "#chart a[href^='#turn-'] rect")) == 2
    assert len(browser.find_elements("css selector", "#chart .tick")) == 1
    first = browser.find_element("css selector", "#chart text")
    assert browser.execute_script("return arguments[0].getBBox().x", first) >= 0
    assert len(browser.find_elements("css selector", "#chart path.commit")) == 1
    assert all(
        one.get_attribute("aria-label")
        for one in browser.find_elements("css selector", "#chart a[href]")
    )
    browser.execute_script("chart.focus()")
    press(browser, "+", "+")
    assert browser.execute_script("return zoom.size") < 500


def test_printing_unfolds_at_once(shown: Path, browser: Any) -> None:
    show(browser, shown)
    unfolded = (
        "dispatchEvent(new Event('beforeprint')); return [document.querySelector('#turns')."
        "textContent, document.querySelector('#turns .result').textContent.length]"
    )
    text, length = browser.execute_script(unfolded)
    assert "Result" in text and "Done." in text and length > 2000
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    steps = "return document.querySelector('#turns details[open]')"
    assert browser.execute_script(steps) is None


@pytest.mark.thorough
def test_of_a_large_change_what_is_far_is_searched_before_it_is_made_and_all_is_made_in_the_end(
    tmp_path: Path, browser: Any
) -> None:
    nobody = line_authors.build_nobody("person")
    page = Page("large", list, {})
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    for number in range(30):
        lines = [f"value_{number}_{n} = {n}" for n in range(200)]
        file: Any = {"path": f"src/file{number:03}.py", "old": "", "before": [], "after": lines}
        file |= {"edits": [(0, 0, 1, len(lines))], "sizes": (0, 0)}
        file["authors"] = dict.fromkeys(range(1, len(lines) + 1), (nobody, "A Person"))
        page.add_files(HERE, [file], {})
    (tmp_path / "large.html").write_text(page.format_html("0"))
    script = "Page.addScriptToEvaluateOnNewDocument", {"source": "requestIdleCallback = () => 0"}
    busy = browser.execute_cdp_cmd(*script)
    show(browser, tmp_path / "large.html")
    alive = "return document.getElementsByTagName('*').length"
    for place in ("value_3_199", "value_29_199", "value_15_150"):
        browser.execute_script("query.value = arguments[0]; search(); step(1)", place)
        row = browser.find_element("css selector", "tr.here")
        assert place in row.text and browser.execute_script(alive) <= 6000
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", busy)
    show(browser, tmp_path / "large.html")
    assert browser.find_element("css selector", "html[data-whole=yes]")
    assert browser.execute_script("return document.querySelectorAll('tr').length") == 30 * 200


def test_a_search_finds_what_the_hunks_of_the_chosen_author_show_and_nothing_else(
    tmp_path: Path, browser: Any
) -> None:
    page = Page("two", list, {})
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    lines = [f"word {n}" if n in (1, 50) else "" for n in range(1, 60)]
    known = {
        1: (line_authors.build_nobody("person"), "A Person"),
        50: (line_authors.build_nobody("unknown"), ""),
    }
    file: Any = {"path": "one.txt", "old": "one.txt", "edits": [(0, 0, 1, 1), (48, 0, 50, 1)]}
    file |= {"before": [line for line in lines if not line], "after": lines, "authors": known}
    file |= {"sizes": (0, 0)}
    page.add_files(HERE, [file], {})
    (tmp_path / "two.html").write_text(page.format_html("0"))
    for who, number in (("person", "1"), ("unknown", "50")):
        show(browser, tmp_path / "two.html", f"#q=word&who={who}")
        assert text_of(browser, "#tally") == "1 hit"
        browser.execute_script("step(1)")
        assert text_of(browser, "tr.here").endswith(f"word {number}")


def test_a_hit_in_what_was_said_before_a_tool_use_is_brought_into_view(
    shown: Path, browser: Any
) -> None:
    show(browser, shown)
    browser.execute_script("query.value = 'onload=window'; search()")
    answers = browser.execute_script("return hits.filter((hit) => hit.kind === 'answer')")
    browser.execute_script("go(arguments[0])", answers[0]["id"])
    said = browser.find_element("css selector", "#drawer .steps .said")
    assert said.is_displayed() and "{{ 7*7 }}" in said.text


def test_a_hit_in_a_removed_line_leads_to_that_line(tmp_path: Path, browser: Any) -> None:
    page = Page("gone", list, {})
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    before = [f"line {n}" for n in range(1, 301)]
    file: Any = {"path": "one.txt", "old": "one.txt", "edits": [(1, 99, 0, 0), (200, 1, 101, 1)]}
    file |= {"before": before, "after": [*before[99:199], "came", *before[200:]]}
    file |= {"sizes": (0, 0), "authors": {101: (line_authors.build_nobody("person"), "A Person")}}
    page.add_files(HERE, [file], {})
    (tmp_path / "gone.html").write_text(page.format_html("0"))
    for width in (1280, 800):
        metrics = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for line in ("line 98", "line 200"):
            show(browser, tmp_path / "gone.html")
            browser.execute_script("query.value = arguments[0]; search(); step(1)", line)
            assert line in text_of(browser, "tr.here"), width


def test_back_shows_what_was_shown_before(shown: Path, browser: Any) -> None:
    show(browser, shown)
    browser.find_element("css selector", ".whys a").click()
    assert browser.find_element("css selector", "#drawer:not([hidden])")
    browser.execute_script("query.value = 'second'; search(); remember()")
    browser.back()
    assert browser.find_element("css selector", "#drawer[hidden]")
    assert browser.execute_script("return [query.value, here]") == ["", ""]


def test_branches_have_lanes_a_removal_its_remover_and_search_a_file(
    tmp_path: Path, browser: Any
) -> None:
    page = Page("small", list, {})
    history = {"m": "bd", "d": "a", "b": "a", "a": ""}
    for second, (oid, parents) in enumerate(reversed(history.items())):
        named = {"oid": oid * 40, "parents": [one * 40 for one in parents], "time": 1e9 + second}
        told = {"message": oid, "author": "A Person", "date": "", "checkpoints": []}
        page.commits.insert(0, {})  # newest first
        page.add_commit({**named, **told}, {})
        page.commits[0] = page.commits.pop()
    nobody = line_authors.build_nobody("person")
    for name, took in (("one.py", [("person", "A Person")]), ("two.py", [("agent-1", "")])):
        sides = {"before": ["same = 1", "gone = 2"], "after": ["same = 1"]}
        file: Any = {"path": name, "old": name, "edits": [(2, 1, 1, 0)], **sides}
        file |= {"sizes": (0, 0), "authors": {1: (nobody, "A Person")}}
        page.add_files(HERE, [file], {name: took})
    (tmp_path / "small.html").write_text(page.format_html("0"))
    show(browser, tmp_path / "small.html", "#q=same+file:two")
    assert text_of(browser, "#tally") == "1 hit"
    whys = [one.text.split() for one in browser.find_elements("css selector", ".whys .why")]
    assert whys[0] == "Only lines removed by ap A Person".split()
    assert whys[1] == f"Only lines removed by A agent {shorten_id('agent-1')}".split()
    browser.execute_script("fill(chart)")
    heights = browser.execute_script(
        "return [...document.querySelectorAll('path.commit')].map((one) => one.getBBox().y)"
    )
    assert [height > heights[0] for height in heights] == [False, True, False, False]
    assert len(browser.find_elements("css selector", "path.descent")) == 3


def test_images_are_shown_up_to_a_size_and_never_fetched(tmp_path: Path, browser: Any) -> None:
    pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    pictures: list[tuple[str, str]] = [
        ("image/gif", pixel),
        ("image/gif", "https://example.com/a.gif"),
        ("image/svg+xml", "PHN2Zz4="),
        ("image/png", "AAAA" * 100_001),
        ("image/png", images.MARK.decode() + "0" * 64),
        ("image/png", images.DOT[1].decode()),
    ]
    parts = [{"kind": "image", "type": kind, "data": data} for kind, data in pictures]
    turn = {"number": 1, "prompt": "Look", "start": "", "end": "", "ticks": [], "spent": None}
    story: dict[str, Any] = {
        "session_id": "s",
        "agent": "Claude Code",
        "model": "",
        "tokens": None,
        "resume": "",
    }
    story |= {"cost": None, "prices": ""}
    page = Page("pictures", list, {})
    page.add_sessions([{**story, "turns": [{**turn, "parts": parts}]}])
    commit = {"oid": "c" * 40, "message": "m", "author": "a", "date": "", "time": 1e9}
    page.add_commit({**commit, "checkpoints": []}, {})
    (tmp_path / "pictures.html").write_text(page.format_html("0"))
    show(browser, tmp_path / "pictures.html")
    browser.execute_script("fillAll()")
    loaded = "return [...document.images].map((one) => [one.naturalWidth, one.src.slice(0, 14)])"
    assert browser.execute_script(loaded) == [[1, "data:image/gif"]]
    assert text_of(browser, "#turns").count("not shown") == 3
    assert text_of(browser, "#turns").count("gitcp.images leaves out") == 2
    assert browser.get_log("browser") == []
