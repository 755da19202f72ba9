"""What a plan does to a path, and why; points as a list."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.steps.back import plan
from gitcp.steps.back.plan import Action, Facts, WantedChange
from gitcp.steps.back.point import (
    Point,
    choose_point,
    fold_points,
    shorten_names,
    sort_newest_first,
)
from gitcp.text import replace
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Version

A, B, SUB = ("100644", "a"), ("100644", "b"), ("160000", "s")
IN_HEAD, IN_BASE, MADE, MINE, GONE = "head", "both", "made", "mine", "gone"
THEIRS, WRITTEN = "theirs", "written"


FACTS = Facts(
    head=lambda path: A if path in (IN_HEAD, IN_BASE) else None,
    base=lambda path: A if path == IN_BASE else None,
    edited=lambda path, now: "10:31" if path == MINE else "",
    theirs=lambda path, now: "0123456789" if path == THEIRS else "",
    committed=lambda path: path in (IN_HEAD, GONE),
    writer=lambda path: "0123456789" if path == WRITTEN else "",
    owner=lambda path: "0123456789" if path == MADE else "",
    left_out={"big": "too-large"},
    hidden={"sparse"},
)


@pytest.mark.parametrize(
    ("path", "was", "now", "verb", "reason"),
    [
        ("x", None, A, "create", "deleted since"),
        ("x", A, B, "modify", "changed since"),
        (WRITTEN, A, B, "modify", "changed since by session 87acec17"),
        (WRITTEN, None, A, "create", "deleted since by session 87acec17"),
        (MINE, A, B, "modify", "your edit of 10:31 goes (undo brings it back)"),
        (MINE, None, A, "create", "you deleted it at 10:31 (undo deletes it again)"),
        (THEIRS, A, B, "modify", "work of session 87acec17 goes (undo brings it back)"),
        (IN_HEAD, A, B, "modify", "changed since, and committed"),
        (GONE, None, A, "create", "deleted since, and committed"),
        (MINE, A, None, "keep", "not made by a session"),
        (IN_BASE, A, None, "delete", "deleted at that point"),
        (IN_HEAD, A, None, "delete", "committed since"),
        (MADE, A, None, "delete", "made since by session 87acec17"),
        ("x", A, None, "keep", "not made by a session"),
        ("big", A, B, "keep", "not saved (too-large)"),
        ("sparse", A, B, "keep", "not in the sparse checkout"),
        ("x", SUB, A, "keep", "a submodule or a repository of its own"),
        ("x", A, SUB, "keep", "a submodule or a repository of its own"),
    ],
)
def test_each_path_has_a_verb_and_a_reason(
    path: str, was: Version, now: Version, verb: str, reason: str
) -> None:
    (found,) = plan.plan_tree([WantedChange(path, was, now)], FACTS)
    assert (found.verb, found.reason) == (verb, reason)
    assert found.yours is reason.startswith("you")


def test_what_is_ours_is_in_no_plan() -> None:
    changes = [WantedChange(path, A, B) for path in (".entire/x", ".entirely")]
    assert [action.path for action in plan.plan_tree(changes, FACTS)] == [".entirely"]


def test_changes_that_were_decided_are_done_unless_the_path_may_not_be_touched() -> None:
    changes = [WantedChange("x", A, None, "why"), WantedChange("big", A, B, "why")]
    told = plan.plan_paths(changes, FACTS)
    assert [(a.verb, a.reason) for a in told] == [
        ("delete", "why"),
        ("keep", "not saved (too-large)"),
    ]
    assert plan.count_verbs(told) == {"create": 0, "modify": 0, "delete": 1, "keep": 1}


def test_names_that_git_would_not_write_are_conflicts() -> None:
    told = [Action(p, "create", None, A, "") for p in (".git/x", "a", "b")]
    told.append(Action("../gone", "delete", A, None, ""))
    assert [c.path for c in plan.find_name_conflicts(told)] == [".git/x"]


@pytest.mark.parametrize(
    ("path", "scopes", "inside"),
    [
        ("a/b", [], True),
        ("a/b", ["a"], True),
        ("a/b", ["a/b"], True),
        ("a/b", [""], True),
        ("ab", ["a"], False),
        ("a", ["a/b"], False),
    ],
)
def test_a_scope_holds_itself_and_what_is_below_it(
    path: str, scopes: list[str], inside: bool
) -> None:
    assert plan.is_below(path, scopes) is inside


def point(name: str, kind: str = "", **more: Any) -> Point:
    return Point(name, kind, **more)


def test_points_with_the_same_files_and_prompt_are_folded_into_the_oldest() -> None:
    same: dict[str, Any] = {"content": "x", "kind": "temporary"}
    found = fold_points(
        [point("3", **same), point("2", **same), point("1", **same, session_prompt="other")]
    )
    assert [(p.id, p.folded) for p in found] == [("2", 1), ("1", 0)]
    gone = [point("2", **same, gone=True), point("1", **same, gone=True)]
    assert len(fold_points(gone)) == 2
    assert len(fold_points([point("2"), point("1")])) == 2


def test_each_worktree_that_undo_kept_is_listed_once_however_often_it_was_left() -> None:
    names = "axbxaxc"
    steps = [point(f"{n}{c}", kind="safety", content=c) for n, c in enumerate(names)]
    steps[1] = replace(steps[1], kind="temporary")
    found = fold_points(steps)
    assert [(p.id, p.folded) for p in found] == [
        ("1x", 0),
        ("2b", 0),
        ("4a", 1),
        ("5x", 1),
        ("6c", 0),
    ]


def test_points_are_shown_by_beginnings_that_tell_them_apart() -> None:
    ids = ["0123456789", "89abcdef01", "89abcdef11"]
    calls = ["toolu_01abcdefgh", "toolu_01abcdxxxx"]
    names = shorten_names([point(i) for i in [*ids, *calls, *calls]])
    assert names == {
        "0123456789": "01234567",
        "89abcdef01": "89abcdef0",
        "89abcdef11": "89abcdef1",
        "toolu_01abcdefgh": shorten_id("toolu_01abcdefgh"),
        "toolu_01abcdxxxx": shorten_id("toolu_01abcdxxxx"),
    }
    known = [point(name) for name in names]
    for name, short in names.items():
        found = choose_point(known, short)
        assert found is not None and found.id == name


def test_a_point_is_chosen_by_its_whole_id_or_an_unambiguous_beginning() -> None:
    known = [point("abcd1"), point("abcd2"), point("abcd"), point("ffff", condensation_id="12345")]
    meant = {"abcd": "abcd", "abcd2": "abcd2", "1234": "ffff", "abc": None, "zzzz": None}
    chosen = {name: choose_point(known, name) for name in meant}
    assert {name: found and found.id for name, found in chosen.items()} == meant
    with pytest.raises(Error, match="ambiguous point 'abcd': abcd1 abcd2"):
        choose_point(known[:2], "abcd")


def test_points_come_newest_first_and_keep_their_order_within_a_second() -> None:
    given = [point("b", time=1), point("c", time=1), point("a", time=2)]
    assert [p.id for p in sort_newest_first(given)] == ["a", "b", "c"]
