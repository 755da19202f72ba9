"""Run a program and keep, for each moment, what of a directory would survive a power cut:
python tracing.py DIRECTORY RESULT WHOSE argv.

The file system calls of the program and of all that it starts are followed by ptrace(2).  RESULT
gets a pickled list of images: path -> (what was synced of the file, all that was written, its time
in ns), None for a directory.  What is there at the start is synced, and with WHOSE "person" all
that the program itself writes, but not what it starts: git's own commit is as durable as git makes
it.

Names and times are changed on the disk in the order of the calls, as file systems with a journal
do it, and as git trusts them to.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import platform
import struct
import sys
from collections.abc import Callable

Image = dict[str, tuple[bytes, bytes, int] | None]

_TRACEME, _SYSCALL, _GETEVENTMSG, _SETOPTIONS, _INFO = 0, 24, 0x4201, 0x4200, 0x420E
_OPTIONS = 1 | 2 | 4 | 8 | 16  # marked system calls; forks, vforks, clones and execs are followed
_SYSCALL_STOP, _WALL = 5 | 0x80, 0x40000000
_FORKS = (1, 2, 3)
# Numbers of system calls: those that change names, those that sync a descriptor, those that write.
_CALLS = {
    "x86_64": (
        {76, 77, 82, 83, 84, 86, 87, 88, 258, 263, 264, 265, 266, 316},
        {74, 75},
        {1, 18, 20, 285},
    ),
    "aarch64": ({33, 34, 35, 36, 37, 38, 45, 46, 276}, {82, 83}, {64, 66, 68, 47}),
}
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def is_possible() -> bool:
    """Whether the system can do it, and lets us."""
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        return False
    child = os.fork()
    if not child:
        os._exit(0 if _ask(_TRACEME, 0) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def _ask(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    return int(_libc.ptrace(request, pid, address, data))


class Disk:
    """A directory as its disk would have it."""

    def __init__(self, top: str) -> None:
        self.top, self.images = top, list[Image]()
        self._synced: dict[int, bytes] = {}
        self._durable: set[int] = set()
        self._read: dict[tuple[int, int, int], bytes] = {}
        self._synced = {inode: data for inode, data, _ in self._look().values() if inode}
        self.note()

    def note(self) -> None:
        """Add the image of now, unless it is the last one."""
        image: Image = {}
        for name, (inode, data, at) in self._look().items():
            kept = data if inode in self._durable else self._synced.get(inode, b"")
            image[name] = (kept, data, at) if inode else None
        if not self.images or image != self.images[-1]:
            self.images.append(image)

    def sync(self, path: str) -> None:
        """Note that a file was synced; path: any name of it."""
        inode, data, _ = self._read_file(path)
        self._synced[inode] = data

    def trust(self, path: str) -> None:
        """Note that what is written to a file counts as synced."""
        self._durable.add(os.stat(path).st_ino)

    def _look(self) -> dict[str, tuple[int, bytes, int]]:
        """path -> (inode, content, time); the inode is 0 for a directory."""
        found: dict[str, tuple[int, bytes, int]] = {}
        for folder, folders, files in os.walk(self.top):
            at = os.path.relpath(folder, self.top)
            found |= {os.path.normpath(os.path.join(at, name)): (0, b"", 0) for name in folders}
            for name in files:
                try:
                    read = self._read_file(os.path.join(folder, name))
                except OSError:
                    continue  # another process removed it
                found[os.path.normpath(os.path.join(at, name))] = read
        gone = self._synced.keys() - {inode for inode, _, _ in found.values()}
        self._synced = {inode: data for inode, data in self._synced.items() if inode not in gone}
        return found

    def _read_file(self, path: str) -> tuple[int, bytes, int]:
        with open(path, "rb") as f:
            st = os.fstat(f.fileno())
            key = st.st_ino, st.st_ctime_ns, st.st_size
            if key not in self._read:
                self._read[key] = f.read()
        return st.st_ino, self._read[key], st.st_mtime_ns


def trace(argv: list[str], disk: Disk, is_persons: bool) -> int:
    """Run a program to its end; its exit status."""
    first = os.fork()
    if not first:
        _ask(_TRACEME, 0)
        os.execvp(argv[0], argv)
    os.waitpid(first, 0)
    _ask(_SETOPTIONS, first, data=_OPTIONS)
    _ask(_SYSCALL, first)
    begun: dict[int, tuple[int, int]] = {}  # process -> (number, first argument) of its call
    status = 0
    while True:
        try:
            pid, code = os.waitpid(-1, _WALL)
        except ChildProcessError:
            return os.waitstatus_to_exitcode(status)
        if not os.WIFSTOPPED(code):
            status = code if pid == first else status
            continue
        signal = os.WSTOPSIG(code)
        if signal == _SYSCALL_STOP:
            _follow(pid, begun, disk, is_persons and pid == first)
        is_ours = signal in (_SYSCALL_STOP, 5, 19)  # 19: a new process begins with SIGSTOP
        _ask(_SYSCALL, pid, data=0 if is_ours else signal)


def _follow(pid: int, begun: dict[int, tuple[int, int]], disk: Disk, is_trusted: bool) -> None:
    """Take the begin or the end of a system call."""
    names, syncs, writes = _CALLS[platform.machine()]
    info = ctypes.create_string_buffer(88)
    if _ask(_INFO, pid, len(info), ctypes.addressof(info)) <= 0:
        return
    if info.raw[0] == 1:
        begun[pid] = struct.unpack_from("=QQ", info.raw, 24)
        return
    number, argument = begun.pop(pid, (-1, 0))
    if info.raw[0] != 2 or struct.unpack_from("=q", info.raw, 24)[0] < 0:
        return
    path = f"/proc/{pid}/fd/{argument}"
    if number in syncs or (is_trusted and number in writes):
        try:
            if os.path.isfile(path):
                act: Callable[[str], None] = disk.sync if number in syncs else disk.trust
                act(path)
        except OSError:
            return
    if number in names or number in syncs:
        disk.note()


def main() -> int:
    top, result, whose, *argv = sys.argv[1:]
    disk = Disk(top)
    status = trace(argv, disk, whose == "person")
    disk.note()
    with open(result, "wb") as f:
        pickle.dump(disk.images, f)
    return status


if __name__ == "__main__":
    sys.exit(main())
