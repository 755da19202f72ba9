"""One path in three versions: taking edits back without what others did since."""

from __future__ import annotations

import pytest

from gitcp.core.back import three_way
from gitcp.core.back.three_way import CONFLICT, MERGE, SAME, TAKE
from gitcp.core.record_types import Version

A, B, C = ("100644", "a"), ("100644", "b"), ("100644", "c")
EXE, LINK = ("100755", "a"), ("120000", "l")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "how"),
    [
        (A, A, B, TAKE),
        (A, A, None, TAKE),
        (None, None, B, TAKE),
        (A, B, B, SAME),
        (A, B, A, SAME),
        (A, None, None, SAME),
        (A, B, C, MERGE),
        (EXE, B, C, MERGE),
        (A, None, B, CONFLICT),
        (A, B, None, CONFLICT),
        (None, A, B, CONFLICT),
        (A, LINK, B, CONFLICT),
        (LINK, A, B, CONFLICT),
    ],
)
def test_how_a_path_gets_to_what_is_wanted(
    base: Version, ours: Version, theirs: Version, how: str
) -> None:
    assert three_way.choose_way(base, ours, theirs) == how


def merge(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    return f"{base}+{ours}+{theirs}", ours != "x"


def test_edits_are_taken_back_from_the_newest_to_the_oldest() -> None:
    assert three_way.take_back(C, [(None, A), (B, C)], merge) == (B, False)
    assert three_way.take_back(B, [(None, A), (A, B)], merge) == (None, True)


def test_what_others_did_is_merged_and_a_merge_that_fails_is_told() -> None:
    other = ("100644", "o")
    assert three_way.take_back(other, [(A, B)], merge) == (("100644", "b+o+a"), True)
    lost = ("100644", "x")
    assert three_way.take_back(lost, [(A, B)], merge) == (("100644", "b+x+a"), False)
    assert three_way.take_back(lost, [(A, B), (B, C)], merge)[1] is False


def test_an_edit_that_is_taken_back_already_is_not_merged() -> None:
    assert three_way.take_back(A, [(A, B)], merge) == (A, True)


def test_a_conflict_leaves_what_is_there() -> None:
    assert three_way.take_back(None, [(A, B)], merge) == (None, False)
    assert three_way.take_back(LINK, [(A, B)], merge) == (LINK, False)


def test_the_mode_is_the_side_s_that_changed_it() -> None:
    assert three_way.choose_mode(A, B, EXE) == "100755"
    assert three_way.choose_mode(A, EXE, C) == "100755"
    assert three_way.choose_mode(EXE, EXE, C) == "100644"


def test_consecutive_edits_are_joined_and_an_edit_that_changes_nothing_is_dropped() -> None:
    assert three_way.join_edits([(None, A), (A, B), (B, C)]) == [(None, C)]
    assert three_way.join_edits([(None, A), (B, C)]) == [(None, A), (B, C)]
    assert three_way.join_edits([(A, B), (B, A)]) == []
