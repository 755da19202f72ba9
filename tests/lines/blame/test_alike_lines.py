"""A block that repeats what stands beside it: git may call another of the equal lines new."""

from __future__ import annotations

import json

import pytest

from tests.support.harness import World

HEAD = "def a():\n    if x:\n        return 1\n"
NEW = "    if z:\n        return 1\n    return 2\n\ndef b():\n"
TAIL = "    return 2\n\ndef c():\n    if y:\n        return 1\n    return 2\n"


@pytest.fixture
def repeated(world: World) -> World:
    """A person's file, and a session's commit that puts five lines into it."""
    world.write("f.py", HEAD + TAIL)
    world.commit()
    agent = world.agent("session-1", tools=True)
    agent.turn("more of the same", {"f.py": HEAD + NEW + TAIL})
    assert world.commit()
    return world


def test_each_line_that_git_blames_on_a_sessions_commit_is_the_sessions(repeated: World) -> None:
    commit = repeated.head
    rows = [json.loads(line) for line in repeated.gitcp("blame", "--json", "f.py").splitlines()]
    assert [row["content"] + "\n" for row in rows if row["commit"] == commit] == NEW.splitlines(
        True
    )
    assert {row["session_id"] for row in rows if row["commit"] == commit} == {"session-1"}
    assert {row["who"] for row in rows if row["commit"] != commit} == {"person"}


def test_stats_survival_and_traces_have_the_same_lines(repeated: World) -> None:
    stats = json.loads(repeated.gitcp("stats", "--survival", "--json", "HEAD~1.."))
    assert stats["added"] == {"agent": 5, "person": 0, "unknown": 0, "unrecorded": 0}
    assert (stats["survival"]["added"], stats["survival"]["alive"]) == (5, 5)
    (trace,) = map(json.loads, repeated.gitcp("export-traces", "HEAD~1..").splitlines())
    (talk,) = trace["files"][0]["conversations"]
    assert talk["ranges"] == [{"start_line": 4, "end_line": 8}]
