"""Imports gitcp once and becomes, forked, each program that a test asks warm for.

python server.py SOCKET PROGRAM, which is gitcp/entry.py or bin/gitcp.  A request is argv,
directory and environment, with the descriptors 0 to 2; the answer is how the program ended.  What
one program imported, the next begins with.  All else is its own: its session, its streams, what
it keeps in memory.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import time
from importlib import import_module
from tempfile import TemporaryFile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
HEAD = 8  # bytes that say how long a request is; its descriptors come with them


class Server:
    """Forks a program at a time; _told is where it leaves the names of what it imported."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._told = TemporaryFile(buffering=0)  # noqa: SIM115
        self._known = set(sys.modules)

    def serve(self) -> bool:
        """False when nothing more is asked for; True in a process that is to be a program."""
        while True:
            head, files, _, _ = socket.recv_fds(self._channel, HEAD, 3)
            if not head:
                return False
            request = self._channel.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
            gc.freeze()  # what is shared is not looked through, and so not copied
            if not (pid := os.fork()):
                self._become(json.loads(request), files)
                return True
            for file in files:
                os.close(file)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            self._channel.send(str(status).encode())
            self._learn()

    def _become(self, request: dict[str, object], files: list[int]) -> None:
        self._channel.close()
        os.setsid()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(str(request["cwd"]))
        os.environ.clear()
        os.environ.update(request["env"])  # type: ignore[call-overload]
        time.tzset()
        sys.argv = request["argv"]  # type: ignore[assignment]

    def tell(self) -> None:
        """In a program at its end: what it imported that was not there."""
        os.pwrite(self._told.fileno(), json.dumps([*sys.modules]).encode(), 0)

    def _learn(self) -> None:
        self._told.seek(0)
        names = json.loads(self._told.read() or b"[]")
        self._told.truncate(0)
        for name in names:
            # A hook's own bundle of bytecode tells what it imported itself from what was there.
            if name not in self._known and not name.startswith("gitcp.start"):
                self._known.add(name)
                try:
                    import_module(name)
                except ImportError:
                    pass  # of a package that only a program's own search path has


def main() -> None:
    """Serve, and be what was asked for."""
    number, program = sys.argv[1:]
    hook = os.path.basename(program) == "entry.py"
    sys.path[:1] = [TOP, *sys.path[:1]] if hook else [TOP]
    _trust_young_files()
    server = Server(socket.socket(fileno=int(number)))
    if not server.serve():
        return
    from gitcp import entry

    if hook:
        status = entry.main()
    else:
        from gitcp.__main__ import main as command

        status = command()
    server.tell()
    entry.leave(status)


def _trust_young_files() -> None:
    """What git says is kept sooner than for a person: hardly a test is as long as that takes."""
    from gitcp.asked import kept

    kept._SLACK = 20_000_000  # ns: the steps of the clock that files are dated by


if __name__ == "__main__":
    main()
