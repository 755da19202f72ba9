"""What the entries of `git stash` hold: tracked files, what was staged of them, untracked ones."""

from __future__ import annotations

from gitcp.store.git import reflog
from gitcp.store.git.tree import Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_TREES = ("", "^2", "^3")  # of the worktree, of the index, of untracked files


class Stash:
    """The stash of a repository, looked at when it is first asked."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._entries: list[list[Lookup]] | None = None

    def entries(self) -> list[list[Lookup]]:
        """Of each entry, newest first, the trees in which a path can be looked up."""
        if self._entries is None:
            self._entries = [self._lookups(oid) for oid in reflog.stashes(self._repo)]
        return self._entries

    def holds(self, path: str, entry: Entry) -> bool:
        """Whether an entry has just this at a path."""
        return any(look(path) == entry for looks in self.entries() for look in looks)

    def _lookups(self, oid: str) -> list[Lookup]:
        trees = (self._objects.read(f"{oid}{part}^{{tree}}") for part in _TREES)
        return [Lookup(self._objects, tree[0]) for tree in trees if tree]
