from __future__ import annotations

import pytest

from gitcp.record.match.remains import explain_settled
from gitcp.text.ids import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Recorded, Staged, Version

FILE, EXEC, NONE = "100644", "100755", "000000"


def there(name: str | None) -> Version:
    """Content is a word; an exclamation mark makes it executable."""
    return None if name is None else (EXEC if name.endswith("!") else FILE, name.rstrip("!"))


def recorded(name: str | None) -> Recorded:
    mode, oid = there(name) or (NONE, None)
    return {"path": "f", "oid": oid, "mode": mode, "live": True}


def change(old: str | None, new: str | None) -> Staged:
    return *(there(old) or (NONE, None)), *(there(new) or (NONE, None))


# name, recorded, what the commit did (None: nothing), worktree, HEAD, whether it is settled
Row = tuple[str, str | None, tuple[str | None, str | None] | None, str | None, str | None, bool]
ROWS: list[Row] = [
    # what a commit took, and what it left
    ("not in the commit", "new", None, "new", "old", False),
    ("a new file not in the commit", "new", None, "new", None, False),
    ("committed as recorded", "new", ("old", "new"), "new", "new", True),
    ("a new file committed as recorded", "new", (None, "new"), "new", "new", True),
    ("committed in part", "new", ("old", "half"), "new", "half", False),
    ("a new file committed in part", "new", (None, "half"), "new", "half", False),
    ("not recorded as this file any more", None, (None, "x"), "x", "x", False),
    # what a simpler rule loses
    ("edited since the record, all committed", "new", ("old", "more"), "more", "more", False),
    ("committed in part, then edited on", "new", ("old", "half"), "more", "half", False),
    ("committed as recorded, then edited", "new", ("old", "new"), "more", "new", True),
    ("a new file stashed", "new", None, None, None, False),
    ("a tracked file stashed or restored", "new", None, "old", "old", False),
    ("committed in part, the rest dismissed", "new", ("old", "half"), "half", "half", False),
    ("a new file committed in part, then removed", "new", (None, "half"), None, "half", False),
    ("edited since, not committed", "new", None, "more", "old", False),
    ("removed by the commit", "new", ("old", None), None, None, False),
    ("only removed from the index", "new", ("old", None), "new", None, False),
    ("HEAD has it without this commit", "new", None, "new", "new", True),
    # deletions
    ("a deletion committed", None, ("old", None), None, None, True),
    ("a deletion not committed", None, None, None, "old", False),
    ("a deletion undone", None, None, "old", "old", False),
    ("a deletion staged in part", None, ("old", "half"), None, "half", False),
    ("deleted, then made anew", None, None, "own", "old", False),
    ("deleted, and never in HEAD", None, None, None, None, True),
    # modes
    ("the mode left out", "new!", ("old", "new"), "new!", "new", False),
    ("the mode alone left out", "old!", None, "old!", "old", False),
    ("the mode committed, the content not", "new!", ("old", "old!"), "new!", "old!", False),
    ("the mode given up", "new!", ("old", "new"), "new", "new", True),
    ("a mode of the person", "new", ("old", "new!"), "new!", "new!", True),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_commit_leaves_of_a_path(row: Row) -> None:
    _, record, did, worktree, head, want = row
    committed = {"g": change("a", "b")} | ({"f": change(*did)} if did else {})
    is_settled = explain_settled(recorded(record), committed, there(worktree), there(head))
    assert bool(is_settled) is want


@pytest.mark.parametrize("did", [None, ("old", None)])
def test_a_file_committed_under_another_name_is_settled(did: tuple[str, None] | None) -> None:
    committed = {"g": change(None, "new")} | ({"f": change(*did)} if did else {})
    assert explain_settled(recorded("new"), committed, None, None)
    assert not explain_settled(recorded("new"), committed, there("new"), None)
    assert not explain_settled(recorded("old"), committed, None, None)


CONTENTS = {"base": b"old\n", "record": b"old\nmine\n", "pulled": b"new\nold\n"}
CONTENTS |= {"both": b"new\nold\nmine\n", "theirs": b"newer\nold\n"}


@pytest.mark.parametrize(
    ("base", "head", "want"),
    [
        (there("base"), "both", True),
        (there("base"), "theirs", False),
        (None, "both", True),  # a new file, and all of it is there
        (("", ""), "both", False),  # nobody knows what it was
    ],
)
def test_the_record_is_compared_with_what_it_stands_on(
    base: Version, head: str, want: bool
) -> None:
    entry: Recorded = {**recorded("record"), "before": base}
    committed = {"f": change("pulled", head)}
    is_settled = explain_settled(entry, committed, there(head), there(head), CONTENTS.get)
    assert bool(is_settled) is want


@pytest.mark.parametrize(
    ("new", "want"),
    [
        (b"the first line\nthe second line\nand a third\n", True),
        (b"the first line\nanother second line\n", False),
        (
            b"the first line\nthe second line\n"
            + b"".join(b"more of it %d\n" % n for n in range(9)),
            True,
        ),
        (b"".join(b"more of it %d\n" % n for n in range(9)) + b"the first line\n", False),
    ],
    ids=["with more", "with less", "part of another", "less in part of another"],
)
def test_a_file_committed_under_another_name_with_all_its_lines_is_settled(
    new: bytes, want: bool
) -> None:
    blobs = {"new": new, "old": b"the first line\nthe second line\n"}
    committed = {"g": change(None, "new")}
    entry: Recorded = {**recorded("old"), "before": None}
    assert bool(explain_settled(entry, committed, None, None, blobs.get)) is want


def test_a_link_is_no_file_under_another_name_whatever_it_points_to() -> None:
    lines = b"the first line\nthe second line\n"
    blobs = {"new": lines, "old": lines}
    entry: Recorded = {**recorded("old"), "before": None}
    for mode, want in (("100644", True), ("100755", True), ("120000", False)):
        link: Staged = (NONE, None, mode, "new")
        assert bool(explain_settled(entry, {"g": link}, None, None, blobs.get)) is want


@pytest.mark.parametrize("oid", EMPTY)
def test_an_empty_file_is_not_taken_for_another(oid: str) -> None:
    assert not explain_settled(recorded(oid), {"g": change(None, oid)}, None, None)


def test_a_submodule_is_carried_like_a_file() -> None:
    entry: Recorded = {"path": "m", "oid": "c2", "mode": "160000", "live": True}
    now, old = ("160000", "c2"), ("160000", "c1")
    assert not explain_settled(entry, {}, now, old) and not explain_settled(entry, {}, old, old)
    moved: Staged = ("160000", "c1", "160000", "c2")
    assert explain_settled(entry, {"m": moved}, now, now)
