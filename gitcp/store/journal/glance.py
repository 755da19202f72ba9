"""What stands at one path, as git would store it, at the least cost there is.

A plain file is hashed here, without a question to git; all else is left to the snapshot's way.
"""

from __future__ import annotations

import stat

from gitcp.core.git.porcelain import EXECUTABLE, FILE
from gitcp.store.snapshot.filters import Filters
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_PLAIN = 1 << 20  # bytes up to which a file is read here
_REFUSED = (0, 1, 128)  # a tool may name what git does not look at


class Glance:
    """Looks at single paths of one worktree."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self.work = Worktree(repo)
        self._filters = Filters(self.work, objects, lambda path: None)
        self._sparse = repo.config.flag("core.sparsecheckout")

    def stat(self, path: str) -> os.stat_result | None:
        """lstat of a path; None where nothing stands, or behind a symbolic link."""
        try:
            return self.work.look(path)
        except OSError:
            return None

    def entry(self, path: str, write: bool) -> Version:
        """The entry of a path; None for nothing.  write: its blob is stored."""
        st = self.stat(path)
        if st is None:
            return None
        mode = self.work.mode(st, None)
        plain = stat.S_ISREG(st.st_mode) and mode in (FILE, EXECUTABLE) and st.st_size <= _PLAIN
        if not plain or self._sparse or self._filters.way(path) or self.work.repositories(path):
            return self._asked(path, write)
        try:
            with open(self.work.full(path), "rb") as f:
                data = f.read()
        except OSError:
            return None
        store = self._objects.write if write else self._objects.hash
        return str(mode), store("blob", data)

    def _asked(self, path: str, write: bool) -> Version:
        from gitcp.store.snapshot import blobs

        return blobs.at(self._repo, self._objects, [path], write=write).get(path)

    def ignored(self, paths: list[str]) -> set[str]:
        """Those of the paths that git ignores: what is tracked is not.

        git reads the index, which is as long as the repository is large, for those alone that a
        pattern names.
        """
        named = self.work.ignored(paths, "--no-index", ok=_REFUSED)
        return self.work.ignored(sorted(named), ok=_REFUSED)
