"""Where the lines of a content were in the content before it."""

from __future__ import annotations

import pytest

from gitcp.lines.committed.line_moves import (
    Text,
    build_runs,
    compare,
    find_once,
    find_runs,
)

A, B, C, D = (f"the line called {name}, which is long" for name in "ABCD")


def text(*lines: str) -> Text:
    return Text("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize("further", [0, 50])
def test_a_line_is_found_once_however_many_are_looked_for(further: int) -> None:
    absent = {b"absent %d" % number for number in range(further)}
    lines = text("first", "}", "}", "middle", "twice", "middling", "twice", "last")
    asked = {*lines.keys, b"mid", b"dling"} | absent
    assert find_once(lines, asked) == {b"first": 0, b"middle": 3, b"middling": 5, b"last": 7}
    assert find_once(lines, absent) == find_once(text(), absent) == {}


LONG = [f"line {number} of many, in a large file" for number in range(500)]


@pytest.mark.parametrize("filler", [[], LONG])
@pytest.mark.parametrize(
    "old, new, asked, found, lacking",
    [
        ([B, A], [C, A, B], [2, 3], {2: 2, 3: 1}, []),
        ([B, A], [C, A, B], [1, 2], {2: 2}, [1]),
        ([A, "}"], [C, A, "}"], [2, 3], {2: 1, 3: 2}, []),
        ([A], [A, C], [2], {}, [2]),
    ],
)
def test_runs_are_found_where_they_were_in_small_and_large_contents(
    old: list[str],
    new: list[str],
    asked: list[int],
    found: dict[int, int],
    lacking: list[int],
    filler: list[str],
) -> None:
    before, after = text(*old, *filler), text(*new, *filler)
    here, away = find_runs(build_runs(asked, after), before, after)
    assert {line: run.first + n for run in here for n, line in enumerate(run.lines)} == found
    assert [line for run in away for line in run.lines] == lacking


def test_a_line_in_doubt_is_in_neither_result_of_a_large_content() -> None:
    before, after = text(*LONG, "}", "", "}"), text("}", *LONG, "}", "", "}")
    assert find_runs(build_runs([1], after), before, after) == ([], [])


@pytest.mark.parametrize(
    "old, new, pairs",
    [
        ([A, B, C], [A, D, C], {0: 0, 2: 2}),
        ([A, B, C], [A, C], {0: 0, 1: 2}),
        ([A], [A, A], {0: 0}),
        ([A, B], [A, B], {0: 0, 1: 1}),
        ([A, B, D], [B, C, A, D], {0: 1, 2: 0, 3: 2}),
        ([], [A], {}),
    ],
)
def test_a_comparison_pairs_what_stays_and_what_moves(
    old: list[str], new: list[str], pairs: dict[int, int]
) -> None:
    assert compare(text(*old), text(*new)) == pairs
