"""Work that lies in the stash while its file gets another name."""

from __future__ import annotations

import json

import pytest

from tests.support import gits
from tests.support.harness import World
from tests.support.linking import noted

ROWS = [f"line {n} of the file" for n in range(20)]
OWN = "a line by the agent", "and another by the agent"


def join(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def put_away(world: World, last: tuple[str, ...] = ()) -> None:
    """A session's work in old/two.txt goes into the stash; old becomes new."""
    world.write("old/two.txt", join(ROWS))
    world.write("old/one.txt", "something else\nwith lines\n")
    world.commit()
    a = world.agent("session-a", tools=True)
    a.turn("write", {"old/two.txt": join([*ROWS[:10], *OWN, *ROWS[10:], *last])})
    world.git("stash", "push", "-q")
    (world.path / "old").rename(world.path / "new")
    world.commit()


def read_authors(world: World, path: str) -> dict[str, str]:
    rows = [json.loads(row) for row in world.gitcp("blame", "--json", path).splitlines()]
    return {row["content"]: row["session_id"] or row["who"] for row in rows}


@pytest.mark.parametrize("later", [0, 1, 5])
@pytest.mark.parametrize("added", [False, True])
def test_its_lines_are_the_sessions_when_they_come_back_under_the_new_name(
    world: World, later: int, added: bool
) -> None:
    put_away(world)
    for n in range(later):
        world.write("other.txt", f"{n} by hand\n")
        world.write(
            "new/two.txt", join([*ROWS[:3], *(f"{k} by hand" for k in range(n + 1)), *ROWS[3:]])
        )
        world.commit()
    world.git("stash", "pop", "-q")
    if added:
        world.write("new/two.txt", world.read("new/two.txt") + "the last line by hand\n")
    [checkpoint] = world.commit()
    assert list(world.committed(checkpoint)) == ["session-a"]
    authors = read_authors(world, "new/two.txt")
    assert {row for row, who in authors.items() if who == "session-a"} == {*OWN}
    assert "not committed" not in world.gitcp("status")
    world.write("new/two.txt", world.read("new/two.txt") + "one more by hand\n")
    assert world.commit() == []


def test_a_persons_change_of_the_renamed_file_is_not_the_work(world: World) -> None:
    put_away(world)
    world.write("new/two.txt", join([*ROWS[:10], "a line by hand", *ROWS[10:]]))
    assert world.commit() == []
    world.write("new/two.txt", join([*ROWS[:10], OWN[0], "a line by hand", *ROWS[10:]]))
    assert world.commit() == []


@pytest.mark.parametrize("edited", [False, True])
def test_a_rename_of_another_file_that_has_its_lines_is_not_the_work(
    world: World, edited: bool
) -> None:
    put_away(world)
    world.write("new/two.txt", join([*ROWS[:10], *OWN, *ROWS[10:]]))
    world.git(*gits.SILENT, "commit", "-qam", "the same lines without hooks")
    world.git("mv", "new/two.txt", "new/three.txt")
    if edited:
        world.write("new/three.txt", world.read("new/three.txt") + "one more line by hand\n")
    assert world.commit() == []


@pytest.mark.parametrize("ended", [False, True])
def test_a_commit_without_hooks_that_has_it_is_found(world: World, ended: bool) -> None:
    put_away(world)
    a = world.agent("session-a", tools=True)
    if ended:
        a.end()
    world.git("stash", "pop", "-q")
    world.git(*gits.SILENT, "commit", "-qam", "without hooks")
    if ended:
        world.gitcp("relink")
    else:
        a.turn("something else", {"other.txt": "quite other words\n"})
    assert len(noted(world)) == 1
    authors = read_authors(world, "new/two.txt")
    assert {row for row, who in authors.items() if who == "session-a"} == {*OWN}


def test_what_a_commit_leaves_of_it_is_the_next_ones(world: World) -> None:
    last = "the third line by the agent", "and the fourth of them"
    put_away(world, last)
    world.git("stash", "pop", "-q")
    whole = world.read("new/two.txt")
    world.write("new/two.txt", whole.removesuffix(join([*last])))
    world.git("add", "new/two.txt")
    world.write("new/two.txt", whole)
    world.git("commit", "-qm", "the first of its lines")
    assert len(world.ids("HEAD")) == 1
    assert world.open() == ["session-a"]
    [checkpoint] = world.commit()
    assert list(world.committed(checkpoint)) == ["session-a"]
    authors = read_authors(world, "new/two.txt")
    assert {row for row, who in authors.items() if who == "session-a"} == {*OWN, *last}
    assert world.open() == []
