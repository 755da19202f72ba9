"""Two sessions in one file: whose lines a commit of it holds."""

from __future__ import annotations

import pytest

from gitcp.core.decide.line_evidence import holds_line

BASE = b"one = 1\ntwo = 2\n"
TOP, END = b"top = 0\n" + BASE, BASE + b"end = 3\n"
BOTH = b"top = 0\n" + END

CASES = {
    "the line it added": (BASE, TOP, BASE, TOP, True),
    "the other's line alone": (TOP, BOTH, BASE, TOP, False),
    "both": (TOP, BOTH, BASE, BOTH, True),
    "the line it removed": (BASE, b"one = 1\n", BASE, b"one = 1\nmore = 4\n", True),
    "a removed line that stays": (BASE, b"one = 1\n", BASE, TOP, False),
    "its line, reformatted": (BASE, TOP, BASE, b"top  =  0\n" + BASE, True),
    "a new file": (None, BASE, None, BASE, True),
    "another new file": (None, BASE, None, b"three = 3\n", False),
    "no line that means anything": (BASE, BASE + b"}\n", BASE, TOP, True),
    "binary content": (b"\0a", b"\0b", b"\0a", b"\0c", True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_commit_holds_a_line_of_an_edit(name: str) -> None:
    *contents, want = CASES[name]
    assert holds_line(*contents) is want
