"""What the guard costs: nothing when it is off, no process of git on an unchanged HEAD."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.git.jj import locate_answer
from tests.git import traced
from tests.guard.working_copies import Copy, post, pre
from tests.support.harness import Agent
from tests.support.paths import ENTRY

# Has the program of a hook say, at its end, what it imported.
TELLING = """
import posix, sys
leave = posix._exit
def tell(status):
    print(*sys.modules, file=sys.stderr)
    leave(status)
posix._exit = tell
import runpy
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
GUARD = re.compile(r"gitcp\.(?:guard|git\.jj)\b[.\w]*")


def imported(agent: Agent, name: str) -> set[str]:
    """The guard's modules that the hook of a tool event imports."""
    payload = {
        "session_id": agent.sid,
        "cwd": str(agent.cwd),
        "tool_name": "Write",
        "tool_input": {"file_path": str(agent.cwd / "a.txt"), "content": "x"},
        "tool_use_id": "toolu_x",
        "tool_response": {},
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", TELLING, str(ENTRY), "claude-code", name],
        cwd=agent.cwd,
        env={**os.environ, "CLAUDE_PID": str(agent.pid)},
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "gitcp.hook" in done.stderr
    return set(GUARD.findall(done.stderr))


@pytest.mark.parametrize("name", ["PreToolUse", "PostToolUse"])
def test_with_the_guard_off_nothing_of_it_is_imported(git_copy: Copy, name: str) -> None:
    a, _ = git_copy.pair()
    assert "gitcp.guard" in imported(a, name)
    git_copy.set("gitcp.guard", "off")
    assert imported(a, name) == set()


def processes(copy: Copy, agent: Agent, path: str) -> list[str]:
    """The processes of git and jj that the two hooks of one call run."""
    trace = copy.path.parent / f"trace-{path}"
    copy.env["GITCP_TRACE"] = str(trace)
    assert (pre(agent, path).status, post(agent, path).status) == (0, 0)
    del copy.env["GITCP_TRACE"]
    return [line for line in traced.processes(trace) if not line.startswith("ps ")]


def test_on_an_unchanged_head_the_guard_runs_no_process(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    processes(git_copy, a, "first")
    on = processes(git_copy, a, "second")
    git_copy.set("gitcp.guard", "off")
    assert len(on) == len(processes(git_copy, a, "third"))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
def test_jj_is_asked_once_for_each_of_its_operations(
    new_copy: Callable[[str], Copy], kind: str
) -> None:
    copy = new_copy(kind)
    a, _ = copy.pair()

    def asked(path: str) -> int:
        return len([line for line in processes(copy, a, path) if "/jj -R " in line])

    asked("first")
    assert asked("second") == 0
    copy.jj("describe", "-m", "another operation")
    assert (asked("third"), asked("fourth")) == (1, 0)
    kept = Path(locate_answer(str(copy.path)))
    half = kept.read_bytes().replace(b"\0", b"", 1)
    for number, damaged in enumerate((b"", half, b"\xff\0\0\0\0\0")):
        kept.write_bytes(damaged)
        assert asked(f"fifth-{number}") == 1
    kept.unlink()
    os.mkfifo(kept)
    assert (asked("sixth"), asked("seventh")) == (1, 0)


def test_git_is_not_asked_where_only_jj_is(new_copy: Callable[[str], Copy]) -> None:
    copy = new_copy("non-colocated")
    copy.env["GITCP_TRACE"] = str(copy.path.parent / "trace")
    assert pre(copy.pair()[0], "a.txt").status == 0
    assert "rev-parse" not in (copy.path.parent / "trace").read_text()
