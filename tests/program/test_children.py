"""How many git processes a question starts: git alone says what has changed, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steps.rewind.going import run
from tests.support.harness import World
from tests.support.scenes import Scenes

FILES = 3000
MOST = 2
QUESTIONS = (
    ("status",),
    ("status", "-v"),
    ("status", "--json"),
    ("sessions",),
    ("why", "part7/file7.txt:2"),
    ("why", "part8/file8.txt:2"),
    ("why", "part2/file2.txt:1"),
    ("blame", "part7/file7.txt"),
    ("blame", "part2/file2.txt"),
    ("rewind", "--list"),
)


def make_busy(world: World) -> World:
    """Thousands of files with a history, two sessions with open work, a stash and a worktree."""
    for n in range(FILES):
        world.write(f"part{n % 50}/file{n}.txt", f"file {n}\nhas three lines\nand this one\n")
    world.commit()
    a = world.agent("session-a", tools=True)
    for n in range(3):
        a.turn(f"change file {n}", {f"part{n}/file{n}.txt": f"file {n}\nis changed by a\n"})
        world.commit()
        world.write(f"part9/file{n}09.txt", f"file {n}\nthe person was here\n")
        world.commit()
    b = world.agent("session-b")
    b.turn("put this away", {"part6/file6.txt": "file 6\nis put away\n"})
    world.git("stash", "-q")
    there = world.path.parent / "there"
    world.git("worktree", "add", "-q", str(there))
    world.agent("session-c", there).turn("elsewhere", {"part1/file1.txt": "elsewhere\n"})
    a.turn("change file 7 again", {"part7/file7.txt": "file 7\nis changed again by a\nand again\n"})
    b.turn("write two files", {"part8/file8.txt": "file 8\nis b's\n", "new.txt": "new\n"})
    world.write("part8/file8.txt", "file 8\nis b's\nand the person's\n")
    return world


@pytest.fixture
def busy(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(make_busy, monkeypatch)


def list_children(world: World, trace: Path, *argv: str) -> list[str]:
    """The commands of the git processes that a command of gitcp starts itself."""
    world.env["GIT_TRACE2_EVENT"] = str(trace)
    ended = run(world, *argv)
    assert ended.returncode == 0, ended
    events = map(json.loads, trace.read_text().splitlines() if trace.exists() else ())
    starts = [event for event in events if event["event"] == "start"]
    return [" ".join(event["argv"]) for event in starts if "/" not in event["sid"]]


def test_a_question_starts_two_git_processes_at_most(busy: World, tmp_path: Path) -> None:
    """What was found once is kept: the first question after a commit may start some more."""
    for n, argv in enumerate(QUESTIONS):
        run(busy, *argv)
        children = list_children(busy, tmp_path / f"trace{n}", *argv)
        assert len(children) <= MOST, "\n".join([" ".join(argv), *children])
