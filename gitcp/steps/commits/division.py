"""The part of a path's change that some authors made (doc/behaviour.md "Staging a part")."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from gitcp.git.objects import find_file
from gitcp.steps.whose import lineage, parts
from gitcp.steps.whose.path_history import PathChange, PathTexts, get_writer, read_text
from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.line_evidence import split_lines
from gitcp.text.pairing import find_changed_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.objects import Lookup, Objects
    from gitcp.lines.edit_lines import Edits
    from gitcp.steps.commits.selection import Selection
    from gitcp.steps.whose.parts import Operation
    from gitcp.steps.whose.path_history import Move, PathHistory
    from gitcp.text.record_types import Entry, Record, Version, Writer


# `make generate` writes the comments of a type's keys into the manual and the schema.
@dataclass(slots=True)
class Left:
    """What is left out."""

    path: str
    first: int  # its first line in the worktree, or if lines only go, in what is staged; or 0
    last: int  # likewise its last line; both are 0 for a whole file
    authors: list[str]  # the sessions that wrote it, empty for no agent
    needs: list[str]  # those whose lines it needs

    def make_record(self, kind: str) -> Record:
        """It as a record of a type."""
        return {"type": kind, **asdict(self)}


@dataclass(slots=True)
class Part:
    """What becomes of a path."""

    path: str
    old: Version  # its entry in the index before
    new: Version  # the one after
    added: int  # the number of lines
    removed: int  # likewise

    def make_record(self) -> Record:
        """It as a record."""
        return {"type": "part", **asdict(self)}


@dataclass(slots=True)
class Division:
    """What becomes of paths, and what is left out of it: lines that others have replaced too, lines
    that need lines of others, and sentences about paths."""

    parts: list[Part] = field(default_factory=list)
    overlaps: list[Left] = field(default_factory=list)
    needs: list[Left] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def has_left(self) -> bool:
        """Whether lines are left out."""
        return bool(self.overlaps or self.needs)


@dataclass(slots=True, frozen=True)
class Extra:
    """What is taken beside the selected work: lines that others have replaced too, and lines of
    others that it needs."""

    overlaps: bool = False
    needed: bool = False


class PathDivision:
    """Divides the change of one path.  overlaps, needs: what choose_entry() has left out."""

    def __init__(
        self,
        objects: Objects,
        edits: Edits,
        base: Lookup,
        history: PathHistory,
        selection: Selection,
        extra: Extra,
    ) -> None:
        """base: the tree that all changes begin from.  selection: whose work is taken."""
        self._objects = objects
        self._edits = edits
        self._base = base
        self._history = history
        self._path = history.path
        self._has = selection.has
        self._extra = extra
        self.overlaps: list[Left] = []
        self.needs: list[Left] = []

    def choose_entry(self, change: PathChange) -> Version:
        """The entry of the path with the selected work alone."""
        history = self._history
        writers = history.list_run_writers(change)
        if writers and not history.may_be_back(writers):
            if all(self._has(who) for who in writers):
                return change.new
            if not any(self._has(who) for who in writers):
                return change.old
        new = change.new
        if new is None:
            if self._has(history.find_last_writer()):
                return None
            return change.old
        old_text = read_text(self._objects, change.old)
        new_text = read_text(self._objects, new)
        if old_text is None or new_text is None:
            return self._choose_whole(change, writers or history.list_writers())
        data = self._divide_lines(change, PathTexts(old_text, new_text))
        if data is None:
            return change.old
        mode = self._choose_mode(change.old, new)
        return mode, self._objects.write("blob", data)

    def _choose_whole(self, change: PathChange, writers: set[Writer]) -> Version:
        """The entry of a path whose content cannot be divided."""
        chosen = [self._has(who) for who in writers or {PERSON}]
        if not any(chosen):
            return change.old
        if all(chosen) or self._extra.overlaps:
            return change.new
        authors = sorted({who[0] for who in writers})
        self.overlaps.append(Left(self._path, 0, 0, authors, []))
        return change.old

    def _divide_lines(self, change: PathChange, texts: PathTexts) -> bytes | None:
        """The text with the selected operations; None if there is no file with them."""
        if change.old is None:
            return self._divide_new_file(change, texts)
        parent = self._edits.get_content(*(find_file(self._base, self._path) or ("", "")))
        operations = self._history.list_operations(change, texts, UNKNOWN, parent)
        taken = self._choose_operations(operations, None)
        return self._build_content(operations, taken, texts)

    def _divide_new_file(self, change: PathChange, texts: PathTexts) -> bytes | None:
        """_divide_lines() of a file that is not staged."""
        move = self._history.find_move(self._base)
        if move:
            moved = read_text(self._objects, move.entry)
            if moved is not None:
                moved_change = PathChange(move.entry, change.new)
                return self._divide_moved(move, moved_change, PathTexts(moved, texts.new))
        creator = self._history.find_creator()
        if not texts.new:
            if self._has(creator):
                return b""
            return None
        parent = self._edits.get_content(*(find_file(self._base, self._path) or ("", "")))
        operations = self._history.list_operations(change, texts, creator, parent)
        taken = self._choose_operations(operations, creator)
        if not taken:
            return None
        return self._build_content(operations, taken, texts)

    def _divide_moved(self, move: Move, change: PathChange, texts: PathTexts) -> bytes | None:
        """_divide_new_file() of one that was moved.  change, texts: from what was moved."""
        parent = self._edits.get_content(*move.entry)
        operations = self._history.list_operations(change, texts, UNKNOWN, parent)
        has_move = self._has(move.mover)
        if not has_move and not self._extra.needed:
            run = [one for one in operations if one.kind != parts.KEPT and self._has(one.who)]
            if run:
                self.needs.append(_describe(self._path, run, [move.mover[0]]))
            return None
        taken = self._choose_operations(operations, None)
        if not has_move and not taken:
            return None
        return self._build_content(operations, taken, texts)

    def _choose_operations(
        self, operations: Sequence[Operation], creator: Writer | None
    ) -> set[int]:
        """The selected operations, by their numbers; takes note of those that are left out."""
        extra = self._extra
        choice = parts.choose_operations(
            operations, self._has, creator, extra.overlaps, extra.needed
        )
        self.overlaps += [_describe(self._path, group) for group in choice.overlaps]
        self.needs += [_describe(self._path, run, needs) for run, needs in choice.needs]
        return choice.taken

    def _build_content(
        self, operations: Sequence[Operation], taken: set[int], texts: PathTexts
    ) -> bytes:
        """The first of two texts with some of the operations that lead to the second."""
        old_end = texts.old.endswith(b"\n")
        new_end = texts.new.endswith(b"\n")
        takes_end = True
        if old_end != new_end:
            takes_end = self._has(self._history.find_end_writer(self._objects, new_end))
        return parts.build_content(operations, taken, (old_end, new_end), takes_end)

    def _choose_mode(self, old: Version, new: Entry) -> str:
        """The mode of a path whose content is divided."""
        for line in lineage.walk_back(self._history.chain):
            before = line.before
            after = line.after
            if before and after and before[0] != after[0]:
                if self._has(get_writer(line)):
                    return new[0]
                return (old or before)[0]
            if not before and not old:
                return new[0]
        if old is None or self._has(PERSON):
            return new[0]
        return old[0]


def count_lines(objects: Objects, path: str, change: PathChange) -> Part:
    """The whole change of a path."""
    before = split_lines(read_text(objects, change.old) or b"")
    after = split_lines(read_text(objects, change.new) or b"")
    removed, added = find_changed_lines(before, after)
    return Part(path, change.old, change.new, len(added), len(removed))


def _describe(path: str, run: Sequence[Operation], needs: Sequence[str] = ()) -> Left:
    lines = [one.at for one in run if one.kind == parts.ADDED]
    if not lines:
        lines = [one.at for one in run]
    authors = sorted({one.who[0] for one in run})
    return Left(path, min(lines), max(lines), authors, [*needs])
