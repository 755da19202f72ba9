"""A branch of the person's that is named like a stream is left alone; another name is taken."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import ids, sound


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
def test_a_branch_of_that_name_is_left_alone_and_the_session_recorded(
    world: World, mode: str
) -> None:
    world.git("config", "gitcp.streams", mode)
    name = world.branch(None if mode == "overlap" else 1)
    world.git("branch", name)
    theirs = world.git("rev-parse", name)
    a = world.agent("session-a")
    told = "is a branch of yours: gitcp uses 'refs/heads/entire/" if mode == "overlap" else ""
    a.prompt("work", warns=told)
    a.write("a.txt", "a line of the agent's\n")
    a.stop()
    assert a.state["phase"] == "idle" and a.state["checkpoint_count"] == 1
    (stream,) = set(world.streams) - {name}
    assert stream.startswith(f"entire/{world.head[:7]}")
    a.turn("more", {"b.txt": "another line of the agent's\n"})
    assert a.state["checkpoint_count"] == 2 and set(world.streams) == {name, stream}
    world.commit("a.txt")
    assert ids(world) and world.git("rev-parse", name) == theirs
    assert a.state["files_touched"] == ["b.txt"]
    world.commit("b.txt")
    assert world.streams == [name]
    sound(world)


def test_a_killed_stop_on_the_other_name_is_settled_all_the_same(world: World) -> None:
    world.git("branch", world.branch())
    a = world.agent("session-a")
    a.prompt("work", warns="is a branch of yours")
    a.write("a.txt", "a line of the agent's\n")
    before = (world.path / ".git" / "entire-sessions" / "session-a.json").read_bytes()
    a.stop()
    (world.path / ".git" / "entire-sessions" / "session-a.json").write_bytes(before)
    a.prompt("again")
    assert a.state["files_touched"] == ["a.txt"] and a.state["checkpoint_count"] == 1
