"""Killed or refused at any instant: completed or taken back, and never a mix unnoticed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp import git
from gitcp.cmd.back import rewind, undo
from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, files, run, temporary
from tests.support.harness import Agent, World
from tests.support.scenes import Scenes

EVERY = 1 if os.environ.get("LONG") else 13
WRITES = ("rename", "unlink", "link", "mkdir", "rmdir", "symlink")
OPEN = {"a.py": "2\n", "src/b.py": "2\n", "src/lib.py": None, "new/c.py": "2\n", "thing": "2\n"}


def in_child(at: Path, body: Callable[[], int], fail: Callable[[str, int], None]) -> int:
    """Run body in a process of its own at a place; fail(name, n) comes before its n-th change
    of the file system.  What it says on standard error is in .git/errors."""
    return os.waitpid(start_child(at, body, fail), 0)[1]


def start_child(at: Path, body: Callable[[], int], fail: Callable[[str, int], None]) -> int:
    """in_child(), without waiting for the end; return the id of the process."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.chdir(at)
        null = os.open(os.devnull, os.O_RDWR)
        errors = os.open(os.path.join(at, ".git", "errors"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for fd in (0, 1):
            os.dup2(null, fd)
        os.dup2(errors, 2)
        count = 0
        for name in WRITES:
            real = getattr(os, name)

            def counted(
                *args: object, _name: str = name, _real: object = real, **more: object
            ) -> object:
                nonlocal count
                count += 1
                fail(_name, count)
                return _real(*args, **more)  # type: ignore[operator]

            setattr(os, name, counted)
        os._exit(body())
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(70)


def wait_until(seen: Callable[[], object]) -> None:
    """Wait for a state, up to a minute."""
    end = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.01)


def take_different_turns(world: World) -> World:
    """Turns that differ in every way."""
    a = world.agent(SID)
    a.turn("one", {"a.py": "1\n", "src/b.py": "1\n", "thing/inside": "1\n"})
    a.turn("two", {"thing/inside": None})
    (world.path / "thing").rmdir()
    a.turn("three", OPEN)
    return world


@pytest.fixture
def prepared(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(take_different_turns, monkeypatch)


def journal(top: Path) -> list[str]:
    """The lines of a worktree's journal."""
    return (top / ".git/gitcp/journal").read_text().splitlines()


def made_by_steps(texts: list[str]) -> set[str]:
    """The paths whose newest edit, in lines of a journal, is a step's."""
    newest = {line["path"]: line for text in texts if "path" in (line := json.loads(text))}
    return {path for path, line in newest.items() if "step" in line}


@pytest.mark.thorough
def test_killed_before_every_single_change_the_next_command_settles_it(
    prepared: World, tmp_path: Path
) -> None:
    world, point = prepared, temporary(prepared)[-1]
    old = files(world.path)
    done(world, "rewind", "--to", point)
    new = files(world.path)
    done(world, "undo")
    at, settled = 1, set()
    while True:
        copy = tmp_path / "copy"
        shutil.copytree(world.path, copy, symlinks=True)

        def kill(_: str, n: int, at: int = at) -> None:
            if n == at:
                os.kill(os.getpid(), signal.SIGKILL)

        status = in_child(copy, lambda: rewind.run(["--to", point]), kill)
        left = World(copy, world.home)
        told = run(left, "undo", "--list")
        assert told.returncode == 0, told
        now = files(copy)
        assert now in (old, new), at
        assert not list((copy / ".git" / "gitcp").glob("rewind/*"))
        if os.WIFSIGNALED(status):
            settled.add("completed" in told.stderr)
            assert (now == new) or "changed nothing" in told.stderr or not told.stderr
        if now == new:
            changed = {path for path in {*old, *new} if old.get(path) != new.get(path)}
            assert changed <= made_by_steps(journal(copy)[len(journal(world.path)) :]), at
            done(left, "undo")
            assert files(copy) == old
        shutil.rmtree(copy)
        if not os.WIFSIGNALED(status):
            break
        at += EVERY
    assert settled == {True, False}
    assert at > 20


def test_a_change_refused_by_the_machine_takes_everything_back(
    prepared: World, tmp_path: Path
) -> None:
    world, point = prepared, temporary(prepared)[-1]
    old = files(world.path)
    failed, undone = 0, 0
    for at in range(2, 60, EVERY):

        def refuse(name: str, n: int, at: int = at) -> None:
            if n == at and name in ("rename", "unlink", "mkdir", "link"):
                raise OSError(28, "No space left on device")

        in_child(world.path, lambda: rewind.run(["--to", point]), refuse)
        listed = run(world, "undo", "--list")
        assert not listed.stderr or "has been completed (0 files left)" in listed.stderr, at
        steps = listed.stdout.count("went back to ")
        if files(world.path) == old:
            failed += 1
            assert steps == undone, at
        else:  # the refusal was of something that can be done without
            undone += 1
            assert steps == undone, at
            done(world, "undo")
            assert files(world.path) == old, at
    assert failed > 1


def test_a_file_comes_back_where_a_directory_was_made_before_the_machine_refused(
    prepared: World,
) -> None:
    point, old = temporary(prepared)[-1], files(prepared.path)
    refused: list[int] = []

    def refuse(name: str, n: int) -> None:
        if name == "rename" and (prepared.path / "thing").is_dir() and not refused:
            refused.append(n)
            raise OSError(28, "No space left on device")

    in_child(prepared.path, lambda: rewind.run(["--to", point]), refuse)
    assert files(prepared.path) == old
    assert done(prepared, "undo", "--list").startswith("nothing to undo here: ")


def test_what_somebody_changed_after_a_kill_stays_and_is_told(prepared: World) -> None:
    world, point = prepared, temporary(prepared)[-1]

    def kill(name: str, n: int) -> None:
        if name == "unlink" and not (world.path / "thing").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(world.path, lambda: rewind.run(["--to", point]), kill)
    world.write("a.py", "the person's\n")
    told = run(world, "rewind", "--list")
    assert "an interrupted rewind has been completed" in told.stderr
    assert "'a.py' was changed since, and stays as it is" in told.stderr
    assert world.read("a.py") == "the person's\n"
    assert world.read("thing/inside") == "1\n"


def test_an_undo_that_was_killed_is_completed_too(prepared: World) -> None:
    world, point = prepared, temporary(prepared)[-1]
    old = files(world.path)
    done(world, "rewind", "--to", point)

    def kill(name: str, n: int) -> None:
        if name == "rename" and not (world.path / "thing" / "inside").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(world.path, lambda: undo.run([]), kill)
    assert "an interrupted undo has been completed" in run(world, "redo", "--list").stderr
    assert files(world.path) == old


def test_sessions_and_streams_follow_a_step_that_was_killed(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    a.prompt("three")
    point = temporary(world)[-1]

    def kill(name: str, n: int) -> None:
        if name == "rename" and not (world.path / "b.py").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(world.path, lambda: rewind.run(["--to", point]), kill)
    assert "is at work here" in run(world, "undo", "--list").stderr
    assert world.tree(world.branch()) == {"a.py": "1\n"}


def test_a_file_that_changes_while_the_plan_is_applied_is_not_overwritten(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n", "b.py": "1\n", "c.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n", "c.py": "2\n"})
    written: list[int] = []

    def write(name: str, n: int) -> None:
        placed = name == "rename" and (world.path / "a.py").read_text() == "1\n"
        if placed and not written:
            written.append(n)
            (world.path / "c.py").write_text("meanwhile\n")

    in_child(world.path, lambda: rewind.run(["--force", "--to", temporary(world)[-1]]), write)
    assert [world.read(p) for p in ("a.py", "b.py", "c.py")] == ["1\n", "1\n", "1\n"]
    done(world, "undo")
    assert world.read("c.py") == "meanwhile\n"


def test_a_step_is_planned_for_the_worktree_that_another_one_leaves(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    second, first = temporary(world)
    half_way, trace = world.path / ".git" / "half-way", world.path / ".git" / "trace"
    monkeypatch.setattr(undo, "finish", lambda repo: None)  # both are past it
    monkeypatch.setattr(git, "_FILE", str(trace))

    def wait_for_other(name: str, n: int) -> None:
        if not (world.path / "b.py").exists() and not half_way.exists():
            half_way.touch()
            wait_until(lambda: "waiting for 'rewind-" in trace.read_text() or other_ended.exists())

    def plan_meanwhile() -> int:
        try:
            return rewind.run(["--to", second])
        finally:
            other_ended.touch()

    other_ended = world.path / ".git" / "other-ended"
    one = start_child(world.path, lambda: rewind.run(["--to", first]), wait_for_other)
    wait_until(half_way.exists)
    other = start_child(world.path, plan_meanwhile, lambda name, n: None)
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (one, other)]
    assert ends == [0, 0], (world.path / ".git" / "errors").read_text()
    assert (world.read("a.py"), world.read("b.py")) == ("2\n", "2\n")
    assert "b.py" in made_by_steps(journal(world.path))
    for left in (["a.py"], ["a.py", "b.py"]):
        done(world, "undo")
        assert [p for p in ("a.py", "b.py") if (world.path / p).exists()] == left
