"""Decide whether a commit holds work of a session, and what it leaves open (doc/behaviour.md
"Matching").

    match_session    before the commit   is any of the work in it?    in doubt no: do not link
    explain_settled  after it            is any of the work missing?  in doubt yes: keep it

Most of it is decided by the names of contents; `holding`, which compares contents, is imported
where these do not tell.
"""

from __future__ import annotations

from gitcp.text.ids import GONE, REGULAR, is_binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypedDict

    from gitcp.text.record_types import Blob, Linked, Recorded, Shared, Staged, Version

    class Matched(TypedDict):
        """paths: those with work of the session; shared: path -> what is in common; former: the
        recorded paths of renamed files."""

        paths: list[str]
        reasons: dict[str, str]
        shared: dict[str, frozenset[bytes]]
        former: list[str]


_SOFT = b"'\"`,;(){}\\ \t\r\v\f"  # white space, and what is soft in gitcp.text.carry.text
_LEAST = 6  # bytes at least that a line which tells where it comes from has without those
_MOST_SOURCES = 12  # files of a session in which lines of others are looked for


def find_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit has in common with a session's work at a path, and the reason.

    staged: the change from the commit's parent.  blob: called only if the oids do not decide.
    """
    old_mode, old, mode, new = staged
    before = entry.get("before")
    oid = entry["oid"]
    is_live = entry["live"] and oid and not (before and before[1] == oid)  # else of the mode alone
    if is_live and GONE not in (mode, old_mode) and old != new:
        if entry.get("stashed"):
            from gitcp.record.match import holding

            change = holding.Change({entry["path"]: staged}, blob)
            if not holding.is_any(holding.hold([entry], change)):
                return frozenset(), "the session's change is in the stash, none of it in the commit"
        if new == oid or _touches_change(entry, staged, blob):
            return frozenset([b"\0live"]), "the commit changes a file of the session"
        return _compare_steps(entry, staged, blob)
    if is_live and new and not old and new == oid and mode[:3] == entry.get("mode", mode)[:3]:
        return frozenset([b"\0" + new.encode()]), "the recorded content"
    from gitcp.record.match import holding

    return holding.compare_changes(entry, staged, blob)


def _compare_steps(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit that touches no place of a live edit has in common with it all the same, as a
    line that was moved; of each of the session's own edits, if others edited the file between."""
    from gitcp.record.match import holding

    reason = "the commit changes other places of the file than the session"
    before = entry.get("before")
    for old, new in entry.get("steps", [(before[1] if before else None, entry["oid"])]):
        step: Recorded = {**entry, "live": False, "oid": new, "before": None}
        if old:
            step["before"] = (REGULAR[0], old)
        common, why = holding.compare_changes(step, staged, blob)
        if common:
            return common, why
    return frozenset(), reason


