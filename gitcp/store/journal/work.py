"""The open edits of one session in a worktree: what it wrote that no commit has taken, and which
of its streams has it."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.core.credit import entries
from gitcp.core.git import ids
from gitcp.start import late
from gitcp.store.journal import journal
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence
    from typing import Any

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import File, JournalLine, Marker, State, Stream, Version
    from gitcp.repo import Repo
    from gitcp.store.journal.journal import Journal

    # path -> when its oldest open edit was seen; what entries.map_recorded_files() says
    _Part = tuple[dict[str, int], dict[str, dict[str, JournalLine] | None]]
    _Open = tuple[tuple[int, int], list[JournalLine], list[JournalLine], dict[str, _Part]]


_NEVER = 1 << 63  # ns


class Stretch:
    """Edits of a session at a path, each made upon the one before.

    before: what stood there then.  own: what the session itself last made of it; content: that
    with what others did to it since.  live: it is part of what stands there now; else it was put
    away, or a commit left it out.  base: the commit on which it was last seen, '' where no line
    tells.
    """

    __slots__ = ("_lost", "_seen", "base", "before", "content", "edits", "live", "own")

    def __init__(self, before: Version) -> None:
        self.before = self.own = self.content = before
        self.edits: list[JournalLine] = []
        self.live = True
        self.base, self._seen, self._lost = "", 0, False

    def add(self, edit: JournalLine) -> None:
        """Take in the session's next edit."""
        self.edits.append(edit)
        self.own = self.content = entries.parse_entry(edit["after"])
        self._note_seen(edit)

    def go_on(self, line: JournalLine, *, elsewhere: bool) -> None:
        """Take in what somebody else made of it; elsewhere: HEAD has left the base, so that it may
        be made of other content."""
        self._lost = self._lost or (elsewhere and line.get("base", self.base) != self.base)
        if not self._lost:
            self.content, self._seen = entries.parse_entry(line["after"]), int(line["at"])

    def look(self, looks: Sequence[tuple[int, str]], until: int) -> None:
        """Take in the newest look (time, base) at the worktree before until: it found the content
        as it was known."""
        if self.live and not self._lost:
            earlier = (look for look in reversed(looks) if look[0] < until)
            at, base = next(earlier, (0, ""))
            self.base = base if at >= self._seen else self.base

    def _note_seen(self, line: JournalLine) -> None:
        self.base, self._seen, self._lost = line.get("base", ""), int(line["at"]), False

    def had(self, version: Version) -> bool:
        """Whether it is this content that some edit made."""
        return version == self.content or self._has_written(version)

    def note_return(self, line: JournalLine) -> None:
        """Take in that a content it had stands there again."""
        version = entries.parse_entry(line["after"])
        self.live, self.content = True, version
        self._note_seen(line)
        if self._has_written(version):
            self.own = version

    def read_contents(
        self, blob: Callable[[str], bytes | None]
    ) -> tuple[bytes | None, bytes | None]:
        """What stood there before, and what the session itself made of it."""
        before, after = (
            blob(version[1]) if version else b"" for version in (self.before, self.own)
        )
        return before, after

    def build_record(self, path: str) -> Recorded:
        """The form in which match() takes it."""
        mode, oid = (self.own if self.live else self.content) or ("000000", "")
        record: Recorded = {"path": path, "mode": mode, "oid": oid or None, "live": self.live}
        record["before"] = self.before
        return record

    def _has_written(self, version: Version) -> bool:
        return any(version == entries.parse_entry(edit["after"]) for edit in self.edits)


class Work:
    """The part of one session in a worktree's open edits.

    is_here: whether HEAD is a commit, or was made on it in this worktree; what was last seen on
    another one is away.  By default nobody asks.
    """

    def __init__(
        self,
        lines: Sequence[JournalLine],
        session_id: str,
        is_here: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._session, self._is_here = session_id, is_here
        self._paths: dict[str, list[JournalLine]] = {}
        for line in entries.list_open_edits(lines):
            self._paths.setdefault(line["path"], []).append(line)
        self._looks = [(x["look"], x["base"]) for x in lines if "look" in x and "base" in x]

    def list_stretches(self, path: str) -> list[Stretch]:
        """What the session did at a path, the newest last; what it put back is nothing."""
        every: list[Stretch] = []
        now: Stretch | None = None
        for line in self._paths.get(path, ()):
            after, is_left = entries.parse_entry(line["after"]), "left" in line
            if now:
                now.look(self._looks, line["at"])
            if self._is_own(line):
                if now is None or now.live is is_left:
                    now = Stretch(entries.parse_entry(line["before"]))
                    every.append(now)
                now.add(line)
                now.live = not is_left
            elif line["how"] == "restored" and not is_left:
                if now and self._is_undoing(line) and not now.had(after):
                    every.remove(now)
                for one in every:
                    one.live = False
                now = next((one for one in reversed(every) if one.had(after)), None)
                if now:
                    now.note_return(line)
            elif now and now.live:
                now.go_on(line, elsewhere=not self._is_here(now.base))
        for one in every:
            one.look(self._looks, _NEVER)
            one.live = one.live and self._is_here(one.base)
        return [one for one in every if one.own != one.before]

    def list_paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._paths if self.list_stretches(path)]

    def list_edits(self, path: str) -> list[JournalLine]:
        """The session's open edits at a path."""
        return [edit for one in self.list_stretches(path) for edit in one.edits]

    def build_records(self) -> list[Recorded]:
        """What the session wrote and no commit took, in the form in which match() takes it."""
        return [
            one.build_record(path)
            for path in self._paths
            for one in reversed(self.list_stretches(path))
        ]

    def is_present(self, path: str) -> bool:
        """Whether the session's work at a path is part of what stands there."""
        return any(one.live for one in self.list_stretches(path))

    def list_written(self, since: int) -> set[str]:
        """The paths the session has written since, ns."""
        return {
            path
            for path, lines in self._paths.items()
            if any(self._is_own(line) and line["at"] >= since for line in lines)
        }

    def list_foreign(self, since: int) -> set[str]:
        """The paths that have changed since by other sessions' work alone."""
        paths = set()
        for path, lines in self._paths.items():
            authors = [entries.get_author(line)[0] for line in lines if line["at"] >= since]
            if authors and all(authors) and self._session not in authors:
                paths.add(path)
        return paths

    def is_undone(self, path: str, since: int = 0) -> bool:
        """Whether the session itself took its work on a path back since, for good."""
        lines = self._paths.get(path)
        if not lines or lines[-1]["at"] < since:
            return False
        return self._is_own(lines[-1]) or self._is_undoing(lines[-1])

    def map_away(self, dirty: Container[str]) -> dict[str, Version]:
        """path -> the session's content of paths that are as HEAD has them again, by a stash or
        in another way that is not its own undoing."""
        gone = (path for path in self._paths if path not in dirty and not self.is_undone(path))
        return {path: every[-1].content for path in gone if (every := self.list_stretches(path))}

    def _is_own(self, line: JournalLine) -> bool:
        return entries.get_author(line)[0] == self._session

    def _is_undoing(self, line: JournalLine) -> bool:
        return (line.get("by") or [""])[0] == self._session and not line.get("away")


