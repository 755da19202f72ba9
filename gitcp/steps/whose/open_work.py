"""Whose work the worktrees have that their HEAD lacks, and whose the entries of `git stash` hold.

Git's trees say what differs; the recorded edits only say whose it is.  Whatever tells of
uncommitted or stashed work asks this.
"""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.errors import Error
from gitcp.git import encode_name, refs
from gitcp.git.objects import Lookup, compare_trees, find_tree
from gitcp.lines import uncommitted
from gitcp.lines.edit_lines import Edits
from gitcp.record import journal, looks
from gitcp.record.journal import credit, cuts, held_lines
from gitcp.record.journal.edits import list_open_paths_in
from gitcp.record.journal.line_kinds import Edit
from gitcp.record.snapshot import scan
from gitcp.steps.whose import parts
from gitcp.steps.whose.committed import Committed
from gitcp.steps.whose.path_history import (
    PathChange,
    PathHistory,
    PathTexts,
    get_last_mode_edit,
    get_writer,
    read_text,
)
from gitcp.text import value_class
from gitcp.text.ids import REGULAR, UNKNOWN, build_change
from gitcp.text.line_evidence import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Version, Writer

_LARGEST = 1 << 20  # bytes of a file that is read to divide its lines


@value_class
class Home:
    """A session, and git's names of the worktrees in which it is."""

    session_id: str
    worktrees: list[str]


@value_class
class OpenWork:
    """The uncommitted work of sessions.

    places: worktree id -> path -> the sessions whose work is there."""

    places: dict[str, dict[str, set[str]]]

    def map_places(self, session_id: str) -> dict[str, list[str]]:
        """worktree id -> the paths with work of a session; no worktree without one."""
        found: dict[str, list[str]] = {}
        for name, sessions in self.places.items():
            paths = sorted(path for path, ids in sessions.items() if session_id in ids)
            if paths:
                found[name] = paths
        return found

    def list_paths(self, session_id: str) -> list[str]:
        """The paths with work of a session in any worktree."""
        return sorted({path for paths in self.map_places(session_id).values() for path in paths})


def read_open_work(repo: Repo, homes: Sequence[Home]) -> OpenWork:
    """The work in this worktree, and in those of sessions.  Nothing is written."""
    work = OpenWork({})
    if repo.top:
        work.places[repo.worktree_id] = _divide_here(repo)
    for home in homes:
        for name in home.worktrees:
            if name not in work.places:
                work.places[name] = _divide_elsewhere(repo, name, homes)
    return work


def set_files(repo: Repo, records: Sequence[Any]) -> OpenWork:
    """Set `files_touched` of states, or of records of them, to the paths of uncommitted work."""
    readable = [record for record in records if not record.get("unreadable")]
    homes = [
        Home(record["session_id"], [record.get("worktree_id") or "", *record.get("visits", ())])
        for record in readable
    ]
    if homes:
        work = read_open_work(repo, homes)
    else:
        work = OpenWork({})
    for record in readable:
        if "turns" not in record and not record.get("streams"):
            continue  # of the original program, which has its own list
        record["files_touched"] = work.list_paths(record["session_id"])
        if not record["files_touched"]:
            del record["files_touched"]
    return work


def map_stashed(repo: Repo) -> dict[str, list[str]]:
    """The commit of each entry of `git stash` -> the sessions whose work it has."""
    found: dict[str, list[str]] = {}
    divider: _Divider | None = None
    for oid in refs.list_stashes(repo):
        divider = divider or _Divider(repo, journal.read_journal(repo))
        base = find_tree(repo.objects, f"{oid}^1")
        changes = _compare(repo, base, find_tree(repo.objects, oid))
        untracked = find_tree(repo.objects, f"{oid}^3")
        if untracked:
            changes |= _compare(repo, None, untracked)
        divided = divider.divide(base, changes, is_past=True)
        found[oid] = sorted(set[str]().union(*divided.values()))
    return found


def _compare(repo: Repo, old: str | None, new: str | None) -> dict[str, PathChange]:
    """path -> its entries in two trees, where they differ."""
    changes: dict[str, PathChange] = {}
    for path, before, after in compare_trees(repo.objects, old, new):
        changes[path] = PathChange(before, after)
    return changes


