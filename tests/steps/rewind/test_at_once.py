"""Commands that take steps at the same time: each plans its own by what the others have done."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gitcp.cmd.back import redo, rewind, undo
from gitcp.errors import Error
from gitcp.steps.back.preparing import Prepared
from tests.steps.rewind.going import Files, done, files
from tests.steps.rewind.going import points as list_points
from tests.steps.rewind.going import run as command
from tests.steps.rewind.test_crash import journal, made_by_steps, start_child, wait_until
from tests.support.harness import Agent, Call, World

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "undo": undo.run,
    "redo": redo.run,
    "rewind": rewind.run,
}
agree = undo.Agreement.__call__


@pytest.fixture
def points(world: World, a: Agent) -> list[str]:
    """The points before three turns that are not committed, the newest first."""
    for number in range(3):
        a.turn(f"turn {number}", {"a.py": f"{number}\n", f"{number}.py": "new\n"})
    return [point["id"] for point in list_points(world) if point["kind"] == "prompt"]


def run(name: str, args: Sequence[str]) -> int:
    """Run a command in this process."""
    try:
        return COMMANDS[name](args)
    except Error as e:
        os.write(2, f"{e}\n".encode())
        return 128


class Planned:
    """A command that is started, and goes on with its first plan when it may."""

    def __init__(
        self, world: World, monkeypatch: pytest.MonkeyPatch, name: str, *args: str
    ) -> None:
        self._world, self._mark = world, world.path / ".git" / name
        planned, released = self._name("planned"), self._name("released")

        def agree_later(own: undo.Agreement, prepared: Prepared, moved: Sequence[object]) -> bool:
            if not planned.exists():
                planned.touch()
                wait_until(released.exists)
            return agree(own, prepared, moved)  # type: ignore[arg-type]

        monkeypatch.setattr(undo.Agreement, "__call__", agree_later)
        self._pid = start_child(
            world.path, lambda: run(name.rstrip("0123456789"), args), lambda *_: None
        )
        wait_until(planned.exists)
        monkeypatch.setattr(undo.Agreement, "__call__", agree)

    def _name(self, state: str) -> Path:
        return self._mark.with_name(f"{self._mark.name}-{state}")

    def finish(self) -> tuple[int, str]:
        """Let it go on; its status, and what it said on standard error."""
        self._name("released").touch()
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return status, (self._world.path / ".git" / "errors").read_text()


def see(world: World) -> tuple[Files, str, str]:
    """The worktree, the index and HEAD."""
    return files(world.path), world.git("ls-files", "-s"), world.git("rev-parse", "HEAD")


def blame(world: World) -> dict[str, str]:
    """path -> what blame says of it."""
    return {path: done(world, "blame", path) for path in files(world.path) if path.endswith(".py")}


def rewind_twice(world: World, points: Sequence[str]) -> list[tuple[Files, str, str]]:
    """Rewind to two points; the states before, between and after."""
    seen = [see(world)]
    for point in points[:2]:
        done(world, "rewind", "--force", "--files-only", "--to", point)
        seen.append(see(world))
    return seen


def test_two_undos_at_once_undo_two_steps(
    world: World, points: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _, last = rewind_twice(world, points)
    both = [Planned(world, monkeypatch, f"undo{n}") for n in range(2)]
    assert [one.finish() for one in both] == [(0, ""), (0, "")]
    assert see(world) == first
    done(world, "redo")
    done(world, "redo")
    assert see(world) == last


def test_two_redos_at_once_redo_two_steps(
    world: World, points: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _, last = rewind_twice(world, points)
    done(world, "undo", "2")
    both = [Planned(world, monkeypatch, f"redo{n}") for n in range(2)]
    assert [one.finish() for one in both] == [(0, ""), (0, "")]
    assert see(world) == last
    done(world, "undo", "2")
    assert see(world) == first


OTHERS = [
    ("rewind", "--force", "--files-only", "--to"),
    ("rewind", "--conflict=keep", "--turn"),
    ("stage", "--session", "11111111"),
    ("split", "--no-edit"),
    ("bisect", "--in-place", "HEAD", "--", "test", "!", "-e", "1.py"),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda words: "-".join(words[:2]))
@pytest.mark.parametrize("name", ["undo", "redo", "rewind"])
def test_a_step_that_another_command_took_meanwhile_is_counted(
    world: World, points: list[str], monkeypatch: pytest.MonkeyPatch, name: str, other: list[str]
) -> None:
    """Each step can be undone, as if one command had begun after the other's end."""
    seen = [see(world)]
    done(world, "rewind", "--force", "--files-only", "--to", points[0])
    seen.append(see(world))
    if name == "redo":
        done(world, "undo")
        seen.pop()
    target = ["--force", "--files-only", "--to", points[2]] if name == "rewind" else []
    command = Planned(world, monkeypatch, name, *target)
    done(world, *other, *points[1:2] if other[0] == "rewind" else ())
    if other[0] != "bisect":
        seen.append(see(world))
    status, said = command.finish()
    if name == "redo" and other[0] != "bisect":
        assert (status, said) == (128, "nothing to redo\n")
    else:
        assert (status, said) == (0, "")
    if name == "undo":
        seen.pop()
    elif status == 0:
        seen.append(see(world))
    assert see(world) == seen.pop()
    while seen:
        done(world, "undo")
        assert see(world) == seen.pop()


