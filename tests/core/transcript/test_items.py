"""A transcript as a list of what happened, whichever agent wrote it."""

from __future__ import annotations

import json
from typing import Any

from gitcp.agents.reading.items import list_items


def read(*entries: dict[str, Any]) -> list[tuple[str, str]]:
    data = "\n".join(map(json.dumps, entries)).encode()
    return [(item["kind"], item["text"] or item["name"]) for item in list_items(data)]


def test_a_prompt_typed_while_the_agent_was_at_work_is_one() -> None:
    queued = {"type": "queued_command", "prompt": "and this too"}
    assert read(
        {"type": "user", "message": {"role": "user", "content": "do it"}},
        {"type": "attachment", "attachment": queued},
    ) == [("prompt", "do it"), ("prompt", "and this too")]


def test_what_gemini_rewound_or_said_again_is_there_once() -> None:
    assert read(
        {"projectHash": "x"},
        {"id": "1", "type": "user", "content": "first"},
        {"id": "2", "type": "gemini", "content": "no"},
        {"$rewindTo": "2"},
        {"id": "3", "type": "gemini", "content": "wrong"},
        {"id": "3", "type": "gemini", "content": "yes"},
    ) == [("prompt", "first"), ("answer", "yes")]


def test_codex_calls_and_their_results_share_an_id() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "shell"}
    entries = [
        {"type": "response_item", "payload": {**call, "arguments": '{"command": ["ls"]}'}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c"}},
    ]
    found = list(list_items("\n".join(map(json.dumps, entries)).encode()))
    assert [(item["kind"], item["id"]) for item in found] == [("call", "c"), ("result", "c")]
    assert found[0]["input"] == {"command": ["ls"]}
