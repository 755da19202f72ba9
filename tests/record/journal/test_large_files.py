"""New files over a limit: no hook stores or hashes them, and the journal knows whose they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.record.journal.lines import lengthen, ranges, shares
from tests.support.clients.calls import begin, end, run
from tests.support.harness import Agent, World
from tests.support.linking import sound

BIG = "".join(f"line {n} of a large file\n" for n in range(200))


def by_turn(a: Agent, path: str = "big.txt") -> None:
    a.turn("make it", {path: BIG})


def by_shell(a: Agent, path: str = "big.txt") -> None:
    a.prompt("make it")
    call = begin(a, "Bash", command="make big")
    a.world.write(path, BIG)
    end(a, call)
    a.stop()


def by_tool(a: Agent, path: str = "big.txt") -> None:
    a.prompt("make it")
    call = begin(a, "Write", file_path=str(a.cwd / path), content=BIG)
    a.world.write(path, BIG)
    end(a, call)
    a.stop()


def limited(world: World, limit: str = "1k", key: str = "max-file-size") -> Agent:
    world.git("config", f"gitcp.{key}", limit)
    return world.agent("session-a")


@pytest.mark.parametrize("key", ["max-file-size", "max-untracked-size"])
@pytest.mark.parametrize("make", [by_turn, by_shell, by_tool])
def test_a_new_file_over_a_limit_links_its_commit(
    world: World, make: Callable[[Agent], None], key: str
) -> None:
    make(limited(world, key=key))
    (checkpoint,) = world.commit("big.txt")
    assert "make it" in world.committed(checkpoint)["session-a"]["transcript"]
    assert shares(world) == {"session-a": 200}
    assert world.open() == [], "nothing of it is open any more"
    sound(world)


def test_no_hook_stores_it(world: World) -> None:
    a = limited(world)
    by_shell(a)
    by_turn(a, "other.txt")
    blob = world.git("hash-object", "big.txt")
    assert world.git("cat-file", "-e", blob, ok=False) == ""
    assert world.reader().read(blob) is None
    assert world.open() == ["session-a"]


def test_a_file_of_megabytes_that_a_tool_wrote_is_the_sessions(world: World) -> None:
    a = limited(world, "1m")
    a.prompt("make it")
    call = begin(a, "Write", file_path=str(a.cwd / "big.txt"), content="")
    world.write("big.txt", BIG * 1000)
    end(a, call)
    assert len(world.commit("big.txt")) == 1, "in the middle of the turn"
    assert ranges(world, "big.txt") == [[1, 1, a.state["turn_id"], call["tool_use_id"]]], (
        "one piece"
    )


def test_what_the_person_makes_beside_it_is_the_persons(world: World) -> None:
    a = limited(world)
    by_turn(a)
    world.write("mine.txt", BIG)
    assert world.commit("mine.txt") == []
    a.turn("more", {"small.txt": "small\n"})
    assert len(world.commit(".")) == 1
    assert shares(world) == {"session-a": 201}


@pytest.mark.parametrize("turn", [False, True], ids=["at once", "after a turn"])
def test_what_the_person_changes_in_it_makes_its_lines_unknown(world: World, turn: bool) -> None:
    a = limited(world)
    by_turn(a)
    world.write("big.txt", BIG + "a line by the person\n")
    if turn:
        a.turn("more", {"small.txt": "small\n"})
    assert len(world.commit("big.txt")) == 1, "the session has made the file"
    assert shares(world) == {"unknown": 201}


def test_a_file_that_was_moved_is_still_the_sessions(world: World) -> None:
    by_turn(limited(world))
    (world.path / "big.txt").rename(world.path / "data.txt")
    assert len(world.commit(".")) == 1
    assert shares(world) == {"session-a": 200}


def test_a_file_that_was_deleted_leaves_nothing_open(world: World) -> None:
    a = limited(world)
    by_turn(a)
    (world.path / "big.txt").unlink()
    a.turn("and now?")
    assert world.open() == []
    world.write("big.txt", BIG + "another one\n")
    assert world.commit(".") == []


def test_an_older_version_that_was_staged_is_the_sessions_too(world: World) -> None:
    a = limited(world)
    by_turn(a)
    world.git("add", "big.txt")
    a.turn("once more", {"big.txt": BIG + "more\n"})
    world.git("commit", "-q", "-m", "the first half")
    assert shares(world) == {"session-a": 200}
    assert len(world.commit(".")) == 1
    assert shares(world) == {"session-a": 1}


def test_a_commit_that_the_agent_makes_in_its_call_is_linked(world: World) -> None:
    a = limited(world)
    a.prompt("make it and commit it")
    run(a, "seq 1000 1400 >big.txt && git add . && git commit -q -m big")
    assert len(world.ids("HEAD")) == 1
    assert shares(world) == {"session-a": 401}


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_journal_that_is_cut_or_lost_tells_of_it_all_the_same(world: World, how: str) -> None:
    a = limited(world)
    by_turn(a)
    journal = world.path / ".git" / "gitcp" / "journal"
    if how == "cut":
        lengthen(journal)
        for n in range(6):
            world.write("README.md", f"{n}\n")
            world.commit("README.md")
        assert len(journal.read_bytes()) < 64 << 10
    else:
        journal.unlink()
    assert len(world.commit("big.txt")) == 1
    assert shares(world) == {"session-a": 200}


def test_a_commit_that_ran_no_hook_is_linked_by_the_next_event(
    world: World, tmp_path: Path
) -> None:
    a = limited(world)
    by_turn(a)
    world.git("add", "big.txt")
    world.git("-c", f"core.hooksPath={tmp_path}", "commit", "-q", "-m", "unseen")
    a.turn("go on", {"small.txt": "small\n"})
    assert len(world.checkpoints()) == 1
