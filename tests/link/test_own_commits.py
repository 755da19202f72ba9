"""Whose commit is it: the agent's own, told by environment, process or content, or a person's."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.support.harness import Agent, World
from tests.support.linking import here, ids, linked, own, sessions, sound, touched

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a", tools=True)


@pytest.fixture
def b(world: World) -> Agent:
    return world.agent("session-b", tools=True)


def how(world: World, commit: str = "HEAD") -> dict[str, str]:
    """session -> what the stored verdict of the last commit says of it."""
    verdict = json.loads((world.path / ".git" / "gitcp" / "verdict").read_text())
    return {sid: told["how"] for sid, told in verdict["sessions"].items()}


def test_the_environment_names_the_session_that_commits(world: World, a: Agent, b: Agent) -> None:
    a.prompt("write and commit")
    b.prompt("write something else")
    b.write("b.py", B)
    a.write("a.py", A)
    own(a, "add", "a.py")
    own(a, "commit", "-q", "-m", "mine")
    assert how(world) == {a.sid: "environment"}
    assert list(sessions(world, *ids(world))) == [a.sid]
    sound(world)


def test_what_the_agent_only_commits_links_and_stays_the_persons(world: World, a: Agent) -> None:
    world.write("generated.txt", "made before the prompt\n")
    a.prompt("commit what is there")
    own(a, "add", "-A")
    own(a, "commit", "-q", "-m", "as told")
    [one] = ids(world)
    assert touched(world, one, a.sid) == []
    told = sessions(world, one)[a.sid]["initial_attribution"]
    assert (told["agent_lines"], told["human_added"], told["total_committed"]) == (0, 1, 1)
    a.stop()
    assert "done" in sessions(world, one)[a.sid]["transcript"]
    sound(world)


def test_the_process_above_git_names_the_session(world: World, a: Agent, b: Agent) -> None:
    here(a)
    a.prompt("write and commit")
    b.prompt("write something else")
    b.write("b.py", B)
    a.write("a.py", A)
    world.git("add", "a.py")
    world.git("commit", "-q", "-m", "mine")
    assert how(world) == {a.sid: "process"}
    [one] = ids(world)
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_without_either_the_content_of_the_running_turn_tells(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("write")
    b.prompt("write something else")
    a.write("a.py", A)
    b.write("b.py", B)
    world.git("add", "a.py")
    world.git("commit", "-q", "-m", "one of the two")
    assert how(world) == {a.sid: "content"}
    [one] = ids(world)
    assert touched(world, one, a.sid) == ["a.py"]
    assert a.state["turn_checkpoint_ids"] == [one]
    a.stop()
    b.stop()
    [two] = world.commit("b.py")
    assert list(sessions(world, two)) == [b.sid]
    sound(world)


def test_a_person_who_commits_while_agents_work_is_none_of_them(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("write")
    a.write("a.py", A)
    b.prompt("write something else")
    b.write("b.py", B)
    world.write("mine.txt", "by hand, in an editor\n")
    assert world.commit("mine.txt") == []
    a.stop()
    b.stop()
    [one] = world.commit("a.py", "b.py")
    assert list(sessions(world, one)) == [a.sid, b.sid]
    sound(world)


def test_a_person_may_commit_what_the_agent_has_just_written(world: World, a: Agent) -> None:
    a.prompt("write")
    a.write("a.py", A)
    world.write("mine.txt", "by hand\n")
    [one] = world.commit("a.py", "mine.txt")
    assert touched(world, one, a.sid) == ["a.py"]
    a.stop()
    assert "done" in sessions(world, one)[a.sid]["transcript"], "finalized all the same"
    sound(world)


def test_an_idle_session_in_the_environment_is_not_at_work(world: World, a: Agent) -> None:
    a.turn("write", {"a.py": A})
    world.write("mine.txt", "by hand, in a terminal the agent opened\n")
    world.git("add", "mine.txt")
    own(a, "commit", "-q", "-m", "mine")
    assert ids(world) == []
    own(a, "add", "a.py")
    own(a, "commit", "-q", "-m", "its")
    assert len(ids(world)) == 1
    sound(world)


def test_an_unknown_session_in_the_environment_is_none(world: World, a: Agent) -> None:
    a.turn("write", {"a.py": A})
    world.env["CLAUDE_CODE_SESSION_ID"] = "../../somebody"
    world.write("mine.txt", "by hand\n")
    assert world.commit("mine.txt") == []
    [one] = world.commit("a.py")
    assert list(sessions(world, one)) == [a.sid]


def test_two_agents_commit_in_turns_in_one_worktree(world: World, a: Agent, b: Agent) -> None:
    base = world.head
    a.prompt("granular commits")
    b.prompt("granular commits too")
    made: dict[str, list[str]] = {a.sid: [], b.sid: []}
    for number in range(2):
        for agent in (a, b):
            path = f"{agent.sid}-{number}.py"
            agent.write(path, f"def {agent.sid[-1]}{number}():\n    return {number}\n")
        for agent in (b, a):
            own(agent, "add", f"{agent.sid}-{number}.py")
            own(agent, "commit", "-q", "-m", "next")
            made[agent.sid] += ids(world)
    for agent in (a, b):
        assert agent.state["turn_checkpoint_ids"] == made[agent.sid]
        agent.stop()
    want = [[f"{agent.sid}-{number}.py"] for number in range(2) for agent in (b, a)]
    assert linked(world, base) == want[::-1]
    for agent in (a, b):
        for one in made[agent.sid]:
            assert list(sessions(world, one)) == [agent.sid]
            assert "done" in sessions(world, one)[agent.sid]["transcript"]
    assert world.streams == []
    sound(world)


def test_an_agent_that_commits_what_another_wrote_shares_the_commit(
    world: World, a: Agent, b: Agent
) -> None:
    b.turn("write b", {"b.py": B})
    a.prompt("commit everything")
    a.write("a.py", A)
    own(a, "add", "-A")
    own(a, "commit", "-q", "-m", "everything")
    [one] = ids(world)
    assert {sid: told["files_touched"] for sid, told in sessions(world, one).items()} == {
        a.sid: ["a.py"],
        b.sid: ["b.py"],
    }
    sound(world)


def test_a_persons_commit_in_another_worktree_is_not(world: World, a: Agent) -> None:
    there = world.path.parent / "there"
    a.turn("write a", {"a.py": A})
    world.git("worktree", "add", "-q", "-b", "topic", str(there))
    (there / "a.py").write_text(A)
    assert world.commit("a.py", cwd=there) == []
    assert len(world.commit("a.py")) == 1
    sound(world)


def test_worktrees_that_commit_at_once_all_link(world: World) -> None:
    agents = []
    for number in range(4):
        there = world.path.parent / f"there-{number}"
        world.git("worktree", "add", "-q", "-b", f"topic-{number}", str(there))
        agent = world.agent(f"session-{number}", cwd=there, tools=True)
        agent.turn("write", {f"{number}.py": A + f"# {number}\n"})
        world.git("add", "-A", cwd=there)
        agents.append(agent)
    argv = ["git", "commit", "-q", "-m", "at once"]
    env = {**os.environ, **world.env}
    running = [subprocess.Popen(argv, cwd=agent.cwd, env=env) for agent in agents]
    assert [one.wait() for one in running] == [0] * 4
    for agent in agents:
        [one] = ids(world, cwd=agent.cwd)
        assert list(sessions(world, one)) == [agent.sid]
        assert "files_touched" not in agent.state
    assert world.streams == []
    sound(world)
