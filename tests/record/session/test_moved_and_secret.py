"""What fresh eyes found: a repository that is moved links on, no task tells a secret."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from gitcp.text.short_ids import shorten_id
from tests.support.harness import World

TOKEN = "ghp_" + "a1B2" * 9


def objects(repo: Path) -> bytes:
    """The content of every object of the repository, reachable or not."""
    args = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.check_output(args, cwd=repo)


def test_a_commit_links_after_the_repository_was_moved(world: World, tmp_path: Path) -> None:
    agent = world.agent("s1")
    agent.turn("add a", {"a.txt": "a\n"})
    world.path = world.path.rename(tmp_path / "elsewhere")
    [one] = world.commit("a.txt")
    assert list(world.committed(one)) == ["s1"]


def test_a_session_goes_on_after_the_repository_was_moved(world: World, tmp_path: Path) -> None:
    agent = world.agent("s1")
    agent.turn("add a", {"a.txt": "a\n"})
    world.path = agent.cwd = world.path.rename(tmp_path / "elsewhere")
    assert agent.prompt("add b").said == ""
    agent.write("b.txt", "b\n")
    agent.stop()
    assert agent.state["worktree_path"] == str(world.path)
    assert world.tree(world.branch()) == {"a.txt": "a\n", "b.txt": "b\n"}
    assert shorten_id("s1") in world.gitcp("status")


def test_a_commit_links_after_a_linked_worktree_was_moved(world: World, tmp_path: Path) -> None:
    world.git("worktree", "add", "-q", str(tmp_path / "wt"))
    agent = world.agent("s1", cwd=tmp_path / "wt")
    agent.turn("add a", {"a.txt": "a\n"})
    world.git("worktree", "move", str(tmp_path / "wt"), str(tmp_path / "wt2"))
    assert len(world.commit("a.txt", cwd=tmp_path / "wt2")) == 1


def test_the_words_of_a_task_are_redacted_before_they_are_stored(world: World) -> None:
    agent = world.agent("s1", tools=True)
    agent.prompt("delegate")
    given = {"description": f"try {TOKEN}", "subagent_type": f"dev {TOKEN}", "prompt": "do"}
    tool: dict[str, Any] = {"tool_name": "Task", "tool_use_id": "toolu_t", "tool_input": given}
    agent.event("PreToolUse", **tool)
    todos = [{"content": f"use {TOKEN}", "status": "completed", "activeForm": "Using"}]
    agent.write("a.txt", "a\n")
    agent.event(
        "PostToolUse",
        tool_name="TodoWrite",
        tool_use_id="toolu_u",
        tool_input={"todos": todos},
        tool_response={},
    )
    agent.write("b.txt", "b\n")
    agent.event("PostToolUse", **tool, tool_response={"agentId": "abc", "status": "completed"})
    agent.stop()
    world.commit("a.txt")
    assert TOKEN.encode() not in objects(world.path)
    assert b"REDACTED" in objects(world.path)


def test_a_rule_that_spans_quotes_does_not_break_the_todos(world: World) -> None:
    world.git("config", "gitcp.redact", 'a": "b')
    agent = world.agent("s1", tools=True)
    agent.prompt("plan")
    agent.write("a.txt", "a\n")
    agent.event(
        "PostToolUse",
        tool_name="TodoWrite",
        tool_use_id="toolu_u",
        tool_input={"todos": [{"content": "x", "a": "b", "status": "pending"}]},
        tool_response={},
    )
    assert world.trailer(world.branch(), "Entire-Metadata-Task")[-1].endswith("/tasks/toolu_u")
