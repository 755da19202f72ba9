"""A transcript as a list of what happened, whichever agent wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.agents.reading.items import list_items
from gitcp.agents.transcripts import Fields

# Values of a wrong type, in a call and a change that are right otherwise.
CALL = {"type": "tool_use", "name": "Write", "input": {"file_path": "/a"}}
SAID = {"type": "assistant", "uuid": "d"}
CHANGE = {"type": [1], "content": "x"}


def read(*entries: dict[str, Any]) -> list[tuple[str, str]]:
    data = "\n".join(map(json.dumps, entries)).encode()
    return [(item["kind"], item["text"] or item["name"]) for item in list_items(data)]


def test_a_prompt_typed_while_the_agent_was_at_work_is_one() -> None:
    queued = {"type": "queued_command", "prompt": "and this too"}
    assert read(
        {"type": "user", "message": {"role": "user", "content": "do it"}},
        {"type": "attachment", "attachment": queued},
    ) == [("prompt", "do it"), ("prompt", "and this too")]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "user", "uuid": "1", "parentUuid": None},
        {"type": "response_item", "payload": {"type": "message"}},
        {"type": "session_start"},
    ],
)
def test_the_texts_of_a_prompt_are_one_without_those_of_the_client(entry: dict[str, Any]) -> None:
    texts = ["<system-reminder>now</system-reminder>", "look at", "this file"]
    message = {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
    entry = {**entry, "message": message}
    if "payload" in entry:
        entry["payload"] |= message
    assert read(entry) == [("prompt", "look at\n\nthis file")]


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


@pytest.mark.parametrize(
    ("agent", "entry"),
    [
        ("claude-code", {"type": "user", "uuid": "a", "parentUuid": [1], "message": {}}),
        ("claude-code", {"type": "file-history-snapshot", "messageId": {}}),
        ("claude-code", {"subtype": "compact_boundary", "uuid": "c", "logicalParentUuid": [1]}),
        (
            "claude-code",
            {"toolUseResult": {"bashEditDiff": {"files": [{"hunks": [{"lines": 5}]}]}}},
        ),
        ("claude-code", {"message": {"content": [{"id": "\ud800", **CALL}]}, **SAID}),
        ("codex", {"payload": {"type": "FileChange", "success": True, "changes": {"/a": CHANGE}}}),
        ("gemini-cli", {"type": "gemini", "content": [{"functionCall": {"id": [1]}}]}),
        ("gemini-cli", {"type": "gemini", "id": "1", "toolCalls": [{"name": "edit", "args": "y"}]}),
    ],
)
def test_a_value_of_a_wrong_type_in_a_transcript_stops_no_reading(
    agent: str, entry: dict[str, Any]
) -> None:
    client = agents.get_client(agent)
    after = {"type": "user", "uuid": "z", "message": {"role": "user", "content": "go"}}
    answer = {"type": "user", "message": {"content": [{"type": "tool_result"}]}}
    data = b"".join(json.dumps(one).encode() + b"\n" for one in (entry, answer, after))
    assert client.scan(data)["prompts"] == ([] if agent == "codex" else ["go"])
    assert list(edits.Reading(client, "/r").read_edits(map(Fields, (entry, after)))) == []
    cutter = client.get_cutter()
    cutter.find_leaves_around(data, "call")
    for _, _, leaf in cutter.list_prompts(data):
        cutter.cut_conversation(data, leaf, "old", "new", True)
    cutter.cut_conversation(data, cutter.find_last_leaf(data), "old", "new", True)


def test_an_export_of_opencode_is_read_as_its_messages_in_lines_are() -> None:
    said = {"type": "text", "text": "fix it"}
    call = {"type": "tool", "callID": "c1", "tool": "bash", "state": {"status": "completed"}}
    messages = [
        {"info": {"id": "m1", "role": "user"}, "parts": [said]},
        {"info": {"id": "m2", "role": "assistant"}, "parts": [{**said, "text": "done"}, call]},
    ]
    session = {"info": {"id": "ses_1", "slug": "swift"}}
    expected = [("prompt", "fix it"), ("answer", "done"), ("call", "bash"), ("result", "")]
    document = json.dumps({**session, "messages": messages}, indent=2).encode()
    for entries, first in (
        (document, 0),
        (b"\n".join(json.dumps(m).encode() for m in (session, *messages)), 1),
    ):
        items = [*list_items(entries)]
        said_by = [
            (i["kind"], i["text"] or (i["kind"] == "call" and i["name"]) or "") for i in items
        ]
        assert said_by == expected
        assert [item["line"] - first for item in items] == [0, 1, 1, 1]
