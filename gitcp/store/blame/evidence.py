"""What the checkpoints behind commits recorded of their lines, read for many commits at once."""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.store.git.tree import read_tree
from gitcp.store.link import find_commits
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.blame.authors import Author, Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


class Evidence:
    """The authors of lines by commit and path; each checkpoint and blob is read once."""

    def __init__(self, repo: Repo, objects: Objects, worktree: bool = True) -> None:
        """worktree: what is not committed is the worktree's, of which the journal tells."""
        self._repo, self._objects = repo, objects
        self._records: dict[str, list[Record]] = {}
        self._linked: dict[str, list[Record] | None] = {}
        self._lines: dict[tuple[str, str], dict[int, Author] | None] = {}
        self._blobs: dict[str, bytes | None] = {}
        self._worktree: dict[str, dict[int, Author]] = {}
        self._journalled = worktree

    def author(self, commit: str, path: str, line: int, content: bytes | None = None) -> Author:
        """Who wrote a line (1-based) of path in commit.

        "person" where the commit has no checkpoint, "unknown" where it has one that recorded
        nothing of the line.  content: how the line reads now; where it reads differently in
        the commit, white space apart, blame has moved it there and nothing is known.
        """
        if not commit.strip("0"):
            return self._uncommitted(path).get(line, authors.nobody("person"))
        known = self._of(commit, path)
        if known is None:
            return authors.nobody("person")
        author = known.get(line, authors.nobody("unknown"))
        if content is not None and author["who"] == "session":
            there = self._line(commit, path, line)
            if there is None or there.split() != content.split():
                return authors.nobody("unknown")
        return author

    def lines(self, commit: str, path: str) -> dict[int, Author]:
        """The authors of the lines of path that are recorded for commit, by 1-based line."""
        return self._of(commit, path) or {}

    def linked(self, commit: str) -> bool:
        """Whether a checkpoint of the commit is stored here."""
        return self._checkpoints(commit) is not None

    def _uncommitted(self, path: str) -> dict[int, Author]:
        if path not in self._worktree:
            from gitcp.store.blame import uncommitted

            known = uncommitted.lines(self._repo, self._objects, path) if self._journalled else {}
            self._worktree[path] = known
        return self._worktree[path]

    def forget(self) -> None:
        """Let go of what was read: memory stays flat however many commits are asked for."""
        for kept in (self._records, self._linked, self._lines, self._blobs):
            kept.clear()

    def _of(self, commit: str, path: str) -> dict[int, Author] | None:
        key = commit, path
        if key not in self._lines:
            records = self._checkpoints(commit)
            oid = self._oid(commit, path) if records else None
            known = authors.of_blob(records or (), path, oid, self._blob) if oid else {}
            self._lines[key] = None if records is None else known
        return self._lines[key]

    def _checkpoints(self, commit: str) -> list[Record] | None:
        if commit not in self._linked:
            ids = find_commits.of_commit(self._repo, self._objects, commit)
            stored = [self.stored(checkpoint_id) for checkpoint_id in ids]
            records = [record for part in stored for record in part]
            self._linked[commit] = records if ids else None
        return self._linked[commit]

    def stored(self, checkpoint_id: str) -> list[Record]:
        """What each session of a checkpoint recorded; [] where it is not here or unreadable."""
        if checkpoint_id not in self._records:
            try:
                checkpoint = committed_read.read(self._repo, self._objects, checkpoint_id)
            except Error:
                self._records[checkpoint_id] = []  # not here, or not readable: nothing is known
                return []
            self._records[checkpoint_id] = [
                {
                    "checkpoint_id": checkpoint_id,
                    "session_id": entry["session_id"],
                    "metadata": entry["metadata"],
                    "lines": self._json(entry["tree"]),
                    "time": str(entry["metadata"].get("created_at") or ""),
                }
                for entry in checkpoint["sessions"]
            ]
        return self._records[checkpoint_id]

    def _json(self, tree: str) -> dict[str, Any] | None:
        import json

        entry = read_tree(self._objects, tree).get(summary.LINES)
        data = self._blob(entry[1]) if entry else None
        try:
            value = json.loads(data) if data else None
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _oid(self, commit: str, path: str) -> str | None:
        there = self._objects.read(f"{commit}:{path}") if "\n" not in path else None
        if there is None or there[1] != "blob":
            return None
        self._blobs[there[0]] = there[2]
        return there[0]

    def _blob(self, oid: str) -> bytes | None:
        if oid not in self._blobs:
            there = self._objects.read(oid) if oid.isalnum() else None
            self._blobs[oid] = there[2] if there and there[1] == "blob" else None
        return self._blobs[oid]

    def _line(self, commit: str, path: str, line: int) -> bytes | None:
        oid = self._oid(commit, path)
        data = self._blob(oid) if oid else None
        lines = data.split(b"\n") if data is not None else []
        return lines[line - 1] if 0 < line <= len(lines) else None
