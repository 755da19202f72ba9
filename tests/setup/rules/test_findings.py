"""How findings become lines: those of one cause stand together, with what helps."""

from __future__ import annotations

import pytest

from gitcp.setup.care import findings
from gitcp.setup.care.findings import Told

ROWS = [Told("objects are missing", f"object {number}", "'fetch'") for number in range(5)]


@pytest.mark.parametrize(
    ("count", "everything", "lines"),
    [
        (0, False, []),
        (1, False, ["objects are missing", "  object 0", "  'fetch'"]),
        (
            3,
            False,
            ["objects are missing", "  object 0", "  object 1", "  object 2", "  'fetch'"],
        ),
        (4, False, ["objects are missing", "  object 0", "  and 3 more", "  'fetch'"]),
        (
            5,
            True,
            ["objects are missing", *(f"  object {number}" for number in range(5)), "  'fetch'"],
        ),
    ],
)
def test_a_cause_is_said_once_with_where_it_is_found_and_what_helps(
    count: int, everything: bool, lines: list[str]
) -> None:
    assert findings.group_lines(ROWS[:count], everything) == lines


def test_findings_of_one_cause_stand_together_in_the_order_of_the_first() -> None:
    rows = [("a", "1", ""), ("the disk is full", "", "make room"), ("a", "2", ""), ("a", "3", "x")]
    told = [Told(*row) for row in rows]
    assert findings.group_lines(told, False) == [
        *("a", "  1", "  2"),
        "the disk is full: make room",
        *("a", "  3", "  x"),
    ]


@pytest.mark.parametrize(
    ("remedy", "fix", "before", "after"),
    [
        ("repair it", "repair", "'gitcp doctor --fix' repairs it", ""),
        ("gitcp doctor --fix", "finish", "'gitcp doctor --fix'", ""),
        ("gitcp enable", "enable", "'gitcp enable'", "'gitcp enable'"),
        ("make room", "", "make room", "make room"),
        ("'git gc' frees it", "x", "'git gc' frees it", "'git gc' frees it"),
    ],
)
def test_what_was_tried_is_not_named_again(remedy: str, fix: str, before: str, after: str) -> None:
    assert findings.spell_remedy(remedy, fix) == before
    assert findings.spell_remedy(remedy, fix, tried=True) == after
