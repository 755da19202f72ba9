"""The open edits of a session in a worktree, which no commit has taken, and the streams that
hold them."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.core import credit, ids
from gitcp.store.journal import journal
from gitcp.store.session import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
    from typing import Any

    from gitcp.core.linking import Recorded
    from gitcp.core.record_types import File, JournalLine, Marker, State, Stream, Version
    from gitcp.repo import Repo
    from gitcp.store.journal.journal import Journal

    # path -> its open edits; the paths with is_left(), and with is_taken_back(); the result of
    # entries.map_recorded_files()
    _Part = tuple[
        dict[str, list[JournalLine]],
        set[str],
        set[str],
        dict[str, dict[str, JournalLine] | None],
    ]
    _Open = tuple[tuple[int, int], list[JournalLine], list[JournalLine], dict[str, _Part]]

_NEVER = 1 << 63  # ns


class Stretch:
    """Edits of a session at a path, each made upon the one before.

    before: the content that the first edit changed.  own: the content that the session made last.
    content: own with later changes by others.  live: whether the worktree has it; otherwise it
    was put away, or a commit left it out.  left: that commit is linked with the session.  base: the
    commit on which it was last seen, '' if unknown.
    """

    __slots__ = ("_lost", "_seen", "base", "before", "content", "edits", "left", "live", "own")

    def __init__(self, before: Version) -> None:
        self.before = self.own = self.content = before
        self.edits: list[JournalLine] = []
        self.live, self.left = True, False
        self.base, self._seen, self._lost = "", 0, False

    def add(self, edit: JournalLine) -> None:
        """Add the session's next edit."""
        self.edits.append(edit)
        self.own = self.content = credit.parse_entry(edit["after"])
        self._note_seen(edit)

    def add_foreign(self, line: JournalLine, *, elsewhere: bool) -> None:
        """Add an edit by another author.  elsewhere: HEAD has left the base, so the edit may
        change other content."""
        self._lost = self._lost or (elsewhere and line.get("base", self.base) != self.base)
        if not self._lost:
            self.content, self._seen = credit.parse_entry(line["after"]), int(line["at"])
            if self.content and not self.own:
                self.put_away()

    def put_away(self) -> None:
        """Note that another file is in the place of a moved or deleted one."""
        self.live, self.content = False, self.own

    def note_look(self, looks: Sequence[tuple[int, str]], end: int) -> None:
        """Update the base from the newest look (time, base) before end, which found the content
        unchanged."""
        if self.live and not self._lost:
            at, base = _find_look(looks, end)
            self.base = base if at >= self._seen else self.base

    def _note_seen(self, line: JournalLine) -> None:
        self.base, self._seen, self._lost = line.get("base", ""), int(line["at"]), False

    def has_had(self, line: JournalLine) -> bool:
        """Whether a line restored the content now, or that after some edit of the session."""
        version = credit.parse_entry(line["after"])
        return version == self.content or self._has_written(version)

    def note_return(self, line: JournalLine) -> None:
        """Note that a line restored a content that the stretch has had."""
        version = credit.parse_entry(line["after"])
        self.live, self.left, self.content = True, False, version
        self._note_seen(line)
        if self._has_written(version):
            self.own = version

    def read_contents(
        self, blob: Callable[[str], bytes | None]
    ) -> tuple[bytes | None, bytes | None]:
        """The bytes before, and after the session's own last edit; b"" where nothing stood."""
        before, after = (
            blob(version[1]) if version else b"" for version in (self.before, self.own)
        )
        return before, after

    def build_record(self, path: str, later_name: str = "") -> Recorded:
        """The record that match() takes.  later_name: where its file was moved or copied since:
        the record is evidence there."""
        live = self.live and not later_name
        mode, oid = (self.own if self.live or later_name else self.content) or ("000000", None)
        path, before = later_name or path, self.before
        return {"path": path, "mode": mode, "oid": oid, "live": live, "before": before}

    def _has_written(self, version: Version) -> bool:
        return any(version == credit.parse_entry(edit["after"]) for edit in self.edits)


