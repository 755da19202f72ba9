"""The open edits of one session in a worktree: what it wrote that no commit has taken.  What its
state and marker name besides is not open, whatever they say."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.core.credit import entries
from gitcp.store.journal import journal
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from typing import Any

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import JournalLine, Marker, State, Version
    from gitcp.repo import Repo

    _Open = tuple[tuple[int, int], list[JournalLine], dict[str, set[str]]]


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
        self.own = self.content = entries.entry(edit["after"])
        self._see(edit)

    def go_on(self, line: JournalLine, *, elsewhere: bool) -> None:
        """Take in what somebody else made of it; elsewhere: HEAD has left the base, so that it may
        be made of other content."""
        self._lost = self._lost or (elsewhere and line.get("base", self.base) != self.base)
        if not self._lost:
            self.content, self._seen = entries.entry(line["after"]), int(line["at"])

    def look(self, looks: Sequence[tuple[int, str]], until: int) -> None:
        """Take in the newest look (time, base) at the worktree before until: it found the content
        as it was known."""
        if self.live and not self._lost:
            earlier = (look for look in reversed(looks) if look[0] < until)
            at, base = next(earlier, (0, ""))
            self.base = base if at >= self._seen else self.base

    def _see(self, line: JournalLine) -> None:
        self.base, self._seen, self._lost = line.get("base", ""), int(line["at"]), False

    def had(self, version: Version) -> bool:
        """Whether it is this content that some edit made."""
        return version == self.content or self._wrote(version)

    def come_back(self, line: JournalLine) -> None:
        """Take in that a content it had stands there again."""
        version = entries.entry(line["after"])
        self.live, self.content = True, version
        self._see(line)
        if self._wrote(version):
            self.own = version

    def contents(self, blob: Callable[[str], bytes | None]) -> tuple[bytes | None, bytes | None]:
        """What stood there before, and what the session itself made of it."""
        before, after = (
            blob(version[1]) if version else b"" for version in (self.before, self.own)
        )
        return before, after

    def record(self, path: str) -> Recorded:
        """The form in which match() takes it."""
        mode, oid = (self.own if self.live else self.content) or ("000000", "")
        record: Recorded = {"path": path, "mode": mode, "oid": oid or None, "live": self.live}
        record["before"] = self.before
        return record

    def _wrote(self, version: Version) -> bool:
        return any(version == entries.entry(edit["after"]) for edit in self.edits)


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
        for line in entries.unsettled(lines):
            self._paths.setdefault(line["path"], []).append(line)
        self._looks = [(x["look"], x["base"]) for x in lines if "look" in x and "base" in x]

    def stretches(self, path: str) -> list[Stretch]:
        """What the session did at a path, the newest last; what it put back is nothing."""
        every: list[Stretch] = []
        now: Stretch | None = None
        for line in self._paths.get(path, ()):
            after, is_left = entries.entry(line["after"]), "left" in line
            if now:
                now.look(self._looks, line["at"])
            if self._own(line):
                if now is None or now.live is is_left:
                    now = Stretch(entries.entry(line["before"]))
                    every.append(now)
                now.add(line)
                now.live = not is_left
            elif line["how"] == "restored" and not is_left:
                if now and self._undoes(line) and not now.had(after):
                    every.remove(now)
                for one in every:
                    one.live = False
                now = next((one for one in reversed(every) if one.had(after)), None)
                if now:
                    now.come_back(line)
            elif now and now.live:
                now.go_on(line, elsewhere=not self._is_here(now.base))
        for one in every:
            one.look(self._looks, _NEVER)
            one.live = one.live and self._is_here(one.base)
        return [one for one in every if one.own != one.before]

    def paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._paths if self.stretches(path)]

    def records(self) -> list[Recorded]:
        """What the session wrote and no commit took, in the form in which match() takes it."""
        return [one.record(path) for path in self._paths for one in reversed(self.stretches(path))]

    def present(self, path: str) -> bool:
        """Whether the session's work at a path is part of what stands there."""
        return any(one.live for one in self.stretches(path))

    def written(self, since: int) -> set[str]:
        """The paths the session has written since, ns."""
        return {
            path
            for path, lines in self._paths.items()
            if any(self._own(line) and line["at"] >= since for line in lines)
        }

    def foreign(self, since: int) -> set[str]:
        """The paths that have changed since by other sessions' work alone."""
        paths = set()
        for path, lines in self._paths.items():
            late = [entries.author(line)[0] for line in lines if line["at"] >= since]
            if late and all(late) and self._session not in late:
                paths.add(path)
        return paths

    def undone(self, path: str, since: int = 0) -> bool:
        """Whether the session itself took its work on a path back since, for good."""
        lines = self._paths.get(path)
        if not lines or lines[-1]["at"] < since:
            return False
        return self._own(lines[-1]) or self._undoes(lines[-1])

    def away(self, dirty: Container[str]) -> dict[str, Version]:
        """path -> the session's content of paths that are as HEAD has them again, by a stash or
        in another way that is not its own undoing."""
        gone = (path for path in self._paths if path not in dirty and not self.undone(path))
        return {path: every[-1].content for path in gone if (every := self.stretches(path))}

    def turn(self, path: str) -> str:
        """The turn in which the session last wrote a path."""
        turns = [entries.author(line)[1] for line in self._paths[path] if self._own(line)]
        return turns[-1] if turns else ""

    def _own(self, line: JournalLine) -> bool:
        return entries.author(line)[0] == self._session

    def _undoes(self, line: JournalLine) -> bool:
        return (line.get("by") or [""])[0] == self._session and not line.get("away")


