"""Where there is no /proc, as on a Mac, `ps` tells of processes; what it does not is unknown."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support import mac
from tests.support.harness import Agent, Json, World


@pytest.fixture
def away(world: World) -> World:
    """A world whose git, hooks and commands run without /proc."""
    world.via, world.env["COLD"] = (mac.HIDE,), "1"  # a warm hook has the /proc of its server
    return world


@pytest.fixture
def blind(away: World) -> World:
    """One where ps is refused, too."""
    away.env["BLIND"] = "1"
    return away


@pytest.mark.thorough
def test_a_turn_and_its_commit_are_linked(away: World) -> None:
    agent = away.agent("s", tools=True)
    agent.turn("write", {"a.txt": "one\n"})
    assert agent.state["agent_process"]["pid"] == agent.pid
    assert away.commit("a.txt")


@pytest.mark.thorough
def test_a_dry_push_sends_nothing(away: World) -> None:
    bare = away.share()
    away.agent("s", tools=True).turn("write", {"a.txt": "one\n"})
    away.commit("a.txt")
    away.git("push", "-q", "--dry-run", "origin", "main")
    assert "entire" not in away.git("-C", str(bare), "for-each-ref")
    away.git("push", "-q", "origin", "main")
    assert "entire" in away.git("-C", str(bare), "for-each-ref")


@pytest.mark.thorough
def test_where_a_dry_push_is_not_seen_nothing_is_sent(blind: World) -> None:
    bare = blind.share()
    blind.agent("s", tools=True).turn("write", {"a.txt": "one\n"})
    blind.commit("a.txt")
    for option in ("--dry-run", "--no-signed"):
        blind.git("push", "-q", option, "origin", "main", warns="cannot see whether")
        assert "entire" not in blind.git("-C", str(bare), "for-each-ref")
    blind.gitcp("push")
    assert "entire" in blind.git("-C", str(bare), "for-each-ref")


@pytest.mark.thorough
@pytest.mark.parametrize("words", [("--amend", "-m", "new"), ("-m", "new text", "--amend")])
def test_an_amend_with_a_message_keeps_its_link(away: World, words: tuple[str, ...]) -> None:
    away.agent("s", tools=True).turn("write", {"a.txt": "one\n"})
    ids = away.commit("a.txt")
    away.git("commit", "-q", *words)
    assert away.git("log", "-1", "--format=%B%N", "--notes=gitcp").count(ids[0]) == 1


def _begin(agent: Agent, call: str, said: str = "") -> None:
    given = {"file_path": str(agent.cwd / "a.txt"), "content": ""}
    event = agent.event("PreToolUse", tool_name="Write", tool_input=given, tool_use_id=call)
    assert said in event.stderr


@pytest.mark.thorough
def test_the_guard_sees_who_is_at_work_and_who_is_gone(away: World) -> None:
    away.git("config", "gitcp.guard", "deny")
    away.git("config", "gitcp.guard-wait", "0")
    first, second = away.agent("s1"), away.agent("s2")
    first.prompt("begin")
    _begin(first, "t1")
    second.prompt("begin too")
    _begin(second, "t2", "Another session is editing")
    away.kill(first)
    _begin(second, "t3")
    assert "stopped within a prompt" in away.gitcp("doctor", "--fix")
    assert first.state["phase"] == "ended"


@pytest.mark.thorough
def test_an_agent_that_cannot_be_seen_is_not_dead(blind: World) -> None:
    """The guard holds by time, nobody ends the turn, and what it writes is the agent's."""
    blind.git("config", "gitcp.guard", "deny")
    blind.git("config", "gitcp.guard-wait", "0")
    first, second = blind.agent("s1"), blind.agent("s2")
    for agent in (first, second):
        agent.pid = 1  # of which the environment tells nothing
        agent.prompt("begin")
    assert "agent_process" not in first.state
    _begin(first, "t1")
    _begin(second, "t2", "Another session is editing")
    assert "gone" not in blind.gitcp("status")
    with pytest.raises(AssertionError, match="no process can be seen here") as failed:
        blind.gitcp("doctor", "--fix")
    assert "gone" not in str(failed.value)
    assert first.state["phase"] == "active"
    first.write("b.txt", "two\n")
    second.turn("look on")
    first.stop()
    assert blind.commit("b.txt")


@pytest.mark.thorough
def test_what_an_agent_left_running_is_its_own(away: World) -> None:
    agent = away.agent("s", tools=True)
    agent.pid = os.getpid()
    agent.prompt("build in the background")
    tool: Json = {
        "tool_name": "Bash",
        "tool_input": {"command": "build >late.txt &"},
        "tool_use_id": "t1",
    }
    agent.event("PreToolUse", **tool)
    with subprocess.Popen(["cat"], cwd=away.path, stdin=subprocess.PIPE):
        agent.event("PostToolUse", **tool, tool_response={})
        agent.stop()
        away.write("late.txt", "late\n")
        assert away.commit("late.txt")