def _divide_here(repo: Repo) -> dict[str, set[str]]:
    """path -> the sessions whose work differs from HEAD in this worktree."""
    copy = journal.copy_journal(repo)
    if not credit.list_edits(copy.lines):
        return {}  # nothing was recorded here
    try:
        found = scan.scan_worktree(repo)
        entries = scan.resolve_changes(repo.objects, found, write=False, caches=False)
    except Error as e:
        git.append_trace("open work", str(e))
        return _divide_paths(repo)
    _hold_contents(repo, entries)
    head = found.head or refs.get_zeros(repo)
    looks.record_differences(copy, head, entries, time.time_ns(), write=False)
    committed = Committed(repo, found.head)
    changes: dict[str, PathChange] = {}
    paths = {**entries, **committed.merged}
    for path in paths:
        if path.startswith(scan.OURS):
            continue
        old = committed.find(path)
        if path in entries:
            new = entries[path]
        else:
            new = committed.find_in_head(path)
        if old != new:
            changes[path] = PathChange(old, new)
    return _Divider(repo, copy.lines).divide(committed.tree, changes)


def _divide_elsewhere(repo: Repo, name: str, homes: Sequence[Home]) -> dict[str, set[str]]:
    """_divide_here() in another worktree.  Of one that is gone, what its sessions had open."""
    other = journal.find_worktree(repo, name)
    if other:
        return _divide_paths(other)
    sessions: dict[str, set[str]] = {}
    for home in homes:
        for path in list_open_paths_in(repo, name, home.session_id):
            sessions.setdefault(path, set()).add(home.session_id)
    return sessions


def _divide_paths(repo: Repo) -> dict[str, set[str]]:
    """_divide_here() at the paths of recorded edits alone, without asking git."""
    copy = journal.copy_journal(repo)
    edits = credit.list_edits(copy.lines)
    paths = sorted({line.path for line in edits if line.is_kept})
    try:
        entries = scan.read_paths(repo, paths, write=False, caches=False)
    except Error as e:
        git.append_trace("open work", str(e))
        return {}
    committed = Committed(repo, refs.read_head(repo))
    changes: dict[str, PathChange] = {}
    for path, entry in entries.items():
        old = committed.find(path)
        if old != entry:
            changes[path] = PathChange(old, entry)
    _hold_contents(repo, {path: change.new for path, change in changes.items()})
    looks.record_paths(copy, list(changes), time.time_ns(), write=False)
    return _Divider(repo, copy.lines).divide(committed.tree, changes)


def _hold_contents(repo: Repo, entries: Mapping[str, Version]) -> None:
    """Have the contents in memory that no object has yet."""
    held = repo.objects.packs.list_held([entry[1] for entry in entries.values() if entry])
    for path, entry in entries.items():
        if entry is None or entry[0] not in REGULAR or entry[1] in held:
            continue
        try:
            full = os.path.join(os.fsencode(repo.worktree), encode_name(path))
            if os.lstat(full).st_size > _LARGEST:
                continue
            with open(full, "rb") as file:
                data = uncommitted.convert_content(repo, path, entry[1], file.read())
        except OSError:
            continue  # it has just gone
        repo.objects.ahead.hold(entry[1], "blob", data)


