"""Which commits hold which sessions' edits: the plan of an import.  Nothing is written.

Commits come oldest first.  What one has taken of a session's lines is not taken again by those
made on it: a line that went and came back is nobody's new work.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from gitcp.console import progress
from gitcp.core.credit import entries
from gitcp.core.git import ids
from gitcp.core.imports import chain, holding
from gitcp.core.lines import attribution, replay
from gitcp.core.message import links
from gitcp.record import text
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import need_commit
from gitcp.store.lines import edit_lines
from gitcp.store.match import candidates
from gitcp.store.v1 import committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import JournalLine, Writer
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.imports.gather import Contents, Gathered

    class Part(TypedDict):
        """A session's work in a commit: what its metadata and lines.json say of it.  coarse: no
        line shows it, only time and files do."""

        session: str
        coarse: bool
        files: dict[str, dict[str, Any]]
        lines: dict[str, list[dict[str, Any]]]
        attribution: dict[str, Any]

    class Link(TypedDict):
        """A checkpoint, and the commit that is to be linked to it, '' for none.  time: of the
        commit, or when the session wrote last, in s;
        by_hand: a person says so, no line does."""

        commit: str
        checkpoint_id: str
        by_hand: bool
        time: int
        parts: list[Part]


_DAY = 24 * 3600
WEEK = 7 * _DAY
_MOST = 200  # of the newest edits of a path that a commit is held against
_HOW = "transcript"
_FORMAT = "--format=%H%n%ct%n%at%n%ce"


class Commit:
    """A commit of this repository's own, in the time of the conversations."""

    __slots__ = ("author_time", "changes", "oid", "time")

    def __init__(self, oid: str, time: int, author_time: int) -> None:
        self.oid, self.time, self.author_time = oid, time, author_time
        self.changes: Changes = {}


