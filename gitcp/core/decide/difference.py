"""Compare a recorded change of a path with a commit's change of it.

A recorded change goes from `before` to the recorded entry, a commit's from its parent to its own
entry.  Texts are compared by the lines that each change adds or removes, other contents as a whole.
If `before` is not known, the commit's parent is used for it.
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
    Shared = tuple[frozenset[bytes], str]  # what the changes have in common; the reason

    class Recorded(TypedDict):
        """A change of a path that a session recorded; other keys are ignored."""

        path: str
        oid: str | None  # None: the session deleted the path
        mode: NotRequired[str]
        live: bool  # the worktree's stream has it; False: it is away
        stashed: NotRequired[bool]  # a later entry of `git stash` has the recorded content
        before: NotRequired[Version]  # absent: not known
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
    """Compare a recorded deletion with a commit that has the path.

    A commit that only removes lines holds a part of the deletion; any other undoes it.
    """
    old_mode, old, mode, new = staged
    if old and new and old != new and {old_mode, mode} <= {*REGULAR}:
        before, content = blob(old), blob(new)
        if (
            before is not None
            and content is not None
            and not line_evidence.find_added_lines(before, content)
        ):
            return _mark_content(b"deleted"), "part of what the session deleted"
    return _NONE, "the session deleted it, the commit does not"


def compare_mode(entry: Recorded, new: str) -> Shared:
    """Compare a record with a commit that changes only the mode."""
    before = entry.get("before")
    if entry.get("mode") != new or (before and before[0] == new):
        return _NONE, "another mode than recorded"
    return _mark_content(new.encode()), "the recorded mode"


def compare(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a record with a commit's change of its path, whoever made that."""
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
    before = blob(base[1]) if base and base[1] and base[0] in REGULAR else b""
    content, recorded_content = blob(new), blob(recorded)
    if parent is None or content is None or recorded_content is None:
        return _NONE, "the recorded content cannot be read"
    texts = parent, content, parent if before is None else before, recorded_content
    if any(map(line_evidence.is_binary, texts)):
        return same or (_NONE, "another binary content than recorded")
    if same and not line_evidence.find_added_lines(
        before, recorded_content
    ) | line_evidence.find_added_lines(recorded_content, texts[2]):
        return same  # the record adds and removes no line: an empty file, or reordered lines
    return _compare_texts(*texts, entry.get("own"))


def _mark_content(content: bytes) -> frozenset[bytes]:
    return frozenset([b"\0" + content])


def _compare_texts(
    parent: bytes, content: bytes, before: bytes, recorded: bytes, own: frozenset[bytes] | None
) -> Shared:
    bare = line_evidence.remove_space
    if bare(parent) == bare(content):
        return _compare_lines((parent, content), (before, recorded), own)
    long = line_evidence.select_significant(
        line_evidence.collect_lines(content) | line_evidence.collect_lines(recorded)
    )
    mine = None if own is None else frozenset(map(bare, own))
    return _compare_lines(
        (bare(parent), bare(content)), (bare(before), bare(recorded)), mine, set(map(bare, long))
    )


def _compare_lines(
    change: tuple[bytes, bytes],
    record: tuple[bytes, bytes],
    own: frozenset[bytes] | None,
    long: Container[bytes] = (),
) -> Shared:
    """Compare two changes of a text, each a pair of contents; long: as for select_significant()."""
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
    if not (mine or gone or taken or line_evidence.find_added_lines(*record)):
        place = line_evidence.find_place(*change, own)
        if place and place == line_evidence.find_place(*record, own):
            return _mark_content(place), "lines that the file had before, at the recorded place"
    return _NONE, "other lines than recorded"