def _touches_change(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit touches a place of a live edit, or has its mode; True where that cannot be
    told by lines."""
    old_mode, _, mode, _ = staged
    before = entry.get("before")
    if before is None or (old_mode != mode and before[0] != entry.get("mode") == mode):
        return True

    from gitcp.record.match import holding, touched

    change = holding.read_texts(staged, blob)
    if change is None:
        return True
    edits: list[tuple[bytes, bytes]] = []
    for old, new in entry.get("steps", [(before[1], entry["oid"])]):
        texts = [blob(oid) if oid else b"" for oid in (old, new)]
        if None in texts or any(is_binary(text or b"") for text in texts):
            return True
        edits.append((texts[0] or b"", texts[1] or b""))
    return touched.touches_change(edits, change)


def match_session(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool] = lambda _: False,
    find_old: Callable[[str], Version] = lambda _: None,
) -> Matched:
    """Find the paths of a commit that hold work of a session; if there is none, do not link.

    `reasons` has the reason for each path, also for one that does not count.  A moved file, which
    git shows as a deletion and an addition, counts under its new path if that has the recorded
    content, or most of it and the old path is gone: from the worktree, by `gone`, or in the commit,
    which may have another file there.  Work that was put away counts where its file is now, if that
    was renamed meanwhile.  Lines that were moved or copied to other files count there; find_old:
    finds a path in the commit's parent, whose lines are no work.
    """
    entries = [*entries]
    shared: dict[str, frozenset[bytes]] = {}
    reasons: dict[str, str] = {}
    moved: list[Recorded] = []
    new_oids = {change[3] for change in staged.values() if change[0] == GONE}
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if change is None:
            is_sought = bool(new_oids) or not entry["live"]
            is_moved = entry["oid"] in new_oids or (is_sought and gone(path))
        else:
            is_moved = bool(new_oids) and change[3] != entry["oid"]
        if is_moved:
            moved.append(entry)
        if change is not None and path not in shared:
            common, reasons[path] = find_overlap(entry, change, blob)
            shared.update({path: common} if common else {})
    found: Matched = {"paths": [], "reasons": reasons, "shared": shared, "former": []}
    if moved:
        _add_moved(found, moved, staged, blob, gone)
    if len(shared) < len(staged):
        _add_brought(found, entries, staged, blob, find_old)
    found["paths"] = sorted(shared)
    return found


def _add_moved(
    found: Matched,
    moved: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> None:
    """Add to what was found the paths of files that may have been moved."""
    from gitcp.record.match import holding

    moves = [
        (old, new, common, f"the recorded content of '{old}'")
        for old, new, common in holding.pair_moves(moved, staged, blob, gone)
    ]
    for old, new, common in holding.pair_renamed(moved, staged, blob, gone):
        moves.append((old, new, common, f"work on '{old}', which was renamed since"))
        found["former"].append(old)
    for _, new, common, reason in moves:
        if new not in found["shared"]:
            found["shared"][new], found["reasons"][new] = common, reason


def _add_brought(
    found: Matched,
    entries: Sequence[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    find_old: Callable[[str], Version],
) -> None:
    """Add to what was found the paths that got lines of other files."""
    recent: dict[str, Recorded] = {}  # by path, of the last content at each
    for entry in entries:
        if entry["oid"] and "before" in entry:
            recent.setdefault(entry["path"], entry)
    by_oid = {entry["oid"]: entry for entry in [*recent.values()][-_MOST_SOURCES:]}
    targets = [change for path, change in staged.items() if path not in found["shared"]]
    if not _have_common_lines([*by_oid], targets, blob):
        return

    from gitcp.record.match import holding

    change = holding.Change(staged, blob, find_old=find_old)
    if not change.may_bring():
        return
    works = [work for entry in by_oid.values() if (work := holding.build_open(entry, change))]
    for target, work, lines in holding.find_brought(works, change, {*found["shared"]}):
        found["shared"][target] = frozenset(lines)
        found["reasons"][target] = f"lines of '{work.path}', moved or copied"


def _have_common_lines(oids: Iterable[str | None], targets: Iterable[Staged], blob: Blob) -> bool:
    """Whether one of the changes may have got lines of these contents: known without what compares
    them, which a hook loads for that."""
    lines: set[bytes] = set()
    for oid in oids:
        lines.update(_list_bare(blob(oid) if oid else None))
    contents = [blob(new) for _, _, _, new in targets if new]
    return any(not lines.isdisjoint(_list_bare(text)) for text in contents)


def _list_bare(text: bytes | None) -> list[bytes]:
    """The longer lines of a text, without the signs that may differ."""
    bare = (text or b"").translate(None, _SOFT)
    return [line for line in bare.split(b"\n") if len(line) >= _LEAST]


def build_linked(found: Matched, how: str) -> Linked:
    """The part of a session in a commit, by what was found.  how: as Linked has it."""
    reasons = found["reasons"] if found["paths"] else {}
    linked: Linked = {"how": how, "paths": found["paths"], "reasons": reasons}
    if found["former"]:
        return {**linked, "former": found["former"]}
    return linked


def describe_links(sessions: Mapping[str, Linked]) -> str:
    """One line about the sessions that were stored for a commit."""
    stored = [(name, part) for name, part in sessions.items() if "lines" in part]
    if not stored:
        return ""
    from gitcp.text.short_ids import shorten_id

    session_id, first = max(stored, key=lambda item: item[1]["lines"][0])
    words = f"{first['agent']} {shorten_id(session_id)}"
    if len(stored) > 1:
        words += f" and {_count(len(stored) - 1, 'other')}"
    turns = sum(part["turns"] for _, part in stored)
    if turns:
        words += f", {_count(turns, 'prompt')}"
    if first["lines"][1]:
        own = sum(part["lines"][0] for _, part in stored)
        words += f", {own} of {_count(first['lines'][1], 'line')}"
    return f"linked: {words}; 'gitcp show HEAD'"


def _count(number: int, thing: str) -> str:
    if number == 1:
        return f"{number} {thing}"
    return f"{number} {thing}s"


def explain_settled(
    entry: Recorded,
    committed: Mapping[str, Staged],
    worktree: Version,
    head: Version,
    blob: Blob = lambda _: None,
) -> str:
    """Why a recorded path has nothing left to commit; '' if it may have
    (doc/behaviour.md "What a commit leaves open").

    committed: the commit's changes by path, as for match_session().  worktree, head: the entry of
    the path now, and in the new HEAD.  blob: called only if the oids do not decide.  The record is
    compared from its `before`, if known: the commit's parent may have newer lines, as after a pull.
    """
    change = committed.get(entry["path"])
    recorded = None
    if entry["oid"]:
        recorded = (entry.get("mode", ""), entry["oid"])
    if recorded is None:
        return "" if head else "HEAD has what was recorded"
    if head and head[1] == recorded[1]:
        is_mode_left = head != recorded and worktree == recorded and recorded[0]
        if is_mode_left:
            return ""
        return "HEAD has what was recorded"
    if worktree is None and (not change or change[2] == GONE):
        from gitcp.record.match import holding

        if holding.is_moved(recorded[1], committed, blob):
            return "committed under another name"
    if worktree != head or "before" not in entry:
        return ""
    from gitcp.record.match import holding

    if change and holding.has_all_changes(recorded, entry["before"], change, blob):
        return "all its lines are in the commit"
    is_elsewhere = holding.has_rest_elsewhere(entry, committed, head, blob)
    if is_elsewhere:
        return "its lines are in other files of the commit"
    return ""
