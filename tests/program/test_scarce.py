"""Where something is scarce a hook says so in one true sentence, and the next one goes on."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitcp.errors import Error, GitError
from gitcp.git import Running, files
from gitcp.text import patterns
from tests.support.broken import Store
from tests.support.harness import Agent, World
from tests.support.paths import BIN, ENTRY, TOP
from tests.support.stages import bind_stage


@pytest.fixture
def a(world: World) -> Agent:
    agent = world.agent("session-a")
    agent.prompt("write")
    agent.write("src/a.py", "a = 1\n")
    return agent


TOO_LARGE = (
    "warning: turn-end: 'release-claim | write-checkpoint | update-session | finalize':"
    " File too large\n"
)


def stop_under(agent: Agent, limit: str) -> str:
    """The agent's Stop with a limit of the shell (`ulimit`); what it says, and nothing fails."""
    return stop_by(agent, ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"])


def stop_by(agent: Agent, words: list[str]) -> str:
    """The agent's Stop, started by a program that is given it; what it says."""
    payload = {"session_id": agent.sid, "cwd": str(agent.cwd), "hook_event_name": "Stop"}
    payload["transcript_path"] = str(agent.transcript)
    hook = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "Stop"]
    done = subprocess.run(
        [*words, *hook],
        input=json.dumps(payload),
        cwd=agent.cwd,
        env={**os.environ, "CLAUDE_PID": str(agent.pid), **agent.world.env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done
    return done.stderr


@pytest.mark.parametrize("count", [6, 7, 8, 9, 12])
def test_too_few_descriptors_are_said(world: World, a: Agent, count: int) -> None:
    [line] = stop_under(a, f"-n {count}").splitlines()
    assert line.startswith("warning: ") and "Too many open files" in line
    a.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}


def test_a_commit_is_made_where_any_hook_can_run(world: World, a: Agent) -> None:
    """A shell needs some descriptors to read a hook at all: where it has them, ours go on."""

    def commits(count: int) -> bool:
        (world.path / "mine").write_text(f"{count}\n")
        world.git("add", "-A")
        argv = ["sh", "-c", f"ulimit -n {count}; exec git commit -q --allow-empty -m more"]
        return subprocess.run(argv, cwd=world.path, capture_output=True).returncode == 0

    a.stop()
    hooks, aside = world.path / ".git/hooks", world.path / ".git/aside"
    hooks.rename(aside)
    hooks.mkdir()
    for name in ("prepare-commit-msg", "commit-msg", "post-commit"):
        (hooks / name).write_text("#!/bin/sh\nexit 0\n")
        (hooks / name).chmod(0o755)
    least = next(count for count in range(6, 20) if commits(count))
    shutil.rmtree(hooks)
    aside.rename(hooks)
    assert commits(least) and commits(least + 1) and commits(least + 2)


def test_a_hook_that_dies_in_its_work_is_not_taken_for_a_python_that_cannot_begin() -> None:
    """For that one another gitcp would do the work, a second time."""
    dies = "from gitcp import hook; hook.main = lambda: [][0]"
    for stderr in (subprocess.PIPE, subprocess.DEVNULL):
        argv = [sys.executable, "-c", f"{dies}; hook.leave(hook.start())"]
        done = subprocess.run(argv, cwd=TOP, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert done.returncode == 0
        assert done.stderr in (
            None,
            "warning: gitcp ended early: IndexError: list index out of range\n",
        )


def test_a_service_that_ignores_its_children_loses_no_turn(world: World, a: Agent) -> None:
    ignore = "import os, signal as s, sys; s.signal(s.SIGCHLD, s.SIG_IGN)"
    words = [sys.executable, "-c", f"{ignore}; os.execv(sys.argv[1], sys.argv[1:])"]
    assert stop_by(a, words) == ""
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}
    argv = [*words, sys.executable, str(BIN / "gitcp-log")]
    done = subprocess.run(argv, cwd=world.path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_disk_that_takes_nothing_is_said(world: World, a: Agent) -> None:
    assert stop_under(a, "-f 0") == TOO_LARGE
    a.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_disk_that_fills_up_in_the_middle_of_a_file_leaves_none_half_written(
    world: World, a: Agent, blocks: int
) -> None:
    a.stop()
    a.write("src/b.py", "b = 1\n")
    assert stop_under(a, f"-f {blocks}") == TOO_LARGE
    world.git("fsck", "--strict", "--no-dangling")
    assert not [f for f in Store.check_at(world.path) if f["severity"] == "error"]
    a.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}


def test_a_ref_that_cannot_be_read_is_named_and_mended(world: World, a: Agent) -> None:
    a.stop()
    ref = f"refs/heads/{world.branch()}"
    (world.path / ".git" / ref).write_text("garbage")
    a.prompt("more")
    a.write("src/b.py", "b = 1\n")
    a.stop(warns=f"git cannot read '{ref}': 'gitcp fsck --fix' repairs it")
    world.gitcp("fsck", "--repair")
    a.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}


def test_a_file_that_cannot_be_written_leaves_no_lock_of_gits_behind(world: World) -> None:
    config = world.path / ".git/config"
    before = config.read_bytes()
    with _no_room(), pytest.raises(Error, match=r"cannot write '.*config': File too large"):
        files.replace_file(str(config), b"[core]\n", tmp=f"{config}.lock")
    assert config.read_bytes() == before
    world.git("config", "x.y", "it can be written by git still")


def test_a_lock_of_another_git_stays(world: World) -> None:
    config = world.path / ".git/config"
    lock = config.with_name("config.lock")
    lock.touch()
    with pytest.raises(Error, match=r"cannot write '.*config': File exists"):
        files.replace_file(str(config), b"[core]\n", tmp=str(lock))
    assert lock.exists()


def test_patterns_that_cannot_be_written_leave_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bytecode"
    folder.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(patterns, "locate_patterns", lambda: str(folder / "patterns"))
    monkeypatch.setattr(patterns, "COMPILED", {b"a": True})
    with _no_room():
        patterns.save_patterns(lambda: None)
    assert not list(folder.iterdir())
    patterns.COMPILED[b"a"] = True
    patterns.save_patterns(lambda: None)
    assert [path.name for path in folder.iterdir()] == ["patterns"]


@contextmanager
def _no_room() -> Iterator[None]:
    """No file of this process may grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_program_that_is_not_there_leaves_no_descriptor_open() -> None:
    before = os.listdir("/dev/fd")
    for feed in (False, True):
        with pytest.raises(GitError, match="No such file"):
            Running(("no-such-program",), {}, feed)
    assert os.listdir("/dev/fd") == before


def test_a_message_stays_whole_where_nothing_can_be_written(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", ":")
    message = repo / ".git/COMMIT_EDITMSG"
    message.write_text("what I wrote\n")
    match = {"args": [str(message), "message"], "ids": ["0123456789ab"], "gather": False}
    with _no_room(), pytest.raises(Error, match="File too large"):
        list(bind_stage("write-trailer", [])([{"type": "match", **match, "sessions": {}}]))
    assert message.read_text() == "what I wrote\n"
    assert [name for name in os.listdir(repo / ".git") if "EDITMSG" in name] == [message.name]
