"""Say what of a piece of work a commit has, and whether that is enough to link the two
(doc/behaviour.md "Evidence in proportion").

The work is what a checkpoint's commit changed.  A file that was moved is compared with itself under
its other name; that it was moved is a unit of its own, without weight.
"""

from __future__ import annotations

from gitcp.core import line_authors, linking
from gitcp.core.linking import ABSENT, REGULAR, build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypedDict

    from gitcp.core.linking import Blob, Recorded, Staged

    Changes = Mapping[str, Staged]
    Gone = Callable[[str], bool]
    # What a path is changed from and to, and the name that it had, '' for the same one.
    Step = tuple[Staged, str]

    class Held(TypedDict):
        """What of a piece of work a commit has.

        common: path and unit -> the unit's weight; work: how many units the work has that the
        commit could have; is_all_work, is_all_change: whether the commit has all of the work, and
        whether it has nothing else."""

        common: dict[tuple[str, bytes], int]
        work: int
        is_all_work: bool
        is_all_change: bool

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


# The thresholds, each with its reason.
DISTINCTIVE = 2  # lines in common: one equal line is written, or removed, by two people any day
SHARE = 10  # the tenth part of the smaller change: in a large one two lines are equal by chance
RAISED = 2  # its half, of another author or of a commit with an id of its own: they have a reason
# How a commit is related to the one whose work is searched for.
REPLAYED = "replayed"  # author and time are equal: git copies a commit so
RETAKEN = "retaken"  # git or a person names that commit, or HEAD lost it and its author commits
SAME = "same"  # the author is the same
OTHER = "other"  # the author is another one, or the commit has an id of its own


class Change:
    """What a commit changes.  is_gone: whether its parent lacks a path."""

    def __init__(self, changes: Changes, blob: Blob, is_gone: Gone = lambda _: False) -> None:
        self.changes, self.blob, self.is_gone = changes, blob, is_gone
        self._steps: dict[str, Step] | None = None

    @property
    def steps(self) -> dict[str, Step]:
        """The changes by path, moved files under their new names."""
        if self._steps is None:
            self._steps = _build_steps(self.changes, self.blob)
        return self._steps

    def count_units(self, most: int) -> int:
        """The number of its units; a number above most tells no more than that."""
        total = 0
        for change, _ in self.steps.values():
            total += count_units(change, self.blob)
            if total > most:
                break
        return total

    def may_hold(self, paths: Iterable[str]) -> bool:
        """Whether it has one of these paths, or a file that may be one under another name."""
        makes = any(old is None for _, old, _, _ in self.changes.values())
        return makes or any(path in self.changes or self.is_gone(path) for path in paths)


def is_any(held: Held) -> bool:
    """Whether a commit has anything of a piece of work, braces and the like aside."""
    return any(linking.is_meaningful(unit) for _, unit in held["common"])


def explain_enough(
    held: Held, change: Change, relation: str, is_equal: Callable[[], bool], together: int = 0
) -> str:
    """Why a commit has enough of a piece of work to be linked with it, '' if it has not.

    is_equal: whether its whole change is that of the work's commit.  together: how many units it
    has of this and of other work that is searched for, since it may be a squash of many."""
    if not is_any(held):
        return ""
    if relation == REPLAYED:
        return "a copy of the commit, by its author and date"
    if relation == RETAKEN and (held["is_all_work"] or held["is_all_change"]):
        return "all of the work, or nothing else"
    if is_equal():
        return "the same change as a whole"
    size = len(held["common"])
    if sum(held["common"].values()) < DISTINCTIVE:
        return ""
    smaller, larger = sorted([held["work"], change.count_units(max(held["work"], size * SHARE))])
    if relation == OTHER:
        is_share = size * RAISED >= smaller and max(size, together) * SHARE >= larger
    else:
        is_share = size * SHARE >= smaller
    return "distinctive lines, and a share of the change" if is_share else ""


def hold(work: Iterable[Recorded], change: Change, without: Iterable[Change] = ()) -> Held:
    """What of a piece of work a commit has.  without: commits whose part of it does not count."""
    entries = {entry["path"]: entry for entry in work}
    held: Held = {"common": {}, "work": 0, "is_all_work": True, "is_all_change": True}
    if not change.may_hold(entries):
        return held
    blob = change.blob
    mine = _build_steps({p: _get_change(e, change) for p, e in entries.items()}, blob)
    taken = {
        (path, unit)
        for other in without
        for path, _, sides in _compare(mine, entries, other)
        for unit in sides["common"]
    }
    paired = set[str]()
    for path, target, sides in _compare(mine, entries, change):
        paired.add(target)
        common = {u: weight for u, weight in sides["common"].items() if (path, u) not in taken}
        held["common"] |= {(target, unit): weight for unit, weight in common.items()}
        held["work"] += sides["work"]
        held["is_all_work"] &= not sides["work_alone"]
        held["is_all_change"] &= not sides["change_alone"]
    held["is_all_change"] &= change.steps.keys() <= paired
    return held


