"""Whether the process of an agent, or of one of its calls, still runs."""

from __future__ import annotations

import os
import time

from gitcp.record import session
from gitcp.record.session import ps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Process

# The system is asked through /proc, or through `ps` without one.  A process that cannot be seen is
# unknown, which is never taken for gone.
_UNSEEN = 600  # seconds that an unknown agent counts as at work
_HOOKS = (b"/gitcp/entry.py", b"gitcp-hook")


def is_alive(process: Process | None) -> bool:
    """Whether exactly this process is known to run here."""
    return session.is_running(process) is True


def is_agent_working(process: Process | None, heard: float) -> bool:
    """Whether a process runs.  An unknown one counts as running for _UNSEEN seconds after it was
    heard of (seconds since 1970)."""
    runs = session.is_running(process)
    if runs is None:
        return abs(time.time() - heard) < _UNSEEN
    return runs


def measure_age() -> int:
    """The ns since a client began to run this hook, by the age of the shell that runs this process.

    Exact to a hundredth of a second; by ps up to a second too long; longer than any call if the
    shell cannot be seen.
    """
    pid = os.getpid()
    parent = os.getppid()
    while _is_hook(parent):
        pid = parent
        parent = session.stat_process(parent)[0]
    start = session.stat_process(pid)[2]
    if start.isdecimal():
        return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - _convert_ticks(start))
    return time.time_ns() - max(0, parse_start(start) - 1_000_000_000)


def _read_start_time(pid: int) -> int:
    """When a process was started, in ns since 1970: at most a tenth of a second too late, by ps a
    second."""
    start = session.stat_process(pid)[2]
    if start.isdecimal():
        boot = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return boot + _convert_ticks(start) + 100_000_000
    return parse_start(start)


def _convert_ticks(ticks: str) -> int:
    return int(ticks) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def has_working_process(
    top: str, session_id: str, agent: Process | None = None, since: int = 0
) -> bool:
    """Whether a process in the directory top, or below it, has the session in its environment;
    False if processes cannot be seen.

    agent: processes that it started since a time in ns count, too, because not every client sets
    the session there.  This process, its ancestors, hooks and their git do not count.  ps shows no
    directories: there a process counts in any directory.
    """
    excluded = {os.getpid(), *session.list_ancestors()}
    mark = f"={session_id}\0".encode()
    parent = 0
    if agent and is_alive(agent):
        parent = int(agent["pid"])
    root = os.path.realpath(top)
    return any(
        _belongs_to_session(pid, root, mark, parent, since)
        for pid in _list_pids()
        if pid not in excluded
    )


def has_started(agent: Process | None, since: int) -> bool:
    """Whether a process below a running one was started since a time in ns: a command, the hook
    that tells of its end, or the process that asks."""
    parent = int(agent["pid"]) if agent else 0
    return any(
        _read_start_time(pid) >= since and parent in session.list_ancestors(pid)
        for pid in _list_pids()
    )


def _belongs_to_session(pid: int, top: str, mark: bytes, parent: int, since: int) -> bool:
    if session.has_proc():
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return False
        if cwd != top and not cwd.startswith(top + os.sep):
            return False
    belongs = mark in session.read_proc(pid, "environ") + b"\0"
    belongs = belongs or bool(
        parent and _read_start_time(pid) >= since and parent in session.list_ancestors(pid)
    )
    return belongs and not _is_hook(pid) and not _is_hook(session.stat_process(pid)[0])


def _is_hook(pid: int) -> bool:
    command = session.read_proc(pid, "cmdline")
    return any(name in command for name in _HOOKS)


def _list_pids() -> list[int]:
    if session.has_proc():
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return list(ps.list_by_ps())


def parse_start(start: str) -> int:
    """A start of list_by_ps() in ns since 1970, at most a second too late; 0 if it is no time."""
    try:
        import calendar

        return (calendar.timegm(time.strptime(start)) + 1) * 1_000_000_000
    except ValueError:
        return 0
