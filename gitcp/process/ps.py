"""What ps(1) tells of the processes of a system without /proc, asked once and kept for a second.

Where it is refused, as in some sandboxes, nothing is told.
"""

from __future__ import annotations

import os
import time

from gitcp import memory
from gitcp.errors import GitError
from gitcp.process.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIMIT = 5.0  # seconds for ps to answer in
_FRESH = 1.0  # seconds that an answer is good for
_ANSWERS: dict[tuple[str, ...], tuple[float, dict[int, str]]] = memory.table("ps")


def table() -> dict[int, tuple[int, str, str]]:
    """pid -> parent, name without its directory, when it began (UTC, as lstart has it)."""
    seen = {}
    for pid, line in _ask("-axo", "pid=,ppid=,lstart=,comm=").items():
        parent, *began = line.split(None, 6)  # its start is five words
        name = os.path.basename(began.pop()) if len(began) == 6 else ""
        seen[pid] = int(parent), name.removeprefix("-"), " ".join(began)  # -zsh: for a login
    return seen


def command(pid: int, environment: bool = False) -> str:
    """The command line of a process, its words joined by blanks; with its environment behind it,
    as far as the system shows that."""
    return _ask("-axwwEo" if environment else "-axwwo", "pid=,command=").get(pid, "")


def began(start: str) -> int:
    """When a process was started, as table() has it, in ns since 1970, a second at most too late;
    0 where that is not told."""
    from calendar import timegm

    try:
        return (timegm(time.strptime(start)) + 1) * 1_000_000_000
    except ValueError:
        return 0


def machine() -> str:
    """An id of this machine that no network changes; its name where the system has none."""
    try:
        import ctypes

        ask: Any = ctypes.CDLL(None).gethostuuid
    except (ImportError, OSError, AttributeError):
        return os.uname().nodename
    uuid, wait = (ctypes.c_ubyte * 16)(), (ctypes.c_long * 2)(1, 0)  # a timespec
    return os.uname().nodename if ask(uuid, wait) else bytes(uuid).hex()


def _ask(*args: str) -> dict[int, str]:
    """pid -> what ps says of each process behind it."""
    asked, lines = _ANSWERS.get(args, (0.0, {}))
    if not asked or time.monotonic() - asked > _FRESH:
        try:
            ps = Running(("ps", *args), {**os.environ, "LC_ALL": "C", "TZ": "UTC0"}, False)
            out = ps.finish(ok=(0, 1), limit=_LIMIT)[1].decode("utf-8", "surrogateescape")
        except GitError:
            out = ""
        rows = (line.strip().partition(" ") for line in out.split("\n"))
        lines = {int(pid): rest.lstrip() for pid, _, rest in rows if pid.isdecimal()}
        _ANSWERS[args] = time.monotonic(), lines
    return lines
