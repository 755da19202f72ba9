"""What a subagent did, in the turn that started it: from the recorded client's own checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.page import gather, sessions
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
        wanted = sessions.list_wanted(gather.list_commits(repo, "HEAD~2..HEAD"))
        [session] = sessions.read_sessions(repo, wanted).values()
    parts = [part for turn in session.turns for part in turn["parts"] if "task" in part]
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
    assert page("-o", str(path), "--full", "HEAD~2..HEAD").returncode == 0
    show(browser, path)
    browser.execute_script("document.querySelectorAll('details').forEach((one) => one.open = true)")
    told = browser.find_element("id", "talks").text
    assert "Sub alpha writes." in told
    assert "Write sub_alpha.txt" in told, "as commits have paths"
