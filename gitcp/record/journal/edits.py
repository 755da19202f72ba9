"""The open edits of a session in a worktree, which no commit has taken: the streams that hold
them, those that others state, and those that are let go."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.git.objects import Lookup, find_tree
from gitcp.record.journal import NAME, Journal, credit, get_git_dir, read_clock, read_journal
from gitcp.record.journal.line_kinds import (
    CheckpointLine,
    JournalLine,
    Settlement,
    build_edit,
    parse_entry,
)
from gitcp.record.journal.stretches import OpenEdits, SessionWork, collect_work, group_open_edits
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import File, Marker, State, Stream, Version

    Lines = Sequence[JournalLine]


class _SessionPart:
    """A session's part of a journal.

    edits: path -> its open edits.  recorded: as credit.map_recorded_files() has it.
    """

    __slots__ = ("edits", "recorded")

    def __init__(
        self,
        edits: dict[str, list[Edit]],
        recorded: dict[str, dict[str, CheckpointLine] | None],
    ) -> None:
        self.edits = edits
        self.recorded = recorded

    def has_edit_until(self, path: str, at: int) -> bool:
        """Whether one of the open edits of a path is not newer than a time in ns."""
        return any(edit.at <= at for edit in self.edits.get(path, ()))

    def is_recorded(self, path: str) -> bool:
        """Whether a checkpoint has the path."""
        return any(path in (files or ()) for files in self.recorded.values())


class _ReadJournal:
    """A worktree's journal as far as it was read.

    stamp: inode and size of the file, zeros without one.  parts: what was read of each session.
    """

    __slots__ = ("lines", "open_edits", "parts", "stamp")

    def __init__(
        self,
        stamp: tuple[int, int],
        lines: Lines,
        open_edits: OpenEdits,
        parts: dict[str, _SessionPart],
    ) -> None:
        self.stamp = stamp
        self.lines = lines
        self.open_edits = open_edits
        self.parts = parts

    def opens_nothing(self, stamp: tuple[int, int], lines: Lines) -> bool:
        """Whether lines that it has gained change no open edit, as most that a hook appends do,
        such as what a session's ref holds now."""
        length = len(self.lines)
        if self.stamp[0] != stamp[0] or lines[:length] != self.lines:
            return False
        return not any(line.is_lasting for line in lines[length:])


_OPEN: dict[str, _ReadJournal] = memory.get_table("open")  # by git directory


def list_open_paths_in(repo: Repo, worktree_id: str, session_id: str) -> set[str]:
    """The paths at which a session has open edits in a worktree."""
    return {*_read_part(repo, worktree_id, session_id).edits}


def _read_parts(repo: Repo, session: Mapping[str, Any]) -> list[_SessionPart]:
    """The parts of a session, by its state or marker, in the journals of its worktrees."""
    names = dict.fromkeys((session.get("worktree_id") or "", *session.get("visits", ())))
    return [_read_part(repo, name, session["session_id"]) for name in names]


def _read_part(repo: Repo, worktree_id: str, session_id: str) -> _SessionPart:
    """The part of a session in a worktree's open edits.  Without the worktree or its journal, the
    open edits in the sessions' refs at paths that the session's state still names."""
    read = _read_open(repo, worktree_id)
    if session_id not in read.parts:
        work = SessionWork(session_id, read.open_edits, lambda _: True)
        edits = {path: work.list_edits(path) for path in work.list_paths()}
        if edits and not read.stamp[0]:
            from gitcp.record.session import others

            state = others.peek_state(repo, session_id) or {}
            touched = state.get("files_touched", ())
            edits = {path: edits[path] for path in edits if path in touched}
        stream_lines = read.open_edits.stream_lines.get(session_id, [])
        recorded = credit.map_recorded_files(stream_lines, session_id)
        read.parts[session_id] = _SessionPart(edits, recorded)
    return read.parts[session_id]


def _read_open(repo: Repo, worktree_id: str) -> _ReadJournal:
    """The journal of a worktree; read again only if it has changed."""
    git_dir = get_git_dir(repo, worktree_id)
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", NAME))
        stamp = st.st_ino, st.st_size
    except OSError:
        stamp = 0, 0
    known = _OPEN.get(git_dir)
    if known and known.stamp == stamp:
        return known
    lines: Lines
    if stamp[0]:
        lines = read_journal(repo, git_dir)
    else:
        from gitcp.record.journal import held_lines

        lines = held_lines.read_lines(repo, ids.hash_worktree(worktree_id))
    if known and known.opens_nothing(stamp, lines):
        read = _ReadJournal(stamp, lines, known.open_edits, known.parts)
    else:
        read = _ReadJournal(stamp, lines, group_open_edits(lines), {})
    _OPEN[git_dir] = read
    return read


