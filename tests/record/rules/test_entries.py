"""The lines of a journal, read all at once or one by one: what is damaged is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import WrittenLine, build_edit, parse_lines, read_line
from gitcp.text import ids

PATHS = st.text(st.characters(codec=None, blacklist_characters="\0\n"), min_size=1).filter(
    lambda path: path[0] != "/" and ".." not in path
)
LINES = st.builds(lambda path, at: {"path": path, "at": at}, PATHS, st.integers(0, 1 << 40))
CUTS = st.tuples(LINES, st.integers(0, 200))


@given(st.lists(CUTS))
def test_lines_that_were_cut_short_take_no_other_with_them(lines: list[tuple[dict, int]]) -> None:  # type: ignore[type-arg]
    texts = [read_line(line).dump()[: cut or None].rstrip(b"\n") for line, cut in lines]
    whole = []
    for text in texts:
        try:
            whole.append(json.loads(text))
        except ValueError:
            continue
    kept = [line for line in whole if isinstance(line, dict) and "path" in line]
    read = parse_lines(b"\n".join(texts))
    assert [line.keys for line in read if "path" in line.keys] == kept


def test_a_line_that_holds_two_is_none() -> None:
    good = read_line({"path": "a", "at": 1})
    two = b'{"path":"b","at":2},{"path":"c","at":3}\n'
    assert parse_lines(good.dump() + two + good.dump()) == [good] * 2


def test_what_a_commit_took_as_it_stood_is_told_by_path_and_content() -> None:
    lines = [
        build_edit("a", None, ("100644", "1" * 40), ids.PERSON, "between", 1),
        read_line({"commit": "c" * 40, "settled": ["a", "b"]}),
        build_edit("a", ("100644", "1" * 40), ("100644", "2" * 40), ids.PERSON, "between", 2),
        build_edit("b", None, ("100644", "3" * 40), ids.PERSON, "between", 3),
        read_line({"commit": "d" * 40, "settled": ["b"]}),
        build_edit("b", ("100644", "3" * 40), None, ids.PERSON, "between", 4),
        read_line({"commit": "e" * 40, "settled": ["b"]}),
    ]
    assert credit.list_settled_contents(lines) == {("a", "1" * 40), ("b", "3" * 40)}


@pytest.mark.parametrize(
    "line, expected",
    [
        ({"who": ["s", "t", "c"]}, ("s", "t", "c")),
        ({"who": "unknown", "by": ["s", "t", "c"]}, ("s", "t", "c")),
        ({"who": ["r", "u", "d"], "by": ["s", "t", "c"]}, ("s", "t", "c")),
        ({"who": "person"}, ids.UNKNOWN),
        ({"who": "unknown", "by": "s"}, ids.UNKNOWN),
        ({"who": "unknown", "by": ["s", 1, "c"]}, ids.UNKNOWN),
    ],
)
def test_the_cause_of_an_edit_is_the_call_it_went_through(
    line: dict[str, object], expected: tuple[str, str, str]
) -> None:
    assert WrittenLine(line).cause == expected


@pytest.mark.parametrize(
    "lines, expected",
    [
        ([], False),
        ([{"open": "d", "session": "r", "at": 1, "looked": {"p": None}}], True),
        ([{"open": "d", "session": "r", "at": 1, "looked": {"q": None}}], False),
        (
            [
                {"open": "d", "session": "r", "at": 1, "looked": {"p": None}},
                {"close": "d", "session": "r", "at": 2},
            ],
            False,
        ),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_path_that_another_call_has_in_hand_is_contested(
    lines: list[dict[str, object]], expected: bool, before: bool
) -> None:
    own: dict[str, object] = {"open": "c", "session": "s", "at": 0, "looked": {"p": None}}
    every = [*map(read_line, [*lines, own] if before else [own, *lines])]
    ended = "close" in (lines[-1] if lines else {})
    assert credit.is_contested(every, "p", ("s", "t", "c")) == (expected or (ended and not before))


@pytest.mark.parametrize(
    ("line", "corrected"),
    [
        ({"how": "window", "at": 15}, {"who": "person", "how": "between"}),
        ({"how": "window", "at": 25, "made": 15}, {"who": "person", "how": "between"}),
        ({"how": "window", "at": 12}, {"who": "unknown", "how": "between"}),
        ({"how": "window", "at": 25}, {}),
        ({"how": "window", "at": 25, "made": 20}, {}),
        ({"how": "window", "at": 15, "who": ["s", "t", "other"]}, {}),
        ({"how": "tool", "at": 15}, {}),
        ({"how": "restored", "at": 15, "who": "unknown", "by": ["s", "t", "c"], "away": True},
         {"by": None, "away": None}),
    ],
    ids=["before", "by its time", "beside another's call", "seen in the call", "made in the call",
         "of another call", "of a file tool", "restored"],
)  # fmt: skip
def test_what_a_call_was_given_from_before_it_began_is_taken_back(
    line: dict[str, Any], corrected: dict[str, Any]
) -> None:
    edit = {"path": "f", "before": None, "after": None, "who": ["s", "t", "c"], **line}
    lines = [
        read_line({"open": "c", "session": "s", "at": 10}),
        read_line({"open": "d", "session": "r", "at": 11}),
        read_line({"close": "d", "session": "r", "at": 13}),
        read_line(edit),
    ]
    taken = credit.take_back_edits(lines, "s", "c", 20)
    gone = {key for key, value in corrected.items() if value is None}
    assert taken[3].keys == {k: v for k, v in {**edit, **corrected}.items() if k not in gone}
    assert (taken is lines) == (not corrected)
