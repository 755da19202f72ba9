"""What files hashed to, as long as their stat data stands: <git-dir>/gitcp/stat-cache.

Only a cache: lost or broken, files are hashed again.  An oid in it may have been pruned.
"""

from __future__ import annotations

import marshal
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

    Known = tuple[int, int, int, int, int, str, str]  # stat data, way, oid

_SETTLED = 2 * 10**9  # ns: a file this young may change and keep its times
_VERSION = 1


class StatCache:
    """path -> oid for files that look untouched; save() keeps what was asked or told."""

    def __init__(self, repo: Repo) -> None:
        self._file = repo.own("stat-cache")
        self._old: dict[str, Known] = {}
        self._new: dict[str, Known] = {}
        try:
            with open(self._file, "rb") as f:
                version, old = marshal.loads(f.read())
            self._old = old if version == _VERSION else {}
        except (OSError, ValueError, EOFError, TypeError):
            pass
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
        scratch = f"{self._file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(scratch), exist_ok=True)
            with open(scratch, "wb") as f:
                marshal.dump((_VERSION, kept), f)
            os.rename(scratch, self._file)
        except OSError:
            pass


def _key(st: os.stat_result) -> tuple[int, int, int, int, int]:
    return st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino
