"""Reflogs, read without a process: where HEAD has been, what the stash holds."""

from __future__ import annotations

import os

from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

    Entry = tuple[str, str, bytes]  # old oid, new oid, reason

_BYTES = 1 << 16  # read from the end
_TAIL = 1 << 14  # where a hook asks each time
_STASHES = 20  # entries looked at, newest first


def head(repo: Repo) -> list[Entry]:
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


def _of_head(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "logs", "HEAD")


def _entries(path: str, most: int = _BYTES) -> list[Entry]:
    """Those of the last so many bytes that are whole: git may be at work on another."""
    data, entries = files.peek(path, most + 1), []
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for line in lines[1:] if len(data) > most else lines:
        oids, _, reason = line.partition(b"\t")
        old, _, rest = oids.decode("ascii", "replace").partition(" ")
        entries.append((old, rest.partition(" ")[0], reason))
    return entries
