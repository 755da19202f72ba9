"""Say what of a piece of work a change holds, and whether that is enough
(doc/behaviour.md "Evidence in proportion").

Whoever asks "does this change hold that work?" has hold() compare them, and decides by one of:

| enough | for whom | since |
|---|---|---|
| `paths`: a file of it | git names both | an amend or a fixup may have other lines |
| is_any(): a line of it | a person names both, or both are of one session | no other is meant |
| explain_enough() | a search found both | they may be anybody's |
| `is_all_work`, `is_all_change` | whether nothing is left | in doubt something is |

compare_changes() and what follows it ask it of an open edit, which was never committed: it may lie
in parts at other commits, and what it was made on may be unknown.  They compare the same lines.
"""

from __future__ import annotations

from gitcp.text import file_moves
from gitcp.text.carry import changes
from gitcp.text.carry.changes import Lines, Written, find_lines
from gitcp.text.ids import EMPTY, GONE, REGULAR, build_change, is_binary, remove_space
from gitcp.text.line_evidence import (
    find_added_lines,
    has_no_lines,
    is_meaningful,
    is_significant,
    select_significant,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from typing import TypedDict

    from gitcp.text.record_types import Blob, Entry, Recorded, Shared, Staged, Version

    Changes = Mapping[str, Staged]
    Gone = Callable[[str], bool]
    Find = Callable[[str], Version]
    # What a path is changed from and to, and the name that it had, '' for the same one.
    Step = tuple[Staged, str]

    class Held(TypedDict):
        """What of a piece of work a commit has.

        paths: the files of the work that the commit has, under its names; common: path and unit ->
        the unit's weight; work: how many units the work has that the commit could have;
        is_all_work, is_all_change: whether the commit has all of the work, and whether it has
        nothing else."""

        paths: set[str]
        common: dict[tuple[str, bytes], int]
        work: int
        is_all_work: bool
        is_all_change: bool

    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

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
MOST_SEARCHED = 40  # files of a commit that are searched for lines of other files
RENAMED = 2  # the half of either text, as git decides that a file was renamed
BINARY = 2  # distinctive lines that an equal binary content is worth: no chance makes it
WHOLE = 3  # lines of a whole change that another author makes too: fewer are made by two people
# How a commit is related to the one whose work is searched for.
REPLAYED = "replayed"  # author and time are equal: git copies a commit so
RETAKEN = "retaken"  # git or a person names that commit, or HEAD lost it and its author commits
SAME = "same"  # the author is the same
OTHER = "other"  # the author is another one, or the commit has an id of its own


class Change:
    """What a commit changes.

    is_gone: whether its parent, or the worktree, lacks a path.  find_old: finds a path in the
    parent; without it no line is looked for in another file than its own."""

    def __init__(
        self,
        changes: Changes,
        blob: Blob,
        is_gone: Gone = lambda _: False,
        find_old: Find | None = None,
    ) -> None:
        self.changes = changes
        self.blob = blob
        self.is_gone = is_gone
        self._find_old: Find = find_old or (lambda _: None)
        self._reads_old = find_old is not None
        self._steps: dict[str, Step] | None = None

    @property
    def steps(self) -> dict[str, Step]:
        """The changes by path, moved files under their new names."""
        if self._steps is None:
            self._steps = _build_steps(self.changes, self.blob)
        return self._steps

    def may_bring(self) -> bool:
        """Whether lines of other files are looked for in it."""
        return self._reads_old and 0 < len(self.changes) <= MOST_SEARCHED

    def read_old(self, path: str) -> bytes | None:
        """The text of a path in the parent; None for binary content, and if it is not known."""
        if path in self.changes:
            mode, oid, _, _ = self.changes[path]
        else:
            mode, oid = self._find_old(path) or (GONE, None)
        texts = read_texts((mode, oid, GONE, None), self.blob)
        return texts[0] if texts else None

    def read_new(self, path: str) -> bytes | None:
        """The same in the commit."""
        if path not in self.changes:
            return self.read_old(path)
        _, _, mode, oid = self.changes[path]
        texts = read_texts((mode, oid, GONE, None), self.blob)
        return texts[0] if texts else None

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
    return any(is_meaningful(unit) for _, unit in held["common"])


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
    if relation == OTHER:
        weights = _list_weights(held)
    else:
        weights = [*held["common"].values()]
    is_distinctive = sum(weights) >= DISTINCTIVE
    is_telling = relation != OTHER or is_distinctive or len(weights) >= WHOLE
    if is_telling and is_equal():
        return "the same change as a whole"
    if not is_distinctive:
        return ""
    size = len(held["common"])
    smaller, larger = sorted([held["work"], change.count_units(max(held["work"], size * SHARE))])
    if relation == OTHER:
        is_share = size * RAISED >= smaller and max(size, together) * SHARE >= larger
    else:
        is_share = size * SHARE >= smaller
    if is_share:
        return "distinctive lines, and a share of the change"
    return ""


def _list_weights(held: Held) -> list[int]:
    """The weights of what tells that another author made a change again: a line that a common one
    replaces tells no more than that one."""
    replaced = {path for path, unit in held["common"] if unit.startswith(b"+")}
    return [
        weight
        for (path, unit), weight in held["common"].items()
        if not (unit.startswith(b"-") and path in replaced)
    ]


def hold(work: Iterable[Recorded], change: Change, without: Iterable[Change] = ()) -> Held:
    """What of a piece of work a commit has.  without: commits whose part of it does not count."""
    entries = {entry["path"]: entry for entry in work}
    held: Held = {
        "paths": set(),
        "common": {},
        "work": 0,
        "is_all_work": True,
        "is_all_change": True,
    }
    if not (change.may_hold(entries) or change.may_bring()):
        return held
    mine = _build_steps({p: _get_change(e, change) for p, e in entries.items()}, change.blob)
    taken: set[tuple[str, bytes]] = set()
    for other in without:
        for part in _compare(mine, entries, other, _pair_paths(mine, other)[0]):
            taken.update((part.path, unit) for _, unit in part.common)
    pairs, similar = _pair_paths(mine, change)
    held["paths"] = {*pairs.values(), *similar}
    for part in _compare(mine, entries, change, pairs):
        for (target, unit), weight in part.common.items():
            if (part.path, unit) not in taken:
                held["common"][target, unit] = weight
        held["paths"].update(part.brought)
        held["work"] += part.sides["work"]
        held["is_all_work"] &= not part.sides["work_alone"]
        held["is_all_change"] &= not part.sides["change_alone"]
    held["is_all_change"] &= change.steps.keys() <= {*pairs.values()}
    return held


def _get_change(entry: Recorded, change: Change) -> Staged:
    """The change of a record; from what the commit's parent has if the record does not say."""
    old_mode, old, _, _ = change.changes.get(entry["path"], (GONE, None, GONE, None))
    before = entry.get("before", (old_mode, old) if old else None)
    new = None
    if entry["oid"]:
        new = (entry.get("mode") or REGULAR[0], entry["oid"])
    return build_change(before, new)


class _Part:
    """What a commit has of the work at a path.

    target: the file's path in the commit, '' if it leaves the file.  common: (path there, unit) ->
    weight.  brought: the paths of other files that have lines of it."""

    __slots__ = ("brought", "common", "path", "sides", "target")

    def __init__(self, path: str, target: str, sides: Sides) -> None:
        self.path = path
        self.target = target
        self.sides = sides
        self.common = {(target, unit): weight for unit, weight in sides["common"].items()}
        self.brought: set[str] = set()

    def add_brought(self, target: str, lines: Iterable[bytes]) -> None:
        """Add lines that the commit has in another file."""
        self.brought.add(target)
        for line in lines:
            self.common[target, b"+" + remove_space(line)] = int(is_significant(line))
        self.sides["work_alone"] -= len({remove_space(line) for line in lines})


def _compare(
    mine: Mapping[str, Step],
    entries: Mapping[str, Recorded],
    change: Change,
    pairs: Mapping[str, str],
) -> Iterable[_Part]:
    """Compare each path of the work with the commit.  pairs: its paths -> theirs in the commit."""
    parts: list[_Part] = []
    for path, (own_change, source) in mine.items():
        if path not in pairs:
            size = count_units(own_change, change.blob)
            parts.append(_Part(path, "", build_sides({}, size, size)))
            continue
        other, other_source = change.steps[pairs[path]]
        sides = compare(own_change, other, entries[path].get("own"), change.blob)
        if source or other_source:
            is_same = source == other_source
            moved: Units = {b"\0moved " + source.encode(errors="surrogateescape"): 0}
            if is_same:
                sides["common"] |= moved
            sides["work"] += bool(source)
            sides["work_alone"] += bool(source) and not is_same
            sides["change_alone"] += bool(other_source) and not is_same
        parts.append(_Part(path, pairs[path], sides))
    if change.may_bring():
        _add_brought(parts, mine, entries, change)
    return parts


def _add_brought(
    parts: Iterable[_Part],
    mine: Mapping[str, Step],
    entries: Mapping[str, Recorded],
    change: Change,
) -> None:
    """Add the lines of the work that the commit has in other files."""
    searched: dict[Written, _Part] = {}
    for part in parts:
        own_change, _ = mine[part.path]
        if not part.sides["work_alone"] or "before" not in entries[part.path]:
            continue
        name = part.target or part.path
        work = _build_written(name, own_change, entries[part.path].get("own"), change)
        if work:
            work.lose_to(change.read_new(name))
            work.lines -= {unit[1:] for _, unit in part.common if unit.startswith(b"+")}
            searched[work] = part
    for target, work, lines in find_brought([*searched], change):
        searched[work].add_brought(target, lines)


def build_open(entry: Recorded, change: Change) -> Written | None:
    """The lines of an open edit that a commit may have in other files; None if there is none."""
    path = entry["path"]
    work = _build_written(path, _get_change(entry, change), entry.get("own"), change)
    if work and path in change.changes:
        work.lose_to(change.read_new(path))
    elif work and "now" in entry:
        work.lose_to(_read_file(change.blob, entry["now"]))
    return work


def _build_written(
    path: str, work: Staged, own: frozenset[bytes] | None, change: Change
) -> Written | None:
    """The lines that some work added to a file and that the commit's parent has not there; None if
    there is none.  path: of the file in the commit."""
    texts = None
    if work[3]:
        texts = read_texts(work, change.blob)
    if texts is None or has_no_lines(texts[1]):
        return None
    before, after = map(remove_space, texts)
    old = remove_space(change.read_old(path) or b"")
    lines = find_added_lines(before, after) - find_added_lines(None, old)
    if own is not None:
        lines.intersection_update(map(remove_space, own))
    return Written(path, texts[1], lines) if lines else None


def find_brought(
    works: Sequence[Written], change: Change, without: Container[str] = ()
) -> Iterator[tuple[str, Written, list[bytes]]]:
    """Find lines of files in the other files of a commit: (path, work, its lines there).

    without: paths that are not searched."""
    for path, (staged, _) in change.steps.items():
        others = [work for work in works if work.path != path]
        if path in without or not others or not staged[3] or staged[1] == staged[3]:
            continue
        texts = read_texts(staged, change.blob)
        if texts is None or any(map(has_no_lines, texts)):
            continue
        for number, lines in changes.find_brought(others, texts).items():
            yield path, others[number], [others[number].text.lines[line] for line in lines]


def _build_steps(changes: Changes, blob: Blob) -> dict[str, Step]:
    """The changes by path; a file that was moved is changed from what it was under its former
    name, and nothing is deleted there."""
    deleted = {path: old for path, (_, old, _, new) in changes.items() if old and not new}
    created = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
    if deleted and created:
        sources = find_moves(deleted, created, blob)
    else:
        sources = {}
    moved = {*sources, *sources.values()}
    steps: dict[str, Step] = {path: (c, "") for path, c in changes.items() if path not in moved}
    for path, source in sources.items():
        steps[path] = (*changes[source][:2], *changes[path][2:]), source
    return steps


def _pair_paths(mine: Mapping[str, Step], change: Change) -> tuple[dict[str, str], Iterable[str]]:
    """(path of the work -> the same file's path in the commit; the commit's new files that resemble
    one of the work)."""
    theirs = change.steps
    blob = change.blob
    by_source = {source: path for path, (_, source) in theirs.items() if source}
    pairs = {path: path for path in mine if path in theirs}
    pairs |= {path: by_source[path] for path in mine if path not in pairs and path in by_source}
    left = {path: own for path, (own, _) in mine.items() if path not in pairs}
    free = {path: c for path, (c, _) in theirs.items() if path not in pairs.values()}
    removed = {path: c[1] for path, c in left.items() if c[1] and free and change.is_gone(path)}
    changed = {path: c[1] for path, c in free.items() if c[1]}
    if removed and changed:  # renamed between the two commits
        pairs |= {old: new for new, old in find_moves(removed, changed, blob).items()}
    new_contents = {path: c[3] for path, c in left.items() if c[3] and path not in pairs}
    added_contents = {path: c[3] for path, c in free.items() if c[3] and not c[1]}
    if new_contents:
        renamed = find_moves(new_contents, added_contents, blob)
    else:
        renamed = {}
    for new, old in renamed.items():
        if _is_same_file(new_contents[old], added_contents[new], change.is_gone(old), blob):
            pairs[old] = new
    return pairs, renamed


def find_moves(
    deleted: Mapping[str, str], created: Mapping[str, str], blob: Blob
) -> dict[str, str]:
    """new path -> the path it was moved from.  deleted, created: path -> oid."""
    return file_moves.find_moves(deleted, created, lambda oid: (blob(oid) or b"").split(b"\n"))


def _is_same_file(old: str, new: str, is_gone: bool, blob: Blob) -> bool:
    """Whether a new file under another name tells that it is a recorded one."""
    contents = [blob(oid) for oid in (old, new)]
    if contents[0] is None or contents[1] is None:
        return False
    lines = [find_added_lines(None, text) for text in contents]
    if old == new:
        tells = is_binary(contents[0]) or select_significant(lines[0])
        return bool(tells)
    return is_gone and _is_renamed(lines[1], lines[0])


def _is_renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Whether a new file, by its lines, is a moved one."""
    mine = select_significant(mine)
    recorded = select_significant(recorded)
    common = len(mine & recorded)
    return common >= DISTINCTIVE and common * RENAMED >= max(len(mine), len(recorded))


# Compare two changes of a path by their units, each with a weight in distinctive lines.
#
# A unit is a line that a change adds or removes, blank ones aside, or, where there are no lines,
# the entry itself: a content, a mode, a deletion.


def count_units(change: Staged, blob: Blob) -> int:
    """The number of units of a change."""
    texts = read_texts(change, blob) if change[3] else None
    if texts:
        return sum(map(len, find_lines(*texts))) or 1
    return 1


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
    if before is None or after is None or any(map(is_binary, (before, after))):
        return None
    return before, after


def compare(work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob) -> Sides:
    """Compare the change of some work with that of a commit, both of one path.

    own: the lines that the work added, None if it is all of them."""
    if work[3] is None or change[3] is None:
        return _compare_deletions(work, change, blob)
    sides = _compare_contents(work, change, own, blob)
    modes = [_find_mode(one) for one in (work, change)]
    if modes[0] or modes[1]:
        is_same = modes[0] == modes[1]
        if is_same:
            sides["common"] |= {modes[0]: 0}
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
        lines = [find_lines(*text)[1] if text else set[bytes]() for text in texts]
        is_same = work[1] == change[1] or None in texts or not lines[0].isdisjoint(lines[1])
        deleted: Units = {b"\0deleted": 0} if is_same else {}
        return build_sides(deleted, 1, not is_same, not is_same)
    if work[3] is None and texts[0] and texts[1]:  # the commit may have a part of the deletion
        return _compare_lines(Lines(texts[0], texts[1]))
    return build_sides({}, count_units(work, blob), 1, 1)


def _compare_contents(
    work: Staged, change: Staged, own: frozenset[bytes] | None, blob: Blob
) -> Sides:
    changes_content = work[1] != work[3], change[1] != change[3]
    if not all(changes_content):
        size = 0
        if changes_content[0]:
            size = count_units(work, blob)
        return build_sides({}, size, changes_content[0], changes_content[1])
    texts = read_texts(work, blob), read_texts(change, blob)
    if texts[0] and texts[1]:
        return _compare_lines(Lines(texts[0], texts[1], own))
    if work[2][:3] != change[2][:3] or work[3] != change[3]:
        return build_sides({}, 1, 1, 1)
    is_file = work[2] in REGULAR and blob(work[3] or "") is not None
    return build_sides({b"\0" + (work[3] or "").encode(): BINARY if is_file else 0})


def _compare_lines(lines: Lines) -> Sides:
    """compare() of texts."""
    if lines.are_same:
        return _compare_places(lines)
    common = {b"+" + one: int(lines.is_long(one)) for one in lines.work_added & lines.added}
    if common or not (lines.work_added and lines.added):  # else each replaces them
        removed = lines.work_removed & lines.removed
        common |= {b"-" + one: int(lines.is_long(one)) for one in removed}
    # What stood before the work and is short is no other line: a brace comes and goes.
    work_before = find_added_lines(None, lines.work[0])
    others = lines.added - lines.work_added
    others = {one for one in others if one not in work_before or lines.is_long(one)}
    return build_sides(
        common,
        len(lines.awaited) + len(lines.awaited_removed) or 1,
        len(lines.awaited - lines.added) + len(lines.awaited_removed - lines.removed),
        len(others) + len(lines.removed - lines.work_removed) or not (lines.added or lines.removed),
    )


def _compare_places(lines: Lines) -> Sides:
    """compare() of changes that move or repeat lines, or make an empty file."""
    if lines.work == lines.change:
        return build_sides({b"\0order " + b"\n".join(lines.work): 0})
    place = lines.find_place()
    return build_sides({b"\0order " + place: 1} if place else {}, 1, not place, not place)


# What a commit has of an open edit of a session, whoever made the commit.
#
# An edit goes from `before` to the recorded entry, a commit's change from its parent to its entry.
# Texts are compared by the lines that each adds or removes, other contents as a whole.  If `before`
# is not known, the commit's parent is used for it.
_NONE: frozenset[bytes] = frozenset()
_MOST_NEW = 50  # files in a commit that are compared by lines with a moved one


def compare_changes(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit's change of a path has in common with an edit, and the reason."""
    old_mode, old, mode, new = staged
    if mode == GONE or entry["oid"] is None:
        return _compare_deletion(entry, staged, blob)
    before = entry.get("before")
    is_mode_alone = before and before[1] == entry["oid"]
    if old_mode != mode and (old == new or (old and is_mode_alone)):
        if entry.get("mode") != mode or (before and before[0] == mode):
            return _NONE, "another mode than recorded"
        return _mark_content(mode.encode()), "the recorded mode"
    if new is None or mode[:3] != entry.get("mode", mode)[:3]:  # file, symlink, submodule
        return _NONE, "another type than recorded"
    same = None
    if new == entry["oid"]:
        same = (_mark_content(new.encode()), "the recorded content")
    if mode not in REGULAR:
        return same or (_NONE, "another content than recorded")
    parent = old_mode, old
    base = entry.get("before", parent)
    if same and (entry["live"] or base == parent):
        return same
    texts = [_read_file(blob, one) for one in (base, (mode, entry["oid"]), parent, (mode, new))]
    base_text, recorded, parent_text, content = texts
    if parent_text is None or content is None or recorded is None:
        return _NONE, "the recorded content cannot be read"
    work = parent_text if base_text is None else base_text, recorded
    if any(map(is_binary, (*work, parent_text, content))):
        return same or (_NONE, "another binary content than recorded")
    if same and not any(find_lines(*work)):
        return same  # an empty file, or reordered lines
    return _explain_common(Lines(work, (parent_text, content), entry.get("own")))


def _mark_content(content: bytes) -> frozenset[bytes]:
    """What stands for a whole content, not a line, among what two changes have in common."""
    return frozenset([b"\0" + content])


def _read_file(blob: Blob, version: tuple[str, str | None] | None) -> bytes | None:
    """The content of a regular file; b"" for no file, None if it is missing."""
    if version and version[1] and version[0] in REGULAR:
        return blob(version[1])
    return b""


def _compare_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """compare_changes() where the commit deletes the path, or the session did.

    A commit that only removes lines holds a part of a deletion; any other undoes it."""
    _, old, mode, new = staged
    if entry["oid"] is not None:
        return _NONE, "the commit deletes it, the session did not"
    if mode == GONE:
        if not _has_recorded_lines(entry, staged, blob):
            return _NONE, "the session deleted another content"
        return _mark_content(b"deleted"), "the session deleted it"
    texts = None
    if old and new and old != new:
        texts = read_texts(staged, blob)
    if texts and not find_added_lines(*texts) and _has_recorded_lines(entry, staged, blob):
        return _mark_content(b"deleted"), "part of what the session deleted"
    return _NONE, "the session deleted it, the commit does not"


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
    lines = Lines(work, change) if work and change else None
    return lines is None or not lines.work_removed.isdisjoint(lines.removed)


def _explain_common(lines: Lines) -> Shared:
    """What the change of a text has in common with an edit of it, if that is evidence."""
    added = lines.added
    recorded = lines.work_added
    removed = lines.removed
    recorded_removed = lines.work_removed
    common = frozenset(added & recorded)
    if is_contained(added, recorded):
        return common, "every line the commit adds was recorded"
    if is_contained(recorded, added):
        return common, "every line of the record is in the commit"
    if has_enough_in_common(added, lines.awaited, lines.is_long):
        return common, "significant lines in common with the record"
    common = frozenset(b"\0" + line for line in removed & recorded_removed)
    if common and not added and removed <= recorded_removed:
        return common, "every line the commit removes was removed in the record"
    if common and not recorded and is_contained(recorded_removed, removed):
        return common, "every line the record removes is removed in the commit"
    if lines.are_same:
        place = lines.find_place()
        if place:
            return _mark_content(place), "lines that the file had before, at the recorded place"
    return _NONE, "other lines than recorded"


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
    old_mode, old, *_ = staged
    whole: Recorded = {**entry, "before": (old_mode, old) if old else None}
    whole.pop("own", None)
    return is_any(hold([whole], Change({entry["path"]: staged}, blob)))


def pair_moves(
    entries: Iterable[Recorded], staged: Changes, blob: Blob, gone: Gone
) -> Iterator[tuple[str, str, frozenset[bytes]]]:
    """Pair recorded paths that the commit lacks with new files that have their content: (recorded
    path, new path, what they have in common).  A file that the commit moves from another path has
    what that had already."""
    new = {path: c for path, c in staged.items() if c[0] == GONE and c[2] in REGULAR and c[3]}
    whole = Change(staged, blob)
    for entry in entries:
        path = entry["path"]
        oid = entry["oid"]
        change = staged.get(path)
        unchanged = change and change[1] == oid  # the parent's content: no evidence
        if oid is None or unchanged or entry.get("mode", REGULAR[0]) not in REGULAR:
            continue
        targets = [target for target in new if new[target][3] == oid]
        if not targets and len(new) <= _MOST_NEW and _is_gone(entry, change, blob, gone):
            targets = [*new]
        old = change[:2] if change else (GONE, None)
        for target in targets:
            common = _compare_moved(entry, (*old, *new[target][2:]), blob)
            if common and whole.steps[target][1] not in ("", path):
                common = _compare_moved(entry, whole.steps[target][0], blob)
            if common:
                yield path, target, common


def pair_renamed(
    entries: Iterable[Recorded], staged: Changes, blob: Blob, gone: Gone
) -> Iterator[tuple[str, str, frozenset[bytes]]]:
    """Pair recorded paths that are gone with the files that the commit changes and that were
    renamed from them before: (recorded path, path now, what the changes have in common).

    The commit has all of the work or two distinctive lines, since names and contents only resemble
    each other."""
    change = Change({path: c for path, c in staged.items() if c[1] and c[3]}, blob, gone)
    away = [entry for entry in entries if entry["path"] not in staged and entry.get("before")]
    if len(change.changes) <= _MOST_NEW:
        for entry in away:
            held = hold([entry], change)
            weight = sum(held["common"].values())
            if weight >= DISTINCTIVE or (weight and held["is_all_work"]):
                [target] = {path for path, _ in held["common"]}
                yield entry["path"], target, frozenset(unit for _, unit in held["common"])


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
    if change[1] == new or not _is_same_file(old, new, True, blob):
        return frozenset()
    if old == new:
        return _mark_content(new.encode())
    return compare_changes(entry, change, blob)[0]


# What of an edit is left, in a commit or in the worktree.


def is_moved(oid: str, committed: Changes, blob: Blob) -> bool:
    """Whether a commit has a recorded content, or all its lines, as a new file."""
    new = {to: mode for old, _, mode, to in committed.values() if old == GONE and to}
    if oid in EMPTY or oid in new or len(new) > _MOST_NEW:
        return oid not in EMPTY and oid in new
    return any(mode in REGULAR and _has_all_lines(oid, to, blob) for to, mode in new.items())


def _has_all_lines(oid: str, new: str, blob: Blob) -> bool:
    recorded = blob(oid)
    content = blob(new)
    if recorded is None or content is None or not holds_change(content, b"", recorded):
        return False
    return _is_renamed(find_added_lines(None, content), find_added_lines(None, recorded))


def has_all_changes(recorded: Entry, base: Version, change: Staged, blob: Blob) -> bool:
    """Whether a commit has all recorded lines, although a person or a formatter changed the file
    further before it."""
    _, _, mode, new = change
    is_known = base is None or base[0]
    work = None
    if is_known:
        work = read_texts(build_change(base, recorded), blob)
    content = blob(new) if new and mode in REGULAR else None
    return work is not None and content is not None and holds_change(content, *work)


def has_rest_elsewhere(entry: Recorded, committed: Changes, head: Version, blob: Blob) -> bool:
    """Whether a commit has all of an edit, some of its lines in other files.  head: what it has at
    the path."""
    change = Change(committed, blob, find_old=lambda _: head)
    held = None
    if change.may_bring():
        held = hold([entry], change)
    if held is None or not (held["is_all_work"] and is_any(held)):
        return False
    return any(path != entry["path"] for path, _ in held["common"])


def holds_change(content: bytes, base: bytes, tip: bytes) -> bool:
    """Whether a text has all lines that a change from base to tip added, and none that it removed,
    white space aside; False for binary content and for a change of no line."""
    if any(map(is_binary, (content, base, tip))):
        return False
    lines = Lines((base, tip), (base, content), ignores_space=True)
    is_all = lines.work_added <= lines.added and lines.work_removed <= lines.removed
    return is_all and bool(lines.work_added or lines.work_removed)


def has_line(work: Sequence[bytes | None], change: Sequence[bytes | None]) -> bool:
    """Whether a change of a text adds a line that an edit added, or removes one that it removed,
    white space aside.

    True for binary content, and for an edit without a meaningful line: two sessions share the file,
    and in doubt the commit belongs to both.  None: there is no file."""
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

    hold() does not tell: here any line that is left counts, a brace too.  One added line is enough;
    if the change only removed lines, all of them must be absent.  Binary content, and a change that
    adds and removes no line, must be the same bytes.  None: there is no file.  mode: `exact`, or
    `fuzzy`, where runs of white space count as one space.
    """
    if tip is None or worktree is None:
        return tip is worktree
    if any(is_binary(data) for data in (base or b"", tip, worktree)):
        return tip == worktree
    sets = [find_added_lines(None, data) for data in (base, tip, worktree)]
    if mode == "fuzzy":
        verdict = _compare_line_sets(*({b" ".join(s.split()) for s in x} for x in sets))
        if verdict is not None:
            return verdict
    verdict = _compare_line_sets(*sets)  # in fuzzy mode: the agent changed white space only
    return tip == worktree if verdict is None else verdict


def _compare_line_sets(base: set[bytes], tip: set[bytes], worktree: set[bytes]) -> bool | None:
    new = tip - base
    if new:
        return not new.isdisjoint(worktree)
    gone = base - tip
    if gone:
        return gone.isdisjoint(worktree)
    return None


# Choose among several candidates for a link.


def choose_candidate(candidates: Sequence[Mapping[str, Evidence]]) -> list[str]:
    """The checkpoint ids, in order, of the candidates that explain a commit best.

    A candidate maps its ids to the evidence for each.  A candidate without an id of another one is
    left out if the other has all of its evidence; if their evidence is the same, both are.
    """
    evidence = [set().union(*candidate.values()) for candidate in candidates]
    ids: dict[str, None] = {}
    for own, candidate in zip(evidence, candidates, strict=True):
        rivals = (n for n, c in enumerate(candidates) if c.keys().isdisjoint(candidate))
        if own and not any(own <= evidence[n] for n in rivals):
            ids |= dict.fromkeys(candidate)
    return list(ids)
