"""Say what of a piece of work a commit has, and whether that is enough to link the two
(doc/behaviour.md "Evidence in proportion").

The work is what a checkpoint's commit changed.  A file that was moved is compared with itself under
its other name; that it was moved is a unit of its own, without weight.
"""

from __future__ import annotations

from gitcp.core.decide import line_evidence
from gitcp.core.decide.difference import ABSENT, REGULAR, build_change
from gitcp.core.lines import moves
from gitcp.core.match import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypedDict

    from gitcp.core.decide.difference import Blob, Recorded, Staged

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
            total += units.count_units(change, self.blob)
            if total > most:
                break
        return total

    def may_hold(self, paths: Iterable[str]) -> bool:
        """Whether it has one of these paths, or a file that may be one under another name."""
        makes = any(old is None for _, old, _, _ in self.changes.values())
        return makes or any(path in self.changes or self.is_gone(path) for path in paths)


def is_any(held: Held) -> bool:
    """Whether a commit has anything of a piece of work, braces and the like aside."""
    return any(line_evidence.is_meaningful(unit) for _, unit in held["common"])


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
) -> Iterator[tuple[str, str, units.Sides]]:
    """Yield for each path of the work (path, its name in the commit, the comparison); the name is
    '' if the commit leaves the file."""
    pairs = _pair_paths(mine, change)
    for path, (own_change, source) in mine.items():
        if path not in pairs:
            size = units.count_units(own_change, change.blob)
            yield path, "", units.build_sides({}, size, size)
            continue
        other, other_source = change.steps[pairs[path]]
        sides = units.compare(own_change, other, entries[path].get("own"), change.blob)
        if source or other_source:
            is_same = source == other_source
            moved: units.Units = {b"\0moved " + source.encode(errors="surrogateescape"): 0}
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
    return moves.find_moves(deleted, created, lambda oid: (blob(oid) or b"").split(b"\n"))


def _is_same_file(old: str, new: str, is_gone: bool, blob: Blob) -> bool:
    """Whether a new file under another name tells that it is a recorded one."""
    contents = [blob(oid) for oid in (old, new)]
    if contents[0] is None or contents[1] is None:
        return False
    lines = [line_evidence.find_added_lines(None, text) for text in contents]
    if old == new:
        tells = line_evidence.is_binary(contents[0]) or line_evidence.select_significant(lines[0])
        return bool(tells)
    return is_gone and line_evidence.is_renamed(lines[1], lines[0])
