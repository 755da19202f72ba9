"""Two tool calls that start at once: one is allowed and one refused, whatever lies between.

LONG=1 runs the rounds in full.  The control is to look and then act: it lets
both through.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from tests.guard.working_copies import Copy
from tests.support.harness import Agent
from tests.support.paths import ENTRY

LONG = bool(os.environ.get("LONG"))
DELAYS = (0, 20, 40, 60, 80, 120) if LONG else (0, 40)  # milliseconds
ROUNDS = 50 if LONG else 2
CONTROL = {
    "git": "git log -1 --format=%B | grep -qF '[Claude Workspace]' && exit 2;"
    " until git commit -q --no-verify --allow-empty -m '[Claude Workspace]'; do sleep .01; done",
    "jj": "jj log --no-graph -r @ -T description | grep -qF '[Claude Workspace]' && exit 2;"
    " jj --quiet new -m '[Claude Workspace]'",
}


def starting(agent: Agent) -> subprocess.Popen[bytes]:
    """The hook of a Write of `same.txt`, started."""
    payload = {
        "session_id": agent.sid,
        "cwd": str(agent.cwd),
        "tool_name": "Write",
        "tool_input": {"file_path": str(agent.cwd / "same.txt"), "content": "x"},
        "tool_use_id": f"toolu_{agent.sid}",
    }
    running = subprocess.Popen(
        [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "PreToolUse"],
        cwd=agent.cwd,
        env={**os.environ, "CLAUDE_PID": str(agent.pid)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert running.stdin is not None
    running.stdin.write(json.dumps(payload).encode())
    running.stdin.close()
    return running


@pytest.mark.parametrize("delay", DELAYS)
def test_of_two_simultaneous_starts_one_is_allowed_and_one_denied(copy: Copy, delay: int) -> None:
    pair = copy.pair()
    for number in range(ROUNDS):
        first, second = pair if number % 2 else pair[::-1]
        one = starting(first)
        time.sleep(delay / 1000)  # the delay that is tried, not a wait for something
        other = starting(second)
        assert sorted([one.wait(), other.wait()]) == [0, 2], f"round {number}"
        (claim,) = copy.claims()
        assert claim["paths"] == ["same.txt"]
        shutil.rmtree(copy.own / "claims")


def test_of_many_simultaneous_starts_one_is_allowed(git_copy: Copy) -> None:
    pair, agents = git_copy.pair(), []
    for number in range(8):
        sid = f"crowd-{number}"
        state = git_copy.store / "entire-sessions"
        told = (state / f"{pair[0].sid}.json").read_text().replace(pair[0].sid, sid)
        (state / f"{sid}.json").write_text(told)
        agents.append(Agent(git_copy, sid, git_copy.path, pair[number % 2].pid))
    running = [starting(agent) for agent in agents]
    assert sorted(one.wait() for one in running) == [0] + [2] * 7


def test_the_control_that_looks_and_then_acts_lets_both_through(copy: Copy) -> None:
    script = CONTROL["jj" if copy.uses_jj else "git"]
    for number in range(50):
        copy.go_to_new(f"round {number}")
        argv = ["sh", "-c", script]
        both = [subprocess.Popen(argv, cwd=copy.path, stderr=subprocess.DEVNULL) for _ in "ab"]
        if [one.wait() for one in both] == [0, 0]:
            return
    pytest.fail("looking and then acting never let both through")
