"""A command of Codex that runs on after its call has answered: the rollout tells when it ends."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import pytest

from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, end
from tests.support.clients.matchers import Installed
from tests.support.clients.process import start_sleeper
from tests.support.harness import Agent, World

SESSION = "01a203cc-73f1-7bb2-b9d7-ef9818a11be7"
CALL = "call_0e6741cbf1d441968ab2c051e1bda4dc"
RUNNING = "Wall time: 0.2514 seconds\nProcess running with session ID 45592\nOutput:\n"


class Codex:
    """A session of Codex: its hooks as they are installed, its rollout as the client writes it."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.gitcp("enable", "--agent", "codex")
        self.hooks = Installed("codex", world.path, world.home)
        self.rollout = world.home / "rollout.jsonl"
        self.rollout.parent.mkdir(parents=True, exist_ok=True)
        self.say("session_meta", {"id": SESSION, "cwd": str(world.path)})
        self.event("SessionStart", source="startup")
        self.event("UserPromptSubmit", turn_id="turn-1", prompt="build it")

    def say(self, kind: str, payload: dict[str, Any]) -> None:
        """A line of the rollout."""
        now = time.time()
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        stamp = f"{second}.{int(now % 1 * 1000):03d}Z"
        with self.rollout.open("a") as f:
            f.write(json.dumps({"timestamp": stamp, "type": kind, "payload": payload}) + "\n")

    def event(self, name: str, tool: str | None = None, **more: Any) -> None:
        payload = {
            "session_id": SESSION,
            "transcript_path": str(self.rollout),
            "cwd": str(self.world.path),
            "hook_event_name": name,
            **({"tool_name": tool} if tool else {}),
            **more,
        }
        for command in self.hooks(name, tool):
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=self.world.path,
                env=os.environ,
                input=json.dumps(payload),
                capture_output=True,
                text=True,
            )
            assert (done.returncode, done.stderr) == (0, ""), done

    def shell(self, command: str) -> None:
        """A command that is still running when its call answers: no PostToolUse comes."""
        given = {"command": command}
        self.event("PreToolUse", "Bash", tool_input=given, tool_use_id=CALL, turn_id="turn-1")
        output = {"type": "function_call_output", "call_id": CALL, "output": RUNNING}
        self.say("response_item", output)

    def ends(self) -> None:
        """The command itself ends, by the rollout."""
        time.sleep(0.002)  # it tells milliseconds
        item = {"type": "CommandExecution", "id": CALL, "process_id": "45592", "exit_code": 0}
        self.say("event_msg", {"type": "item_completed", "item": item})
        time.sleep(0.05)

    def stop(self) -> None:
        self.event("Stop", turn_id="turn-1", stop_hook_active=False)


@pytest.fixture
def codex(world: World) -> Codex:
    return Codex(world)


@pytest.mark.parametrize("when", ["before it ends", "after it ended", "after the turn"])
def test_what_a_command_of_codex_writes_after_its_call_answered_is_the_sessions(
    world: World, codex: Codex, when: str
) -> None:
    codex.shell("make >built.txt")
    time.sleep(0.05)
    world.write("made.txt", text(1, 2))
    if when != "before it ends":
        codex.ends()
    if when == "after the turn":
        codex.stop()
    world.commit("made.txt")
    assert shares(world) == {SESSION: 2}


@pytest.mark.parametrize("when", ["in the turn", "after the turn"])
def test_after_a_command_of_codex_has_ended_by_the_rollout_the_work_is_the_persons(
    world: World, codex: Codex, when: str
) -> None:
    codex.shell("make >built.txt")
    world.write("built.txt", text(1))
    codex.ends()
    if when == "after the turn":
        codex.stop()
    world.write("mine.txt", text(2))
    world.commit("mine.txt", "built.txt")
    assert shares(world) == {SESSION: 1, "person": 1}


def test_a_command_of_codex_that_runs_past_its_turn_ends_where_the_rollout_says(
    world: World, codex: Codex, child: list[subprocess.Popen[bytes]]
) -> None:
    codex.shell("make >built.txt")
    env = {**os.environ, "CODEX_SESSION_ID": SESSION}
    child.append(start_sleeper(world.path, env))
    codex.stop()
    world.write("built.txt", text(1, 2))
    child[0].kill()
    child[0].wait()
    codex.ends()
    world.write("mine.txt", text(3))
    world.commit("mine.txt", "built.txt")
    assert shares(world) == {SESSION: 2, "person": 1}


@pytest.mark.parametrize("first", ["codex", "claude"])
def test_a_patch_beside_another_sessions_edit_of_the_file_is_told_by_its_hunks(
    world: World, a: Agent, first: str
) -> None:
    world.write("f.txt", text(1, 2, 3))
    world.commit("f.txt")
    codex = Codex(world)
    own, its = "the session's own line\n", "a line of Codex\n"
    patch = f"*** Begin Patch\n*** Update File: f.txt\n@@\n {text(3)}+{its}*** End Patch\n"
    about = {"tool_input": {"command": patch}, "tool_use_id": CALL, "turn_id": "turn-1"}
    a.prompt("write a line")
    edit = {"old_string": text(1), "new_string": text(1) + own}
    call = begin(a, "Edit", file_path=str(world.path / "f.txt"), **edit)
    codex.event("PreToolUse", "apply_patch", **about)
    world.write("f.txt", text(1) + own + text(2, 3))
    world.write("f.txt", text(1) + own + text(2, 3) + its)
    for ending in ("codex", "claude") if first == "codex" else ("claude", "codex"):
        if ending == "codex":
            codex.event("PostToolUse", "apply_patch", tool_response="Exit code: 0\n", **about)
        else:
            end(a, call, {})
    a.stop()
    codex.stop()
    world.commit("f.txt")
    assert shares(world) == {a.sid: 1, SESSION: 1}
