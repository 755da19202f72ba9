"""What a subagent did, in the turn that started it: from the recorded client's own checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.page import gather
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.extras.page.browser import needs_browser, page, show
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
    with Objects(repo):
        [session] = gather.gather_sessions(repo, gather.list_commits(repo, "HEAD~2..HEAD"))
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
    path = delegated.path / "page.html"
    assert page("-o", str(path), "HEAD~2..HEAD").returncode == 0
    show(browser, path)
    calls = browser.execute_script(
        "return [...places].filter(([id, one]) => one.above.length && /^call-/.test(id))"
        ".map(([id]) => id)"
    )
    browser.execute_script("go(arguments[0])", calls[0])
    assert "sub_alpha.txt" in browser.find_element("css selector", "#drawer .task .here").text
    task = browser.find_element("css selector", "#drawer .task").text.splitlines()
    assert task[:2] == ["Subagent", "Sub alpha writes."]
    assert any(line.startswith("Write sub_alpha.txt") for line in task), "as commits have paths"
