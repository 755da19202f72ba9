"""One path in three versions: what was, what is, what is wanted (doc/behaviour.md "Going back").

Taking an edit back is a merge whose base is what the edit left, and whose other side is what
it began with: what somebody else did since stays.
"""

from __future__ import annotations

from gitcp.core.git.porcelain import EXECUTABLE, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.record_types import Entry, Version

    Contents = Callable[[str, str, str], tuple[str, bool]]  # base, ours, theirs -> oid, clean

SAME, TAKE, MERGE, CONFLICT = "same", "take", "merge", "conflict"
_FILES = (FILE, EXECUTABLE)


def choose_way(base: Version, ours: Version, theirs: Version) -> str:
    """How to get from ours to theirs, which was or became base.

    SAME: ours stays.  TAKE: theirs as it is.  MERGE: regular files that differ on both
    sides.  CONFLICT: one of them is absent, or no regular file.
    """
    if theirs in (base, ours):
        return SAME
    if ours == base:
        return TAKE
    regular = [e for e in (base, ours, theirs) if e and e[0] in _FILES]
    return MERGE if len(regular) == 3 else CONFLICT


def choose_mode(base: Entry, ours: Entry, theirs: Entry) -> str:
    """The mode of a merged file: the side that changed it wins, ours where both did."""
    return theirs[0] if ours[0] == base[0] else ours[0]


def take_back(
    now: Version, edits: Iterable[tuple[Version, Version]], contents: Contents
) -> tuple[Version, bool]:
    """now without some edits of the path, each (before, after), oldest first.

    contents merges three blobs.  Returns the version without them, and whether all of it was
    clean; where nothing can be merged the version is what could be reached.
    """
    clean = True
    for before, after in reversed(list(edits)):
        how = choose_way(after, now, before)
        if how == TAKE:
            now = before
        elif how == CONFLICT:
            clean = False
        elif how == MERGE and now and before and after:
            oid, is_clean = contents(after[1], now[1], before[1])
            now, clean = (choose_mode(after, now, before), oid), clean and is_clean
    return now, clean


def join_edits(edits: Iterable[tuple[Version, Version]]) -> list[tuple[Version, Version]]:
    """Edits of one path, oldest first, with those that follow on each other made one.

    Nobody came between an edit that begins where the one before it ended.
    """
    merged: list[tuple[Version, Version]] = []
    for before, after in edits:
        if merged and merged[-1][1] == before:
            merged[-1] = (merged[-1][0], after)
        else:
            merged.append((before, after))
    return [(before, after) for before, after in merged if before != after]
