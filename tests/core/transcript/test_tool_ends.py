"""When a call ended, by a transcript of Claude Code or Codex."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.core.transcript import tool_ends

SECOND = 1_000_000_000


def line(second: int, **more: Any) -> bytes:
    return json.dumps({"timestamp": f"1970-01-01T00:00:{second:02d}.000Z", **more}).encode()


def codex(second: int, **payload: Any) -> bytes:
    return line(second, payload=payload)


CLAUDE = line(1, message={"content": [{"type": "tool_result", "tool_use_id": "c1"}]})
ESCAPE = line(2, message={"content": "[Request interrupted by user for tool use]"})
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
    at = tool_ends.find_end(b"\n".join(lines), "c1", 0, goes_on)
    assert at == (None if expected is None else expected * SECOND)


def test_what_was_before_the_call_is_not_its_end() -> None:
    assert tool_ends.find_end(ESCAPE, "c1", 3 * SECOND) is None
