"""Work that goes on after its call, of a client whose commands do not know their session."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import parse_lines
from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, edit, end
from tests.support.clients.matchers import Installed
from tests.support.clients.process import start_sleeper
from tests.support.harness import Agent, World
from tests.support.linking import sound

SESSION = "0a1b2c3d-0000-4000-8000-000000000000"


class Gemini:
    """A session of Gemini CLI: this process, whose hooks are those that are installed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hooks = Installed("gemini-cli", world.path, world.home)
        self.transcript = world.home / "session.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.write_text(json.dumps({"sessionId": SESSION, "projectHash": "p"}) + "\n")

    def event(self, name: str, tool: str | None = None, **more: Any) -> None:
        payload = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.world.path),
            "hook_event_name": name,
            **({"tool_name": tool} if tool else {}),
            **more,
        }
        commands = self.hooks(name, tool)
        assert commands, f"no hook for {name}"
        for command in commands:
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=self.world.path,
                env={**os.environ, "GEMINI_SESSION_ID": SESSION},
                input=json.dumps(payload),
                capture_output=True,
                text=True,
            )
            assert (done.returncode, done.stderr) == (0, ""), done

    def shell(self, command: str, runs: list[subprocess.Popen[bytes]] | None = None) -> None:
        """A call that the client leaves running: its end comes at once.  runs: takes the process
        that goes on, with what such a client's children have in their environment."""
        given = {"command": command, "is_background": True}
        self.event("BeforeTool", "run_shell_command", tool_input=given)
        if runs is not None:
            environ = {"PATH": os.environ["PATH"], "GEMINI_CLI": "1"}
            runs.append(start_sleeper(self.world.path, environ))
        response = {"llmContent": "Command moved to background (PID: 77)", "returnDisplay": ""}
        self.event("AfterTool", "run_shell_command", tool_input=given, tool_response=response)


def gemini(world: World) -> Gemini:
    world.gitcp("enable", "--agent", "gemini-cli")
    session = Gemini(world)
    session.event("SessionStart", source="startup")
    session.event("BeforeAgent", prompt="build in the background")
    return session


def building(world: World, child: list[subprocess.Popen[bytes]]) -> Gemini:
    """A session whose turn is over, and whose shell goes on and has written a file."""
    session = gemini(world)
    session.shell("./build >built.txt", child)
    session.event("AfterAgent", prompt_response="It runs.")
    world.write("built.txt", text(1, 2))
    return session


@pytest.mark.linux  # ps tells no directories: a git that the test itself runs is the session's
def test_what_a_background_shell_of_gemini_writes_after_the_turn_is_the_sessions(
    world: World, child: list[subprocess.Popen[bytes]]
) -> None:
    session = building(world, child)
    world.write("README.md", world.read("README.md") + "by hand, meanwhile\n")
    assert world.commit("README.md") == [], "an old path that the call does not name"
    world.commit("built.txt")
    assert shares(world) == {SESSION: 2}
    child[0].kill()
    child[0].wait()
    session.event("BeforeAgent", prompt="anything else")
    session.event("AfterAgent", prompt_response="No.")
    world.write("later.txt", text(3))
    assert world.commit("later.txt") == []


def test_a_background_shell_that_has_ended_claims_nothing_after_its_turn(world: World) -> None:
    session = gemini(world)
    session.shell("./build >built.txt")
    session.event("AfterAgent", prompt_response="It ran.")
    world.write("mine.txt", text(1, 2))
    assert world.commit("mine.txt") == []


def test_a_new_file_is_nobodys_where_the_end_of_a_background_shell_is_unknown(
    world: World, child: list[subprocess.Popen[bytes]]
) -> None:
    session = building(world, child)
    child[0].kill()
    child[0].wait()
    world.write("new.txt", text(3))
    session.event("BeforeAgent", prompt="anything else")
    world.commit("built.txt", "new.txt")
    assert shares(world) == {SESSION: 2, "unknown": 1}


def serving(world: World, a: Agent, child: list[subprocess.Popen[bytes]], command: str) -> None:
    """A turn in which the session has written a file and left a server running."""
    a.prompt("start the server")
    edit(a, "own.txt", text(1, 2))
    call = begin(a, "Bash", command=command, run_in_background=True)
    child.append(start_sleeper(world.path, {**os.environ, "CLAUDE_CODE_SESSION_ID": a.sid}))
    end(a, call, {"backgroundTaskId": "bash_1"})


@pytest.mark.parametrize("when", ["in the turn", "after it", "after the session"])
@pytest.mark.parametrize("command", ["npm run dev", "vite web", "watch 'web/*.ts'"])
def test_a_new_file_that_the_person_writes_beside_a_server_is_not_the_sessions(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]], when: str, command: str
) -> None:
    serving(world, a, child, command)
    if when != "in the turn":
        a.stop()
    if when == "after the session":
        a.end()
    world.write("web/new.ts", text(3, 4))
    assert world.commit("web") == []
    world.write("web/more.ts", text(5))
    if when == "in the turn":
        a.stop()
    world.commit()
    assert shares(world) == {a.sid: 2, "unknown": 1}
    sound(world)


def test_what_the_person_changes_that_a_server_reads_is_not_the_sessions(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]]
) -> None:
    world.write("app.py", text(6))
    assert world.commit("app.py") == []
    serving(world, a, child, "python app.py")
    a.stop()
    world.write("app.py", text(6, 7))
    world.commit()
    assert shares(world) == {a.sid: 2, "unknown": 1}
    child[0].kill()
    child[0].wait()
    world.write("app.py", text(6, 7, 8))
    assert world.commit() == []


@pytest.mark.parametrize("command", ["./build >new.txt", "./build"])
def test_a_file_that_a_background_shell_names_is_the_sessions_when_its_client_reports_its_end(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]], command: str
) -> None:
    serving(world, a, child, command)
    a.event("Stop", stop_hook_active=False)
    world.write("new.txt", text(3))
    child[0].kill()
    child[0].wait()
    a.prompt("<task-notification>\n<task-id>bash_1</task-id>\n</task-notification>")
    a.stop()
    world.commit()
    assert shares(world) == ({a.sid: 3} if "new" in command else {a.sid: 2, "unknown": 1})


def test_a_task_that_the_client_reports_as_running_goes_on_after_its_turn(
    world: World, a: Agent
) -> None:
    def list_late() -> list[bool]:
        """Whether each call goes on after its turn."""
        lines = parse_lines((world.path / ".git/gitcp/journal").read_bytes())
        return [call.is_running and call.is_late for call in credit.list_calls(lines)]

    a.prompt("build it")
    for number in (1, 2):
        end(
            a,
            begin(a, "Bash", command="make", run_in_background=True),
            {"backgroundTaskId": f"b{number}"},
        )
    running = {"id": "b1", "status": "running", "command": "make"}
    a.event("Stop", stop_hook_active=False, background_tasks=[running])
    assert list_late() == [True, False]
    a.prompt("go on")
    a.stop()
    assert list_late() == [False, False]
