"""Exclusion between processes, for what git's ref transactions cannot guard.

The fast path takes the same lock as filelock >= 4; filelock itself, 38 ms to import, is loaded
only by a process that has to wait (doc/git.md "Locks and refs").

Locks are taken in the order of ORDER, several of one kind in the order of their names, so that no
two processes wait for each other.  Under GITCP_TRACE any other order fails.
"""

from __future__ import annotations

import fcntl
import os

from gitcp import git, memory
from gitcp.errors import Busy, Error
from gitcp.files import Damaged, move_aside, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.repo import Repo

# Kinds of locks: the name, or its part before the first dash (`session-<id>`).
ORDER = (
    "bisect split install rewind auto session claims"
    " transcript journal stream v1 notes packs search"
).split()
_HELD: dict[tuple[int, str], bool] = memory.get_table("locks")
_GIVEN_UP: dict[str, bool] = memory.get_table("locks that were waited for in vain")


class exclusive:
    """Hold the named lock of this repository, shared by all of its worktrees, in a `with`.

    Waits up to timeout seconds, then raises Busy.  The file is never unlinked.
    """

    __slots__ = ("_fd", "_name", "_path", "_rank", "_repo", "_timeout", "_waited")

    def __init__(self, repo: Repo, name: str, timeout: float = 10.0) -> None:
        self._name, self._timeout, self._rank = name, timeout, rank_lock(name)
        self._path, self._repo = repo.join_shared("lock", name.replace("/", "%")), repo
        self._fd: int | None = None
        self._waited: Any = None  # filelock's own lock, where it was needed

    def __enter__(self) -> None:
        if git.is_on():
            _check_order(self._rank)
        try:
            try:
                self._fd = _try_lock(self._path)
            except FileNotFoundError:
                self._make_file()
                self._fd = _try_lock(self._path)
            except Damaged:
                move_aside(self._repo.common, self._path)
                self._make_file()
                self._fd = _try_lock(self._path)
        except OSError as e:
            raise Error(f"cannot lock '{self._name}': {e.strerror}") from None
        if self._fd is None:
            self._wait()
        _HELD[self._rank] = True

    def __exit__(self, *_: object) -> None:
        _HELD.pop(self._rank, None)
        if self._fd is None:
            self._waited.release()
        else:
            fd, self._fd = self._fd, None
            os.close(fd)  # releases the flock

    def _make_file(self) -> None:
        self._repo.make_folder(os.path.dirname(self._path))
        os.close(open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW))
        self._repo.share_file(self._path)

    def _wait(self) -> None:
        import filelock

        git.append_note("lock", f"waiting for '{self._name}'")
        path, timeout, limit = self._path, self._timeout, git.count_seconds_left()
        if limit is not None:  # a hook waits in vain once only for the same lock
            timeout = 0.0 if path in _GIVEN_UP else min(timeout, limit)
        self._waited = filelock.FileLock(path, timeout, poll_interval=0.01, fallback_to_soft=False)
        try:
            self._waited.acquire()
        except filelock.Timeout:
            if self._timeout:
                _GIVEN_UP[path] = True
            raise Busy(f"'{self._name}' is locked by another process") from None


def rank_lock(name: str) -> tuple[int, str]:
    """The place of a lock in the order; raise ValueError for an unknown kind."""
    kind = name.partition("-")[0]
    if kind not in ORDER:
        raise ValueError(f"lock '{name}' is of no kind in lock.ORDER")
    return ORDER.index(kind), name


def _check_order(rank: tuple[int, str]) -> None:
    git.append_note("lock", f"'{rank[1]}'")
    last = max(_HELD, default=(-1, ""))
    if rank <= last:
        raise AssertionError(f"lock '{rank[1]}' is taken after '{last[1]}'")


def _try_lock(path: str) -> int | None:
    """A locked descriptor of the file; None if another process has the lock, or replaced the
    file."""
    fd = open_file(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held, named = os.fstat(fd), os.stat(path)
        if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None
