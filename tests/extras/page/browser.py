"""A real browser, without a window, and a page opened in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
SIZE = "--window-size=1280,900"
needs_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no chromium with its chromedriver"
)


@contextmanager
def started(home: Path) -> Iterator[Any]:
    """A driver whose console is kept; what is folded is waited for, being unpacked on demand."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        SIZE,
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A socket of the browser's lies there, whose path must be short.
    env = {**os.environ, "TMPDIR": "/tmp", "HOME": str(home)}
    service = webdriver.ChromeService(executable_path=DRIVER, env=env)
    driver = webdriver.Chrome(options=options, service=service)
    driver.implicitly_wait(5)
    try:
        yield driver
    finally:
        driver.quit()


def page(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a person does."""
    return warm.run("page", *argv)


def show(browser: Any, path: Path, place: str = "") -> Any:
    """The browser with a page at a place of it, all of which is unpacked."""
    browser.get("about:blank")
    browser.get(f"file://{path}{place}")
    assert browser.find_element("css selector", "html[data-ready=all]")
    return browser


HERE: Any = None  # in place of a repository's objects: the few files of a page need no worker
