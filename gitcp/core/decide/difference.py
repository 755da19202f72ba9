"""Compare a recorded change of a path with a commit's change of it.

A recorded change goes from `before` to the recorded entry, a commit's from its parent to its own
entry.  Texts are compared by the lines that each change adds or removes, other contents as a whole.
If `before` is not known, the commit's parent is used for it.
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NotRequired, TypedDict

    from gitcp.core.record_types import Version

    Staged = tuple[str, str | None, str, str | None]  # old mode, old oid, new mode, new oid
    Change = tuple[bytes, bytes]  # a text before and after
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


def build_change(old: Version, new: Version) -> Staged:
    """The change of a path from one version to another."""
    absent = (ABSENT, None)
    return (*(old or absent), *(new or absent))


def compare_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a record with a commit that deletes its path."""
    if entry["oid"] is not None:
        return _NONE, "the commit deletes it, the session did not"
    if not _has_recorded_lines(entry, staged, blob):
        return _NONE, "the session deleted another content"
    return _mark_content(b"deleted"), "the session deleted it"


def compare_undone_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
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
            and _has_recorded_lines(entry, staged, blob)
        ):
            return _mark_content(b"deleted"), "part of what the session deleted"
    return _NONE, "the session deleted it, the commit does not"


def _has_recorded_lines(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit removes a line that a recorded deletion removed, as far as is known; a live
    deletion is of whatever the path had."""
    before = entry.get("before")
    if entry["live"] or not before or before[1] == staged[1]:
        return True
    texts = [blob(oid) if oid else b"" for oid in (before[1], staged[1], staged[3])]
    if any(text is None or line_evidence.is_binary(text) for text in texts):
        return True
    recorded, old, new = (line_evidence.remove_space(text or b"") for text in texts)
    removed = line_evidence.find_added_lines(new, old)
    return not removed.isdisjoint(line_evidence.find_added_lines(None, recorded))


def compare_mode(entry: Recorded, new: str) -> Shared:
    """Compare a record with a commit that changes only the mode."""
    before = entry.get("before")
    if entry.get("mode") != new or (before and before[0] == new):
        return _NONE, "another mode than recorded"
    return _mark_content(new.encode()), "the recorded mode"


def changes_mode_alone(entry: Recorded) -> bool:
    """Whether a record is of a change of the mode, with the content as it was."""
    before = entry.get("before")
    return bool(before and before[1] == entry["oid"])


def compare(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a record with a commit's change of its path, whoever made that."""
    old_mode, old, mode, new = staged
    if mode == ABSENT:
        return compare_deletion(entry, staged, blob)
    if entry["oid"] is None:
        return compare_undone_deletion(entry, staged, blob)
    if old_mode != mode and (old == new or (old and changes_mode_alone(entry))):
        return compare_mode(entry, mode)
    if new is None or mode[:3] != entry.get("mode", mode)[:3]:  # file, symlink, submodule
        return _NONE, "another type than recorded"
    same = (_mark_content(new.encode()), "the recorded content") if new == entry["oid"] else None
    if mode not in REGULAR:
        return same or (_NONE, "another content than recorded")
    parent = old_mode, old
    base = entry.get("before", parent)
    if same and (entry["live"] or base == parent):
        return same
    parent_text, base_text = _read_file(blob, parent), _read_file(blob, base)
    content, recorded = blob(new), blob(entry["oid"])
    if parent_text is None or content is None or recorded is None:
        return _NONE, "the recorded content cannot be read"
    change = parent_text, content
    record = parent_text if base_text is None else base_text, recorded
    if any(map(line_evidence.is_binary, (*change, *record))):
        return same or (_NONE, "another binary content than recorded")
    if same and not any(_find_changed_lines(record)):
        return same  # an empty file, or reordered lines
    return _compare_texts(change, record, entry.get("own"))


def _mark_content(content: bytes) -> frozenset[bytes]:
    return frozenset([b"\0" + content])


def _read_file(blob: Blob, version: tuple[str, str | None] | None) -> bytes | None:
    """The content of a regular file; b"" for no file, None if it is missing."""
    return blob(version[1]) if version and version[1] and version[0] in REGULAR else b""


def _find_changed_lines(change: Change) -> tuple[set[bytes], set[bytes]]:
    """(the lines that a change adds, those that it removes)."""
    old, new = change
    return line_evidence.find_added_lines(old, new), line_evidence.find_added_lines(new, old)


def _compare_texts(change: Change, record: Change, own: frozenset[bytes] | None) -> Shared:
    """Compare a commit's change of a text with a recorded one by their lines.

    White space in lines does not count, unless the commit changes nothing else.
    """
    long: set[bytes] = set()
    bare = line_evidence.remove_space
    if bare(change[0]) != bare(change[1]):
        lines = line_evidence.collect_lines(change[1]) | line_evidence.collect_lines(record[1])
        long = set(map(bare, line_evidence.select_significant(lines)))
        change, record = (bare(change[0]), bare(change[1])), (bare(record[0]), bare(record[1]))
        own = None if own is None else frozenset(map(bare, own))
    added, removed = _find_changed_lines(change)
    recorded, recorded_removed = _find_changed_lines(record)
    if own is not None:
        recorded &= own
    common = frozenset(added & recorded)
    if line_evidence.is_contained(added, recorded):
        return common, "every line the commit adds was recorded"
    if line_evidence.is_contained(recorded, added):
        return common, "every line of the record is in the commit"
    awaited = recorded - line_evidence.collect_lines(change[0])
    if line_evidence.has_enough_in_common(added, awaited, long):
        return common, "significant lines in common with the record"
    common = frozenset(b"\0" + line for line in removed & recorded_removed)
    if common and not added and removed <= recorded_removed:
        return common, "every line the commit removes was removed in the record"
    is_telling = any(map(line_evidence.is_meaningful, recorded_removed))
    if common and not recorded and recorded_removed <= removed and is_telling:
        return common, "every line the record removes is removed in the commit"
    if not (added or removed or recorded_removed or line_evidence.find_added_lines(*record)):
        place = line_evidence.find_place(*change, own)
        if place and place == line_evidence.find_place(*record, own):
            return _mark_content(place), "lines that the file had before, at the recorded place"
    return _NONE, "other lines than recorded"
