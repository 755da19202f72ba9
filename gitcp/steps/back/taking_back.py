"""Take edits of a path back, and keep what was changed since (doc/behaviour.md "Going back").

To take an edit back, merge with the version after the edit as base and the version before it as
theirs: later changes stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.git.objects.merging import merge_versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gitcp.text.record_types import Version

    Contents = Callable[[str, str, str], tuple[str, bool]]  # base, ours, theirs -> oid, clean


@dataclass(slots=True, frozen=True)
class EditEntries:
    """The entries of a path before and after an edit."""

    before: Version
    after: Version


@dataclass(slots=True, frozen=True)
class TakenBack:
    """A version without some edits, and whether all merges were clean: an edit that cannot be
    merged is left in."""

    version: Version
    is_clean: bool


def take_back(version: Version, edits: Sequence[EditEntries], contents: Contents) -> TakenBack:
    """A version without edits, the oldest first.  contents: merges three blobs."""
    are_clean = True
    for edit in reversed(edits):
        version, is_clean = merge_versions(edit.after, version, edit.before, contents)
        are_clean = are_clean and is_clean
    return TakenBack(version, are_clean)


def join_edits(edits: Iterable[EditEntries]) -> list[EditEntries]:
    """Edits of a path, oldest first, with each run of edits that start from the previous one's
    result joined, less those that change nothing."""
    joined: list[EditEntries] = []
    for edit in edits:
        if joined and joined[-1].after == edit.before:
            joined[-1] = EditEntries(joined[-1].before, edit.after)
        else:
            joined.append(edit)
    return [edit for edit in joined if edit.before != edit.after]
