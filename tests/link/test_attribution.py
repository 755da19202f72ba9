"""Whose lines, whose tokens, whose prompt: what a checkpoint says of a session's part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitcp.agents import transcripts
from gitcp.agents.claude_code import CLIENT
from tests.support.harness import Agent, World
from tests.support.linking import ids, own, sessions, v1

TEN = "".join(f"the agent's line {n}\n" for n in range(10))


def lines(world: World, checkpoint: str, sid: str = "session-a") -> tuple[int, ...]:
    """(agent's, agent removed, human added, modified, removed, total) of a session's part."""
    told = sessions(world, checkpoint)[sid]["initial_attribution"]
    keys = "agent_lines agent_removed human_added human_modified human_removed total_committed"
    return tuple(told[key] for key in keys.split())


Files = dict[str, str | None]
B = "b = 1\nb = 2\nb = 3\n"
MINE: Files = {"mine.py": "one\ntwo\nthree\n"}
CHANGED = TEN.replace("line 0\n", "line zero\n").replace("the agent's line 1\n", "")
# What the person writes before the prompt, the agent in its turn, the person after it; the paths
# that are committed (another person's commit is between) and what is counted of them by hand.
COUNTED: dict[str, tuple[Files, Files, Files, str, tuple[int, ...]]] = {
    "all of it is the agent's": ({}, {"a.py": TEN}, {}, "a.py", (10, 0, 0, 0, 0, 10)),
    "the person adds lines and a file": (
        {}, {"a.py": TEN}, {"a.py": TEN + "by hand\nby hand too\n", **MINE}, "a.py mine.py",
        (10, 0, 5, 0, 0, 15)),
    "the person changes a line and takes one out: what never got in is none": (
        {}, {"a.py": TEN}, {"a.py": CHANGED}, "a.py", (8, 0, 0, 1, 1, 9)),
    "the agent deletes lines and a file": (
        {"old.py": "one\ntwo\n", "b.py": B}, {"b.py": "b = 1\n", "old.py": None}, {},
        "b.py old.py", (0, 4, 0, 0, 0, 4)),
    "the agent moves a file and adds a line": (
        {"old.py": TEN}, {"old.py": None, "new.py": TEN + "one more\n"}, {}, "new.py old.py",
        (1, 0, 0, 0, 0, 1)),
    "the person moves a file and changes a line": (
        {"old.py": TEN}, {"a.py": B}, {"old.py": None, "new.py": TEN.replace(" 0\n", " zero\n")},
        "a.py new.py old.py", (3, 0, 0, 1, 0, 4)),
    "what is not committed does not count": (
        MINE, {"a.py": TEN}, {"dirty.py": "dirty\n"}, "a.py", (10, 0, 0, 0, 0, 10)),
    "what was dirty before the prompt is the person's": (
        MINE, {"a.py": TEN}, {}, "a.py mine.py", (10, 0, 3, 0, 0, 13)),
    "a binary file has no lines": (
        {}, {"a.py": TEN, "b.bin": "\0\1\2\n\n\n"}, {}, "a.py b.bin", (10, 0, 0, 0, 0, 10)),
}  # fmt: skip


def test_lines_are_counted_as_by_hand(world: World, a: Agent) -> None:
    stale = world.agent("session-old")
    stale.turn("something", {"old.py": "old = 1\n"})
    stale.end()
    for number, (name, (before, wrote, after, paths, want)) in enumerate(COUNTED.items()):
        at = f"{number}/"
        for path, text in before.items():
            world.write(at + path, text or "")
        if None in {*wrote.values(), *after.values()}:
            world.commit(at)
        a.turn(name, {at + path: text for path, text in wrote.items()})
        world.write("between.txt", name)
        assert world.commit("between.txt") == []
        for path, text in after.items():
            if text is None:
                (world.path / at / path).unlink()
            else:
                world.write(at + path, text)
        [one] = world.commit(*(at + path for path in paths.split()))
        assert list(sessions(world, one)) == [a.sid], "a stale session changes nothing"
        assert lines(world, one) == want, name
        told = sessions(world, one)[a.sid]["initial_attribution"]
        assert told["agent_percentage"] == (
            100 if want[0] == want[-1] else told["agent_percentage"]
        )
        assert told["calculated_at"].endswith("Z")


def test_each_session_and_each_commit_has_its_own_lines(world: World, a: Agent) -> None:
    b = world.agent("session-b")
    a.turn("two files", {"a.py": TEN, "c.py": B})
    b.turn("a file and an end", {"a.py": TEN + B, "b.py": B})
    [one] = world.commit("a.py", "b.py")
    assert lines(world, one) == (10, 0, 0, 0, 0, 16)
    assert lines(world, one, "session-b") == (6, 0, 0, 0, 0, 16)
    told = sessions(world, one).values()
    assert [m["initial_attribution"]["agent_percentage"] for m in told] == [62.5, 37.5]
    [two] = world.commit("c.py")
    assert lines(world, two) == (3, 0, 0, 0, 0, 3)


def test_each_path_names_the_turn_and_the_prompt_that_made_it(world: World, a: Agent) -> None:
    a.turn("the first prompt", {"a.py": TEN, "b.py": "b = 1\n"})
    first, superseded = a.state["turn_id"], world.git("hash-object", "b.py")
    a.turn("the second prompt", {"b.py": "b = 2\n", "c.py": "c = 1\n"})
    assert superseded in world.git("rev-list", "--objects", world.branch()).split()
    [one] = world.commit("a.py", "b.py", "c.py")
    found = sessions(world, one)["session-a"]["files"]
    assert {path: told["prompt"] for path, told in found.items()} == {
        "a.py": "the first prompt",
        "b.py": "the second prompt",
        "c.py": "the second prompt",
    }
    assert found["a.py"]["turn_id"] == first != found["b.py"]["turn_id"]
    assert found["b.py"]["oid"] == world.git("rev-parse", "HEAD:b.py")
    assert "the second prompt" in world.gitcp("show", one)
    prompts = v1(world)[f"{one[:2]}/{one[2:]}/0/prompt.txt"].decode().splitlines()
    assert {"the first prompt", "the second prompt"} <= set(prompts)


def usage(counts: dict[str, Any]) -> list[int]:
    return [counts[key] for key in transcripts.make_usage()]


def test_the_deltas_of_a_sessions_commits_add_up(world: World, a: Agent) -> None:
    made = []
    a.prompt("commit twice, then talk")
    for path in ("a.py", "b.py"):
        a.write(path, TEN + path)
        own(a, "add", path)
        own(a, "commit", "-q", "-m", path)
        made += ids(world)
    a.answer([{"type": "text", "text": "and that was it"}])
    a.stop()
    spent = a.transcript.read_text().count('"usage"')
    told = [sessions(world, one)["session-a"] for one in made]
    assert sum(one["token_usage_delta"]["api_call_count"] for one in told) == spent
    assert told[-1]["token_usage"]["api_call_count"] == spent, "what came after the last commit"
    a.turn("and once more", {"c.py": TEN + "c", "d.py": TEN + "d"})
    made += [one for path in ("c.py", "d.py") for one in world.commit(path)]
    told = [sessions(world, one)["session-a"] for one in made]
    deltas = [usage(one["token_usage_delta"]) for one in told]
    total = [sum(column) for column in zip(*deltas, strict=True)]
    assert total == usage(told[-1]["token_usage"])
    assert [any(delta) for delta in deltas] == [True] * 3 + [False]
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
    before, scan, total, start = None, None, transcripts.make_usage(), 0
    for point in points:
        scan = CLIENT.scan(b"".join(data[start:point]), scan)
        total = transcripts.add_tokens(total, transcripts.subtract_tokens(scan["usage"], before))
        before, start = scan["usage"], point
    whole = CLIENT.scan(b"".join(data))["usage"]
    assert transcripts.list_counts(before) == transcripts.list_counts(whole)
    assert transcripts.list_counts(total) == transcripts.list_counts(whole)


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
