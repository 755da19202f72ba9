"""What went wrong in hooks: a line each in <common>/gitcp/warnings, until the hook runs well."""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

KEPT = 20  # warnings
_ROOM = 16384  # bytes of them, before the oldest go


def failed(message: str) -> None:
    """Keep what went wrong in a hook where there is a repository."""
    try:
        warn(Repo.here(), message)
    except Error as e:
        trace.note("hook", str(e))


def warn(repo: Repo, message: str) -> None:
    """Keep a hook's warning with its time, where gitcp has a directory of its own."""
    path = repo.shared("warnings")
    line = f"{int(time.time())} {' '.join(message.split())}\n".encode("utf-8", "backslashreplace")
    try:
        if not os.path.isdir(repo.shared()):
            return
        fd = private.opened(repo, path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, line)
        size = os.fstat(fd).st_size
        os.close(fd)
        if size > _ROOM:
            lines = private.cached_bytes(path, _ROOM).splitlines()[-KEPT:]
            private.write(repo, path, b"".join(line + b"\n" for line in lines))
    except (Error, OSError):
        pass


def warnings(repo: Repo) -> list[tuple[int, str]]:
    """(seconds since 1970, text) of the last KEPT warnings, the oldest first."""
    kept = []
    for line in private.cached_bytes(repo.shared("warnings"), _ROOM).splitlines()[-KEPT:]:
        seconds, _, message = line.decode("utf-8", "replace").partition(" ")
        if seconds.isdigit():
            kept.append((int(seconds), message))
    return kept


def settle(repo: Repo, *hooks: str) -> None:
    """Drop the warnings of hooks that ran well now."""
    path = repo.shared("warnings")
    lines = private.cached_bytes(path, _ROOM).splitlines(True)
    marks = [f" {hook}: ".encode() for hook in hooks]
    left = [
        line
        for line in lines
        if not any(line.lstrip(b"0123456789").startswith(mark) for mark in marks)
    ]
    if len(left) < len(lines):
        private.write(repo, path, b"".join(left)) if left else private.remove(repo, path)
