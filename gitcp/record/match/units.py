"""Two changes of a path, that of some work and that of a commit, compared by their units, each with
a weight in distinctive lines.

A unit is a line that a change adds or removes, blank ones aside, or, where there are no lines,
the entry itself: a content, a mode, a deletion.
"""

from __future__ import annotations

from gitcp.text import value_class
from gitcp.text.carry.changes import Lines, find_lines
from gitcp.text.ids import REGULAR, is_binary
from gitcp.text.line_evidence import find_added_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Blob, Staged

    Units = dict[bytes, int]  # its weight

BINARY = 2  # distinctive lines that an equal binary content is worth: no chance makes it
_DELETED = b"\0deleted"


class Texts:
    """A text before and after a change; b"" for no file."""

    __slots__ = ("after", "before")

    def __init__(self, before: bytes, after: bytes) -> None:
        self.before = before
        self.after = after


@value_class
class Sides:
    """What two changes have in common.

    work: the number of units of the work that the commit could have; work_alone, change_alone:
    how many of them the commit lacks, and how many others it has."""

    common: Units
    work: int = 1
    work_alone: int = 0
    change_alone: int = 0

    def add_unit(self, own: bytes, other: bytes) -> None:
        """Count a unit of the entries themselves: that of the work, that of the commit; b"" where
        there is none."""
        if own:
            self.work += 1
        if own == other:
            if own:
                self.common[own] = 0
            return
        if own:
            self.work_alone += 1
        if other:
            self.change_alone += 1


def count_units(change: Staged, blob: Blob) -> int:
    """The number of units of a change."""
    _, _, _, new = change
    texts = None
    if new:
        texts = read_texts(change, blob)
    if texts is None:
        return 1
    added, removed = find_lines(texts.before, texts.after)
    return len(added) + len(removed) or 1


def is_text(change: Staged) -> bool:
    """Whether a change is of a regular file, or makes or deletes one."""
    old_mode, old, mode, new = change
    is_old_regular = not old or old_mode in REGULAR
    is_new_regular = not new or mode in REGULAR
    return is_old_regular and is_new_regular


def read_texts(change: Staged, blob: Blob) -> Texts | None:
    """The texts before and after a change; None if one is binary or missing."""
    if not is_text(change):
        return None
    _, old, _, new = change
    before = _read_text(old, blob)
    after = _read_text(new, blob)
    if before is None or after is None:
        return None
    return Texts(before, after)


def _read_text(oid: str | None, blob: Blob) -> bytes | None:
    if not oid:
        return b""
    data = blob(oid)
    if data is None or is_binary(data):
        return None
    return data


def compare(work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob) -> Sides:
    """Compare the change of some work with that of a commit, both of one path.

    own: the lines that the work added, None if it is all of them."""
    if work[3] is None or change[3] is None:
        return _compare_deletions(work, change, blob)
    sides = _compare_contents(work, change, own, blob)
    sides.add_unit(_find_mode(work), _find_mode(change))
    return sides


def _find_mode(change: Staged) -> bytes:
    """The mode that a change gives a file, b"" if it leaves the mode."""
    old_mode, old, mode, _ = change
    if old and mode != old_mode and mode in REGULAR and old_mode in REGULAR:
        return b"\0mode " + mode.encode()
    return b""


def _compare_deletions(work: Staged, change: Staged, blob: Blob) -> Sides:
    """compare() where one of them, or both, delete the path."""
    if work[3] is not None:
        return Sides({}, count_units(work, blob), 1, 1)
    work_texts = read_texts(work, blob)
    change_texts = read_texts(change, blob)
    if change[3] is None:
        if _delete_same(work, change, work_texts, change_texts):
            return Sides({_DELETED: 0})
        return Sides({}, 1, 1, 1)
    if work_texts and change_texts:  # the commit may have a part of the deletion
        return _compare_lines(_pair_lines(work_texts, change_texts))
    return Sides({}, count_units(work, blob), 1, 1)


def _delete_same(
    work: Staged, change: Staged, work_texts: Texts | None, change_texts: Texts | None
) -> bool:
    """Whether two changes delete one content, or contents with a line in common, as far as they can
    be read."""
    if work[1] == change[1] or work_texts is None or change_texts is None:
        return True
    _, work_lines = find_lines(work_texts.before, work_texts.after)
    _, lines = find_lines(change_texts.before, change_texts.after)
    return not work_lines.isdisjoint(lines)


def _compare_contents(
    work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob
) -> Sides:
    is_work_changed = work[1] != work[3]
    is_changed = change[1] != change[3]
    if not is_work_changed:
        return Sides({}, 0, 0, int(is_changed))
    if not is_changed:
        return Sides({}, count_units(work, blob), 1, 0)
    work_texts = read_texts(work, blob)
    change_texts = read_texts(change, blob)
    if work_texts and change_texts:
        return _compare_lines(_pair_lines(work_texts, change_texts, own))
    if work[2][:3] != change[2][:3] or work[3] != change[3]:
        return Sides({}, 1, 1, 1)
    oid = work[3] or ""
    weight = 0
    if work[2] in REGULAR and blob(oid) is not None:
        weight = BINARY
    return Sides({b"\0" + oid.encode(): weight})


def _pair_lines(work: Texts, change: Texts, own: frozenset[bytes] | None = None) -> Lines:
    return Lines((work.before, work.after), (change.before, change.after), own)


def _compare_lines(lines: Lines) -> Sides:
    """compare() of texts."""
    if lines.are_same:
        return _compare_places(lines)
    common = {b"+" + one: int(lines.is_long(one)) for one in lines.work_added & lines.added}
    if common or not (lines.work_added and lines.added):  # else each replaces them
        for one in lines.work_removed & lines.removed:
            common[b"-" + one] = int(lines.is_long(one))
    size = len(lines.awaited) + len(lines.awaited_removed)
    missing = len(lines.awaited - lines.added) + len(lines.awaited_removed - lines.removed)
    others = _count_others(lines) + len(lines.removed - lines.work_removed)
    if not others and not lines.added and not lines.removed:
        others = 1  # the change is of white space or of the order alone
    return Sides(common, size or 1, missing, others)


def _count_others(lines: Lines) -> int:
    """How many lines the commit adds that the work did not: what stood before the work and is short
    is no other line, since a brace comes and goes."""
    before = find_added_lines(None, lines.work[0])
    others = lines.added - lines.work_added
    return sum(one not in before or lines.is_long(one) for one in others)


def _compare_places(lines: Lines) -> Sides:
    """compare() of changes that move or repeat lines, or make an empty file."""
    if lines.work == lines.change:
        return Sides({b"\0order " + b"\n".join(lines.work): 0})
    place = lines.find_place()
    if place:
        return Sides({b"\0order " + place: 1})
    return Sides({}, 1, 1, 1)
