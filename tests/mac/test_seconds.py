"""Where a file system keeps whole seconds, what happens within one has no order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.harness import Agent, Json, World


@pytest.fixture
def coarse(world: World, tmp_path: Path) -> World:
    """A world on a disk whose times are whole seconds."""
    at = tmp_path / "seconds" / "repo"
    at.parent.mkdir()
    world.git("clone", "-q", str(world.path), str(at))
    there = World(at, world.home, world.env)
    there.git("config", "gitcp.hook-timeout", "600")  # a program plays the disk
    there.gitcp("enable")
    assert (at / "README.md").stat().st_ctime_ns % 1_000_000_000 == 0
    return there


def shell(agent: Agent, path: str, text: str) -> None:
    """A command that writes a file and names it."""
    given = {"command": f"make {path}"}
    tool: Json = {"tool_name": "Bash", "tool_input": given, "tool_use_id": f"t-{path}"}
    agent.event("PreToolUse", **tool)
    (agent.cwd / path).write_text(text)
    agent.event("PostToolUse", **tool, tool_response={"stdout": "", "stderr": ""})


def who(world: World, path: str) -> set[str]:
    """Who wrote the lines of a file, by `blame`."""
    lines = world.gitcp("blame", "--json", path).splitlines()
    return {str(json.loads(line)["who"]) for line in lines}


def test_what_a_command_writes_that_names_it_is_its_sessions(coarse: World) -> None:
    agent = coarse.agent("s", tools=True)
    agent.prompt("work")
    shell(agent, "made.txt", "by the command\n")
    agent.stop()
    assert agent.state["files_touched"] == ["made.txt"]
    assert coarse.commit("made.txt")
    assert who(coarse, "made.txt") == {"session"}


def test_a_persons_edit_in_the_second_of_a_call_is_not_the_agents(coarse: World) -> None:
    agent = coarse.agent("s", tools=True)
    agent.prompt("work")
    for number in range(3):
        shell(agent, f"made-{number}.txt", "by the command\n")
        coarse.write(f"own-{number}.txt", "by the person\n")
    agent.stop()
    assert agent.state["files_touched"] == [f"made-{number}.txt" for number in range(3)]
    coarse.commit(*(f"own-{number}.txt" for number in range(3)))
    assert set().union(*(who(coarse, f"own-{n}.txt") for n in range(3))) <= {"person", "unknown"}
