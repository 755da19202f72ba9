"""Lock files that a killed git left on our refs: taken away, when nobody can be holding them.

Only below our own names, only while the caller holds our lock, only when the lock is older
than git waits for one; never packed-refs.lock, which is everybody's (doc/git.md "Locks and refs").
"""

from __future__ import annotations

import os
import re
import time

from gitcp import trace
from gitcp.record import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

AGE = 2.0  # seconds: core.filesRefLockTimeout of our own transactions
_OURS = ("refs/heads/entire/", "refs/gitcp/", "refs/notes/gitcp", "refs/entire/")
_EXISTS = re.compile(r"Unable to create '(.*?\.lock)': File exists")


def heal(repo: Repo, message: str) -> bool:
    """Take away the stale lock that git's message names; False when it is not ours to take."""
    match = _EXISTS.search(message)
    path = match[1] if match else ""
    inside = os.path.relpath(path, repo.common) if path else ""
    if not inside.startswith(_OURS):
        return False
    away = repo.shared("tmp", f"stale-{os.getpid()}-{time.monotonic_ns()}")
    try:
        seen = os.lstat(raw(path))
        if _now(away) - seen.st_mtime < AGE:
            return False
        os.rename(raw(path), away)
        if (taken := os.lstat(away)).st_ino != seen.st_ino or taken.st_dev != seen.st_dev:
            os.link(away, raw(path))  # a living git's, made in between
            return False
    except FileNotFoundError:
        return True  # its holder let go
    finally:
        if os.path.lexists(away):
            os.unlink(away)
    trace.note("refs", f"took away the stale lock '{path}'")
    return True


def _now(path: str) -> float:
    """The time by the clock of the file system that holds path, which it creates."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(fd).st_mtime
    finally:
        os.close(fd)
