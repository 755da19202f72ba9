"""Merge three versions of a path (doc/behaviour.md "Going back").

To take an edit back, merge with the version after the edit as base and the version before it as
theirs: later changes stay.
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
    """How to merge theirs into ours.

    SAME: ours stays.  TAKE: the result is theirs.  MERGE: all three are regular files, and both
    sides changed.  CONFLICT: one is absent or not a regular file.
    """
    if theirs in (base, ours):
        return SAME
    if ours == base:
        return TAKE
    regular = [e for e in (base, ours, theirs) if e and e[0] in _FILES]
    return MERGE if len(regular) == 3 else CONFLICT


def choose_mode(base: Entry, ours: Entry, theirs: Entry) -> str:
    """The mode of a merged file: of the side that changed it, ours if both did."""
    return theirs[0] if ours[0] == base[0] else ours[0]


def merge_versions(
    base: Version, ours: Version, theirs: Version, contents: Contents
) -> tuple[Version, bool]:
    """(theirs merged into ours, whether that is clean); ours if they cannot be merged.  contents:
    merges three blobs."""
    how = choose_way(base, ours, theirs)
    if how == TAKE:
        return theirs, True
    if how == MERGE and base and ours and theirs:
        oid, is_clean = contents(base[1], ours[1], theirs[1])
        return (choose_mode(base, ours, theirs), oid), is_clean
    return ours, how == SAME


def take_back(
    version: Version, edits: Iterable[tuple[Version, Version]], contents: Contents
) -> tuple[Version, bool]:
    """(the version without these edits, whether all merges were clean).

    edits: (before, after), oldest first.  contents: merges three blobs.  An edit that cannot be
    merged is left in.
    """
    are_clean = True
    for before, after in reversed(list(edits)):
        version, is_clean = merge_versions(after, version, before, contents)
        are_clean = are_clean and is_clean
    return version, are_clean


def join_edits(edits: Iterable[tuple[Version, Version]]) -> list[tuple[Version, Version]]:
    """Edits of a path, oldest first, with each run of edits that start from the previous one's
    result joined."""
    merged: list[tuple[Version, Version]] = []
    for before, after in edits:
        if merged and merged[-1][1] == before:
            merged[-1] = (merged[-1][0], after)
        else:
            merged.append((before, after))
    return [(before, after) for before, after in merged if before != after]
