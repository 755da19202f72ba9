"""A commit to make a page of, and a browser to look at it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.browser import page, started
from tests.extras.page.hostile import HOSTILE, SECRET, SESSION, A
from tests.lines.blame.recorded_lines import linked
from tests.support.checkpoints import git


def say(role: str, content: Any, second: int) -> str:
    stamp = f"2026-01-02T10:00:{second:02d}.000Z"
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{second}", "usage": {"input_tokens": 7, "output_tokens": second}}
    return json.dumps({"type": role, "timestamp": stamp, "message": message})


@pytest.fixture
def hostile(repo: Path, tmp_path: Path) -> Path:
    """A commit whose prompt, answer, tool, file, name, author and message are hostile."""
    odd = repo / "a<b onload=x>.py"
    odd.write_text(f"def f():\n    return '''{HOSTILE}'''\n")
    git("add", "-A")
    git("commit", "-q", "-m", f"<b>{HOSTILE}", "--author", "x \"'& <a@x>")
    edit = {"file_path": odd.name, "old_string": "x", "new_string": HOSTILE}
    call = {"type": "tool_use", "id": "toolu_1", "name": "<u>Edit", "input": edit}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{HOSTILE} {SECRET}" * 9}
    live = tmp_path / "live.jsonl"
    lines = [
        say("user", f"Please {HOSTILE} with {SECRET}", 1),
        say("assistant", [{"type": "text", "text": HOSTILE}, call], 2),
        say("user", [result], 3),
        say("user", "And a second prompt", 30),
        say("assistant", [{"type": "text", "text": "Done."}], 40),
    ]
    live.write_text("\n".join(lines) + "\n")
    linked(A, SESSION, odd.name, [[1, 1, "t1", "toolu_1"], [2, 4, "person", None]], "", live)
    git("branch", "a<b>'x'&")
    git("remote", "add", "origin", "https://github.com/x/<b>'\"&.git")
    return repo


_MADE: dict[str, Path] = {}  # of this worker


def make_pages(request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of the hostile commit by their option, which a worker makes once."""
    if not _MADE:
        request.getfixturevalue("hostile")
        for option in ("", "--full"):
            path = factory.mktemp("page") / "page.html"
            done = page("-o", str(path), *option.split(), "HEAD")
            assert (done.returncode, done.stderr) == (0, ""), done
            _MADE[option] = path
    return _MADE


@pytest.fixture
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the hostile commit."""
    return make_pages(request, tmp_path_factory)[""]


@pytest.fixture
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the hostile commit with its conversation."""
    return make_pages(request, tmp_path_factory)["--full"]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with started(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def browser(driver: Any) -> Iterator[Any]:
    """A window of the browser's own, which nothing has been shown or set in."""
    home = driver.current_window_handle
    driver.switch_to.new_window("window")
    driver.get_log("browser")
    yield driver
    driver.close()
    driver.switch_to.window(home)
