"""What a checkpoint says that its sessions changed, and whether a commit has anything of it.

This asks about one commit and one checkpoint that a message or a note names together, so one line
tells.  What is searched for needs more (`holding`)."""

from __future__ import annotations

from gitcp.checkpoints.stored import Parts
from gitcp.errors import Error
from gitcp.git import commit_message
from gitcp.git.objects import build_finder, read_changes, read_commit
from gitcp.text.carry.changes import Lines
from gitcp.text.ids import GONE, REGULAR, build_change, is_binary
from gitcp.text.line_evidence import is_meaningful, select_significant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.checkpoints.stored import Places, StoredCheckpoint
    from gitcp.git.objects import Changes, Objects
    from gitcp.text.record_types import Commit, Recorded, Staged

MOVED = 2  # significant lines that tell that a file is another one under a new name


def select_meant(
    objects: Objects, places: Places, commit: str, message: bytes, ids: Iterable[str]
) -> list[str]:
    """Return those of the ids somewhere in a message that link its commit (full oid).

    Such an id stands alone in its paragraph, as a forge leaves it when it squashes, its checkpoint
    is stored, and the commit has something of it.  Any other is a mention."""
    standing = commit_message.find_standing(message)
    named = [checkpoint_id for checkpoint_id in ids if checkpoint_id in standing]
    return [one for one in named if is_meant(objects, places, commit, one)]


def is_meant(objects: Objects, places: Places, commit: str, checkpoint_id: str) -> bool:
    """Return whether a commit (full oid) has something of a checkpoint that is stored here, True if
    that cannot be asked."""
    try:
        place = places.find_checkpoint(checkpoint_id)
        if place is None:
            return False
        checkpoint = Parts(objects, checkpoint_id).load_checkpoint(*place)
    except Error:
        return True  # it cannot be asked
    return is_linked_by_content(objects, commit, checkpoint)


def is_linked_by_content(objects: Objects, commit: str, checkpoint: StoredCheckpoint) -> bool:
    """Return whether a commit (full oid) has anything of a checkpoint, True if what has to be read
    is missing."""
    read = read_commit(objects, commit)
    if read is None or checkpoint["lacks"]:
        return True
    try:
        changes = read_changes(objects, read)[1]
    except Error:
        return True
    return has_content(objects, checkpoint, changes)


def has_same_change(checkpoint: StoredCheckpoint, changed: Changes) -> bool:
    """Return whether a commit changes a path just as a checkpoint says: no content has to be read
    to know that it holds work of it."""
    for path, edit in parse_edits(checkpoint).items():
        if path not in changed:
            continue
        same = build_edit(path, changed[path])
        if {**same, **edit} == same:
            return True
    return False


def has_content(objects: Objects, checkpoint: StoredCheckpoint, changed: Changes) -> bool:
    """Return whether a commit with these changes has anything that a checkpoint says: a line that
    both add, or remove, a content, a mode or a deletion.

    Of a path whose contents the checkpoint does not tell, or that cannot be read, the commit has
    something if it changes it."""
    recorded = parse_edits(checkpoint)
    untold = list_touched(checkpoint) - recorded.keys()
    if not untold.isdisjoint(changed) or not (untold or recorded):
        return True
    if has_same_change(checkpoint, changed):
        return True
    return _has_any(objects, recorded, changed)


def _has_any(objects: Objects, recorded: Mapping[str, Recorded], changed: Changes) -> bool:
    """Whether a commit has anything of recorded edits."""
    contents = _Contents(objects)
    for path, edit in recorded.items():
        if path in changed and contents.have_common(edit, changed[path]):
            return True
        others = (change for name, change in changed.items() if name != path)
        if any(contents.is_moved(edit, change) for change in others):
            return True
    return False


def select_sessions(objects: Objects, commit: str, checkpoint: StoredCheckpoint) -> set[str]:
    """Return the sessions of a checkpoint of which a commit (full oid) of its has something: a
    commit of two that was made again in parts has an id for both.

    All of them, if there is only one, if the commit has nothing of any, or if that cannot be
    read."""
    every = {session["session_id"] for session in checkpoint["sessions"]}
    read = None
    if len(every) > 1:
        read = read_commit(objects, commit)
    if read is None or checkpoint["lacks"]:
        return every
    try:
        found = _find_sessions(objects, checkpoint, read)
    except Error:
        return every
    return found or every


def _find_sessions(objects: Objects, checkpoint: StoredCheckpoint, commit: Commit) -> set[str]:
    parent = "".join(commit["parents"][:1])
    find_old = build_finder(objects, parent)
    find_new = build_finder(objects, commit["oid"])
    changed: dict[str, Staged] = {}
    for path in list_touched(checkpoint):
        old = find_old(path)
        new = find_new(path)
        if old != new:
            changed[path] = build_change(old, new)
    parts: dict[str, StoredCheckpoint] = {}
    for session in checkpoint["sessions"]:
        parts[session["session_id"]] = {**checkpoint, "sessions": [session]}
    if all(has_same_change(part, changed) for part in parts.values()):
        return set(parts)
    _, changed = read_changes(objects, commit)  # with files that were renamed
    return {name for name, part in parts.items() if _has_part(objects, part, changed)}


def _has_part(objects: Objects, part: StoredCheckpoint, changed: Changes) -> bool:
    """Whether a commit has something of the only session in a part of a checkpoint; True if its
    checkpoint names no file, since it is linked by who made it."""
    touched = list_touched(part)
    if not touched or has_same_change(part, changed):
        return True
    edits = parse_edits(part)
    limit_lines(objects, part, edits)
    untold = touched - edits.keys()
    return not untold.isdisjoint(changed) or _has_any(objects, edits, changed)


