"""Sessions whose agent was killed in the middle of a turn: what they wrote, and their end."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import sessions, sound

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


@pytest.mark.parametrize("tools", [True, False], ids=["tools told", "transcript only"])
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "new"])
@pytest.mark.parametrize("more", ["", "person = 1\n"], ids=["as written", "with a person's line"])
def test_what_a_commit_took_of_a_killed_session_is_settled(
    world: World, tools: bool, tracked: bool, more: str
) -> None:
    if tracked:
        world.write("a.py", "base = 1\n")
        world.commit("a.py")
    a = world.agent("session-a", tools=tools)
    a.prompt("write")
    a.write("a.py", A)
    world.kill(a)
    world.write("a.py", A + more)
    [one] = world.commit("a.py")
    for number in range(2):
        world.write("a.py", f"# person {number}\n{world.read('a.py')}")
        assert world.commit("a.py") == [], "the person's alone"
    world.agent("session-b", tools=True).turn("other", {"b.py": B})
    world.write("a.py", f"# person again\n{world.read('a.py')}")
    assert world.commit("a.py") == []
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_a_killed_session_ends_at_the_next_event_of_another(world: World) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.prompt("write")
    a.write("a.py", A)
    world.kill(a)
    b.start()
    assert a.state["phase"] == "ended"
    assert a.state["files_touched"] == ["a.py"], "its turn has got its checkpoint"
    b.turn("other", {"b.py": B})
    [one] = world.commit("a.py")
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_what_a_transcript_tells_of_after_a_commit_is_the_sessions(world: World) -> None:
    a = world.agent("session-a")
    a.prompt("write")
    a.write("a.py", A)
    [one] = world.commit("a.py")
    a.write("a.py", A + B)
    [two] = world.commit("a.py")
    assert one != two
    a.stop()
    world.write("a.py", f"# person\n{world.read('a.py')}")
    assert world.commit("a.py") == []
    sound(world)
