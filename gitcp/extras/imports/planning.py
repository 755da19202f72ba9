"""The plan of an import: which commits have which sessions' edits.  Nothing is written.

Commits are read oldest first.  A session's line that a commit has taken is not taken again by
later commits: a line that was removed and restored is no new work.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from gitcp.checkpoints import links, listing
from gitcp.checkpoints.stored import find_checkpoint, list_session_ids
from gitcp.extras.imports import rules
from gitcp.extras.imports.find import Calls, Contents, Gathered
from gitcp.git import decode_name
from gitcp.git.objects import need_commit, object_lists
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.git.objects.reading import split_windows
from gitcp.lines import edit_lines
from gitcp.text import ids as ids_
from gitcp.text import line_credit, term, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.extras.imports.find import Proof
    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.text.line_credit import Attribution, PathCredit
    from gitcp.text.record_types import Staged

_DAY = 24 * 3600
WEEK = 7 * _DAY
_WINDOW = 500  # commits whose changes are read at once
_FORMAT = "--format=%H%n%ct%n%at%n%ce"


@value_class
class ImportedFile:
    """A file of a session in a commit.  oid: '' if it was deleted.  turns: the ids of those that
    wrote it.  before: mode and oid of what the commit changed, None for nothing."""

    oid: str
    mode: str
    turns: list[str]
    before: list[str] | None


@value_class
class Part:
    """A session's work in a commit, for its metadata and lines.json.  files: by path.  coarse: it
    is known by time and files only, not by lines."""

    session: str
    files: dict[str, ImportedFile]
    lines: dict[str, list[dict[str, Any]]]
    attribution: Attribution
    coarse: bool = False


@value_class
class Link:
    """A checkpoint and the commit to link to it, '' for none.  time: that of the commit, or of the
    session's last edit, in s.  by_hand: a person links it, without evidence."""

    commit: str
    checkpoint_id: str
    time: int
    parts: list[Part]
    by_hand: bool = False


@value_class
class CandidateCommit:
    """A commit that may have edits of the conversations.  Times are in s."""

    oid: str
    time: int
    author_time: int
    changes: Changes


class _Made(NamedTuple):
    """When a commit was made, and when its author says so, in s."""

    oid: str
    time: int
    author_time: int