class _Contents:
    """Compares edits of a checkpoint with changes of a commit by their contents."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def have_common(self, edit: Recorded, change: Staged) -> bool:
        """Whether an edit and a change of the same path have anything in common."""
        _, old, mode, new = change
        if edit["oid"] is None or new is None:
            return edit["oid"] is new
        if old == new:
            return edit.get("mode") == mode
        if edit["oid"] == new and "own" not in edit:
            return True
        lines = self._compare(_get_before(edit, old), edit, change)
        if lines is None:
            return edit.get("mode", mode)[:3] == mode[:3] and mode in REGULAR
        common = lines.work_added & lines.added
        if not (lines.work_added and lines.added):
            common = lines.work_removed & lines.removed
        return any(map(is_meaningful, common))

    def is_moved(self, edit: Recorded, change: Staged) -> bool:
        """Whether a change of another path has what an edit made."""
        _, _, _, new = change
        if not (edit["oid"] and new):
            return False
        lines = self._compare(_get_before(edit, None), edit, change)
        if lines is None:
            return edit["oid"] == new
        return len(select_significant(lines.work_added & lines.added)) >= MOVED

    def _compare(self, before: str | None, edit: Recorded, change: Staged) -> Lines | None:
        """Compare the lines of an edit and of a change; None for binary content and for one that is
        missing."""
        texts: list[bytes] = []
        for oid in (before, edit["oid"], change[1], change[3]):
            text = self._objects.read_blob(oid) if oid else b""
            if text is None or is_binary(text):
                return None
            texts.append(text)
        work = texts[0], texts[1]
        return Lines(work, (texts[2], texts[3]), edit.get("own"), ignores_space=True)


def _get_before(edit: Recorded, otherwise: str | None) -> str | None:
    """The oid of what an edit changed, None for no file; otherwise: if the edit does not say."""
    if "before" not in edit:
        return otherwise
    before = edit["before"]
    if before is None:
        return None
    return before[1]


def was_continued(checkpoint: StoredCheckpoint, later: StoredCheckpoint) -> bool:
    """Return whether the work of a checkpoint was made on what another one had made: a commit of
    both may have nothing of the first."""
    edits = parse_edits(checkpoint)
    for path, edit in parse_edits(later).items():
        before = edit.get("before")
        if before and path in edits and edits[path]["oid"] == before[1]:
            return True
    return False


def parse_edits(checkpoint: StoredCheckpoint) -> dict[str, Recorded]:
    """Return path -> edit, as the metadata of a checkpoint has them."""
    by_path: dict[str, Recorded] = {}
    for session in checkpoint["sessions"]:
        files = session["metadata"].get("files")
        if not isinstance(files, dict):
            continue
        for path, file in files.items():
            if isinstance(file, dict) and file:
                by_path[path] = _parse_edit(path, file)
    return by_path


def limit_lines(
    objects: Objects, checkpoint: StoredCheckpoint, by_path: Mapping[str, Recorded]
) -> None:
    """Have only those added lines of edits count that lines.json gives to a session of the
    checkpoint; if it gives none, all but those that it gives to the person."""
    written: dict[tuple[str, str], set[int]] = {}
    typed: dict[tuple[str, str], set[int]] = {}
    is_credited = False
    parts = Parts(objects, checkpoint["checkpoint_id"])
    for session in checkpoint["sessions"]:
        for path, entries in (parts.read_lines(session) or {}).items():
            for oid, start, end, author in _list_ranges(entries):
                own = written.setdefault((path, oid), set())
                if author == "person":
                    typed.setdefault((path, oid), set()).update(range(start, end + 1))
                elif author != "unknown":
                    is_credited = True
                    own.update(range(start, end + 1))
    chosen = typed
    if is_credited:
        chosen = written
    for path, edit in by_path.items():
        numbers = chosen.get((path, edit["oid"] or ""))
        text = None
        if numbers is not None:
            text = objects.read_blob(edit["oid"])
        if numbers is None or text is None or is_binary(text):
            continue
        lines: list[bytes] = []
        for number, line in enumerate(text.split(b"\n"), 1):
            if (number in numbers) == is_credited:
                lines.append(line.removesuffix(b"\r"))
        edit["own"] = frozenset(lines)


def _list_ranges(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int, int, str]]:
    """Yield (blob, first line, last line, author) of each range that lines.json has of a path."""
    for entry in entries:
        for first, last, author, *_ in entry.get("ranges", ()):
            yield entry.get("oid", ""), first, last, author


def list_touched(checkpoint: StoredCheckpoint) -> set[str]:
    """Return the paths that a checkpoint names, with and without their contents."""
    sessions = checkpoint["sessions"]
    return set[str]().union(*(session["metadata"]["files_touched"] for session in sessions))


def build_edit(path: str, change: Staged) -> Recorded:
    """Return a commit's change of a path as an edit."""
    old_mode, old, mode, oid = change
    edit: Recorded = {"path": path, "mode": mode, "oid": oid, "live": False, "before": None}
    if old:
        edit["before"] = (old_mode, old)
    return edit


def _parse_edit(path: str, file: Mapping[str, Any]) -> Recorded:
    """Parse an edit of the metadata.  Anyone who can push may have written it, in any form."""
    entry: Recorded = {"path": path, "mode": GONE, "oid": None, "live": False}
    mode = file.get("mode")
    if isinstance(mode, str) and mode:
        entry["mode"] = mode
    oid = file.get("oid")
    if isinstance(oid, str) and oid:
        entry["oid"] = oid
    before = file.get("before", "")
    if before is None:
        entry["before"] = None
    elif isinstance(before, list) and [type(value) for value in before] == [str, str]:
        entry["before"] = (before[0], before[1])
    return entry
