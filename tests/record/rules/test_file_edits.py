"""What a file tool did to its path, by its own words."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.record.journal import credit

EDIT = {"edits": [("b", "B", False)]}
CASES: dict[str, tuple[Any, bytes, bytes, tuple[bytes, bytes] | None]] = {
    "tells nothing": ({}, b"a", b"b", None),
    "tells where it began": ({**EDIT, "original": "abc"}, b"xbx", b"y", (b"abc", b"aBc")),
    "edits what stood there": (EDIT, b"abc", b"y", (b"abc", b"aBc")),
    "edits what another has written since": (EDIT, b"a", b"aBd", (b"abd", b"aBd")),
    "edits what fits nowhere": (EDIT, b"a", b"c", None),
    "one of two": (EDIT, b"bb", b"y", (b"bb", b"Bb")),
    "everywhere": ({"edits": [("b", "B", True)]}, b"bb", b"y", (b"bb", b"BB")),
    "one after the other": (
        {"edits": [("a", "b", False), ("b", "c", False)]},
        b"a",
        b"c",
        (b"a", b"c"),
    ),
    "takes out": ({"edits": [("b", "", False)]}, b"abc", b"ac", (b"abc", b"ac")),
    "took out, and another has written": ({"edits": [("b", "", False)]}, b"x", b"ac", None),
    "an old text that is empty": ({"edits": [("", "B", False)]}, b"x", b"xB", (b"x", b"xB")),
    "all of it": ({"content": "new"}, b"old", b"y", (b"old", b"new")),
    "all of it, where it began": (
        {"content": "new", "original": "was"},
        b"old",
        b"y",
        (b"was", b"new"),
    ),
    "other line ends": (
        {**EDIT, "original": "a\nb\n"},
        b"",
        b"a\r\nB\r\nc\r\n",
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
    ),
    "line ends that git takes away": ({"content": "a\r\nb\r\n"}, b"", b"a\nb\n", (b"", b"a\nb\n")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_call_found_and_left(case: str) -> None:
    call, before, now, expected = CASES[case]
    assert credit.derive_contents(call, before, now) == expected
