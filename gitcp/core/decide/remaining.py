"""Decide whether a linked commit left a session's work out
(doc/behaviour.md "What a commit leaves open").  In doubt the work stays open.
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence
from gitcp.core.decide.difference import ABSENT, REGULAR
from gitcp.core.decide.overlap import MOST_NEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.decide.difference import Blob, Recorded, Staged
    from gitcp.core.record_types import Entry, Version

EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)  # the empty blob: SHA-1, SHA-256


def explain_settled(
    entry: Recorded,
    committed: Mapping[str, Staged],
    worktree: Version,
    head: Version,
    blob: Blob = lambda _: None,
) -> str:
    """Why a recorded path has nothing left to commit; '' if it may have.

    committed: the commit's changes by path, as for overlap.match().  worktree, head: the entry of
    the path now, and in the new HEAD.  blob: gives the content of an oid; called only if the oids
    do not decide.  The record is compared from its `before`, if known: the commit's parent may
    have newer lines, as after a pull.
    """
    change = committed.get(entry["path"])
    recorded = (entry.get("mode", ""), entry["oid"]) if entry["oid"] else None
    if recorded is None:
        return "" if head else "HEAD has what was recorded"
    if head and head[1] == recorded[1]:
        is_mode_left = head != recorded and worktree == recorded and recorded[0]
        return "" if is_mode_left else "HEAD has what was recorded"
    if worktree is None and _is_moved(recorded[1], change, committed, blob):
        return "committed under another name"
    if not change or worktree != head or "before" not in entry:
        return ""
    is_whole = _has_all_changes(recorded, entry["before"], change, blob)
    return "all its lines are in the commit" if is_whole else ""


def _has_all_changes(recorded: Entry, base: Version, change: Staged, blob: Blob) -> bool:
    """Whether the commit has all recorded lines, although a person or a formatter changed the file
    further before it."""
    _, _, mode, new = change
    old_mode, old = base or (ABSENT, None)
    if not (new and {recorded[0], mode} <= {*REGULAR} and old_mode in (ABSENT, *REGULAR)):
        return False
    before, recorded_content, content = blob(old) if old else b"", blob(recorded[1]), blob(new)
    if before is None or recorded_content is None or content is None:
        return False
    return line_evidence.holds_change(content, before, recorded_content)


def _is_moved(oid: str, change: Staged | None, committed: Mapping[str, Staged], blob: Blob) -> bool:
    """Whether the commit has the recorded content, or all its lines, as a new file."""
    if oid in EMPTY or (change and change[2] != ABSENT):
        return False
    new = {to: mode for old, _, mode, to in committed.values() if old == ABSENT and to}
    if oid in new or len(new) > MOST_NEW:
        return oid in new
    return any(mode in REGULAR and _has_all_lines(oid, to, blob) for to, mode in new.items())


def _has_all_lines(oid: str, new: str, blob: Blob) -> bool:
    recorded, content = blob(oid), blob(new)
    if recorded is None or content is None:
        return False
    lines = (line_evidence.find_added_lines(None, data) for data in (content, recorded))
    return line_evidence.holds_change(content, b"", recorded) and line_evidence.is_renamed(*lines)
