"""A commit, and a path in it, with what checkpoints and notes record of the authors of lines.

Each of their facts is read when it is first asked for.
"""

from __future__ import annotations

from functools import cached_property

from gitcp.core.lines import alignment, authors
from gitcp.record import encode_name
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import read_commit
from gitcp.store.lines import recorded
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.git.patches import Hunk
    from gitcp.core.lines.authors import Author, Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    LineAuthors = dict[int, Author]  # by 1-based line
    Spot = tuple[str, str, int]  # commit, path, line from 1


class Readers:
    """What reads checkpoints, notes and blobs for all commits."""

    def __init__(self, repo: Repo, objects: Prefetched) -> None:
        self.repo, self.objects = repo, objects
        self.recorded = recorded.Recorded(repo, objects)
        self.notes = notes.Reader(objects)
        self.attested = recorded.Attested(objects)

    def prefetch_notes(self, commits: Sequence[str]) -> None:
        """Read the notes on these commits in bulk."""
        self.objects.fetch(oid for commit in commits if (oid := self.notes.find_oid(commit)))
        self.attested.prefetch(commits)

    def read_blob(self, oid: str | None) -> bytes | None:
        """The bytes of a blob by its full oid; None if it is not here."""
        return self.objects.read_blob(oid) if oid and oid.isalnum() else None

    def credit_blob(self, records: Sequence[Record], path: str, oid: str) -> LineAuthors:
        """authors.credit_blob() with the blobs and checkpoints of this repository."""
        return authors.credit_blob(records, path, oid, self.read_blob, self.recorded.find_session)


class Commit:
    """A commit by its full oid, or by another name."""

    def __init__(self, readers: Readers, oid: str) -> None:
        self.oid, self._readers = oid, readers

    @cached_property
    def author_and_message(self) -> tuple[str, bytes]:
        """(its author as `Name <mail> seconds`, its message); empty if it is missing."""
        parsed = read_commit(self._readers.objects, self.oid)
        return (parsed["author"], encode_name(parsed["message"])) if parsed else ("", b"")

    @cached_property
    def ids(self) -> list[str]:
        """The ids of its checkpoints."""
        note = self._readers.notes.read_note(self.oid) or b""
        return find_commits.find_ids(
            self.author_and_message[1], note, self._readers.recorded.places
        )

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records of its sessions; those without lines get the lines that their transcripts
        prove."""
        records = self._readers.recorded.read_all_records(self.ids)
        repo, objects = self._readers.repo, self._readers.objects
        return recorded.complete_records(repo, objects, self.oid, self._list_changed, records)

    def _list_changed(self) -> set[str]:
        """The paths that it changes, of a merge those that differ from all parents."""
        objects = self._readers.objects
        commit = read_commit(objects, self.oid)
        return set(commit_changes.read_changes(objects, commit)[1]) if commit else set()

    def is_merge(self) -> bool:
        """Whether it has more than one parent."""
        parsed = read_commit(self._readers.objects, self.oid)
        return len(parsed["parents"] if parsed else ()) > 1


class Place:
    """A path in a commit.

    hunks: of git's diff of the commit; None if they were not read.  before: line -> its earlier
    spot, None for a new line; only of the lines that were traced.  authors: the result of
    Evidence.find_line_authors(); None until it is called.
    """

    def __init__(self, readers: Readers, commit: Commit, path: str) -> None:
        self._readers, self.commit, self.path = readers, commit, path
        self.hunks: Sequence[Hunk] | None = None
        self.before: dict[int, Spot | None] = {}
        self.authors: LineAuthors | None = None

    @property
    def spec(self) -> str:
        """Its name for git."""
        return f"{self.commit.oid}:{self.path}"

    @cached_property
    def oid(self) -> str | None:
        """Its blob; None if it is missing."""
        return self._readers.objects.resolve([self.spec])[self.spec]

    @cached_property
    def content(self) -> Sequence[bytes]:
        """Its lines; [] if the blob is not here."""
        data = self._readers.read_blob(self.oid)
        return data.split(b"\n") if data is not None else []

    @cached_property
    def recorded(self) -> LineAuthors:
        """The authors of its lines that are recorded, aligned with git's hunks if these were
        read."""
        records = self.commit.records
        oid = self.oid if records else None
        lines = self._readers.credit_blob(records, self.path, oid) if oid else {}
        if lines and self.hunks is not None:
            lines = alignment.align_authors(lines, self.hunks, lambda: self.content)
        return lines

    @cached_property
    def stated(self) -> LineAuthors:
        """The recorded authors, else those that a note of Git AI attests."""
        attested = self._readers.attested.find_authors(self.commit.oid, self.path)
        return authors.fill_unknown(self.recorded, attested)

    def has_unrecorded(self, lines: Iterable[int]) -> bool:
        """Whether some authors of the path are recorded, but not those of all these lines."""
        return bool(self.recorded) and any(line not in self.recorded for line in lines)

    def align(self, hunks: Sequence[Hunk]) -> None:
        """Set the hunks, and let what depends on them be found again."""
        self.hunks = hunks
        for name in ("recorded", "stated"):
            vars(self).pop(name, None)