# git directory -> the journal's file and size, its lines, its open edits, session -> its own part
_OPEN: dict[str, _Open] = memory.get_table("open")


def list_open_paths(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """The paths at which a session, by its state or marker, has open edits in its home and where
    it has been."""
    return {path for begun, _ in _read_parts(repo, session) for path in begun}


def list_open_paths_in(repo: Repo, name: str, session_id: str) -> set[str]:
    """The paths at which a session has open edits in a worktree, by git's name of it."""
    return {*_read_open(repo, name, session_id)[0]}


def _read_parts(repo: Repo, session: Mapping[str, Any]) -> list[_Part]:
    names = dict.fromkeys((session.get("worktree_id") or "", *session.get("visits", ())))
    return [_read_open(repo, name, session["session_id"]) for name in names]


def _read_open(repo: Repo, name: str, session_id: str) -> _Part:
    """What a session has open in a worktree, by git's name of it; of one that is gone, or whose
    journal is, what the sessions' refs have and its state still names."""
    git_dir = journal.get_git_dir(repo, name)
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", journal.NAME))
        sign = st.st_ino, st.st_size
    except OSError:
        sign = 0, 0
    if git_dir not in _OPEN or _OPEN[git_dir][0] != sign:
        lines = journal.read(repo, git_dir) if sign[0] else _read_refs(repo, name)
        _OPEN[git_dir] = sign, lines, entries.list_open_edits(lines), {}
    _, lines, unsettled, sessions = _OPEN[git_dir]
    if session_id not in sessions:
        work = Work(unsettled, session_id)
        begun = {
            path: min(line["at"] for line in work.list_edits(path)) for path in work.list_paths()
        }
        if begun and not sign[0]:
            touched = (states.peek(repo, session_id) or {}).get("files_touched", ())
            begun = {path: at for path, at in begun.items() if path in touched}
        sessions[session_id] = begun, entries.map_recorded_files(lines, session_id)
    return sessions[session_id]


def _read_refs(repo: Repo, name: str) -> list[JournalLine]:
    return late.edits_ref.read_lines(repo, ids.hash_worktree(name))


def list_open_streams(repo: Repo, session: State | Marker) -> list[Stream]:
    """The streams of a state or marker, each with its open files: what the session's checkpoints
    put there; without those of which commits took all."""
    if not session["streams"]:
        return []
    parts = _read_parts(repo, session)
    streams: list[Stream] = []
    for stream in session["streams"]:
        each = [files[stream["id"]] for _, files in parts if stream["id"] in files] or [{}]
        lines = {path: line for files in each for path, line in (files or {}).items()}
        files: dict[str, File] = {}
        for path, line in lines.items():
            if any(begun.get(path, _NEVER) <= line["at"] for begun, _ in parts):
                mode, oid = line["files"][path] or ("000000", "")
                files[path] = {"oid": oid, "mode": mode, "turn_id": line["turn"]}
        if files or {} in each:
            streams.append({**stream, "files": files})  # type: ignore[typeddict-item]
    return streams


def read_streams(repo: Repo, state: State) -> None:
    """Let the streams of a state have the files that are open there, as the journal says."""
    state["streams"] = list_open_streams(repo, state)


def save(repo: Repo, state: State) -> None:
    """Save a state, one revision on, with its marker."""
    state["revision"] = state.get("revision", 0) + 1
    read_streams(repo, state)
    markers.put(repo, state["session_id"], states.encode(state), markers.encode(state))


def record_checkpoint(
    held: Journal,
    state: State,
    stream: str,
    files: Mapping[str, Version],
    turn: str,
    out: Mapping[str, Collection[str]],
) -> None:
    """Write down that a checkpoint on a stream of the session's has these files, made in a turn,
    and that streams have others no more (stream -> paths)."""
    line = {"stream": stream, "session": state["session_id"], "turn": turn, "files": {**files}}
    gone = {other: sorted(paths) for other, paths in out.items() if paths}
    line |= {"out": gone} if gone else {}
    held.append([{**line, "at": journal.read_clock(held.repo)}])
