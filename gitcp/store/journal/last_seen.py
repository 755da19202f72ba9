"""The last seen content of each path: the newest look at the whole worktree, and the edits since.

The look is stored in <git-dir>/gitcp/look: head, at (ns), dirty {path: entry}, cost (us).
"""

from __future__ import annotations

import os

from gitcp.core import json
from gitcp.core.credit import entries
from gitcp.core.upkeep import shapes
from gitcp.record import encode_name
from gitcp.store.git import private
from gitcp.store.git.tree import Lookup, find_file, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SLACK = 20_000_000  # ns by which the stamps of files may lag behind the clock


def read_look(repo: Repo) -> dict[str, Any]:
    """The newest look at the whole worktree; {} before the first one."""
    return private.load_cache(repo.join_own("look"), shapes.LOOK) or {}


def save_look(repo: Repo, head: str, at: int, dirty: Mapping[str, Version], cost: int) -> None:
    """Store the newest look: HEAD, its time in ns, the paths that differ, its cost in us."""
    last = {"head": head, "at": at, "dirty": dirty, "cost": cost}
    private.write_private(repo, repo.join_own("look"), json.dumps(last).encode())


class LastSeen:
    """The last seen entries of paths, from the look and the journal's lines.

    head: the commit at the look.  commits: those made since.  at: the time of the look in ns.
    """

    def __init__(self, repo: Repo, objects: Objects, lines: list[JournalLine]) -> None:
        self._root, self._objects, self._look = repo.worktree, objects, read_look(repo)
        self._since = {line["path"]: line for line in entries.list_edits_since_look(lines)}
        self._lines = lines
        self._opened: dict[str, int] | None = None
        self._folders: dict[str, int] = {}  # directory -> its ctime in ns
        start = max((n for n, line in enumerate(lines) if "look" in line), default=-1)
        self._looked: dict[str, Version] = {}
        self.commits: list[str] = []
        for line in lines[start + 1 :]:
            if "commit" in line:
                self.commits.append(line["commit"])
            elif "looked" in line:
                self._looked |= {p: entries.parse_entry(e) for p, e in line["looked"].items()}
            elif line.get("path") in self._looked:
                del self._looked[line["path"]]
        self._head: Lookup | None = None
        self.first = not self._look
        self.head: str = self._look.get("head") or "HEAD"
        self.at = int(self._look.get("at", 0))

    @property
    def paths(self) -> set[str]:
        """The paths that differed from HEAD at the look, or have an edit since."""
        return {*self._look.get("dirty", ()), *self._since}

    def get_entry(self, path: str) -> Version:
        """The last seen entry of a path; None without one."""
        if path in self._since:
            return entries.parse_entry(self._since[path]["after"])
        if path in self._looked:
            return self._looked[path]
        dirty = self._look.get("dirty", {})
        return entries.parse_entry(dirty[path]) if path in dirty else self.get_committed(path)

    def get_committed(self, path: str) -> Version:
        """The entry of a path in HEAD at the look."""
        if self._head is None:
            self._head = Lookup(self._objects, find_tree(self._objects, self.head))
        return find_file(self._head, path)

    def get_seen_time(self, path: str) -> int:
        """When a path was last looked at, in ns."""
        edit = int(self._since[path]["at"]) if path in self._since else 0
        if self._opened is None:
            self._opened = entries.map_looked_times(self._lines)
        return max(self.at, edit, self._opened.get(path, 0))

    def is_unwritten(self, path: str, ctime: int) -> bool:
        """Whether a file at a path with this ctime, in ns, is as it was when the path was last
        seen.  Another one may have come with a directory that was moved: see is_unmoved()."""
        return not self.first and ctime < self.get_seen_time(path) - _SLACK

    def is_unmoved(self, path: str) -> bool:
        """Whether no directory above a path has come or changed since the path was last seen."""
        until, folder = self.get_seen_time(path) - _SLACK, os.path.dirname(path)
        while folder and not self.first:
            if folder not in self._folders:
                file = os.path.join(os.fsencode(self._root), encode_name(folder))
                self._folders[folder] = os.lstat(file).st_ctime_ns if os.path.lexists(file) else 0
            if self._folders[folder] >= until:
                return False
            folder = os.path.dirname(folder)
        return not self.first
