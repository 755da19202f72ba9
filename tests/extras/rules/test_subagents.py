"""Subagents in a page's turns: below the call that started each, and never for ever."""

from __future__ import annotations

import json
from typing import Any

from gitcp.agents.reading.turns import gather_turns


def transcript(*blocks: dict[str, Any], beside: bool = True) -> bytes:
    entry = {"type": "assistant", "isSidechain": beside}
    return b"\n".join(
        json.dumps({**entry, "message": {"content": [one]}}).encode() for one in blocks
    )


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Agent", "input": {"prompt": name}}


def nested(parts: Any) -> Any:
    return [part.get("text") or nested(part.get("task", ())) for part in parts]


def test_a_subagent_that_starts_another_has_it_below() -> None:
    tasks = {
        "outer": transcript({"text": "out"}, call("inner")),
        "inner": transcript({"text": "in"}, call("outer"), call("inner")),
    }
    main = transcript({"text": "main"}, call("outer"), beside=False)
    [turn] = gather_turns(main, tasks=tasks)
    assert nested(turn["parts"]) == ["main", ["out", ["in", [], []]]]


def test_an_input_of_any_form_is_shown() -> None:
    [turn] = gather_turns(transcript({**call("x"), "input": {"edits": 3}}, beside=False))
    assert turn["parts"][0]["given"] == '{\n "edits": 3\n}'


def test_lines_beside_the_main_conversation_are_no_part_of_it() -> None:
    assert gather_turns(transcript({"text": "beside"})) == []


def test_an_image_stands_where_it_was_given_or_read() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": "aW1n"}}
    prompt = {"content": [{"type": "text", "text": "Look"}, picture]}
    read = {"type": "tool_result", "tool_use_id": "x", "content": [picture]}
    lines = [
        {"type": "user", "message": {"role": "user", **prompt}},
        {"type": "assistant", "message": {"content": [call("x")]}},
        {"type": "user", "message": {"role": "user", "content": [read]}, "toolUseResult": picture},
    ]
    [turn] = gather_turns(b"\n".join(json.dumps(line).encode() for line in lines))
    assert [part["kind"] for part in turn["parts"]] == ["image", "call", "image"]
    assert turn["parts"][0] == {"kind": "image", "type": "image/png", "data": "aW1n"}
