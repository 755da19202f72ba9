"""The warnings of hooks: a line each in <common>/gitcp/warnings, until the hook succeeds."""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.errors import Error, hide_passwords
from gitcp.git import files
from gitcp.git.files import locate_warnings
from gitcp.git.repo import Repo

KEPT = 20  # warnings
_ROOM = 16384  # bytes of them, before the oldest go


def warn_here(message: str) -> None:
    """Keep a hook's warning in the repository of the current directory, if there is one."""
    try:
        keep_warning(Repo.find_here(), message)
    except Error as e:
        git.append_trace("hook", str(e))


def keep_warning(repo: Repo, message: str) -> None:
    """Keep a hook's warning with its time, if the repository has a directory of gitcp."""
    path = locate_warnings(repo)
    line = f"{int(time.time())} {' '.join(hide_passwords(message).split())}\n".encode(
        "utf-8", "backslashreplace"
    )
    try:
        if not os.path.isdir(repo.join_shared()):
            return
        fd = files.open_private(repo, path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, line)
        size = os.fstat(fd).st_size
        os.close(fd)
        if size > _ROOM:
            lines = files.read_cache(path, _ROOM).splitlines()[-KEPT:]
            files.write_private(repo, path, b"".join(line + b"\n" for line in lines))
    except (Error, OSError):
        pass


def list_warnings(repo: Repo) -> list[tuple[int, str]]:
    """(seconds since 1970, text) of the last KEPT warnings, the oldest first."""
    warnings = []
    for line in files.read_cache(locate_warnings(repo), _ROOM).splitlines()[-KEPT:]:
        seconds, _, message = line.decode("utf-8", "replace").partition(" ")
        if seconds.isdigit():
            warnings.append((int(seconds), message))
    return warnings


def drop_warnings(repo: Repo, *hooks: str) -> None:
    """Drop the warnings of hooks that have succeeded."""
    path = locate_warnings(repo)
    lines = files.read_cache(path, _ROOM).splitlines(True)
    marks = [f" {hook}: ".encode() for hook in hooks]
    remaining = [
        line
        for line in lines
        if not any(line.lstrip(b"0123456789").startswith(mark) for mark in marks)
    ]
    if remaining and len(remaining) < len(lines):
        files.write_private(repo, path, b"".join(remaining))
    elif lines and not remaining:
        files.remove_private(repo, path)
