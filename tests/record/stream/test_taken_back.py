"""A turn that was recorded and taken back stays in an archive: no commit has it."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World

TEXT = "one\ntwo\nthree\n"


def take_back(world: World, a: Agent, way: str = "session") -> None:
    before_the_prompt = next(iter(a.state["turns"]))
    target = ["--to", before_the_prompt] if way == "point" else ["--session", a.sid]
    world.gitcp("rewind", "--files-only", "--force", *target)


def list_holders(world: World, oid: str) -> list[str]:
    """The refs from which git finds a commit."""
    return world.git("for-each-ref", "--format=%(refname)", "--contains", oid).splitlines()


@pytest.mark.parametrize("way", ["point", "session"])
def test_the_first_commit_of_another_session_leaves_a_turn_that_was_taken_back(
    world: World, a: Agent, b: Agent, way: str
) -> None:
    a.turn("make a", {"a.txt": TEXT})
    recorded = world.object(world.branch()).oid
    take_back(world, a, way)
    b.prompt("make b")
    b.write("b.txt", TEXT)
    assert len(world.commit("b.txt")) == 1
    assert list_holders(world, recorded) == world.archives != []
    assert world.show(recorded, "a.txt") == TEXT
    assert recorded[:8] in world.gitcp("rewind", "--list", "--all")


def test_so_does_a_commit_of_the_path_by_another_session(world: World, a: Agent, b: Agent) -> None:
    a.turn("make a", {"a.txt": TEXT})
    recorded = world.object(world.branch()).oid
    take_back(world, a)
    b.prompt("make it otherwise")
    b.write("a.txt", "four\nfive\nsix\n")
    assert len(world.commit("a.txt")) == 1
    assert list_holders(world, recorded) == world.archives != []


def test_so_does_a_commit_of_the_same_session_in_its_next_turn(world: World, a: Agent) -> None:
    a.turn("make a", {"a.txt": TEXT})
    recorded = world.object(world.branch()).oid
    take_back(world, a)
    a.prompt("make c instead")
    a.write("c.txt", TEXT)
    assert len(world.commit("c.txt")) == 1
    assert list_holders(world, recorded) == world.archives != []


def test_a_turn_that_was_brought_back_and_committed_needs_no_archive(
    world: World, a: Agent
) -> None:
    a.turn("make a", {"a.txt": TEXT})
    take_back(world, a)
    world.gitcp("undo")
    assert world.read("a.txt") == TEXT
    assert len(world.commit()) == 1
    assert world.streams == world.archives == []


def test_what_is_archived_once_is_not_archived_by_the_next_commit(world: World, a: Agent) -> None:
    a.turn("make a", {"a.txt": TEXT})
    take_back(world, a)
    a.turn("make two", {"b.txt": TEXT, "c.txt": "c\n"})
    world.commit("b.txt")
    assert len(world.archives) == 1
    world.commit("c.txt")
    assert len(world.archives) == 1 and world.streams == []
