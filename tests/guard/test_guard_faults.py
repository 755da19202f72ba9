"""The guard's own faults stop nobody: damaged claims, full disks, places that cannot be written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import Any

from tests.guard.working_copies import Copy, post, pre
from tests.support.harness import Agent
from tests.support.paths import ENTRY


def one_line(done: Any) -> str:
    assert done.status == 0, done
    (line,) = done.stderr.splitlines()
    return str(line)


def warned(agent: Agent, name: str, **more: Any) -> Any:
    tool = {"tool_input": {"file_path": str(agent.cwd / "a.txt")}, "tool_use_id": "toolu_x"}
    return agent.event(name, "warning: ", tool_name="Write", **tool, **more)


def test_a_setting_that_is_none_is_named_and_the_default_holds(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    git_copy.set("gitcp.guard", "sometimes")
    assert "'gitcp.guard = sometimes'" in a.start().said
    assert pre(a, "a.txt").status == 0


def test_a_place_that_cannot_be_written_stops_nobody(git_copy: Copy) -> None:
    """A full disk, a read-only git directory: a file where the folder should be is like them."""
    a, b = git_copy.pair()
    (git_copy.own / "claims").write_text("in the way")
    assert "the guard could not check this" in one_line(warned(a, "PreToolUse"))
    assert "the guard could not check this" in one_line(warned(b, "PreToolUse"))


def test_a_full_disk_stops_nobody(git_copy: Copy) -> None:
    """No file can grow: what a full disk does to whoever writes."""
    a, b = git_copy.pair()
    assert pre(b, "b.txt").status == 0
    files = git_copy.claims()
    payload = {
        "session_id": a.sid,
        "cwd": str(a.cwd),
        "tool_name": "Write",
        "tool_input": {"file_path": str(a.cwd / "a.txt")},
        "tool_use_id": "toolu_x",
    }
    argv = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "PreToolUse"]
    done = subprocess.run(
        argv,
        input=json.dumps(payload).encode(),
        cwd=a.cwd,
        env={**os.environ, "CLAUDE_PID": str(a.pid)},
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert done.returncode == 0
    lines = [line for line in done.stderr.decode().splitlines() if "the guard" in line]
    assert len(lines) == 1
    assert git_copy.claims() == files


def test_a_git_directory_in_which_no_lock_can_be_taken_stops_nobody(git_copy: Copy) -> None:
    """As in one that is read-only."""
    a, _ = git_copy.pair()
    folder = git_copy.path / ".git" / "gitcp" / "lock"
    folder.rename(git_copy.path / "was-lock")
    folder.write_text("in the way")
    done = warned(a, "PreToolUse")
    assert done.status == 0
    assert git_copy.claims() == []


def test_a_killed_tool_start_or_a_claim_cut_short_leaves_nothing_that_holds(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert pre(a).status == 0
    (claim,) = git_copy.claims()
    path = git_copy.own / "claims" / claim["key"]
    without_process = {key: value for key, value in claim.items() if key != "process"}
    odd = [b"", path.read_bytes()[:40], b"null", b"\xff\xfe", json.dumps(without_process).encode()]
    for half in odd:
        path.write_bytes(half)
        assert "kept as" in one_line(warned(b, "PreToolUse"))
        assert post(b).status == 0
    os.mkfifo(path)
    assert "kept as" in one_line(warned(b, "PreToolUse"))
    assert post(b).status == 0
    aside = git_copy.path / ".git" / "gitcp" / "corrupt"
    assert len(list(aside.iterdir())) == len(odd) + 1 and not git_copy.claims()
    assert pre(a).status == 0  # its own is whole again
    assert pre(b).status == 2