def _find_look(looks: Sequence[tuple[int, str]], end: int) -> tuple[int, str]:
    """The newest of the looks, which are in the order of their times, before end; (0, "") if there
    is none."""
    low, high = 0, len(looks)
    while low < high:
        middle = (low + high) // 2
        if looks[middle][0] < end:
            low = middle + 1
        else:
            high = middle
    return looks[low - 1] if low else (0, "")


class Work:
    """The open edits of one session in a worktree.

    is_here: whether HEAD is a commit, or was made on it in this worktree.  Edits that were last
    seen on any other commit are away; by default none is.
    """

    def __init__(
        self,
        lines: Sequence[JournalLine],
        session_id: str,
        is_here: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._session, self._is_here = session_id, is_here
        self._paths: dict[str, list[JournalLine]] = {}
        self._own: set[str] = set()
        self._stretches: dict[str, list[Stretch]] = {}
        self._later_names: dict[str, dict[str, None]] = {}
        origins: dict[str, dict[str, None]] = {}  # path -> the names that its content had before
        for line in credit.list_open_edits(lines):
            self._paths.setdefault(line["path"], []).append(line)
            if self._is_own(line):
                self._own.add(line["path"])
            if "follows" in line:
                path, source = line["path"], line["follows"]
                origins[path] = {source: None, **origins.get(source, {})}
                for name in origins[path].keys() - {path}:
                    self._later_names.setdefault(name, {})[path] = None
        self._looks = sorted((x["look"], x["base"]) for x in lines if "look" in x and "base" in x)

    def list_stretches(self, path: str) -> list[Stretch]:
        """The session's stretches at a path, the newest last, less those that changed nothing.

        An edit by the session continues the current stretch if a commit left out both or neither,
        else it begins one; it also begins one if the file was moved away.  A restored content
        continues the last stretch that has had it, and puts away the others.  An edit by another
        author changes the content of a live stretch, or puts away a deletion.
        """
        if path not in self._own:
            return []
        if path not in self._stretches:
            self._stretches[path] = self._find_stretches(path)
        return self._stretches[path]

    def _find_stretches(self, path: str) -> list[Stretch]:
        stretches: list[Stretch] = []
        current: Stretch | None = None
        for line in self._paths.get(path, ()):
            is_left = "left" in line
            if current:
                current.note_look(self._looks, line["at"])
            if self._is_own(line):
                if current and not current.content and current.own and path in self._later_names:
                    current.put_away()
                if current is None or current.live is is_left:
                    current = Stretch(credit.parse_entry(line["before"]))
                    stretches.append(current)
                current.add(line)
                current.live, current.left = not is_left, bool(line.get("left"))
            elif line["how"] == "restored" and not is_left:
                if current and self._is_undoing(line) and not current.has_had(line):
                    stretches.remove(current)
                for stretch in stretches:
                    stretch.live = False
                current = next((s for s in reversed(stretches) if s.has_had(line)), None)
                if current:
                    current.note_return(line)
            elif current and current.live:
                current.add_foreign(line, elsewhere=not self._is_here(current.base))
        for stretch in stretches:
            stretch.note_look(self._looks, _NEVER)
            stretch.live = stretch.live and self._is_here(stretch.base)
        return [stretch for stretch in stretches if stretch.own != stretch.before]

    def list_paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._paths if self.list_stretches(path)]

    def is_left(self, path: str) -> bool:
        """Whether commits that are linked with the session left out all that it has open at a
        path."""
        return all(stretch.left for stretch in self.list_stretches(path))

    def is_taken_back(self, path: str) -> bool:
        """Whether a step of the undo log, such as a rewind, was the last to change a path, and the
        worktree has none of the session's work there.  A redo brings it back."""
        lines = self._paths.get(path)
        return lines is not None and "step" in lines[-1] and not self.is_present(path)

    def list_edits(self, path: str) -> list[JournalLine]:
        """The session's open edits at a path."""
        return [edit for stretch in self.list_stretches(path) for edit in stretch.edits]

    def build_records(self, with_left: bool = True) -> list[Recorded]:
        """The records of the session's open edits that match() takes, of a file that was moved or
        copied under each name.  with_left: also of those that a commit of the session left out."""
        return [
            stretch.build_record(path, name)
            for path in self._paths
            for stretch in reversed(self.list_stretches(path))
            if with_left or not stretch.left
            for name in ("", *(self._later_names.get(path, ()) if stretch.own else ()))
        ]

    def is_present(self, path: str) -> bool:
        """Whether the worktree has some of the session's work at a path."""
        return any(stretch.live for stretch in self.list_stretches(path))

    def list_written(self, since: int) -> set[str]:
        """The paths that the session has written since a time in ns."""
        return {
            path
            for path, lines in self._paths.items()
            if any(self._is_own(line) and line["at"] >= since for line in lines)
        }

    def list_foreign(self, since: int) -> set[str]:
        """The paths that only other sessions have changed since a time in ns."""
        paths = set()
        for path, lines in self._paths.items():
            authors = [credit.get_author(line)[0] for line in lines if line["at"] >= since]
            if authors and all(authors) and self._session not in authors:
                paths.add(path)
        return paths

    def is_undone(self, path: str, since: int = 0) -> bool:
        """Whether the last change of a path since a time in ns is the session's: a later edit, or
        the undoing of its work."""
        lines = self._paths.get(path)
        if not lines or lines[-1]["at"] < since:
            return False
        return self._is_own(lines[-1]) or self._is_undoing(lines[-1])

    def map_away(self, dirty: Container[str]) -> dict[str, Version]:
        """path -> the session's content of each path that is not dirty any more, though the
        session did not undo its work there: it may have been stashed."""
        away = (path for path in self._paths if path not in dirty and not self.is_undone(path))
        return {
            path: stretches[-1].content for path in away if (stretches := self.list_stretches(path))
        }

    def _is_own(self, line: JournalLine) -> bool:
        return credit.get_author(line)[0] == self._session

    def _is_undoing(self, line: JournalLine) -> bool:
        return (line.get("by") or [""])[0] == self._session and not line.get("away")


