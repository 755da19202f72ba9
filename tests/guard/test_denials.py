"""The refusal as each client understands it: status, standard output, standard error.

The recordings of real clients show what came of it: the tool did not run, the model read why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guard.working_copies import A, Copy, post, pre
from tests.support import recording
from tests.support.paths import ENTRY


def hook(copy: Copy, client: str, name: str, payload: dict[str, Any]) -> tuple[int, str, str]:
    env = {**os.environ, "CLAUDE_PID": str(copy.agent("x").pid)}
    argv = [sys.executable, "-I", "-S", str(ENTRY), client, name]
    given = json.dumps(payload).replace("/repo", str(copy.path))
    done = subprocess.run(
        argv, input=given, cwd=copy.path, env=env, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("client", "scenario", "prompt", "start", "tool", "held"),
    [
        ("claude-code", "deny-exit2", "UserPromptSubmit", "PreToolUse", "Write", "denied.txt"),
        ("codex", "deny-exit2", "UserPromptSubmit", "PreToolUse", "apply_patch", "hello.py"),
        ("gemini-cli", "deny-exit2", "BeforeAgent", "BeforeTool", "write_file", "hello.py"),
    ],
)
def test_a_recorded_call_is_denied_in_its_clients_own_way(
    git_copy: Copy, client: str, scenario: str, prompt: str, start: str, tool: str, held: str
) -> None:
    calls = recording.calls(client, scenario)
    (asked,) = [payload for name, payload in calls if name == prompt][:1]
    (payload, *_) = [p for name, p in calls if name == start and p["tool_name"] == tool]
    holder, _ = git_copy.pair()
    assert pre(holder, held).status == 0
    assert hook(git_copy, client, prompt, asked)[0] == 0
    status, out, err = hook(git_copy, client, start, payload)
    assert status == 2
    assert err.startswith("Error: Another session is editing this working copy\n")
    answer = json.loads(out)
    if client == "gemini-cli":
        assert (answer["decision"], answer["reason"] + "\n") == ("deny", err)
    else:
        decision = answer["hookSpecificOutput"]
        assert decision["hookEventName"] == "PreToolUse"
        assert decision["permissionDecision"] == "deny"
        assert decision["permissionDecisionReason"] + "\n" == err
    # Once the path is free the tool runs.
    assert post(holder, held).status == 0
    assert hook(git_copy, client, start, payload)[0] == 0


def test_a_denied_call_is_not_recorded_as_the_sessions_work(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert pre(a, "f.txt").status == 0
    assert pre(b, "f.txt").status == 2
    git_copy.write("f.txt", "by A\n")
    assert post(a, "f.txt").status == 0
    b.stop()
    a.stop()
    assert a.state["files_touched"] == ["f.txt"]
    assert not b.state.get("files_touched")


def test_before_the_first_commit_calls_are_let_through(tmp_path: Path) -> None:
    at = tmp_path / "young"
    at.mkdir()
    young = Copy(at, tmp_path / "home", kind="git")
    young.git("init", "-q", "-b", "main")
    young.gitcp("enable")
    young.set("gitcp.guard", "deny")
    agent = young.agent(A, tools=True)
    agent.prompt("begin")
    agent.write("a.txt", "by A\n")
    agent.stop()
    assert agent.state["files_touched"] == ["a.txt"] and not young.claims()
    young.close()
