"""Tool calls of an agent, whose hooks are run as its client runs those that are installed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.clients import matchers
from tests.support.harness import Agent
from tests.support.paths import ENTRY

_IDS = count(1)


def hook(agent: Agent, event: str, tool: str, **payload: Any) -> None:
    """Run what the client's settings name for an event of a tool, if they name anything."""
    top = agent.world.path / ".claude"
    settings = [top / "settings.json", top / "settings.local.json"]
    given = {
        "session_id": agent.sid,
        "transcript_path": str(agent.transcript),
        "cwd": str(agent.cwd),
        "hook_event_name": event,
        "tool_name": tool,
        **payload,
    }
    for command in matchers.commands(settings, event, tool):
        # What the line does where gitcp is no longer there, tests/setup tries.
        *_, python, entry, client, name = shlex.split(command)
        assert (python, entry) == (warm.python(), str(ENTRY)), command
        said = json.dumps(given).encode()
        done = warm.hook([client, name], agent.cwd, _environment(agent), said)
        assert (done.returncode, done.stderr) == (0, b""), done


def _environment(agent: Agent) -> dict[str, str]:
    named = {"CLAUDE_PID": str(agent.pid), "CLAUDE_CODE_SESSION_ID": agent.sid}
    return {**os.environ, **named, **agent.world.env}


def begin(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call's start, in the transcript and to the hooks; what end() takes."""
    call = {"tool_input": arguments, "tool_use_id": f"toolu_{next(_IDS)}"}
    agent.answer(
        [{"type": "tool_use", "id": call["tool_use_id"], "name": tool, "input": arguments}]
    )
    hook(agent, "PreToolUse", tool, **call)
    return {"tool": tool, **call}


def end(agent: Agent, call: dict[str, Any], response: object = None, **more: Any) -> None:
    """The call's end, with its result in the transcript."""
    result(agent, call)
    hook(agent, "PostToolUse", **call, tool_response=response or {}, **more)


def result(agent: Agent, call: dict[str, Any], text: str = "") -> None:
    """What the transcript tells of a call's end, or of its interruption, with the time."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
    part = {"type": "tool_result", "tool_use_id": call["tool_use_id"], "content": text}
    agent.say({"type": "user", "timestamp": stamp, "message": {"role": "user", "content": [part]}})


def run(agent: Agent, command: str, **more: Any) -> None:
    """A shell call from its start to its end; the command sees the session's environment."""
    call = begin(agent, "Bash", command=command)
    done = subprocess.run(
        ["sh", "-c", command], cwd=agent.cwd, env=_environment(agent), capture_output=True
    )
    assert done.returncode == 0, done
    end(agent, call, {"stdout": done.stdout.decode(), "stderr": ""}, **more)


def edit(agent: Agent, path: str, text: str, tool: str = "Write") -> None:
    """A file tool's call that leaves text at path."""
    call = begin(agent, tool, file_path=str(agent.cwd / path))
    target = Path(agent.cwd / path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    end(agent, call)
