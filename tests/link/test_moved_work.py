"""A commit of a session's lines in another file is its commit, whoever moved or copied them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lines.carried.authors import list_recorded, write_turn
from tests.support.harness import Agent, World
from tests.support.linking import BARE, ids, noted, settled, shell, sound


def lines(who: str, *numbers: int) -> str:
    return "".join(f"value_{n} = compute_for_{who}({n})\n" for n in numbers)


BASE = "first = 1\nlast = 2\n"
ITS = lines("session", *range(6))
A, B = "session-a", "session-b"
HEADER = "header = 'of the new file'\n"


@pytest.fixture
def a(world: World) -> Agent:
    world.write("a.py", BASE)
    world.write("c.py", "other = 1\n")
    world.commit()
    return world.agent("session-a", tools=True)


HOOKS = {"with hooks": "git", "without": f"git {' '.join(BARE)}"}


def make(world: World, how: str, paths: str = ".") -> list[str]:
    """Commit paths; the ids."""
    shell(world, f"git add {paths}; {HOOKS[how]} commit -qm x")
    if how == "without":
        world.agent("session-later").start()
    return ids(world) + noted(world)


@pytest.mark.parametrize("how", HOOKS)
@pytest.mark.parametrize("target", ["new.py", "c.py"])
def test_all_lines_that_a_person_cuts_out_and_puts_into_another_file(
    world: World, a: Agent, target: str, how: str
) -> None:
    write_turn(a, "write it", a_py="first = 1\n" + ITS + "last = 2\n")
    world.write("a.py", BASE)
    world.write(target, HEADER + ITS)
    assert len(make(world, how)) == 1
    assert list_recorded(world, target).endswith("S" * 6)
    settled(world, a)
    sound(world)


def test_some_lines_that_a_person_cuts_out_of_a_file_that_stays_uncommitted(
    world: World, a: Agent
) -> None:
    write_turn(a, "write it", a_py=BASE + ITS)
    world.write("a.py", BASE + lines("session", 0, 1, 5))
    world.write("b.py", lines("session", 2, 3, 4))
    [one] = world.commit("b.py")
    assert world.committed(one)["session-a"]["files_touched"] == ["b.py"]
    assert list_recorded(world, "b.py") == "SSS"
    [other] = world.commit("a.py")
    assert other != one
    sound(world)


def test_one_line_that_a_person_cuts_out(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=BASE + ITS)
    world.write("a.py", BASE + lines("session", 0, 1, 2, 3, 4))
    world.write("b.py", HEADER + lines("session", 5))
    assert len(world.commit("b.py")) == 1
    assert list_recorded(world, "b.py") == "PS"
    sound(world)


def test_a_block_that_a_person_copies(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=BASE + ITS)
    world.write("b.py", HEADER + lines("session", 1, 2, 3, 4))
    assert len(world.commit("b.py")) == 1
    assert list_recorded(world, "b.py") == "PSSSS"
    assert len(world.commit("a.py")) == 1
    sound(world)


NONE = {
    "one line, copied": HEADER + lines("session", 1),
    "two lines, copied": HEADER + lines("session", 1, 2),
    "other numbers": HEADER + lines("session", *range(10, 16)),
    "a person's": HEADER + lines("person", *range(6)),
    "what the file had": BASE,
}


@pytest.mark.parametrize("name", NONE)
def test_what_is_none_of_its_work(world: World, a: Agent, name: str) -> None:
    write_turn(a, "write it", a_py=BASE + ITS)
    world.write("b.py", NONE[name])
    assert world.commit("b.py") == []


def test_lines_that_are_committed_already(world: World, a: Agent) -> None:
    """A part of the file stays open; what a person copies and moves is the other part."""
    write_turn(a, "write it", a_py=BASE + ITS)
    world.write("a.py", BASE + lines("session", *range(5)))
    assert len(world.commit("a.py")) == 1
    world.write("a.py", BASE + ITS)
    world.write("b.py", lines("session", *range(5)))
    assert world.commit("b.py") == []
    world.write("a.py", BASE)
    world.write("d.py", lines("session", *range(5)))
    assert world.commit("a.py", "d.py") == []
    sound(world)


def test_the_head_of_a_licence_in_a_file_of_the_persons(world: World, a: Agent) -> None:
    head = "# Copyright of the authors of it\n# Licensed under its terms\n# See it for more of it\n"
    write_turn(a, "write it", e_py=head + "one = 1\n", f_py=head + "two = 2\n")
    world.write("b.py", head + "three = 3\n")
    assert world.commit("b.py") == []


def test_a_session_that_splits_the_uncommitted_file_of_another(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=BASE + ITS)
    b = world.agent("session-b", tools=True)
    write_turn(b, "split it", b_py=HEADER + lines("session", 3, 4, 5), a_py=BASE)
    told = map(json.loads, world.gitcp("sessions", "--json").splitlines())
    assert {one["session_id"] for one in told if "b.py" in one["files_touched"]} == {A, B}
    [one] = world.commit("b.py")
    assert world.committed(one).keys() == {A, B}
    sound(world)


def test_lines_that_were_put_away(world: World, a: Agent) -> None:
    """One line that the person types elsewhere is none of those in the stash; a block may be."""
    write_turn(a, "write it", a_py=BASE + ITS)
    shell(world, "git stash -q")
    world.write("b.py", lines("session", 5))
    assert world.commit("b.py") == []
    world.write("b.py", ITS)
    assert len(world.commit("b.py")) == 1


def test_a_commit_that_was_undone_and_is_made_again_in_two_files(world: World, a: Agent) -> None:
    write_turn(a, "write it", b_py=ITS)
    [one] = world.commit()
    world.git("reset", "-q", "HEAD~1")
    (world.path / "b.py").unlink()
    world.write("d.py", HEADER + lines("session", 0, 1, 2))
    world.write("e.py", HEADER + lines("session", 3, 4, 5))
    assert world.commit("d.py") == [one]
    assert world.commit("e.py") == [one]
    assert "wrong-note" not in world.gitcp("fsck")
    sound(world)


def test_a_squash_of_a_forge_that_has_the_lines_in_another_file(
    world: World, a: Agent, tmp_path: Path
) -> None:
    hub, there = tmp_path / "hub.git", tmp_path / "there"
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("config", "gitcp.push", "false")
    world.git("switch", "-qc", "feature")
    write_turn(a, "write it", a_py=BASE + ITS)
    [one] = world.commit()
    world.git("push", "-q", "origin", "feature", warns=".*")
    who = world.git("log", "-1", "--format=%an <%ae>")
    world.git("clone", "-q", "-b", "main", str(hub), str(there))
    (there / "c.py").write_text("other = 1\n" + ITS)
    shell(world, f"git commit -qam squash --author='{who}'; git push -q", cwd=there)
    world.git("switch", "-q", "main")
    world.git("pull", "-q", "origin", "main", warns=".*")
    world.agent("later").start()
    assert noted(world) == [one]
    assert "wrong-note" not in world.gitcp("fsck")
    sound(world)


LONG = "first = 1\n" + ITS + "last = 2\n"
SHORT = LONG.replace(lines("session", 1, 2), "")


@pytest.mark.parametrize(
    ("written", "script"),
    [
        (SHORT, "git mv long.py new.py"),
        (SHORT, "mv long.py new.py; echo mine >>new.py"),
        (LONG + "}\n", "git mv long.py new.py"),
    ],
    ids=["removed", "removed, and a line of the person's", "a brace alone"],
)
def test_a_moved_file_is_the_sessions_also_by_what_it_took_away_and_by_all_it_has(
    world: World, written: str, script: str
) -> None:
    world.write("long.py", LONG)
    world.commit()
    agent = world.agent("session-a", tools=True)
    agent.turn("write it", {"long.py": written})
    shell(world, f"{script}; git add -A; git commit -qm x")
    assert len(ids(world)) == 1
    settled(world, agent)
    sound(world)


def test_an_empty_file_that_was_moved_is_nobodys(world: World) -> None:
    world.agent("session-a", tools=True).turn("write it", {"empty.py": ""})
    shell(world, "mkdir d; mv empty.py d; git add -A; git commit -qm x")
    assert ids(world) == []
