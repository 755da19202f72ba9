"""Compare two changes of a path by their units, each with a weight in distinctive lines.

A unit is a line that a change adds or removes, blank ones aside, or, where there are no lines, the
entry itself: a content, a mode, a deletion.
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence
from gitcp.core.decide.difference import REGULAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from gitcp.core.decide.difference import Blob, Staged

    Texts = tuple[bytes, bytes]  # before and after
    Units = dict[bytes, int]  # its weight

    class Sides(TypedDict):
        """What two changes, that of some work and that of a commit, have in common.

        work: the number of units of the work that the commit could have; work_alone, change_alone:
        how many of them the commit lacks, and how many others it has."""

        common: Units
        work: int
        work_alone: int
        change_alone: int


BINARY = 2  # distinctive lines that an equal binary content is worth: no chance makes it


def count_units(change: Staged, blob: Blob) -> int:
    """The number of units of a change."""
    texts = read_texts(change, blob) if change[3] else None
    return sum(map(len, find_lines(texts))) or 1 if texts else 1


def is_text(change: Staged) -> bool:
    """Whether a change is of a regular file, or makes or deletes one."""
    old_mode, old, mode, new = change
    modes = [*([old_mode] if old else []), *([mode] if new else [])]
    return all(one in REGULAR for one in modes)


def read_texts(change: Staged, blob: Blob) -> Texts | None:
    """The texts before and after a change, b"" for no file; None if one is binary or missing."""
    if not is_text(change):
        return None
    before, after = (blob(oid) if oid else b"" for oid in (change[1], change[3]))
    if before is None or after is None or any(map(line_evidence.is_binary, (before, after))):
        return None
    return before, after


def find_lines(texts: Texts) -> tuple[set[bytes], set[bytes]]:
    """(the lines that a change adds, those that it removes)."""
    old, new = texts
    return line_evidence.find_added_lines(old, new), line_evidence.find_added_lines(new, old)


def compare(work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob) -> Sides:
    """Compare the change of some work with that of a commit, both of one path.

    own: the lines that the work added, None if it is all of them."""
    if work[3] is None or change[3] is None:
        return _compare_deletions(work, change, blob)
    sides = _compare_contents(work, change, own, blob)
    modes = [_find_mode(one) for one in (work, change)]
    if modes[0] or modes[1]:
        is_same = modes[0] == modes[1]
        sides["common"] |= {modes[0]: 0} if is_same else {}
        sides["work"] += bool(modes[0])
        sides["work_alone"] += bool(modes[0]) and not is_same
        sides["change_alone"] += bool(modes[1]) and not is_same
    return sides


def build_sides(common: Units, work: int = 1, work_alone: int = 0, change_alone: int = 0) -> Sides:
    """What two changes have in common, and how many units they have each."""
    alone = {"work_alone": work_alone, "change_alone": change_alone}
    return {"common": common, "work": work, **alone}  # type: ignore[typeddict-item]


def _find_mode(change: Staged) -> bytes:
    """The mode that a change gives a file, b"" if it leaves the mode."""
    old_mode, old, mode, _ = change
    is_changed = old and mode != old_mode and {mode, old_mode} <= {*REGULAR}
    return b"\0mode " + mode.encode() if is_changed else b""


def _compare_deletions(work: Staged, change: Staged, blob: Blob) -> Sides:
    """compare() where one of them, or both, delete the path."""
    texts = [read_texts(one, blob) for one in (work, change)]
    if work[3] is None and change[3] is None:
        lines = [find_lines(text)[1] if text else set[bytes]() for text in texts]
        is_same = work[1] == change[1] or None in texts or not lines[0].isdisjoint(lines[1])
        deleted: Units = {b"\0deleted": 0} if is_same else {}
        return build_sides(deleted, 1, not is_same, not is_same)
    if work[3] is None and texts[0] and texts[1]:  # the commit may have a part of the deletion
        return _compare_lines(texts[0], texts[1], None)
    return build_sides({}, count_units(work, blob), 1, 1)


def _compare_contents(
    work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob
) -> Sides:
    changes_content = work[1] != work[3], change[1] != change[3]
    if not all(changes_content):
        size = count_units(work, blob) if changes_content[0] else 0
        return build_sides({}, size, changes_content[0], changes_content[1])
    texts = read_texts(work, blob), read_texts(change, blob)
    if texts[0] and texts[1]:
        return _compare_lines(texts[0], texts[1], own)
    if work[2][:3] != change[2][:3] or work[3] != change[3]:
        return build_sides({}, 1, 1, 1)
    is_binary = work[2] in REGULAR and blob(work[3] or "") is not None
    return build_sides({b"\0" + (work[3] or "").encode(): BINARY if is_binary else 0})


def _compare_lines(work: Texts, change: Texts, own: frozenset[bytes] | None) -> Sides:
    """compare() of texts.  White space in lines does not count, unless the commit changes nothing
    else."""
    bare = line_evidence.remove_space
    collect = line_evidence.collect_lines
    long = line_evidence.select_significant(collect(change[0]) | collect(change[1]))
    if bare(change[0]) != bare(change[1]):
        work, change = (bare(work[0]), bare(work[1])), (bare(change[0]), bare(change[1]))
        own, long = own and frozenset(map(bare, own)), set(map(bare, long))
    work_before, before = collect(work[0]), collect(change[0])
    (work_added, work_removed), (added, removed) = find_lines(work), find_lines(change)
    if own is not None:
        work_added &= own
    if not (added or removed or work_added or work_removed):
        return _compare_places(work, change, own)
    awaited, awaited_removed = work_added - before, work_removed & before
    common = {b"+" + line: int(line.strip() in long) for line in work_added & added}
    if common or not (work_added and added):  # else they replace the same lines by other ones
        common |= {b"-" + line: int(line.strip() in long) for line in work_removed & removed}
    # What stood before the work and is short is no other line: a brace comes and goes.
    other_lines = {x for x in added - work_added if x not in work_before or x.strip() in long}
    return build_sides(
        common,
        len(awaited) + len(awaited_removed) or 1,
        len(awaited - added) + len(awaited_removed - removed),
        (len(other_lines) + len(removed - work_removed)) or not (added or removed),
    )


def _compare_places(work: Texts, change: Texts, own: frozenset[bytes] | None) -> Sides:
    """compare() of changes that move or repeat lines, or make an empty file."""
    if work == change:
        return build_sides({b"\0order " + b"\n".join(work): 0})
    place = line_evidence.find_place(*change, own)
    is_same = bool(place) and place == line_evidence.find_place(*work, own)
    return build_sides({b"\0order " + place: 1} if is_same else {}, 1, not is_same, not is_same)
