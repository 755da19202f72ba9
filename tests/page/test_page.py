"""The page in a real browser: hostile texts stay text, everything can be reached by keyboard."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from gitcp.store.page import highlight
from tests.blame.recorded_lines import linked
from tests.page.browser import needs_browser, opened, page
from tests.page.hostile import SECRET, SESSION, A
from tests.support.checkpoints import git
from tests.support.paths import BIN, TOP

PAGE = TOP / "gitcp" / "store" / "page"


def test_the_page_is_one_file_that_names_nothing_outside_and_holds_no_secret(hostile: Path) -> None:
    assert page("-o", "page.html", "HEAD").stdout.strip() == str(hostile / "page.html")
    text = (hostile / "page.html").read_text()
    assert "http:" not in text and "https:" not in text and " style=" not in text
    assert not any(tag in text for tag in ("<img", "<svg onload", "<b>", "<u>", "<script>window"))
    assert SECRET not in text
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")
    assert "default-src 'none'; base-uri 'none'; form-action 'none'" in text.replace("&#39;", "'")


def test_the_page_goes_into_a_pipe_and_does_not_take_its_place(hostile: Path) -> None:
    pipe = hostile / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert page("-o", "pipe", "HEAD").returncode == 0
        assert reader.communicate()[0].startswith(b"<!")
    assert pipe.is_fifo()


@needs_browser
def test_hostile_texts_stay_texts_in_a_real_browser(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    for one in browser.find_elements("css selector", "details[data-chunk] > summary"):
        one.click()
    for one in browser.find_elements("css selector", "details.call > summary"):
        one.click()
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.images.length") == 0
    body = browser.find_element("css selector", "body").text
    for part in ("<img src=x onerror=window.broken=1>", "{{ 7*7 }}", "⟨U+202E⟩", "<u>Edit"):
        assert part in body, part
    assert SECRET not in browser.page_source
    assert browser.get_log("browser") == []


@needs_browser
def test_lines_have_their_author_and_the_prompt_on_focus(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    file = browser.find_element("css selector", "#files details")
    file.find_element("css selector", "summary").click()
    rows = file.find_elements("css selector", "tr")
    who = [row.find_element("css selector", ".who").text for row in rows]
    assert who[0] == "Claude Code 1f0c5d6e #3" and who[1] == "x \"'&"
    browser.execute_script("arguments[0].focus()", rows[0])
    assert "Count further" in browser.find_element("id", "status").text
    assert rows[0].find_element("css selector", ".k").text == "def"


@needs_browser
def test_everything_can_be_reached_by_keyboard(hostile: Path, browser: Any) -> None:
    from selenium.webdriver import ActionChains, Keys

    opened(browser, "HEAD")

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def focused() -> str:
        return str(browser.execute_script("return document.activeElement.parentElement.id"))

    press(Keys.ARROW_DOWN)
    first = focused()
    assert first.startswith("turn-") and first.endswith("-1")
    press(Keys.ARROW_DOWN)
    assert focused().endswith("-2")
    press(Keys.ARROW_UP, Keys.ENTER)
    opens = "return document.getElementById(arguments[0]).open"
    assert browser.execute_script(opens, first) is True
    press(Keys.ESCAPE)
    assert browser.execute_script(opens, first) is False
    press("/")
    press("second")
    visible = [
        t for t in browser.find_elements("css selector", "#turns details") if t.is_displayed()
    ]
    assert len(visible) == 1 and "second prompt" in visible[0].text
    press(Keys.ESCAPE)
    shown = [t for t in browser.find_elements("css selector", "#turns details") if t.is_displayed()]
    assert len(shown) == 2


@needs_browser
def test_links_lead_to_a_turn_a_commit_and_a_line(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    turn = browser.find_element("css selector", "#turns details").get_attribute("id")
    file = browser.find_element("css selector", "#files details").get_attribute("id")
    for name in (turn, f"commit-{git('rev-parse', 'HEAD')}", f"{file}-2"):
        browser.get("about:blank")
        browser.get(f"file://{hostile}/page.html#{name}")
        target = browser.find_element("id", name)
        assert target.is_displayed(), name


@needs_browser
def test_the_timeline_has_a_lane_blocks_ticks_and_commits(hostile: Path, browser: Any) -> None:
    opened(browser)
    assert len(browser.find_elements("css selector", "#timeline a[href^='#turn-'] rect")) == 2
    assert len(browser.find_elements("css selector", "#timeline .tick")) == 1
    assert len(browser.find_elements("css selector", "#timeline .commit")) == 3
    [branch] = browser.find_elements("css selector", "#timeline a[href^='#commit-'] text")
    assert branch.text == "main"
    labels = browser.find_elements("css selector", "#timeline a[aria-label]")
    assert all(label.get_attribute("aria-label") for label in labels)


@needs_browser
def test_a_narrow_screen_needs_no_sideways_scrolling(hostile: Path, browser: Any) -> None:
    browser.set_window_size(500, 800)
    opened(browser, "HEAD")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    width = "return document.documentElement.scrollWidth"
    assert browser.execute_script(width) <= 360


@needs_browser
def test_printing_unfolds(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    browser.execute_async_script("prepare().then(() => setTimeout(arguments[0], 300))")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    text = browser.find_element("css selector", "#turns").text
    assert "Result" in text and "Done." in text
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    unfolded = "return document.querySelector('#turns > details[open]')"
    assert browser.execute_script(unfolded) is None


def test_a_branch_of_any_name_stays_a_name(hostile: Path) -> None:
    git("branch", "a<b>'x'&")
    text = page("-o", "-", "HEAD").stdout
    assert "a&lt;b&gt;&#39;x&#39;&amp;, main" in text and "<b>" not in text


def test_at_a_terminal_it_says_how_far_it_is(hostile: Path) -> None:
    master, slave = pty.openpty()
    argv = [sys.executable, str(BIN / "gitcp"), "page", "-o", "x.html", "HEAD"]
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=slave, check=True)
    seen = os.read(master, 65536).decode()
    assert all(word in seen for word in ("sessions: 0 of 1", "files: 0 of 1"))
    assert seen.endswith("\x1b[K"), "nothing of it stays"


def test_each_turn_tells_its_tokens(hostile: Path) -> None:
    text = page("-o", "-", "HEAD").stdout
    facts = re.findall(r'<summary>.*?<span class="soft">(.*?)</span></summary>', text, re.S)
    assert [fact.partition(" s, ")[2] for fact in facts[:2]] == [
        "7 tokens in, 2 out, 1 request",
        "7 tokens in, 40 out, 1 request",
    ]


def test_a_checkpoint_a_session_and_a_range_are_found_and_nothing_else(hostile: Path) -> None:
    for name in (A, SESSION[:8], "HEAD~1..HEAD", "HEAD"):
        assert page("-o", "-", name).stdout.count("<article") == 1, name
    assert page("-o", "-").stdout.count("<article") == 3
    for name, words in (("nothing", "nothing"), ("HEAD..HEAD", "no commits")):
        done = page("-o", "x.html", name)
        assert (done.returncode, done.stdout) == (128, "") and words in done.stderr
        assert not (hostile / "x.html").exists()


def test_a_session_is_not_taken_for_one_whose_id_begins_like_it(hostile: Path) -> None:
    (hostile / "other").write_text("other\n")
    git("add", "-A")
    git("commit", "-q", "-m", "other work")
    linked("c" * 12, f"{SESSION}-again", "other", None)
    shown = page("-o", "-", f"{SESSION}-again").stdout
    assert shown.count("<article") == 1 and "other work" in shown
    assert "other work" not in page("-o", "-", A).stdout
    assert "other work" not in page("-o", "-", SESSION).stdout


def test_without_the_template_engine_one_line_says_how_to_get_it(hostile: Path) -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None; sys.argv = ['gitcp', 'page', '-o', '-'];"
        "from gitcp import __main__; sys.exit(__main__.main())"
    )
    env = {**os.environ, "PYTHONPATH": str(BIN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 128
    assert done.stderr == (
        "fatal: pages are made with Jinja2 and Pygments: install gitcp with its extra 'page'\n"
    )


def test_its_script_is_short_and_makes_no_markup() -> None:
    script, template = ((PAGE / name).read_text() for name in ("page.js", "page.html"))
    assert script.count("\n") < 400
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("):
        assert word not in script
    assert not re.search(r"\son\w+=|\sstyle=|\bsrc=|\|\s*safe", template)


def test_what_is_longer_than_256_kib_stays_plain() -> None:
    line = "def f(): pass  # a comment"
    assert highlight.highlighted("a.py", [line])[0][0] == ["k", "def"]
    many = [line] * (highlight.LARGEST // (len(line) + 1) + 1)
    assert highlight.LARGEST == 256 * 1024
    assert highlight.highlighted("a.py", many) == [[["", line]]] * len(many)
    assert highlight.highlighted("a.nothing-known", [line, ""]) == [[["", line]], []]