class Planner:
    """Finds the links of an import."""

    def __init__(self, repo: Repo, contents: Contents, gathered: Gathered) -> None:
        self._repo = repo
        self._contents = contents
        self._gathered = gathered
        self._ancestors: dict[tuple[str, str], bool] = {}

    def find_links(self, addresses: set[str], coarse: bool = False) -> Iterator[Link]:
        """The new links by evidence, oldest commit first.  coarse: also by time and files, for
        commits without evidence."""
        yield from self._find_links(self._list_commits(addresses), coarse)

    def find_links_among(self, oids: Sequence[str]) -> Iterator[Link]:
        """The new links by evidence of some commits by any author; without oids, of all commits
        since the conversations began."""
        if oids:
            commits = list(self._read_commits("--no-walk", *oids))
        else:
            commits = self._list_commits(None)
        yield from self._find_links(commits, False)

    def _find_links(self, commits: Sequence[CandidateCommit], coarse: bool) -> Iterator[Link]:
        new_commits = [commit for commit in commits if not self._is_recorded(commit.oid)]
        proofs = self._prove(new_commits, commits)
        for commit in new_commits:
            parts = self._make_parts(commit, proofs.get(commit.oid, {}))
            if coarse and not parts:
                parts = self._guess_part(commit)
            imported = self._list_imported(commit.oid)
            parts = [part for part in parts if part.session not in imported]
            if parts:
                yield Link(commit.oid, make_import_id(commit.oid), commit.time, parts)

    def list_unlinked(self, linked: Collection[str]) -> Iterator[Link]:
        """A checkpoint without a commit for each session without a link or checkpoint."""
        for session_id, session in sorted(self._gathered.sessions.items()):
            checkpoint_id = make_import_id(session_id)
            if session_id in linked or not session.path:
                continue
            if find_checkpoint(self._repo, checkpoint_id) is None:
                yield self.make_unproven_link(session_id)

    def make_unproven_link(self, session_id: str, oid: str = "") -> Link:
        """A session's checkpoint for a commit without evidence of it, or for no commit."""
        session = self._gathered.sessions[session_id]
        last = session.last // 10**9 or int(session.mtime)
        part = _make_bare_part(session_id, {})
        return Link(oid, make_import_id(oid or session_id), last, [part], by_hand=bool(oid))

    def has(self, oid: str, session_id: str) -> bool:
        """Whether an import has linked a commit to a session."""
        return session_id in self._list_imported(oid)

    def _list_imported(self, oid: str) -> Collection[str]:
        """The sessions that imports have linked a commit to."""
        import_id = make_import_id(oid)
        if import_id not in listing.list_linked(self._contents, oid):
            return ()
        return list_session_ids(self._repo, import_id)

    def _guess_part(self, commit: CandidateCommit) -> list[Part]:
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
        written = {
            path: _describe_file(commit.changes[path], [])
            for path in sorted(written_by[winners[0]])
        }
        return [_make_bare_part(winners[0], written, coarse=True)]

    def _list_commits(self, addresses: set[str] | None) -> list[CandidateCommit]:
        """The commits that may have edits, parents first.  addresses: of their committers, None
        for all."""
        times = [session.first for session in self._gathered.sessions.values() if session.first]
        if not times:
            return []
        since = f"--since={min(times) // 10**9 - 1}"
        return list(self._read_commits(since, *listing.ALL, addresses=addresses))

    def _read_commits(
        self, *where: str, addresses: set[str] | None = None
    ) -> Iterator[CandidateCommit]:
        """The commits that change a path of the conversations."""
        paths = set(self._gathered.list_paths())
        for window in split_windows(self._list_times(where, addresses), _WINDOW):
            objects = (need_commit(self._contents, made.oid) for made in window)
            changed = object_lists.read_many_changes(self._repo, objects)
            for made in window:
                changes = changed.get(made.oid, {})
                if not paths.isdisjoint(changes):
                    yield CandidateCommit(made.oid, made.time, made.author_time, changes)

    def _list_times(self, where: Sequence[str], addresses: set[str] | None) -> Iterator[_Made]:
        """The commits of git log, parents first."""
        options = "log -z --no-merges --date-order --reverse --no-show-signature --no-notes"
        for item in self._repo.git.stream_records(*options.split(), _FORMAT, *where):
            oid, made, authored, address = decode_name(item).split("\n")
            if addresses is None or address.lower() in addresses:
                yield _Made(oid, int(made), int(authored))

    def _prove(
        self, new_commits: Sequence[CandidateCommit], commits: Sequence[CandidateCommit]
    ) -> dict[str, dict[str, Proof]]:
        """commit -> path -> proof of the calls on it.  Paths are handled one by one, so that memory
        holds few contents.  commits: those whose versions show what a call changed."""
        new_oids = {commit.oid for commit in new_commits}
        by_path = dict[str, list[CandidateCommit]]()
        for commit in commits:
            for path in commit.changes.keys() & set(self._gathered.list_paths()):
                by_path.setdefault(path, []).append(commit)
        proofs: dict[str, dict[str, Proof]] = {}
        for path in term.iterate_shown("Comparing commits", sorted(by_path)):
            versions = self._list_versions(path, by_path[path])
            steps = rules.list_steps(self._gathered.list_calls(path), versions)
            calls = Calls(self._contents, path, steps, self._is_ancestor)
            for commit in by_path[path]:
                if commit.oid not in new_oids:
                    continue
                in_time = partial(self._is_in_time, commit)
                proof = calls.prove(commit.oid, commit.time, commit.changes[path], in_time)
                if proof:
                    proofs.setdefault(commit.oid, {})[path] = proof
            self._contents.forget()
        return proofs

    def _is_in_time(self, commit: CandidateCommit, session_id: str) -> bool:
        """Whether a commit was made during a session, or in the week after it."""
        session = self._gathered.sessions[session_id]
        begin = session.first // 10**9
        end = session.last // 10**9 + WEEK
        return begin <= commit.time and min(commit.time, commit.author_time) <= end

    def _list_versions(self, path: str, commits: Sequence[CandidateCommit]) -> list[rules.Version]:
        """The versions of a path with their times: each commit's, and before it its parent's,
        unless that is the version listed last."""
        versions: list[tuple[int, str | None]] = []
        for commit in sorted(commits, key=lambda commit: commit.time):
            _, old, _, new = commit.changes[path]
            if not versions or versions[-1][1] != old:
                versions.append((commit.time - 1, old))
            versions.append((commit.time, new))
        return [(made, partial(self._contents.read_blob, oid)) for made, oid in versions]

    def _is_recorded(self, oid: str) -> bool:
        """Whether a commit has a link other than an import's, or a person has removed that one."""
        texts = listing.read_texts(self._contents, oid)
        import_id = make_import_id(oid)
        linked = links.list_carried(texts.message, texts.note).keys() - {import_id}
        return bool(linked) or import_id in links.list_removed(texts.note)

    def _is_ancestor(self, old: str, new: str) -> bool:
        if (old, new) not in self._ancestors:
            self._ancestors[old, new] = bool(is_ancestor(self._repo, old, new))
        return self._ancestors[old, new]

    def _make_parts(self, commit: CandidateCommit, proofs: Mapping[str, Proof]) -> list[Part]:
        """The parts of the sessions whose edits a commit has."""
        sessions = set[str]()
        credits: dict[str, PathCredit] = {}
        for path, (credit, turns) in proofs.items():
            sessions.update(turns)
            credits[path] = credit
        if not sessions:
            return []
        # The attribution counts all paths; nobody is known to have written those without a proof.
        unproven = {path: c for path, c in commit.changes.items() if path not in credits}
        unproven_credits = edit_lines.Edits(self._contents, ()).credit_paths(unproven)
        all_credits = [
            *credits.values(),
            *map(rules.make_person_unknown, unproven_credits.values()),
        ]
        parts: list[Part] = []
        for session in sorted(sessions):
            written: dict[str, ImportedFile] = {}
            own_credits: dict[str, PathCredit] = {}
            for path, (credit, last_turns) in sorted(proofs.items()):
                if session in last_turns:
                    turn_ids = credit.list_turns(session) or [last_turns[session]]
                    written[path] = _describe_file(commit.changes[path], turn_ids)
                    own_credits[path] = credit
            lines = line_credit.build_entries(session, own_credits, {})
            attribution = line_credit.compute_attribution(session, all_credits)
            parts.append(Part(session, written, lines, attribution))
        return parts


def _describe_file(change: Staged, turn_ids: list[str]) -> ImportedFile:
    old_mode, old, mode, new = change
    before = None
    if old:
        before = [old_mode, old]
    return ImportedFile(new or "", mode, turn_ids, before)


def _make_bare_part(session: str, written: dict[str, ImportedFile], coarse: bool = False) -> Part:
    """A session's part without lines."""
    nothing = line_credit.compute_attribution(session, ())
    return Part(session, written, {}, nothing, coarse)


def make_import_id(name: str) -> str:
    """The id of an import's checkpoint for a commit, or for a session without one: the same in
    every clone."""
    return str(ids_.start_sha256(f"gitcp import {name}".encode()).hexdigest()[:12])