# git directory -> the journal's file and size, its open edits, session -> the paths of its own
_OPEN: dict[str, _Open] = memory.table("open")


def open_paths(repo: Repo, session: Mapping[str, Any]) -> set[str] | None:
    """The paths at which a session, by its state or marker, has open edits in its home and where
    it has been; None where a journal is gone."""
    paths: set[str] = set()
    for name in (session.get("worktree_id") or "", *session.get("visits", ())):
        there = _open_in(repo, journal.git_dir(repo, name), session["session_id"])
        if there is None:
            return None
        paths |= there
    return paths


def _open_in(repo: Repo, git_dir: str, session_id: str) -> set[str] | None:
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", journal.NAME))
    except OSError:
        return None
    sign = st.st_ino, st.st_size
    if git_dir not in _OPEN or _OPEN[git_dir][0] != sign:
        _OPEN[git_dir] = sign, entries.unsettled(journal.read(repo, git_dir)), {}
    _, lines, sessions = _OPEN[git_dir]
    if session_id not in sessions:
        sessions[session_id] = set(Work(lines, session_id).paths())
    return sessions[session_id]


def open_streams(repo: Repo, session: State | Marker) -> list[Any]:
    """The streams of a state or marker, each with those of its files that are open."""
    streams: list[Any] = session["streams"]
    named = {path for stream in streams for path in stream["files"]}
    paths = open_paths(repo, session) if named else None
    if paths is None or named <= paths:
        return streams
    return [
        {**stream, "files": {p: file for p, file in stream["files"].items() if p in paths}}
        for stream in streams
    ]


def forget_settled(repo: Repo, state: State) -> None:
    """Let a state name nothing any more of which its session has nothing open."""
    now = zip(state["streams"], open_streams(repo, state), strict=True)
    state["streams"] = [stream for before, stream in now if stream["files"] or not before["files"]]


def save(repo: Repo, state: State) -> None:
    """Save a state, one revision on, with its marker."""
    state["revision"] = state.get("revision", 0) + 1
    forget_settled(repo, state)
    markers.put(repo, state["session_id"], states.encode(state), markers.encode(state))
