"""A path that goes: whose deletion it is, and when it only takes back what was not committed."""

from __future__ import annotations

import pytest

from tests.record.journal.lines import text
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import own, sessions, sound, touched


@pytest.mark.parametrize("command", ["rm a.txt", "git rm -q a.txt && git commit -q -m gone"])
def test_the_agents_deletion_of_what_it_made_and_committed_is_its_work(
    world: World, a: Agent, command: str
) -> None:
    a.prompt("write it")
    edit(a, "a.txt", text(1, 2))
    a.stop()
    world.commit("a.txt")
    a.prompt("it is not needed after all")
    run(a, command)
    a.stop()
    [one] = world.commit("a.txt") if command.startswith("rm") else world.ids("HEAD")
    told = sessions(world, one)[a.sid]["initial_attribution"]["lines_removed"]
    assert told == {"agent": 2, "others": 0, "person": 0, "unknown": 0}
    assert touched(world, one, a.sid) == ["a.txt"]
    sound(world)


def test_the_persons_deletion_of_what_an_agent_made_is_the_persons(world: World, a: Agent) -> None:
    a.prompt("write it")
    edit(a, "a.txt", text(1, 2))
    edit(a, "b.txt", text(3))
    a.stop()
    world.commit("a.txt")
    (world.path / "a.txt").unlink()
    [one] = world.commit("a.txt", "b.txt")
    told = sessions(world, one)[a.sid]["initial_attribution"]["lines_removed"]
    assert told == {"agent": 0, "others": 0, "person": 2, "unknown": 0}


def test_what_was_made_and_deleted_before_a_commit_is_no_work(world: World, a: Agent) -> None:
    a.prompt("try something")
    edit(a, "a.txt", text(1, 2))
    run(a, "rm a.txt")
    a.stop()
    assert "files_touched" not in a.state


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
def test_what_a_later_turn_deletes_of_its_own_before_a_commit_is_no_work(
    world: World, a: Agent, b: Agent, mode: str
) -> None:
    world.git("config", "gitcp.streams", mode)
    a.prompt("try something")
    edit(a, "a.txt", text(1, 2))
    a.stop()
    b.prompt("go on with it")
    edit(b, "a.txt", text(1, 2, 3))
    b.stop()
    a.prompt("it is not needed after all")
    run(a, "rm a.txt")
    a.stop()
    assert "files_touched" not in a.state
    assert b.state["files_touched"] == ["a.txt"], "another's is kept"
    assert world.open() == [b.sid]


def test_what_a_turn_deletes_of_its_own_and_commits_the_rest_is_no_work(
    world: World, a: Agent
) -> None:
    a.prompt("try something")
    edit(a, "a.txt", text(1, 2))
    edit(a, "b.txt", text(3))
    a.stop()
    a.prompt("clean up and commit")
    run(a, "rm a.txt")
    own(a, "add", "-A")
    own(a, "commit", "-q", "-m", "b")
    a.stop()
    assert "files_touched" not in a.state and world.open() == []
    sound(world)


def test_lines_that_a_later_turn_takes_out_again_are_no_work(world: World, a: Agent) -> None:
    a.prompt("try something")
    edit(a, "README.md", world.read("README.md") + text(1))
    a.stop()
    assert a.state["files_touched"] == ["README.md"]
    a.prompt("it is not needed after all")
    run(a, "sed -i '$d' README.md")
    a.stop()
    assert "files_touched" not in a.state and world.open() == []
    a.prompt("something else")
    edit(a, "b.txt", text(4))
    a.stop()
    world.commit("b.txt")
    assert a.state["streams"] == [] and world.streams == []
