"""Imports gitcp once and has processes forked from here run each program that is asked of it.

python server.py SOCKET LIFE PROGRAM EXECUTABLE: the descriptor of a listening socket, that of a
pipe at whose end the server ends, gitcp/entry.py or bin/gitcp, and what the programs name as their
Python.  A request is the pid of the parent that the program sees, a umask, a directory, arguments
and environment, with the descriptors 0 to 2; the answer is how the program ended.  Where whoever
asks ends first, the program is killed.  What one program imported, the next begins with.  All else
is its own: its streams, its signals, what it keeps in memory.

Most of a program's time goes into the first use of memory that its fork shares with the server.  So
a fork runs one program after the other, until one of them leaves something behind.
"""

from __future__ import annotations

import _signal
import _thread
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
HEAD = 8  # bytes that say how long a request is; its descriptors come with them
_MOST = 1 << 17  # bytes of the names of modules
_STATUS = 16  # bytes of an answer
_GROWTH = 64 << 10  # KiB by which a fork may grow
_OPEN = "/proc/self/fd"  # the descriptors of a process; without it a fork runs one program
# What says at the end of each process forked from one that has it that it leaks.
_ALONE = {"duckdb", "_duckdb"}


class Server:
    """Has a fork run a program for each connection, and answers it when the program has ended."""

    def __init__(self, listening: socket.socket, life: int, reuse: bool) -> None:
        """reuse: whether a fork runs several programs, one after the other."""
        self._listening, self._life, self._reuse = listening, life, reuse
        self._ended, wakes = os.pipe()  # of a fork that ended
        for fd in (self._ended, wakes):
            os.set_blocking(fd, False)
        self._handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._names, self._tells = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._names.setblocking(False)
        self._forks: dict[int, _Fork] = {}
        self._idle: list[_Fork] = []
        self._known = set(sys.modules)
        self._poll = select.poll()
        for fd in (listening.fileno(), life, self._ended):
            self._poll.register(fd, select.POLLIN)

    def serve(self) -> Program | None:
        """None when nothing more is asked for; in a fork, the program that it becomes."""
        while True:
            ready = {fd for fd, _ in self._poll.poll()}
            if self._life in ready:
                self._end()
                return None
            if self._ended in ready:
                os.read(self._ended, 512)
            for fork in self._forks.values():
                if fork.link.fileno() in ready:
                    self._hear(fork)
                if fork.channel and fork.channel.fileno() in ready:  # it is gone: it sends nothing
                    self._ignore(fork.link)
                    self._ignore(fork.channel)
                    os.kill(fork.pid, signal.SIGKILL)
            self._reap()
            if self._listening.fileno() in ready and (program := self._start()):
                return program

    def _end(self) -> None:
        """Wait for the forks that have nothing to do, which end as nothing more can come."""
        for fork in self._idle:
            fork.link.close()
            os.waitpid(fork.pid, 0)

    def _start(self) -> Program | None:
        """Have what the next connection asks for run; return it in a fork made for it."""
        channel, _ = self._listening.accept()
        request, files = _receive(channel)
        if len(files) == 3:
            if not (fork := self._hand_over(request, files)):
                link, other = socket.socketpair()
                gc.freeze()  # what is shared is not looked through, and so not copied
                if not (pid := os.fork()):
                    return self._leave_server(other, request, files)
                other.close()
                fork = self._forks[pid] = _Fork(pid, link)
                self._poll.register(link.fileno(), select.POLLIN)
            fork.channel = channel
            self._poll.register(channel.fileno(), select.POLLIN)
        for file in files:
            os.close(file)
        return None

    def _hand_over(self, request: bytes, files: list[int]) -> _Fork | None:
        """Send a request to a fork that waits for one; None if none does."""
        while self._idle:
            fork = self._idle.pop()
            try:
                socket.send_fds(fork.link, [len(request).to_bytes(HEAD, "big")], files)
                fork.link.sendall(request)
                return fork
            except OSError:
                pass  # it was killed
        return None

    def _leave_server(self, link: socket.socket, request: bytes, files: list[int]) -> Program:
        """In a fork: close what the server has open, for it is nothing to the program."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._handler)
        begin = 3
        for fd in sorted([self._tells.fileno(), link.fileno(), *files]):
            os.closerange(begin, fd)
            begin = fd + 1
        os.setsid()
        program = Program(link, self._tells, self._known, self._reuse)
        program.become(request, files)
        return program

    def _hear(self, fork: _Fork) -> None:
        """Take from a fork that its program has ended, or that the fork is ending, too."""
        if status := fork.link.recv(_STATUS):
            self._idle.append(fork)
            self._answer(fork, status)
        else:
            self._ignore(fork.link)

    def _reap(self) -> None:
        while self._forks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            fork = self._forks.pop(pid)
            if fork in self._idle:
                self._idle.remove(fork)
            self._ignore(fork.link)
            fork.link.close()
            self._answer(fork, str(os.waitstatus_to_exitcode(status)).encode())
            self._learn()

    def _answer(self, fork: _Fork, status: bytes) -> None:
        channel, fork.channel = fork.channel, None
        if not channel:
            return
        self._ignore(channel)
        try:
            channel.send(status)
        except OSError:
            pass  # it has not waited
        channel.close()

    def _ignore(self, end: socket.socket) -> None:
        try:
            self._poll.unregister(end.fileno())
        except KeyError:
            pass

    def _learn(self) -> None:
        try:
            names = json.loads(self._names.recv(_MOST))
        except (BlockingIOError, ValueError):
            return
        for name in names:
            if name not in self._known and name.partition(".")[0] not in _ALONE:
                self._known.add(name)
                try:
                    import_module(name)
                except ImportError:
                    pass  # of a package that only a program's own search path has
        _forget_compiled()


class _Fork:
    """What the server knows of a process that it has forked."""

    def __init__(self, pid: int, link: socket.socket) -> None:
        self.pid, self.link = pid, link
        self.channel: socket.socket | None = None  # who asked for its program; None: it has none


class Program:
    """What a fork runs: a program, and the next one where the one before left nothing behind."""

    def __init__(
        self, link: socket.socket, tells: socket.socket, modules: set[str], reuse: bool
    ) -> None:

        self._link, self._tells, self._known, self._reuse = link, tells, modules, reuse

        from gitcp import memory
        from gitcp.record import session

        self._tables, self._stat = memory._TABLES, session.stat_process
        self._entries = {name: entries.copy() for name, entries in self._tables.items()}
        self._finders = [*sys.meta_path]
        self._handlers = {n: _signal.getsignal(n) for n in (signal.SIGINT, signal.SIGCHLD)}

    def become(self, request: bytes, files: list[int]) -> None:
        """Take the place of the program that a request asks for."""
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        _open_streams()
        parent, umask, cwd, count, *words = os.fsdecode(request).split("\0")[:-1]
        os.getppid = lambda: int(parent)
        os.umask(int(umask))
        os.chdir(cwd)
        sys.argv = words[: int(count)]
        os.environ.clear()
        for word in words[int(count) :]:
            name, _, value = word.partition("=")
            os.environ[name] = value
        if "tempfile" in sys.modules:
            vars(sys.modules["tempfile"])["tempdir"] = None  # that of the program before
        time.tzset()
        if self._reuse:
            self._date()

    def run(self, main: Callable[[], int]) -> NoReturn:
        """Be the program, and those that are asked for after it; then end."""

        size, left = _measure_size(), _list_left() if self._reuse else []
        while True:
            status = main()
            if not self._reuse or not self._clear() or _list_left() != left:
                self._tell()

                from gitcp import hook

                hook.leave(status)
            if _measure_size() > size + _GROWTH:
                os._exit(status)
            self._link.send(str(status).encode())
            request, files = _receive(self._link)
            if not files:
                os._exit(0)
            self.become(request, files)

    def _date(self) -> None:
        """Have the program begin now, not when its fork did."""

        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        start = str(now * os.sysconf("SC_CLK_TCK") // 1_000_000_000)
        own, stat = os.getpid(), self._stat

        from gitcp.record import session

        session.stat_process = lambda pid: (*stat(pid)[:2], start) if pid == own else stat(pid)

    def _clear(self) -> bool:
        """Take back what every program has and does; False where its output cannot be written."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            return False
        for name, entries in self._tables.items():
            entries.clear()
            entries.update(self._entries.get(name, ()))
        sys.meta_path[:] = self._finders
        for sign, handler in self._handlers.items():
            _signal.signal(sign, handler)
        os.chdir(TOP)
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.close(null)
        return True

    def _tell(self) -> None:
        """Tell the server what was imported that it does not have."""
        if fresh := [name for name in sys.modules if name not in self._known]:
            self._tells.send(json.dumps(fresh).encode()[:_MOST])


