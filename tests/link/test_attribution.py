"""Whose lines, whose tokens, whose prompt: what a checkpoint says of a session's part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitcp.agents.claude_code import transcript as claude
from gitcp.core.transcript import tokens
from tests.support.harness import Agent, World
from tests.support.linking import ids, own, sessions, v1

README = "line one\nline two\nline three\n"
TEN = "".join(f"the agent's line {n}\n" for n in range(10))


def lines(world: World, checkpoint: str, sid: str = "session-a") -> tuple[int, ...]:
    """(agent's, agent removed, human added, modified, removed, total) of a session's part."""
    told = sessions(world, checkpoint)[sid]["initial_attribution"]
    keys = "agent_lines agent_removed human_added human_modified human_removed total_committed"
    return tuple(told[key] for key in keys.split())


# Hand-counted.


def test_all_of_it_is_the_agents(world: World, a: Agent) -> None:
    a.turn("ten lines", {"a.py": TEN})
    [one] = world.commit("a.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)
    told = sessions(world, one)["session-a"]["initial_attribution"]
    assert told["agent_percentage"] == 100
    assert told["calculated_at"].endswith("Z")


def test_a_commit_within_the_turn_is_the_agents(world: World, a: Agent) -> None:
    a.prompt("write and commit")
    a.write("a.py", TEN)
    own(a, "add", "a.py")
    own(a, "commit", "-q", "-m", "ten")
    assert lines(world, *ids(world)) == (10, 0, 0, 0, 0, 10)


def test_lines_the_person_adds_are_the_persons(world: World, a: Agent) -> None:
    a.turn("ten lines", {"a.py": TEN})
    world.write("a.py", TEN + "by hand\nby hand too\n")
    world.write("mine.py", "one\ntwo\nthree\n")
    [one] = world.commit("a.py", "mine.py")
    assert lines(world, one) == (10, 0, 5, 0, 0, 15)


def test_lines_the_person_changes_or_removes_are_told(world: World, a: Agent) -> None:
    a.turn("ten lines", {"a.py": TEN})
    changed = TEN.replace("line 0\n", "line zero\n").replace("the agent's line 1\n", "")
    world.write("a.py", changed)
    [one] = world.commit("a.py")
    assert lines(world, one) == (8, 0, 0, 1, 1, 9), "what never got in is none"


def test_deletions_of_the_agent_count(world: World, a: Agent) -> None:
    a.turn("shorten", {"README.md": "line one\n", "src/lib.py": None})
    [one] = world.commit()
    assert lines(world, one) == (0, 4, 0, 0, 0, 4)


def test_what_is_not_committed_does_not_count(world: World, a: Agent) -> None:
    world.write("mine.py", "one\ntwo\nthree\n")
    a.turn("ten lines", {"a.py": TEN})
    world.write("README.md", README + "dirty\n")
    [one] = world.commit("a.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)


def test_commits_in_between_do_not_count(world: World, a: Agent) -> None:
    a.turn("ten lines", {"a.py": TEN})
    world.write("mine.py", "one\ntwo\nthree\n")
    assert world.commit("mine.py") == []
    [one] = world.commit("a.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)


def test_what_was_dirty_before_the_prompt_is_the_persons(world: World, a: Agent) -> None:
    world.write("mine.py", "one\ntwo\nthree\n")
    a.turn("ten lines", {"a.py": TEN})
    [one] = world.commit("a.py", "mine.py")
    assert lines(world, one) == (10, 0, 3, 0, 0, 13)


def test_each_session_has_its_own_lines(world: World, a: Agent) -> None:
    b = world.agent("session-b")
    a.turn("ten lines", {"a.py": TEN})
    b.turn("three lines", {"b.py": "b = 1\nb = 2\nb = 3\n"})
    [one] = world.commit("a.py", "b.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 13)
    assert lines(world, one, "session-b") == (3, 0, 0, 0, 0, 13)


def test_two_sessions_in_one_file_are_told_apart(world: World, a: Agent) -> None:
    b = world.agent("session-b")
    a.turn("ten lines", {"a.py": TEN})
    b.turn("three more", {"a.py": TEN + "b = 1\nb = 2\nb = 3\n"})
    [one] = world.commit("a.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 13)
    assert lines(world, one, "session-b") == (3, 0, 0, 0, 0, 13)


def test_what_is_carried_forward_counts_in_its_own_commit(world: World, a: Agent) -> None:
    a.turn("two files", {"a.py": TEN, "b.py": "b = 1\nb = 2\nb = 3\n"})
    [one] = world.commit("a.py")
    [two] = world.commit("b.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)
    assert lines(world, two) == (3, 0, 0, 0, 0, 3)


def test_a_stale_session_changes_nothing(world: World, a: Agent) -> None:
    old = world.agent("session-old")
    old.turn("something", {"old.py": "old = 1\n"})
    old.end()
    a.turn("ten lines", {"a.py": TEN})
    [one] = world.commit("a.py")
    assert list(sessions(world, one)) == ["session-a"]
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)


def test_a_binary_file_has_no_lines(world: World, a: Agent) -> None:
    a.turn("ten lines and a picture", {"a.py": TEN, "b.bin": "\0\1\2\n\n\n"})
    [one] = world.commit("a.py", "b.bin")
    assert lines(world, one) == (10, 0, 0, 0, 0, 10)


# Which prompt made which file.


def test_each_path_names_the_turn_and_the_prompt_that_made_it(world: World, a: Agent) -> None:
    a.turn("the first prompt", {"a.py": TEN, "b.py": "b = 1\n"})
    first = a.state["turn_id"]
    a.turn("the second prompt", {"b.py": "b = 2\n", "c.py": "c = 1\n"})
    [one] = world.commit("a.py", "b.py", "c.py")
    found = sessions(world, one)["session-a"]["files"]
    assert {path: told["prompt"] for path, told in found.items()} == {
        "a.py": "the first prompt",
        "b.py": "the second prompt",
        "c.py": "the second prompt",
    }
    assert found["a.py"]["turn_id"] == first != found["b.py"]["turn_id"]
    assert found["b.py"]["oid"] == world.git("rev-parse", "HEAD:b.py")
    shown = world.gitcp("show", one)
    assert "the second prompt" in shown


def test_what_the_first_prompt_wrote_and_a_later_one_superseded_is_still_there(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": TEN})
    first = world.git("hash-object", "a.py")
    a.turn("two", {"a.py": TEN + "more\n"})
    kept = world.git("rev-list", "--objects", world.branch()).split()
    assert first in kept and world.git("hash-object", "a.py") in kept
    [one] = world.commit("a.py")
    found = sessions(world, one)["session-a"]
    assert found["files"]["a.py"]["prompt"] == "two"
    assert {"one", "two"} <= set(v1(world)[f"{one[:2]}/{one[2:]}/0/prompt.txt"].decode().split())


# Tokens.


def usage(counts: dict[str, Any]) -> list[int]:
    return [counts[key] for key in tokens.make_usage()]


def test_the_deltas_of_a_sessions_commits_add_up(world: World, a: Agent) -> None:
    made = []
    a.prompt("commit twice")
    for path in ("a.py", "b.py"):
        a.write(path, TEN + path)
        own(a, "add", path)
        own(a, "commit", "-q", "-m", path)
        made += ids(world)
    a.stop()
    a.turn("and once more", {"c.py": TEN + "c"})
    made += world.commit("c.py")
    told = [sessions(world, one)["session-a"] for one in made]
    deltas = [usage(one["token_usage_delta"]) for one in told]
    total = [sum(column) for column in zip(*deltas, strict=True)]
    assert total == usage(told[-1]["token_usage"])
    assert all(any(delta) for delta in deltas)
    assert [one["token_usage"]["api_call_count"] for one in told] == sorted(
        one["token_usage"]["api_call_count"] for one in told
    )


MESSAGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 500)), max_size=20)


@given(MESSAGES, st.lists(st.integers(0, 20), max_size=4))
def test_deltas_add_up_however_a_transcript_is_split(
    counts: list[tuple[int, int]], cuts: list[int]
) -> None:
    """A message comes on several lines, perhaps apart; it counts once, with its largest output."""
    data = [_line(*message) for message in counts]
    points = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    before, scan, total, start = None, None, tokens.make_usage(), 0
    for point in points:
        scan = claude.scan(b"".join(data[start:point]), scan)
        total = tokens.add(total, tokens.subtract(scan["usage"], before))
        before, start = scan["usage"], point
    whole = claude.scan(b"".join(data))["usage"]
    assert tokens.list_counts(before) == tokens.list_counts(whole)
    assert tokens.list_counts(total) == tokens.list_counts(whole)


def _line(number: int, output: int) -> bytes:
    told = {"input_tokens": 7 * number + 1, "output_tokens": output}
    message = {"id": f"msg_{number}", "role": "assistant", "usage": told, "content": []}
    return json.dumps({"type": "assistant", "uuid": "u", "message": message}).encode() + b"\n"


def test_a_transcript_that_began_anew_costs_nothing_twice(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.turn("before", {"a.py": TEN})
    [one] = world.commit("a.py")
    a.transcript.write_text("")
    a.turn("after", {"b.py": TEN + "b"})
    [two] = world.commit("b.py")
    first, second = (sessions(world, i)["session-a"] for i in (one, two))
    assert "before" in second["transcript"] and "after" in second["transcript"]
    assert all(n >= 0 for n in usage(second["token_usage_delta"]))
    sums = [
        x + y
        for x, y in zip(
            usage(first["token_usage_delta"]), usage(second["token_usage_delta"]), strict=True
        )
    ]
    assert sums == usage(second["token_usage"])