# git directory -> (inode, size) of the journal, its lines, its open edits, session -> its part
_OPEN: dict[str, _Open] = memory.get_table("open")


def list_open_paths(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """The paths at which a session, by its state or marker, has open edits in its home and in the
    worktrees that it visited."""
    return {path for edits, *_ in _read_parts(repo, session) for path in edits}


def list_left_paths(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """Those of list_open_paths() at which the session's commits left out all that is open: no
    worktree has it."""
    return _list_everywhere((edits.keys(), left) for edits, left, *_ in _read_parts(repo, session))


def list_taken_back(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """Those of list_open_paths() at which a rewind or an undo took back what is open.  It counts as
    open all the same: whoever restores the content may commit it."""
    parts = _read_parts(repo, session)
    return _list_everywhere((edits.keys(), taken) for edits, _, taken, _ in parts)


def _list_everywhere(places: Iterable[tuple[Set[str], Set[str]]]) -> set[str]:
    """Of (paths, some of them) in each worktree: the paths that are among these wherever they
    are."""
    both = [*places]
    return {path for _, some in both for path in some}.difference(
        path for paths, some in both for path in paths - some
    )


def list_open_paths_in(repo: Repo, worktree_id: str, session_id: str) -> set[str]:
    """The paths at which a session has open edits in a worktree."""
    return {*_read_open(repo, worktree_id, session_id)[0]}


def _read_parts(repo: Repo, session: Mapping[str, Any]) -> list[_Part]:
    names = dict.fromkeys((session.get("worktree_id") or "", *session.get("visits", ())))
    return [_read_open(repo, name, session["session_id"]) for name in names]


def _read_open(repo: Repo, worktree_id: str, session_id: str) -> _Part:
    """The part of a session in a worktree's open edits.  Without the worktree or its journal, the
    open edits in the sessions' refs at paths that the session's state still names."""
    git_dir = journal.get_git_dir(repo, worktree_id)
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", journal.NAME))
        stamp = st.st_ino, st.st_size
    except OSError:
        stamp = 0, 0
    if git_dir not in _OPEN or _OPEN[git_dir][0] != stamp:
        if stamp[0]:
            lines = journal.read_journal(repo, git_dir)
        else:
            lines = journal.read_lines(repo, ids.hash_worktree(worktree_id))
        (file, _), known, unsettled, sessions = _OPEN.get(git_dir, (stamp, [], [], {}))
        # Most that a hook appends, such as what a session's ref holds now, changes no open edit.
        is_same = file == stamp[0] and lines[: len(known)] == known
        if not is_same or any(map(credit.is_lasting, lines[len(known) :])):
            unsettled, sessions = credit.list_open_edits(lines), {}
        _OPEN[git_dir] = stamp, lines, unsettled, sessions
    _, lines, unsettled, sessions = _OPEN[git_dir]
    if session_id not in sessions:
        work = Work(unsettled, session_id)
        edits = {path: work.list_edits(path) for path in work.list_paths()}
        if edits and not stamp[0]:
            touched = (states.peek_state(repo, session_id) or {}).get("files_touched", ())
            edits = {path: own for path, own in edits.items() if path in touched}
        left = {path for path in edits if work.is_left(path)}
        taken = {path for path in edits if work.is_taken_back(path)}
        sessions[session_id] = edits, left, taken, credit.map_recorded_files(lines, session_id)
    return sessions[session_id]


def list_open_streams(repo: Repo, session: State | Marker) -> list[Stream]:
    """The streams of a state or marker, each with the open files that the session's checkpoints
    put there.  A stream of which no journal has a checkpoint has the files that no stream has.  A
    stream whose files were all committed is left out."""
    if not session["streams"]:
        return []
    parts = _read_parts(repo, session)
    streams: list[Stream] = []
    for stream in session["streams"]:
        recorded = [files[stream["id"]] for *_, files in parts if stream["id"] in files]
        lines = {path: line for files in recorded for path, line in (files or {}).items()}
        files = {} if recorded else _list_unrecorded(parts)
        for path, line in lines.items():
            if any(e["at"] <= line["at"] for edits, *_ in parts for e in edits.get(path, ())):
                files[path] = _build_file(line["files"][path], line["turn"])
        if files or not recorded or {} in recorded:
            streams.append({**stream, "files": files})  # type: ignore[typeddict-item]
    return streams


def _list_unrecorded(parts: list[_Part]) -> dict[str, File]:
    """The files of a session's open edits that no checkpoint in a journal has."""
    return {
        path: _build_file(credit.parse_entry(own[-1]["after"]), credit.get_author(own[-1])[1])
        for edits, *_, recorded in parts
        for path, own in edits.items()
        if not any(path in (files or ()) for files in recorded.values())
    }


def _build_file(version: Version, turn: str) -> File:
    mode, oid = version or ("000000", "")
    return {"oid": oid, "mode": mode, "turn_id": turn}


def list_withdrawn(
    repo: Repo, lines: Sequence[JournalLine], session_id: str, stream: str, since: int = 0
) -> set[str]:
    """list_withdrawn() by the lines of this worktree's journal."""
    own = (session_id, stream, since)
    return credit.list_withdrawn(
        lines, *own, lambda: _read_open(repo, repo.worktree_id, session_id)[0]
    )


def read_streams(repo: Repo, state: State) -> None:
    """Set the streams of a state, with their open files, and its large files, by the journal."""
    state["streams"] = list_open_streams(repo, state)
    if state.get("unstored"):
        states.note_unstored(state, journal.read_journal(repo, journal.get_home(repo, state)))


def save_work(repo: Repo, state: State) -> None:
    """Save a state as its next revision, and its marker."""
    state["revision"] = state.get("revision", 0) + 1
    read_streams(repo, state)
    states.put_marker(
        repo, state["session_id"], states.encode_state(state), states.encode_marker(state)
    )


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
    line |= {"out": left} if left else {}
    held.append([{**line, "at": journal.read_clock(held.repo)}], waiting)