class Planner:
    """What is known while a plan is made."""

    def __init__(self, repo: Repo, contents: Contents, gathered: Gathered) -> None:
        self._repo, self._contents, self._gathered = repo, contents, gathered
        self._chains: dict[str, list[JournalLine]] = {}
        self._taken: dict[tuple[str, str], list[tuple[str, set[bytes]]]] = {}
        self._ancestors: dict[tuple[str, str], bool] = {}

    def links(self, addresses: set[str], coarse: bool = False) -> Iterator[Link]:
        """The links that evidence gives and that are not there yet, oldest commit first.  coarse:
        where it gives none, by time and files."""
        yield from self._links(self._commits(addresses), coarse)

    def links_of(self, oids: Sequence[str]) -> Iterator[Link]:
        """The links that evidence gives among some commits, whoever made them; without any, among
        all in the time of the conversations."""
        commits = list(self._with_changes(self._list("--no-walk", *oids))) if oids else None
        yield from self._links(self._commits(None) if commits is None else commits, False)

    def _links(self, commits: Sequence[Commit], coarse: bool) -> Iterator[Link]:
        self._edits(commits)
        for commit in progress.each("Comparing commits", commits):
            changes = {p: c for p, c in commit.changes.items() if p in self._chains}
            if not changes or self._is_recorded(commit.oid):
                continue
            parts = self._parts(commit, changes) or (self._coarse(commit) if coarse else [])
            there = self._there(commit.oid)
            if parts := [part for part in parts if part["session"] not in there]:
                yield {
                    "commit": commit.oid,
                    "checkpoint_id": import_id(commit.oid),
                    "by_hand": False,
                    "time": commit.time,
                    "parts": parts,
                }

    def unlinked(self, linked: Collection[str]) -> Iterator[Link]:
        """A checkpoint without a commit for each session that is linked to none, and has none
        yet."""
        for name, session in sorted(self._gathered.sessions.items()):
            checkpoint_id = import_id(name)
            if name in linked or not session.path:
                continue
            if committed_refs.find(self._repo, self._contents, checkpoint_id) is None:
                yield self.by_hand("", name)

    def by_hand(self, oid: str, name: str) -> Link:
        """A session's checkpoint for a commit of which no line is known, or for none."""
        session = self._gathered.sessions[name]
        return {
            "commit": oid,
            "checkpoint_id": import_id(oid or name),
            "by_hand": bool(oid),
            "time": session.last // 10**9 or int(session.age),
            "parts": [_bare(name)],
        }

    def has(self, oid: str, session: str) -> bool:
        """Whether an import has linked a commit to a session before."""
        return session in self._there(oid)

    def _there(self, oid: str) -> Collection[str]:
        """The sessions that an import has linked a commit to before."""
        mine = import_id(oid)
        if mine not in find_commits.linked(self._contents, oid):
            return ()
        return committed_read.session_ids(self._repo, self._contents, mine)

    def _coarse(self, commit: Commit) -> list[Part]:
        """The session that, within a day before a commit, wrote most of its files, as its whole
        part; none where several did."""
        wrote: dict[str, set[str]] = {}
        for path in commit.changes.keys() & set(self._gathered.paths()):
            for at, who, _ in self._gathered.calls(path):
                if 0 <= commit.time - at // 10**9 <= _DAY:
                    wrote.setdefault(who[0], set()).add(path)
        ranks = sorted(wrote, key=lambda name: -len(wrote[name]))
        if not ranks or (ranks[1:] and len(wrote[ranks[1]]) == len(wrote[ranks[0]])):
            return []
        part = _bare(ranks[0])
        part["coarse"] = True
        for path in sorted(wrote[ranks[0]]):
            old_mode, old, mode, new = commit.changes[path]
            before = [old_mode, old] if old else None
            part["files"][path] = {"oid": new or "", "mode": mode, "turns": [], "before": before}
        return [part]

    def _commits(self, addresses: set[str] | None) -> list[Commit]:
        """The commits that may hold edits, parents before children; addresses: of those who may
        have made them, None for anybody."""
        times = [one.first for one in self._gathered.sessions.values() if one.first]
        if not times:
            return []
        since = f"--since={min(times) // 10**9 - 1}"
        return list(self._with_changes(self._list(since, *find_commits.ALL, only=addresses)))

    def _list(self, *where: str, only: set[str] | None = None) -> Iterator[Commit]:
        form = "log -z --no-merges --topo-order --reverse --no-show-signature --no-notes"
        for item in self._repo.git.stream(*form.split(), _FORMAT, *where):
            oid, time, author_time, address = text(item).split("\n")
            if only is None or address.lower() in only:
                yield Commit(oid, int(time), int(author_time))

    def _with_changes(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        wanted, rest = set(self._gathered.paths()), iter(commits)
        while window := list(islice(rest, 500)):
            known = (need_commit(self._contents, one.oid) for one in window)
            changed = commit_changes.read_many_changes(self._repo, self._contents, known)
            for commit in window:
                changes = changed.get(commit.oid, {})
                if not wanted.isdisjoint(changes):
                    commit.changes = changes
                    yield commit

    def _edits(self, commits: Sequence[Commit]) -> None:
        """Bring the calls on each path that a commit changes to contents."""
        by_path: dict[str, list[Commit]] = {}
        for commit in commits:
            for path in commit.changes:
                by_path.setdefault(path, []).append(commit)
        for path in sorted(by_path.keys() & set(self._gathered.paths())):
            steps = chain.steps(self._gathered.calls(path), self._versions(path, by_path[path]))
            self._chains[path] = [
                entries.edit(path, self._contents.add(was), self._contents.add(now), who, _HOW, at)
                for at, who, was, now in steps
            ]

    def _versions(self, path: str, commits: Sequence[Commit]) -> list[chain.Version]:
        known: list[tuple[int, str | None]] = []
        for commit in sorted(commits, key=lambda one: one.time):
            _, old, _, new = commit.changes[path]
            known += [(commit.time - 1, old)] if not known or known[-1][1] != old else []
            known.append((commit.time, new))
        return [(time, partial(self._content, oid)) for time, oid in known]

    def _content(self, oid: str | None) -> bytes | None:
        blob = self._contents.read(oid) if oid else None
        return blob[2] if blob and blob[1] == "blob" else None

    def _is_recorded(self, oid: str) -> bool:
        """Whether somebody has linked a commit, or refused to have it linked by an import."""
        message, note = find_commits.texts(self._contents, oid)
        mine = import_id(oid)
        return bool(set(links.linked(message, note)) - {mine}) or mine in links.removed(note)

    def _parts(self, commit: Commit, changes: Changes) -> list[Part]:
        lines = {path: self._before(path, commit.time) for path in changes}
        credits = self._credit(commit, changes, lines)
        parts = []
        for session in sorted(set().union(*(holding.sessions(c) for c in credits.values()))):
            held = self._held(session, commit, changes, lines, credits)
            if held:
                parts.append((session, held))
        return self._describe(commit, parts, credits) if parts else []

    def _before(self, path: str, time: int) -> list[JournalLine]:
        """The newest edits of a path that were made before a commit was."""
        steps = [line for line in self._chains[path] if line["at"] // 10**9 <= time]
        return steps[-_MOST:]

    def _credit(
        self, commit: Commit, changes: Changes, lines: Mapping[str, list[JournalLine]]
    ) -> dict[str, PathCredit]:
        """The authors of a commit's lines, as far as they are proven."""
        every = [line for path in changes for line in lines[path]]
        edits = edit_lines.Edits(self._contents, every)
        proven = {}
        for path, credit in edits.credit(changes).items():
            old_mode, old, mode, new = changes[path]
            parent, now = edits.content(old_mode, old), edits.content(mode, new)
            if parent and now:
                single = _only_call(lines[path], old, new)

                def taken(session: str, line: bytes, path: str = path) -> bool:
                    return self._was_taken(session, path, line, commit.oid)

                proven[path] = holding.prove(credit, parent.lines, now.lines, single, taken)
        return proven

    def _was_taken(self, session: str, path: str, line: bytes, oid: str) -> bool:
        before = self._taken.get((session, path), ())
        return any(line in had and self._is_ancestor(one, oid) for one, had in before)

    def _is_ancestor(self, old: str, new: str) -> bool:
        if (old, new) not in self._ancestors:
            args = ("merge-base", "--is-ancestor", old, new)
            self._ancestors[old, new] = not self._repo.git.run(*args, ok=(0, 1))[0]
        return self._ancestors[old, new]

    def _held(
        self,
        session: str,
        commit: Commit,
        changes: Changes,
        lines: Mapping[str, list[JournalLine]],
        credits: Mapping[str, PathCredit],
    ) -> list[str]:
        """The paths at which a commit holds a session's edits, by the same rule as ever."""
        about = self._gathered.sessions[session]
        ends = about.last // 10**9 + WEEK
        if not (
            about.first // 10**9 <= commit.time and min(commit.time, commit.author_time) <= ends
        ):
            return []
        named = [path for path in credits if session in holding.sessions(credits[path])]
        record = [self._recorded(session, path, lines[path]) for path in named]
        own = {path: changes[path] for path in named}
        shared = candidates.match_edits(self._contents, record, own)
        for path in shared:
            _, old, _, new = changes[path]
            parent, now = self._text(old), self._text(new)
            took = holding.lines_of(session, credits[path], parent, now)
            self._taken.setdefault((session, path), []).append((commit.oid, took))
        return sorted(shared)

    def _text(self, oid: str | None) -> Sequence[bytes]:
        return replay.split(oid or "", self._content(oid))

    def _recorded(self, session: str, path: str, lines: Sequence[JournalLine]) -> Recorded:
        """A session's edits of a path as one record; only lines that it added itself count."""
        mine = [line for line in lines if entries.author(line)[0] == session]
        own: set[bytes] = set()
        for line in mine:
            was, now = (self._entry_text(line[key]) for key in ("before", "after"))
            own |= set(now) - set(was)
        before, after = entries.entry(mine[0]["before"]), entries.entry(mine[-1]["after"])
        return {
            "path": path,
            "mode": after[0] if after else "000000",
            "oid": after[1] if after else None,
            "live": False,
            "before": before,
            "own": frozenset(own),
        }

    def _entry_text(self, value: object) -> Sequence[bytes]:
        entry = entries.entry(value)
        return self._text(entry[1] if entry else None)

    def _describe(
        self,
        commit: Commit,
        held: Sequence[tuple[str, list[str]]],
        credits: Mapping[str, PathCredit],
    ) -> list[Part]:
        """What the store is to say of the sessions of a commit."""
        bare = edit_lines.Edits(self._contents, ()).credit(commit.changes)
        nobody = {path: holding.forget_all(credit) for path, credit in bare.items()}
        every = {**nobody, **credits}
        parts: list[Part] = []
        for session, paths in held:
            lines = attribution.entries(session, {path: credits[path] for path in paths}, {})
            parts.append(
                {
                    "session": session,
                    "coarse": False,
                    "files": {path: self._file(session, path, commit, credits) for path in paths},
                    "lines": lines,
                    "attribution": attribution.attribution(session, every.values()),
                }
            )
        return parts

    def _file(
        self, session: str, path: str, commit: Commit, credits: Mapping[str, PathCredit]
    ) -> dict[str, Any]:
        old_mode, old, mode, new = commit.changes[path]
        wrote = attribution.turns(session, credits[path])
        if not wrote:
            lines = self._before(path, commit.time)
            wrote = [who[1] for who in map(entries.author, lines) if who[0] == session][-1:]
        before = [old_mode, old] if old else None
        return {"oid": new or "", "mode": mode, "turns": wrote, "before": before}


def _only_call(lines: Sequence[JournalLine], old: str | None, new: str | None) -> Writer | None:
    """The call that made all of a change, from one blob to another; None where none did."""
    if not lines:
        return None
    ends = [(entries.entry(lines[-1][key]) or ("", None))[1] for key in ("before", "after")]
    return entries.author(lines[-1]) if ends == [old, new] else None


def _bare(session: str) -> Part:
    """A session's part of which no line is known."""
    nothing = attribution.attribution(session, ())
    return {"session": session, "coarse": False, "files": {}, "lines": {}, "attribution": nothing}


def import_id(name: str) -> str:
    """The id of the checkpoint that an import makes for a commit, or for a session without one,
    the same in every clone."""
    return str(ids.sha256(f"gitcp import {name}".encode()).hexdigest()[:12])
