"""Does a commit hold work of a session: the overlap check (doc/behaviour.md "Matching").

Side by side with `remaining` (doc/scenarios.md "002 Linking").
Both compare what was recorded with what
the commit has; they ask different questions:

    match      before and at the commit   is any of it here?        in doubt: no, do not link
    remaining  after a linked commit      is some of it not here?   in doubt: yes, keep it
"""

from __future__ import annotations

from gitcp.core.decide import difference, line_evidence
from gitcp.core.decide.difference import ABSENT, REGULAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypedDict

    from gitcp.core.decide.difference import Blob, Recorded, Shared, Staged

    class Matched(TypedDict):
        """shared: what each path has in common with the record, of what is not live."""

        paths: list[str]
        reasons: dict[str, str]
        shared: dict[str, frozenset[bytes]]

    class Linked(TypedDict):
        """Why a session belongs to a commit.  how: content, environment or process."""

        how: str
        paths: list[str]
        reasons: dict[str, str]


MOST_NEW = 50  # new files in a commit that a recorded one may have become by most of its lines


def find_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What the commit has of a session's work at a path, nothing for a foreign one, and why.

    `staged` is the change against the commit's parent; `blob` gives the content of an oid and is
    asked only where names and oids do not decide.
    """
    old_mode, old, mode, new = staged
    changed = ABSENT not in (mode, old_mode) and old != new
    if not (changed and entry["live"] and entry["oid"]):
        return difference.compare(entry, staged, blob)
    if entry.get("stashed") and not _has_any_change(entry, staged, blob):
        return frozenset(), "the session's change is in the stash, none of it in the commit"
    return frozenset([b"\0live"]), "the commit changes a file of the session"


def match(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool] = lambda _: False,
) -> Matched:
    """Name the paths of a commit that hold work of one session, each with the reason.

    No path means: do not link.  `reasons` also tells of each shared path why it does not count.
    A moved file, which git shows as a deletion and an addition, counts under its new path if its
    content is the recorded one, or most of it while the old path is gone (from the worktree,
    which `gone` tells, or by the commit).
    """
    shared: dict[str, frozenset[bytes]] = {}
    reasons: dict[str, str] = {}
    moved: list[Recorded] = []
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if change is None or (change[2] == ABSENT and entry["oid"]):
            moved.append(entry)
        if change is not None and path not in shared:
            common, reasons[path] = find_overlap(entry, change, blob)
            shared.update({path: common} if common else {})
    for old, new, common in _pair_moves(moved, staged, blob, gone):
        if new not in shared:
            shared[new] = common
            reasons[new] = f"the recorded content of '{old}'"
    return {"paths": sorted(shared), "reasons": reasons, "shared": shared}


def _has_any_change(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Tell whether a commit adds a line the session added, or removes one it removed."""
    _, old, _, new = staged
    before, here, record = (blob(oid) if oid else b"" for oid in (old, new, entry["oid"]))
    if before is None or here is None or record is None:
        return True
    if any(map(line_evidence.is_binary, (before, here, record))):
        return here == record
    added, gone = line_evidence.find_added_lines, (line_evidence.find_added_lines(here, before))
    mine = added(before, here) & added(before, record)
    return any(map(line_evidence.is_meaningful, mine | (gone & added(record, before))))


def _pair_moves(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> list[tuple[str, str, frozenset[bytes]]]:
    """Pair recorded paths that the commit lacks with new files that have their content; each with
    what they have in common."""
    new = {path: c[3] for path, c in staged.items() if c[0] == ABSENT and c[2] in REGULAR and c[3]}
    pairs = []
    for entry in entries if new else ():
        path, oid = entry["path"], entry.get("oid")
        unchanged = path in staged and staged[path][1] == oid  # the parent's content: no evidence
        if oid is None or unchanged or entry.get("mode", REGULAR[0]) not in REGULAR:
            continue
        exact = [to for to, here in new.items() if here == oid]
        left = path in staged or (len(new) <= MOST_NEW and gone(path))
        like = exact or (list(new) if left else [])
        data = blob(oid) if like else None
        if data:
            shared = ((to, _compare_moved(oid, data, new[to], blob)) for to in like)
            pairs += [(path, to, common) for to, common in shared if common]
    return pairs


def _compare_moved(oid: str, data: bytes, new: str, blob: Blob) -> frozenset[bytes]:
    """What a new file has of the recorded one where it is that, or most of it."""
    record = line_evidence.find_added_lines(None, data)
    if oid == new:
        tells = line_evidence.is_binary(data) or line_evidence.select_significant(record)
        return frozenset([b"\0" + oid.encode()]) if tells else frozenset()
    here = blob(new)
    if here is None or line_evidence.is_binary(data) or line_evidence.is_binary(here):
        return frozenset()
    mine = line_evidence.find_added_lines(None, here)
    return frozenset(mine & record) if line_evidence.is_renamed(mine, record) else frozenset()
