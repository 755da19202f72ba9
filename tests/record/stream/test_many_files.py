"""What a turn that writes many files costs in processes, packs and objects: counted, not timed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.git.traced import processes
from tests.support.harness import Json, World

FEW, MANY, IN_A_FOLDER = 40, 500, 20


class Counts(NamedTuple):
    """What the hooks of a turn ran and stored."""

    ran: list[str]  # git's commands
    packs: int
    loose: int
    packed: int  # objects in packs, each as often as it was stored


def stored(world: World) -> dict[str, int]:
    lines = world.git("count-objects", "-v").splitlines()
    return {name: int(count) for name, _, count in (line.partition(": ") for line in lines)}


def turn(world: World, name: str, count: int) -> Counts:
    """A turn in which one shell command writes so many files: what its hooks cost."""
    agent, trace = world.agent(name), world.home / f"trace-{name}"
    agent.prompt(f"Make {count} files")
    tool: Json = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "toolu_1"}
    agent.event("PreToolUse", **tool)
    for number in range(count):
        world.write(
            f"{name}/{number // IN_A_FOLDER}/file{number}.txt", f"line of {name}, {number}\n"
        )
    before = stored(world)
    world.env["GITCP_TRACE"] = str(trace)
    agent.event("PostToolUse", **tool, tool_response={})
    agent.stop()
    del world.env["GITCP_TRACE"]
    after = stored(world)
    new = {key: after[key] - before[key] for key in after}
    return Counts(processes(trace), new["packs"], new["count"], new["in-pack"])


@pytest.mark.own_formats
def test_a_turn_of_many_files_costs_no_more_processes_and_packs_and_stores_each_once(
    world: World,
) -> None:
    few, many = turn(world, "few", FEW), turn(world, "many", MANY)
    folders = MANY // IN_A_FOLDER
    again = 100  # a few small objects are written again sooner than they are looked for

    assert len(many.ran) == len(few.ran), many.ran
    assert many.loose == few.loose == 0
    assert many.packs <= few.packs
    assert MANY + folders < many.packed < MANY + folders + again
