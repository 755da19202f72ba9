"""What ps tells of processes, where there is no /proc."""

from __future__ import annotations

import os
import time

from gitcp import memory
from gitcp.errors import GitError
from gitcp.git import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIMIT = 5.0  # seconds for ps to answer
_FRESH = 1.0  # seconds that an answer of ps is used
_ANSWERS: dict[tuple[str, ...], tuple[float, dict[int, str]]] = memory.get_table("ps")


def list_by_ps() -> dict[int, tuple[int, str, str]]:
    """pid -> (parent, name without its directory, start in UTC as lstart prints it)."""
    processes = {}
    for pid, line in _ask_ps("-axo", "pid=,ppid=,lstart=,comm=").items():
        parent, *start = line.split(None, 6)  # its start is five words
        name = ""
        if len(start) == 6:
            name = os.path.basename(start.pop())
        processes[pid] = int(parent), name.removeprefix("-"), " ".join(start)  # -zsh: for a login
    return processes


def read_command_by_ps(pid: int, environment: bool = False) -> str:
    """The command line of a process, its words joined by blanks; '' if ps lists no such process.
    environment: append the variables that the system shows."""
    return _ask_ps("-axwwEo" if environment else "-axwwo", "pid=,command=").get(pid, "")


def read_hardware_id() -> str:
    """The id of this machine's hardware; its name if the system has none."""
    try:
        import ctypes

        get_uuid: Any = ctypes.CDLL(None).gethostuuid
    except (ImportError, OSError, AttributeError):
        return os.uname().nodename
    # a timespec
    uuid = (ctypes.c_ubyte * 16)()
    timeout = (ctypes.c_long * 2)(1, 0)
    if get_uuid(uuid, timeout):
        return os.uname().nodename
    return bytes(uuid).hex()


def _ask_ps(*args: str) -> dict[int, str]:
    """pid -> the rest of its line by ps."""
    answered, lines = _ANSWERS.get(args, (0.0, {}))
    if not answered or time.monotonic() - answered > _FRESH:
        try:
            ps = Running(("ps", *args), {**os.environ, "LC_ALL": "C", "TZ": "UTC0"}, False)
            out = ps.finish(ok=(0, 1), limit=_LIMIT)[1].decode("utf-8", "surrogateescape")
        except GitError:
            out = ""
        rows = (line.strip().partition(" ") for line in out.split("\n"))
        lines = {int(pid): text.lstrip() for pid, _, text in rows if pid.isdecimal()}
        _ANSWERS[args] = time.monotonic(), lines
    return lines
