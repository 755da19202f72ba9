"""The choice at a terminal: drawn where it can be, numbered where not, and a plan agreed to."""

from __future__ import annotations

import pytest

from tests.steps.rewind.going import done, files
from tests.support.harness import Agent, World
from tests.support.terminal import Screen, talk

UP, DOWN, TAB, ENTER, ESC, BACKSPACE = "\x1b[A", "\x1b[B", "\t", "\r", "\x1b", "\x7f"


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
    assert "changed 1. 'gitcp undo' takes it back\r\n" in seen
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
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")


PROMPT = "describe every consequence of the rearrangement before anything is rewritten"
WORDS = {*PROMPT.split(), "unmistakable", "considerable", "settings", "change"}


def unbroken(screen: Screen) -> bool:
    """Whether each word of a screen that begins like one of WORDS is whole, but at the end of a
    row of the list."""
    words = [word for row in screen.rows for word in row.split()]
    shown = [word.strip("+-,()") for word in words if not word.endswith("…")]
    parts = {long[:n] for long in WORDS for n in range(5, len(long))} - WORDS
    return not parts & set(shown)


def listed(screen: Screen) -> list[str]:
    """The rows of points."""
    return screen.text.partition("\n--")[0].splitlines()[1:]


@pytest.mark.parametrize("columns", [80, 40])
def test_points_are_moved_in_filtered_and_looked_at_in_any_width(
    world: World, a: Agent, columns: int
) -> None:
    a.turn("write one", {"a.py": "an unmistakable and considerable line of settings\n" * 2})
    a.turn(PROMPT, {"a.py": "2\n", "b.py": "2\n"})
    with Screen(world, ["rewind", "--files-only"], columns) as screen:
        screen.wait("q leave")
        assert screen.rows[0].startswith("go back to before…")
        assert screen.rows[0].endswith(", newest first")
        assert screen.rows[1].startswith(">"), "the newest is marked"
        assert "-- this would change " in screen.text
        assert unbroken(screen), screen.text
        screen.type("j", "change  a.py")
        assert unbroken(screen), screen.text
        screen.type(TAB, "+an unmistakable")
        assert unbroken(screen), screen.text
        screen.type("?", "show only what has these words"[:20])
        screen.type("?", "+an unmistakable")
        screen.type("x")  # a letter that is no key does nothing
        screen.type("/nothing like it", "0 of")
        assert "nothing has these words" in screen.text
        screen.type(ESC, "go back to before…")
        screen.type("/", "newest first")
        screen.type("write ONEX", "filter: write ONEX_")
        screen.type(BACKSPACE, "filter: write ONE_")
        screen.wait_for(lambda: bool(listed(screen)) and all("> wri" in r for r in listed(screen)))
        assert listed(screen)
        screen.type(ENTER, "go back? [y/N]")
        screen.type("y\n", "changed 1, deleted 1. 'gitcp undo' takes")
    assert world.read("a.py") == "an unmistakable and considerable line of settings\n" * 2


def test_q_and_esc_leave_and_nothing_has_changed(world: World, a: Agent) -> None:
    two_turns(a)
    before = files(world.path)
    for key in ("q", ESC):
        with Screen(world, ["rewind"], 80) as screen:
            screen.wait("q leave")
            screen.type(UP + key)
            assert screen.ended() == 0
    assert files(world.path) == before
