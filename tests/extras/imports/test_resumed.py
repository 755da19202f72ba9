"""A session that was recorded, and goes on while the hooks of its client do not run."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from gitcp.text.times import format_utc
from tests.extras.imports.conftest import TALE, Coder, coder

if TYPE_CHECKING:
    from tests.support.harness import World

AGE = 120  # seconds since the last hook


@pytest.fixture
def resumed(world: World) -> Coder:
    """A recorded session that was resumed without hooks, and wrote a file."""
    agent = coder(world, "resumed")
    agent.prompt("begin")
    agent.stop()
    assert told(world) == []
    grow_older(agent)
    go_on(agent)
    return agent


def grow_older(agent: Coder) -> None:
    """Let time go by since the hooks of a session ran."""
    state = agent.world.path / ".git" / "entire-sessions" / f"{agent.sid}.json"
    told = json.loads(state.read_text())
    for key in ("started_at", "last_interaction_time"):
        told[key] = format_utc(int(time.time()) - AGE)
    state.write_text(json.dumps(told))


def go_on(agent: Coder) -> None:
    """The session goes on without a hook."""
    agent.say({"type": "user", "message": {"role": "user", "content": "Write a tale"}})
    file = agent.cwd / "tale.py"
    file.write_text(TALE)
    given = {"file_path": str(file), "content": TALE}
    use = {"type": "tool_use", "id": "toolu_later", "name": "Write", "input": given}
    agent.say({"type": "assistant", "message": {"id": "msg_later", "content": [use]}})
    result = {"type": "create", "filePath": str(file), "originalFile": None}
    block = {"type": "tool_result", "tool_use_id": "toolu_later", "content": "done"}
    agent.say({"type": "user", "toolUseResult": result, "message": {"content": [block]}})


def told(world: World) -> list[str]:
    """The sessions that status says were not recorded."""
    record = json.loads(world.gitcp("status", "--json").splitlines()[0])
    found = [one for one in record["findings"] if one["kind"] == "unrecorded"]
    return [name for one in found for name in one["sessions"]]


def count_authors(world: World) -> dict[str, int]:
    """How many lines of HEAD's history each kind of author added."""
    counts: dict[str, int] = json.loads(world.gitcp("stats", "--json", "HEAD"))["added"]
    return counts


@pytest.mark.thorough
def test_it_is_noticed_and_its_lines_are_nobodys_until_it_is_imported(
    world: World, resumed: Coder
) -> None:
    assert told(world) == ["resumed"]
    assert "was not recorded: 'gitcp import'" in world.gitcp("status")
    before = count_authors(world)
    world.commit("tale.py")
    assert count_authors(world) == {**before, "unknown": 2}
    links = [json.loads(line) for line in world.gitcp("import", "--json").splitlines()]
    assert [link["commit"] for link in links] == [world.head]
    assert told(world) == []
    assert count_authors(world) == {**before, "agent": before["agent"] + 2}


def test_a_commit_notices_it_first(world: World, resumed: Coder) -> None:
    before = count_authors(world)
    world.commit("tale.py")
    assert count_authors(world) == {**before, "unknown": 2}
    assert told(world) == ["resumed"]


def test_what_it_did_without_hooks_is_told_of_when_they_run_again(
    world: World, resumed: Coder
) -> None:
    assert told(world) == ["resumed"]
    resumed.prompt("and on")
    resumed.stop()
    assert told(world) == ["resumed"]
    world.gitcp("import")
    assert told(world) == []
    resumed.prompt("more")
    resumed.write("b.py", "b = 1\n")
    resumed.stop()
    assert told(world) == []
