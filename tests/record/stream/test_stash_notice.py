"""A prompt that leaves stashed work behind says where it is."""

from __future__ import annotations

import pytest

from tests.support.harness import World

MORE = "line one\nline two\nline three\nthe agent's line\n"


@pytest.mark.parametrize("path", ["README.md", "new.txt"])
def test_the_person_is_told_of_the_session_the_stash_and_the_ref(world: World, path: str) -> None:
    a = world.agent("session-a")
    a.turn("work", {path: MORE})
    name = world.streams[0].removeprefix("entire/")
    world.git("stash", "-u", "-q")
    said = a.prompt("something else").said
    where = f"refs/gitcp/archive/{name}"
    assert "'session-a' is in stash@{0}" in said and where in said
    a.write("other.txt", "other work\n")
    a.stop()
    assert [ref.rpartition("/")[0] for ref in world.archives] == [where]


def test_work_that_was_thrown_away_is_not_told_of(world: World) -> None:
    a = world.agent("session-a")
    world.write("person.txt", "the person's\n")
    world.git("stash", "-u", "-q")
    a.turn("work", {"README.md": MORE})
    world.git("checkout", "-q", "README.md")
    assert a.prompt("something else").said == ""
