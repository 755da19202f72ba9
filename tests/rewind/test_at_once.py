"""Commands that take steps at the same time: each plans its own by what the others have done."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gitcp.cmd import redo, rewind, undo
from gitcp.errors import Error
from gitcp.store.back.points import Prepared
from tests.rewind.going import Files, done, files
from tests.rewind.going import points as list_points
from tests.rewind.test_crash import start_child, wait_until
from tests.support.harness import Agent, World

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
