"""Say what of a piece of work a change holds, and whether that is enough
(doc/behaviour.md "Evidence in proportion").

Whoever asks "does this change hold that work?" has hold() compare them, and decides by one of:

| enough | for whom | since |
|---|---|---|
| `paths`: a file of it | git names both | an amend or a fixup may have other lines |
| is_any(): a line of it | a person names both, or both are of one session | no other is meant |
| explain_enough() | a search found both | they may be anybody's |
| is_same() | a search found the branch of one | so much is not made twice |
| `is_all_work`, `is_all_change` | whether nothing is left | in doubt something is |

`open_edits` asks it of an edit that was never committed: it may lie in parts at other commits, and
what it was made on may be unknown.  They compare the same lines.
"""

from __future__ import annotations

from gitcp.record.match.change import Pairing, PathStep, build_steps
from gitcp.record.match.units import Sides, compare, count_units, read_texts
from gitcp.text import value_class
from gitcp.text.carry import changes
from gitcp.text.carry.changes import Written
from gitcp.text.ids import GONE, REGULAR, build_change, remove_space
from gitcp.text.line_evidence import (
    find_added_lines,
    has_no_lines,
    is_meaningful,
    is_significant,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from gitcp.record.match.change import Change
    from gitcp.text.record_types import Blob, Recorded, Staged

    Common = dict[tuple[str, bytes], int]  # (path in the commit, unit) -> its weight
    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

# The thresholds, each with its reason.
DISTINCTIVE = 2  # lines in common: one equal line is written, or removed, by two people any day
SHARE = 10  # the tenth part of the smaller change: in a large one two lines are equal by chance
RAISED = 2  # its half, of another author or of a commit with an id of its own: they have a reason
WHOLE = 3  # lines of a whole change that another author makes too: fewer are made by two people
# How a commit is related to the one whose work is searched for.
REPLAYED = "replayed"  # author and time are equal: git copies a commit so
RETAKEN = "retaken"  # git or a person names that commit, or HEAD lost it and its author commits
SAME = "same"  # the author is the same
OTHER = "other"  # the author is another one, or the commit has an id of its own


@value_class
class Held:
    """What of a piece of work a commit has.

    paths: the files of the work that the commit has, under its names.  work: how many units the
    work has that the commit could have.  is_all_work, is_all_change: whether the commit has all of
    the work, and whether it has nothing else."""

    paths: set[str]
    common: Common
    work: int
    is_all_work: bool
    is_all_change: bool


def is_any(held: Held) -> bool:
    """Whether a commit has anything of a piece of work, braces and the like aside."""
    return any(is_meaningful(unit) for _, unit in held.common)


def is_same(held: Held) -> bool:
    """Whether a commit has all of a piece of work and nothing else, and that tells of it."""
    is_telling = sum(held.common.values()) >= DISTINCTIVE
    return is_telling and held.is_all_work and held.is_all_change


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
    if relation == RETAKEN and (held.is_all_work or held.is_all_change):
        return "all of the work, or nothing else"
    if relation == OTHER:
        weights = _list_weights(held.common)
    else:
        weights = [*held.common.values()]
    is_distinctive = sum(weights) >= DISTINCTIVE
    is_telling = relation != OTHER or is_distinctive or len(weights) >= WHOLE
    if is_telling and is_equal():
        return "the same change as a whole"
    if is_distinctive and _is_share(held, change, relation, together):
        return "distinctive lines, and a share of the change"
    return ""


def _list_weights(common: Common) -> list[int]:
    """The weights of what tells that another author made a change again: a line that a common one
    replaces tells no more than that one."""
    replaced = {path for path, unit in common if unit.startswith(b"+")}
    weights: list[int] = []
    for (path, unit), weight in common.items():
        if path not in replaced or not unit.startswith(b"-"):
            weights.append(weight)
    return weights


def _is_share(held: Held, change: Change, relation: str, together: int) -> bool:
    """Whether a commit has enough of a piece of work beside what else is in either."""
    size = len(held.common)
    count = change.count_units(max(held.work, size * SHARE))
    smaller = min(held.work, count)
    if relation != OTHER:
        return size * SHARE >= smaller
    larger = max(held.work, count)
    return size * RAISED >= smaller and max(size, together) * SHARE >= larger


def hold(work: Iterable[Recorded], change: Change, without: Iterable[Change] = ()) -> Held:
    """What of a piece of work a commit has.  without: commits whose part of it does not count."""
    entries = {entry["path"]: entry for entry in work}
    if not (change.may_hold(entries) or change.may_bring()):
        return Held(set(), {}, 0, is_all_work=True, is_all_change=True)
    comparison = _Comparison(entries, change)
    taken: set[tuple[str, bytes]] = set()
    for other in without:
        for part in comparison.compare(other, Pairing(comparison.steps, other)):
            for _, unit in part.common:
                taken.add((part.path, unit))
    pairing = Pairing(comparison.steps, change)
    parts = comparison.compare(change, pairing)
    common: Common = {}
    paths = {*pairing.paths.values(), *pairing.similar}
    for part in parts:
        paths |= part.brought
        for (target, unit), weight in part.common.items():
            if (part.path, unit) not in taken:
                common[target, unit] = weight
    has_others = any(part.change_alone for part in parts)
    return Held(
        paths,
        common,
        work=sum(part.work for part in parts),
        is_all_work=not any(part.work_alone for part in parts),
        is_all_change=not has_others and change.steps.keys() <= {*pairing.paths.values()},
    )


class _Part:
    """What a commit has of the work at a path.

    target: the file's path in the commit, '' if it leaves the file.  work, work_alone,
    change_alone: as Sides has them.  brought: the paths of other files that have lines of it."""

    __slots__ = ("brought", "change_alone", "common", "path", "target", "work", "work_alone")

    def __init__(self, path: str, target: str, sides: Sides) -> None:
        self.path = path
        self.target = target
        self.work = sides.work
        self.work_alone = sides.work_alone
        self.change_alone = sides.change_alone
        self.common = {(target, unit): weight for unit, weight in sides.common.items()}
        self.brought: set[str] = set()

    def add_brought(self, target: str, lines: Iterable[bytes]) -> None:
        """Add lines that the commit has in another file."""
        self.brought.add(target)
        found: set[bytes] = set()
        for line in lines:
            bare = remove_space(line)
            self.common[target, b"+" + bare] = int(is_significant(line))
            found.add(bare)
        self.work_alone -= len(found)

    def list_added(self) -> set[bytes]:
        """The added lines that the commit has."""
        return {unit[1:] for _, unit in self.common if unit.startswith(b"+")}


class _Comparison:
    """Compares some work with commits.

    steps: the changes of the work by path; where a record does not say what it was made on, from
    what the commit's parent has."""

    __slots__ = ("_entries", "steps")

    def __init__(self, entries: Mapping[str, Recorded], change: Change) -> None:
        self._entries = entries
        made = {path: _get_change(entry, change) for path, entry in entries.items()}
        self.steps = build_steps(made, change.blob)

    def compare(self, change: Change, pairing: Pairing) -> list[_Part]:
        """What a commit has of each path of the work."""
        parts: list[_Part] = []
        for path, step in self.steps.items():
            target = pairing.paths.get(path, "")
            if target:
                own = self._entries[path].get("own")
                sides = _compare_steps(step, change.steps[target], own, change.blob)
            else:
                size = count_units(step.staged, change.blob)
                sides = Sides({}, size, size)
            parts.append(_Part(path, target, sides))
        if change.may_bring():
            self._add_brought(parts, change)
        return parts

    def _add_brought(self, parts: Iterable[_Part], change: Change) -> None:
        """Add the lines of the work that the commit has in other files."""
        searched: dict[Written, _Part] = {}
        for part in parts:
            entry = self._entries[part.path]
            if not part.work_alone or "before" not in entry:
                continue
            name = part.target or part.path
            staged = self.steps[part.path].staged
            work = _build_written(name, staged, entry.get("own"), change)
            if work:
                work.lose_to(change.read_new(name))
                work.lines.difference_update(part.list_added())
                searched[work] = part
        for brought in find_brought([*searched], change):
            searched[brought.work].add_brought(brought.target, brought.lines)


def _get_change(entry: Recorded, change: Change) -> Staged:
    """The change of a record; from what the commit's parent has if the record does not say."""
    new = None
    if entry["oid"]:
        new = (entry.get("mode") or REGULAR[0], entry["oid"])
    if "before" in entry:
        return build_change(entry["before"], new)
    old_mode, old, _, _ = change.changes.get(entry["path"], (GONE, None, GONE, None))
    before = None
    if old:
        before = (old_mode, old)
    return build_change(before, new)


def _compare_steps(
    own: PathStep, other: PathStep, lines: frozenset[bytes] | None, blob: Blob
) -> Sides:
    """Compare a change of the work with that of a commit; lines: the added ones that count."""
    sides = compare(own.staged, other.staged, lines, blob)
    sides.add_unit(_name_move(own), _name_move(other))
    return sides


def _name_move(step: PathStep) -> bytes:
    """The unit of a move; b"" for none."""
    if not step.source:
        return b""
    return b"\0moved " + step.source.encode(errors="surrogateescape")


# Lines of the work that a commit has in other files.


@value_class
class Brought:
    """Lines of some work that a commit has in another file, at target."""

    target: str
    work: Written
    lines: list[bytes]


def build_open(entry: Recorded, change: Change) -> Written | None:
    """The lines of an open edit that a commit may have in other files; None if there is none."""
    path = entry["path"]
    work = _build_written(path, _get_change(entry, change), entry.get("own"), change)
    if work is None:
        return None
    if path in change.changes:
        work.lose_to(change.read_new(path))
    elif "now" in entry:
        work.lose_to(read_file(change.blob, entry["now"]))
    return work


def _build_written(
    path: str, work: Staged, own: frozenset[bytes] | None, change: Change
) -> Written | None:
    """The lines that some work added to a file and that the commit's parent has not there; None if
    there is none.  path: of the file in the commit."""
    texts = None
    if work[3]:
        texts = read_texts(work, change.blob)
    if texts is None or has_no_lines(texts.after):
        return None
    old = remove_space(change.read_old(path) or b"")
    lines = find_added_lines(remove_space(texts.before), remove_space(texts.after))
    lines -= find_added_lines(None, old)
    if own is not None:
        lines.intersection_update(map(remove_space, own))
    if not lines:
        return None
    return Written(path, texts.after, lines)


def find_brought(
    works: Sequence[Written], change: Change, without: Container[str] = ()
) -> Iterator[Brought]:
    """Find lines of files in the other files of a commit.  without: paths that are not searched."""
    for path, step in change.steps.items():
        _, old, _, new = step.staged
        if path in without or not new or new == old:
            continue
        others = [work for work in works if work.path != path]
        texts = None
        if others:
            texts = read_texts(step.staged, change.blob)
        if texts is None or has_no_lines(texts.before) or has_no_lines(texts.after):
            continue
        found = changes.find_brought(others, (texts.before, texts.after))
        for number, lines in found.items():
            text = others[number].text
            yield Brought(path, others[number], [text.lines[line] for line in lines])


def read_file(blob: Blob, version: tuple[str, str | None] | None) -> bytes | None:
    """The content of a regular file; b"" for no file, None if it is missing."""
    if version and version[1] and version[0] in REGULAR:
        return blob(version[1])
    return b""


# Choose among several candidates for a link.


def choose_candidate(candidates: Sequence[Mapping[str, Evidence]]) -> list[str]:
    """The checkpoint ids, in order, of the candidates that explain a commit best.

    A candidate maps its ids to the evidence for each.  A candidate without an id of another one is
    left out if the other has all of its evidence; if their evidence is the same, both are.
    """
    evidence = [set[tuple[str, bytes]]().union(*candidate.values()) for candidate in candidates]
    ids: dict[str, None] = {}
    for own, candidate in zip(evidence, candidates, strict=True):
        if own and not _is_outdone(own, candidate, evidence, candidates):
            ids |= dict.fromkeys(candidate)
    return list(ids)


def _is_outdone(
    own: Evidence,
    candidate: Mapping[str, Evidence],
    evidence: Sequence[Evidence],
    candidates: Sequence[Mapping[str, Evidence]],
) -> bool:
    """Whether a rival, which has none of a candidate's ids, has all of its evidence."""
    for other, rival in zip(evidence, candidates, strict=True):
        if own <= other and rival.keys().isdisjoint(candidate):
            return True
    return False
