"""Processes: which agent runs a hook, and whether it still runs.

The system is asked through /proc, or through `ps` without one.  A process that cannot be seen is
unknown, which is never taken for gone.
"""

from __future__ import annotations

import os
import time

from gitcp import memory
from gitcp.errors import GitError
from gitcp.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Process
    from gitcp.repo import Repo

_UNSEEN = 600  # seconds that an unknown agent counts as at work
_HOOKS = (b"/gitcp/entry.py", b"gitcp-hook")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "env"})
_LIMIT = 5.0  # seconds for ps to answer
_FRESH = 1.0  # seconds that an answer of ps is used
_LINES: dict[int, list[tuple[int, str]]] = memory.get_table("processes above")
_COMMANDS: dict[int, bytes] = memory.get_table("commands")  # of processes above this one
_ANSWERS: dict[tuple[str, ...], tuple[float, dict[int, str]]] = memory.get_table("ps")


def describe(pid: int, start: str = "") -> Process:
    """The identity of a process on this machine.  start: the start of the process, if known."""
    return {
        "pid": pid,
        "start": start or _stat(pid)[2],
        "boot_id": _read_boot_id(),
        "host": get_machine_id(),
    }


def find_agent(env: Mapping[str, str]) -> Process | None:
    """The agent that runs this hook, by its variable, else the nearest ancestor that is not a
    shell; None if none is seen."""
    claude_pid = env.get("CLAUDE_PID", "")
    pid = int(claude_pid) if claude_pid.isdecimal() else 0
    parent, _, start = _stat(pid) if pid > 1 else (0, "", "")
    if pid > 1 and (parent or not can_see_processes()):
        return describe(pid, start)
    return next((describe(p) for p, name in _list_above() if name and name not in _SHELLS), None)


def find_git() -> Process | None:
    """The nearest git above this process; None if none is seen."""
    return next((describe(pid) for pid, name in _list_above() if name == "git"), None)


def is_alive(process: Process | None) -> bool:
    """Whether exactly this process is known to run here."""
    return _is_running(process) is True


def is_gone(process: Process | None) -> bool:
    """Whether exactly this process is known not to run any more."""
    return _is_running(process) is False


def is_at_work(process: Process | None, heard: float) -> bool:
    """Whether a process runs.  An unknown one counts as running for _UNSEEN seconds after it was
    heard of (seconds since 1970)."""
    runs = _is_running(process)
    return abs(time.time() - heard) < _UNSEEN if runs is None else runs


def _is_running(process: Process | None) -> bool | None:
    """Whether a process runs; None if unknown, as on another machine."""
    if not process or process.get("host") != get_machine_id():
        return None
    boot = _read_boot_id()
    if process.get("boot_id") != boot:
        return False if boot and process.get("boot_id") else None
    try:
        if process["pid"] < 1:
            return False  # kill() would signal a group
        os.kill(process["pid"], 0)
    except PermissionError:
        pass
    except (OSError, OverflowError, TypeError):
        return False
    start = _stat(process["pid"])[2]
    return not start or process.get("start") in ("", start)


def measure_age() -> int:
    """The ns since a client began to run this hook, by the age of the shell that runs this process.

    Exact to a hundredth of a second; by ps up to a second too long; longer than any call if the
    shell cannot be seen.
    """
    pid, parent = os.getpid(), os.getppid()
    while _is_hook(parent):
        pid, parent = parent, _stat(parent)[0]
    start = _stat(pid)[2]
    if start.isdecimal():
        return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - _convert_ticks(start))
    return time.time_ns() - max(0, parse_start(start) - 1_000_000_000)


def _read_start_time(pid: int) -> int:
    """When a process was started, in ns since 1970: at most a tenth of a second too late, by ps a
    second."""
    start = _stat(pid)[2]
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
    excluded, mark = {os.getpid(), *list_ancestors()}, f"={session_id}\0".encode()
    parent = int(agent["pid"]) if agent and is_alive(agent) else 0
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
        _read_start_time(pid) >= since and parent in list_ancestors(pid) for pid in _list_pids()
    )


def _belongs_to_session(pid: int, top: str, mark: bytes, parent: int, since: int) -> bool:
    if _has_proc():
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return False
        if cwd != top and not cwd.startswith(top + os.sep):
            return False
    belongs = mark in _read(pid, "environ") + b"\0"
    belongs = belongs or bool(
        parent and _read_start_time(pid) >= since and parent in list_ancestors(pid)
    )
    return belongs and not _is_hook(pid) and not _is_hook(_stat(pid)[0])


def _is_hook(pid: int) -> bool:
    command = _read(pid, "cmdline")
    return any(name in command for name in _HOOKS)


