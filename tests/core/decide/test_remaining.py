from __future__ import annotations

import pytest

from gitcp.core.decide.remaining import EMPTY, judge_entry, remaining

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.difference import Recorded, Staged
    from gitcp.core.record_types import Version

FILE, EXEC, NONE = "100644", "100755", "000000"


def there(name: str | None) -> Version:
    """Content is a word; an exclamation mark makes it executable."""
    return None if name is None else (EXEC if name.endswith("!") else FILE, name.rstrip("!"))


def recorded(name: str | None, live: bool = True) -> Recorded:
    mode, oid = there(name) or (NONE, None)
    return {"path": "f", "oid": oid, "mode": mode, "live": live}


def change(old: str | None, new: str | None) -> Staged:
    return *(there(old) or (NONE, None)), *(there(new) or (NONE, None))


# name, recorded, what the commit did (None: nothing), worktree, HEAD, verdict
Row = tuple[str, str | None, tuple[str | None, str | None] | None, str | None, str | None, str]
LIVE: list[Row] = [
    # what a commit took, and what it left
    ("not in the commit", "new", None, "new", "old", "carry"),
    ("a new file not in the commit", "new", None, "new", None, "carry"),
    ("committed as recorded", "new", ("old", "new"), "new", "new", "settled"),
    ("a new file committed as recorded", "new", (None, "new"), "new", "new", "settled"),
    ("committed in part", "new", ("old", "half"), "new", "half", "carry"),
    ("a new file committed in part", "new", (None, "half"), "new", "half", "carry"),
    ("not recorded as this file any more", None, (None, "x"), "x", "x", "away"),
    # what a simpler rule loses
    ("edited since the record, all committed", "new", ("old", "more"), "more", "more", "away"),
    ("committed in part, then edited on", "new", ("old", "half"), "more", "half", "carry"),
    ("committed as recorded, then edited", "new", ("old", "new"), "more", "new", "settled"),
    ("a new file stashed", "new", None, None, None, "away"),
    ("a tracked file stashed or restored", "new", None, "old", "old", "away"),
    ("committed in part, the rest dismissed", "new", ("old", "half"), "half", "half", "away"),
    ("a new file committed in part, then removed", "new", (None, "half"), None, "half", "away"),
    ("edited since, not committed", "new", None, "more", "old", "carry"),
    ("removed by the commit", "new", ("old", None), None, None, "away"),
    ("only removed from the index", "new", ("old", None), "new", None, "carry"),
    ("HEAD has it without this commit", "new", None, "new", "new", "settled"),
    # deletions
    ("a deletion committed", None, ("old", None), None, None, "settled"),
    ("a deletion not committed", None, None, None, "old", "carry"),
    ("a deletion undone", None, None, "old", "old", "away"),
    ("a deletion staged in part", None, ("old", "half"), None, "half", "carry"),
    ("deleted, then made anew", None, None, "own", "old", "carry"),
    ("deleted, and never in HEAD", None, None, None, None, "settled"),
    # modes
    ("the mode left out", "new!", ("old", "new"), "new!", "new", "carry"),
    ("the mode alone left out", "old!", None, "old!", "old", "carry"),
    ("the mode committed, the content not", "new!", ("old", "old!"), "new!", "old!", "carry"),
    ("the mode given up", "new!", ("old", "new"), "new", "new", "settled"),
    ("a mode of the person", "new", ("old", "new!"), "new!", "new!", "settled"),
]
STASHED: list[Row] = [
    ("still stashed", "new", None, None, None, "away"),
    ("still stashed, tracked", "new", None, "old", "old", "away"),
    ("came back", "new", None, "new", "old", "carry"),
    ("came back and was committed", "new", ("old", "new"), "new", "new", "settled"),
    ("came back and was committed in part", "new", ("old", "half"), "new", "half", "carry"),
    ("other work in its place", "new", None, "own", "old", "away"),
    ("a deletion came back", None, None, None, "old", "carry"),
    ("other work in place of a deletion", None, None, "own", "old", "away"),
]


