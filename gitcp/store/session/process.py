"""Processes: which agent stands behind a hook, and whether one is still there.

What is asked of the system is asked here, of /proc, or of `ps` where there is none.  What cannot be
seen is unknown: no agent is taken for gone because of it.
"""

from __future__ import annotations

import os
import time

from gitcp import memory
from gitcp.errors import GitError
from gitcp.process.running import Running
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Process
    from gitcp.repo import Config


_UNSEEN = 600  # seconds that an agent of which nothing is known counts as at work
_HOOKS = (b"/gitcp/entry.py", b"gitcp-hook")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "env"})
_LIMIT = 5.0  # seconds for ps to answer in
_FRESH = 1.0  # seconds that an answer is good for
_LINES: dict[int, list[tuple[int, str]]] = memory.get_table("processes above")
_COMMANDS: dict[int, bytes] = memory.get_table("commands")  # of processes above this one
_ANSWERS: dict[tuple[str, ...], tuple[float, dict[int, str]]] = memory.get_table("ps")


def describe(pid: int, start: str = "") -> Process:
    """The identity of a process of this machine; start: what tells when it began, if at hand."""
    return {
        "pid": pid,
        "start": start or _stat(pid)[2],
        "boot_id": _read_boot_id(),
        "host": get_machine_id(),
    }


def find_agent(env: Mapping[str, str]) -> Process | None:
    """The agent that runs this hook: as it says itself, else the nearest ancestor that is
    not a shell; None where none is seen."""
    claude_pid = env.get("CLAUDE_PID", "")
    pid = int(claude_pid) if claude_pid.isdecimal() else 0
    parent, _, start = _stat(pid) if pid > 1 else (0, "", "")
    if pid > 1 and (parent or not can_see_processes()):
        return describe(pid, start)
    return next((describe(p) for p, name in _list_above() if name and name not in _SHELLS), None)


def find_above(name: str) -> Process | None:
    """The nearest process above this one that has the name; None where none is seen."""
    return next((describe(pid) for pid, its in _list_above() if its == name), None)


def is_alive(process: Process | None) -> bool:
    """Whether that very process is known to run here."""
    return _is_running(process) is True


def is_gone(process: Process | None) -> bool:
    """Whether that very process is known not to run any more."""
    return _is_running(process) is False


def is_at_work(process: Process | None, seen: float) -> bool:
    """Whether a process runs; one of which nothing is known counts for a while after it was
    heard of (seconds since 1970)."""
    runs = _is_running(process)
    return abs(time.time() - seen) < _UNSEEN if runs is None else runs


def _is_running(process: Process | None) -> bool | None:
    """None where it is not known: of another machine, or of none."""
    if not process or process.get("host") != get_machine_id():
        return None
    boot = _read_boot_id()
    if process.get("boot_id") != boot:
        return False if boot and process.get("boot_id") else None
    try:
        if process["pid"] < 1:
            return False  # kill() would ask about a group
        os.kill(process["pid"], 0)
    except PermissionError:
        pass
    except (OSError, OverflowError, TypeError):
        return False
    start = _stat(process["pid"])[2]
    return not start or process.get("start") in ("", start)


def measure_age() -> int:
    """How many ns ago a client began to run this hook, by the age of the shell that runs this
    process: to a hundredth of a second, or up to a second too long where ps tells it; longer than
    any call where it cannot be seen."""
    pid, parent = os.getpid(), os.getppid()
    while _is_hook(parent):
        pid, parent = parent, _stat(parent)[0]
    start = _stat(pid)[2]
    if start.isdecimal():
        return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - _convert_ticks(start))
    return time.time_ns() - max(0, parse_start(start) - 1_000_000_000)


