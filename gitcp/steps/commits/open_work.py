"""Whose work the worktrees have that their HEAD lacks, and whose the entries of `git stash` hold.

Git's trees say what differs; the recorded edits only say whose it is.  Whatever tells of
uncommitted or stashed work asks this.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from gitcp import git
from gitcp.errors import Error
from gitcp.git import encode_name, refs
from gitcp.git.objects import Lookup, compare_trees, find_file, find_tree
from gitcp.lines.edit_lines import Edits
from gitcp.lines.uncommitted import convert_content
from gitcp.record import journal, looks
from gitcp.record.journal import credit, cuts, held_lines
from gitcp.record.journal.credit import parse_entry
from gitcp.record.journal.edits import list_open_paths_in
from gitcp.record.snapshot import scan
from gitcp.steps.commits import parts, stage
from gitcp.text.ids import REGULAR, UNKNOWN, build_change
from gitcp.text.line_replay import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.commits.stage import Change
    from gitcp.text.record_types import JournalLine, Version, Writer

_LARGEST = 1 << 20  # bytes of a file that is read to divide its lines


@dataclass(slots=True)
class Home:
    """A session, and git's names of the worktrees in which it is."""

    session_id: str
    worktrees: list[str]


@dataclass(slots=True)
class OpenWork:
    """The uncommitted work of sessions.

    places: worktree id -> path -> the sessions whose work is there."""

    places: dict[str, dict[str, set[str]]] = field(default_factory=dict)

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
    work = OpenWork()
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
        work = OpenWork()
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


def _compare(repo: Repo, old: str | None, new: str | None) -> dict[str, Change]:
    """path -> its entries in two trees, where they differ."""
    return {path: (before, after) for path, before, after in compare_trees(repo.objects, old, new)}


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
    tree = find_tree(repo.objects, found.head)
    committed = Lookup(repo.objects, tree)
    changes = {
        path: (find_file(committed, path), entry)
        for path, entry in entries.items()
        if not path.startswith(scan.OURS)
    }
    return _Divider(repo, copy.lines).divide(tree, changes)


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
    paths = sorted({line["path"] for line in edits if line.get("kept", True)})
    try:
        entries = scan.read_paths(repo, paths, write=False, caches=False)
    except Error as e:
        git.append_trace("open work", str(e))
        return {}
    head = refs.read_head(repo)
    tree = find_tree(repo.objects, head)
    committed = Lookup(repo.objects, tree)
    changes: dict[str, Change] = {}
    for path, entry in entries.items():
        old = find_file(committed, path)
        if old != entry:
            changes[path] = old, entry
    _hold_contents(repo, {path: new for path, (_, new) in changes.items()})
    looks.record_paths(copy, list(changes), time.time_ns(), write=False)
    return _Divider(repo, copy.lines).divide(tree, changes)


