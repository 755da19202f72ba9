"""Lines that were moved or copied from one file to another keep their authors."""

from __future__ import annotations

import pytest

from tests.lines.carried.authors import list_recorded, tell, write_turn
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import ids, sound


def lines(who: str, *numbers: int) -> str:
    return "".join(f"value_{n} = compute_for_{who}({n})\n" for n in numbers)


HERS = lines("person", *range(6))
ITS = lines("session", *range(6, 12))
MOVED = lines("person", 3, 4, 5) + lines("session", 6, 7, 8)
LEFT = lines("person", 0, 1, 2) + lines("session", 9, 10, 11)


@pytest.fixture
def a(world: World) -> Agent:
    world.write("base.py", "first = 1\n")
    world.commit()
    return world.agent("session-a", tools=True)


def write_halves(world: World, a: Agent) -> Agent:
    """The person's six lines and the session's, committed; another session."""
    world.write("a.py", HERS)
    world.commit()
    write_turn(a, "write six more", a_py=HERS + ITS)
    world.commit()
    return world.agent("session-b", tools=True)


def test_a_session_that_splits_a_file_has_written_its_own_lines_alone(
    world: World, a: Agent
) -> None:
    b = write_halves(world, a)
    write_turn(b, "split it", b_py="# the rest of it\n" + MOVED, a_py=LEFT)
    world.commit()
    assert tell(world, "b.py") == "TPPPSSS"
    assert tell(world, "a.py") == "PPPSSS"
    sound(world)


def test_a_session_that_moves_lines_in_one_call_has_not_written_them(
    world: World, a: Agent
) -> None:
    b = write_halves(world, a)
    b.prompt("split it")
    run(b, "{ echo '# the rest of it'; sed -n 4,9p a.py; } > b.py; sed -i 4,9d a.py")
    b.stop()
    world.commit()
    assert world.read("b.py") == "# the rest of it\n" + MOVED
    assert tell(world, "b.py") == "TPPPSSS"
    sound(world)


def test_lines_of_a_session_that_a_person_moves_before_the_commit_are_its_own(
    world: World, a: Agent
) -> None:
    write_turn(a, "write it", a_py=ITS)
    world.write("b.py", "header = 1\n" + lines("session", 8, 9, 10))
    world.write("a.py", lines("session", 6, 7, 11))
    world.commit()
    assert tell(world, "a.py") == "SSS"
    assert tell(world, "b.py") == list_recorded(world, "b.py") == "PSSS"
    sound(world)


def test_a_block_that_a_person_copies_before_the_commit_is_the_sessions(
    world: World, a: Agent
) -> None:
    write_turn(a, "write it", a_py=ITS)
    world.write("b.py", lines("session", 6, 7, 8, 9))
    world.write("c.py", lines("session", 10))
    world.commit()
    assert tell(world, "a.py") == "S" * 6
    assert tell(world, "b.py") == "SSSS"
    assert tell(world, "c.py") == "P", "one line may be written twice"
    sound(world)


def test_committed_lines_that_a_person_moves_keep_their_authors(world: World, a: Agent) -> None:
    write_halves(world, a)
    world.write("b.py", "header = 1\n" + MOVED)
    world.write("a.py", LEFT)
    world.commit()
    assert tell(world, "b.py") == "PPPPSSS"
    assert tell(world, "a.py") == "PPPSSS"


def test_committed_lines_that_a_person_copies_keep_their_authors(world: World, a: Agent) -> None:
    write_halves(world, a)
    world.write("b.py", lines("session", 6, 7, 8, 9))
    world.write("a.py", HERS + ITS + "more = 1\n")
    world.commit()
    assert tell(world, "b.py") == "SSSS"


def test_what_stands_in_several_files_is_who_copies_its(world: World, a: Agent) -> None:
    head = "# Copyright of the authors of it\n# Licensed under its terms\n# See it for more of it\n"
    write_turn(a, "write it", a_py=head + "one = 1\n", b_py=head + "two = 2\n")
    world.write("c.py", head + "three = 3\n")
    world.commit()
    assert tell(world, "c.py") == "PPPP"


def test_a_line_that_a_person_typed_beside_a_sessions_stays_his(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=ITS)
    world.write("b.py", "mine = 1\n\nanother_of_mine = compute_for_me(1)\n")
    world.commit()
    assert tell(world, "b.py") == "PPP"
    assert ids(world)


def test_lines_that_a_session_copies_from_its_own_file_are_its_own(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=ITS)
    a.prompt("copy it")
    edit(a, "b.py", ITS + "more = 1\n")
    a.stop()
    world.commit()
    assert tell(world, "b.py") == "S" * 7
