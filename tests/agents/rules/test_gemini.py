from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.reading.items import list_items
from tests.support import recording

gemini = agents.get_client("gemini-cli")
# read by hand: scenario, messages, prompts, calls of 10 tokens in and 5 out, written
FIRST = "Create hello.py and edit README"
WRITTEN = ["/repo/hello.py", "/repo/README.md", "/repo/a.txt", "/repo/b.txt"]
RECORDED: list[tuple[str, int, list[str], int, list[str]]] = [
    ("basic", 13, [FIRST], 6, WRITTEN),
    ("deny-exit2", 13, ["Go deny"], 6, ["/repo/README.md"]),
    ("resume", 22, [FIRST, "Second prompt please"], 8, [*WRITTEN, "/repo/second.txt"]),
]
MESSAGES: list[dict[str, Any]] = [
    {"id": "1", "timestamp": "t1", "type": "user", "content": "write it"},
    {
        "id": "2",
        "timestamp": "t2",
        "type": "gemini",
        "content": "done",
        "tokens": {"input": 100, "output": 5, "cached": 60, "thoughts": 9},
        "toolCalls": [
            {"name": "write_file", "args": {"file_path": "a"}, "status": "success"},
            {"name": "replace", "args": {"path": "b"}, "status": "error"},
            {"name": "read_file", "args": {"file_path": "c"}, "status": "success"},
        ],
    },
    {"timestamp": "t3", "type": "warning", "content": "no id"},
]


@pytest.mark.parametrize(("scenario", "messages", "prompts", "calls", "written"), RECORDED)
def test_a_real_transcript_is_read(
    scenario: str, messages: int, prompts: list[str], calls: int, written: list[str]
) -> None:
    found = gemini.scan(recording.transcript("gemini-cli", scenario))
    assert (found["items"], found["skipped"]) == (messages, 0)
    assert (found["prompts"], sorted(found["written"])) == (prompts, sorted(written))
    assert found["usage"] == transcripts.make_usage(10 * calls, 0, 0, 5 * calls, calls)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"sessionId": "s", "messages": MESSAGES}, indent=2),
        json.dumps({"sessionId": "s", "messages": MESSAGES}),
        "\n".join(json.dumps(message) for message in MESSAGES),
        json.dumps({"$set": {"messages": MESSAGES}}) + "\n",
    ],
    ids=["document over lines", "document on a line", "messages", "set"],
)
def test_a_document_and_the_lines_that_build_it_say_the_same(data: str) -> None:
    found = gemini.scan(data.encode())
    assert (found["items"], found["bytes"], found["skipped"]) == (3, 0, 0)
    assert (found["prompts"], found["written"]) == (["write it"], ["a"])
    assert found["usage"] == transcripts.make_usage(100, 0, 60, 5, 1)
    assert (found["last_identifier"], found["last_timestamp"]) == ("2", "t3")


def test_a_message_written_again_replaces_itself() -> None:
    first, later = dict(MESSAGES[1]), dict(MESSAGES[1])
    first["toolCalls"], later["tokens"] = [], {"input": 120, "output": 6}
    data = "\n".join(json.dumps(m) for m in (MESSAGES[0], first, later, later))
    found = gemini.scan(data.encode())
    assert (found["items"], found["written"]) == (2, ["a"])
    assert found["usage"] == transcripts.make_usage(120, 0, 0, 6, 1)


@pytest.mark.parametrize(
    "content",
    [
        "<session_context>about the machine</session_context>",
        [{"text": "<state_snapshot>what was said</state_snapshot>"}],
        [{"functionResponse": {"id": "f", "response": {"output": "text"}}}],
        "",
        None,
    ],
)
def test_what_the_client_says_in_the_persons_place_is_no_prompt(content: object) -> None:
    message = {"id": "1", "type": "user", "content": content}
    found = gemini.scan(json.dumps(message).encode())
    assert (found["items"], found["prompts"]) == (1, [])


def test_calls_known_by_their_parts_alone_have_written_unless_an_error_came() -> None:
    def called(name: str, path: str) -> dict[str, Any]:
        return {"functionCall": {"id": path, "name": name, "args": {"file_path": path}}}

    def answered(path: str, **response: str) -> dict[str, Any]:
        return {"functionResponse": {"id": path, "response": response}}

    asked = [called("write_file", "a"), called("replace", "b"), called("read_file", "c")]
    answers = [answered("a", output="ok"), answered("b", error="no such text")]
    messages = [
        {"id": "1", "type": "gemini", "content": [{"text": "now"}, *asked]},
        {"id": "1_response", "type": "user", "content": answers},
        {"id": "2", "type": "gemini", "content": [called("write_file", "d"), "text", None]},
    ]
    data = json.dumps({"$set": {"messages": messages}}).encode()
    assert gemini.scan(data)["written"] == ["a", "d"]


def test_a_resume_forgets_no_path_and_counts_none_twice() -> None:
    data = recording.transcript("gemini-cli", "resume")
    at = data.index(b"\n", data.index(b"functionCall"))
    alone = data[data.rindex(b"\n", 0, at) + 1 :]
    assert sorted(gemini.scan(alone)["written"]) == sorted([*WRITTEN, "/repo/second.txt"])


def test_a_referenced_file_is_no_part_of_the_prompt_that_names_it() -> None:
    asked = "Look at @README.md then do it"
    parts = [asked, "\n--- Content from referenced files ---", "\nContent from @README.md:\n"]
    parts += ["one\n--- End of content ---\ntwo", "\n--- End of content ---"]
    message = {"id": "1", "type": "user", "content": [{"text": part} for part in parts]}
    data = json.dumps(message).encode()
    assert gemini.scan(data)["prompts"] == [asked]
    assert [(item["kind"], item["text"]) for item in list_items(data)] == [("prompt", asked)]
    told = {"session_id": "s", "cwd": "/r", "prompt": "\n".join(parts)}
    event = agents.get_client("gemini-cli").read_event("BeforeAgent", told)
    assert event["prompt"] == asked


def test_a_rewound_message_counts_in_its_place_with_its_tokens_alone() -> None:
    spent = {"tokens": {"input": 7, "output": 1}}
    lines = [
        {"id": "1", "type": "user", "content": "first"},
        {"id": "2", "type": "user", "content": "no"},
        {"id": "3", "type": "gemini", "content": "wrong", **spent},
        {"$rewindTo": "2"},
        {"id": "4", "type": "user", "content": "then"},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    found = gemini.scan(data)
    assert (found["items"], found["prompts"]) == (4, ["first", "then"])
    assert found["usage"] == transcripts.make_usage(7, 0, 0, 1, 1)
    assert [item["text"] for item in list_items(data, start=3)] == ["then"]


def test_a_call_that_failed_says_so_in_every_list() -> None:
    failed = [item["failed"] for item in list_items(json.dumps(MESSAGES[1]).encode())]
    assert failed == [False, False, False, False, True, False, False]
