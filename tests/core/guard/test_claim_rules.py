"""Which claims are in the way, and what of a transcript ends one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gitcp.core.guard import claim_rules
from gitcp.core.upkeep import shapes
from gitcp.core.upkeep.shapes import find_fault

if TYPE_CHECKING:
    from gitcp.core.guard.claim_rules import Claim


def claim(session: str, *paths: str, agent: str = "", key: str = "") -> Claim:
    return {
        "key": key or f"{session}{agent}{paths}",
        "session_id": session,
        "agent_id": agent,
        "tool_use_id": "toolu_1",
        "tool": "Write",
        "paths": list(paths),
        "process": None,
        "transcript": "",
        "created": 0.0,
        "started": None,
    }


MINE = claim("a", "x", "y", key="mine")


@pytest.mark.parametrize(
    ("held", "want"),
    [
        ([], None),
        ([claim("b", "z")], None),
        ([claim("b", "y")], "y"),
        ([claim("b", "z"), claim("b", "y", "x")], "x"),
        ([claim("b")], None),
        ([claim("a", "x")], None),
        ([claim("a", "x", agent="sub")], "x"),
        ([claim("a", "z", agent="sub")], None),
        ([claim("b", "x", key="mine")], None),
    ],
)
def test_only_somebody_elses_claim_on_the_same_path_is_in_the_way(
    held: list[Claim], want: str | None
) -> None:
    other = claim_rules.find_blocking_claim(MINE, held)
    assert (other[1] if other else None) == want


def test_a_shell_call_is_in_nobodys_way_and_nobody_in_its() -> None:
    assert claim_rules.find_blocking_claim(claim("a"), [claim("b", "x"), claim("c")]) is None


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({}, True),
        ({"later": "unknown keys are kept"}, True),
        ({"paths": None}, False),
        ({"created": "now"}, False),
        ({"session_id": 7}, False),
        ({"key": None}, False),
        ({"process": [1]}, False),
        ({"started": "HEAD"}, False),
    ],
)
def test_what_is_no_claim_counts_as_absent(change: dict[str, Any], want: bool) -> None:
    assert (not find_fault({**MINE, **change}, shapes.CLAIM)) is want


@pytest.mark.parametrize("value", [None, [], "claim", {}, 7])
def test_other_json_is_no_claim(value: object) -> None:
    assert find_fault(value, shapes.CLAIM)


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
PATCHED = {"type": "response_item", "payload": {"type": "x_output", "call_id": "toolu_1"}}
OTHERS = {"payload": {"type": "x_output", "call_id": "toolu_2", "output": "saw toolu_1"}}
CALLED = {"payload": {"type": "custom_tool_call", "call_id": "toolu_1"}}
SPOKEN = {**ESC, "type": "assistant"}
AT_ONCE = {**ESC, "timestamp": "2026-11-21T12:00:00.000Z"}
WORDLESS = user({"type": "text", "text": None, "why": "interrupted"})
ABORTED = {
    "timestamp": "2026-11-21T12:00:05.000Z",
    "type": "event_msg",
    "payload": {"type": "turn_aborted"},
}
SINCE = "2026-11-21T12:00:00.000Z"


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
        ([USE, ABORTED], True),
        ([ABORTED], True),
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
    assert claim_rules.has_ended(data, "toolu_1", SINCE) is want
    assert claim_rules.has_ended(data + b'\n{"cut toolu_1', "toolu_1", SINCE) is want


def test_without_an_id_only_an_interruption_can_tell() -> None:
    data = b"\n".join(json.dumps(line).encode() for line in (USE, RESULT))
    assert not claim_rules.has_ended(data, "", SINCE)
    assert claim_rules.has_ended(data + b"\n" + json.dumps(ESC).encode(), "", SINCE)


@pytest.mark.parametrize("odd", [b"null", b"[]", b'"nterrupt"', b"[" * 9000, b'{"payload": 3}'])
def test_odd_lines_say_nothing(odd: bytes) -> None:
    assert not claim_rules.has_ended(odd + b' "toolu_1" nterrupt', "toolu_1", SINCE)
    assert not claim_rules.has_ended(odd, "toolu_1", SINCE)
