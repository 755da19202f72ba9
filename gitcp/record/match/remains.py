"""What of an edit is left: in the worktree, or after a commit that has the rest
(doc/behaviour.md "What a commit leaves open").

Most of it is decided by the names of contents; what compares contents is imported where these do
not tell.  In doubt something is left.
"""

from __future__ import annotations

from gitcp.text.ids import EMPTY, GONE, REGULAR, build_change, is_binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.text.record_types import Blob, Entry, Recorded, Staged, Version

    Changes = Mapping[str, Staged]

MOST_NEW = 50  # files in a commit that are compared by lines with a moved one


def explain_settled(
    entry: Recorded,
    committed: Changes,
    worktree: Version,
    head: Version,
    blob: Blob = lambda _: None,
) -> str:
    """Why a recorded path has nothing left to commit; '' if it may have.

    committed: the commit's changes by path.  worktree, head: the entry of the path now, and in the
    new HEAD.  blob: called only if the oids do not decide.  The record is compared from its
    `before`, if known: the commit's parent may have newer lines, as after a pull.
    """
    oid = entry["oid"]
    if not oid:
        if head:
            return ""
        return "HEAD has what was recorded"
    recorded = (entry.get("mode", ""), oid)
    if head and head[1] == oid:
        is_mode_left = head != recorded and worktree == recorded and recorded[0]
        if is_mode_left:
            return ""
        return "HEAD has what was recorded"
    change = committed.get(entry["path"])
    is_deleted = worktree is None and (not change or change[2] == GONE)
    if is_deleted and is_moved(oid, committed, blob):
        return "committed under another name"
    if worktree != head or "before" not in entry:
        return ""
    if change and has_all_changes(recorded, entry["before"], change, blob):
        return "all its lines are in the commit"
    if has_rest_elsewhere(entry, committed, head, blob):
        return "its lines are in other files of the commit"
    return ""


def is_moved(oid: str, committed: Changes, blob: Blob) -> bool:
    """Whether a commit has a recorded content, or all its lines, as a new file."""
    if oid in EMPTY:
        return False
    new: dict[str, str] = {}
    for old_mode, _, mode, to in committed.values():
        if old_mode == GONE and to:
            new[to] = mode
    if oid in new:
        return True
    if len(new) > MOST_NEW:
        return False
    return any(mode in REGULAR and _has_all_lines(oid, to, blob) for to, mode in new.items())


def _has_all_lines(oid: str, new: str, blob: Blob) -> bool:
    """Whether a content has all lines of a recorded one, and may be the same file."""
    recorded = blob(oid)
    content = blob(new)
    if recorded is None or content is None or not holds_change(content, b"", recorded):
        return False

    from gitcp.record.match.change import is_renamed
    from gitcp.text.line_evidence import find_added_lines

    return is_renamed(find_added_lines(None, content), find_added_lines(None, recorded))


def has_all_changes(recorded: Entry, base: Version, change: Staged, blob: Blob) -> bool:
    """Whether a commit has all recorded lines, although a person or a formatter changed the file
    further before it."""
    _, _, mode, new = change
    if not new or mode not in REGULAR or (base and not base[0]):
        return False

    from gitcp.record.match.units import read_texts

    work = read_texts(build_change(base, recorded), blob)
    content = blob(new)
    if work is None or content is None:
        return False
    return holds_change(content, work.before, work.after)


def has_rest_elsewhere(entry: Recorded, committed: Changes, head: Version, blob: Blob) -> bool:
    """Whether a commit has all of an edit, some of its lines in other files.  head: what it has at
    the path."""
    from gitcp.record.match.change import Change
    from gitcp.record.match.holding import hold, is_any

    change = Change(committed, blob, find_old=lambda _: head)
    if not change.may_bring():
        return False
    held = hold([entry], change)
    if not held.is_all_work or not is_any(held):
        return False
    return any(path != entry["path"] for path, _ in held.common)


def holds_change(content: bytes, base: bytes, tip: bytes) -> bool:
    """Whether a text has all lines that a change from base to tip added, and none that it removed,
    white space aside; False for binary content and for a change of no line."""
    from gitcp.text.carry.changes import Lines

    if any(map(is_binary, (content, base, tip))):
        return False
    lines = Lines((base, tip), (base, content), ignores_space=True)
    if not lines.work_added and not lines.work_removed:
        return False
    return lines.work_added <= lines.added and lines.work_removed <= lines.removed


def has_line(work: Sequence[bytes | None], change: Sequence[bytes | None]) -> bool:
    """Whether a change of a text adds a line that an edit added, or removes one that it removed,
    white space aside.

    True for binary content, and for an edit without a meaningful line: two sessions share the file,
    and in doubt the commit belongs to both.  None: there is no file."""
    from gitcp.text.carry.changes import Lines
    from gitcp.text.line_evidence import is_meaningful

    before, after, old, new = (text or b"" for text in (*work, *change))
    if any(map(is_binary, (before, after, old, new))):
        return True
    lines = Lines((before, after), (old, new), ignores_space=True)
    if not any(map(is_meaningful, lines.work_added | lines.work_removed)):
        return True
    common = (lines.work_added & lines.added) | (lines.work_removed & lines.removed)
    return any(map(is_meaningful, common))


def is_change_left(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, mode: str = "fuzzy"
) -> bool:
    """Whether the agent's change from base to tip is still in the worktree.

    Any line that is left counts, a brace too.  One added line is enough; if the change only removed
    lines, all of them must be absent.  Binary content, and a change that adds and removes no line,
    must be the same bytes.  None: there is no file.  mode: `exact`, or `fuzzy`, where runs of white
    space count as one space.
    """
    if tip is None or worktree is None:
        return tip is worktree
    if any(map(is_binary, (base or b"", tip, worktree))):
        return tip == worktree
    verdict = None
    if mode == "fuzzy":
        verdict = _compare_lines(base, tip, worktree, _join_space)
    if verdict is None:  # in fuzzy mode: the agent changed white space only
        verdict = _compare_lines(base, tip, worktree, bytes)
    if verdict is None:
        return tip == worktree
    return verdict


def _join_space(line: bytes) -> bytes:
    return b" ".join(line.split())


def _compare_lines(
    base: bytes | None, tip: bytes, worktree: bytes, simplify: Callable[[bytes], bytes]
) -> bool | None:
    """Whether a line that a change adds is there, or all that it removes are absent; None if it
    does neither.  simplify: a line as it is compared."""
    from gitcp.text.line_evidence import find_added_lines

    before = set(map(simplify, find_added_lines(None, base)))
    after = set(map(simplify, find_added_lines(None, tip)))
    present = set(map(simplify, find_added_lines(None, worktree)))
    added = after - before
    if added:
        return not added.isdisjoint(present)
    removed = before - after
    if removed:
        return removed.isdisjoint(present)
    return None
