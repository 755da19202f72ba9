"""Links that a kill, a note or a second reset came between, as random walks found them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.harness import Agent, World
from tests.support.linking import ids, noted, sound

BARE = ("-c", "core.hooksPath=/dev/null")


@contextmanager
def killed(world: World) -> Iterator[None]:
    """No hook that comes after a commit does anything."""
    hooks = [world.path / ".git/hooks" / name for name in ("post-commit", "post-rewrite")]
    texts = [hook.read_text() for hook in hooks]
    for hook in hooks:
        hook.write_text("#!/bin/sh\nkill -9 $$\n")
    yield
    for hook, text in zip(hooks, texts, strict=True):
        hook.write_text(text)


def holders(world: World, commit: str = "HEAD") -> dict[str, list[str]]:
    """checkpoint id -> its sessions, of all ids of a commit."""
    return {i: sorted(world.committed(i)) for i in [*ids(world, commit), *noted(world, commit)]}


def test_an_id_promised_beside_one_that_came_back_is_stored(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "one\n"})
    [first] = world.commit()
    world.git("reset", "-q", "HEAD~1")
    a.turn("more", {"b.txt": "two\n"})
    with killed(world):
        world.git("add", ".")
        world.git("commit", "-q", "-m", "both", warns=".*")
    world.agent("session-b").start()
    [back, new] = ids(world)
    assert back == first
    assert list(world.committed(new)["session-a"]["files"]) == ["b.txt"]
    sound(world)


def test_what_an_amend_that_was_killed_put_in_is_linked(world: World, a: Agent) -> None:
    b = world.agent("session-b")
    b.turn("write", {"b.txt": "b\n"})
    [one] = world.commit()
    a.turn("write", {"a.txt": "a\n"})
    with killed(world):
        world.git("add", ".")
        world.git("commit", "-q", "--amend", "--no-edit", warns=".*")
    world.agent("session-c").start()
    assert holders(world) == {one: ["session-a", "session-b"]}
    assert world.open() == []


@pytest.mark.parametrize("backend", ["--apply", "--merge"])
def test_noted_links_follow_each_of_two_rebases_in_a_row(
    world: World, a: Agent, backend: str
) -> None:
    for name in ("a.txt", "b.txt"):
        a.turn("write", {name: f"the agent's {name}\n"})
        world.git("add", ".")
        world.git(*BARE, "commit", "-q", "-m", name)
    a.start()
    links = [noted(world, f"HEAD~{n}") for n in (0, 1)]
    assert len(links[0]) == len(links[1]) == 1
    for name in ("one", "two"):
        world.git("switch", "-q", "-c", name, "HEAD~2")
        world.write(name, "the person's\n")
        world.commit(name)
        world.git("switch", "-q", "main")
        world.git("rebase", "-q", backend, name)
    assert [noted(world, f"HEAD~{n}") for n in (0, 1)] == links
    sound(world)


def test_a_noted_link_follows_a_cherry_pick(world: World, a: Agent) -> None:
    world.git("switch", "-q", "-c", "side")
    a.turn("write", {"a.txt": "a\n"})
    world.git("add", ".")
    world.git(*BARE, "commit", "-q", "-m", "by another tool")
    world.agent("session-b").start()
    [one] = noted(world)
    world.git("switch", "-q", "main")
    world.git("cherry-pick", "side")
    assert ids(world) == [one]


def test_a_second_reset_to_the_same_commit_is_seen_as_one(world: World, a: Agent) -> None:
    """git leaves ORIG_HEAD as it is where it says so already: after a stash, here."""
    a.turn("write", {"a.txt": "a\n"})
    [one] = world.commit()
    world.write("README.md", "the person's\n")
    world.git("stash", "-q")
    world.env["GIT_EDITOR"] = "false"
    world.write("other.txt", "x\n")
    world.git("add", "other.txt")
    world.git("commit", "-q", ok=False)
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    assert ids(world) == [one]


def test_two_resets_to_what_was_looked_at_before_are_seen(world: World, a: Agent) -> None:
    """ORIG_HEAD says what it said when a session looked at it, and is another file."""
    a.turn("write", {"a.txt": "a\n"})
    [one] = world.commit()
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.agent("session-b").start()
    world.git("reset", "-q", "--hard", "ORIG_HEAD")
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    assert ids(world) == [one]


def test_what_no_reset_tells_of_is_found_before_status_reads(world: World, a: Agent) -> None:
    """git leaves ORIG_HEAD alone where it says so already: the second reset is no news."""
    a.turn("write", {"a.txt": "a\n"})
    [one] = world.commit()
    linked = world.head
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.agent("session-b").start()
    world.git("update-ref", "HEAD", linked)  # of which no hook hears
    world.git("read-tree", "HEAD")
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    assert holders(world) == {}
    assert "relink" not in world.gitcp("status")
    assert holders(world) == {one: ["session-a"]}


def test_new_work_beside_what_came_back_without_hooks_is_linked_too(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "a\n"})
    [one] = world.commit()
    world.git("reset", "-q", "HEAD~1")
    world.agent("session-b").start()
    a.turn("more", {"b.txt": "b\n"})
    world.git("add", ".")
    world.git(*BARE, "commit", "-q", "-m", "by another tool")
    world.agent("session-c").start()
    files = {path for i in holders(world) for path in world.committed(i)["session-a"]["files"]}
    assert one in holders(world) and files == {"a.txt", "b.txt"}
    assert world.open() == []


def test_a_commit_without_a_moved_file_that_was_committed_with_it_gets_no_id_of_it(
    world: World, a: Agent
) -> None:
    a.turn("write", {"a.txt": "a line of the first\n"})
    [first] = world.commit()
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("mv", "a.txt", "moved.txt")
    world.agent("session-b").turn("more", {"b.txt": "a line of the second\n"})
    world.git("add", ".")
    world.git(*BARE, "commit", "-q", "-m", "both")
    world.agent("session-c").start()
    assert first in noted(world)
    world.git("reset", "-q", "HEAD~1")
    assert first not in world.commit("b.txt")
    assert first in world.commit("moved.txt")
    sound(world)
