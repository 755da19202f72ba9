"""Contents that went to other paths, and what the edits of such a path tell."""

from __future__ import annotations

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import build_edit
from gitcp.text import file_moves
from gitcp.text.ids import PERSON

EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        ({"a": ("1", "2"), "b": ("2", "1")}, {"a": "b", "b": "a"}),
        ({"a": ("1", "2"), "b": ("2", "3"), "c": ("3", "1")}, {"a": "b", "b": "c", "c": "a"}),
        ({"a": ("1", "link"), "b": ("", "1")}, {"b": "a"}),
        ({"a": ("1", "2"), "b": ("", "1"), "c": ("", "1")}, {"b": "a"}),  # the other: a copy
        ({"a": ("1", ""), "b": ("2", ""), "c": ("", "2")}, {"c": "b"}),
        ({"a": ("1", "1"), "b": ("2", "1")}, {}),  # only its mode has changed: it is there
        ({"a": ("1", ""), "b": ("2", "1"), "c": ("", "1")}, {"c": "a"}),
        ({"a": ("1", "1"), "b": ("1", "2")}, {}),
        ({"a": ("1", ""), "b": ("", "1"), "c": ("1", "2")}, {"b": "a"}),
        ({"a": (EMPTY, "1"), "b": ("2", EMPTY)}, {}),
        ({"a": ("1", ""), "b": ("2", "")}, {}),
    ],
)
def test_a_content_goes_to_the_path_that_has_it_now(
    changed: dict[str, tuple[str, str]], want: dict[str, str]
) -> None:
    assert file_moves.find_origins(changed, lambda oid: [oid.encode()]) == want


TEXTS = {
    "1": "abcd",
    "2": "abcx",
    "3": "abxy",
    "4": "axyz",
    "5": "abcdefgh",
    "6": "",
    "7": "  ",
    "8": "k",
    "9": "k",
    "10": "abcde",
    "11": "ab   c   ",
    "12": "ab   c   de",
}


def lines(oid: str) -> list[bytes]:
    return [letter.encode() for letter in TEXTS[oid]]


@pytest.mark.parametrize(
    ("gone", "come", "want"),
    [
        ({"a": "1"}, {"n": "1"}, {"n": "a"}),
        ({"a": "1", "b": "2"}, {"n": "2"}, {"n": "b"}),
        ({"a": "1"}, {"n": "1", "m": "1"}, {"n": "a"}),  # each path that went is taken once
        ({"a": "1", "b": "1"}, {"n": "1", "m": "1"}, {"n": "a", "m": "b"}),
        ({"a": "1", "b": "1"}, {"n": "1", "m": "2"}, {"n": "a", "m": "b"}),
        ({"a": "1", "b": "2"}, {"n": "2", "m": "1"}, {"n": "b", "m": "a"}),
        ({"a": "1"}, {"n": "2"}, {"n": "a"}),  # three lines of four
        ({"a": "1"}, {"n": "3"}, {}),  # half of them
        ({"a": "1"}, {"n": "5"}, {}),  # half of the longer one
        ({"a": "5"}, {"n": "1"}, {}),
        ({"a": "1"}, {"n": "2", "m": "2"}, {"n": "a"}),
        ({"a": "1", "b": "2"}, {"n": "3"}, {"n": "b"}),  # the likest
        ({"a": "1", "b": "2"}, {"n": "10"}, {"n": "a"}),
        ({"a": "8"}, {"n": "9"}, {"n": "a"}),
        ({"a": "2", "b": "3"}, {"n": "1", "m": "4"}, {"n": "a", "m": "b"}),
        ({"a": "6"}, {"n": "6"}, {"n": "a"}),  # nothing in it, and no blob of git's for nothing
        ({"a": "7"}, {"n": "6"}, {}),
        ({"a": EMPTY}, {"n": EMPTY}, {}),
        ({"a": "11"}, {"n": "12"}, {"n": "a"}),  # blank lines make nothing less alike
        ({}, {"n": "1"}, {}),
        ({"a": "1"}, {}, {}),
    ],
)
def test_a_path_comes_from_the_likest_that_went(
    gone: dict[str, str], come: dict[str, str], want: dict[str, str]
) -> None:
    assert file_moves.find_moves(gone, come, lines) == want


@pytest.mark.parametrize(("count", "want"), [(20, {"n0": "a0"}), (21, {})])
def test_of_very_many_paths_no_lines_are_compared(count: int, want: dict[str, str]) -> None:
    gone = {f"a{n}": "1" if not n else f"gone {n}" for n in range(20)}
    come = {f"n{n}": "2" if not n else f"come {n}" for n in range(count)}
    read = {"1": lines("1"), "2": lines("2")}
    assert file_moves.find_moves(gone, come, lambda oid: read.get(oid, [oid.encode()])) == want


def test_a_file_that_changed_places_is_not_what_one_that_went_became() -> None:
    changed = {"a": ("1", "2"), "b": ("2", "1"), "c": ("5", "")}
    assert file_moves.find_origins(changed, lines) == {"a": "b", "b": "a"}


@pytest.mark.parametrize("paths", [("a", "b"), ("b", "a")])
def test_the_edits_of_a_moved_path_begin_with_the_content_that_came(paths: tuple[str, str]) -> None:
    old, new = paths
    first = build_edit(old, None, ("100644", "1"), ("s", "t", ""), "tool", 5)
    gone = build_edit(old, ("100644", "1"), None, PERSON, "between", 9)
    come = build_edit(new, None, ("100644", "2"), PERSON, "between", 9).having(follows=old)
    look = sorted([gone, come], key=lambda edit: edit.path)
    stood = gone.having(after=("100644", "1"))
    assert credit.trace_content([first, *look], new) == [first, stood, come]


def test_files_that_change_places_have_each_others_edits() -> None:
    one, two = ("100644", "1"), ("100644", "2")
    a = build_edit("a", one, two, PERSON, "between", 9).having(follows="b")
    b = build_edit("b", two, one, PERSON, "between", 9).having(follows="a")
    assert credit.trace_content([a, b], "a") == [b.having(after=two), a]
    assert credit.trace_content([a, b], "b") == [a.having(after=one), b]
