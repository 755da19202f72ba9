"""What a commit has of an open edit of a session, whoever made the commit.

An edit goes from `before` to the recorded entry, a commit's change from its parent to its entry.
Texts are compared by the lines that each adds or removes, other contents as a whole.  If `before`
is not known, the commit's parent is used for it.
"""

from __future__ import annotations

from gitcp.record.match.change import Change, is_same_file
from gitcp.record.match.found import Shared, mark_content, reject
from gitcp.record.match.holding import DISTINCTIVE, SHARE, hold, is_any, read_file
from gitcp.record.match.remains import MOST_NEW
from gitcp.record.match.units import is_text, read_texts
from gitcp.text import value_class
from gitcp.text.carry.changes import Lines, find_lines
from gitcp.text.ids import GONE, REGULAR, build_change, is_binary
from gitcp.text.line_evidence import find_added_lines, is_meaningful, is_significant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.record.match.change import Changes, Gone
    from gitcp.text.record_types import Blob, Recorded, Staged, Version

    Recordeds = Iterable[Recorded]

_BINARY = "another binary content than recorded"


def compare_changes(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit's change of a path has in common with an edit, and the reason."""
    old_mode, old, mode, new = staged
    oid = entry["oid"]
    if mode == GONE or oid is None:
        return _compare_deletion(entry, staged, blob)
    before = entry.get("before")
    is_mode_alone = before is not None and before[1] == oid
    has_old_content = old == new or (old is not None and is_mode_alone)
    if old_mode != mode and has_old_content:
        return _compare_modes(entry.get("mode"), mode, before)
    if new is None or mode[:3] != entry.get("mode", mode)[:3]:  # file, symlink, submodule
        return reject("another type than recorded")
    parent = (old_mode, old)
    if new == oid:
        same = Shared(mark_content(new.encode()), "the recorded content")
        if entry["live"] or mode not in REGULAR or entry.get("before", parent) == parent:
            return same
        return _compare_texts(entry, staged, blob, same)
    if mode not in REGULAR:
        return reject("another content than recorded")
    return _compare_texts(entry, staged, blob, None)


def _compare_modes(recorded: str | None, mode: str, before: Version) -> Shared:
    """compare_changes() where the commit changes the mode alone."""
    if recorded != mode or (before and before[0] == mode):
        return reject("another mode than recorded")
    return Shared(mark_content(mode.encode()), "the recorded mode")


def _compare_texts(entry: Recorded, staged: Staged, blob: Blob, same: Shared | None) -> Shared:
    """compare_changes() of regular files.  same: the answer if their whole content tells, None if
    it is another one."""
    old_mode, old, mode, new = staged
    parent = (old_mode, old)
    recorded = read_file(blob, (mode, entry["oid"]))
    parent_text = read_file(blob, parent)
    content = read_file(blob, (mode, new))
    if parent_text is None or content is None or recorded is None:
        return reject("the recorded content cannot be read")
    base = parent_text
    if "before" in entry:
        made_on = read_file(blob, entry["before"])
        if made_on is not None:
            base = made_on
    if any(map(is_binary, (base, recorded, parent_text, content))):
        return same or reject(_BINARY)
    if same and not any(find_lines(base, recorded)):
        return same  # an empty file, or reordered lines
    return _explain_common(Lines((base, recorded), (parent_text, content), entry.get("own")))


def _compare_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """compare_changes() where the commit deletes the path, or the session did.

    A commit that only removes lines holds a part of a deletion; any other undoes it."""
    _, old, mode, new = staged
    if entry["oid"] is not None:
        return reject("the commit deletes it, the session did not")
    if mode == GONE:
        if not _has_recorded_lines(entry, staged, blob):
            return reject("the session deleted another content")
        return Shared(mark_content(b"deleted"), "the session deleted it")
    texts = None
    if old and new and old != new:
        texts = read_texts(staged, blob)
    is_part = texts is not None and not find_added_lines(texts.before, texts.after)
    if is_part and _has_recorded_lines(entry, staged, blob):
        return Shared(mark_content(b"deleted"), "part of what the session deleted")
    return reject("the session deleted it, the commit does not")


def _has_recorded_lines(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit removes a line that a recorded deletion removed, as far as is known; a live
    deletion is of whatever the path had."""
    before = entry.get("before")
    if entry["live"] or not before or before[1] == staged[1]:
        return True
    deletion = build_change(before, None)
    if not (is_text(deletion) and is_text(staged)):
        return False
    work = read_texts(deletion, blob)
    change = read_texts(staged, blob)
    if work is None or change is None:
        return True
    lines = Lines((work.before, work.after), (change.before, change.after))
    return not lines.work_removed.isdisjoint(lines.removed)


def _explain_common(lines: Lines) -> Shared:
    """What the change of a text has in common with an edit of it, if that is evidence."""
    added = lines.added
    recorded = lines.work_added
    common = frozenset(added & recorded)
    if is_contained(added, recorded):
        return Shared(common, "every line the commit adds was recorded")
    if is_contained(recorded, added):
        return Shared(common, "every line of the record is in the commit")
    if has_enough_in_common(added, lines.awaited, lines.is_long):
        return Shared(common, "significant lines in common with the record")
    removed = lines.removed
    recorded_removed = lines.work_removed
    common = frozenset(b"\0" + line for line in removed & recorded_removed)
    if common and not added and removed <= recorded_removed:
        return Shared(common, "every line the commit removes was removed in the record")
    if common and not recorded and is_contained(recorded_removed, removed):
        return Shared(common, "every line the record removes is removed in the commit")
    if lines.are_same:
        place = lines.find_place()
        if place:
            reason = "lines that the file had before, at the recorded place"
            return Shared(mark_content(place), reason)
    return reject("other lines than recorded")


def is_contained(lines: set[bytes], record: set[bytes]) -> bool:
    """Whether all lines are in the record, and one of them is meaningful."""
    return any(map(is_meaningful, lines)) and lines <= record


def has_enough_in_common(
    mine: Iterable[bytes],
    recorded: Iterable[bytes],
    is_long: Callable[[bytes], bool] = is_significant,
) -> bool:
    """Whether two sets of added lines have enough significant lines in common to link them: all of
    the recorded ones, or two and a tenth of these."""
    significant = {line.strip() for line in recorded if is_long(line)}
    common = significant & {line.strip() for line in mine if is_long(line)}
    if common == significant:
        return bool(common)
    return len(common) >= DISTINCTIVE and len(common) * SHARE >= len(significant)


def has_any_change(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit has any of what makes the recorded content of its parent's."""
    old_mode, old, _, _ = staged
    whole: Recorded = {**entry, "before": None}
    if old:
        whole["before"] = (old_mode, old)
    whole.pop("own", None)
    return is_any(hold([whole], Change({entry["path"]: staged}, blob)))


# Edits of files that have another name in the commit.


@value_class
class Moved:
    """An edit at a path of which a commit has something at another one, target."""

    path: str
    target: str
    units: frozenset[bytes]


def pair_moves(entries: Recordeds, staged: Changes, blob: Blob, gone: Gone) -> Iterator[Moved]:
    """Pair recorded paths that the commit lacks with new files that have their content.  A file
    that the commit moves from another path has what that had already."""
    new: dict[str, Staged] = {}
    for path, change in staged.items():
        old_mode, _, mode, oid = change
        if old_mode == GONE and mode in REGULAR and oid:
            new[path] = change
    whole = Change(staged, blob)
    for entry in entries:
        path = entry["path"]
        change_here = staged.get(path)
        if not _may_be_moved(entry, change_here):
            continue
        targets = [target for target, (_, _, _, oid) in new.items() if oid == entry["oid"]]
        if not targets and len(new) <= MOST_NEW and _is_gone(entry, change_here, blob, gone):
            targets = [*new]
        for target in targets:
            units = _compare_moved(entry, _move_change(change_here, new[target]), blob)
            step = whole.steps[target]
            if units and step.source not in ("", path):
                units = _compare_moved(entry, step.staged, blob)
            if units:
                yield Moved(path, target, units)


def _may_be_moved(entry: Recorded, change: Staged | None) -> bool:
    """Whether a commit may have a recorded file under another name; change: of its own path."""
    if entry["oid"] is None or entry.get("mode", REGULAR[0]) not in REGULAR:
        return False
    return change is None or change[1] != entry["oid"]  # the parent's content: no evidence


def _move_change(change: Staged | None, new: Staged) -> Staged:
    """The change of a moved file: from what its former path had in the parent."""
    _, _, mode, oid = new
    if change is None:
        return (GONE, None, mode, oid)
    old_mode, old, _, _ = change
    return (old_mode, old, mode, oid)


def pair_renamed(entries: Recordeds, staged: Changes, blob: Blob, gone: Gone) -> Iterator[Moved]:
    """Pair recorded paths that are gone with the files that the commit changes and that were
    renamed from them before.

    The commit has all of the work or two distinctive lines, since names and contents only resemble
    each other."""
    changed: dict[str, Staged] = {}
    for path, one in staged.items():
        _, old, _, new = one
        if old and new:
            changed[path] = one
    if len(changed) > MOST_NEW:
        return
    change = Change(changed, blob, gone)
    for entry in entries:
        if entry["path"] in staged or not entry.get("before"):
            continue
        held = hold([entry], change)
        weight = sum(held.common.values())
        if weight >= DISTINCTIVE or (weight and held.is_all_work):
            [target] = {path for path, _ in held.common}
            yield Moved(entry["path"], target, frozenset(unit for _, unit in held.common))


def _is_gone(entry: Recorded, change: Staged | None, blob: Blob, gone: Gone) -> bool:
    """Whether the recorded file is gone from its path, or the commit has another file there."""
    if change is None:
        return gone(entry["path"])
    return change[2] == GONE or not has_any_change(entry, change, blob)


def _compare_moved(entry: Recorded, change: Staged, blob: Blob) -> frozenset[bytes]:
    """What the change of a moved file, from its content at the recorded path, has in common with
    the record if the new file has most of the recorded lines."""
    old = entry["oid"] or ""
    new = change[3] or ""
    if change[1] == new or not is_same_file(old, new, True, blob):
        return frozenset()
    if old == new:
        return mark_content(new.encode())
    return compare_changes(entry, change, blob).units
