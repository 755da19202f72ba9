"""Whatever call that writes fails, and why: hooks end well, commands say it, nothing is half done.

Calls are failed one by one, from the first to the last of a run; LONG=1 fails every one with
every reason, else a few are taken, another reason each.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stress.unfinished import unfinished
from tests.support.broken import Store
from tests.support.harness import Agent, World
from tests.support.paths import ENTRY, TOP

REASONS = [
    *(errno.ENOTDIR, errno.EMFILE, errno.ENOSPC, errno.EACCES),
    *(errno.EROFS, errno.EIO, errno.ENOENT, errno.ELOOP),
]
LONG, FEW = bool(os.environ.get("LONG")), 6
FAULTS = [sys.executable, "-I", str(TOP / "tests/stress/faults.py")]
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def a(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Agent:
    monkeypatch.setenv("FAULTS", str(tmp_path / "calls"))
    agent = world.agent("session-a")
    agent.turn("write", {"src/a.py": "a = 1\n"})
    return agent


def rounds(run: Callable[[int, int], Done], tmp_path: Path) -> Iterator[Done]:
    """What came of run(reason, number) for numbers up to that of its calls."""
    assert run(0, 0).returncode == 0
    calls = int((tmp_path / "calls").read_text())
    assert calls > 1
    numbers = range(1, calls + 1, 1 if LONG else -(-calls // FEW))
    for at, number in enumerate(numbers):
        for reason in REASONS if LONG else REASONS[at % len(REASONS) :][:1]:
            yield run(reason, number)


def ends_well(done: Done) -> None:
    """As a hook: status 0, and at most one line that warns."""
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and len(lines) <= 1, done
    assert all(line.startswith("warning: ") for line in lines), done


def check_connected(world: World) -> None:
    """git and gitcp find no error."""
    world.git("fsck", "--no-dangling")
    findings = Store.check_at(world.path)
    assert [found for found in findings if found["severity"] == "error"] == []


def test_a_stop_ends_well_and_the_next_has_all_of_it(
    world: World, a: Agent, tmp_path: Path
) -> None:
    payload = {"session_id": a.sid, "cwd": str(a.cwd), "hook_event_name": "Stop"}
    payload["transcript_path"] = str(a.transcript)
    a.prompt("more")

    def stop(reason: int, number: int) -> Done:
        a.write("src/b.py", f"b = {reason, number}\n")
        argv = [*FAULTS, str(reason), str(number), str(ENTRY), "claude-code", "Stop"]
        env = {**os.environ, "CLAUDE_PID": str(a.pid), **world.env}
        text, before = json.dumps(payload), unfinished(world)
        given: dict[str, Any] = {"cwd": a.cwd, "env": env, "capture_output": True, "text": True}
        done = subprocess.run(argv, input=text, **given)
        assert reason != errno.ENOSPC or unfinished(world) == before, done
        return done

    for done in rounds(stop, tmp_path):
        ends_well(done)
    a.event("Stop")
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n", "src/b.py": world.read("src/b.py")}
    check_connected(world)


@pytest.mark.parametrize("hook", ["prepare-commit-msg", "post-commit"])
def test_a_commit_is_made_and_what_is_left_to_do_is_done_later(
    world: World, a: Agent, tmp_path: Path, hook: str
) -> None:
    path = world.path / ".git/hooks" / hook
    installed = path.read_text()

    def commit(reason: int, number: int) -> Done:
        a.turn("go on", {"src/b.py": f"b = {reason, number}\n"})
        world.git("add", "-A")
        program = shlex.join([*FAULTS, str(reason), str(number), str(ENTRY), hook])
        path.write_text(f'#!/bin/sh\n{program} "$@"\n')
        argv, before = ["git", "commit", "-q", "-m", "more"], unfinished(world)
        done = subprocess.run(argv, cwd=world.path, capture_output=True, text=True)
        path.write_text(installed)
        assert reason != errno.ENOSPC or unfinished(world) == before, done
        return done

    for done in rounds(commit, tmp_path):
        ends_well(done)
    a.turn("the end", {"src/c.py": "c\n"})
    for one in world.ids("HEAD~1") if hook == "post-commit" else ():
        assert a.sid in world.committed(one)
    check_connected(world)


@pytest.mark.parametrize("command", ["link HEAD session-a", "enable", "fsck --repair"])
def test_a_command_says_in_one_sentence_what_failed(
    world: World, a: Agent, tmp_path: Path, command: str
) -> None:
    world.commit()
    name, *args = command.split()

    def run(reason: int, number: int) -> Done:
        program = str(TOP / "bin" / f"gitcp-{name}")
        argv = [*FAULTS, str(reason), str(number), program, *args]
        return subprocess.run(argv, cwd=world.path, capture_output=True, text=True)

    failed = 0
    for done in rounds(run, tmp_path):
        lines = done.stderr.splitlines()
        assert done.returncode in (0, 1, 128) and len(lines) <= 1, done
        assert all(line.startswith(("fatal: ", "warning: ")) for line in lines), done
        failed += done.returncode > 0  # fsck may name it as a finding, with 1
    assert failed
    check_connected(world)


def test_a_file_where_objects_should_be_is_named(world: World) -> None:
    agent, packs = world.agent("session-a"), world.path / ".git/objects/pack"
    agent.prompt("write")
    agent.write("src/a.py", "a = 1\n")
    if packs.exists():
        packs.rename(packs.with_name("aside"))
    packs.write_text("")
    agent.stop(warns="^warning: turn-end: '.*': .*: '/.*/.git/objects/pack.*'\n$")
    packs.unlink()
    packs.with_name("aside").rename(packs)
    agent.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}
