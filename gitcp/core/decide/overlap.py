"""Does a commit hold work of a session: the overlap check (doc/behaviour.md "Matching").

Side by side with `remaining` (doc/scenarios.md "002 Linking").
Both compare what was recorded with what
the commit has; they ask different questions:

    match      before and at the commit   is any of it here?        in doubt: no, do not link
    remaining  after a linked commit      is some of it not here?   in doubt: yes, keep it
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import NotRequired, TypedDict

    Staged = tuple[str, str | None, str, str | None]  # old mode, old oid, new mode, new oid
    Blob = Callable[[str], bytes | None]  # None: there is no such object

    class Recorded(TypedDict):
        """What a session recorded of a path; keys that are not named here are ignored."""

        path: str
        oid: str | None  # None: the session deleted it
        mode: NotRequired[str]
        live: bool  # the worktree's stream still has it; else it is away
        stashed: NotRequired[bool]  # an entry of `git stash` made since holds what is recorded

    class Matched(TypedDict):
        paths: list[str]
        reasons: dict[str, str]


ABSENT = "000000"
REGULAR = ("100644", "100755")
MOST_NEW = 50  # new files in a commit that a recorded one may have become by most of its lines


def overlap(entry: Recorded, staged: Staged, blob: Blob) -> tuple[bool, str]:
    """Tell whether what the commit does to a path is the session's work, and why.

    `staged` is the change against the commit's parent; `blob` gives the content of an oid and is
    asked only where names and oids do not decide.
    """
    old_mode, old, mode, new = staged
    if mode == ABSENT:
        return _deletion(entry)
    if entry["oid"] is None:
        return _undoes_deletion(old, new, staged, blob)
    if old == new and old_mode != mode:
        return _mode(entry, mode)
    if old_mode != ABSENT and entry["live"]:
        if entry.get("stashed") and not _any_of_it(entry, staged, blob):
            return False, "the session's change is in the stash, none of it in the commit"
        return True, "the commit changes a file of the session"
    return _evidence(entry, staged, blob)


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
    paths: set[str] = set()
    reasons: dict[str, str] = {}
    moved: list[Recorded] = []
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if change is None or (change[2] == ABSENT and entry["oid"]):
            moved.append(entry)
        if change is not None and path not in paths:
            yes, reasons[path] = overlap(entry, change, blob)
            paths.update([path] if yes else [])
    for old, new in _moves(moved, staged, blob, gone):
        if new not in paths:
            paths.add(new)
            reasons[new] = f"the recorded content of '{old}'"
    return {"paths": sorted(paths), "reasons": reasons}


def _deletion(entry: Recorded) -> tuple[bool, str]:
    if entry["oid"] is None:
        return True, "the session deleted it"
    return False, "the commit deletes it, the session did not"


def _undoes_deletion(
    old: str | None, new: str | None, staged: Staged, blob: Blob
) -> tuple[bool, str]:
    """Part of a deletion may be staged: lines go and none comes; all else undoes it."""
    if old and new and old != new and staged[0] in REGULAR and staged[2] in REGULAR:
        before, now = blob(old), blob(new)
        if before is not None and now is not None and not line_evidence.added(before, now):
            return True, "part of what the session deleted"
    return False, "the session deleted it, the commit does not"


def _mode(entry: Recorded, mode: str) -> tuple[bool, str]:
    """A commit that changes the mode alone."""
    same = entry.get("mode") == mode
    return same, "the recorded mode" if same else "another mode than recorded"


def _any_of_it(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Tell whether a commit adds a line the session added, or removes one it removed."""
    _, old, _, new = staged
    before, here, record = (blob(oid) if oid else b"" for oid in (old, new, entry["oid"]))
    if before is None or here is None or record is None:
        return True
    if any(map(line_evidence.binary, (before, here, record))):
        return here == record
    added, gone = line_evidence.added, (line_evidence.added(here, before))
    mine = added(before, here) & added(before, record)
    return any(map(line_evidence.meaningful, mine | (gone & added(record, before))))


def _evidence(entry: Recorded, staged: Staged, blob: Blob) -> tuple[bool, str]:
    """Judge by content alone, as for a new file and for a path that is away."""
    old_mode, old, mode, new = staged
    recorded, recorded_mode = entry["oid"], entry.get("mode", mode)
    if recorded is None or new is None:
        return False, "no content was recorded"
    if mode[:3] != recorded_mode[:3]:  # file, symlink, submodule
        return False, "another type than recorded"
    if new == recorded:
        return True, "the recorded content"
    if mode not in REGULAR:
        return False, "another content than recorded"
    parent = blob(old) if old and old_mode in REGULAR else b""
    here, record = blob(new), blob(recorded)
    if parent is None or here is None or record is None:
        return False, "the recorded content cannot be read"
    return _same_hand(parent, here, record)


def _same_hand(parent: bytes, here: bytes, record: bytes) -> tuple[bool, str]:
    if line_evidence.binary(parent) or line_evidence.binary(here) or line_evidence.binary(record):
        return False, "another binary content than recorded"
    bare = line_evidence.without_space
    if bare(parent) == bare(here):
        return _same_lines(parent, here, record)
    long = line_evidence.significant(line_evidence.lines(here) | line_evidence.lines(record))
    return _same_lines(bare(parent), bare(here), bare(record), set(map(bare, long)))


def _same_lines(
    parent: bytes, here: bytes, record: bytes, long: Container[bytes] = ()
) -> tuple[bool, str]:
    mine = line_evidence.added(parent, here)
    if line_evidence.contained(mine, record):
        return True, "every line the commit adds was recorded"
    theirs = line_evidence.added(parent, record)
    if line_evidence.contained(theirs, here):
        return True, "every line of the record is in the commit"
    if line_evidence.shared(mine, theirs, long):
        return True, "significant lines in common with the record"
    gone = line_evidence.added(here, parent)  # nothing is added: do the removed lines tell?
    if not mine and gone and gone <= line_evidence.added(record, parent):
        return True, "every line the commit removes was removed in the record"
    return False, "other lines than recorded"


def _moves(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> list[tuple[str, str]]:
    """Pair recorded paths that the commit lacks with new files that have their content."""
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
            pairs += [(path, to) for to in like if _moved(oid, data, new[to], blob)]
    return pairs


def _moved(oid: str | None, data: bytes, new: str, blob: Blob) -> bool:
    """Tell whether a new file is the recorded one, or most of it."""
    record = line_evidence.added(None, data)
    if oid == new:
        return line_evidence.binary(data) or bool(line_evidence.significant(record))
    here = blob(new)
    if here is None or line_evidence.binary(data) or line_evidence.binary(here):
        return False
    return line_evidence.renamed(line_evidence.added(None, here), record)
