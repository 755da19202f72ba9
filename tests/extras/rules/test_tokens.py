"""The tokens of each turn, by the scanner of the agent that wrote the transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.claude_code import CLIENT
from gitcp.agents.reading.turns import gather_turns
from tests.support import recording


def said(role: str, content: Any, **more: Any) -> bytes:
    message = {"role": role, "content": content, **more}
    return json.dumps({"type": role, "message": message}).encode()


def answer(key: str, output: int) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": output}
    return said("assistant", [{"type": "text", "text": key}], id=key, usage=usage)


LINES = [
    b'{"type": "summary"}',
    said("user", "one"),
    answer("a", 10),
    answer("a", 12),  # the same answer goes on: it is counted once
    b"",
    said("user", "two"),
    said("user", "three"),
    answer("b", 5),
    answer("c", 7),
]


def test_each_turn_has_the_tokens_of_its_own_answers() -> None:
    data = b"\n".join(LINES)
    gathered = gather_turns(data, CLIENT)
    told = [(turn["prompt"], turn["spent"] and turn["spent"]["output_tokens"]) for turn in gathered]
    assert told == [("one", 12), ("two", 0), ("three", 12)]
    whole = CLIENT.scan(data)["usage"]
    assert whole and whole["output_tokens"] == 24


def test_the_turns_of_one_document_have_the_tokens_that_their_messages_tell() -> None:
    words = {"one": 0, "yes": 3, "two": 0, "three": 0, "no": 4}
    messages: list[dict[str, Any]] = []
    for text, output in words.items():
        message = {"id": text, "type": "gemini" if output else "user", "content": text}
        spent = {"tokens": {"input": 9, "output": output}} if output else {}
        messages.append({**message, **spent})
    data = json.dumps({"messages": messages}, indent=1).encode()
    gathered = gather_turns(data, agents.get_client("gemini-cli"))
    outputs = [turn["spent"] and turn["spent"]["output_tokens"] for turn in gathered]
    assert outputs == [3, None, 4]


@pytest.mark.parametrize(("agent", "scenario"), recording.SPOKEN)
def test_the_turns_of_every_client_are_there_and_cost_what_the_whole_costs(
    agent: str, scenario: str
) -> None:
    data, client = recording.transcript(agent, scenario), agents.get_client(agent)
    gathered, scan = gather_turns(data, client), client.scan
    assert [t["prompt"] for t in gathered if t["prompt"]] == scan(data)["prompts"]
    assert transcripts.add_tokens(*(turn["spent"] for turn in gathered)) == transcripts.add_tokens(
        scan(data)["usage"]
    )
    calls = [part for turn in gathered for part in turn["parts"] if part["kind"] == "call"]
    answered = any(part["result"] for part in calls)
    assert answered or not calls or scenario.startswith("sig")
