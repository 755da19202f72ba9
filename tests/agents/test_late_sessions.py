"""Sessions whose prompt did not reach us, and tools that speak in our own records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.agents import other
from gitcp.errors import InputError
from tests.support.harness import World
from tests.support.paths import ENTRY

RECORD = {"type": "event", "event": "turn-start", "agent": "x", "session_id": "s1", "cwd": "/r"}


def event(world: World, name: str, cwd: Path, **payload: object) -> None:
    """A hook of Claude Code that was started in the world's repository."""
    given = {"session_id": "late", "cwd": str(cwd), "hook_event_name": name, **payload}
    given["transcript_path"] = str(world.home / "late.jsonl")
    env = {**os.environ, **world.env, "CLAUDE_PROJECT_DIR": str(world.path)}
    argv = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", name]
    subprocess.run(argv, cwd=cwd, env=env, input=json.dumps(given), text=True, check=True)


def wrote(path: Path) -> dict[str, Any]:
    given = {"file_path": str(path), "content": "late\n"}
    return {"tool_name": "Write", "tool_input": given, "tool_use_id": "t1"}


def test_a_session_that_began_before_us_is_recorded_from_its_first_tool_call(world: World) -> None:
    call = wrote(world.path / "late.txt")
    event(world, "PreToolUse", world.path, **call)
    world.write("late.txt", "late\n")
    event(world, "PostToolUse", world.path, **call)
    event(world, "Stop", world.path)
    assert world.state("late")["files_touched"] == ["late.txt"]
    assert len(world.commit()) == 1


def test_what_it_was_asked_last_is_read_from_its_transcript(world: World) -> None:
    said = ({"role": "user", "content": text} for text in ("Do part 1", "Do part 2"))
    lines = [json.dumps({"type": "user", "message": message}) + "\n" for message in said]
    transcript = world.home / "late.jsonl"
    transcript.write_text("".join(lines))
    event(world, "PreToolUse", world.path, **wrote(world.path / "late.txt"))
    assert [turn["prompt"] for turn in world.state("late")["turns"].values()] == ["Do part 2"]


def test_a_call_that_starts_a_subagent_begins_it_too(world: World) -> None:
    task = {"tool_name": "Agent", "tool_input": {"prompt": "do it"}, "tool_use_id": "t0"}
    event(world, "PreToolUse", world.path, **task)
    world.write("late.txt", "late\n")
    event(world, "PostToolUse", world.path, **task, tool_response={"agentId": "a1"})
    event(world, "Stop", world.path)
    assert world.state("late")["worktree_path"] == str(world.path)


def test_a_tool_call_elsewhere_begins_nothing_there(
    world: World, tmp_path: Path, template: Path
) -> None:
    there = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "-q", str(template), str(there)], check=True)
    event(world, "PreToolUse", there, **wrote(there / "late.txt"))
    assert not (there / ".git" / "entire-sessions").exists()
    assert world.state("late")["worktree_path"] == str(world.path)


def test_a_subagent_or_a_stop_of_an_unknown_session_begins_nothing(world: World) -> None:
    event(world, "PreToolUse", world.path, agent_id="a1", **wrote(world.path / "late.txt"))
    event(world, "Stop", world.path)
    event(world, "SessionEnd", world.path, reason="other")
    assert world.state("late") == {}


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("event", {"event": "post-commit"}),
        ("event", {"event": ""}),
        ("agent", {"agent": ""}),
        ("agent", {"agent": "a\nb"}),
        ("agent", {"agent": "a" * 61}),
        ("agent", {"agent": 3}),
        ("session_id", {"session_id": "../x"}),
        ("cwd", {"cwd": "relative"}),
        ("agent_id", {"agent_id": "a/b"}),
        ("prompt", {"prompt": 3}),
        ("tool", {"tool": "write"}),
        ("kind", {"tool": {"kind": "magic"}}),
        ("input_paths", {"tool": {"kind": "write", "input_paths": "a"}}),
        ("input_paths", {"tool": {"kind": "write", "input_paths": [3]}}),
        ("tool_use_id", {"tool": {"kind": "write", "id": "a/../b"}}),
    ],
)
def test_a_record_with_a_field_that_cannot_be_right_is_refused_by_name(
    field: str, more: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"'{field}'"):
        other.check_event({**RECORD, **more}, "/here")


def test_a_record_is_taken_as_an_event_and_what_is_unknown_in_it_left_out() -> None:
    tool = {"id": "t1", "kind": "write", "input_paths": ["a", "/b/./c"], "odd": 1}
    given = {**RECORD, "event": "tool-end", "cwd": None, "odd": 1, "turn": "p1", "tool": tool}
    assert other.check_event(given, "/here") == {
        "type": "event",
        "event": "tool-end",
        "agent": "x",
        "session_id": "s1",
        "cwd": "/here",
        "notification": False,
        "turn": "p1",
        "tool": {
            "name": "write",
            "id": "t1",
            "kind": "write",
            "input_paths": ["/here/a", "/b/c"],
            "failed": False,
        },
    }


def test_a_record_that_cannot_be_right_is_named_and_those_after_it_are_taken(world: World) -> None:
    begun = {"event": "turn-start", "agent": "x", "session_id": "s1", "prompt": "go"}
    lines = [json.dumps(begun), "{", json.dumps({**begun, "session_id": "../s"})]
    lines += [json.dumps({**begun, "event": "turn-end"})]
    argv = [sys.executable, "-I", "-S", str(ENTRY), "event"]
    told = {"input": "\n".join(lines), "text": True, "stderr": subprocess.PIPE}
    done = subprocess.run(argv, cwd=world.path, check=True, **told)  # type: ignore[call-overload]
    assert [line[:15] for line in done.stderr.splitlines()] == ["warning: event:"] * 2
    assert world.state("s1")["phase"] == "idle"
