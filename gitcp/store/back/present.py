"""The worktree as it stands, kept as a tree: what every step back begins with."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.store.git.tree import TREE, Lookup, tree_of
from gitcp.store.snapshot import blobs, snapshot
from gitcp.store.snapshot.worktree import Worktree

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
        self.head_tree = tree_of(objects, scan.head)
        self.entries = blobs.resolve(objects, scan, write=True)
        self.tree = snapshot.tree(objects, self.head_tree, self.entries)
        self.left_out = {item["path"]: item["reason"] for item in scan.omitted}
        self.look = Lookup(objects, self.tree)

    def still(self, paths: Iterable[str]) -> bool:
        """Whether these paths have the content that the scan found; they are read again."""
        wanted = list(paths)
        now = blobs.at(self.repo, self.objects, wanted, write=False)
        return all(now[path] == self.file(path) for path in wanted if path in now)

    def file(self, path: str) -> Entry | None:
        """The tree's entry of a file; None also where a directory stands."""
        entry = self.look(path)
        return None if entry and entry[0] == TREE else entry


def signs(repo: Repo, paths: Iterable[str]) -> dict[str, Signature]:
    """path -> what tells whether it is touched from now on; None for what is not there, or only
    behind a link."""
    now = Worktree(repo)
    return {path: _signature(now.look(path)) for path in paths}


def signature(name: bytes, folder: int) -> Signature:
    """What lstat tells of the identity and content of a file in an open directory."""
    try:
        return _signature(os.lstat(name, dir_fd=folder))
    except FileNotFoundError:
        return None


def _signature(st: os.stat_result | None) -> Signature:
    return (st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns) if st else None


def name_in_worktree(repo: Repo, path: str) -> str:
    """A path as it is named from the root of the worktree; Error when it lies outside."""
    top = os.path.realpath(repo.worktree)
    folder, name = os.path.split(os.path.abspath(path))
    inside = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
    if inside == ".." or inside.startswith("../"):
        raise Error(f"'{path}' is outside the worktree")
    return "" if inside == "." else inside
