"""Which claims are in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gitcp.guard import guard_rules
from gitcp.text import shapes
from gitcp.text.shapes import find_fault

if TYPE_CHECKING:
    from gitcp.guard.guard_rules import Claim


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
    other = guard_rules.find_blocking_claim(MINE, held)
    assert (other.path if other else None) == want


def test_a_shell_call_is_in_nobodys_way_and_nobody_in_its() -> None:
    assert guard_rules.find_blocking_claim(claim("a"), [claim("b", "x"), claim("c")]) is None


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