def _receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """(request, its descriptors); without descriptors nobody asks for anything."""
    head, files, _, _ = socket.recv_fds(channel, HEAD, 3)
    if len(files) < 3:
        return b"", files
    return channel.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL), files


def _open_streams() -> None:
    """Open the standard streams as Python does at its start."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")
        new = open(  # noqa: SIM115  open as long as the program runs
            number,
            "w" if number else "r",
            1 if number == 2 else -1,
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            closefd=False,
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _measure_size() -> int:
    """The most memory that this process has had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _list_left() -> list[object]:
    """What a program may leave behind in its process."""
    try:
        children = bool(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        children = False
    return [
        children,
        _thread._count(),
        os.listdir(_OPEN),
        [_signal.getsignal(number) for number in range(1, signal.NSIG)],
        _signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        len(sys.modules),
        [*sys.path],
    ]


def main() -> None:
    """Serve, and be what was asked for."""
    listening, life, program, executable = sys.argv[1:]
    hook = os.path.basename(program) == "entry.py"
    sys.path[:1] = [TOP, *sys.path[:1]] if hook else [TOP]
    sys.executable = executable
    _trust_young_files()
    import_module("gitcp.record.session")
    server = Server(socket.socket(fileno=int(listening)), int(life), os.path.isdir(_OPEN))
    if asked := server.serve():
        asked.run(_run_hook if hook else _run_command)


def _run_hook() -> int:

    from gitcp import hook

    return hook.start()


def _run_command() -> int:

    try:
        from gitcp import __main__

        return __main__.main()
    except SystemExit as end:  # of -h; it need not take the whole interpreter down
        if not isinstance(end.code, int):
            raise
        return end.code


def _forget_compiled() -> None:
    """What was compiled in here is in memory: no program has to write it for the next."""

    from gitcp.text import patterns

    patterns.COMPILED.clear()


def _trust_young_files() -> None:
    """What git says is kept sooner than for a person: hardly a test is as long as that takes."""

    from gitcp.git import gitdir

    gitdir._SLACK = 20_000_000  # ns: the steps of the clock that files are dated by


if __name__ == "__main__":
    main()
