"""What every checkpoint carries of its session: all of it, and stored once."""

from __future__ import annotations

import json

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record import session, stream
from tests.support.harness import World

TURNS = 60


def prompt(number: int) -> str:
    """Three kilobytes that no other prompt has."""
    return f"Do part {number}: " + " ".join(str(number * 7919 + n) for n in range(500))


def stored(world: World) -> int:
    """Bytes of all objects that git finds, before they are compressed."""
    form = "--batch-check=%(objectsize)"
    return sum(map(int, world.git("cat-file", "--batch-all-objects", form).split()))


def test_a_turn_stores_what_is_new_however_many_came_before(world: World) -> None:
    a = world.agent("session-a")
    a.turn("begin", {"a.py": "0\n"})
    repo = Repo.find(str(world.path))
    state = session.load_state(repo, a.sid)
    assert state
    for number in range(TURNS):
        state["turns"][f"{number:012x}"] = {"number": number + 2, "prompt": prompt(number)}
    session.put_state(repo, a.sid, session.encode_state(state))
    a.turn("go on", {"a.py": "1\n"})  # they are new
    before = stored(world)
    a.turn(prompt(TURNS), {"a.py": "2\n"})
    assert stored(world) - before < 8 * len(prompt(TURNS))
    copied = world.git("show", f"{world.branch()}:.entire/metadata/{a.sid}/state.json")
    assert len(json.loads(copied)["turns"]) == 1


def test_a_state_that_is_lost_has_every_turn_again(world: World) -> None:
    a = world.agent("session-a")
    for number in range(4):
        a.turn(prompt(number), {f"{number}.py": "x\n"} if number != 1 else {})
    turns = a.state["turns"]
    assert len(turns) == 4
    (world.path / f".git/entire-sessions/{a.sid}.json").unlink()
    a.prompt("go on")
    assert list(a.state["turns"].items())[:4] == list(turns.items())


def test_a_copy_that_an_older_version_wrote_is_read(world: World) -> None:
    """It has all turns in state.json and none below turns/."""
    a = world.agent("session-a")
    a.turn("one", {"a.py": "1\n"})
    repo, state = Repo.find(str(world.path)), a.state
    with Objects(repo):
        tip = stream.read_tip(repo.objects, f"refs/heads/{world.branch()}")
        assert tip
        copy = stream.read_with_turns(repo.objects, tip, a.sid)
    assert copy and copy["turns"] == state["turns"]


def test_prompt_txt_has_what_was_asked_in_the_turn(world: World) -> None:
    a = world.agent("session-a")
    for words in ("the first thing", "the second thing"):
        a.turn(words, {"a.py": f"{words}\n"})
    at = f".entire/metadata/{a.sid}/prompt.txt"
    assert world.show(world.branch(), at) == "the second thing\n"
