"""The changes of a scan: what a snapshot needs of each path that git status lists."""

from __future__ import annotations

import os

from gitcp.core.git.porcelain import COMMIT, GONE
from gitcp.errors import Error
from gitcp.record import decode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.git.porcelain import Row, Status
    from gitcp.core.record_types import Entry
    from gitcp.store.snapshot.worktree import Worktree


class Change:
    """A path that differs from HEAD in the worktree, or may differ.

    mode: GONE without a file.  oid: None until hashed.  kind: 'tracked' (by HEAD) or 'untracked'.
    was: HEAD's entry.  sure: git has compared contents; otherwise hashing decides.
    """

    __slots__ = ("kind", "mode", "oid", "st", "sure", "was")

    def __init__(
        self, mode: str, head_entry: Entry | None, st: os.stat_result | None = None
    ) -> None:
        self.mode, self.was, self.st = mode, head_entry, st
        self.oid: str | None = None
        self.kind = "tracked" if head_entry else "untracked"
        self.sure = True


class Scan:
    """A scan of the worktree.

    head: HEAD's commit, None if unborn.  branch: its name, None if detached.  changes: path ->
    Change, in no order.  omitted: [{'path', 'reason'}] of the paths that a snapshot leaves out
    (doc/behaviour.md "Temporary checkpoints").
    """

    __slots__ = ("branch", "changes", "head", "omitted", "worktree")

    def __init__(self, worktree: Worktree, seen: Status) -> None:
        self.worktree, self.head, self.branch = worktree, seen.head, seen.branch
        self.changes: dict[str, Change] = {}
        self.omitted: list[dict[str, str]] = []

    def omit_path(self, path: str, reason: str) -> None:
        self.omitted.append({"path": path, "reason": reason})

    def take_rows(self, rows: Iterable[Row]) -> list[str]:
        """Add the rows of the snapshot's index; return the paths that it has and HEAD lacks.

        Those are from an earlier HEAD, and untracked or ignored now.
        """
        index_only = []
        for row in rows:
            st = None if row.y == "D" else self.look_at(row.path)
            if row.head is None:
                if st:
                    index_only.append(row.path)
            elif st is None:
                self.changes[row.path] = Change(GONE, row.head)
            else:
                self.take_present(row.path, row.head, st, sure=row.x == ".")
        return index_only

    def look_at(self, path: str) -> os.stat_result | None:
        """lstat() of a path, None without a file; raises Error if permission is denied."""
        try:
            return self.worktree.look_at(path)
        except PermissionError:
            raise Error(f"cannot read '{path}': Permission denied") from None

    def take_untracked(self, path: str) -> None:
        """Add a path that the snapshot's index lacks; a nested repository ends in '/'."""
        name = path.rstrip("/")
        workspace = self.worktree.find_workspace(name)
        if workspace:
            left_out = {"path": workspace, "reason": "worktree"}
            self.omitted += [left_out] if left_out not in self.omitted else []
            return
        change = self.changes.get(name)
        if change is None or change.mode == GONE:
            st = self.look_at(name)
            if st:
                self.take_present(name, change.was if change else None, st)

    def take_present(
        self, path: str, was: Entry | None, st: os.stat_result, sure: bool = True
    ) -> None:
        """Add an existing path.  was: HEAD's entry."""
        mode = self.worktree.choose_mode(st, was)
        if mode == COMMIT:
            self._take_folder(path, was)
            return
        if mode is None:
            self.omit_path(path, self.worktree.name_special(st))
            if was:
                self.changes[path] = Change(GONE, was)
            return
        self.changes[path] = change = Change(mode, was, st)
        change.sure = sure

    def _take_folder(self, path: str, was: Entry | None) -> None:
        if not self.worktree.has_git(path):
            if was and was[0] != COMMIT:  # a directory replaced a file
                self.changes[path] = Change(GONE, was)
            return  # a submodule that is not checked out has not changed
        oid, why = self.worktree.read_nested(path)
        if oid and (COMMIT, oid) != was:
            self.changes[path] = change = Change(COMMIT, was)
            change.oid = oid
        elif not oid:
            self.omit_path(path, why)

    def list_specials(self, folders: Iterable[str]) -> list[tuple[str, str]]:
        """(path, reason) of the fifos, sockets and devices in these directories."""
        listed = []
        for folder in folders:
            try:
                with os.scandir(self.worktree.join_full(folder)) as entries:
                    specials = [e for e in entries if not _is_plain(e)]
            except OSError:
                continue
            for entry in specials:
                path = os.path.join(folder, decode_name(entry.name))
                listed.append((path, self.worktree.name_special(entry.stat(follow_symlinks=False))))
        return listed


def _is_plain(entry: os.DirEntry[bytes]) -> bool:
    return (
        entry.is_file(follow_symlinks=False)
        or entry.is_dir(follow_symlinks=False)
        or entry.is_symlink()
    )
