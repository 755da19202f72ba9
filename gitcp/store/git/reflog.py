"""Reflogs, read without a process: where HEAD has been, what the stash holds."""

from __future__ import annotations

import os

from gitcp.process import files
from gitcp.store.git.tree import Lookup, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Entry, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Move = tuple[str, str, bytes]  # old oid, new oid, reason

_BYTES = 1 << 16  # read from the end
_TAIL = 1 << 14  # where a hook asks each time
_STASHES = 20  # entries looked at, newest first
# Reasons for which HEAD moves, and the worktree's changes with it.
_CARRYING = (b"commit", b"pull", b"merge", b"rebase", b"cherry-pick", b"revert", b"am")
# Of an entry: what it was made on; its worktree, its index, its untracked files.
_PARTS = ("^1", "", "^2", "^3")
_AUTOSTASHES = "rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"


def list_head_moves(repo: Repo) -> list[Move]:
    """The last entries of HEAD's reflog in this worktree, oldest first."""
    return _read_entries(_find_head_log(repo))


def find_committed_head(repo: Repo, old: str) -> str | None:
    """HEAD, where commits made in this worktree, and they alone, lead to it from old."""
    newest: str | None = None
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        newest = newest or after
        if not reason.startswith(b"commit"):
            return None
        if before == old:
            return newest
    return None


def leads_to(repo: Repo, old: str, new: str) -> bool:
    """Whether commits, pulls, merges and rewrites in this worktree brought HEAD from old to new:
    what was not committed stayed.  Places that HEAD went to and came back from do not count."""
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        if new == old:
            return True
        if after == new and reason.startswith(_CARRYING):
            new = before
    return new == old


def list_reset_from(repo: Repo, to: str) -> list[str]:
    """Where HEAD was in this worktree before the resets that led it to a commit at last, newest
    first."""
    places: list[str] = []
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        if after == to and reason.startswith(b"reset:"):
            places.append(before)
            to = before
        elif after == to or places:
            break
    return places


def list_stashes(repo: Repo) -> list[str]:
    """The oids of the entries of `git stash`, newest first: stash@{0}, stash@{1}, ..."""
    entries = _read_entries(os.path.join(repo.common, "logs", "refs", "stash"))
    return [new for _, new, _ in entries[: -_STASHES - 1 : -1]]


def list_autostashes(repo: Repo) -> list[str]:
    """The oids of what a rebase or merge under way here has put away itself."""
    paths = (os.path.join(repo.git_dir, name) for name in _AUTOSTASHES)
    return [files.peek(path).decode("ascii", "replace").strip() for path in paths]


class Stashed:
    """An entry of `git stash`, to look paths up in all that it has."""

    def __init__(self, objects: Objects, oid: str) -> None:
        self._base, *self._trees = (
            Lookup(objects, find_tree(objects, f"{oid}{part}")) for part in _PARTS
        )

    def has(self, path: str, entry: Entry) -> bool:
        """Whether it has just this at a path, be it as what it was made on has it."""
        return any(look(path) == entry for look in self._trees)

    def changes(self, path: str) -> bool:
        """Whether it keeps work on a path, whatever that is."""
        work, _, untracked = self._trees
        return work(path) != self._base(path) or untracked(path) is not None

    def list_steps(self, paths: Iterable[str]) -> Iterator[tuple[str, Version, Version]]:
        """(path, what it was made on has there, what to apply it puts there) of these paths."""
        work, _, untracked = self._trees
        for path in paths:
            yield path, self._base(path), work(path) or untracked(path)


class Stash:
    """The entries of `git stash`, newest first, read when the first is asked for."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._entries: list[Stashed] | None = None
        self._every: list[Stashed] | None = None

    def list_entries(self) -> list[Stashed]:
        if self._entries is None:
            self._entries = [Stashed(self._objects, oid) for oid in list_stashes(self._repo)]
        return self._entries

    def _list_all(self) -> list[Stashed]:
        if self._every is None:
            oids = filter(None, list_autostashes(self._repo))
            self._every = [*self.list_entries(), *(Stashed(self._objects, oid) for oid in oids)]
        return self._every

    def holds(self, path: str, entry: Entry) -> bool:
        """Whether one, or what git itself has stashed, has just this at a path."""
        return any(one.has(path, entry) for one in self._list_all())

    def changes(self, path: str) -> bool:
        """Whether one, or what git itself has stashed, keeps work on a path."""
        return any(one.changes(path) for one in self._list_all())


def _find_head_log(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "logs", "HEAD")


def _read_entries(path: str, most: int = _BYTES) -> list[Move]:
    """Those of the last so many bytes that are whole: git may be at work on another."""
    data, entries = files.peek(path, -most - 1), []
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for line in lines[1:] if len(data) > most else lines:
        oids, _, reason = line.partition(b"\t")
        old, _, rest = oids.decode("ascii", "replace").partition(" ")
        entries.append((old, rest.partition(" ")[0], reason))
    return entries
