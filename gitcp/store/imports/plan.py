"""Which commits hold which sessions' edits: the plan of an import.  Nothing is written.

Commits come oldest first.  What one has taken of a session's lines is not taken again by those
made on it: a line that went and came back is nobody's new work.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from gitcp.console import progress
from gitcp.core.git import ids
from gitcp.core.imports import chain, holding
from gitcp.core.lines import attribution
from gitcp.core.message import links
from gitcp.record import decode_name
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import need_commit
from gitcp.store.imports.proof import Calls
from gitcp.store.lines import edit_lines
from gitcp.store.v1 import committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.decide.difference import Staged
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.imports.gather import Contents, Gathered
    from gitcp.store.imports.proof import Proof

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
        self._ancestors: dict[tuple[str, str], bool] = {}

    def find_links(self, addresses: set[str], coarse: bool = False) -> Iterator[Link]:
        """The links that evidence gives and that are not there yet, oldest commit first.  coarse:
        where it gives none, by time and files."""
        yield from self._find_links(self._list_commits(addresses), coarse)

    def find_links_among(self, oids: Sequence[str]) -> Iterator[Link]:
        """The links that evidence gives among some commits, whoever made them; without any, among
        all in the time of the conversations."""
        commits = list(self._add_changes(self._read_commits("--no-walk", *oids))) if oids else None
        yield from self._find_links(self._list_commits(None) if commits is None else commits, False)

    def _find_links(self, commits: Sequence[Commit], coarse: bool) -> Iterator[Link]:
        fresh = [commit for commit in commits if not self._is_recorded(commit.oid)]
        proofs = self._prove(fresh, commits)
        for commit in fresh:
            parts = self._make_parts(commit, proofs.get(commit.oid, {}))
            parts = parts or (self._guess_part(commit) if coarse else [])
            imported = self._list_imported(commit.oid)
            if parts := [part for part in parts if part["session"] not in imported]:
                yield {
                    "commit": commit.oid,
                    "checkpoint_id": make_import_id(commit.oid),
                    "by_hand": False,
                    "time": commit.time,
                    "parts": parts,
                }

    def list_unlinked(self, linked: Collection[str]) -> Iterator[Link]:
        """A checkpoint without a commit for each session that is linked to none, and has none
        yet."""
        for name, session in sorted(self._gathered.sessions.items()):
            checkpoint_id = make_import_id(name)
            if name in linked or not session.path:
                continue
            if committed_refs.find_checkpoint(self._repo, self._contents, checkpoint_id) is None:
                yield self.make_link_by_hand("", name)

    def make_link_by_hand(self, oid: str, name: str) -> Link:
        """A session's checkpoint for a commit of which no line is known, or for none."""
        session = self._gathered.sessions[name]
        return {
            "commit": oid,
            "checkpoint_id": make_import_id(oid or name),
            "by_hand": bool(oid),
            "time": session.last // 10**9 or int(session.age),
            "parts": [_make_bare_part(name)],
        }

    def has(self, oid: str, session: str) -> bool:
        """Whether an import has linked a commit to a session before."""
        return session in self._list_imported(oid)

    def _list_imported(self, oid: str) -> Collection[str]:
        """The sessions that an import has linked a commit to before."""
        mine = make_import_id(oid)
        if mine not in find_commits.list_linked(self._contents, oid):
            return ()
        return committed_read.list_session_ids(self._repo, self._contents, mine)

    def _guess_part(self, commit: Commit) -> list[Part]:
        """The session that, within a day before a commit, wrote most of its files, as its whole
        part; none where several did."""
        wrote: dict[str, set[str]] = {}
        for path in commit.changes.keys() & set(self._gathered.list_paths()):
            for session in self._gathered.list_writers(path, commit.time - _DAY, commit.time):
                wrote.setdefault(session, set()).add(path)
        ranks = sorted(wrote, key=lambda name: -len(wrote[name]))
        if not ranks or (ranks[1:] and len(wrote[ranks[1]]) == len(wrote[ranks[0]])):
            return []
        part = _make_bare_part(ranks[0])
        part["coarse"] = True
        for path in sorted(wrote[ranks[0]]):
            part["files"][path] = _describe_file(commit.changes[path], [])
        return [part]

    def _list_commits(self, addresses: set[str] | None) -> list[Commit]:
        """The commits that may hold edits, parents before children; addresses: of those who may
        have made them, None for anybody."""
        times = [one.first for one in self._gathered.sessions.values() if one.first]
        if not times:
            return []
        since = f"--since={min(times) // 10**9 - 1}"
        return list(self._add_changes(self._read_commits(since, *find_commits.ALL, only=addresses)))

    def _read_commits(self, *where: str, only: set[str] | None = None) -> Iterator[Commit]:
        form = "log -z --no-merges --date-order --reverse --no-show-signature --no-notes"
        for item in self._repo.git.stream_records(*form.split(), _FORMAT, *where):
            oid, time, author_time, address = decode_name(item).split("\n")
            if only is None or address.lower() in only:
                yield Commit(oid, int(time), int(author_time))

    def _add_changes(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        wanted, commits_left = set(self._gathered.list_paths()), iter(commits)
        while window := list(islice(commits_left, 500)):
            objects = (need_commit(self._contents, one.oid) for one in window)
            changed = commit_changes.read_many_changes(self._repo, self._contents, objects)
            for commit in window:
                changes = changed.get(commit.oid, {})
                if not wanted.isdisjoint(changes):
                    commit.changes = changes
                    yield commit

    def _prove(
        self, fresh: Sequence[Commit], commits: Sequence[Commit]
    ) -> dict[str, dict[str, Proof]]:
        """commit -> path -> what a commit has of the calls on it, path by path: memory holds the
        contents of none.  commits: all whose versions tell what a call found."""
        wanted, by_path = {commit.oid for commit in fresh}, dict[str, list[Commit]]()
        for commit in commits:
            for path in commit.changes.keys() & set(self._gathered.list_paths()):
                by_path.setdefault(path, []).append(commit)
        proofs: dict[str, dict[str, Proof]] = {}
        for path in progress.iterate_shown("Comparing commits", sorted(by_path)):
            versions = self._list_versions(path, by_path[path])
            steps = chain.list_steps(self._gathered.list_calls(path), versions)
            calls = Calls(self._contents, path, steps, self._is_ancestor)
            for commit in by_path[path]:
                about = commit.oid, commit.time, commit.changes[path]
                if commit.oid in wanted and (
                    proof := calls.prove(*about, partial(self._is_in_time, commit))
                ):
                    proofs.setdefault(commit.oid, {})[path] = proof
            self._contents.forget()
        return proofs

    def _is_in_time(self, commit: Commit, name: str) -> bool:
        """Whether a commit was made in the time of a session, or the week after it."""
        session = self._gathered.sessions[name]
        ends = session.last // 10**9 + WEEK
        return session.first // 10**9 <= commit.time and (
            min(commit.time, commit.author_time) <= ends
        )

    def _list_versions(self, path: str, commits: Sequence[Commit]) -> list[chain.Version]:
        versions: list[tuple[int, str | None]] = []
        for commit in sorted(commits, key=lambda change: change.time):
            _, old, _, new = commit.changes[path]
            versions += [(commit.time - 1, old)] if not versions or versions[-1][1] != old else []
            versions.append((commit.time, new))
        return [(time, partial(self._read_content, oid)) for time, oid in versions]

    def _read_content(self, oid: str | None) -> bytes | None:
        blob = self._contents.read(oid) if oid else None
        return blob[2] if blob and blob[1] == "blob" else None

    def _is_recorded(self, oid: str) -> bool:
        """Whether somebody has linked a commit, or refused to have it linked by an import."""
        message, note = find_commits.read_texts(self._contents, oid)
        mine = make_import_id(oid)
        linked = links.list_links(message, note).keys() - {mine}
        return bool(linked) or mine in links.list_removed(note)

    def _is_ancestor(self, old: str, new: str) -> bool:
        if (old, new) not in self._ancestors:
            args = ("merge-base", "--is-ancestor", old, new)
            self._ancestors[old, new] = not self._repo.git.run(*args, ok=(0, 1))[0]
        return self._ancestors[old, new]

    def _make_parts(self, commit: Commit, proofs: Mapping[str, Proof]) -> list[Part]:
        """What the store is to say of the sessions whose edits a commit holds."""
        held = sorted({session for _, turns in proofs.values() for session in turns})
        if not held:
            return []
        credits = {path: credit for path, (credit, _) in proofs.items()}
        unproven = {path: c for path, c in commit.changes.items() if path not in credits}
        bare = edit_lines.Edits(self._contents, ()).credit_paths(unproven)
        every = [*credits.values(), *map(holding.forget_all, bare.values())]
        parts: list[Part] = []
        for session in held:
            mine = sorted(path for path, (_, turns) in proofs.items() if session in turns)
            files = {}
            for path in mine:
                wrote = attribution.list_turns(session, credits[path]) or [proofs[path][1][session]]
                files[path] = _describe_file(commit.changes[path], wrote)
            parts.append(
                {
                    "session": session,
                    "coarse": False,
                    "files": files,
                    "lines": attribution.build_entries(session, {p: credits[p] for p in mine}, {}),
                    "attribution": attribution.compute_attribution(session, every),
                }
            )
        return parts


def _describe_file(change: Staged, wrote: list[str]) -> dict[str, Any]:
    old_mode, old, mode, new = change
    before = [old_mode, old] if old else None
    return {"oid": new or "", "mode": mode, "turns": wrote, "before": before}


def _make_bare_part(session: str) -> Part:
    """A session's part of which no line is known."""
    nothing = attribution.compute_attribution(session, ())
    return {"session": session, "coarse": False, "files": {}, "lines": {}, "attribution": nothing}


def make_import_id(name: str) -> str:
    """The id of the checkpoint that an import makes for a commit, or for a session without one,
    the same in every clone."""
    return str(ids.start_sha256(f"gitcp import {name}".encode()).hexdigest()[:12])