def _read_start_time(pid: int) -> int:
    """When a process was started, ns since 1970: at most a tenth of a second too late, or a second
    where ps tells it."""
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
    False where processes cannot be seen.

    agent: a process that it has started since (ns since 1970) counts as well, for not every client
    names the session there.  This process, its ancestors, other hooks and the git that a hook runs
    do not count.  ps tells no directories: there a process counts wherever it is.
    """
    ours, mark = {os.getpid(), *list_ancestors()}, f"={session_id}\0".encode()
    parent = int(agent["pid"]) if agent and is_alive(agent) else 0
    root = os.path.realpath(top)
    return any(
        _belongs_to_session(pid, root, mark, parent, since)
        for pid in _list_pids()
        if pid not in ours
    )


def _belongs_to_session(pid: int, top: str, mark: bytes, parent: int, since: int) -> bool:
    if _has_proc():
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return False
        if cwd != top and not cwd.startswith(top + os.sep):
            return False
    named = mark in _read(pid, "environ") + b"\0"
    named = named or bool(
        parent and _read_start_time(pid) >= since and parent in list_ancestors(pid)
    )
    return named and not _is_hook(pid) and not _is_hook(_stat(pid)[0])


def _is_hook(pid: int) -> bool:
    command = _read(pid, "cmdline")
    return any(name in command for name in _HOOKS)


def read_git_arguments(config: Config, command: str) -> list[str] | None:
    """The arguments of the git command that runs this hook, an alias replaced by what it stands
    for; None when they cannot be seen.  Those from ps have lost what parts an option from the
    text of a message: None where the two could be confused."""
    for pid in list_ancestors()[:6]:
        if pid not in _COMMANDS:
            _COMMANDS[pid] = _read(pid, "cmdline")
        words = _COMMANDS[pid].decode("utf-8", "surrogateescape").split("\0")[:-1]
        if not words or os.path.basename(words[0]) != "git":
            continue
        if command not in words:
            words = [part for w in words for part in config.get(f"alias.{w}", w).split()]
        if command not in words:
            return None
        words = words[words.index(command) + 1 :]
        if command == "commit" and not _has_proc() and _is_confused(words):
            return None
        return words[: words.index("--") if "--" in words else None]
    return None


def _is_confused(words: list[str]) -> bool:
    """Whether an option comes behind a word that is none: the message may have it."""
    begun = [at for at, word in enumerate(words) if word[:1] != "-"]
    return any(word[:1] == "-" for word in words[min(begun, default=len(words)) :])


def can_see_processes() -> bool:
    """Whether processes can be seen here."""
    return bool(_stat(os.getpid())[1])


def list_ancestors(pid: int = 0) -> list[int]:
    """The pids above a process, this one unless another is named, nearest first; only the
    parent where nothing is seen."""
    return [one for one, _ in (_trace_lineage(_stat(pid)[0]) if pid else _list_above())]


def _list_above() -> list[tuple[int, str]]:
    """(pid, name) of each process above this one, nearest first; looked at once."""
    parent = os.getppid()
    if parent not in _LINES:
        _LINES[parent] = _trace_lineage(parent)
    return _LINES[parent]


def _trace_lineage(pid: int) -> list[tuple[int, str]]:
    seen = dict[int, str]()
    while pid > 1 and pid not in seen:
        above, seen[pid], _ = _stat(pid)
        pid = above
    return [*seen.items()]


def get_machine_id() -> str:
    """What tells this machine from others that see the same files."""
    if _has_proc():
        return os.uname().nodename
    return read_hardware_id()  # a name changes with the network there


def _read_boot_id() -> str:
    """An id of this run of the system; '' where processes are told by the time instead."""
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
    """(parent, name, what tells when it began); 0 and '' where it is not seen."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            line = f.read()
    except OSError:
        if _has_proc():
            return 0, "", ""
        return list_by_ps().get(pid, (0, "", ""))
    name, _, rest = line.rpartition(")")  # the name itself may hold brackets and spaces
    fields = rest.split()
    return int(fields[1]), name.partition("(")[2], fields[19]


def _read(pid: int, what: str) -> bytes:
    """A process's cmdline or environ, each of it ended by NUL; b"" where it is not seen.  ps
    parts words where they have blanks, too, and has the command line before the environment."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as f:
            return f.read()
    except OSError:
        if _has_proc():
            return b""
        words = read_command_by_ps(pid, environment=what == "environ").split(" ")
        return "".join(f"{word}\0" for word in words if word).encode("utf-8", "surrogateescape")


def list_by_ps() -> dict[int, tuple[int, str, str]]:
    """pid -> parent, name without its directory, when it began (UTC, as lstart has it)."""
    seen = {}
    for pid, line in _ask_ps("-axo", "pid=,ppid=,lstart=,comm=").items():
        parent, *parse_start = line.split(None, 6)  # its start is five words
        name = os.path.basename(parse_start.pop()) if len(parse_start) == 6 else ""
        seen[pid] = int(parent), name.removeprefix("-"), " ".join(parse_start)  # -zsh: for a login
    return seen


def read_command_by_ps(pid: int, environment: bool = False) -> str:
    """The command line of a process, its words joined by blanks; with its environment behind it,
    as far as the system shows that."""
    return _ask_ps("-axwwEo" if environment else "-axwwo", "pid=,command=").get(pid, "")


def parse_start(start: str) -> int:
    """When a process was started, as list_by_ps() has it, in ns since 1970, at most a second too
    late; 0 where that is not told."""
    try:
        return (stdlib.calendar.timegm(time.strptime(start)) + 1) * 1_000_000_000
    except ValueError:
        return 0


def read_hardware_id() -> str:
    """An id of this machine that no network changes; its name where the system has none."""
    try:
        ask: Any = stdlib.ctypes.CDLL(None).gethostuuid
    except (ImportError, OSError, AttributeError):
        return os.uname().nodename
    uuid, wait = (stdlib.ctypes.c_ubyte * 16)(), (stdlib.ctypes.c_long * 2)(1, 0)  # a timespec
    return os.uname().nodename if ask(uuid, wait) else bytes(uuid).hex()


def _ask_ps(*args: str) -> dict[int, str]:
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
