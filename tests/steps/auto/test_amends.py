"""Commits of ours that are amended: what they have cost, and what was said late, comes with it."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, Json, World


@pytest.fixture
def a(auto: World) -> Agent:
    return auto.agent("session-a", tools=True)


def part(world: World) -> Json:
    """What the checkpoint of HEAD says of the session."""
    [one] = world.ids("HEAD")
    return dict(world.committed(one)["session-a"])


def calls(metadata: Json) -> tuple[int, int]:
    """(calls of the model in all, since the commit before)."""
    told = metadata["token_usage"], metadata["token_usage_delta"]
    return told[0]["api_call_count"], told[1]["api_call_count"]


def test_an_amend_with_more_work_of_the_session_unites_both(auto: World, a: Agent) -> None:
    a.turn("add a", {"a.txt": "one\n"})
    assert calls(part(auto)) == (2, 2)
    auto.git("config", "gitcp.strategy", "manual-commit")
    a.turn("add to it", {"a.txt": "one\ntwo\n", "b.txt": "b\n"})
    auto.git("add", ".")
    auto.git("commit", "-q", "--amend", "--no-edit")
    told = part(auto)
    assert told["strategy"] == "auto-commit", "the one it was made with"
    assert calls(told) == (5, 5)
    assert told["files_touched"] == ["a.txt", "b.txt"]
    assert told["initial_attribution"]["agent_lines"] == 3


@pytest.mark.parametrize("how", ["an amend", "a prompt"])
def test_a_reply_that_is_flushed_late_comes_with(auto: World, a: Agent, how: str) -> None:
    a.turn("add a", {"a.txt": "one\n"})
    first = auto.ids("HEAD")[0]
    a.answer([{"type": "text", "text": "and that was all"}])
    assert "that was all" not in part(auto)["transcript"]
    if how == "an amend":
        auto.git("commit", "-q", "--amend", "-m", "better")
    else:
        a.prompt("go on")
    told = auto.committed(first)["session-a"]
    assert "that was all" in told["transcript"]
    assert calls(told) == (3, 3)