def _get_change(entry: Recorded, change: Change) -> Staged:
    """The change of a record; from what the commit's parent has if the record does not say."""
    old_mode, old, _, _ = change.changes.get(entry["path"], (ABSENT, None, ABSENT, None))
    before = entry.get("before", (old_mode, old) if old else None)
    new = (entry.get("mode") or REGULAR[0], entry["oid"]) if entry["oid"] else None
    return build_change(before, new)


def _compare(
    mine: Mapping[str, Step], entries: Mapping[str, Recorded], change: Change
) -> Iterator[tuple[str, str, Sides]]:
    """Yield for each path of the work (path, its name in the commit, the comparison); the name is
    '' if the commit leaves the file."""
    pairs = _pair_paths(mine, change)
    for path, (own_change, source) in mine.items():
        if path not in pairs:
            size = count_units(own_change, change.blob)
            yield path, "", build_sides({}, size, size)
            continue
        other, other_source = change.steps[pairs[path]]
        sides = compare(own_change, other, entries[path].get("own"), change.blob)
        if source or other_source:
            is_same = source == other_source
            moved: Units = {b"\0moved " + source.encode(errors="surrogateescape"): 0}
            sides["common"] |= moved if is_same else {}
            sides["work"] += bool(source)
            sides["work_alone"] += bool(source) and not is_same
            sides["change_alone"] += bool(other_source) and not is_same
        yield path, pairs[path], sides


def _build_steps(changes: Changes, blob: Blob) -> dict[str, Step]:
    """The changes by path; a file that was moved is changed from what it was under its former
    name, and nothing is deleted there."""
    deleted = {path: old for path, (_, old, _, new) in changes.items() if old and not new}
    created = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
    sources = _find_moves(deleted, created, blob) if deleted and created else {}
    moved = {*sources, *sources.values()}
    steps: dict[str, Step] = {path: (c, "") for path, c in changes.items() if path not in moved}
    for path, source in sources.items():
        steps[path] = (*changes[source][:2], *changes[path][2:]), source
    return steps


def _pair_paths(mine: Mapping[str, Step], change: Change) -> dict[str, str]:
    """path of the work -> the same file's path in the commit."""
    theirs, blob = change.steps, change.blob
    by_source = {source: path for path, (_, source) in theirs.items() if source}
    pairs = {path: path for path in mine if path in theirs}
    pairs |= {path: by_source[path] for path in mine if path not in pairs and path in by_source}
    left = {path: own for path, (own, _) in mine.items() if path not in pairs}
    free = {path: c for path, (c, _) in theirs.items() if path not in pairs.values()}
    removed = {path: c[1] for path, c in left.items() if c[1] and free and change.is_gone(path)}
    changed = {path: c[1] for path, c in free.items() if c[1]}
    if removed and changed:  # renamed between the two commits
        pairs |= {old: new for new, old in _find_moves(removed, changed, blob).items()}
    new_contents = {path: c[3] for path, c in left.items() if c[3] and path not in pairs}
    added_contents = {path: c[3] for path, c in free.items() if c[3] and not c[1]}
    renamed = _find_moves(new_contents, added_contents, blob) if new_contents else {}
    for new, old in renamed.items():
        if _is_same_file(new_contents[old], added_contents[new], change.is_gone(old), blob):
            pairs[old] = new
    return pairs


def _find_moves(
    deleted: Mapping[str, str], created: Mapping[str, str], blob: Blob
) -> dict[str, str]:
    return line_authors.find_moves(deleted, created, lambda oid: (blob(oid) or b"").split(b"\n"))


def _is_same_file(old: str, new: str, is_gone: bool, blob: Blob) -> bool:
    """Whether a new file under another name tells that it is a recorded one."""
    contents = [blob(oid) for oid in (old, new)]
    if contents[0] is None or contents[1] is None:
        return False
    lines = [linking.find_added_lines(None, text) for text in contents]
    if old == new:
        tells = linking.is_binary(contents[0]) or linking.select_significant(lines[0])
        return bool(tells)
    return is_gone and linking.is_renamed(lines[1], lines[0])


# Compare two changes of a path by their units, each with a weight in distinctive lines.
#
# A unit is a line that a change adds or removes, blank ones aside, or, where there are no lines,
# the entry itself: a content, a mode, a deletion.
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
    if before is None or after is None or any(map(linking.is_binary, (before, after))):
        return None
    return before, after


def find_lines(texts: Texts) -> tuple[set[bytes], set[bytes]]:
    """(the lines that a change adds, those that it removes)."""
    old, new = texts
    return linking.find_added_lines(old, new), linking.find_added_lines(new, old)


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
    bare = linking.remove_space
    collect = linking.collect_lines
    long = linking.select_significant(collect(change[0]) | collect(change[1]))
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
    place = linking.find_place(*change, own)
    is_same = bool(place) and place == linking.find_place(*work, own)
    return build_sides({b"\0order " + place: 1} if is_same else {}, 1, not is_same, not is_same)
