"""Transcripts of Copilot CLI, Qwen Code, Cline, opencode and Cursor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.reading import conversation
from tests.support import recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client

copilot, qwen, cline, opencode, cursor = map(
    agents.get_client, ("copilot", "qwen-code", "cline", "opencode", "cursor")
)
BOTH = ["Create hello.py and edit README", "Second prompt please"]
PART: dict[str, Any] = {"type": "text", "text": "done"}


def lines(*entries: object) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


@pytest.mark.parametrize(
    ("agent", "scenario", "reader", "prompts", "written", "usage"),
    [
        (
            "copilot",
            "basic-resume",
            copilot,
            BOTH,
            ["/repo/hello.py", "/repo/README.md", "/repo/second.txt"],
            (119, 49, 7000, 189, 7),
        ),
        (
            "copilot",
            "subagent",
            copilot,
            ["Go subagent"],
            ["/repo/sub_alpha.txt"],
            (48, 28, 4000, 88, 4),
        ),
        (
            "qwen-code",
            "basic-resume",
            qwen,
            BOTH,
            ["/repo/README.md", "/repo/second.txt"],
            (108, 0, 6000, 168, 6),
        ),
        ("cline", "basic", cline, ["Create hello.py please"], [], (183, 0, 120, 63, 3)),
    ],
)
def test_a_real_transcript_is_read(
    agent: str,
    scenario: str,
    reader: Client,
    prompts: list[str],
    written: list[str],
    usage: tuple[int, int, int, int, int],
) -> None:
    name = "transcript.json" if agent == "cline" else "transcript.jsonl"
    data = (recording.ROOT / agent / scenario / name).read_bytes()
    found = reader.scan(data)
    assert (found["prompts"], found["written"], found["skipped"]) == (prompts, written, 0)
    assert found["usage"] == transcripts.make_usage(*usage)
    said = list(conversation.list_entries(data))
    assert [text for role, text in said if role == "User"] == prompts
    assert any(role == "Assistant" for role, _ in said)
    assert any(role == "Tool" for role, _ in said)


@pytest.mark.parametrize(
    ("agent", "scenario", "reader"),
    [
        ("copilot", "fail-parallel", copilot),
        ("copilot", "sigint", copilot),
        ("qwen-code", "basic-resume", qwen),
    ],
)
def test_a_scan_that_goes_on_finds_what_one_scan_finds(
    agent: str, scenario: str, reader: Client
) -> None:
    data = recording.transcript(agent, scenario)
    whole = reader.scan(data)
    for at in range(0, len(data), max(1, len(data) // 23)):
        first = reader.scan(data[:at])
        assert reader.scan(data[first["bytes"] :], first) == whole


def test_a_write_that_failed_is_not_written_and_one_without_a_result_is() -> None:
    found = copilot.scan(recording.transcript("copilot", "fail-parallel"))
    assert found["written"] == ["/repo/a.txt", "/repo/b.txt"]
    call = {"toolCallId": "1", "name": "create", "arguments": {"path": "n"}}
    message = {"type": "assistant.message", "data": {"content": "", "toolRequests": [call]}}
    assert copilot.scan(lines(message))["written"] == ["n"]
    failed = {"type": "tool.execution_complete", "data": {"toolCallId": "1", "success": False}}
    assert copilot.scan(lines(message, failed))["written"] == []


def opencode_message(role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"id": f"msg_{role}", "role": role, **info}, "parts": list(parts)}


def tool_part(name: str, status: str, arguments: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    state = {"status": status, "input": arguments, "metadata": metadata}
    return {"type": "tool", "tool": name, "callID": f"{name}-{arguments}", "state": state}


def test_messages_of_opencode_say_what_was_asked_written_and_spent() -> None:
    spent = {"input": 5, "output": 3, "reasoning": 1, "cache": {"read": 7, "write": 2}}
    hidden = {"type": "text", "text": "context", "synthetic": True}
    patch = {"patchText": "*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\n"}
    data = lines(
        {"info": {"id": "ses_1"}},
        opencode_message("user", {"type": "text", "text": "write it"}, hidden),
        opencode_message(
            "assistant",
            PART,
            tool_part("write", "completed", {"filePath": "/a"}),
            tool_part("edit", "error", {"filePath": "/b"}),
            tool_part("edit", "running", {"filePath": "/c"}),
            tool_part("apply_patch", "completed", patch),
            tool_part("task", "completed", {"description": "part"}, sessionId="ses_2"),
            tokens=spent,
        ),
    )
    found = opencode.scan(data)
    assert (found["prompts"], found["written"]) == (["write it"], ["/a", "n", "/c"])
    assert found["subagents"] == ["ses_2"]
    assert found["usage"] == transcripts.make_usage(5, 2, 7, 3, 1)
    assert found["last_identifier"] == "msg_assistant"
    assert list(conversation.list_entries(data))[:3] == [
        ("User", "write it"),
        ("Assistant", "done"),
        ("Tool", "write: /a"),
    ]


def test_a_line_of_cursor_says_what_its_message_holds() -> None:
    call = {"type": "tool_use", "id": "1", "name": "Write", "input": {"path": "/a"}}
    asked = "<timestamp>now</timestamp><user_query>\nfix it\n</user_query>"
    data = lines(
        {"role": "user", "message": {"content": [{"type": "text", "text": asked}]}},
        {"role": "assistant", "message": {"content": [PART, call]}},
        {"role": "assistant", "message": None},
    )
    found = cursor.scan(data)
    assert (found["prompts"], found["written"], found["usage"]) == (["fix it"], ["/a"], None)
    wanted = [("User", "fix it"), ("Assistant", "done"), ("Tool", "Write: /a")]
    assert list(conversation.list_entries(data)) == wanted


@pytest.mark.parametrize("reader", [copilot, qwen, cline, opencode, cursor])
@pytest.mark.parametrize(
    "entry",
    [
        {},
        [],
        {"type": "user.message", "data": 3},
        {"type": "assistant.message", "data": {"toolRequests": [None, {"arguments": 3}]}},
        {"type": "assistant", "message": {"parts": [{"functionCall": 3}, 4]}, "usageMetadata": {}},
        {"type": "tool_result", "message": {"parts": [{"functionResponse": None}]}},
        {"info": {"role": "assistant"}, "parts": [{"type": "tool", "state": 3}, None]},
        {"role": "assistant", "message": {"content": [{"type": "tool_use"}, 3]}},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use"}], "metrics": {}}]},
        {"messages": [3, {"role": "user", "content": 3}]},
    ],
)
def test_what_is_odd_in_a_transcript_does_no_harm(reader: Client, entry: object) -> None:
    data = lines(entry, {"info": 3}, {"data": {}, "type": "x.y"}, {"message": {"parts": 3}})
    assert reader.scan(data)["prompts"] == []
    list(conversation.list_entries(data))


def test_tokens_that_qwen_code_had_from_its_cache_count_once() -> None:
    spent = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5}
    answer = {"type": "assistant", "uuid": "a1", "message": {"parts": [{"text": "done"}]}}
    found = qwen.scan(lines({**answer, "usageMetadata": spent}))
    assert found["usage"] == transcripts.make_usage(40, 0, 60, 5, 1)
