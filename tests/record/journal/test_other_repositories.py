"""What a session writes in another repository by a call whose start gitcp has not heard of: nobody
knows there whose it is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.record.journal.lines import shares, text
from tests.support import warm
from tests.support.clients.calls import begin, edit, end
from tests.support.harness import Agent, World
from tests.support.linking import sound

_IDS = count(1)


@pytest.fixture(params=["beside", "submodule"])
def other(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """Another repository in which gitcp is enabled: a clone beside, or a submodule."""
    if request.param == "beside":
        at = world.path.parent / "other"
        world.git("clone", "-q", str(world.path), str(at))
    else:
        at = world.path / "sub"
        add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
        world.git(*add, str(world.path), "sub")
        world.git("commit", "-q", "-m", "add a submodule")
    warm.command("enable", [], at, os.environ).check_returncode()
    made = World(at, world.home)
    yield made
    made.close()


def write_there(a: Agent, other: World, path: str, content: str) -> None:
    """The end of a file tool's call that names a path of the other repository."""
    other.write(path, content)
    end_unheard(a, "Write", file_path=str(other.path / path), content=content)


def end_unheard(a: Agent, tool: str, **arguments: str) -> None:
    """The end of a call whose start was not reported."""
    call = {"tool": tool, "tool_input": arguments, "tool_use_id": f"toolu_{next(_IDS)}"}
    end(a, call, {"stdout": "", "stderr": ""})


def authors(other: World, path: str) -> list[str]:
    """Who wrote each line of a committed file, as `gitcp blame` says."""
    rows = map(json.loads, other.gitcp("blame", "--json", path).splitlines())
    return [row["who"] for row in rows if row.get("who")]


def test_a_file_that_a_session_of_another_repository_wrote_is_nobodys(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there")
    write_there(a, other, "new.txt", text(1, 2))
    other.write("mine.txt", text(3))
    assert other.commit("mine.txt") == []
    assert other.commit("new.txt") == []
    a.stop()
    assert authors(other, "new.txt") == ["unknown", "unknown"]
    assert authors(other, "mine.txt") == ["person"]
    other.write("mine.txt", text(3, 4))
    other.commit()
    assert authors(other, "mine.txt") == ["person", "person"]
    marker = Path(other.git("rev-parse", "--absolute-git-dir")) / "gitcp/visited"
    assert not marker.exists()
    a.prompt("read there")
    end_unheard(a, "Bash", command=f"cat {other.path}/new.txt")
    assert not marker.exists()


def test_what_the_person_had_changed_there_before_is_the_persons_until_the_session_writes(
    world: World, other: World, a: Agent
) -> None:
    other.write("f.txt", text(1))
    other.commit()
    a.prompt("write there")
    call = begin(a, "Edit", file_path=str(other.path / "f.txt"), old_string="x", new_string="y")
    end(a, call)
    other.write("f.txt", text(1, 2))
    other.commit()
    assert authors(other, "f.txt") == ["person", "person"]


def test_an_amended_commit_keeps_that_its_lines_are_nobodys(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there")
    write_there(a, other, "new.txt", text(1, 2))
    other.commit()
    other.git("commit", "-q", "--amend", "-m", "said better")
    assert authors(other, "new.txt") == ["unknown", "unknown"]


def test_in_a_linked_commit_of_a_session_there_its_lines_are_nobodys(
    world: World, other: World, a: Agent
) -> None:
    there = other.agent("session-there")
    a.prompt("write there")
    there.prompt("write here")
    edit(there, "own.txt", text(1))
    write_there(a, other, "new.txt", text(2, 3))
    there.stop()
    other.commit()
    assert shares(other) == {there.sid: 1, "unknown": 2}
    sound(other)


def test_what_a_command_writes_in_another_repository_is_nobodys(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("generate it there")
    where = os.path.relpath(other.path, world.path)
    other.write("made.txt", text(5))
    end_unheard(a, "Bash", command=f"cd {where} && printf 'one line of it\\n' >made.txt")
    other.write("later.txt", text(4))
    other.commit("made.txt")
    other.commit()
    assert authors(other, "made.txt") == ["unknown"]
    assert authors(other, "later.txt") == ["person"]
