"""Open edits: which a commit takes, line by line, and what is known of them afterwards."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import answers, sessions, sound, touched
from tests.support.screens import ALL_WELL

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


@pytest.mark.parametrize("lost", [["journal"], ["journal", "look"]], ids=" and ".join)
@pytest.mark.parametrize("more", [True, False], ids=["after another turn", "at once"])
def test_what_a_commit_settled_stays_so_when_the_journal_is_lost(
    world: World, lost: list[str], more: bool
) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("write", {"a.py": A, "b.py": B})
    world.commit("a.py")
    if more:
        a.turn("more", {"c.py": "more = 1\n"})
    for name in lost:
        (world.path / ".git" / "gitcp" / name).unlink()
    world.write("a.py", A + "person = 1\n")
    assert world.commit("a.py") == []
    [one] = world.commit("b.py")
    assert touched(world, one, a.sid) == ["b.py"]
    sound(world)


def test_each_half_of_a_file_links_the_session_that_wrote_it(world: World) -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(40))
    world.write("f.py", text)
    world.commit("f.py")
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("the top", {"f.py": "top_of_a = 1\n" + text})
    b.turn("the end", {"f.py": "top_of_a = 1\n" + text + "end_of_b = 1\n"})
    answers(world, "y\nn\n", "add", "-p", "f.py")
    world.git("commit", "-q", "-m", "the top")
    [one] = world.ids("HEAD")
    world.git("commit", "-q", "-a", "-m", "the end")
    [two] = world.ids("HEAD")
    assert [list(sessions(world, name)) for name in (one, two)] == [[a.sid], [b.sid]]
    world.write("f.py", world.read("f.py") + "person = 1\n")
    assert world.commit("f.py") == []
    sound(world)


def test_what_a_person_adds_to_a_file_whose_lines_are_committed_is_the_persons(
    world: World,
) -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(40))
    world.write("f.py", text)
    world.commit("f.py")
    a = world.agent("session-a", tools=True)
    a.turn("the top", {"f.py": "top_of_a = 1\n" + text})
    world.write("f.py", world.read("f.py") + "end_of_the_person = 1\n")
    answers(world, "y\nn\n", "add", "-p", "f.py")
    world.git("commit", "-q", "-m", "the top")
    assert len(world.ids("HEAD")) == 1
    world.git("commit", "-q", "-a", "-m", "the end")
    assert world.ids("HEAD") == []
    sound(world)


def test_work_whose_checkpoints_the_journal_lost_is_not_settled(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("write", {"a.py": A, "b.py": B})
    journal = world.path / ".git" / "gitcp" / "journal"
    left = [x for x in journal.read_text().splitlines(True) if not x.startswith('{"stream"')]
    other = journal.with_name("other")  # a journal only grows, or is another file
    other.write_text("".join(left))
    other.rename(journal)
    journal.with_name("journal-checked").unlink(missing_ok=True)
    assert world.gitcp("doctor") == world.gitcp("doctor", "--fix") == ALL_WELL
    [one] = world.commit("a.py")
    assert touched(world, one, a.sid) == ["a.py"]
    [one] = world.commit("b.py")
    assert touched(world, one, a.sid) == ["b.py"]
    assert world.open() == []
    sound(world)
