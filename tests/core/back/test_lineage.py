"""Who made the file that stands at a path, by the edits that the journal has of it."""

from __future__ import annotations

import pytest

from gitcp.core.back import lineage
from gitcp.core.credit import entries
from gitcp.core.credit.evidence import RESTORED
from gitcp.core.record_types import JournalLine, Version, Writer

S, T, ME, NOBODY = ("s", "1", "2"), ("t", "3", "4"), entries.PERSON, entries.UNKNOWN
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
    lines: list[JournalLine] = [
        entries.edit("f", before, after, who, how, at)
        for at, (before, after, who, how) in enumerate(edits)
    ]
    assert lineage.find_maker(lines) == maker
