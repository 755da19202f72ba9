"""A call that has begun: its client asks the person for a permission, works, or is killed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import pytest

from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, edit, end, run
from tests.support.clients.process import start_sleeper
from tests.support.harness import Agent, World
from tests.support.linking import own, sound


@pytest.mark.linux  # ps tells no directories: a git that the test itself runs is the session's
def test_what_the_person_commits_while_the_client_asks_is_the_persons(
    world: World, a: Agent
) -> None:
    a.prompt("generate it")
    edit(a, "own.txt", text(1))
    call = begin(a, "Bash", command="./generate")
    world.write("mine.txt", text(2, 3))
    world.write("README.md", world.read("README.md") + text(4))
    assert world.commit("mine.txt", "README.md") == []
    world.write("more.txt", text(5))
    world.commit("more.txt", "own.txt")
    assert shares(world) == {a.sid: 1, "person": 1}
    world.write("generated.txt", text(6))
    end(a, call)
    a.stop()
    world.commit()
    assert shares(world) == {a.sid: 1}
    sound(world)


def test_what_is_committed_while_the_call_runs_is_the_sessions(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]]
) -> None:
    a.prompt("generate it")
    call = begin(a, "Bash", command="./generate")
    child.append(start_sleeper(world.path, {**os.environ, "CLAUDE_CODE_SESSION_ID": a.sid}))
    world.write("generated.txt", text(1, 2))
    world.commit("generated.txt")
    assert shares(world) == {a.sid: 2}
    end(a, call)
    a.stop()
    sound(world)


def test_a_commit_of_the_session_itself_is_its_own_though_no_process_is_seen(
    world: World, a: Agent
) -> None:
    a.prompt("generate and commit it")
    call = begin(a, "Bash", command="./generate && git add -A && git commit -m generated")
    world.write("generated.txt", text(1, 2))
    own(a, "add", "-A")
    own(a, "commit", "-q", "-m", "generated")
    end(a, call)
    assert shares(world) == {a.sid: 2}


def test_a_tool_without_a_process_of_its_own_may_write_until_it_ends(
    world: World, a: Agent
) -> None:
    a.prompt("generate it")
    call = begin(a, "mcp__gen__make", name="x")
    world.write("generated.txt", text(1, 2))
    world.commit("generated.txt")
    end(a, call)
    assert shares(world) == {a.sid: 2}


@pytest.mark.parametrize("meanwhile", ["looks", "works"])
def test_what_another_session_saw_while_the_client_asked_is_taken_back_at_the_calls_end(
    world: World, a: Agent, b: Agent, meanwhile: str
) -> None:
    b.prompt("look round")
    a.prompt("generate it")
    edit(a, "own.txt", text(1))
    call = begin(a, "Bash", command="./generate")
    world.write("mine.txt", text(2, 3))
    if meanwhile == "looks":
        b.stop()
    else:
        run(b, "true")
    time.sleep(0.3)  # more than a process takes to begin
    allowed = time.monotonic()
    world.write("generated.txt", text(4))
    end(a, call, duration_ms=round((time.monotonic() - allowed) * 1000))
    world.commit("mine.txt", "own.txt")
    assert shares(world) == {a.sid: 1, "person": 2}
    sound(world)


@pytest.mark.parametrize("more", ["alone", "with its own work", "and its work later"])
def test_a_commit_that_was_linked_by_what_the_call_had_not_written_is_unlinked(
    world: World, a: Agent, b: Agent, more: str
) -> None:
    b.prompt("look round")
    a.prompt("generate it")
    if more == "with its own work":
        edit(a, "own.txt", text(1))
        pipeline = "release-claim | update-session | !cat"  # the program gets the event
        world.git("config", "gitcp.tool-end.pipeline", pipeline)
    call = begin(a, "Bash", command="./generate")
    world.write("mine.txt", text(2, 3))
    b.stop()
    ids = world.commit()
    commit, message = world.git("rev-parse", "HEAD"), world.git("log", "-1", "--format=%B")
    assert len(ids) == 1
    if more == "and its work later":
        world.write("later.txt", text(5))
    time.sleep(0.3)  # more than a process takes to begin
    allowed = time.monotonic()
    world.write("generated.txt", text(4))
    end(a, call, duration_ms=round((time.monotonic() - allowed) * 1000))
    assert world.git("log", "-1", "--format=%B") == message
    if more == "with its own work":
        assert commit not in world.git("notes", "--ref=gitcp", "list")
    else:
        note = world.git("notes", "--ref=gitcp", "show", commit)
        assert f"Entire-Checkpoint-Removed: {ids[0]} its call waited" in note
    authors = {"mine.txt": ["person", "person"]}
    if more == "with its own work":
        authors["own.txt"] = ["session"]
    for path, expected in authors.items():
        rows = map(json.loads, world.gitcp("blame", "--json", path).splitlines())
        assert [row["who"] for row in rows if row.get("who")] == expected
    a.stop()
    world.commit("generated.txt")
    assert shares(world) == {a.sid: 1}
    sound(world)


# A file tool whose client is killed before it tells of the result.


def cut_short(world: World, a: Agent, tool: str, path: str, **arguments: Any) -> None:
    """Begin a call of a file tool, and end the client without a word after it has written."""
    a.prompt("write it")
    begin(a, tool, file_path=str(world.path / path), **arguments)
    if "content" in arguments:
        content = arguments["content"]
    else:
        content = world.read(path).replace(arguments["old_string"], arguments["new_string"])
    world.write(path, content)
    world.kill(a)


@pytest.mark.parametrize(
    "then", ["the person commits", "another session comes", "a stranger's turn"]
)
def test_a_file_with_exactly_what_the_call_was_to_write_is_the_sessions(
    world: World, a: Agent, b: Agent, then: str
) -> None:
    cut_short(world, a, "Write", "new.txt", content=text(1, 2))
    world.write("mine.txt", text(3))
    if then == "another session comes":
        b.start()
    elif then == "a stranger's turn":
        b.turn("look round")
    world.commit()
    assert shares(world) == {a.sid: 2, "person": 1}
    sound(world)


def test_an_edit_that_the_call_named_is_the_sessions(world: World, a: Agent) -> None:
    world.write("f.txt", text(1, 2, 3))
    assert world.commit() == []
    old, new = text(2), text(2, 4)
    cut_short(world, a, "Edit", "f.txt", old_string=old, new_string=new)
    world.commit()
    assert shares(world) == {a.sid: 1}
    sound(world)


def test_what_the_person_made_of_it_before_anybody_looked_is_nobodys(
    world: World, a: Agent
) -> None:
    edit_first(world, a)
    cut_short(world, a, "Write", "new.txt", content=text(1, 2))
    world.write("new.txt", text(1, 2, 3))
    world.commit()
    assert shares(world) == {a.sid: 1, "unknown": 3}


def edit_first(world: World, a: Agent) -> None:
    a.prompt("write")
    edit(a, "own.txt", text(9))


def test_what_the_person_writes_once_somebody_looked_is_the_persons(
    world: World, a: Agent, b: Agent
) -> None:
    cut_short(world, a, "Write", "new.txt", content=text(1, 2))
    b.turn("look round")
    world.write("new.txt", text(1, 2, 3))
    world.commit()
    assert shares(world) == {a.sid: 2, "person": 1}


# A client that was killed while its shell lives on.


def kill_above_its_shell(
    world: World, a: Agent, command: str, child: list[subprocess.Popen[bytes]]
) -> None:
    """Begin a call whose shell goes on when its client has ended without a word."""
    a.prompt("generate it")
    edit(a, "own.txt", text(9))
    begin(a, "Bash", command=command)
    child.append(start_sleeper(world.path, {**os.environ, "CLAUDE_CODE_SESSION_ID": a.sid}))
    world.kill(a)


def list_authors(world: World, path: str) -> list[str]:
    rows = map(json.loads, world.gitcp("blame", "--json", path).splitlines())
    return [row["who"] for row in rows if row.get("who")]


@pytest.mark.parametrize("then", ["the person commits", "another session comes"])
def test_what_is_made_beside_a_shell_that_outlives_its_client_is_nobodys(
    world: World, a: Agent, b: Agent, child: list[subprocess.Popen[bytes]], then: str
) -> None:
    world.write("old.txt", text(1))
    world.commit()
    kill_above_its_shell(world, a, "./generate", child)
    world.write("mine.txt", text(2, 3))
    world.write("old.txt", text(1, 4))
    if then == "another session comes":
        b.start()
        b.turn("look round")
    assert world.commit("mine.txt", "old.txt") == []
    assert list_authors(world, "mine.txt") == ["unknown", "unknown"]
    assert list_authors(world, "old.txt") == ["person", "unknown"]
    world.commit("own.txt")
    assert shares(world) == {a.sid: 1}
    sound(world)


def test_a_new_file_that_the_call_names_is_still_its_work_when_its_client_was_killed(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]]
) -> None:
    kill_above_its_shell(world, a, "./generate >made.txt", child)
    world.write("made.txt", text(2, 3))
    world.commit("made.txt")
    assert shares(world) == {a.sid: 2}
    sound(world)