def _hold_contents(repo: Repo, entries: Mapping[str, Version]) -> None:
    """Have the contents in memory that no object has yet."""
    for path, entry in entries.items():
        if entry is None or entry[0] not in REGULAR or repo.objects.packs.has(entry[1]):
            continue
        try:
            full = os.path.join(os.fsencode(repo.worktree), encode_name(path))
            if os.lstat(full).st_size > _LARGEST:
                continue
            with open(full, "rb") as file:
                data = convert_content(repo, path, entry[1], file.read())
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
        recent, _ = cuts.find_since_cut(lines)
        self._was_cut = len(recent) < len(lines)
        self._every: Edits | None = None
        self._earlier: dict[int, Edits] = {}  # the number of its last line -> the edits

    def divide(
        self, base: str | None, changes: Mapping[str, Change], is_past: bool = False
    ) -> dict[str, set[str]]:
        """path -> the sessions whose work the changes from a tree have there; only paths with one.

        is_past: the changes were made and taken away: later edits say nothing of them."""
        lookup = Lookup(self._repo.objects, base)
        ends = self._find_ends(changes) if is_past else {}
        found: dict[str, set[str]] = {}
        for path, (old, new) in changes.items():
            edits = self._edits
            if path in ends:
                edits = self._read_until(ends[path])
            elif ends and new is None:
                edits = self._read_until(max(ends.values()))
            sessions = self._list_sessions(edits, lookup, path, (old, new))
            if sessions:
                found[path] = sessions
        return found

    def _find_ends(self, changes: Mapping[str, Change]) -> dict[str, int]:
        """path -> the number of the last line that led to the content which it gets, or, if no look
        saw that, of the one before the content from which it begins came back in the place of the
        most alike."""
        ends: dict[str, int] = {}
        returns: dict[str, list[int]] = {}
        for n, line in enumerate(self._lines):
            change = changes.get(line.get("path", ""))
            if change is None or change[1] is None:
                continue
            after = parse_entry(line.get("after"))
            if after == change[1]:
                ends[line["path"]] = n
            elif after == change[0] and line["how"] == credit.RESTORED:
                returns.setdefault(line["path"], []).append(n)
        for path, numbers in returns.items():
            if path not in ends:
                ends[path] = self._choose_return(numbers, changes[path][1]) - 1
        return ends

    def _choose_return(self, numbers: Sequence[int], content: Version) -> int:
        """The last of some lines that took a content away which has the most lines of this one."""
        wanted = set(self._read_lines(content))

        def count_common(n: int) -> int:
            before = parse_entry(self._lines[n]["before"])
            return len(wanted.intersection(self._read_lines(before)))

        return max(reversed(numbers), key=count_common)

    def _read_lines(self, entry: Version) -> list[bytes]:
        return split_lines(stage.read_text(self._repo.objects, entry) or b"")

    def _read_until(self, end: int) -> Edits:
        """The edits up to a line of the journal."""
        if end not in self._earlier:
            self._earlier[end] = Edits(self._repo.objects, self._lines[: end + 1])
        return self._earlier[end]

    def _list_sessions(self, edits: Edits, base: Lookup, path: str, change: Change) -> set[str]:
        history = _History(self._repo.objects, edits, path)
        writers = history.list_run_writers(change)
        if writers is None and self._was_cut:
            history = _History(self._repo.objects, self._read_every(), path)
            writers = history.list_run_writers(change)
        if writers is None or not history.is_sure(writers):
            parent = find_file(base, path)
            writers = history.list_line_writers(change, parent)
        return {who[0] for who in writers if who[0]}

    def _read_every(self) -> Edits:
        """The edits of the journal, and those that were cut from it."""
        if self._every is None:
            every = held_lines.unite_edits(self._repo, credit.list_edits(self._lines))
            self._every = Edits(self._repo.objects, every)
        return self._every


class _History:
    """The edits that made the content of a path."""

    def __init__(self, objects: Objects, edits: Edits, path: str) -> None:
        self._objects = objects
        self._edits = edits
        self._path = path
        self._chain = edits.trace_content(path)

    def list_run_writers(self, change: Change) -> set[Writer] | None:
        """Who made a change, if a run of edits did; None if not all of them are known."""
        return stage.list_run_writers(self._chain, *change)

    def is_sure(self, writers: set[Writer]) -> bool:
        """Whether what these made has no lines of others."""
        if len(writers) > 1 or UNKNOWN in writers:
            return False
        return not stage.may_be_back(self._chain, writers)

    def list_line_writers(self, change: Change, parent: Version) -> set[Writer]:
        """Who made a change, by its lines.  parent: the entry in the tree that it begins from."""
        old, new = change
        if not self._chain:
            return set()
        if new is None:
            return self._list_removers()
        before = stage.read_text(self._objects, old)
        after = stage.read_text(self._objects, new)
        if before is None or after is None:
            return {stage.get_writer(self._chain[-1])}
        if old is None:
            creator = stage.find_creator(self._chain)
        else:
            creator = UNKNOWN
        if old is None and not after:
            return {creator}
        first = self._edits.get_content(*(parent or ("", "")))
        self._edits.read_ahead({self._path: build_change(old, new)})
        texts = before, after
        operations = stage.list_operations(self._edits, self._path, change, texts, creator, first)
        writers = {operation.who for operation in operations if operation.kind != parts.KEPT}
        if old is not None and old[0] != new[0]:
            writers |= self._list_mode_setters()
        return writers

    def _list_removers(self) -> set[Writer]:
        """Who deleted the file, whatever has come and gone since by git's commands."""
        for line in reversed(self._chain):
            if parse_entry(line["after"]) is None and stage.get_writer(line) != UNKNOWN:
                return {stage.get_writer(line)}
        return set()

    def _list_mode_setters(self) -> set[Writer]:
        """Who changed the mode of the file last."""
        for line in reversed(self._chain):
            before = parse_entry(line["before"])
            after = parse_entry(line["after"])
            if before and after and before[0] != after[0]:
                return {stage.get_writer(line)}
        return set()
