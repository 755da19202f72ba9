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
from gitcp.record.journal import credit, cuts, elsewhere, held_lines
from gitcp.record.journal.credit import parse_entry
from gitcp.record.journal.edits import list_open_paths_in
from gitcp.record.snapshot import scan
from gitcp.steps.commits import parts, stage
from gitcp.text.shapes import REGULAR, UNKNOWN, build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.steps.commits.stage import Change
    from gitcp.text import record_types
    from gitcp.text.record_types import JournalLine

_LARGEST = 1 << 20  # bytes of a file that is read to divide its lines


@dataclass(slots=True)
class StashedWork:
    """An entry of `git stash`: its commit, and path -> the sessions whose work it has there."""

    oid: str
    sessions: dict[str, set[str]]

    def list_sessions(self) -> list[str]:
        """The sessions whose work it has."""
        return sorted(set[str]().union(*self.sessions.values()))


@dataclass(slots=True)
class OpenWork:
    """The uncommitted work of sessions.

    places: worktree id -> path -> the sessions whose work is there."""

    places: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    stashed: list[StashedWork] = field(default_factory=list)

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


def read_open_work(repo: Repo, states: Iterable[Mapping[str, Any]]) -> OpenWork:
    """The work in this worktree, and in the homes of these sessions and those that they visit, by
    their states or records of them.  Nothing is written."""
    work = OpenWork()
    if repo.top:
        work.places[repo.worktree_id] = _divide_here(repo)
    for state in states:
        for name in (state.get("worktree_id") or "", *state.get("visits", ())):
            if name not in work.places:
                work.places[name] = _divide_elsewhere(repo, name, states)
    return work


def set_files(repo: Repo, records: Sequence[Any]) -> OpenWork:
    """Set `files_touched` of states, or of records of them, to the paths of uncommitted work."""
    readable = [record for record in records if not record.get("unreadable")]
    work = read_open_work(repo, readable) if readable else OpenWork()
    for record in readable:
        paths = work.list_paths(record["session_id"])
        if "turns" not in record and not record.get("streams"):
            continue  # of the original program, which has its own list
        record["files_touched"] = paths
        if not paths:
            del record["files_touched"]
    return work


def read_stashed_work(repo: Repo) -> list[StashedWork]:
    """The entries of `git stash` with the sessions whose work they have, newest first."""
    oids = refs.list_stashes(repo)
    if not oids:
        return []
    divider = _Divider(repo, journal.read_journal(repo))
    found = []
    for oid in oids:
        base = find_tree(repo.objects, f"{oid}^1")
        changes = _compare(repo, base, find_tree(repo.objects, oid))
        untracked = find_tree(repo.objects, f"{oid}^3")
        if untracked:
            changes |= _compare(repo, None, untracked)
        found.append(StashedWork(oid, divider.divide(base, changes, is_past=True)))
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


def _divide_elsewhere(
    repo: Repo, name: str, states: Iterable[Mapping[str, Any]]
) -> dict[str, set[str]]:
    """_divide_here() in another worktree.  Of one that is gone, what its sessions had open."""
    other = elsewhere.find_worktree(repo, name)
    if other:
        return _divide_paths(other)
    sessions: dict[str, set[str]] = {}
    for state in states:
        for path in list_open_paths_in(repo, name, state["session_id"]):
            sessions.setdefault(path, set()).add(state["session_id"])
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


def _hold_contents(repo: Repo, entries: Mapping[str, record_types.Version]) -> None:
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

    def divide(
        self, base: str | None, changes: Mapping[str, Change], is_past: bool = False
    ) -> dict[str, set[str]]:
        """path -> the sessions whose work the changes from a tree have there; only paths with one.

        is_past: the changes were made and taken away: later edits say nothing of them."""
        lookup = Lookup(self._repo.objects, base)
        edits = self._edits
        if is_past:
            edits = self._cut_off(changes)
        found: dict[str, set[str]] = {}
        for path, (old, new) in changes.items():
            sessions = self._list_sessions(edits, lookup, path, (old, new))
            if sessions:
                found[path] = sessions
        return found

    def _cut_off(self, changes: Mapping[str, Change]) -> Edits:
        """The edits up to the last one that led to one of the changes; all if none did."""
        ends = [
            n
            for n, line in enumerate(self._lines)
            if line.get("path") in changes and _leads_to(line, changes[line["path"]][1])
        ]
        return Edits(self._repo.objects, self._lines[: ends[-1] + 1]) if ends else self._edits

    def _list_sessions(self, edits: Edits, base: Lookup, path: str, change: Change) -> set[str]:
        chain = edits.trace_content(path)
        writers = stage.list_run_writers(chain, *change)
        if writers is None and self._was_cut:
            edits = self._read_every()
            chain = edits.trace_content(path)
            writers = stage.list_run_writers(chain, *change)
        if not chain:
            return set()
        if writers is not None and len(writers) == 1 and writers != {UNKNOWN}:
            return {who[0] for who in writers if who[0]}
        return {who[0] for who in self._list_writers(edits, base, chain, path, change) if who[0]}

    def _read_every(self) -> Edits:
        """The edits of the journal, and those that were cut from it."""
        if self._every is None:
            every = held_lines.unite_edits(self._repo, credit.list_edits(self._lines))
            self._every = Edits(self._repo.objects, every)
        return self._every

    def _list_writers(
        self,
        edits: Edits,
        base: Lookup,
        chain: Sequence[JournalLine],
        path: str,
        change: Change,
    ) -> set[record_types.Writer]:
        """Who made a change of a path, by its lines."""
        old, new = change
        if new is None:
            return {_find_remover(chain)}
        texts = stage.read_text(self._repo.objects, old), stage.read_text(self._repo.objects, new)
        if texts[0] is None or texts[1] is None:
            return set(map(stage.get_writer, chain[-1:]))
        creator = stage.find_creator(chain) if old is None else UNKNOWN
        if old is None and not texts[1]:
            return {creator}
        parent = edits.get_content(*(find_file(base, path) or ("", "")))
        edits.read_ahead({path: build_change(old, new)})
        operations = stage.list_operations(
            edits, path, change, (texts[0], texts[1]), creator, parent
        )
        writers = {o.who for o in operations if o.kind != parts.KEPT}
        if old is not None and old[0] != new[0]:
            writers.add(_find_mode_setter(chain))
        return writers


def _leads_to(line: JournalLine, version: record_types.Version) -> bool:
    return "at" in line and parse_entry(line["after"]) == version


def _find_remover(chain: Sequence[JournalLine]) -> record_types.Writer:
    """Who deleted a path, whatever has come and gone since by git's commands."""
    for line in reversed(chain):
        if parse_entry(line["after"]) is None and stage.get_writer(line) != UNKNOWN:
            return stage.get_writer(line)
    return UNKNOWN


def _find_mode_setter(chain: Sequence[JournalLine]) -> record_types.Writer:
    """Who changed the mode of a path last."""
    for line in reversed(chain):
        before, after = parse_entry(line["before"]), parse_entry(line["after"])
        if before and after and before[0] != after[0]:
            return stage.get_writer(line)
    return UNKNOWN
