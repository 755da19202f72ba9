"""The worktree as it stands, kept as a tree: what every step back begins with."""

from __future__ import annotations

import os

from gitcp.store.git.tree import TREE, Lookup
from gitcp.store.snapshot import blobs, snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Signature = tuple[int, int, int, int, int] | None  # None: nothing stands there


class Present:
    """One scan, stored.  tree: all of the worktree that a snapshot takes; `.entire/` as in HEAD.

    look(path) is the tree's entry; left_out: path -> the reason.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self.repo, self.objects = repo, objects
        scan = snapshot.scan(repo)
        self.worktree, self.head = scan.worktree, scan.head
        self.head_tree = _tree(objects, scan.head)
        self.entries = blobs.resolve(objects, scan, write=True)
        self.tree = snapshot.tree(objects, self.head_tree, self.entries)
        self.left_out = {item["path"]: item["reason"] for item in scan.omitted}
        self.look = Lookup(objects, self.tree)

    def sign(self, paths: Iterable[str]) -> dict[str, Signature]:
        """path -> what tells whether it is touched from now on.

        Raises nothing for a path behind a file or a link: nothing stands there.
        """
        return {path: signature(self.worktree.full(path)) for path in paths}

    def still(self, paths: Iterable[str]) -> bool:
        """Whether these paths have the content that the scan found; they are read again."""
        wanted = list(paths)
        now = blobs.at(self.repo, self.objects, wanted, write=False)
        return all(now[path] == self.file(path) for path in wanted if path in now)

    def file(self, path: str) -> Entry | None:
        """The tree's entry of a file; None also where a directory stands."""
        entry = self.look(path)
        return None if entry and entry[0] == TREE else entry


def signature(full: bytes, folder: int | None = None) -> Signature:
    """What lstat tells of a file's identity and content; folder: a directory it is below."""
    try:
        st = os.lstat(full, dir_fd=folder) if folder is not None else os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns


def _tree(objects: Objects, commit: str | None) -> str | None:
    obj = objects.read(f"{commit}^{{tree}}") if commit else None
    return obj[0] if obj else None


def base_tree(objects: Objects, commit: str) -> str | None:
    """The tree of a point's base commit; None when unborn, or not here any more."""
    return _tree(objects, commit if commit.strip("0") else None)
