"""The choice at a terminal: drawn where it can be, numbered where not, and a plan agreed to."""

from __future__ import annotations

import pytest

from tests.rewind.going import done, files
from tests.support.harness import Agent, World
from tests.support.terminal import talk


def at_terminal(world: World, term: str, *typed: tuple[str, str]) -> str:
    """`gitcp rewind` at a terminal."""
    return talk(world, ["rewind", "--files-only"], *typed, term=term)


def two_turns(a: Agent) -> None:
    a.turn("write one", {"a.py": "1\n"})
    a.turn("write two", {"a.py": "2\n"})


def test_points_are_numbered_where_the_terminal_cannot_move_its_cursor(
    world: World, a: Agent
) -> None:
    two_turns(a)
    seen = at_terminal(
        world,
        "dumb",
        ("which one?", "99\n"),
        ("not a number from 1 to", "2\n"),
        ("go back? [y/N]", "y\n"),
    )
    assert "rewound: 1 modified\r\n'gitcp undo' takes it back\r\n" in seen
    assert world.read("a.py") == "1\n"


def test_the_end_of_the_input_is_no_answer(world: World, a: Agent) -> None:
    two_turns(a)
    assert "Traceback" not in at_terminal(world, "dumb", ("which one?", "\x04"))
    seen = at_terminal(world, "dumb", ("which one?", "2\n"), ("go back? [y/N]", "\x04"))
    assert seen.endswith("nothing changed\r\n")
    assert world.read("a.py") == "2\n"


def test_a_plan_that_is_not_agreed_to_changes_nothing(world: World, a: Agent) -> None:
    two_turns(a)
    before = files(world.path)
    at_terminal(world, "dumb", ("which one?", "2\n"), ("go back? [y/N]", "\n"))
    at_terminal(world, "dumb", ("which one?", "\n"))
    assert files(world.path) == before
    assert done(world, "undo", "--list") == ""


def test_the_marked_point_shows_its_plan_and_is_taken_by_enter(world: World, a: Agent) -> None:
    pytest.importorskip("prompt_toolkit")
    two_turns(a)
    seen = at_terminal(
        world, "xterm", ("enter: choose", "j"), ("modify", "\r"), ("go back? [y/N]", "y\n")
    )
    assert "write one" in seen
    assert world.read("a.py") == "1\n"
