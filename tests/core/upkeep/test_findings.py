"""How findings become lines: of many that are alike the first is shown."""

from __future__ import annotations

import pytest

from gitcp.core import findings

ROWS = [("gone", f"gone {number}", ": fetch") for number in range(5)]


@pytest.mark.parametrize(
    ("count", "everything", "lines"),
    [
        (0, False, []),
        (1, False, ["gone 0: fetch"]),
        (3, False, ["gone 0: fetch", "gone 1: fetch", "gone 2: fetch"]),
        (4, False, ["gone 0, and 3 like it: fetch"]),
        (5, True, [f"gone {number}: fetch" for number in range(5)]),
    ],
)
def test_of_many_findings_alike_the_first_is_shown_with_the_number_of_the_others(
    count: int, everything: bool, lines: list[str]
) -> None:
    assert findings.fold_lines(ROWS[:count], everything) == lines


def test_what_is_repaired_is_not_like_what_is_left() -> None:
    found = findings.make_finding("stray", "a", "odd") | {"severity": "error"}
    rows = [findings.build_row(found)] * 4 + [findings.build_row({**found, "repaired": "gone"})]
    assert findings.fold_lines(rows, False) == [
        "stray error a: odd, and 3 like it",
        "stray error a: odd (gone)",
    ]
