"""The plan of an import: which commits have which sessions' edits.  Nothing is written.

Commits are read oldest first.  A session's line that a commit has taken is not taken again by
later commits: a line that was removed and restored is no new work.
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
from gitcp.store.git.commit import is_ancestor, need_commit
from gitcp.store.imports.proof import Calls
from gitcp.store.lines import edit_lines
from gitcp.store.v1 import committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.decide.difference import Staged
    from gitcp.core.lines.attribution import PathCredit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.imports.gather import Contents, Gathered
    from gitcp.store.imports.proof import Proof

    class Part(TypedDict):
        """A session's work in a commit, for its metadata and lines.json.  coarse: it is known by
        time and files only, not by lines."""

        session: str
        coarse: bool
        files: dict[str, dict[str, Any]]
        lines: dict[str, list[dict[str, Any]]]
        attribution: dict[str, Any]

    class Link(TypedDict):
        """A checkpoint and the commit to link to it, '' for none.  time: that of the commit, or
        of the session's last edit, in s.  by_hand: a person links it, without evidence."""

        commit: str
        checkpoint_id: str
        by_hand: bool
        time: int
        parts: list[Part]


_DAY = 24 * 3600
WEEK = 7 * _DAY
_FORMAT = "--format=%H%n%ct%n%at%n%ce"


class Commit:
    """A commit that may have edits of the conversations.  Times are in s."""

    __slots__ = ("author_time", "changes", "oid", "time")

    def __init__(self, oid: str, time: int, author_time: int) -> None:
        self.oid, self.time, self.author_time = oid, time, author_time
        self.changes: Changes = {}