def list_open_streams(repo: Repo, session: State | Marker) -> list[Stream]:
    """The streams of a state or marker, each with the open files that the session's checkpoints
    put there.  A stream of which no journal has a checkpoint has the files that no stream has.  A
    stream whose files were all committed is left out."""
    if not session["streams"]:
        return []
    parts = _read_parts(repo, session)
    streams: list[Stream] = []
    for stream in session["streams"]:
        holding = [part for part in parts if stream["id"] in part.recorded]
        if holding:
            files = _list_open_files(parts, stream["id"])
            is_open = bool(files) or any(part.recorded[stream["id"]] == {} for part in holding)
        else:
            files = _list_unrecorded(parts)
            is_open = True
        if is_open:
            streams.append({**stream, "files": files})  # type: ignore[typeddict-item]
    return streams


def _list_open_files(parts: list[_SessionPart], stream_id: str) -> dict[str, File]:
    """The open files that a session's checkpoints put on a stream."""
    recorded: dict[str, CheckpointLine] = {}
    for part in parts:
        recorded |= part.recorded.get(stream_id) or {}
    found: dict[str, File] = {}
    for path, line in recorded.items():
        if any(part.has_edit_until(path, line.at) for part in parts):
            found[path] = _build_file(parse_entry(line.files[path]), line.turn)
    return found


def _list_unrecorded(parts: list[_SessionPart]) -> dict[str, File]:
    """The files of a session's open edits that no checkpoint in a journal has."""
    found: dict[str, File] = {}
    for part in parts:
        for path, there in part.edits.items():
            if not part.is_recorded(path):
                found[path] = _build_file(there[-1].after, there[-1].author[1])
    return found


def _build_file(version: Version, turn: str) -> File:
    mode, oid = version or ("000000", "")
    return {"oid": oid, "mode": mode, "turn_id": turn}


def list_withdrawn(
    repo: Repo, lines: Lines, session_id: str, stream: str, since: int = 0
) -> set[str]:
    """credit.list_withdrawn() for a session's stream, by the lines of this worktree's
    journal."""
    open_edits = group_open_edits(lines)
    own_edits = open_edits.list_edits_of(session_id)

    def list_present() -> dict[str, list[Edit]]:
        return _read_part(repo, repo.worktree_id, session_id).edits

    asked = (session_id, stream, since)
    stream_lines = open_edits.stream_lines.get(session_id, [])
    return credit.list_withdrawn(stream_lines, own_edits, *asked, list_present)


def record_checkpoint(
    held: Journal,
    state: State,
    stream: str,
    files: Mapping[str, Version],
    turn: str,
    left_streams: Mapping[str, Collection[str]],
    waiting: bool = False,
) -> None:
    """Record a checkpoint on a stream of the session: the files that it took in a turn, and the
    paths that left other streams (left_streams: stream -> paths).  waiting: as append() has it."""
    line = {"stream": stream, "session": state["session_id"], "turn": turn, "files": {**files}}
    left = {other: sorted(paths) for other, paths in left_streams.items() if paths}
    if left:
        line["out"] = left
    held.append([CheckpointLine({**line, "at": read_clock(held.repo)})], waiting)


def let_edits_go(repo: Repo, session_id: str, paths: Iterable[str]) -> None:
    """Settle a session's open edits at these paths: no commit takes them any more."""
    with Journal(repo) as held:
        work = collect_work(held.lines, session_id)
        names = {}
        for path in paths:
            edits = work.list_edits(path)
            if edits:
                names[path] = [edit.name for edit in edits]
        if names:
            held.append([Settlement({"taken": names, "at": read_clock(repo)})])


def record_edits(
    repo: Repo,
    session_id: str,
    base: str,
    files: Mapping[str, tuple[Version, str]],
) -> None:
    """Record edits that a script or another program states, made on the commit base.

    files: path -> (the entry that the session made, the turn).  They count as the session's work
    and say nothing of the worktree.  Entries that its open edits have already are left out.
    """
    base_tree = Lookup(repo.objects, find_tree(repo.objects, base))
    with Journal(repo, base) as held:
        work = collect_work(held.lines, session_id)
        at = read_clock(repo)
        edits = []
        for path, (entry, turn) in sorted(files.items()):
            if any(stretch.written == entry for stretch in work.list_stretches(path)):
                continue
            who = session_id, turn, ""
            edits.append(build_edit(path, base_tree(path), entry, who, credit.STATED, at))
        held.append(edits)
