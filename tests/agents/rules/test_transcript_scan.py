"""What holds for the transcripts of all agents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts
from tests.support import recording

ODD: list[Any] = [None, 7, "x", [], [1], {}, {"x": 1}, [[]], [{}]]
RECORDED = sorted({agent for agent, _ in recording.SCENARIOS})


def read(agent: str, scenario: str) -> tuple[Any, bytes]:
    """The scan of an agent, and a transcript of one of its recordings."""
    if (agent, scenario) not in recording.SPOKEN:
        scenario = "basic-resume"
    return agents.get_client(agent).scan, recording.transcript(agent, scenario)


@pytest.mark.parametrize(("agent", "scenario"), recording.SPOKEN)
def test_a_scan_continued_anywhere_is_the_scan_of_the_whole(agent: str, scenario: str) -> None:
    scan, data = read(agent, scenario)
    whole = scan(data)
    for cut in range(0, len(data), 1 + len(data) // 40):
        first = scan(data[:cut])
        assert first["bytes"] <= cut
        assert scan(data[first["bytes"] :], previous=first) == whole


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 62_000), max_size=5))
def test_a_scan_is_continued_many_times(cuts: list[int]) -> None:
    scan, data = read("claude-code", "resume")
    found = scan(b"")
    for cut in [*sorted(cuts), len(data)]:
        found = scan(data[found["bytes"] : cut], previous=found)
    assert found == scan(data)


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_cursor_makes_the_next_scan_tell_only_what_is_new(agent: str) -> None:
    scan, data = read(agent, "resume")
    first = scan(data[: data.index(b"Second prompt please")])
    kept = json.loads(json.dumps(transcript_facts.make_cursor(first)))
    later = scan(data[kept["bytes"] :], previous=kept)
    assert later["prompts"] == ["Second prompt please"]
    assert (later["items"], later["usage"]) == (scan(data)["items"], scan(data)["usage"])
    assert len(json.dumps(kept)) < 2000


@pytest.mark.parametrize("agent", agents.list_names())
def test_what_is_no_transcript_says_nothing(agent: str) -> None:
    for data in (b"", b"\n\n", b'{"type":"us', b"\xff\xfe\n", b"[]\n", b"null"):
        found = agents.get_client(agent).scan(data)
        assert (found["prompts"], found["written"], found["usage"]) == ([], [], None), data


@pytest.mark.parametrize("agent", RECORDED)
@settings(deadline=None)
@given(data=st.data())
def test_odd_json_does_no_harm(agent: str, data: st.DataObject) -> None:
    """Any value of a real line replaced by any other."""
    scan, raw = read(agent, "basic")
    lines = [json.loads(line) for line in raw.splitlines()]
    entry = data.draw(st.sampled_from(lines))
    for _ in range(data.draw(st.integers(0, 4))):
        inner = list(entry.values()) if isinstance(entry, dict) else entry
        deeper = [value for value in inner if isinstance(value, (dict, list)) and value]
        if not deeper:
            break
        entry = data.draw(st.sampled_from(deeper))
    odd = data.draw(st.sampled_from(ODD))
    keys = list(entry) if isinstance(entry, dict) else list(range(len(entry)))
    entry[data.draw(st.sampled_from(keys))] = odd
    scan(b"\n".join(json.dumps(line).encode() for line in lines))


@pytest.mark.parametrize("agent", sorted({*RECORDED} - {"cline"}))
def test_a_line_that_is_not_json_is_skipped_and_counted(agent: str) -> None:
    scan, data = read(agent, "basic")
    marks = b'{"type":"user","payload":{"type":"token_count","id":\n'
    head, tail = data.split(b"\n", 1)
    broken = scan(head + b"\n" + marks + tail)
    assert broken["skipped"] == 1
    assert broken["prompts"] == scan(data)["prompts"]


# What a client's own events tell of the model: its transcript is not asked.
TOLD_BY_EVENTS = {"codex"}


@pytest.mark.parametrize("agent", [a for a in RECORDED if a not in TOLD_BY_EVENTS])
def test_the_model_that_answered_is_told(agent: str) -> None:
    scenario = next(name for each, name in recording.SPOKEN if each == agent)
    scan, data = read(agent, scenario)
    model = scan(data)["model"]
    assert model and f'"{model}"'.encode() in data


@pytest.mark.parametrize(
    ("entry", "model"),
    [
        ({"model": "m"}, "m"),
        ({"message": {"model": "m"}}, "m"),
        ({"info": {"modelID": "m"}}, "m"),
        ({"modelInfo": {"id": "m"}, "id": "1"}, "m"),
        ({"message": {"model": "<synthetic>"}}, ""),
        ({"model": {"id": "m"}, "message": "m"}, ""),
        ({}, ""),
    ],
)
def test_a_model_is_found_by_the_keys_of_clients(entry: dict[str, Any], model: str) -> None:
    assert transcript_facts.find_model(transcripts.Fields(entry)) == model
