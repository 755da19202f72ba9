"""Subagents whose end brings no new change: their transcripts go with their session's."""

from __future__ import annotations

import json
import os

import pytest

from tests.record.session.subagents import Task, committed
from tests.support.harness import Agent, World
from tests.support.linking import ids, own, sound

ALPHA = "def alpha():\n    return 'alpha'\n"
BETA = "def beta():\n    return 'beta'\n"
SECRET = "AKIAIOSFODNN7ABCDEFG"


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a", tools=True)


def said(task: Task, text: str) -> None:
    """The subagent's transcript gets a line more."""
    line = {"type": "assistant", "isSidechain": True, "message": {"content": text}}
    with task.transcript.open("a") as f:
        f.write(json.dumps(line) + "\n")


def read_task(world: World, checkpoint: str, task: Task) -> str:
    """The transcript of a subagent in a checkpoint, '' for none."""
    files = committed(world, checkpoint)
    return files.get(f"{task.id}/agent-{task.agent}.jsonl", b"").decode()


def explored(a: Agent, name: str) -> Task:
    """A subagent that looked around, and has ended."""
    task = Task(a, name).start()
    said(task, f"what {name} found")
    task.end()
    return task


def test_a_subagent_that_only_read_is_stored_with_its_session(world: World, a: Agent) -> None:
    a.prompt("explore, then write")
    task = explored(a, "alpha")
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert "what alpha found" in read_task(world, one, task)
    about = json.loads(committed(world, one)[f"{task.id}/checkpoint.json"])
    assert (about["tool_use_id"], about["agent_id"]) == (task.id, task.agent)
    assert world.committed(one)["session-a"]["tasks"] == [task.id]
    assert not a.state.get("ended_tasks")
    sound(world)


def two_that_end_together(a: Agent) -> tuple[Task, Task]:
    """Two subagents that wrote alpha.py and beta.py, and ended in the same turn."""
    a.prompt("delegate twice")
    alpha, beta = Task(a, "alpha").start(), Task(a, "beta").start()
    alpha.write("alpha.py", ALPHA)
    beta.write("beta.py", BETA)
    said(alpha, "alpha is done")
    said(beta, "beta is done")
    alpha.end()
    beta.end()
    a.stop()
    return alpha, beta


def test_two_subagents_that_end_together_are_both_stored(world: World, a: Agent) -> None:
    alpha, beta = two_that_end_together(a)
    [one] = world.commit("alpha.py", "beta.py")
    assert "alpha is done" in read_task(world, one, alpha)
    assert "beta is done" in read_task(world, one, beta)
    sound(world)


def test_of_two_that_end_together_each_goes_to_the_commit_of_its_work(
    world: World, a: Agent
) -> None:
    alpha, beta = two_that_end_together(a)
    [first] = world.commit("alpha.py")
    [second] = world.commit("beta.py")
    assert read_task(world, first, alpha) and not read_task(world, first, beta)
    assert read_task(world, second, beta) and not read_task(world, second, alpha)


def test_a_subagent_that_read_in_an_earlier_turn_is_stored_once(world: World, a: Agent) -> None:
    a.prompt("explore")
    task = explored(a, "alpha")
    a.stop()
    a.turn("write", {"a.py": ALPHA, "b.py": BETA})
    [first] = world.commit("a.py")
    [second] = world.commit("b.py")
    assert read_task(world, first, task) and not read_task(world, second, task)


def test_a_subagent_is_stored_with_a_session_that_ended(world: World, a: Agent) -> None:
    a.prompt("write, then explore")
    a.write("a.py", ALPHA)
    task = explored(a, "alpha")
    a.stop()
    a.end()
    [one] = world.commit("a.py")
    assert read_task(world, one, task)


def test_a_subagent_that_ends_after_the_turn_is_stored_with_its_commit(
    world: World, a: Agent
) -> None:
    a.prompt("explore meanwhile")
    task = Task(a, "alpha").start()
    a.event("PostToolUse", **task.call, tool_response={"isAsync": True, "agentId": task.agent})
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    said(task, "what alpha found")
    a.event("SubagentStop", agent_id=task.agent, agent_type="dev")
    a.prompt("<task-notification>\n<task-id>x</task-id>\n</task-notification>")
    a.stop()
    assert "what alpha found" in read_task(world, one, task)
    assert not a.state.get("ended_tasks")


def test_a_subagent_inside_another_is_stored_although_both_only_read(
    world: World, a: Agent
) -> None:
    a.prompt("explore deeply")
    outer = Task(a, "outer").start()
    inner = Task(a, "inner", inside=outer.agent).start()
    said(inner, "what the inner found")
    inner.end()
    said(outer, "what the outer found")
    outer.end()
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert read_task(world, one, inner) and read_task(world, one, outer)


def test_a_subagent_s_transcript_is_found_where_older_clients_put_it(
    world: World, a: Agent
) -> None:
    a.prompt("explore")
    task = Task(a, "alpha").start()
    said(task, "what alpha found")
    os.rename(task.transcript, a.transcript.parent / task.transcript.name)
    task.end()
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert "what alpha found" in read_task(world, one, task)


def test_a_subagent_is_stored_with_the_session_s_own_commit(world: World, a: Agent) -> None:
    a.prompt("commit, then explore")
    a.write("a.py", ALPHA)
    own(a, "add", "a.py")
    own(a, "commit", "-q", "-m", "by the agent")
    [one] = ids(world)
    task = explored(a, "alpha")
    a.stop()
    assert "what alpha found" in read_task(world, one, task)


def test_the_session_s_own_commit_gets_no_subagent_whose_work_is_open(
    world: World, a: Agent
) -> None:
    a.prompt("delegate and commit")
    alpha, beta = Task(a, "alpha").start(), Task(a, "beta").start()
    alpha.write("alpha.py", ALPHA)
    beta.write("beta.py", BETA)
    alpha.todos("half of it", left="the rest")  # a checkpoint of both their work
    own(a, "add", "alpha.py")
    own(a, "commit", "-q", "-m", "by the agent")
    [first] = ids(world)
    said(beta, "beta is done")
    beta.end()
    alpha.end()
    a.stop()
    [second] = world.commit("beta.py")
    assert read_task(world, second, beta) and not read_task(world, first, beta)


def test_a_subagent_s_transcript_outlives_the_client_s_file(world: World, a: Agent) -> None:
    a.prompt("explore, then write")
    task = explored(a, "alpha")
    task.transcript.unlink()
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert "what alpha found" in read_task(world, one, task)


def test_a_subagent_s_last_words_are_stored_although_they_were_flushed_late(
    world: World, a: Agent
) -> None:
    a.prompt("explore, then write")
    task = explored(a, "alpha")
    said(task, "late words")
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert "late words" in read_task(world, one, task)


def test_a_subagent_that_only_read_is_redacted_and_leaves_no_copy(world: World, a: Agent) -> None:
    a.prompt("explore, then write")
    task = Task(a, "alpha").start()
    said(task, f"the key is {SECRET}")
    task.end()
    copies = world.path / ".git" / "gitcp" / "transcript"
    there = b"".join(path.read_bytes() for path in copies.iterdir())
    assert b"the key is" in there and SECRET.encode() not in there
    a.write("a.py", ALPHA)
    a.stop()
    [one] = world.commit("a.py")
    assert "the key is" in read_task(world, one, task) and SECRET not in read_task(world, one, task)
    assert not [path for path in copies.iterdir() if task.agent in path.name]
    world.gitcp("clean", "--force")
