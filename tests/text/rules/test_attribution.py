"""lines.json written again: what was known of a content stays, what is told anew counts."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.text import line_credit
from gitcp.text.line_credit import PathCredit
from gitcp.text.line_replay import Replay, Version

OLD = [[1, 4, "t1", "u1"], [7, 9, "t2", None]]


@pytest.mark.parametrize(
    ("new", "want"),
    [
        ([], OLD),
        ([[1, 9, "t3", None]], [[1, 9, "t3", None]]),
        (
            [[2, 3, "t3", None]],
            [[1, 1, "t1", "u1"], [2, 3, "t3", None], [4, 4, "t1", "u1"], OLD[1]],
        ),
        ([[1, 1, "t1", "u1"]], [[1, 1, "t1", "u1"], [2, 4, "t1", "u1"], OLD[1]]),
        ([[4, 7, "t3", None]], [[1, 3, "t1", "u1"], [4, 7, "t3", None], [8, 9, "t2", None]]),
        ([[5, 6, "t3", None]], [OLD[0], [5, 6, "t3", None], OLD[1]]),
        ([[9, 12, "person", None]], [*OLD, [10, 12, "person", None]]),
        ([[1, 9, "unknown", None]], [OLD[0], [5, 6, "unknown", None], OLD[1]]),
    ],
)
def test_lines_that_a_content_was_known_to_have_stay_known(new: list[Any], want: list[Any]) -> None:
    joined = line_credit.join_entries(
        {"f": [{"oid": "a", "ranges": OLD}]}, {"f": [{"oid": "a", "ranges": new}]}
    )
    assert joined == {"f": [{"oid": "a", "ranges": want}]}


def test_what_was_nobodys_is_whose_the_newer_says() -> None:
    old = {"f": [{"oid": "a", "ranges": [[1, 2, "person", None], [3, 3, "unknown", None]]}]}
    new = {"f": [{"oid": "a", "ranges": [[2, 2, "t1", None], [3, 3, "person", None]]}]}
    [entry] = line_credit.join_entries(old, new)["f"]
    assert entry["ranges"] == [[1, 1, "person", None], *new["f"][0]["ranges"]]


def test_a_line_that_is_told_now_is_no_more_anothers() -> None:
    other = [[2, 3, "t9", None, "s9", "c9"]]
    old = {"f": [{"oid": "a", "ranges": [], "others": other, "more": 1}]}
    [entry] = line_credit.join_entries(old, {"f": [{"oid": "a", "ranges": [[2, 2, "t1", None]]}]})[
        "f"
    ]
    assert entry == {
        "oid": "a",
        "ranges": [[2, 2, "t1", None]],
        "others": [[3, 3, "t9", None, "s9", "c9"]],
        "more": 1,
    }
    assert line_credit.join_entries(old, {"f": [{"oid": "a", "ranges": []}]}) == old
    whole = {"f": [{"oid": "a", "ranges": [[1, 3, "t1", None]]}]}
    assert "others" not in line_credit.join_entries(old, whole)["f"][0]


def test_other_contents_and_paths_stay_as_they_are() -> None:
    old = {"f": [{"oid": "a", "ranges": OLD}], "g": [{"oid": "x", "ranges": OLD}]}
    new = {"f": [{"oid": "b", "ranges": [[1, 1, "t1", None]]}]}
    assert line_credit.join_entries(old, new) == {"f": [*old["f"], *new["f"]], "g": old["g"]}
    assert line_credit.join_entries(None, new) == new


@pytest.mark.parametrize("odd", [None, 3, "x", [3, None], [{"oid": "a", "ranges": [[1], "x", 4]}]])
def test_what_cannot_be_read_of_the_old_is_let_go(odd: Any) -> None:
    new = {"f": [{"oid": "a", "ranges": [[1, 1, "t1", None]]}]}
    assert line_credit.join_entries({"f": odd}, new) == new


def test_the_lines_of_a_path_are_runs_of_the_session_the_person_and_nobody() -> None:
    session, call = ("s", "t1", "u1"), ("s", "t1", "")
    person, nobody, other = ("", "person", ""), ("", "unknown", ""), ("s2", "t9", "u9")
    authors = [session, session, call, person, other, nobody, session]
    path = PathCredit("a", list(enumerate(authors, 1)))
    assert path.list_ranges("s") == [
        [1, 2, "t1", "u1"],
        [3, 3, "t1", None],
        [4, 4, "person", None],
        [6, 6, "unknown", None],
        [7, 7, "t1", "u1"],
    ]


@pytest.mark.parametrize(
    ("lines", "parent", "want"),
    [
        ([b"\0blob"], [], True),
        ([b"a"], [b"\0blob"], True),
        ([b"a", b"\0b"], [b"c", b"\0b"], False),
    ],
)
def test_a_content_that_stands_for_a_binary_file_has_one_author(
    lines: list[bytes], parent: list[bytes], want: bool
) -> None:
    before, now = Version("before", parent), Version("now", lines)
    replay = Replay(before)
    assert line_credit.credit_path(replay, [before], now).is_counted is not want


@pytest.mark.parametrize(("added", "removed", "want"), [(0, 2, 2), (1, 1, 0), (1, 3, 2), (2, 1, 0)])
def test_a_session_has_removed_what_it_has_not_written_in_its_place(
    added: int, removed: int, want: int
) -> None:
    session = ("s", "t1", "u1")
    path = PathCredit("a", [(n, session) for n in range(1, added + 1)], [session] * removed)
    assert line_credit.compute_attribution("s", [path])["agent_removed"] == want
