"""What of a session's work did a linked commit leave out
(doc/behaviour.md "What a commit leaves open").

The other half of `match`, whose docstring sets the two side by side:
here doubt keeps the work.
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


def _read_nothing(_: object) -> None:
    return None


def explain_settled(
    entry: Recorded,
    committed: Mapping[str, Staged],
    worktree: Version,
    head: Version,
    blob: Blob = _read_nothing,
) -> str:
    """Why nothing is left to commit of a recorded path; '' where something may be.

    `committed` is the change of the commit by path, as `match` takes it; `worktree` and `head`
    what is at the path now and in the new HEAD.  `blob` gives the content of an oid and is asked
    only where names do not decide.  What the path was before the record is compared, where that
    is known: the commit's parent may have more since, as by a pull.
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
    had = worktree == head and change and "before" in entry
    if had and change and _was_gone_over(recorded, entry["before"], change, blob):
        return "all its lines are in the commit"
    return ""


def _was_gone_over(recorded: Entry, base: Version, change: Staged, blob: Blob) -> bool:
    """A person or a formatter went over it before the commit, or others' lines came into it, and
    nothing of it was left out."""
    _, _, mode, new = change
    old_mode, old = base or (ABSENT, None)
    if not (new and {recorded[0], mode} <= {*REGULAR} and old_mode in (ABSENT, *REGULAR)):
        return False
    before, mine, now = blob(old) if old else b"", blob(recorded[1]), blob(new)
    if before is None or mine is None or now is None:
        return False
    return line_evidence.holds_change(now, before, mine)


def _is_moved(oid: str, change: Staged | None, committed: Mapping[str, Staged], blob: Blob) -> bool:
    """The path is gone and the commit has its content, or all its lines, as a new file."""
    if oid in EMPTY or (change and change[2] != ABSENT):
        return False
    new = {to: mode for old, _, mode, to in committed.values() if old == ABSENT and to}
    if oid in new or len(new) > MOST_NEW:
        return oid in new
    return any(mode in REGULAR and _has_all_lines(oid, to, blob) for to, mode in new.items())


def _has_all_lines(oid: str, new: str, blob: Blob) -> bool:
    mine, now = blob(oid), blob(new)
    if mine is None or now is None or not line_evidence.holds_change(now, b"", mine):
        return False
    return line_evidence.is_renamed(
        line_evidence.find_added_lines(None, now), line_evidence.find_added_lines(None, mine)
    )
