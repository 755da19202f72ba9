"""A directory is moved: its files keep their times, and their lines keep their authors."""

from __future__ import annotations

import os

import pytest

from tests.record.journal.lines import shares, text
from tests.support.clients.calls import edit
from tests.support.harness import Agent, World
from tests.support.linking import sound


def write_lib(a: Agent) -> None:
    a.prompt("write a library")
    edit(a, "lib/a.py", text(1, 2))
    edit(a, "lib/b.py", text(3, 4))
    a.stop()


@pytest.mark.parametrize(
    "moves",
    [
        [("lib", "src2")],
        [("lib", "new/lib")],
        [("lib", "other"), ("other", "src2")],
        [("lib/a.py", "lib/b.old"), ("lib", "src2")],
    ],
    ids=["renamed", "into a new parent", "twice", "a file and its directory"],
)
def test_files_of_a_moved_directory_keep_the_authors_of_their_lines(
    world: World, a: Agent, moves: list[tuple[str, str]]
) -> None:
    write_lib(a)
    for old, new in moves:
        os.renames(world.path / old, world.path / new)
    world.commit()
    assert shares(world) == {a.sid: 4}
    sound(world)


def test_files_that_git_moved_keep_the_authors_of_their_lines(world: World, a: Agent) -> None:
    write_lib(a)
    world.git("add", "lib")
    world.git("mv", "lib", "src2")
    world.git("commit", "-q", "-m", "move it")
    assert shares(world) == {a.sid: 4}


def test_a_commit_in_between_sees_a_directory_go_and_its_lines_keep_their_authors(
    world: World, a: Agent
) -> None:
    write_lib(a)
    os.rename(world.path / "lib", world.path / "src2")
    world.write("mine.txt", text(9))
    assert world.commit("mine.txt") == []
    world.write("src2/a.py", text(1, 2, 5))
    world.commit()
    assert shares(world) == {a.sid: 4, "person": 1}
    sound(world)


def test_a_tool_that_comes_to_a_moved_file_leaves_its_lines_their_authors(
    world: World, a: Agent, b: Agent
) -> None:
    b.prompt("wait")
    write_lib(a)
    os.rename(world.path / "lib", world.path / "src2")
    edit(b, "src2/a.py", text(1, 2, 5))
    b.stop()
    world.commit()
    assert shares(world) == {a.sid: 4, b.sid: 1}
    sound(world)


def test_two_directories_that_change_places_keep_the_authors_of_their_lines(
    world: World, a: Agent, b: Agent
) -> None:
    write_lib(a)
    b.prompt("write another one")
    edit(b, "lib2/a.py", text(11, 12, 13))
    b.stop()
    os.rename(world.path / "lib", world.path / "tmp")
    os.rename(world.path / "lib2", world.path / "lib")
    os.rename(world.path / "tmp", world.path / "lib2")
    world.commit()
    assert shares(world) == {a.sid: 4, b.sid: 3}
    sound(world)


def test_a_file_made_beside_a_deletion_is_the_persons(world: World, a: Agent) -> None:
    write_lib(a)
    os.unlink(world.path / "lib/a.py")
    world.write("mine/c.py", text(14, 15))
    assert world.commit("mine") == []
    world.commit()
    assert shares(world) == {a.sid: 2}
