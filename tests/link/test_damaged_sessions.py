"""Two sessions in one commit, of which one has damaged data: it keeps back no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broken import Store
from tests.support.checkpoints import forget
from tests.support.harness import Agent, World
from tests.support.paths import TOP
from tests.support.scenes import Scenes

SICK, WELL = "s-sick", "s-well"


def record_two(world: World) -> Agent:
    """A session with work, a subagent's part of it, and another session's beside it."""
    agent = world.agent(SICK)
    agent.prompt("make it")
    agent.write("sick.txt", "1\n")
    call: dict[str, Any] = {
        "tool_name": "Agent",
        "tool_use_id": "toolu_1",
        "tool_input": {"prompt": "go"},
    }
    agent.event("PreToolUse", **call)
    agent.event("PostToolUse", **call, tool_response={"agentId": "a1"})
    agent.stop()
    world.agent(WELL).turn("make that", {"well.txt": "2\n"})
    return agent


@pytest.fixture
def sick(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    yield from scenes.play(record_two, monkeypatch)


@pytest.fixture
def world(sick: Agent) -> World:
    return sick.world


def commit(world: World) -> tuple[str, set[str], list[str]]:
    """Commit everything; the checkpoint's id, the sessions it has, what was warned of."""
    world.git("add", "-A")
    argv = ["git", "commit", "-q", "-m", "both"]
    done = subprocess.run(argv, cwd=world.path, check=True, stderr=subprocess.PIPE, text=True)
    [checkpoint] = world.ids("HEAD")
    at = f"entire/checkpoints/v1:{checkpoint[:2]}/{checkpoint[2:]}"
    known = world.git("rev-parse", "-q", "--verify", at, ok=False)
    stored = set(world.committed(checkpoint)) if known else set()
    return checkpoint, stored, done.stderr.splitlines()


def doctor(world: World) -> str:
    """What `gitcp doctor` finds, whatever its status."""
    argv = [sys.executable, str(TOP / "bin" / "gitcp-doctor"), "--json"]
    return subprocess.run(argv, cwd=world.path, stdout=subprocess.PIPE, text=True).stdout


def unreadable(world: World) -> Path:
    """Make the copy of the session's transcript what nobody can read."""
    path = world.path / f".git/gitcp/transcript/{SICK}.redacted"
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    (path.parent.parent / "corrupt").write_text("nothing can be set aside here\n")
    return path


def mend(path: Path) -> None:
    path.rmdir()
    (path.parent.parent / "corrupt").unlink()
    path.with_suffix(".away").rename(path)


def test_a_session_that_cannot_be_stored_is_left_out_and_stored_at_its_next_event(
    world: World, sick: Agent
) -> None:
    path = unreadable(world)
    checkpoint, stored, warnings = commit(world)
    assert stored == {WELL}
    [warning] = warnings
    assert f"'{SICK}' is left out of its commit" in warning and "File exists" in warning
    assert warning.removeprefix("warning: ") in doctor(world)
    assert world.archives, "its work is kept until it is stored"
    mend(path)
    sick.prompt("go on")
    both = world.committed(checkpoint)
    assert both.keys() == {SICK, WELL} and both[SICK]["files_touched"] == ["sick.txt"]
    assert "make it" in both[SICK]["transcript"]
    assert not sick.state["streams"]


def test_another_session_s_event_stores_what_was_left_out(world: World, sick: Agent) -> None:
    path = unreadable(world)
    checkpoint, stored, _ = commit(world)
    mend(path)
    assert stored == {WELL}
    world.agent("s-new").start()
    assert world.committed(checkpoint).keys() == {SICK, WELL}


def test_the_only_session_that_cannot_be_stored_is_promised(world: World, sick: Agent) -> None:
    world.git("add", "well.txt")
    world.git("commit", "-q", "-m", "well")
    path = unreadable(world)
    checkpoint, stored, warnings = commit(world)
    assert stored == set() and "File exists" in warnings[0]
    mend(path)
    sick.prompt("go on")
    assert world.committed(checkpoint).keys() == {SICK}


@pytest.mark.parametrize("part", ["", "/tasks/toolu_1/checkpoint.json"], ids=["tree", "blob"])
def test_a_session_is_stored_without_the_tasks_that_its_stream_lost(
    world: World, sick: Agent, part: str
) -> None:
    oid = world.git("rev-parse", f"{world.branch()}:.entire/metadata/{SICK}{part}")
    forget(world.path / ".git", oid)
    checkpoint, stored, warnings = commit(world)
    assert stored == {SICK, WELL}
    assert ["are left out: missing" in one for one in warnings] == [True]
    assert world.committed(checkpoint)[SICK]["files_touched"] == ["sick.txt"]
    sick.prompt("go on")


@pytest.mark.parametrize("path", [f"entire-sessions/{SICK}.json", f"gitcp/transcript/{SICK}.json"])
def test_what_can_be_made_again_keeps_neither_back(world: World, sick: Agent, path: str) -> None:
    (world.path / ".git" / path).write_text('{"session_id": 5}')
    checkpoint, stored, warnings = commit(world)
    assert stored == {SICK, WELL} and all("cannot be read" in one for one in warnings)
    assert world.committed(checkpoint)[SICK]["files_touched"] == ["sick.txt"]


def test_relink_stores_what_was_left_out(world: World, sick: Agent) -> None:
    path = unreadable(world)
    checkpoint, stored, _ = commit(world)
    assert stored == {WELL}
    mend(path)
    assert checkpoint in world.gitcp("relink", "--dry-run")
    assert world.committed(checkpoint).keys() == {WELL}
    assert checkpoint in world.gitcp("relink")
    both = world.committed(checkpoint)
    assert both.keys() == {SICK, WELL} and both[SICK]["files_touched"] == ["sick.txt"]
    assert world.gitcp("relink") == ""


def test_fsck_tells_what_was_left_out_and_stores_it(world: World, sick: Agent) -> None:
    path = unreadable(world)
    checkpoint, stored, _ = commit(world)
    assert stored == {WELL}
    told = Store.check_at(world.path, fix=True)  # still damaged: it stays left out
    assert [(f["checkpoint_id"], "repaired" in f) for f in told if f["kind"] == "left-out"] == [
        (checkpoint, False)
    ]
    mend(path)
    assert "left-out" in {f["kind"] for f in Store.check_at(world.path)}
    assert world.committed(checkpoint).keys() == {WELL}
    mended = {f["kind"]: f.get("repaired") for f in Store.check_at(world.path, fix=True)}
    assert mended["left-out"] == "stored it"
    both = world.committed(checkpoint)
    assert both.keys() == {SICK, WELL} and both[SICK]["files_touched"] == ["sick.txt"]
    assert "left-out" not in {f["kind"] for f in Store.check_at(world.path)}