@pytest.mark.parametrize("row", LIVE, ids=lambda row: row[0])
def test_what_a_commit_leaves_of_a_live_path(row: Row) -> None:
    check(row, live=True)


@pytest.mark.parametrize("row", STASHED, ids=lambda row: row[0])
def test_what_is_away_comes_back_by_its_very_content_only(row: Row) -> None:
    check(row, live=False)


def check(row: Row, live: bool) -> None:
    _, record, did, worktree, head, want = row
    committed = {"g": change("a", "b")} | ({"f": change(*did)} if did else {})
    files = ({"f": there(worktree)}, {"f": there(head)})
    assert remaining([recorded(record, live)], committed, *files) == {"f": want}
    _, reason = judge_entry(recorded(record, live), committed, there(worktree), there(head))
    assert reason


@pytest.mark.parametrize("did", [None, ("old", None)])
def test_a_file_committed_under_another_name_is_settled(did: tuple[str, None] | None) -> None:
    committed = {"g": change(None, "new")} | ({"f": change(*did)} if did else {})
    assert remaining([recorded("new")], committed, {}, {}) == {"f": "settled"}
    copied = {"f": there("new")}
    assert remaining([recorded("new")], committed, copied, {}) == {"f": "carry"}
    assert remaining([recorded("old")], committed, {}, {}) == {"f": "away"}


CONTENTS = {"base": b"old\n", "record": b"old\nmine\n", "pulled": b"new\nold\n"}
CONTENTS |= {"both": b"new\nold\nmine\n", "theirs": b"newer\nold\n"}


@pytest.mark.parametrize(
    ("base", "head", "want"),
    [
        (there("base"), "both", "settled"),
        (there("base"), "theirs", "away"),
        (None, "both", "settled"),  # a new file, and all of it is there
        (("", ""), "both", "away"),  # nobody knows what it was
    ],
)
def test_the_record_is_compared_with_what_it_stands_on(base: Version, head: str, want: str) -> None:
    now = {"f": there(head)}
    told = remaining(
        [recorded("record", live=False)],
        {"f": change("pulled", head)},
        now,
        now,
        CONTENTS.get,
        lambda _: base,
    )
    assert told == {"f": want}


@pytest.mark.parametrize(
    ("new", "want"),
    [
        (b"the first line\nthe second line\nand a third\n", "settled"),
        (b"the first line\nanother second line\n", "away"),
        (
            b"the first line\nthe second line\n"
            + b"".join(b"more of it %d\n" % n for n in range(9)),
            "away",
        ),
    ],
    ids=["with more", "with less", "part of another"],
)
def test_a_file_committed_under_another_name_with_all_its_lines_is_settled(
    new: bytes, want: str
) -> None:
    blobs = {"new": new, "old": b"the first line\nthe second line\n"}
    committed = {"g": change(None, "new")}
    assert remaining([recorded("old")], committed, {}, {}, blobs.get) == {"f": want}


@pytest.mark.parametrize("oid", EMPTY)
def test_an_empty_file_is_not_taken_for_another(oid: str) -> None:
    assert remaining([recorded(oid)], {"g": change(None, oid)}, {}, {}) == {"f": "away"}


def test_a_submodule_is_carried_like_a_file() -> None:
    entry: Recorded = {"path": "m", "oid": "c2", "mode": "160000", "live": True}
    kept, old = {"m": ("160000", "c2")}, {"m": ("160000", "c1")}
    assert remaining([entry], {}, kept, old) == {"m": "carry"}
    assert remaining([entry], {}, old, old) == {"m": "away"}
    moved: Staged = ("160000", "c1", "160000", "c2")
    assert remaining([entry], {"m": moved}, kept, kept) == {"m": "settled"}


def test_each_path_is_judged_by_itself() -> None:
    a, b, c = (recorded(name) | {"path": name} for name in "abc")
    committed = {"a": change(None, "a")}
    files = {name: there(name) for name in "ab"}
    found = remaining([a, b, c], committed, files, {"a": there("a")})
    assert found == {"a": "settled", "b": "carry", "c": "away"}
