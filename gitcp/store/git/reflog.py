"""Reflogs, read without a process: where HEAD has been, what the stash holds."""

from __future__ import annotations

import os

from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

    Entry = tuple[str, str, bytes]  # old oid, new oid, reason

_BYTES = 1 << 16  # read from the end
_STASHES = 20  # entries looked at, newest first


def head(repo: Repo) -> list[Entry]:
    """The last entries of HEAD's reflog in this worktree, oldest first."""
    return _entries(os.path.join(repo.git_dir, "logs", "HEAD"))


def stashes(repo: Repo) -> list[str]:
    """The oids of the entries of `git stash`, newest first: stash@{0}, stash@{1}, ..."""
    entries = _entries(os.path.join(repo.common, "logs", "refs", "stash"))
    return [new for _, new, _ in entries[: -_STASHES - 1 : -1]]


def _entries(path: str) -> list[Entry]:
    entries = []
    for line in files.peek(path, _BYTES).splitlines():
        oids, _, reason = line.partition(b"\t")
        old, _, rest = oids.decode("ascii", "replace").partition(" ")
        if rest and len(old) >= 40:  # the first line may be cut
            entries.append((old, rest.partition(" ")[0], reason))
    return entries
