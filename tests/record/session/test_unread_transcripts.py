"""A transcript that is there and cannot be read: the turn's end says so, and doctor names it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.harness import Agent, World
from tests.support.linking import sound


def _loop(path: Path) -> None:
    path.rename(path.with_suffix(".aside"))
    path.symlink_to(path)


def _folder(path: Path) -> None:
    path.rename(path.with_suffix(".aside"))
    path.mkdir()


def _open_again(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        path.rmdir()
    if path.with_suffix(".aside").exists():
        path.with_suffix(".aside").rename(path)
    path.chmod(0o600)


WAYS: dict[str, Callable[[Path], None]] = {"a loop of links": _loop, "a directory": _folder}
if os.geteuid():  # root reads what nobody may
    WAYS["mode 000"] = lambda path: path.chmod(0)


def stopped(a: Agent) -> str:
    """What the person is told at the turn's end, where nothing can be added to the transcript."""
    return a.event("Stop", stop_hook_active=False).said


def complaints(world: World) -> list[str]:
    done = warm.run("doctor", "--json", cwd=world.path)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [one["reason"] for one in found if one["kind"] == "unread-transcript"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_transcript_that_cannot_be_read_is_told_at_the_turn_s_end_and_by_doctor(
    world: World, way: Callable[[Path], None]
) -> None:
    a = world.agent("session-a")
    a.prompt("write")
    a.write("a.py", "a\n")
    way(a.transcript)
    told = stopped(a)
    assert len(told.splitlines()) == 1 and f"the transcript '{a.transcript}'" in told
    assert len(complaints(world)) == 1 and str(a.transcript) in complaints(world)[0]
    world.git("add", "a.py")
    world.git("commit", "-q", "-m", "a", warns="the transcript")
    [one] = world.ids("HEAD")
    _open_again(a.transcript)
    assert not complaints(world)
    a.turn("go on", {"b.py": "b\n"})
    [two] = world.commit("b.py")
    assert "go on" in world.committed(two)["session-a"]["transcript"]
    assert one != two
    sound(world)


def test_a_transcript_that_is_not_there_is_no_complaint(world: World) -> None:
    a = world.agent("session-a")
    a.prompt("write")
    a.write("a.py", "a\n")
    a.transcript.unlink()
    assert stopped(a) == ""
    assert not complaints(world)


def test_a_subagent_s_transcript_that_cannot_be_read_is_told_when_it_ends(world: World) -> None:
    from tests.record.session.subagents import Task

    a = world.agent("session-a", tools=True)
    a.prompt("explore")
    task = Task(a, "alpha").start()
    task.transcript.symlink_to(task.transcript)
    a.event("SubagentStop", agent_id=task.agent, agent_type="dev")
    response = {"agentId": task.agent}
    a.event("PostToolUse", "cannot be read", **task.call, tool_response=response)
