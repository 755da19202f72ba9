"""When a call ended, by a transcript of Claude Code or Codex."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.agents.transcripts import transcript_facts

SECOND = 1_000_000_000


def line(second: int, **more: Any) -> bytes:
    return json.dumps({"timestamp": f"1970-01-01T00:00:{second:02d}.000Z", **more}).encode()


def codex(second: int, **payload: Any) -> bytes:
    return line(second, payload=payload)


CLAUDE = line(1, message={"content": [{"type": "tool_result", "tool_use_id": "c1"}]})
ESCAPE = line(2, type="user", message={"content": "[Request interrupted by user for tool use]"})
ANSWER = codex(3, type="function_call_output", call_id="c1", output="Process exited with code 0")
RUNS = codex(
    4, type="function_call_output", call_id="c1", output="Process running with session ID 7\n"
)
ABORTED = codex(5, type="turn_aborted")
ENDED = codex(6, type="item_completed", item={"type": "CommandExecution", "id": "c1"})
OTHER = codex(7, type="item_completed", item={"type": "CommandExecution", "id": "c2", "of": "c1"})
BEGUN = codex(8, type="item_started", item={"type": "CommandExecution", "id": "c1"})
CASES: dict[str, tuple[list[bytes], bool, int | None]] = {
    "a result": ([CLAUDE], False, 1),
    "an interruption": ([ESCAPE], False, 2),
    "an answer": ([ANSWER], False, 3),
    "an answer while it runs": ([RUNS], False, None),
    "a turn that is aborted": ([RUNS, ABORTED], False, 5),
    "a command that ends": ([RUNS, ENDED], False, 6),
    "another command that ends": ([RUNS, OTHER], False, None),
    "a command that begins": ([BEGUN, RUNS], False, None),
    "in the background, its result": ([CLAUDE], True, None),
    "in the background, an interruption": ([ESCAPE, ABORTED], True, None),
    "in the background, its end": ([RUNS, ABORTED, ENDED], True, 6),
    "nothing": ([], False, None),
}


@pytest.mark.parametrize("case", CASES)
def test_when_a_call_ended(case: str) -> None:
    lines, goes_on, expected = CASES[case]
    at = transcript_facts.find_end(b"\n".join(lines), "c1", 0, goes_on)
    assert at == (None if expected is None else expected * SECOND)


def test_what_was_before_the_call_is_not_its_end() -> None:
    assert transcript_facts.find_end(ESCAPE, "c1", 3 * SECOND) is None


def user(block: dict[str, Any], at: str = "2026-11-21T12:00:05.000Z") -> dict[str, Any]:
    return {"type": "user", "timestamp": at, "message": {"role": "user", "content": [block]}}


USE = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "toolu_1"}]}}
RESULT = user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"})
REFUSED = user({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True})
ANOTHER = user({"type": "tool_result", "tool_use_id": "toolu_2", "content": "saw toolu_1"})
ESC = user({"type": "text", "text": "[Request interrupted by user for tool use]"})
OLD_ESC = user(
    {"type": "text", "text": "[Request interrupted by user]"}, "2026-11-21T11:59:59.000Z"
)
QUOTED = user({"type": "text", "text": "why does it say [Request interrupted by user]?"})
PATCHED = {
    "timestamp": "2026-11-21T12:00:05.000Z",
    "type": "response_item",
    "payload": {"type": "x_output", "call_id": "toolu_1"},
}
OTHERS = {"payload": {"type": "x_output", "call_id": "toolu_2", "output": "saw toolu_1"}}
CALLED = {"payload": {"type": "custom_tool_call", "call_id": "toolu_1"}}
SPOKEN = {**ESC, "type": "assistant"}
AT_ONCE = {**ESC, "timestamp": "2026-11-21T12:00:00.000Z"}
WORDLESS = user({"type": "text", "text": None, "why": "interrupted"})
STOPPED = {
    "timestamp": "2026-11-21T12:00:05.000Z",
    "type": "event_msg",
    "payload": {"type": "turn_aborted"},
}
SINCE = 1795262400_001_000_000  # just after AT_ONCE


def has_ended(data: bytes, call: str) -> bool:
    return transcript_facts.find_end(data, call, SINCE) is not None


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        ([], False),
        ([USE], False),
        ([USE, RESULT], True),
        ([USE, REFUSED], True),
        ([USE, RESULT, USE], True),
        ([USE, ANOTHER], False),
        ([USE, ESC], True),
        ([ESC, USE], True),
        ([OLD_ESC, USE], False),
        ([USE, QUOTED], False),
        ([USE, PATCHED], True),
        ([USE, STOPPED], True),
        ([STOPPED], True),
        ([USE, OTHERS], False),
        ([CALLED], False),
        ([USE, SPOKEN], False),
        ([USE, AT_ONCE], False),
        ([USE, WORDLESS], False),
        ([RESULT, WORDLESS, USE], True),
    ],
)
def test_a_result_or_an_interruption_ends_a_call(lines: list[dict[str, Any]], want: bool) -> None:
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    assert has_ended(data, "toolu_1") is want
    assert has_ended(data + b'\n{"cut toolu_1', "toolu_1") is want


def test_without_an_id_only_an_interruption_can_tell() -> None:
    data = b"\n".join(json.dumps(line).encode() for line in (USE, RESULT))
    assert not has_ended(data, "")
    assert has_ended(data + b"\n" + json.dumps(ESC).encode(), "")


@pytest.mark.parametrize("odd", [b"null", b"[]", b'"nterrupt"', b"[" * 9000, b'{"payload": 3}'])
def test_odd_lines_say_nothing(odd: bytes) -> None:
    assert not has_ended(odd + b' "toolu_1" nterrupt', "toolu_1")
    assert not has_ended(odd, "toolu_1")
