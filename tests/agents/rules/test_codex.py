from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.agents import transcripts
from gitcp.agents.codex import CLIENT
from tests.support import recording

# read by hand: scenario, lines, prompts, calls of 10 tokens in and 5 out, written
FIRST, WRITTEN = "Create hello.py and edit README", ["/repo/hello.py", "/repo/README.md"]
RECORDED: list[tuple[str, int, list[str], int, list[str]]] = [
    ("basic", 31, [FIRST], 4, WRITTEN),
    ("deny-exit2", 29, ["Go deny"], 4, []),
    ("resume", 48, [FIRST, "Second prompt please"], 6, WRITTEN),
    ("sigint", 21, ["Go kill"], 2, ["/repo/k.txt"]),
    ("subagent", 30, ["Go spawn"], 3, []),
]


@pytest.mark.parametrize(("scenario", "lines", "prompts", "calls", "written"), RECORDED)
def test_a_real_transcript_is_read(
    scenario: str, lines: int, prompts: list[str], calls: int, written: list[str]
) -> None:
    found = CLIENT.scan(recording.transcript("codex", scenario))
    assert (found["items"], found["skipped"]) == (lines, 0)
    assert (found["prompts"], found["written"]) == (prompts, written)
    assert found["usage"] == transcripts.make_usage(10 * calls, 0, 0, 5 * calls, calls)


def test_a_subagent_is_found_by_the_call_that_started_it() -> None:
    found = CLIENT.scan(recording.transcript("codex", "subagent"))
    assert found["subagents"] == ["01a1fb66-9ab8-7823-8a1b-42daed9278fa"]
    assert found["last_identifier"] == "m_resp_b85e324cc2974868"
    assert found["last_timestamp"] == "2026-11-20T23:59:30.219Z"


def lines(*payloads: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"type": "x", "payload": p}).encode() + b"\n" for p in payloads)


def total(count: int, cached: int, output: int) -> dict[str, Any]:
    usage = {"input_tokens": count, "cached_input_tokens": cached, "output_tokens": output}
    return {"type": "token_count", "info": {"total_token_usage": usage}}


@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        ([{"type": "token_count", "info": None}], None),
        ([total(100, 60, 5)], transcripts.make_usage(40, 0, 60, 5, 1)),
        ([total(100, 60, 5), total(100, 60, 5)], transcripts.make_usage(40, 0, 60, 5, 1)),
        ([total(100, 60, 5), total(250, 160, 9)], transcripts.make_usage(90, 0, 160, 9, 2)),
        ([total(100, 60, 5), total(30, 0, 1)], transcripts.make_usage(70, 0, 60, 6, 2)),
    ],
)
def test_a_total_may_grow_be_repeated_or_start_again(payloads: Any, expected: Any) -> None:
    assert CLIENT.scan(lines(*payloads))["usage"] == expected


META = {"type": "session_meta", "cwd": "/r"}
CALL = {
    "type": "custom_tool_call",
    "call_id": "c1",
    "name": "apply_patch",
    "input": "*** Begin Patch\n*** Add File: a\n*** Delete File: /abs\n*** End Patch",
}
APPLIED = "Exit code: 0\nSuccess. Updated the following files:\nA a\n"
OUTPUT = {"type": "custom_tool_call_output", "call_id": "c1"}


@pytest.mark.parametrize(
    ("payloads", "written"),
    [
        ([META, CALL], ["/r/a", "/abs"]),
        (
            [META, CALL, {**OUTPUT, "output": APPLIED}],
            ["/r/a", "/abs"],
        ),
        ([META, CALL, {**OUTPUT, "output": "Failed to find expected lines"}], []),
        (
            [{"item": {"type": "FileChange", "status": "failed", "changes": {"/r/a": {}}}}],
            [],
        ),
        (
            [
                {
                    "item": {
                        "type": "FileChange",
                        "status": "completed",
                        "changes": {"/r/a": {"type": "update", "move_path": "/r/b"}},
                    }
                }
            ],
            ["/r/a", "/r/b"],
        ),
        ([{"type": "patch_apply_end", "success": True, "changes": {"/r/c": {}}}], ["/r/c"]),
    ],
)
def test_a_path_is_written_when_its_patch_was_applied(payloads: Any, written: list[str]) -> None:
    assert CLIENT.scan(lines(*payloads))["written"] == written


def test_a_prompt_of_an_older_client_is_read() -> None:
    found = CLIENT.scan(lines({"type": "user_message", "message": "hello"}))
    assert found["prompts"] == ["hello"]


def test_a_fork_costs_what_was_called_since_wherever_it_is_read_on() -> None:
    data = recording.transcript("codex", "fork", "transcript-2")
    assert CLIENT.scan(data)["usage"] == transcripts.make_usage(149, 0, 80, 39, 2)
    for end in (n + 1 for n, byte in enumerate(data) if byte == 0x0A):
        first = CLIENT.scan(data[:end])
        assert CLIENT.scan(data[end:], previous=first)["usage"] == transcripts.make_usage(
            149, 0, 80, 39, 2
        )
