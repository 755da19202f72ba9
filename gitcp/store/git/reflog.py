"""Reflogs, read without a process: where HEAD has been, what the stash holds."""

from __future__ import annotations

import os

from gitcp.store.git import files
from gitcp.store.git.tree import Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Move = tuple[str, str, bytes]  # old oid, new oid, reason

_BYTES = 1 << 16  # read from the end
_TAIL = 1 << 14  # where a hook asks each time
_STASHES = 20  # entries looked at, newest first
_TREES = ("", "^2", "^3")  # of an entry: of the worktree, of the index, of untracked files


def head(repo: Repo) -> list[Move]:
    """The last entries of HEAD's reflog in this worktree, oldest first."""
    return _entries(_of_head(repo))


def committed_since(repo: Repo, old: str) -> str | None:
    """HEAD, where commits made in this worktree, and they alone, lead to it from old."""
    newest: str | None = None
    for before, after, reason in reversed(_entries(_of_head(repo), _TAIL)):
        newest = newest or after
        if not reason.startswith(b"commit"):
            return None
        if before == old:
            return newest
    return None


def stashes(repo: Repo) -> list[str]:
    """The oids of the entries of `git stash`, newest first: stash@{0}, stash@{1}, ..."""
    entries = _entries(os.path.join(repo.common, "logs", "refs", "stash"))
    return [new for _, new, _ in entries[: -_STASHES - 1 : -1]]


class Stash:
    """What the entries of `git stash` hold, looked at when it is first asked."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._entries: list[list[Lookup]] | None = None

    def entries(self) -> list[list[Lookup]]:
        """Of each entry, newest first, the trees in which a path can be looked up."""
        if self._entries is None:
            self._entries = [self._lookups(oid) for oid in stashes(self._repo)]
        return self._entries

    def holds(self, path: str, entry: Entry) -> bool:
        """Whether an entry has just this at a path."""
        return any(look(path) == entry for looks in self.entries() for look in looks)

    def _lookups(self, oid: str) -> list[Lookup]:
        trees = (self._objects.read(f"{oid}{part}^{{tree}}") for part in _TREES)
        return [Lookup(self._objects, tree[0]) for tree in trees if tree]


def _of_head(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "logs", "HEAD")


def _entries(path: str, most: int = _BYTES) -> list[Move]:
    """Those of the last so many bytes that are whole: git may be at work on another."""
    data, entries = files.peek(path, most + 1), []
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for line in lines[1:] if len(data) > most else lines:
        oids, _, reason = line.partition(b"\t")
        old, _, rest = oids.decode("ascii", "replace").partition(" ")
        entries.append((old, rest.partition(" ")[0], reason))
    return entries