def call(agent: Agent, event: str) -> Call:
    """A hook of a shell call."""
    given = {"command": "make all"}
    return agent.event(event, tool_name="Bash", tool_input=given, tool_use_id="toolu_made")


# What another session does before a step begins, when half of it is done, and when it has ended.
HOOKS: dict[str, tuple[Callable[[Agent], object], ...]] = {
    "nothing": (lambda b: None,) * 3,
    "prompt": (lambda b: None, lambda b: b.prompt("more"), lambda b: b.stop()),
    "stop": (lambda b: b.prompt("more"), lambda b: b.stop(), lambda b: None),
    "call": (
        lambda b: (b.prompt("more"), call(b, "PreToolUse")),
        lambda b: call(b, "PostToolUse"),
        lambda b: b.stop(),
    ),
    "opening": (
        lambda b: b.prompt("more"),
        lambda b: call(b, "PreToolUse"),
        lambda b: (call(b, "PostToolUse"), b.stop()),
    ),
}


class HalfDone:
    """A rewind to a point that stops when half of it is done, and then goes on, is killed or is
    refused a write."""

    def __init__(self, world: World, point: str, end: str) -> None:
        self._world, self._end = world, end
        half_way, self._released = world.path / ".git" / "half-way", world.path / ".git" / "go-on"

        def stop_half_way(name: str, n: int) -> None:
            if world.read("a.py") == "1\n" and not half_way.exists():
                half_way.touch()
                wait_until(self._released.exists)
                if end == "refused":
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        args = ["--force", "--files-only", "--to", point]
        self._pid = start_child(world.path, lambda: run("rewind", args), stop_half_way)
        wait_until(half_way.exists)
        if end == "killed":
            os.kill(self._pid, signal.SIGKILL)
        assert [(world.path / p).exists() for p in ("b.py", "a-gone.py")] == [False, True]
        assert (world.read("a.py"), world.read("z.py")) == ("1\n", "2\n")

    def finish(self) -> None:
        self._released.touch()
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        assert status == {"done": 0, "killed": -signal.SIGKILL, "refused": 128}[self._end]
        if self._end == "killed":
            told = command(self._world, "undo", "--list").stderr
            assert "has been completed" in told


@pytest.mark.parametrize("hooks", HOOKS.values(), ids=HOOKS.keys())
@pytest.mark.parametrize("end", ["done", "killed", "refused"])
def test_a_hook_that_sees_half_of_a_step_credits_nobody_with_it(
    world: World, a: Agent, hooks: tuple[Callable[[Agent], object], ...], end: str
) -> None:
    a.turn("one", {"a.py": "1\n", "z.py": "1\n", "a-gone.py": "1\n", "src/lib.py": "1\n"})
    second = {"a.py": "2\n", "b.py": "2\n", "z.py": "2\n", "a-gone.py": None, "y/new.py": "2\n"}
    a.turn("two", second)
    point = next(p["id"] for p in list_points(world) if "two" in p["message"])
    b = world.agent("22222222-aaaa-4a87-9186-848bdd83d62e", tools=True)
    b.turn("three", {"other.py": "3\n"})
    before, authors = files(world.path), blame(world)
    first, middle, last = hooks
    first(b)
    step = HalfDone(world, point, end)
    middle(b)
    step.finish()
    last(b)
    if end != "refused":
        assert made_by_steps(journal(world.path)) == {*second, "other.py"}
        done(world, "undo")
    assert files(world.path) == before
    assert blame(world) == authors
    assert b.state["streams"][0]["files"].keys() == {"other.py"}
    done(world, "rewind", "--force", "--files-only", "--to", point)  # work of another session goes
    done(world, "undo")
    done(world, "stage", "--session", b.sid)
    assert world.git("diff", "--cached", "--name-only") == "other.py"
