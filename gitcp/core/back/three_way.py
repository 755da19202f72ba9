"""Merge three versions of a path (doc/behaviour.md "Going back").

To take an edit back, merge with the version after the edit as base and the version before it as
theirs: later changes stay.
"""

from __future__ import annotations

from gitcp.core.git.porcelain import EXECUTABLE, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.record_types import Version

    Contents = Callable[[str, str, str], tuple[str, bool]]  # base, ours, theirs -> oid, clean

_FILES = {FILE, EXECUTABLE}


def merge_versions(
    base: Version, ours: Version, theirs: Version, contents: Contents
) -> tuple[Version, bool]:
    """(theirs merged into ours, whether that is clean); ours if they cannot be merged, as they can
    only if all three are regular files.  contents: merges three blobs."""
    if theirs in (base, ours):
        return ours, True
    if ours == base:
        return theirs, True
    if not (base and ours and theirs and {base[0], ours[0], theirs[0]} <= _FILES):
        return ours, False
    oid, is_clean = contents(base[1], ours[1], theirs[1])
    mode = theirs[0] if ours[0] == base[0] else ours[0]  # of the side that changed it
    return (mode, oid), is_clean


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