class Planner:
    """Finds the links of an import."""

    def __init__(self, repo: Repo, contents: Contents, gathered: Gathered) -> None:
        self._repo, self._contents, self._gathered = repo, contents, gathered
        self._ancestors: dict[tuple[str, str], bool] = {}

    def find_links(self, addresses: set[str], coarse: bool = False) -> Iterator[Link]:
        """The new links by evidence, oldest commit first.  coarse: also by time and files, for
        commits without evidence."""
        yield from self._find_links(self._list_commits(addresses), coarse)

    def find_links_among(self, oids: Sequence[str]) -> Iterator[Link]:
        """The new links by evidence of some commits by any author; without oids, of all commits
        since the conversations began."""
        if oids:
            commits = list(self._add_changes(self._read_commits("--no-walk", *oids)))
        else:
            commits = self._list_commits(None)
        yield from self._find_links(commits, False)

    def _find_links(self, commits: Sequence[Commit], coarse: bool) -> Iterator[Link]:
        new_commits = [commit for commit in commits if not self._is_recorded(commit.oid)]
        proofs = self._prove(new_commits, commits)
        for commit in new_commits:
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
        """A checkpoint without a commit for each session without a link or checkpoint."""
        for session_id, session in sorted(self._gathered.sessions.items()):
            checkpoint_id = make_import_id(session_id)
            if session_id in linked or not session.path:
                continue
            if committed_refs.find_checkpoint(self._repo, self._contents, checkpoint_id) is None:
                yield self.make_link_by_hand("", session_id)

    def make_link_by_hand(self, oid: str, session_id: str) -> Link:
        """A session's checkpoint for a commit without evidence, or for no commit ('')."""
        session = self._gathered.sessions[session_id]
        return {
            "commit": oid,
            "checkpoint_id": make_import_id(oid or session_id),
            "by_hand": bool(oid),
            "time": session.last // 10**9 or int(session.mtime),
            "parts": [_make_bare_part(session_id)],
        }

    def has(self, oid: str, session_id: str) -> bool:
        """Whether an import has linked a commit to a session."""
        return session_id in self._list_imported(oid)

    def _list_imported(self, oid: str) -> Collection[str]:
        """The sessions that imports have linked a commit to."""
        import_id = make_import_id(oid)
        if import_id not in find_commits.list_linked(self._contents, oid):
            return ()
        return committed_read.list_session_ids(self._repo, self._contents, import_id)

    def _guess_part(self, commit: Commit) -> list[Part]:
        """The part of the session that wrote most files of a commit within a day before it; []
        without one, or if several wrote as many."""
        written_by: dict[str, set[str]] = {}
        for path in commit.changes.keys() & set(self._gathered.list_paths()):
            for session in self._gathered.list_writers(path, commit.time - _DAY, commit.time):
                written_by.setdefault(session, set()).add(path)
        most = max(map(len, written_by.values()), default=0)
        winners = [session for session, paths in written_by.items() if len(paths) == most]
        if len(winners) != 1:
            return []
        part = _make_bare_part(winners[0])
        part["coarse"] = True
        for path in sorted(written_by[winners[0]]):
            part["files"][path] = _describe_file(commit.changes[path], [])
        return [part]

    def _list_commits(self, addresses: set[str] | None) -> list[Commit]:
        """The commits that may have edits, parents first.  addresses: of their committers, None
        for all."""
        times = [session.first for session in self._gathered.sessions.values() if session.first]
        if not times:
            return []
        since = f"--since={min(times) // 10**9 - 1}"
        commits = self._read_commits(since, *find_commits.ALL, addresses=addresses)
        return list(self._add_changes(commits))

    def _read_commits(self, *where: str, addresses: set[str] | None = None) -> Iterator[Commit]:
        options = "log -z --no-merges --date-order --reverse --no-show-signature --no-notes"
        for item in self._repo.git.stream_records(*options.split(), _FORMAT, *where):
            oid, time, author_time, address = decode_name(item).split("\n")
            if addresses is None or address.lower() in addresses:
                yield Commit(oid, int(time), int(author_time))

    def _add_changes(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        paths, remaining = set(self._gathered.list_paths()), iter(commits)
        while window := list(islice(remaining, 500)):
            objects = (need_commit(self._contents, commit.oid) for commit in window)
            changed = commit_changes.read_many_changes(self._repo, self._contents, objects)
            for commit in window:
                changes = changed.get(commit.oid, {})
                if not paths.isdisjoint(changes):
                    commit.changes = changes
                    yield commit

    def _prove(
        self, new_commits: Sequence[Commit], commits: Sequence[Commit]
    ) -> dict[str, dict[str, Proof]]:
        """commit -> path -> proof of the calls on it.  Paths are handled one by one, so that memory
        holds few contents.  commits: those whose versions show what a call changed."""
        new_oids, by_path = {commit.oid for commit in new_commits}, dict[str, list[Commit]]()
        for commit in commits:
            for path in commit.changes.keys() & set(self._gathered.list_paths()):
                by_path.setdefault(path, []).append(commit)
        proofs: dict[str, dict[str, Proof]] = {}
        for path in progress.iterate_shown("Comparing commits", sorted(by_path)):
            versions = self._list_versions(path, by_path[path])
            steps = chain.list_steps(self._gathered.list_calls(path), versions)
            calls = Calls(self._contents, path, steps, self._is_ancestor)
            for commit in by_path[path]:
                if commit.oid not in new_oids:
                    continue
                in_time = partial(self._is_in_time, commit)
                if proof := calls.prove(commit.oid, commit.time, commit.changes[path], in_time):
                    proofs.setdefault(commit.oid, {})[path] = proof
            self._contents.forget()
        return proofs

    def _is_in_time(self, commit: Commit, session_id: str) -> bool:
        """Whether a commit was made during a session, or in the week after it."""
        session = self._gathered.sessions[session_id]
        end = session.last // 10**9 + WEEK
        return session.first // 10**9 <= commit.time and (
            min(commit.time, commit.author_time) <= end
        )

    def _list_versions(self, path: str, commits: Sequence[Commit]) -> list[chain.Version]:
        """The versions of a path with their times: of each commit, and before it the parent's if
        that is another than the last."""
        versions: list[tuple[int, str | None]] = []
        for commit in sorted(commits, key=lambda commit: commit.time):
            _, old, _, new = commit.changes[path]
            if not versions or versions[-1][1] != old:
                versions.append((commit.time - 1, old))
            versions.append((commit.time, new))
        return [(time, partial(self._contents.read_blob, oid)) for time, oid in versions]

    def _is_recorded(self, oid: str) -> bool:
        """Whether a commit has another link, or a person has removed that of an import."""
        message, note = find_commits.read_texts(self._contents, oid)
        import_id = make_import_id(oid)
        linked = links.list_links(message, note).keys() - {import_id}
        return bool(linked) or import_id in links.list_removed(note)

    def _is_ancestor(self, old: str, new: str) -> bool:
        if (old, new) not in self._ancestors:
            self._ancestors[old, new] = bool(is_ancestor(self._repo, old, new))
        return self._ancestors[old, new]

    def _make_parts(self, commit: Commit, proofs: Mapping[str, Proof]) -> list[Part]:
        """The parts of the sessions whose edits a commit has."""
        sessions = sorted({session for _, turns in proofs.values() for session in turns})
        if not sessions:
            return []
        credits = {path: credit for path, (credit, _) in proofs.items()}
        # The attribution counts all paths; nobody is known to have written those without a proof.
        unproven = {path: c for path, c in commit.changes.items() if path not in credits}
        unproven_credits = edit_lines.Edits(self._contents, ()).credit_paths(unproven)
        all_credits = [*credits.values(), *map(holding.forget_all, unproven_credits.values())]
        parts: list[Part] = []
        for session in sessions:
            files: dict[str, dict[str, Any]] = {}
            own_credits: dict[str, PathCredit] = {}
            for path, (credit, last_turns) in sorted(proofs.items()):
                if session in last_turns:
                    turn_ids = attribution.list_turns(session, credit) or [last_turns[session]]
                    files[path] = _describe_file(commit.changes[path], turn_ids)
                    own_credits[path] = credit
            part: Part = {
                "session": session,
                "coarse": False,
                "files": files,
                "lines": attribution.build_entries(session, own_credits, {}),
                "attribution": attribution.compute_attribution(session, all_credits),
            }
            parts.append(part)
        return parts


def _describe_file(change: Staged, turn_ids: list[str]) -> dict[str, Any]:
    old_mode, old, mode, new = change
    before = [old_mode, old] if old else None
    return {"oid": new or "", "mode": mode, "turns": turn_ids, "before": before}


def _make_bare_part(session: str) -> Part:
    """A session's part without files or lines."""
    nothing = attribution.compute_attribution(session, ())
    return {"session": session, "coarse": False, "files": {}, "lines": {}, "attribution": nothing}


def make_import_id(name: str) -> str:
    """The id of an import's checkpoint for a commit, or for a session without one: the same in
    every clone."""
    return str(ids.start_sha256(f"gitcp import {name}".encode()).hexdigest()[:12])
