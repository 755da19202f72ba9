"""What a commit changes, to be compared with some work, and which of its files are which of the
work's."""

from __future__ import annotations

from gitcp.record.match.units import count_units, read_texts
from gitcp.text import file_moves
from gitcp.text.ids import GONE, is_binary
from gitcp.text.line_evidence import find_added_lines, select_significant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.text.record_types import Blob, Staged, Version

    Changes = Mapping[str, Staged]
    Gone = Callable[[str], bool]
    Find = Callable[[str], Version]

MOST_SEARCHED = 40  # files of a commit that are searched for lines of other files
RENAMED = 2  # the half of either text, as git decides that a file was renamed
_TELLING = 2  # significant lines that a renamed file has at least


class PathStep:
    """The change of a path.  source: the name that the file had before, '' for the same one."""

    __slots__ = ("source", "staged")

    def __init__(self, staged: Staged, source: str = "") -> None:
        self.staged = staged
        self.source = source


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
        self._find_old = find_old
        self._steps: dict[str, PathStep] | None = None

    @property
    def steps(self) -> dict[str, PathStep]:
        """The changes by path, moved files under their new names."""
        if self._steps is None:
            self._steps = build_steps(self.changes, self.blob)
        return self._steps

    def may_bring(self) -> bool:
        """Whether lines of other files are looked for in it."""
        return self._find_old is not None and 0 < len(self.changes) <= MOST_SEARCHED

    def read_old(self, path: str) -> bytes | None:
        """The text of a path in the parent; None for binary content, and if it is not known."""
        if path in self.changes:
            mode, oid, _, _ = self.changes[path]
            return self._read_text(mode, oid)
        entry = None
        if self._find_old is not None:
            entry = self._find_old(path)
        if entry is None:
            return b""
        return self._read_text(*entry)

    def read_new(self, path: str) -> bytes | None:
        """The same in the commit."""
        if path not in self.changes:
            return self.read_old(path)
        _, _, mode, oid = self.changes[path]
        return self._read_text(mode, oid)

    def _read_text(self, mode: str, oid: str | None) -> bytes | None:
        texts = read_texts((mode, oid, GONE, None), self.blob)
        return texts.before if texts else None

    def count_units(self, most: int) -> int:
        """The number of its units; a number above most tells no more than that."""
        total = 0
        for step in self.steps.values():
            total += count_units(step.staged, self.blob)
            if total > most:
                break
        return total

    def may_hold(self, paths: Iterable[str]) -> bool:
        """Whether it has one of these paths, or a file that may be one under another name."""
        for _, old, _, _ in self.changes.values():
            if old is None:
                return True
        return any(path in self.changes or self.is_gone(path) for path in paths)


def build_steps(changes: Changes, blob: Blob) -> dict[str, PathStep]:
    """The changes by path; a file that was moved is changed from what it was under its former
    name, and nothing is deleted there."""
    deleted: dict[str, str] = {}
    created: dict[str, str] = {}
    for path, (_, old, _, new) in changes.items():
        if old and not new:
            deleted[path] = old
        elif new and not old:
            created[path] = new
    sources: dict[str, str] = {}
    if deleted and created:
        sources = find_moves(deleted, created, blob)
    moved = {*sources, *sources.values()}
    steps = {path: PathStep(staged) for path, staged in changes.items() if path not in moved}
    for path, source in sources.items():
        old_mode, old_oid, _, _ = changes[source]
        _, _, mode, oid = changes[path]
        steps[path] = PathStep((old_mode, old_oid, mode, oid), source)
    return steps


class Pairing:
    """Which files of a commit are those of some work.

    paths: path of the work -> the same file's path in the commit.  similar: the commit's new files
    that resemble one of the work."""

    __slots__ = ("_change", "_mine", "paths", "similar")

    def __init__(self, mine: Mapping[str, PathStep], change: Change) -> None:
        """mine: the changes of the work, by path."""
        self._mine = mine
        self._change = change
        self.paths: dict[str, str] = {}
        self.similar: list[str] = []
        self._pair_names()
        self._pair_renamed()
        self._pair_new_files()

    def _pair_names(self) -> None:
        """Pair what has one name in both, also the one that it had before the commit moved it."""
        theirs = self._change.steps
        moved_to = {step.source: path for path, step in theirs.items() if step.source}
        for path in self._mine:
            if path in theirs:
                self.paths[path] = path
            elif path in moved_to:
                self.paths[path] = moved_to[path]

    def _pair_renamed(self) -> None:
        """Pair what was renamed between the work and the commit: it stands there no more."""
        changed: dict[str, str] = {}
        for path, (_, old, _, _) in self._list_free().items():
            if old:
                changed[path] = old
        if not changed:
            return
        removed: dict[str, str] = {}
        for path, (_, old, _, _) in self._list_left().items():
            if old and self._change.is_gone(path):
                removed[path] = old
        if removed:
            for target, path in find_moves(removed, changed, self._change.blob).items():
                self.paths[path] = target

    def _pair_new_files(self) -> None:
        """Pair what the work left under one name with what the commit adds under another."""
        blob = self._change.blob
        made: dict[str, str] = {}
        for path, (_, _, _, new) in self._list_left().items():
            if new:
                made[path] = new
        if not made:
            return
        added: dict[str, str] = {}
        for path, (_, old, _, new) in self._list_free().items():
            if new and not old:
                added[path] = new
        for target, path in find_moves(made, added, blob).items():
            self.similar.append(target)
            if is_same_file(made[path], added[target], self._change.is_gone(path), blob):
                self.paths[path] = target

    def _list_left(self) -> dict[str, Staged]:
        """The changes of the work that have no file in the commit yet."""
        return {path: step.staged for path, step in self._mine.items() if path not in self.paths}

    def _list_free(self) -> dict[str, Staged]:
        """The changes of the commit that no file of the work has."""
        taken = set(self.paths.values())
        theirs = self._change.steps
        return {path: step.staged for path, step in theirs.items() if path not in taken}


def find_moves(
    deleted: Mapping[str, str], created: Mapping[str, str], blob: Blob
) -> dict[str, str]:
    """new path -> the path it was moved from.  deleted, created: path -> oid."""
    return file_moves.find_moves(deleted, created, lambda oid: (blob(oid) or b"").split(b"\n"))


def is_same_file(old: str, new: str, is_gone: bool, blob: Blob) -> bool:
    """Whether a new file under another name tells that it is a recorded one.  is_gone: whether that
    stands there no more."""
    recorded = blob(old)
    content = blob(new)
    if recorded is None or content is None:
        return False
    lines = find_added_lines(None, recorded)
    if old == new:
        return is_binary(recorded) or bool(select_significant(lines))
    return is_gone and is_renamed(find_added_lines(None, content), lines)


def is_renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Whether a new file, by its lines, is a moved one."""
    mine = select_significant(mine)
    recorded = select_significant(recorded)
    common = len(mine & recorded)
    return common >= _TELLING and common * RENAMED >= max(len(mine), len(recorded))
