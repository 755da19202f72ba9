"""GITCP_TRACE=<file>: one line for each decision and for each process, appended."""

from __future__ import annotations

import os
import time

_FILE = os.environ.get("GITCP_TRACE", "")
_START = time.perf_counter()


def note(subject: str, detail: str) -> None:
    """Append `<ms since start> <pid> <subject>: <detail>` to the trace file, if there is one.

    Tracing never fails what it watches: a file that cannot be written is ignored.
    """
    if not _FILE:
        return
    line = f"{(time.perf_counter() - _START) * 1e3:8.1f} {os.getpid()} {subject}: {detail}\n"
    try:
        fd = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(fd, line.encode("utf-8", "backslashreplace"))
        os.close(fd)
    except OSError:
        pass


def on() -> bool:
    return bool(_FILE)
