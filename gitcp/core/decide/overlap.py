"""Decide whether a commit holds work of a session (doc/behaviour.md "Matching").

`remaining` answers the opposite question by the same comparison (doc/scenarios.md "002 Linking"):

    match      before and at the commit   is any of the work in it?    in doubt no: do not link
    remaining  after a linked commit      is any of the work missing?  in doubt yes: keep it
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
        """paths: those with work of the session; shared: path -> what is in common."""

        paths: list[str]
        reasons: dict[str, str]
        shared: dict[str, frozenset[bytes]]

    class Linked(TypedDict):
        """Why a session belongs to a commit.  how: content, environment or process."""

        how: str
        paths: list[str]
        reasons: dict[str, str]


MOST_NEW = 50  # new files in a commit that are compared by lines with a moved one


def find_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit has in common with a session's work at a path, and the reason.

    staged: the change from the commit's parent.  blob: gives the content of an oid; called only if
    the oids do not decide.
    """
    old_mode, old, mode, new = staged
    changed = ABSENT not in (mode, old_mode) and old != new
    if not (changed and entry["live"] and entry["oid"]) or difference.changes_mode_alone(entry):
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
    """Find the paths of a commit that hold work of a session; if there is none, do not link.

    `reasons` has the reason for each path, also for one that does not count.  A moved file, which
    git shows as a deletion and an addition, counts under its new path if that has the recorded
    content, or most of it and the old path is gone: from the worktree, by `gone`, or in the commit,
    which may have another file there.
    """
    shared: dict[str, frozenset[bytes]] = {}
    reasons: dict[str, str] = {}
    moved: list[Recorded] = []
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if change is None or change[3] != entry["oid"]:
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
    before, content, recorded = (blob(oid) if oid else b"" for oid in (old, new, entry["oid"]))
    if before is None or content is None or recorded is None:
        return True
    if any(map(line_evidence.is_binary, (before, content, recorded))):
        return content == recorded
    find_added = line_evidence.find_added_lines
    common = find_added(before, content) & find_added(before, recorded)
    common |= find_added(content, before) & find_added(recorded, before)
    return any(map(line_evidence.is_meaningful, common))


def _pair_moves(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> list[tuple[str, str, frozenset[bytes]]]:
    """Pair recorded paths that the commit lacks with new files that have their content: (recorded
    path, new path, what they have in common)."""
    new = {path: c for path, c in staged.items() if c[0] == ABSENT and c[2] in REGULAR and c[3]}
    pairs = []
    for entry in entries if new else ():
        path, oid = entry["path"], entry.get("oid")
        change = staged.get(path)
        unchanged = change and change[1] == oid  # the parent's content: no evidence
        if oid is None or unchanged or entry.get("mode", REGULAR[0]) not in REGULAR:
            continue
        targets = [target for target in new if new[target][3] == oid]
        if not targets and len(new) <= MOST_NEW and _is_gone(entry, change, blob, gone):
            targets = [*new]
        old = change[:2] if change else (ABSENT, None)
        shared = ((to, _compare_moved(entry, (*old, *new[to][2:]), blob)) for to in targets)
        pairs += [(path, target, common) for target, common in shared if common]
    return pairs


def _is_gone(
    entry: Recorded, change: Staged | None, blob: Blob, gone: Callable[[str], bool]
) -> bool:
    """Whether the recorded file is gone from its path, or the commit has another file there."""
    if change is None:
        return gone(entry["path"])
    return change[2] == ABSENT or not _has_any_change(entry, change, blob)


def _compare_moved(entry: Recorded, change: Staged, blob: Blob) -> frozenset[bytes]:
    """What the change of a moved file, from its content at the recorded path, has in common with
    the record if the new file has most of the recorded lines."""
    oid, new = entry["oid"] or "", change[3] or ""
    data, content = blob(oid), blob(new)
    if data is None or content is None:
        return frozenset()
    record, mine = (line_evidence.find_added_lines(None, text) for text in (data, content))
    if oid == new:
        tells = line_evidence.is_binary(data) or line_evidence.select_significant(record)
        return frozenset([b"\0" + new.encode()]) if tells else frozenset()
    is_moved = line_evidence.is_renamed(mine, record)
    return difference.compare(entry, change, blob)[0] if is_moved else frozenset()
