"""Calls of a shell that work in another worktree than that of their session's home."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, edit, end, run
from tests.support.harness import Agent, World
from tests.support.linking import sound

ADD = "git worktree add -q -b side"


@pytest.fixture(params=["beside", "inside"])
def there(world: World, request: pytest.FixtureRequest) -> Path:
    """A linked worktree in which gitcp has not looked yet."""
    beside, inside = world.path.parent / "there", world.path / ".claude" / "worktrees" / "there"
    path = inside if request.param == "inside" else beside
    world.git("worktree", "add", "-q", "-b", "topic", str(path))
    return path


@pytest.fixture
def a(world: World) -> Agent:
    agent = world.agent("session-a")
    agent.start()
    return agent


def told(world: World, there: Path, path: str) -> list[str]:
    """Who wrote each line of a committed file of another worktree."""
    at = World(there, world.home)
    rows = map(json.loads, at.gitcp("blame", "--json", path).splitlines())
    return [row["who"] for row in rows if row.get("who")]


def shares_there(world: World, there: Path) -> dict[str, int]:
    return shares(world, world.git("rev-parse", "HEAD", cwd=there))


@pytest.mark.parametrize("ended", [True, False], ids=["after the turn", "in the turn"])
def test_what_a_command_writes_in_the_worktree_that_it_names_is_the_sessions(
    world: World, there: Path, a: Agent, ended: bool
) -> None:
    (there / "mine.txt").write_text(text(1))
    a.prompt("generate it there")
    run(a, f"cd {os.path.relpath(there, world.path)} && printf 'one line of it\\n' >made.txt")
    (there / "later.txt").write_text(text(4))
    if ended:
        a.stop()
    assert len(world.commit("made.txt", cwd=there)) == 1
    assert shares_there(world, there) == {a.sid: 1}
    assert told(world, there, "made.txt") == ["session"]
    assert world.commit("mine.txt", "later.txt", cwd=there) == []
    assert told(world, there, "mine.txt") + told(world, there, "later.txt") == ["person"] * 2
    if not ended:
        a.stop()
    sound(world)


def test_what_a_command_writes_in_its_working_directory_is_the_sessions(
    world: World, there: Path, a: Agent
) -> None:
    a.prompt("go there")
    a.cwd = there
    call = begin(a, "Bash", command="make generated")
    (there / "made.txt").write_text(text(1, 2))
    world.write("mine.txt", text(3))
    end(a, call, {"stdout": "", "stderr": ""})
    a.stop()
    world.commit(cwd=there)
    assert shares_there(world, there) == {a.sid: 2}
    assert world.commit("mine.txt") == []
    assert told(world, world.path, "mine.txt") == ["person"]
    sound(world)


def test_a_path_there_that_the_output_names_was_written_by_the_call(
    world: World, there: Path, a: Agent
) -> None:
    a.prompt("generate it")
    call = begin(a, "Bash", command="./generate")
    (there / "made.txt").write_text(text(1, 2))
    (there / "more.txt").write_text(text(3))
    world.write("here.txt", text(4))
    end(a, call, {"stdout": f"wrote {there}/made.txt\n", "stderr": ""})
    a.stop()
    world.commit("made.txt", "more.txt", cwd=there)
    assert shares_there(world, there) == {a.sid: 3}
    world.commit("here.txt")
    assert shares(world) == {a.sid: 1}


def test_what_the_person_does_meanwhile_in_a_worktree_that_the_call_does_not_name_is_the_persons(
    world: World, there: Path, a: Agent
) -> None:
    a.prompt("generate it")
    call = begin(a, "Bash", command="./generate made.txt")
    world.write("made.txt", text(1))
    (there / "made.txt").write_text(text(2))
    end(a, call, {"stdout": "wrote made.txt\n", "stderr": ""})
    a.stop()
    assert world.commit("made.txt", cwd=there) == []
    assert told(world, there, "made.txt") == ["person"]


@pytest.mark.parametrize("where", ["../side", ".claude/worktrees/side"])
def test_a_worktree_that_a_command_makes_and_writes_in_has_its_work(
    world: World, a: Agent, where: str
) -> None:
    a.prompt("make a worktree for it")
    run(a, f"{ADD} {where} && cd {where} && printf 'one line\\n' >made.txt")
    a.stop()
    side = Path(os.path.normpath(world.path / where))
    (side / "mine.txt").write_text(text(1))
    world.commit(cwd=side)
    assert shares_there(world, side) == {a.sid: 1, "person": 1}
    sound(world)


def test_a_worktree_that_a_script_makes_has_its_work(world: World, a: Agent) -> None:
    a.prompt("make a worktree for it")
    side = world.path.parent / "side"
    call = begin(a, "Bash", command="./work-aside")
    world.git("worktree", "add", "-q", "-b", "side", str(side))
    (side / "made.txt").write_text(text(1, 2))
    end(a, call, {"stdout": "", "stderr": ""})
    a.stop()
    world.commit(cwd=side)
    assert shares_there(world, side) == {a.sid: 2}
    sound(world)


def test_what_a_command_discards_there_comes_back(world: World, there: Path, a: Agent) -> None:
    before = (there / "README.md").read_text()
    (there / "README.md").write_text(before + text(1))
    a.prompt("clean it up")
    run(a, f"cd {os.path.relpath(there, world.path)} && git checkout -- .")
    assert (there / "README.md").read_text() == before
    at = World(there, world.home)
    points = [json.loads(row) for row in at.gitcp("rewind", "--list", "--json").splitlines()]
    call = next(point for point in points if point["kind"] == "tool")
    at.gitcp("rewind", "--to", call["id"])
    assert (there / "README.md").read_text() == before + text(1)


def test_a_call_there_whose_end_was_not_heard_ends_with_its_turn(
    world: World, there: Path, a: Agent
) -> None:
    a.prompt("generate it there")
    begin(a, "Bash", command=f"cd {there} && ./generate")
    (there / "made.txt").write_text(text(1, 2))
    a.stop()
    (there / "mine.txt").write_text(text(3))
    world.commit(cwd=there)
    assert shares_there(world, there) == {a.sid: 2, "person": 1}
    assert "visits" not in a.state
    sound(world)


def test_a_call_there_that_was_interrupted_ends_with_the_next_prompt(
    world: World, there: Path, a: Agent
) -> None:
    a.prompt("generate it there")
    begin(a, "Bash", command=f"cd {there} && ./generate")
    (there / "made.txt").write_text(text(1, 2))
    a.prompt("no, do something else")
    (there / "mine.txt").write_text(text(3))
    a.stop()
    world.commit(cwd=there)
    assert shares_there(world, there) == {a.sid: 2, "person": 1}


def test_where_a_look_costs_too_much_the_commit_there_finds_the_work(
    world: World, there: Path, a: Agent
) -> None:
    world.git("config", "gitcp.look-budget", "0")
    a.prompt("generate it there")
    run(a, f"cd {there} && printf 'one line of it\\n' >made.txt")
    (there / "mine.txt").write_text(text(3))
    world.commit(cwd=there)
    assert shares_there(world, there) == {a.sid: 1, "person": 1}
    a.stop()
    sound(world)


def test_two_sessions_in_one_worktree_each_have_their_own(
    world: World, there: Path, a: Agent
) -> None:
    b = world.agent("session-b", cwd=there)
    b.start()
    b.prompt("write here")
    a.prompt("write there")
    edit(b, "theirs.txt", text(1))
    run(a, f"cd {there} && printf 'one line of it\\n' >made.txt")
    run(b, "printf 'another line\\n' >more.txt")
    a.stop()
    b.stop()
    world.commit(cwd=there)
    assert shares_there(world, there) == {a.sid: 1, b.sid: 2}
    sound(world)
