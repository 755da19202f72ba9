"""A call has begun, and its client asks the person for a permission: the person goes on working."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.journal.lines import shares, text
from tests.support.clients.calls import begin, edit, end
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
