"""Who made the file that stands at a path, by the edits that the journal has of it."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.record.journal.credit import RESTORED
from gitcp.record.journal.line_kinds import build_edit, read_line
from gitcp.steps.whose import lineage
from gitcp.text import ids
from gitcp.text.record_types import Version, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

S, T, ME, NOBODY = ("s", "1", "2"), ("t", "3", "4"), ids.PERSON, ids.UNKNOWN
A, B, EMPTY = ("100644", "a"), ("100644", "b"), ("100644", "e")
Edit = tuple[Version, Version, Writer, str]
CASES: dict[str, tuple[str | None, list[Edit]]] = {
    "nothing is told of it": (None, []),
    "a session made it": ("s", [(None, A, S, "tool")]),
    "the person made it": ("", [(None, A, ME, "tool")]),
    "it stood before the journal": (None, [(A, B, S, "tool")]),
    "another's change leaves it its maker": ("s", [(None, A, S, "tool"), (A, B, ME, "tool")]),
    "it is gone, and another makes it anew": (
        "t",
        [(None, A, S, "tool"), (A, None, S, "tool"), (None, B, T, "tool")],
    ),
    "the person's content comes back by a session's hand": (
        "",
        [(None, A, ME, "tool"), (A, None, S, "shell"), (None, A, T, "shell")],
    ),
    "what a session wrote over the person's file comes back": (
        "",
        [(None, A, ME, "tool"), (A, B, S, "tool"), (B, None, T, "shell"), (None, B, T, "tool")],
    ),
    "an empty file of the person comes again by a session": (
        "",
        [(None, EMPTY, ME, "tool"), (EMPTY, None, S, "shell"), (None, EMPTY, S, "shell")],
    ),
    "a step puts the person's file back over a session's": (
        "",
        [
            (None, A, ME, "tool"),
            (A, None, S, "shell"),
            (None, B, S, "tool"),
            (B, A, NOBODY, RESTORED),
        ],
    ),
    "the person's file becomes what a session's was there": (
        "s",
        [
            (None, EMPTY, S, "shell"),
            (EMPTY, None, S, "shell"),
            (None, A, ME, "x"),
            (A, EMPTY, T, "x"),
        ],
    ),
    "a step puts back what nobody saw made": (
        None,
        [(A, None, S, "shell"), (None, A, NOBODY, RESTORED)],
    ),
    "between two edits of it something else came": (
        None,
        [(None, A, S, "tool"), (B, EMPTY, T, "tool")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_its_first_maker_s_whenever_its_content_comes_back(case: str) -> None:
    maker, edits = CASES[case]
    lines = [
        build_edit("f", before, after, who, how, at)
        for at, (before, after, who, how) in enumerate(edits)
    ]
    assert lineage.find_maker(lines) == maker


def edit(at: int, before: Version, after: Version, who: Writer = S, how: str = "tool") -> Any:
    return build_edit("f", before, after, who, how, at)


@pytest.mark.parametrize(
    ("edits", "behind"),
    [
        ([edit(1, None, A), edit(2, A, B)], [2, 1]),
        ([edit(1, None, A), edit(2, A, B), edit(3, B, A, how=RESTORED)], [1]),
        ([edit(1, A, B), edit(2, B, EMPTY), edit(3, EMPTY, A, how=RESTORED)], []),
        ([edit(1, None, A), edit(2, B, EMPTY), edit(3, EMPTY, B, how=RESTORED)], [1]),
        ([edit(1, None, A), edit(2, A, B, how=RESTORED)], [2, 1]),
    ],
)
def test_what_was_put_back_leads_on_from_where_it_stood(
    edits: list[Any], behind: list[int]
) -> None:
    assert [line.at for line in lineage.walk_back(edits)] == behind


OPENED = read_line({"session": "s", "open": "2", "turn": "1", "at": 10})
MOMENT: list[Any] = [
    edit(5, None, A, T),
    OPENED,
    edit(20, A, B),
    read_line({"session": "s", "close": "2", "at": 30}),
    edit(40, B, A, T).having(made=8),
    edit(50, A, EMPTY, T).having(made=10),
]


@pytest.mark.parametrize(
    ("lines", "name", "after", "since"),
    [
        (MOMENT, "2", False, ([20, 50], 1)),
        ([read_line({"session": "t", "open": "4", "at": 1}), *MOMENT], "2", False, ([20, 50], 2)),
        (MOMENT, "1", False, ([20, 50], 1)),
        (MOMENT, "2", True, ([], 3)),
        ([*MOMENT, edit(60, EMPTY, A, T)], "2", True, ([60], 3)),
        ([*MOMENT, edit(60, EMPTY, A, T).having(made=30)], "2", True, ([60], 3)),
        (MOMENT[2:], "2", False, ([20, 40, 50], 0)),
        (MOMENT, "9", False, None),
    ],
)
def test_an_edit_that_was_seen_late_belongs_where_it_was_made(
    lines: list[Any], name: str, after: bool, since: tuple[list[int], int] | None
) -> None:
    found = lineage.find_moment(lines, name, after)
    if since is None:
        assert found is None
    else:
        assert found is not None
        assert ([line.at for line in found.since], found.number) == since


MINE = edit(1, None, A, ME)


@pytest.mark.parametrize(
    ("edits", "wanted", "in_git", "found"),
    [
        ([MINE], None, False, 1),
        ([MINE], None, True, None),
        ([MINE], A, False, None),
        ([edit(1, None, A, S)], None, False, None),
        ([MINE, edit(2, A, B, S)], None, False, 1),
        ([MINE, edit(2, A, B, S)], A, False, None),
        ([MINE, edit(2, A, None, S), edit(3, None, B, S)], EMPTY, False, None),
        ([edit(1, None, A, S), edit(2, A, None, NOBODY, RESTORED)], A, False, 2),
    ],
)
def test_the_persons_newest_edit_is_lost_by_what_puts_an_older_content_back(
    edits: list[Any], wanted: Version, in_git: bool, found: int | None
) -> None:
    lost = lineage.find_last(edits, wanted, lambda _: in_git)
    assert (lost and lost.at) == found
