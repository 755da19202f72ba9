"""Exclusion between processes, for what git's ref transactions cannot guard.

The fast path takes the very lock that filelock >= 4 takes, in its way; filelock itself,
38 ms to import, comes in only where somebody has to wait (git.md §2).
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from gitcp import trace
from gitcp.errors import Busy, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.repo import Repo


@contextmanager
def exclusive(repo: Repo, name: str, timeout: float = 10.0) -> Iterator[None]:
    """Hold the named lock of this repository, shared by all of its worktrees.

    Waits up to timeout seconds, then raises Busy.  The file is never unlinked.
    """
    path = repo.shared("lock", name.replace("/", "%"))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = _try(path)
    except OSError as e:
        raise Error(f"cannot lock '{name}': {e.strerror}") from None
    if fd is not None:
        try:
            yield
        finally:
            os.close(fd)  # lets go of the flock
        return
    import filelock

    trace.note("lock", f"waiting for '{name}'")
    try:
        with filelock.FileLock(path, timeout, poll_interval=0.01, fallback_to_soft=False):
            yield
    except filelock.Timeout:
        raise Busy(f"'{name}' is locked by another process") from None


def _try(path: str) -> int | None:
    try:
        import fcntl
    except ImportError:
        return None  # no flock on this platform: filelock knows what to do
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held, named = os.fstat(fd), os.stat(path)
        if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None