def read_git_arguments(repo: Repo, command: str) -> list[str] | None:
    """The arguments of the git command that runs this hook, with aliases expanded; None if they
    are unseen, or ambiguous because ps does not separate the words of a message."""
    for pid in list_ancestors()[:6]:
        if pid not in _COMMANDS:
            _COMMANDS[pid] = _read(pid, "cmdline")
        words = _COMMANDS[pid].decode("utf-8", "surrogateescape").split("\0")[:-1]
        if not words or os.path.basename(words[0]) != "git":
            continue
        if command not in words:
            words = [part for w in words for part in repo.config.get(f"alias.{w}", w).split()]
        if command not in words:
            return None
        words = words[words.index(command) + 1 :]
        if command == "commit" and not _has_proc() and _is_confused(words):
            return None
        return words[: words.index("--") if "--" in words else None]
    return None


def _is_confused(words: list[str]) -> bool:
    """Whether an option follows a word that is not one: it may be a word of the message."""
    positions = [position for position, word in enumerate(words) if word[:1] != "-"]
    return any(word[:1] == "-" for word in words[min(positions, default=len(words)) :])


def can_see_processes() -> bool:
    """Whether processes can be seen here."""
    return bool(_stat(os.getpid())[1])


def list_ancestors(pid: int = 0) -> list[int]:
    """The pids above a process, by default this one, nearest first; only the parent if no others
    are seen."""
    return [ancestor for ancestor, _ in (_trace_lineage(_stat(pid)[0]) if pid else _list_above())]


def _list_above() -> list[tuple[int, str]]:
    """(pid, name) of each process above this one, nearest first; read once."""
    parent = os.getppid()
    if parent not in _LINES:
        _LINES[parent] = _trace_lineage(parent)
    return _LINES[parent]


def _trace_lineage(pid: int) -> list[tuple[int, str]]:
    seen = dict[int, str]()
    while pid > 1 and pid not in seen:
        parent, seen[pid], _ = _stat(pid)
        pid = parent
    return [*seen.items()]


def get_machine_id() -> str:
    """The id of this machine among those that see the same files."""
    if _has_proc():
        return os.uname().nodename
    return read_hardware_id()  # a name changes with the network there


def _read_boot_id() -> str:
    """The id of this boot; '' on systems where the start time alone identifies a process."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _list_pids() -> list[int]:
    if _has_proc():
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return list(list_by_ps())


def _stat(pid: int) -> tuple[int, str, str]:
    """(parent, name, start) of a process; 0 and '' if unseen."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            line = f.read()
    except OSError:
        if _has_proc():
            return 0, "", ""
        return list_by_ps().get(pid, (0, "", ""))
    name, _, tail = line.rpartition(")")  # the name itself may hold brackets and spaces
    fields = tail.split()
    return int(fields[1]), name.partition("(")[2], fields[19]


def _read(pid: int, file: str) -> bytes:
    """The words of a process's cmdline or environ, each ended by NUL; b"" if unseen.  By ps, words
    are split at their blanks, too, and the environ begins with the command line."""
    try:
        with open(f"/proc/{pid}/{file}", "rb") as f:
            return f.read()
    except OSError:
        if _has_proc():
            return b""
        words = read_command_by_ps(pid, environment=file == "environ").split(" ")
        return "".join(f"{word}\0" for word in words if word).encode("utf-8", "surrogateescape")


def list_by_ps() -> dict[int, tuple[int, str, str]]:
    """pid -> (parent, name without its directory, start in UTC as lstart prints it)."""
    processes = {}
    for pid, line in _ask_ps("-axo", "pid=,ppid=,lstart=,comm=").items():
        parent, *start = line.split(None, 6)  # its start is five words
        name = os.path.basename(start.pop()) if len(start) == 6 else ""
        processes[pid] = int(parent), name.removeprefix("-"), " ".join(start)  # -zsh: for a login
    return processes


def read_command_by_ps(pid: int, environment: bool = False) -> str:
    """The command line of a process, its words joined by blanks.  environment: append the
    variables that the system shows."""
    return _ask_ps("-axwwEo" if environment else "-axwwo", "pid=,command=").get(pid, "")


def parse_start(start: str) -> int:
    """A start of list_by_ps() in ns since 1970, at most a second too late; 0 if it is none."""
    try:
        import calendar

        return (calendar.timegm(time.strptime(start)) + 1) * 1_000_000_000
    except ValueError:
        return 0


def read_hardware_id() -> str:
    """The id of this machine's hardware; its name if the system has none."""
    try:
        import ctypes

        get_uuid: Any = ctypes.CDLL(None).gethostuuid
    except (ImportError, OSError, AttributeError):
        return os.uname().nodename
    import ctypes

    uuid, timeout = (ctypes.c_ubyte * 16)(), (ctypes.c_long * 2)(1, 0)  # a timespec
    return os.uname().nodename if get_uuid(uuid, timeout) else bytes(uuid).hex()


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
