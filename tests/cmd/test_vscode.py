"""The extension for VS Code, in an editor that a browser shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.extras.page.browser import needs_browser, started
from tests.support.harness import World
from tests.support.paths import BIN

TOP = Path(__file__).resolve().parents[2]
CODE_SERVER = TOP / "build" / "code-server"
EXTENSION = TOP / "build" / "vscode" / "gitcp.vsix"
WAIT = 120  # s
CODE = "def one():\n    return 1\n"
pytestmark = [pytest.mark.thorough, needs_browser]

# The text of elements, and that after them, which a style sheet holds.
BESIDE = """return [...document.querySelectorAll('.view-line span')]
    .map((one) => getComputedStyle(one, '::after').content)
    .filter((text) => text != 'none').join('\\n')"""
TEXT = "return document.body.innerText.replaceAll('\\u00a0', ' ')"


def start(*args: str, home: Path) -> subprocess.Popen[str]:
    """code-server with a home of its own."""
    (node,) = CODE_SERVER.glob("node_modules/node-*/bin/node")
    entry = CODE_SERVER / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    folders = [f"--user-data-dir={home}/data", f"--extensions-dir={home}/extensions"]
    env = {**os.environ, "HOME": str(home), "TMPDIR": "/tmp"}
    argv = [str(node), str(entry), *folders, *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True)


@contextmanager
def serving(home: Path, command: list[str]) -> Iterator[str]:
    """The address of an editor with the extension, whose program is `command`."""
    settings = home / "data" / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    machine = home / "data" / "Machine" / "settings.json"
    machine.parent.mkdir(parents=True)
    machine.write_text(json.dumps({"gitcp.command": command}))
    settings.write_text(json.dumps({"editor.accessibilitySupport": "off"}))
    install = start("--install-extension", str(EXTENSION), home=home)
    said = install.communicate(timeout=WAIT)[0]
    assert install.returncode == 0, said
    flags = ("--auth=none", "--disable-telemetry", "--disable-update-check")
    trust = ("--disable-workspace-trust", "--bind-addr=127.0.0.1:0")
    server = start(*flags, *trust, home=home)
    assert server.stdout
    try:
        found = None
        for line in server.stdout:
            if found := re.search(r"listening on (http://\S+)", line):
                break
        assert found, "code-server does not start"
        yield found[1].rstrip("/")
    finally:
        server.terminate()
        server.communicate(timeout=WAIT)


def open_file(browser: Any, address: str, world: World, path: str) -> None:
    host = address.removeprefix("http://")
    file = f"vscode-remote://{host}{world.path / path}"
    payload = quote(json.dumps([["openFile", file]]))
    browser.get(f"{address}/?folder={quote(str(world.path))}&payload={payload}")


def wait(browser: Any, script: str, wanted: str) -> None:
    """Wait until a script's text has the words."""
    from selenium.webdriver.support.ui import WebDriverWait

    seen = ""

    def look(driver: Any) -> bool:
        nonlocal seen
        seen = driver.execute_script(script)
        return wanted in seen

    try:
        WebDriverWait(browser, WAIT).until(look)
    except Exception as e:
        raise AssertionError(f"no {wanted!r} in {seen}") from e


def wait_until_gone(browser: Any, path: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, WAIT).until(lambda _: not path.exists(), f"{path} is still there")


def click(browser: Any, text: str) -> None:
    """Click what has this text, as soon as it can be clicked."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support import expected_conditions as until
    from selenium.webdriver.support.ui import WebDriverWait

    place = (By.XPATH, f"//a[normalize-space()='{text}']")
    WebDriverWait(browser, WAIT).until(until.element_to_be_clickable(place)).click()


def hover(browser: Any, text: str) -> None:
    """Show the hover of the first line with this text."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    line = browser.find_element(By.XPATH, f"//*[contains(@class,'mtk') and contains(., '{text}')]")
    ActionChains(browser).move_by_offset(0, 0).move_to_element(line).perform()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    with started(tmp_path / "browser") as driver:
        driver.implicitly_wait(0)
        yield driver


@pytest.fixture
def work(world: World) -> World:
    """A file that a session wrote."""
    a = world.agent("session-a", tools=True)
    a.prompt("Write one")
    a.answer([{"type": "text", "text": "I write the function."}])
    a.write("one.py", CODE)
    a.stop()
    return world


def test_an_editor_shows_authors_opens_the_conversation_and_rewinds(
    work: World, browser: Any, tmp_path: Path
) -> None:
    with serving(tmp_path / "home", [sys.executable, str(BIN / "gitcp")]) as address:
        open_file(browser, address, work, "one.py")
        wait(browser, TEXT, "Claude Code #1 · 2 lines")
        wait(browser, BESIDE, "Claude Code, session session- #1: Write one")
        hover(browser, "return")
        wait(browser, TEXT, "> Write one")
        click(browser, "Open the conversation")
        wait(browser, TEXT, "[Assistant] I write the function.")
        open_file(browser, address, work, "one.py")
        wait(browser, TEXT, "Claude Code #1 · 2 lines")
        hover(browser, "return")
        click(browser, "Rewind to before this prompt")
        wait(browser, TEXT, "Rewind to before this prompt? Claude Code")
        wait(browser, TEXT, "one.py")
        assert (work.path / "one.py").exists()
        click(browser, "Rewind")
        wait_until_gone(browser, work.path / "one.py")


def test_an_editor_shows_why_gitcp_lsp_ended(work: World, browser: Any, tmp_path: Path) -> None:
    failing = ["sh", "-c", "echo 'fatal: an editor is answered with a package' >&2; exit 128"]
    with serving(tmp_path / "home", failing) as address:
        open_file(browser, address, work, "one.py")
        wait(browser, TEXT, "gitcp lsp: fatal: an editor is answered with a package")
