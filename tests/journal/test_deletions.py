"""A path that goes: whose deletion it is, and when it only takes back what was not committed."""

from __future__ import annotations

import pytest

from tests.journal.lines import text
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import sessions, sound, touched


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
