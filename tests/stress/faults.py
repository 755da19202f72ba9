"""Run a program of ours in which one call that writes fails: python faults.py ERRNO NUMBER argv.
ERRNO 0: the process is killed instead of it.

Counted are opening a file to write, making, renaming, linking and removing, and writing to a
descriptor, in the program's own process.  NUMBER 0: none fails.  How many there were is written
to the file that FAULTS names.
"""

from __future__ import annotations

import errno
import os
import runpy
import signal
import sys
from typing import Any

CALLS = ("os.rename", "os.mkdir", "os.link", "os.remove", "os.symlink", "os.truncate")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
failing, number, *argv = sys.argv[1:]
code = int(failing)
calls = {"made": 0, "failing": int(number)}
write, pwrite = os.write, os.pwrite


def counted(path: object) -> None:
    calls["made"] += 1
    if calls["made"] == calls["failing"]:
        if not code:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(code, os.strerror(code), *([path] if path else []))


def watch(event: str, args: tuple[Any, ...]) -> None:
    path = args[0] if args else None
    if event == "open" and (isinstance(path, int) or str(path).startswith(("/dev", "/proc"))):
        return
    if event == "os.remove" and code == errno.ENOSPC:
        return  # a full disk lets go of a file
    if event in CALLS or (event == "open" and args[2] & WRITES):
        counted(path)


def writing(fd: int, data: bytes) -> int:
    if fd > 2:
        counted(None)
    return write(fd, data)


def writing_at(fd: int, data: bytes, at: int) -> int:
    counted(None)
    return pwrite(fd, data, at)


def end(status: int) -> None:
    made = calls["made"]
    calls["failing"] = 0
    with open(os.environ["FAULTS"], "w") as f:
        f.write(str(made))
    leave(status)


leave = os._exit
os._exit = end  # type: ignore[assignment]
os.write = writing  # type: ignore[assignment]
os.pwrite = writing_at  # type: ignore[assignment]
sys.argv = argv
sys.path[0] = os.path.dirname(os.path.realpath(argv[0]))
sys.addaudithook(watch)
status: object = 0
try:
    runpy.run_path(argv[0], run_name="__main__")
except SystemExit as e:
    status = e.code
sys.stdout.flush()
sys.stderr.flush()
end(status if isinstance(status, int) else 1)
