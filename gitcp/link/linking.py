"""Decide whether a commit holds work of a session: is any of it in the commit?  In doubt not
(doc/behaviour.md "Matching").

Most of it is decided by the names of contents; what compares contents is imported where these do
not tell.
"""

from __future__ import annotations

from gitcp.record.match.found import Matched, Shared, mark_content, reject
from gitcp.text.ids import GONE, REGULAR, is_binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.record.match.units import Texts
    from gitcp.text.record_types import Blob, Linked, Recorded, Staged, Version

_SOFT = b"'\"`,;(){}\\ \t\r\v\f"  # white space, and what is soft in gitcp.text.carry.text
_LEAST = 6  # bytes at least that a line which tells where it comes from has without those
_MOST_SOURCES = 12  # files of a session in which lines of others are looked for
_OTHER_PLACES = "the commit changes other places of the file than the session"


def find_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit has in common with a session's work at a path.

    staged: the change from the commit's parent.  blob: called only if the oids do not decide.
    """
    old_mode, old, mode, new = staged
    oid = entry["oid"]
    before = entry.get("before")
    is_of_mode_alone = before is not None and before[1] == oid
    if entry["live"] and oid and not is_of_mode_alone:
        if GONE not in (old_mode, mode) and old != new:
            return _find_live_overlap(entry, staged, blob)
        is_same_type = mode[:3] == entry.get("mode", mode)[:3]
        if new == oid and not old and is_same_type:
            return Shared(mark_content(new.encode()), "the recorded content")

    from gitcp.record.match import open_edits

    return open_edits.compare_changes(entry, staged, blob)


def _find_live_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """find_overlap() where the worktree has the session's change and the commit changes the
    file."""
    if entry.get("stashed"):
        from gitcp.record.match import holding
        from gitcp.record.match.change import Change

        change = Change({entry["path"]: staged}, blob)
        if not holding.is_any(holding.hold([entry], change)):
            return reject("the session's change is in the stash, none of it in the commit")
    if staged[3] == entry["oid"] or _touches_change(entry, staged, blob):
        return Shared(mark_content(b"live"), "the commit changes a file of the session")
    return _compare_steps(entry, staged, blob)


def _list_steps(entry: Recorded) -> list[tuple[str | None, str | None]]:
    """The contents before and after each of the session's own edits."""
    before = entry.get("before")
    old = before[1] if before else None
    return entry.get("steps", [(old, entry["oid"])])


