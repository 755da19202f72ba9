"""Processes: which agent stands behind a hook, and whether one is still there."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Process


_HOOKS = (b"/gitcp/entry.py", b"gitcp-hook")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "env"})


def describe(pid: int) -> Process:
    """The identity of a process of this machine."""
    return {"pid": pid, "start": _stat(pid)[2], "boot_id": _boot(), "host": os.uname().nodename}


def agent(env: Mapping[str, str]) -> Process | None:
    """The agent that runs this hook: as it says itself, else the nearest ancestor that is
    not a shell."""
    claude_pid = env.get("CLAUDE_PID", "")
    if claude_pid.isdecimal() and int(claude_pid) > 1 and _stat(int(claude_pid))[0]:
        return describe(int(claude_pid))
    for pid in ancestors():
        if pid > 1 and _stat(pid)[1] not in _SHELLS:
            return describe(pid)
    return None


def above(name: str) -> Process | None:
    """The nearest process above this one that has the name; None where none is seen."""
    return next((describe(pid) for pid in ancestors() if _stat(pid)[1] == name), None)


def alive(process: Process | None) -> bool:
    """Whether that very process still runs here; of another machine nothing is known: no."""
    if not process or process.get("host") != os.uname().nodename:
        return False
    if process.get("boot_id") != _boot():
        return False
    try:
        os.kill(process["pid"], 0)
    except PermissionError:
        pass
    except (OSError, OverflowError, TypeError):
        return False
    start = _stat(process["pid"])[2]
    return not start or start == process.get("start")


def gone(process: Process | None) -> bool:
    """Whether that very process is known not to run any more: of another machine nothing is known,
    nor of none."""
    if not process or process.get("host") != os.uname().nodename:
        return False
    return not alive(process)


def age() -> int:
    """How long ago a client began to run this hook, in ns, to a hundredth of a second: the shell
    that runs us for it is older than we are; 0 where that cannot be seen."""
    pid, parent = os.getpid(), os.getppid()
    while _is_hook(parent):
        pid, parent = parent, _stat(parent)[0]
    ticks = _stat(pid)[2]
    if not ticks:
        return 0
    from time import CLOCK_BOOTTIME, clock_gettime_ns

    began = int(ticks) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return max(0, clock_gettime_ns(CLOCK_BOOTTIME) - began)


def _began(pid: int) -> int:
    """When a process was started, ns since 1970, to a tenth of a second at most too late."""
    ticks = _stat(pid)[2]
    if not ticks:
        return 0
    from time import CLOCK_BOOTTIME, clock_gettime_ns, time_ns

    boot = time_ns() - clock_gettime_ns(CLOCK_BOOTTIME)
    return boot + int(ticks) * 1_000_000_000 // os.sysconf("SC_CLK_TCK") + 100_000_000


def ancestors(of: int = 0) -> list[int]:
    """The pids above a process, this one unless another is named, nearest first; only the
    parent where there is no /proc."""
    pids, pid = [], _stat(of)[0] if of else os.getppid()
    while pid > 1 and pid not in pids:
        pids.append(pid)
        pid = _stat(pid)[0]
    return pids


def visible() -> bool:
    """Whether processes can be seen here."""
    return bool(_stat(os.getpid())[1])


def working(top: str, session_id: str, agent: Process | None = None, since: int = 0) -> bool:
    """Whether a process in the directory top, or below it, has the session in its environment;
    no where processes cannot be seen.

    agent: what it has started since (ns since 1970) counts as well, for not every client names
    the session there.  Ourselves, what runs us, other hooks and the git that a hook runs do not.
    """
    ours, mark = {os.getpid(), *ancestors()}, f"={session_id}\0".encode()
    parent = int(agent["pid"]) if agent and alive(agent) else 0
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return False
    root = os.path.realpath(top)
    return any(_works(pid, root, mark, parent, since) for pid in pids if pid not in ours)


def _works(pid: int, top: str, mark: bytes, parent: int, since: int) -> bool:
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd")
        if cwd != top and not cwd.startswith(top + os.sep):
            return False
        with open(f"/proc/{pid}/environ", "rb") as f:
            named = mark in f.read() + b"\0"
        named = named or bool(parent and _began(pid) >= since and parent in ancestors(pid))
        return named and not _is_hook(pid) and not _is_hook(_stat(pid)[0])
    except OSError:
        return False


def _is_hook(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            command = f.read()
    except OSError:
        return False
    return any(name in command for name in _HOOKS)


def git_arguments(command: str = "commit") -> list[str] | None:
    """The arguments of the git command that runs this hook; None when they cannot be seen."""
    for pid in ancestors()[:6]:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().decode("utf-8", "surrogateescape").split("\0")[:-1]
        except OSError:
            return None
        if words and os.path.basename(words[0]) == "git":
            if command not in words:
                return None  # an alias hides them
            end = words.index("--") if "--" in words else len(words)
            return words[words.index(command) + 1 : end]
    return None


def _stat(pid: int) -> tuple[int, str, str]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            line = f.read()
    except OSError:
        return 0, "", ""
    name, _, rest = line.rpartition(")")  # the name itself may hold brackets and spaces
    fields = rest.split()
    return int(fields[1]), name.partition("(")[2], fields[19]


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""
