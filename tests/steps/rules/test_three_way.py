"""One path in three versions: taking edits back without what others did since."""

from __future__ import annotations

import pytest

from gitcp.git.objects import merging
from gitcp.steps.back.taking_back import EditEntries, TakenBack, join_edits, take_back

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


def edits(*pairs: tuple[Version, Version]) -> list[EditEntries]:
    return [EditEntries(*pair) for pair in pairs]


def test_edits_are_taken_back_from_the_newest_to_the_oldest() -> None:
    assert take_back(C, edits((None, A), (B, C)), merge) == TakenBack(B, False)
    assert take_back(B, edits((None, A), (A, B)), merge) == TakenBack(None, True)


def test_what_others_did_is_merged_and_a_merge_that_fails_is_told() -> None:
    other = ("100644", "o")
    assert take_back(other, edits((A, B)), merge) == TakenBack(("100644", "b+o+a"), True)
    lost = ("100644", "x")
    assert take_back(lost, edits((A, B)), merge) == TakenBack(("100644", "b+x+a"), False)
    assert not take_back(lost, edits((A, B), (B, C)), merge).is_clean


def test_an_edit_that_is_taken_back_already_is_not_merged() -> None:
    assert take_back(A, edits((A, B)), merge) == TakenBack(A, True)


def test_a_conflict_leaves_what_is_there() -> None:
    assert take_back(None, edits((A, B)), merge) == TakenBack(None, False)
    assert take_back(LINK, edits((A, B)), merge) == TakenBack(LINK, False)


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
    assert join_edits(edits((None, A), (A, B), (B, C))) == edits((None, C))
    assert join_edits(edits((None, A), (B, C))) == edits((None, A), (B, C))
    assert join_edits(edits((A, B), (B, A))) == []
