"""What a subagent did, in the turn that started it: from the recorded client's own checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.repo import Repo
from gitcp.store.git.objects import Objects
from gitcp.store.page import gather
from tests.page.browser import needs_browser, opened
from tests.support.recorded import Recorded


@pytest.fixture
def delegated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """A repository whose commits the recorded client's two parallel subagents worked for."""
    repo = Recorded(tmp_path, "claude-code", "subagent")
    repo.play()
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "beta")
    monkeypatch.chdir(repo.path)
    return repo


def below(delegated: Recorded) -> list[tuple[str, list[str]]]:
    """The tasks of the page's sessions: what was asked, and what was called for it."""
    repo = Repo.find(str(delegated.path))
    with Objects(repo) as objects:
        [session] = gather.sessions(repo, objects, gather.commits(repo, objects, "HEAD~2..HEAD"))
    parts = [part for turn in session["turns"] for part in turn["parts"] if "task" in part]
    return [
        (json.loads(part["given"])["prompt"], [one.get("name", "") for one in part["task"]])
        for part in parts
    ]


@needs_browser
def test_what_subagents_did_is_nested_in_the_turn_whichever_commit_they_worked_for(
    delegated: Recorded, browser: Any
) -> None:
    assert below(delegated) == [
        ("Do SUBTASK-ALPHA now", ["", "Write", "Bash", ""]),
        ("Do SUBTASK-BETA now", ["", "Write", ""]),
    ]
    opened(browser, "HEAD~2..HEAD")
    for folded in ("#turns > details > summary", "#turns div > details.call > summary"):
        for one in browser.find_elements("css selector", folded):
            one.click()
    alpha, beta = browser.find_elements("css selector", "#turns details.call > .task")
    for task, name in ((alpha, "alpha"), (beta, "beta")):
        lines = task.text.splitlines()
        assert lines[0] == "Subagent" and lines[1] == f"Sub {name} writes."
        assert f"Write sub_{name}.txt" in lines, "its calls, by paths as commits have them"
