"""What the hooks leave for `status` to tell: which agents have called, and what went wrong.

<common>/gitcp/heard/<agent> has the time of the agent's last prompt or start as its own;
<common>/gitcp/warnings has a line for each failure of a hook.
"""

from __future__ import annotations

import os
import time

from gitcp.errors import Error
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

KEPT = 20  # warnings
_ROOM = 16384  # bytes of them, before the oldest go


def event(repo: Repo, agent: str, name: str) -> None:
    """An agent's client has called: remember when, and tell the sh guard what is configured."""
    if repo.config.keys("gitcp.", ".pipeline") or os.path.isdir(repo.shared("configured")):
        from gitcp.store.setup import configured

        configured.write(repo)
    path = repo.shared("heard", agent)
    if name not in ("session-start", "turn-start") and os.path.exists(path):
        return
    try:
        private.touch(repo, path)
    except (Error, OSError):
        pass  # nothing that a turn depends on


def last(repo: Repo, agent: str) -> float:
    """When an agent last called, in seconds since 1970; 0 when it never has."""
    try:
        return os.stat(repo.shared("heard", agent)).st_mtime
    except OSError:
        return 0.0


def failed(message: str) -> None:
    """Keep what went wrong in a hook where there is a repository."""
    from gitcp import trace
    from gitcp.repo import Repo

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


def forget_warnings(repo: Repo) -> None:
    """Drop the warnings that were kept."""
    private.remove(repo, repo.shared("warnings"))
