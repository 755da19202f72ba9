"""What files hashed to, as long as their stat data stands: <git-dir>/gitcp/stat-cache.

Only a cache: lost or broken, files are hashed again.  An oid in it may have been pruned.
"""

from __future__ import annotations

import os
import time

from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

    Known = tuple[int, int, int, int, int, str, str]  # stat data, way, oid

_SETTLED = 2 * 10**9  # ns: a file this young may change and keep its times
_VERSION = 2


class StatCache:
    """path -> oid for files that look untouched; save() keeps what was asked or told."""

    def __init__(self, repo: Repo) -> None:
        self._repo, self._file = repo, repo.own("stat-cache")
        self._new: dict[str, Known] = {}
        self._old: dict[str, Known] = private.unsealed(self._file, _VERSION) or {}
        self._settled = time.time_ns() - _SETTLED

    def get(self, path: str, st: os.stat_result, way: str) -> str | None:
        """The oid of a file that was hashed the same way and shows the same stat data."""
        known = self._old.get(path)
        if known is None or known[:6] != (*_key(st), way):
            return None
        self._new[path] = known
        return known[6]

    def put(self, path: str, st: os.stat_result, way: str, oid: str) -> None:
        """Remember an oid; st was taken before the file was read."""
        if max(st.st_ctime_ns, st.st_mtime_ns) < self._settled:
            self._new[path] = (*_key(st), way, oid)

    def save(self, whole: bool) -> None:
        """Write what is new; whole: and forget what was neither asked for nor told."""
        kept = self._new if whole else {**self._old, **self._new}
        if kept == self._old:
            return
        try:
            private.write(self._repo, self._file, private.seal(_VERSION, kept))
        except OSError:
            pass


def _key(st: os.stat_result) -> tuple[int, int, int, int, int]:
    return st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino
