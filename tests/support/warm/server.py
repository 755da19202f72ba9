"""Imports gitcp once and becomes, forked, each program that is asked of it.

python server.py SOCKET LIFE PROGRAM EXECUTABLE: the descriptor of a listening socket, that of a
pipe at whose end the server ends, gitcp/entry.py or bin/gitcp, and what the programs name as their
Python.  A request is the pid of the parent that the program sees, a umask, a directory, arguments
and environment, with the descriptors 0 to 2; the answer is how the program ended.  Where whoever
asks ends first, the program is killed.  What one program imported, the next begins with.  All else
is its own: its session, its streams, what it keeps in memory.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from importlib import import_module

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
HEAD = 8  # bytes that say how long a request is; its descriptors come with them
_MOST = 1 << 17  # bytes of the names of modules
# What says at the end of each process forked from one that has it that it leaks.
_ALONE = {"duckdb", "_duckdb"}


class Server:
    """Forks a program for each connection, and answers it when the program has ended."""

    def __init__(self, listening: socket.socket, life: int) -> None:
        self._listening, self._life = listening, life
        self._ended, wakes = os.pipe()  # of a program that ended
        for fd in (self._ended, wakes):
            os.set_blocking(fd, False)
        self._handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._names, self._tells = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._names.setblocking(False)
        self._channels: dict[int, socket.socket] = {}  # pid -> who asked
        self._known = set(sys.modules)
        self._poll = select.poll()
        for fd in (listening.fileno(), life, self._ended):
            self._poll.register(fd, select.POLLIN)

    def serve(self) -> bool:
        """False when nothing more is asked for; True in a process that is to be a program."""
        while True:
            ready = [fd for fd, _ in self._poll.poll()]
            if self._life in ready:
                return False
            if self._ended in ready:
                os.read(self._ended, 512)
            self._reap()
            for pid, channel in self._channels.items():
                if channel.fileno() in ready:  # which sends nothing: it is gone
                    self._poll.unregister(channel.fileno())
                    os.kill(pid, signal.SIGKILL)
            if self._listening.fileno() in ready and self._start():
                return True

    def _start(self) -> bool:
        """Fork what the next connection asks for; True in the fork."""
        channel, _ = self._listening.accept()
        head, files, _, _ = socket.recv_fds(channel, HEAD, 3)
        if len(files) == 3:
            request = channel.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
            gc.freeze()  # what is shared is not looked through, and so not copied
            if not (pid := os.fork()):
                channel.detach()
                self._become(request, files)
                return True
            self._channels[pid] = channel
            self._poll.register(channel.fileno(), select.POLLIN)
        for file in files:
            os.close(file)
        return False

    def _become(self, request: bytes, files: list[int]) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._handler)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.setsid()
        # What the server has open, and who else waits for it, is nothing to the program.
        os.closerange(3, self._tells.fileno())
        os.closerange(self._tells.fileno() + 1, max(files) + 1)
        parent, umask, cwd, count, *words = os.fsdecode(request).split("\0")[:-1]
        os.getppid = lambda: int(parent)
        os.umask(int(umask))
        os.chdir(cwd)
        sys.argv = words[: int(count)]
        os.environ.clear()
        for word in words[int(count) :]:
            name, _, value = word.partition("=")
            os.environ[name] = value
        time.tzset()

    def tell(self) -> None:
        """In a program at its end: what it imported that was not there."""
        if fresh := [name for name in sys.modules if name not in self._known]:
            self._tells.send(json.dumps(fresh).encode()[:_MOST])

    def _reap(self) -> None:
        while self._channels:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            channel = self._channels.pop(pid)
            try:
                self._poll.unregister(channel.fileno())
            except KeyError:
                pass
            try:
                channel.send(str(os.waitstatus_to_exitcode(status)).encode())
            except OSError:
                pass  # it has not waited
            channel.close()
            self._learn()

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


def main() -> None:
    """Serve, and be what was asked for."""
    listening, life, program, executable = sys.argv[1:]
    hook = os.path.basename(program) == "entry.py"
    sys.path[:1] = [TOP, *sys.path[:1]] if hook else [TOP]
    sys.executable = executable
    _read_no_bundle()
    _trust_young_files()
    server = Server(socket.socket(fileno=int(listening)), int(life))
    if not server.serve():
        return
    from gitcp.start import process

    if hook:
        status = process.main()
    else:
        from gitcp.__main__ import main as command

        try:
            status = command()
        except SystemExit as end:  # of -h; it need not take the whole interpreter down
            if not isinstance(end.code, int):
                raise
            status = end.code
    server.tell()
    process.leave(status)


def _read_no_bundle() -> None:
    """What is imported comes out of memory: there is nothing to read, and nothing to write."""
    from gitcp.start import bundle

    bundle.use = bundle.complete = lambda: None


def _forget_compiled() -> None:
    """What was compiled in here is in memory: no program has to write it for the next."""
    from gitcp.core.redact import patterns

    patterns.COMPILED.clear()


def _trust_young_files() -> None:
    """What git says is kept sooner than for a person: hardly a test is as long as that takes."""
    from gitcp import asked

    asked._SLACK = 20_000_000  # ns: the steps of the clock that files are dated by


if __name__ == "__main__":
    main()
