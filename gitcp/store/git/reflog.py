"""Reading reflogs without a process: the moves of HEAD, and the stash."""

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

_BYTES = 1 << 16  # read from the end of a log
_TAIL = 1 << 14  # bytes read in every hook
_STASHES = 20  # newest entries
# Reasons of moves of HEAD that leave the worktree's changes as they are.
_CARRYING = (b"commit", b"pull", b"merge", b"rebase", b"cherry-pick", b"revert", b"am")
# The commits of an entry: its base, worktree, index and untracked files.
_PARTS = ("^1", "", "^2", "^3")
_AUTOSTASHES = "rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"


def list_head_moves(repo: Repo) -> list[Move]:
    """The last entries of HEAD's reflog in this worktree, oldest first."""
    return _read_entries(_find_head_log(repo))


def find_committed_head(repo: Repo, old: str) -> str | None:
    """HEAD if only commits made in this worktree lead from old to it; else None."""
    newest: str | None = None
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        newest = newest or after
        if not reason.startswith(b"commit"):
            return None
        if before == old:
            return newest
    return None


def leads_to(repo: Repo, old: str, new: str) -> bool:
    """Whether commits, pulls, merges and rewrites in this worktree moved HEAD from old to new, so
    that uncommitted changes stayed.  Moves to another commit and back do not count."""
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        if new == old:
            return True
        if after == new and reason.startswith(_CARRYING):
            new = before
    return new == old


def list_reset_from(repo: Repo, to: str) -> list[str]:
    """The commits that the last resets to `to` in this worktree left, newest first."""
    commits: list[str] = []
    for before, after, reason in reversed(_read_entries(_find_head_log(repo), _TAIL)):
        if after == to and reason.startswith(b"reset:"):
            commits.append(before)
            to = before
        elif after == to or commits:
            break
    return commits


def list_stashes(repo: Repo) -> list[str]:
    """The oids of the entries of `git stash`, newest first: stash@{0}, stash@{1}, ..."""
    entries = _read_entries(os.path.join(repo.common, "logs", "refs", "stash"))
    return [new for _, new, _ in entries[: -_STASHES - 1 : -1]]


def list_autostashes(repo: Repo) -> list[str]:
    """The oids of the autostashes of a rebase or merge under way here."""
    paths = (os.path.join(repo.git_dir, name) for name in _AUTOSTASHES)
    return [files.peek(path).decode("ascii", "replace").strip() for path in paths]


class Stashed:
    """An entry of `git stash`, with the trees that it has."""

    def __init__(self, objects: Objects, oid: str) -> None:
        self._base, *self._trees = (
            Lookup(objects, find_tree(objects, f"{oid}{part}")) for part in _PARTS
        )

    def has(self, path: str, entry: Entry) -> bool:
        """Whether its worktree, index or untracked files have this entry at a path."""
        return any(tree(path) == entry for tree in self._trees)

    def changes(self, path: str) -> bool:
        """Whether it has any change of a path."""
        work, _, untracked = self._trees
        return work(path) != self._base(path) or untracked(path) is not None

    def list_steps(self, paths: Iterable[str]) -> Iterator[tuple[str, Version, Version]]:
        """Yield (path, its version in the base, the version that an apply restores)."""
        work, _, untracked = self._trees
        for path in paths:
            yield path, self._base(path), work(path) or untracked(path)


class Stash:
    """The entries of `git stash`, newest first, read when they are first needed."""

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
        """Whether an entry or an autostash has this entry at a path."""
        return any(stashed.has(path, entry) for stashed in self._list_all())

    def changes(self, path: str) -> bool:
        """Whether an entry or an autostash has a change of a path."""
        return any(stashed.changes(path) for stashed in self._list_all())


def _find_head_log(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "logs", "HEAD")


def _read_entries(path: str, size: int = _BYTES) -> list[Move]:
    """The complete entries in the last size bytes; git may be writing another one."""
    data, entries = files.peek(path, -size - 1), []
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for line in lines[1:] if len(data) > size else lines:
        head, _, reason = line.partition(b"\t")
        old, new, *_ = [*head.decode("ascii", "replace").split(" "), "", ""]
        entries.append((old, new, reason))
    return entries
