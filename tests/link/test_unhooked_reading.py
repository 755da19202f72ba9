"""A command that reads settles first what no event has settled."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import BARE


@pytest.mark.parametrize("command", ["log", "show", "stats", "why", "blame"])
def test_whoever_asks_first_is_told_of_a_commit_without_hooks_as_after_the_next_event(
    world: World, command: str
) -> None:
    world.agent("s").turn("make it one", {"a.txt": "one\n"})
    world.git("add", "a.txt")
    world.git(*BARE, "commit", "-q", "-m", "by hand")
    given = {"why": ["a.txt:1"], "blame": ["a.txt"]}.get(command, [])
    said = world.gitcp(command, *given)
    assert "Claude" in said, said


def test_a_checkpoint_that_no_hook_came_to_write_is_written_for_whoever_asks(world: World) -> None:
    world.agent("s").turn("make it one", {"a.txt": "one\n"})
    hook = world.path / ".git/hooks/post-commit"
    script = hook.read_bytes()
    hook.unlink()
    [checkpoint_id] = world.commit("a.txt")
    hook.write_bytes(script)
    assert checkpoint_id in world.gitcp("show", "--json", "HEAD")


def test_a_commit_that_begins_a_history_is_settled_beside_a_branch_of_single_lines(
    world: World,
) -> None:
    agent = world.agent("s")
    agent.turn("make it one", {"a.txt": "total = compute_total(1)\n"})
    world.commit("a.txt")
    world.git("commit", "-q", "--allow-empty", "-m", "more")
    world.git("checkout", "-q", "--orphan", "new")
    world.git(*BARE, "commit", "-q", "-m", "all of it")
    agent.prompt("go on")
    assert (world.path / ".git/gitcp/looked").read_text().startswith(world.head)
    assert not (world.path / ".git/gitcp/warnings").exists()
