"""One path in three versions: taking edits back without what others did since."""

from __future__ import annotations

import pytest

from gitcp.git.objects import merging
from gitcp.steps.back import plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Version

A, B, C = ("100644", "a"), ("100644", "b"), ("100644", "c")
EXE, LINK = ("100755", "a"), ("120000", "l")


def merge(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    return f"{base}+{ours}+{theirs}", ours != "x"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged", "clean"),
    [
        (A, A, B, B, True),
        (A, A, None, None, True),
        (None, None, B, B, True),
        (A, B, B, B, True),
        (A, B, A, B, True),
        (A, None, None, None, True),
        (A, B, C, ("100644", "a+b+c"), True),
        (EXE, B, C, ("100644", "a+b+c"), True),
        (A, None, B, None, False),
        (A, B, None, B, False),
        (None, A, B, A, False),
        (A, LINK, B, LINK, False),
        (LINK, A, B, A, False),
    ],
)
def test_how_a_path_gets_to_what_is_wanted(
    base: Version, ours: Version, theirs: Version, merged: Version, clean: bool
) -> None:
    assert merging.merge_versions(base, ours, theirs, merge) == (merged, clean)


def test_edits_are_taken_back_from_the_newest_to_the_oldest() -> None:
    assert plan.take_back(C, [(None, A), (B, C)], merge) == (B, False)
    assert plan.take_back(B, [(None, A), (A, B)], merge) == (None, True)


def test_what_others_did_is_merged_and_a_merge_that_fails_is_told() -> None:
    other = ("100644", "o")
    assert plan.take_back(other, [(A, B)], merge) == (("100644", "b+o+a"), True)
    lost = ("100644", "x")
    assert plan.take_back(lost, [(A, B)], merge) == (("100644", "b+x+a"), False)
    assert plan.take_back(lost, [(A, B), (B, C)], merge)[1] is False


def test_an_edit_that_is_taken_back_already_is_not_merged() -> None:
    assert plan.take_back(A, [(A, B)], merge) == (A, True)


def test_a_conflict_leaves_what_is_there() -> None:
    assert plan.take_back(None, [(A, B)], merge) == (None, False)
    assert plan.take_back(LINK, [(A, B)], merge) == (LINK, False)


def test_the_mode_is_the_side_s_that_changed_it() -> None:
    exe = ("100755", "b")
    for base, ours, theirs, mode in (
        (A, B, ("100755", "c"), "100755"),
        (A, exe, C, "100755"),
        (EXE, exe, C, "100644"),
    ):
        merged, _ = merging.merge_versions(base, ours, theirs, merge)
        assert merged is not None
        assert merged[0] == mode


def test_consecutive_edits_are_joined_and_an_edit_that_changes_nothing_is_dropped() -> None:
    assert plan.join_edits([(None, A), (A, B), (B, C)]) == [(None, C)]
    assert plan.join_edits([(None, A), (B, C)]) == [(None, A), (B, C)]
    assert plan.join_edits([(A, B), (B, A)]) == []