class _Divider:
    """Finds whose work a change of a path is, by the recorded edits."""

    def __init__(self, repo: Repo, lines: list[JournalLine]) -> None:
        """lines: of the journal of the worktree."""
        self._repo = repo
        self._lines = lines
        self._edits = Edits(repo.objects, lines)
        self._was_cut = len(cuts.find_since_cut(lines).lines) < len(lines)
        self._every: Edits | None = None
        self._earlier: dict[int, Edits] = {}  # the number of its last line -> the edits

    def divide(
        self, base: str | None, changes: Mapping[str, PathChange], is_past: bool = False
    ) -> dict[str, set[str]]:
        """path -> the sessions whose work the changes from a tree have there; only paths with one.

        is_past: the changes were made and taken away: later edits say nothing of them."""
        lookup = Lookup(self._repo.objects, base)
        ends: dict[str, int] = {}
        if is_past:
            ends = self._find_ends(changes)
        found: dict[str, set[str]] = {}
        for path, change in changes.items():
            edits = self._edits
            if path in ends:
                edits = self._read_until(ends[path])
            elif ends and change.new is None:
                edits = self._read_until(max(ends.values()))
            sessions = self._list_sessions(edits, lookup, path, change)
            if sessions:
                found[path] = sessions
        return found

    def _find_ends(self, changes: Mapping[str, PathChange]) -> dict[str, int]:
        """path -> the number of the last line that led to the content which it gets, or, if no look
        saw that, of the one before the content from which it begins came back in the place of the
        most alike."""
        ends: dict[str, int] = {}
        returns: dict[str, list[int]] = {}
        for n, line in enumerate(self._lines):
            if not isinstance(line, Edit):
                continue
            change = changes.get(line.path)
            if change is None or change.new is None:
                continue
            after = line.after
            if after == change.new:
                ends[line.path] = n
            elif after == change.old and line.how == credit.RESTORED:
                returns.setdefault(line.path, []).append(n)
        for path, numbers in returns.items():
            if path not in ends:
                ends[path] = self._choose_return(numbers, changes[path].new) - 1
        return ends

    def _choose_return(self, numbers: Sequence[int], content: Version) -> int:
        """The last of some lines that took a content away which has the most lines of this one."""
        wanted = set(self._read_lines(content))

        def count_common(n: int) -> int:
            line = self._lines[n]
            before = line.before if isinstance(line, Edit) else None
            return len(wanted.intersection(self._read_lines(before)))

        return max(reversed(numbers), key=count_common)

    def _read_lines(self, entry: Version) -> list[bytes]:
        return split_lines(read_text(self._repo.objects, entry) or b"")

    def _read_until(self, end: int) -> Edits:
        """The edits up to a line of the journal."""
        if end not in self._earlier:
            self._earlier[end] = Edits(self._repo.objects, self._lines[: end + 1])
        return self._earlier[end]

    def _list_sessions(self, edits: Edits, base: Lookup, path: str, change: PathChange) -> set[str]:
        if not self._was_cut and edits.is_persons_alone(path):
            return set()
        history = PathHistory(edits, path)
        writers = history.list_run_writers(change)
        if writers is None and self._was_cut:
            edits = self._read_every()
            history = PathHistory(edits, path)
            writers = history.list_run_writers(change)
        if writers is None or not _is_sure(history, writers):
            lines = _Lines(self._repo.objects, edits, history)
            writers = lines.list_writers(change, base)
        writers |= history.list_brought(change, base)
        return {who[0] for who in writers if who[0]}

    def _read_every(self) -> Edits:
        """The edits of the journal, and those that were cut from it."""
        if self._every is None:
            every = held_lines.unite_edits(self._repo, credit.list_edits(self._lines))
            self._every = Edits(self._repo.objects, every)
        return self._every


def _is_sure(history: PathHistory, writers: set[Writer]) -> bool:
    """Whether what these made has no lines of others."""
    if len(writers) > 1 or UNKNOWN in writers:
        return False
    return not history.may_be_back(writers)


class _Lines:
    """Finds who made a change of a path, by its lines."""

    def __init__(self, objects: Objects, edits: Edits, history: PathHistory) -> None:
        self._objects = objects
        self._edits = edits
        self._history = history

    def list_writers(self, change: PathChange, base: Lookup) -> set[Writer]:
        """Who made a change.  base: the tree that it begins from."""
        history = self._history
        if not history.chain:
            return set()
        if change.new is None:
            return self._list_removers()
        move = None
        if change.old is None:
            move = history.find_move(base)
        if move:
            writers = self._divide(PathChange(move.entry, change.new))
            return {move.mover, *writers}
        return self._divide(change)

    def _divide(self, change: PathChange) -> set[Writer]:
        """list_writers() of a file that is there."""
        history = self._history
        old_text = read_text(self._objects, change.old)
        new_text = read_text(self._objects, change.new)
        if old_text is None or new_text is None:
            return {history.find_last_writer()}
        creator = UNKNOWN
        if change.old is None:
            creator = history.find_creator()
            if not new_text:
                return {creator}
        first = self._edits.get_content(*(change.old or ("", "")))
        self._edits.read_ahead({history.path: build_change(change.old, change.new)})
        texts = PathTexts(old_text, new_text)
        operations = history.list_operations(change, texts, creator, first)
        writers = {operation.who for operation in operations if operation.kind != parts.KEPT}
        if change.old and change.new and change.old[0] != change.new[0]:
            setter = get_last_mode_edit(history.chain)
            if setter:
                writers.add(get_writer(setter))
        return writers

    def _list_removers(self) -> set[Writer]:
        """Who deleted the file, whatever has come and gone since by git's commands."""
        for line in reversed(self._history.chain):
            if line.after is None and get_writer(line) != UNKNOWN:
                return {get_writer(line)}
        return set()
