"""Whose the lines of commits are, by what the checkpoints behind them recorded."""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.store.blame import unrecorded
from gitcp.store.blame.attested import Attested
from gitcp.store.blame.recorded import Recorded
from gitcp.store.git import notes
from gitcp.store.link import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.blame.authors import Author, Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    Known = dict[int, Author]  # by 1-based line


class Evidence:
    """The authors of lines by commit and path; each checkpoint and blob is read once."""

    def __init__(self, repo: Repo, objects: Prefetched, worktree: bool = True) -> None:
        """worktree: what is not committed is the worktree's, of which the journal tells."""
        self._repo, self._objects = repo, objects
        self._journalled = worktree
        self.recorded = Recorded(repo, objects)
        self._notes = notes.Reader(objects)
        self._attested = Attested(objects)
        self._named: dict[str, list[str]] = {}
        self._linked: dict[str, list[Record] | None] = {}
        self._oids: dict[str, str | None] = {}  # of blobs, by `<commit>:<path>`
        self._known: dict[tuple[str, str], Known | None] = {}
        self._noted: dict[tuple[str, str], Known] = {}
        self._contents: dict[str, list[bytes]] = {}
        self._worktree: dict[str, Known] = {}

    def prefetch(self, places: Iterable[tuple[str, str]], contents: bool = False) -> None:
        """Have at hand what author() will need of lines of these (commit, path): a few questions
        to git, however many they are.  contents: it will be given how the lines read."""
        wanted = [place for place in dict.fromkeys(places) if place[0].strip("0")]
        commits = list(dict.fromkeys(commit for commit, _ in wanted))
        self._objects.fetch(commits)
        self._objects.fetch(oid for commit in commits if (oid := self._notes.oid(commit)))
        self._attested.prefetch(commits)
        self.recorded.prefetch(one for commit in commits for one in self._ids(commit))
        specs = [f"{commit}:{path}" for commit, path in wanted if self._records(commit)]
        self._oids |= self._objects.resolve(specs)
        if contents:
            self._objects.fetch(oid for spec in specs if (oid := self._oids.get(spec)))

    def author(self, commit: str, path: str, line: int, content: bytes | None = None) -> Author:
        """Who wrote a line (1-based) of path in commit.

        "person" where the commit has no checkpoint, "unknown" where it has one that recorded
        nothing of the line, unless a note of another tool knows.  content: how the line reads
        now; where it reads differently in the commit, white space apart, blame has moved it
        there and nothing is known.
        """
        if not commit.strip("0"):
            return self._uncommitted(path).get(line, authors.nobody("person"))
        known = self._of(commit, path)
        unsaid = authors.nobody("person" if known is None else "unknown")
        author = (known or {}).get(line, unsaid)
        if known is None or author["who"] == "unknown":
            author = self._by_notes(commit, path).get(line, author)
        if content is not None and author["who"] == "session":
            there = self._line(commit, path, line)
            if there is None or there.split() != content.split():
                return authors.nobody("unknown")
        return author

    def prefetch_attested(self, commits: Iterable[str]) -> None:
        """Have at hand what attested() will need."""
        self._attested.prefetch(commits)

    def attested(self, commit: str, paths: Iterable[str]) -> dict[str, Known]:
        """The authors of lines by what notes of other tools attest: path -> line -> author."""
        lines = ((path, self._by_notes(commit, path)) for path in paths)
        return {path: known for path, known in lines if known}

    def lines(self, commit: str, path: str) -> Known:
        """The authors of the lines of path that are recorded for commit."""
        return self._of(commit, path) or {}

    def linked(self, commit: str) -> bool:
        """Whether a checkpoint of the commit is stored here."""
        return self._records(commit) is not None

    def proven(self, commit: str, records: list[Record]) -> list[Record]:
        """The records of a commit with what transcripts prove where no lines were recorded."""
        return unrecorded.completed(self._repo, self._objects, commit, records)

    def guess(self, commit: str, path: str) -> Author | None:
        """Whom a line of a linked commit may be of where nothing is known: the one session that
        touched the path.  A guess: for eyes alone, and shown as one."""
        records = [r for r in self._records(commit) or () if path in unrecorded.touched(r)]
        if len({record["session_id"] for record in records}) != 1:
            return None
        files = records[-1]["metadata"].get("files")
        about = files.get(path) if isinstance(files, dict) else None
        turn = about.get("turn_id") if isinstance(about, dict) else None
        return authors.turn(records[-1], str(turn or ""), None)

    def forget(self) -> None:
        """Let go of what was read: memory stays flat however many commits are asked for."""
        self.recorded.forget()
        self._attested.forget()
        for kept in (
            self._named,
            self._linked,
            self._oids,
            self._known,
            self._noted,
            self._contents,
        ):
            kept.clear()

    def _uncommitted(self, path: str) -> Known:
        if path not in self._worktree:
            from gitcp.store.blame import history, uncommitted

            committed = history.History(self._repo, self._objects, self, "HEAD").authors
            about = (self._repo, self._objects, path, committed)
            self._worktree[path] = uncommitted.lines(*about) if self._journalled else {}
        return self._worktree[path]

    def _of(self, commit: str, path: str) -> Known | None:
        key = commit, path
        if key not in self._known:
            records = self._records(commit)
            oid = self._oid(commit, path) if records else None
            known = authors.of_blob(records or (), path, oid, self.blob) if oid else {}
            self._known[key] = None if records is None else known
        return self._known[key]

    def _by_notes(self, commit: str, path: str) -> Known:
        key = commit, path
        if key not in self._noted:
            self._noted[key] = self._attested.lines(commit, path)
        return self._noted[key]

    def _ids(self, commit: str) -> list[str]:
        if commit not in self._named:
            texts = find_commits.texts(self._objects, commit, self._notes)
            self._named[commit] = find_commits.named(*texts, self.recorded.places)
        return self._named[commit]

    def _records(self, commit: str) -> list[Record] | None:
        if commit not in self._linked:
            ids = self._ids(commit)
            records = [record for one in ids for record in self.recorded.of(one)]
            self._linked[commit] = self.proven(commit, records) if ids else None
        return self._linked[commit]

    def _oid(self, commit: str, path: str) -> str | None:
        spec = f"{commit}:{path}"
        if spec not in self._oids:
            self._oids |= self._objects.resolve([spec])
        return self._oids.get(spec)

    def blob(self, oid: str) -> bytes | None:
        """The bytes of a blob by its full oid; None where it is not here."""
        there = self._objects.read(oid) if oid.isalnum() else None
        return there[2] if there and there[1] == "blob" else None

    def _line(self, commit: str, path: str, line: int) -> bytes | None:
        oid = self._oid(commit, path)
        if oid is None:
            return None
        if oid not in self._contents:
            data = self.blob(oid)
            self._contents[oid] = data.split(b"\n") if data is not None else []
        lines = self._contents[oid]
        return lines[line - 1] if 0 < line <= len(lines) else None
