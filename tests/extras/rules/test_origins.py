"""Which commit put in a line, by the patches of a range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitcp.extras.page.page_parts import trace_lines

if TYPE_CHECKING:
    from gitcp.extras.page.page_parts import Origin, Step

A = ("one", "a", "b", [(0, 0, 1, 2)])  # two lines before all others
B = ("two", "b", "c", [(1, 1, 1, 1), (4, 1, 3, 0)])  # the first is replaced, the fourth taken out
FAR = ("four", "b", "f", [(7, 0, 8, 1)])
BESIDE = ("three", "a", "d", [(9, 0, 10, 1)])


@pytest.mark.parametrize(
    ("steps", "after", "found"),
    [
        ([], "a", {}),
        ([A], "b", {1: ("one", 1), 2: ("one", 2)}),
        ([B, A], "c", {1: ("two", 1), 2: ("one", 2)}),
        ([("four", "c", "e", [(1, 2, 0, 0)]), B, A], "e", {}),
        ([FAR, A], "f", {1: ("one", 1), 2: ("one", 2), 8: ("four", 8)}),
        ([A], "c", None),  # a step is missing
        ([BESIDE, A], "d", None),  # two branches
        ([("moved", "", "", []), A], "b", None),  # a name without its content
    ],
)  # fmt: skip
def test_a_line_comes_from_the_commit_that_put_it_in(
    steps: list[Step], after: str, found: dict[int, Origin] | None
) -> None:
    assert trace_lines(steps, "a", after) == found
