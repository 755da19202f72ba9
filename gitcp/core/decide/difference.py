"""What two changes of a file have in common: the evidence that one holds the other's work.

A recorded change goes from `before` to what was recorded, a commit's from its parent to what it
has.  Text is compared by the lines that either adds or removes, anything else by what stands
there.  Where nobody knows what was before a record, the commit's parent stands for it.
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import NotRequired, TypedDict

    from gitcp.core.record_types import Version

    Staged = tuple[str, str | None, str, str | None]  # old mode, old oid, new mode, new oid
    Blob = Callable[[str], bytes | None]  # None: there is no such object
    Shared = tuple[frozenset[bytes], str]  # what is in common, empty for nothing; the reason

    class Recorded(TypedDict):
        """What a session recorded of a path; keys that are not named here are ignored."""

        path: str
        oid: str | None  # None: the session deleted it
        mode: NotRequired[str]
        live: bool  # the worktree's stream still has it; else it is away
        stashed: NotRequired[bool]  # an entry of `git stash` made since holds what is recorded
        before: NotRequired[Version]  # what was there; absent where that is not known
        own: NotRequired[frozenset[bytes]]  # the added lines that count; absent: all


ABSENT = "000000"
REGULAR = ("100644", "100755")
_NONE: frozenset[bytes] = frozenset()


def compare_deletion(entry: Recorded) -> Shared:
    """Compare a record with a commit that deletes its path."""
    if entry["oid"] is None:
        return _mark_content(b"deleted"), "the session deleted it"
    return _NONE, "the commit deletes it, the session did not"


def compare_undone_deletion(staged: Staged, blob: Blob) -> Shared:
    """Compare the record of a deletion with a commit that has the path: part of a deletion may
    be staged, then lines go and none comes; all else undoes it."""
    old_mode, old, mode, new = staged
    if old and new and old != new and {old_mode, mode} <= {*REGULAR}:
        before, now = blob(old), blob(new)
        if (
            before is not None
            and now is not None
            and not line_evidence.find_added_lines(before, now)
        ):
            return _mark_content(b"deleted"), "part of what the session deleted"
    return _NONE, "the session deleted it, the commit does not"


def compare_mode(entry: Recorded, new: str) -> Shared:
    """Compare a record with a commit that changes nothing but the mode."""
    before = entry.get("before")
    if entry.get("mode") != new or (before and before[0] == new):
        return _NONE, "another mode than recorded"
    return _mark_content(new.encode()), "the recorded mode"


def compare(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit's change of a path has in common with a record of it, whoever made it."""
    old_mode, old, mode_now, new = staged
    if mode_now == ABSENT:
        return compare_deletion(entry)
    if entry["oid"] is None:
        return compare_undone_deletion(staged, blob)
    if old == new and old_mode != mode_now:
        return compare_mode(entry, mode_now)
    recorded, recorded_mode = entry["oid"], entry.get("mode", mode_now)
    if new is None or mode_now[:3] != recorded_mode[:3]:  # file, symlink, submodule
        return _NONE, "another type than recorded"
    same = (_mark_content(new.encode()), "the recorded content") if new == recorded else None
    if mode_now not in REGULAR:
        return same or (_NONE, "another content than recorded")
    base = entry.get("before", (old_mode, old))
    if same and (entry["live"] or "before" not in entry or base == (old_mode, old)):
        return same
    parent = blob(old) if old and old_mode in REGULAR else b""
    was = blob(base[1]) if base and base[1] and base[0] in REGULAR else b""
    here, record = blob(new), blob(recorded)
    if parent is None or here is None or record is None:
        return _NONE, "the recorded content cannot be read"
    texts = parent, here, parent if was is None else was, record
    if any(map(line_evidence.is_binary, texts)):
        return same or (_NONE, "another binary content than recorded")
    if same and not line_evidence.find_added_lines(was, record) | line_evidence.find_added_lines(
        record, texts[2]
    ):
        return same  # no line tells: an empty file, or lines in another order
    return _compare_texts(*texts, entry.get("own"))


def _mark_content(what: bytes) -> frozenset[bytes]:
    return frozenset([b"\0" + what])


def _compare_texts(
    parent: bytes, here: bytes, was: bytes, record: bytes, own: frozenset[bytes] | None
) -> Shared:
    bare = line_evidence.remove_space
    if bare(parent) == bare(here):
        return _compare_lines((parent, here), (was, record), own)
    long = line_evidence.select_significant(
        line_evidence.collect_lines(here) | line_evidence.collect_lines(record)
    )
    mine = None if own is None else frozenset(map(bare, own))
    return _compare_lines(
        (bare(parent), bare(here)), (bare(was), bare(record)), mine, set(map(bare, long))
    )


def _compare_lines(
    change: tuple[bytes, bytes],
    record: tuple[bytes, bytes],
    own: frozenset[bytes] | None,
    long: Container[bytes] = (),
) -> Shared:
    """Compare two changes of a text, each from one content to another."""
    mine, theirs = line_evidence.find_added_lines(*change), line_evidence.find_added_lines(*record)
    if own is not None:
        theirs &= own
    common = frozenset(mine & theirs)
    if line_evidence.is_contained(mine, theirs):
        return common, "every line the commit adds was recorded"
    if line_evidence.is_contained(theirs, mine):
        return common, "every line of the record is in the commit"
    if line_evidence.has_enough_in_common(mine, theirs, long):
        return common, "significant lines in common with the record"
    gone, taken = (
        line_evidence.find_added_lines(*change[::-1]),
        line_evidence.find_added_lines(*record[::-1]),
    )
    removed = frozenset(b"\0" + line for line in gone & taken)
    if removed and not mine and gone <= taken:
        return removed, "every line the commit removes was removed in the record"
    if removed and not theirs and taken <= gone and any(map(line_evidence.is_meaningful, taken)):
        return removed, "every line the record removes is removed in the commit"
    return _NONE, "other lines than recorded"
