"""A verdict speaks of one tip: where that is gone or has moved, the turn goes on from what is."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.support.harness import Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\nline five of the agent\n"


def test_a_stream_that_is_gone_when_its_reset_is_due_needs_none(world: World, a: Agent) -> None:
    a.turn("old work", {"README.md": MORE})
    world.git("restore", ".")
    a.prompt("new work")
    assert a.verdict == "reset"
    world.git("update-ref", "-d", f"refs/heads/{world.branch()}")
    a.write("src/a.py", "a = 1\n")
    a.stop()
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}
    assert world.archives == []


@pytest.mark.parametrize("moved", [True, False])
def test_a_new_suffix_is_void_when_the_last_one_moved_on(
    world: World, a: Agent, b: Agent, moved: bool
) -> None:
    world.git("config", "gitcp.streams", "suffix")
    a.turn("add lines", {"README.md": MORE})
    world.write("README.md", README)
    a.prompt("something else")
    assert a.verdict == "new"
    if moved:
        world.write("README.md", MORE)
        b.turn("go on with the lines", {"src/b.py": "b = 1\n"})
        assert world.streams == [world.branch(1)]
    a.write("src/a.py", "a = 1\n")
    a.stop()
    assert world.streams == [world.branch(1)] + ([] if moved else [world.branch(2)])


@pytest.mark.parametrize("last", ["session-a", "session-b"])
def test_what_is_carried_forward_names_a_session_that_still_has_work_there(
    world: World, a: Agent, b: Agent, last: str
) -> None:
    both = sorted([a, b], key=lambda agent: agent.sid == last)
    for agent in both:
        agent.turn("work", {f"{agent.sid}.txt": f"by {agent.sid}\n", f"{agent.sid}.md": "m\n"})
    assert world.trailer(world.branch(), "Entire-Session")[-1] == last
    world.commit("session-a.txt", "session-b.txt")
    assert world.trailer(world.branch(), "Entire-Session") == [last]
    world.commit(f"{last}.md")
    assert world.trailer(world.branch(), "Entire-Session") == [both[0].sid]


@pytest.mark.parametrize(("base", "orphan"), [("here", False), ("elsewhere", True)])
def test_a_stream_of_the_original_program_belongs_to_the_session_on_its_base(
    world: World, a: Agent, b: Agent, base: str, orphan: bool
) -> None:
    """It carries no copy of the state, and the state names no stream, only a base."""
    a.turn("work", {"src/a.py": "a = 1\n"})
    _as_the_original(world, a, base)
    b.turn("more", {"src/b.py": "b = 1\n"})
    assert len(world.archives) == int(orphan)
    assert len(world.trailer(world.branch(), "Entire-Session")) == (1 if orphan else 2)


def _as_the_original(world: World, agent: Agent, base: str) -> None:
    ref, index = f"refs/heads/{world.branch()}", str(world.home / "index")
    copy = f".entire/metadata/{agent.sid}/state.json"
    script = f"""
        git read-tree {ref} && git update-index --force-remove {copy}
        git log -1 --format=%B {ref} | grep -v Gitcp-Stream >{index}.message
        git update-ref {ref} $(git commit-tree $(git write-tree) -F {index}.message)
    """
    env = {**os.environ, "GIT_INDEX_FILE": index}
    subprocess.run(["sh", "-ec", script], cwd=world.path, env=env, check=True)
    state = {k: v for k, v in agent.state.items() if k not in ("streams", "files_touched")}
    if base == "elsewhere":
        state["base_commit"] = world.git("rev-parse", "HEAD~1")
    (world.path / f".git/entire-sessions/{agent.sid}.json").write_text(json.dumps(state))
    (world.path / f".git/gitcp/open/{agent.sid}").unlink()


def test_a_stream_that_comes_back_is_gone_on_with_where_its_base_is_back_too(
    world: World, a: Agent
) -> None:
    a.turn("work", {"src/a.py": "a = 1\n"})
    [branch], there = world.streams, world.git("rev-parse", "HEAD")
    world.git("stash", "-u")
    world.git("checkout", "-q", "HEAD~1")
    a.turn("look around", {})
    world.git("stash", "pop")
    a.prompt("go on")
    assert (a.verdict, world.streams) == ("restore", [branch])
    world.git("checkout", "-q", there)
    a.write("src/b.py", "b = 1\n")
    a.stop()
    assert world.tree(branch) == {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}
    assert (world.streams, world.archives) == ([branch], [])