def _compare_steps(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit that touches no place of a live edit has in common with it all the same, as a
    line that was moved; of each of the session's own edits, if others edited the file between."""
    from gitcp.record.match import open_edits

    for old, new in _list_steps(entry):
        step: Recorded = {**entry, "live": False, "oid": new, "before": None}
        if old:
            step["before"] = (REGULAR[0], old)
        shared = open_edits.compare_changes(step, staged, blob)
        if shared.units:
            return shared
    return reject(_OTHER_PLACES)


def _touches_change(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit touches a place of a live edit, or has its mode; True where that cannot be
    told by lines."""
    old_mode, _, mode, _ = staged
    before = entry.get("before")
    if before is None or (old_mode != mode and before[0] != entry.get("mode") == mode):
        return True

    from gitcp.record.match import touched, units

    change = units.read_texts(staged, blob)
    if change is None:
        return True
    edits: list[Texts] = []
    for old, new in _list_steps(entry):
        edit_before = blob(old) if old else b""
        edit_after = blob(new) if new else b""
        if edit_before is None or edit_after is None:
            return True
        if is_binary(edit_before) or is_binary(edit_after):
            return True
        edits.append(units.Texts(edit_before, edit_after))
    return touched.touches_change(edits, change)


def match_session(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool] = lambda _: False,
    find_old: Callable[[str], Version] = lambda _: None,
) -> Matched:
    """Find the paths of a commit that hold work of a session; if there is none, do not link.

    A moved file, which git shows as a deletion and an addition, counts under its new path if that
    has the recorded content, or most of it and the old path is gone: from the worktree, by `gone`,
    or in the commit, which may have another file there.  Work that was put away counts where its
    file is now, if that was renamed meanwhile.  Lines that were moved or copied to other files
    count there; find_old: finds a path in the commit's parent, whose lines are no work.
    """
    entries = [*entries]
    found = Matched()
    moved: list[Recorded] = []
    new_oids = {oid for old_mode, _, _, oid in staged.values() if old_mode == GONE}
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if _may_be_moved(entry, change, new_oids, gone):
            moved.append(entry)
        if change is not None and path not in found.shared:
            found.add(path, find_overlap(entry, change, blob))
    if moved:
        _add_moved(found, moved, staged, blob, gone)
    if len(found.shared) < len(staged):
        _add_brought(found, entries, staged, blob, find_old)
    return found


def _may_be_moved(
    entry: Recorded,
    change: Staged | None,
    new_oids: set[str | None],
    gone: Callable[[str], bool],
) -> bool:
    """Whether the work at a path may be at another one.  change: of its own path; new_oids: the
    contents of the commit's new files."""
    if change is not None:
        return bool(new_oids) and change[3] != entry["oid"]
    if entry["oid"] in new_oids:
        return True
    is_sought = bool(new_oids) or not entry["live"]
    return is_sought and gone(entry["path"])


def _add_moved(
    found: Matched,
    moved: Sequence[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> None:
    """Add to what was found the paths of files that may have been moved."""
    from gitcp.record.match import open_edits

    for pair in open_edits.pair_moves(moved, staged, blob, gone):
        reason = f"the recorded content of '{pair.path}'"
        found.add(pair.target, Shared(pair.units, reason))
    for pair in open_edits.pair_renamed(moved, staged, blob, gone):
        reason = f"work on '{pair.path}', which was renamed since"
        found.add(pair.target, Shared(pair.units, reason))
        found.former.append(pair.path)


def _add_brought(
    found: Matched,
    entries: Sequence[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    find_old: Callable[[str], Version],
) -> None:
    """Add to what was found the paths that got lines of other files."""
    sources = _list_sources(entries)
    targets = [change for path, change in staged.items() if path not in found.shared]
    if not _have_common_lines([*sources], targets, blob):
        return

    from gitcp.record.match import holding
    from gitcp.record.match.change import Change

    change = Change(staged, blob, find_old=find_old)
    if not change.may_bring():
        return
    works = [holding.build_open(entry, change) for entry in sources.values()]
    known = [work for work in works if work is not None]
    last: dict[str, Shared] = {}  # by path of the commit
    for brought in holding.find_brought(known, change, {*found.shared}):
        reason = f"lines of '{brought.work.path}', moved or copied"
        last[brought.target] = Shared(frozenset(brought.lines), reason)
    for path, shared in last.items():
        found.add(path, shared)


def _list_sources(entries: Iterable[Recorded]) -> dict[str, Recorded]:
    """The session's last content at each path, by oid: of the last paths, whose lines other files
    may have got."""
    recent: dict[str, Recorded] = {}  # by path
    for entry in entries:
        if entry["oid"] and "before" in entry:
            recent.setdefault(entry["path"], entry)
    last = [*recent.values()][-_MOST_SOURCES:]
    return {entry["oid"] or "": entry for entry in last}


def _have_common_lines(oids: Iterable[str], targets: Iterable[Staged], blob: Blob) -> bool:
    """Whether one of the changes may have got lines of these contents: known without what compares
    them, which a hook loads for that."""
    lines: set[bytes] = set()
    for oid in oids:
        lines.update(_list_bare(blob(oid)))
    contents = [blob(new) for _, _, _, new in targets if new]
    return any(not lines.isdisjoint(_list_bare(text)) for text in contents)


def _list_bare(text: bytes | None) -> list[bytes]:
    """The longer lines of a text, without the signs that may differ."""
    bare = (text or b"").translate(None, _SOFT)
    return [line for line in bare.split(b"\n") if len(line) >= _LEAST]


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
